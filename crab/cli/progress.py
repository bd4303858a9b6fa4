"""Live progress of a run: checkpoints ticking on a terminal, plain lines in a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crab.record.schema import Result, TrialSpec
from crab.report import wording
from crab.run.suite import Watcher

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PASSED, WAITING = "●", "○"
"""How a passed and an open checkpoint look."""


def make_watcher(console: Console) -> Watcher:
    """Returns a watcher for the console: live on a terminal, lines elsewhere."""
    return LiveWatcher(console) if console.is_terminal else LineWatcher(console)


def tick_line(spec: TrialSpec, passed: set[str]) -> str:
    """Returns one sign for each checkpoint, in the order of the graph."""
    return "".join(PASSED if node.id in passed else WAITING for node in spec.task.checkpoints)


def result_line(spec: TrialSpec, result: Result, number: int, total: int) -> str:
    """Returns what is said when a trial ends."""
    passed = {checkpoint.id for checkpoint in result.checkpoints if checkpoint.passed}
    note = wording.outcome(result) if result.valid else f"INVALID: {result.error}"
    actions = f"{result.actions} action{'' if result.actions == 1 else 's'}"
    return (
        f"[{number}/{total}] {result.agent} · {result.task} · seed {result.seed}  {tick_line(spec, passed)}"
        f"  CR {wording.percent(result.completion_ratio)}  {actions}  {result.seconds:.1f} s  {note}"
    )


class LineWatcher:
    """Prints a line whenever a trial ends."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._total = 0
        self._ended = 0

    def queued(self, specs: Sequence[TrialSpec], done: Sequence[Result]) -> None:
        """Says how much is to do."""
        self._total = len(specs)
        if done:
            self._say(f"{len(done)} of {len(done) + len(specs)} trials are there already")

    def event(self, spec: TrialSpec, event: dict[str, Any]) -> None:
        """Stays silent."""

    def finished(self, spec: TrialSpec, result: Result) -> None:
        """Says how a trial ended."""
        self._ended += 1
        self._say(result_line(spec, result, self._ended, self._total))

    def _say(self, text: str) -> None:
        try:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)
        except (OSError, SystemExit):
            # Nobody reads any more (where rich would end the process), or the disk is full: the trials go on, and
            # the records are what counts.
            self._console.quiet = True


@dataclass
class _Running:
    spec: TrialSpec
    passed: set[str] = field(default_factory=set)
    steps: int = 0
    last: str = "starting"


class LiveWatcher(LineWatcher):
    """Draws the running trials below the lines of those that ended."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        from rich.live import Live

        self._running: dict[str, _Running] = {}
        self._live = Live(console=console, refresh_per_second=8, transient=True, get_renderable=self._table)

    def queued(self, specs: Sequence[TrialSpec], done: Sequence[Result]) -> None:
        """Says how much is to do and begins to draw."""
        super().queued(specs, done)
        if specs:
            self._live.start()

    def event(self, spec: TrialSpec, event: dict[str, Any]) -> None:
        """Ticks checkpoints and shows the last action."""
        running = self._running.setdefault(spec.path, _Running(spec))
        match event["event"]:
            case "trial_start":
                self._running[spec.path] = _Running(spec)
            case "pass":
                running.passed.add(event["checkpoint"])
            case "action":
                running.steps = event["step"]
                running.last = f"{event['environment']} {event['action']}"
            case "reset":
                running.last = "reset"

    def finished(self, spec: TrialSpec, result: Result) -> None:
        """Moves a trial from the drawing to the lines above it."""
        self._running.pop(spec.path, None)
        super().finished(spec, result)
        if self._ended == self._total:
            self._live.stop()

    def _table(self) -> Table:
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        for running in self._running.values():
            spec = running.spec
            table.add_row(
                f"{spec.agent.id} · {spec.task.id} · seed {spec.seed}",
                tick_line(spec, running.passed),
                f"step {running.steps}",
                running.last,
            )
        return table
