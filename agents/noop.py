"""The agent that does nothing: the floor that every task has to hold."""

from __future__ import annotations

from crab.agent import Call, Decision, TaskView
from crab.observation import Observations


class NoopAgent:
    """Says at once that it is done."""

    name = "noop"

    def start(self, view: TaskView) -> None:
        """Ignores the task."""

    def decide(self, observations: Observations) -> Decision:
        """Ends the task."""
        return Decision((Call("complete"),))

    def close(self) -> None:
        """Holds nothing."""
