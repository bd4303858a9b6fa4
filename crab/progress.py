"""Progress through a checkpoint graph: the only mutable part of scoring.

A checkpoint is *active* when each of its predecessors has passed, or is a transient one that is itself active.
Once passed it stays passed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from crab.evaluator import Verdict
from crab.graph import Checkpoint, CheckpointGraph

Ask = Callable[[Checkpoint], Verdict]
"""Supplied by the episode: answers one checkpoint's question on the present state."""


@dataclass(frozen=True)
class Pass:
    """One checkpoint that passed.

    Attributes:
        checkpoint: Its id.
        step: Number of executed actions when it passed.
        implied_by: For a transient checkpoint that was never seen true: the successor whose passing counts for it.
    """

    checkpoint: str
    step: int
    implied_by: str | None = None


class Progress:
    """Which checkpoints have passed, and which are active.

    Bookkeeping of `advance` is linear in the checkpoints asked, unlocked and passed; the others cost nothing.
    """

    def __init__(self, graph: CheckpointGraph) -> None:
        self.graph = graph
        self._rank = {id: index for index, id in enumerate(graph.order)}
        self._waiting_for = {id: len(graph.predecessors(id)) for id in graph.order}
        # In the order in which they became active, so a transient checkpoint stands before its successors.
        self._active: dict[str, None] = {}
        self._passed: dict[str, Pass] = {}
        self._unknown: dict[str, str] = {}
        for id in graph.sources:
            self._open(id)

    @property
    def passed(self) -> tuple[Pass, ...]:
        """All passes, in the order in which they happened."""
        return tuple(self._passed.values())

    @property
    def active(self) -> tuple[str, ...]:
        """Ids of the active checkpoints, in topological order."""
        return tuple(sorted(self._active, key=self._rank.__getitem__))

    @property
    def unknown(self) -> tuple[tuple[str, str], ...]:
        """Active checkpoints whose last answer was unknown, as (id, reason), in topological order."""
        return tuple((id, self._unknown[id]) for id in self.active if id in self._unknown)

    @property
    def completion(self) -> float:
        """Completion ratio C / N, in [0, 1]."""
        return len(self._passed) / len(self.graph)

    @property
    def complete(self) -> bool:
        """Whether every checkpoint has passed."""
        return len(self._passed) == len(self.graph)

    def has_passed(self, id: str) -> bool:
        """Whether that checkpoint has passed."""
        return id in self._passed

    def advance(self, ask: Ask, step: int) -> tuple[Pass, ...]:
        """Asks the active checkpoints, and those that become active by it, each at most once.

        Args:
            ask: Answers one checkpoint. Within a step it is called for a checkpoint before any of its successors.
            step: Number of executed actions so far, noted in each pass.

        Returns:
            The checkpoints that passed now, in order.
        """
        passes: list[Pass] = []
        queue = deque(self._active)
        while queue:
            id = queue.popleft()
            verdict = ask(self.graph[id])
            if verdict.value is None:
                self._unknown[id] = verdict.reason
                continue
            self._unknown.pop(id, None)
            if verdict.value:
                queue.extend(self._pass(id, step, passes))
        return tuple(passes)

    def _open(self, id: str) -> list[str]:
        """Makes a checkpoint active; returns it and all that become active with it."""
        opened: list[str] = []
        pending = [id]
        while pending:
            current = pending.pop()
            self._active[current] = None
            opened.append(current)
            if self.graph[current].transient:
                pending.extend(self._release_successors(current))
        return opened

    def _release_successors(self, id: str) -> list[str]:
        released = []
        for successor in self.graph.successors(id):
            self._waiting_for[successor] -= 1
            if self._waiting_for[successor] == 0:
                released.append(successor)
        return released

    def _pass(self, id: str, step: int, passes: list[Pass]) -> list[str]:
        """Records a pass and those it implies, adds them to `passes`, and returns what became active."""
        opened: list[str] = []
        pending: list[tuple[str, str | None]] = [(id, None)]
        while pending:
            current, cause = pending.pop()
            if current in self._passed:
                continue
            self._passed[current] = Pass(current, step, cause)
            passes.append(self._passed[current])
            del self._active[current]
            self._unknown.pop(current, None)
            pending.extend((before, current) for before in self.graph.predecessors(current))
            if not self.graph[current].transient:
                for released in self._release_successors(current):
                    opened.extend(self._open(released))
        return opened
