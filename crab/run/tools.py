"""The flat tool list an agent sees, and the way back from a call to an environment's action."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from crab.agent import Call, TaskView, Tool
from crab.environment import EnvironmentDescription, OperationDescription
from crab.errors import DefinitionError, InvalidCall, MalformedCall, UnknownAction, WrongEnvironment
from crab.evaluator import ROOT
from crab.operation import SEPARATOR
from crab.task import Task


class ToolBox:
    """Names every enabled action once: ``action`` with one device, ``environment__action`` with several.

    Args:
        task: Whose environments and extra actions count.
        descriptions: What each environment offers, by role, root included.

    Raises:
        DefinitionError: With one device, one of its actions is called like one of root's.
    """

    def __init__(self, task: Task, descriptions: Mapping[str, EnvironmentDescription]) -> None:
        self._task = task
        self._descriptions = descriptions
        self._several = len(task.environments) > 1
        self.tools: dict[str, Tool] = {}
        for role in (*task.environments, ROOT):
            for operation in self._operations(role):
                prefix = f"{role}{SEPARATOR}" if self._several and role != ROOT else ""
                name = prefix + operation.name
                if name in self.tools:
                    raise DefinitionError(f"task {task.id}: two tools are called {name!r}; rename the environment's")
                self.tools[name] = Tool(name, role, operation.name, _renamed(operation.schema, name))

    def view(self, seed: int) -> TaskView:
        """Returns what the agent is told."""
        return TaskView(
            description=self._task.description,
            environments={role: self._descriptions[role].description for role in self._task.environments},
            tools=tuple(self.tools.values()),
            seed=seed,
        )

    def resolve(self, call: object) -> Tool:
        """Returns the tool a call means.

        Raises:
            MalformedCall: It is no call at all.
            WrongEnvironment: Another environment of the task has that action.
            UnknownAction: None has it.
        """
        if not isinstance(call, Call) or not _well_formed(call.name, call.arguments):
            raise MalformedCall("a call has a tool's name and an object of arguments")
        if isinstance(call.problem, InvalidCall):
            raise call.problem
        if call.problem:
            raise MalformedCall(str(call.problem))
        if call.name in self.tools:
            return self.tools[call.name]
        role, _, action = call.name.rpartition(SEPARATOR)
        owners = [tool.name for tool in self.tools.values() if tool.action == action]
        if role and owners:
            raise WrongEnvironment(f"no tool {call.name!r}; {action!r} is there as {', '.join(owners)}")
        near = owners or difflib.get_close_matches(call.name, self.tools, n=1)
        hint = f"did you mean {near[0]}?" if near else f"tools are: {', '.join(self.tools)}"
        raise UnknownAction(f"no tool {call.name!r}; {hint}")

    def _operations(self, role: str) -> tuple[OperationDescription, ...]:
        description = self._descriptions[role]
        wanted = self._task.extra_actions.get(role, ())
        extra = tuple(operation for operation in description.extra_actions if operation.name in wanted)
        return description.actions + extra


def _renamed(schema: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {**schema, "function": {**schema["function"], "name": name}}


def _well_formed(name: object, arguments: object) -> bool:
    """Whether a foreign agent filled in a call as its annotations say."""
    return isinstance(name, str) and isinstance(arguments, Mapping)
