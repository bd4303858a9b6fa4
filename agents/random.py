"""The agent that acts at random: valid calls, drawn from a seed, that should solve nothing."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from crab.agent import Call, Decision, TaskView, Tool
from crab.observation import Observations

TEXTS = ("hello", "42", "notes.txt", "ls", "Zürich", "a b c")
"""What it writes where a tool asks for free text."""

ENDING_TOOLS = frozenset({"complete", "declare_infeasible"})
"""Tools it never calls, so that limits end its trials."""


class RandomAgent:
    """Calls a random tool with random valid arguments in each turn."""

    name = "random"

    def start(self, view: TaskView) -> None:
        """Seeds itself from the view."""
        self._random = random.Random(view.seed)
        self._tools = [tool for tool in view.tools if tool.action not in ENDING_TOOLS]

    def decide(self, observations: Observations) -> Decision:
        """Returns one random call; points lie on the screen of the tool's environment."""
        tool = self._random.choice(self._tools)
        schema = tool.schema["function"]["parameters"]
        required = set(schema.get("required", ()))
        arguments = {
            name: self._value(name, part, tool, observations)
            for name, part in schema["properties"].items()
            if name in required or self._random.random() < 0.3
        }
        return Decision((Call(tool.name, arguments),))

    def close(self) -> None:
        """Holds nothing."""

    def _value(self, name: str, schema: Mapping[str, Any], tool: Tool, observations: Observations) -> Any:
        if "anyOf" in schema:
            return self._value(name, self._random.choice(schema["anyOf"]), tool, observations)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        kind = schema.get("type")
        if kind in ("integer", "number"):
            return self._number(name, schema, tool, observations)
        if kind == "boolean":
            return self._random.random() < 0.5
        if kind == "array":
            items = schema.get("items", {"type": "string"})
            count = max(1, schema.get("minItems", 1))
            return [self._value(name, items, tool, observations) for _ in range(count)]
        if kind == "null":
            return None
        if kind == "object":
            return {}
        return self._text(name, schema)

    def _number(self, name: str, schema: Mapping[str, Any], tool: Tool, observations: Observations) -> float:
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        high = schema.get("maximum", schema.get("exclusiveMaximum", low + 5))
        if tool.environment in observations.environments and name.rpartition("_")[2] in ("x", "y"):
            frame = observations[tool.environment].now
            low, high = 0, (frame.width if name.endswith("x") else frame.height) - 1
        if schema["type"] == "integer":
            return self._random.randint(int(low), int(high))
        # Ends of an open interval are avoided by staying inside it; five seconds of waiting are enough.
        return round(self._random.uniform(low + 0.01, min(high, low + 1)), 2)

    def _text(self, name: str, schema: Mapping[str, Any]) -> str:
        if "key" in name:
            return self._random.choice(("enter", "tab", "escape", "a"))
        text = self._random.choice(TEXTS)
        return text[: schema.get("maxLength", len(text))]
