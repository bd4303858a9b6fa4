"""The single agent: one model sees every screen and calls every tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agents.prompts import fill, prompt_file
from agents.single.conversation import Conversation
from agents.single.screen import turn_parts
from agents.single.settings import read_settings
from crab.agent import Call, Decision, Fault, Message, TaskView
from crab.errors import ContextExceeded
from crab.models.chat import ModelRequest, ModelResponse, ToolCall
from crab.models.openai_chat import OpenAIChat
from crab.observation import Observations

FAULTS: dict[str, Fault] = {"refusal": "refusal", "length": "cut_off", "no_answer": "no_answer"}
"""Why an answer without a call has none, by what made the model stop."""

ALL_CALLS = (
    "You may call several tools in one turn. They are carried out in order, and you see the screens after the last one."
)
FIRST_CALL = "Call one tool in each turn. Further calls of a turn are not carried out."


class SingleAgent:
    """Asks one model, with native tool calls, about all devices at once.

    Args:
        **settings: See `agents.single.settings.SingleSettings`; ``model`` is the one that has to be given.

    Raises:
        UsageError: A setting is wrong, or the key or the package for the endpoint is missing.
    """

    name = "single"
    files = (
        prompt_file("single"),
        *(Path(__file__).with_name(name) for name in ("conversation.py", "screen.py", "settings.py")),
    )

    def __init__(self, **settings: Any) -> None:
        self.settings = read_settings(settings)
        self._model = OpenAIChat(self.settings.chat())
        # Better now, before any device is started, than in the first turn.
        self._model.check()

    def start(self, view: TaskView) -> None:
        """Begins a new conversation."""
        self._model.close()
        self._model = OpenAIChat(self.settings.chat(), seed=view.seed)
        self._tools = tuple(tool.schema for tool in view.tools)
        self._seed = view.seed if self.settings.send_seed else None
        instruction = fill(
            "single",
            task=view.description,
            devices="\n".join(f"- {role}: {description}" for role, description in view.environments.items()),
            calls=ALL_CALLS if self.settings.calls == "all" else FIRST_CALL,
        )
        self._conversation = Conversation(instruction, self.settings.images)

    def decide(self, observations: Observations) -> Decision:
        """Shows the model the screens and returns the calls it makes.

        Raises:
            ModelError: The model did not answer.
            ContextExceeded: Even the present turn alone is too long for the model.
        """
        self._conversation.show(observations.results, tuple(turn_parts(observations)))
        response = self._ask()
        calls = whole_calls(response)
        self._conversation.answered(response.content, calls)
        chosen = calls if self.settings.calls == "all" else calls[:1]
        return Decision(
            calls=tuple(Call(call.name, call.arguments, call.id, call.problem) for call in chosen),
            messages=self._said(response),
            usage=response.usage,
            fault="" if calls else FAULTS.get(response.stop_reason, ""),
        )

    def close(self) -> None:
        """Closes the connection to the model."""
        self._model.close()

    def _ask(self) -> ModelResponse:
        while True:
            request = ModelRequest(
                messages=self._conversation.messages(),
                tools=self._tools,
                tool_choice=self.settings.tool_choice,
                temperature=self.settings.temperature,
                max_tokens=self.settings.max_tokens,
                seed=self._seed,
            )
            try:
                return self._model.complete(request)
            except ContextExceeded:
                if not self._conversation.forget():
                    raise

    def _said(self, response: ModelResponse) -> tuple[Message, ...]:
        said = [Message(self.name, response.reasoning, kind="reasoning")] if response.reasoning else []
        return (*said, *([Message(self.name, response.content)] if response.content else []))


def whole_calls(response: ModelResponse) -> tuple[ToolCall, ...]:
    """Returns an answer's calls; one that the output limit cut through is left out."""
    calls = response.calls
    return calls[:-1] if calls and calls[-1].problem and response.stop_reason == "length" else calls
