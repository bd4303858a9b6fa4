"""The oracle agent: carries out reference solutions, or a near miss of one of them."""

from __future__ import annotations

from collections.abc import Mapping

from crab.agent import Call, Decision, TaskView
from crab.compose.composer import ComposedTask, Instance
from crab.errors import DefinitionError
from crab.observation import Observations
from crab.task import OracleCall, Solution, Solve

ACCESSIBILITY = True
"""Oracles find elements in the accessibility tree, so their trials have that track and records say so."""


class OracleAgent:
    """Solves each instance in order, then says that it is done. Made by `crab.run.build` only.

    Args:
        composed: The task with its instances.
        mutations: Another solution for some instances, by instance id, for near misses.
    """

    name = "oracle"

    def __init__(self, composed: ComposedTask, mutations: Mapping[str, Solve] | None = None) -> None:
        self._instances = composed.instances
        self._mutations = mutations or {}
        self._tools: dict[tuple[str, str], str] = {}
        self._pending: list[tuple[Instance, Solution]] = []
        self._waits_for_observation = False

    def start(self, view: TaskView) -> None:
        """Begins all solutions anew."""
        self._tools = {(tool.environment, tool.action): tool.name for tool in view.tools}
        self._pending = [
            (instance, self._mutations.get(instance.id, instance.subtask.solve)(instance.values))
            for instance in self._instances
        ]
        self._waits_for_observation = False

    def decide(self, observations: Observations) -> Decision:
        """Returns the next call of the running solution."""
        while self._pending:
            instance, solution = self._pending[0]
            try:
                if self._waits_for_observation:
                    call = solution.send(_as_template_sees(observations, instance))
                else:
                    call = next(solution)
            except StopIteration:
                self._pending.pop(0)
                self._waits_for_observation = False
                continue
            self._waits_for_observation = True
            if call is not None:
                return Decision((self._call(instance, call),))
        return Decision((Call("complete"),))

    def close(self) -> None:
        """Ends the running solutions."""
        for _, solution in self._pending:
            solution.close()
        self._pending = []

    def _call(self, instance: Instance, call: OracleCall) -> Call:
        role = instance.roles.get(call.environment, call.environment)
        name = self._tools.get((role, call.action))
        if name is None:
            raise DefinitionError(f"oracle of {instance.subtask.reference}: {role!r} has no action {call.action!r}")
        return Call(name, dict(call.arguments))


def _as_template_sees(observations: Observations, instance: Instance) -> Observations:
    """Renames the task's roles to those of the template."""
    renamed = {role: observations.environments[task_role] for role, task_role in instance.roles.items()}
    return Observations(observations.turn, renamed, observations.results)
