"""Results in the terminal: whole at 100 columns; narrower, less telling columns go and names are cut, figures never."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from crab.metrics.summary import AgentSummary, summarise
from crab.record.schema import CheckpointResult, Result
from crab.report import wording

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table
    from rich.text import Text

PASSED, IMPLIED, OPEN = "●", "◐", "○"
"""Signs of a checkpoint: passed, passed because a later one did, not passed."""

DETAILED_TRIALS = 40
"""Up to how many trials are listed one by one."""

FULL_WIDTH = 96
"""Columns of a terminal from which on everything is shown."""


@dataclass(frozen=True)
class _Column:
    """One column: `ratio` shares out what the figures leave to names; `spare` ones go first in a narrow terminal."""

    name: str
    text: Callable[[Any], str]
    style: Callable[[Any], str] = lambda row: ""
    ratio: int | None = None
    width: int = 0
    spare: bool = False

    @property
    def side(self) -> Literal["left", "right"]:
        """Names stand at the left, figures at the right."""
        return "right" if self.ratio is None else "left"


@dataclass(frozen=True)
class _Listing:
    """A table that fits the terminal it is printed to."""

    columns: Sequence[_Column]
    rows: Sequence[Any]
    caption: str = ""

    def table(self, width: int) -> Table:
        """Returns the table for a terminal of so many columns."""
        from rich import box
        from rich.table import Table

        shown = [column for column in self.columns if width >= FULL_WIDTH or not column.spare]
        table = Table(box=box.SIMPLE_HEAD, expand=True, width=min(width, 120), padding=(0, 1, 0, 0), pad_edge=False)
        table.caption, table.caption_justify = self.caption or None, "left"
        for column in shown:
            least = max(column.width, len(column.name))
            table.add_column(
                column.name, justify=column.side, ratio=column.ratio, min_width=least, no_wrap=True, overflow="ellipsis"
            )
        for row in self.rows:
            table.add_row(*(_plain(column.text(row), column.style(row)) for column in shown))
        return table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        """Draws itself; called by rich."""
        yield self.table(options.max_width)


def _style(result: Result) -> str:
    if not result.valid:
        return "yellow"
    return "green" if result.success else ""


def _passed(result: Result) -> str:
    return f"{sum(1 for checkpoint in result.checkpoints if checkpoint.passed)}/{len(result.checkpoints)}"


def _ending(result: Result) -> str:
    return f"{'' if result.valid else '! '}{wording.REASON_WORDS[result.reason]}"


def _valid(summary: AgentSummary) -> str:
    return "yellow" if summary.invalid else ""


TRIAL_COLUMNS: tuple[_Column, ...] = (
    _Column("agent", lambda result: result.agent, ratio=3, width=6),
    _Column("task", lambda result: result.task, ratio=6, width=12),
    _Column("seed", lambda result: str(result.seed)),
    _Column("CR", lambda result: wording.percent(result.completion_ratio), _style, width=4),
    _Column("passed", _passed),
    _Column("actions", lambda result: str(result.actions)),
    _Column("tokens", lambda result: wording.count(result.tokens), spare=True),
    _Column("time", lambda result: wording.duration(result.seconds), width=7, spare=True),
    _Column("ended by", _ending, _style, ratio=5, width=19),
)

AGENT_COLUMNS: tuple[_Column, ...] = (
    _Column("agent", lambda summary: summary.agent, lambda summary: "bold", ratio=1, width=8),
    _Column("valid", lambda summary: f"{summary.valid}/{summary.trials}", _valid, width=7),
    _Column("SR", lambda summary: wording.percent(summary.without_invalid.success_rate), width=4),
    _Column("CR", lambda summary: wording.percent(summary.without_invalid.completion_ratio), width=4),
    _Column("EE", lambda summary: wording.decimal(summary.without_invalid.execution_efficiency), width=6),
    _Column("CE/1k", lambda summary: wording.per_thousand(summary.without_invalid.cost_efficiency), width=6),
    _Column("SR₀", lambda summary: wording.percent(summary.invalid_as_zero.success_rate), width=4),
    _Column("CR₀", lambda summary: wording.percent(summary.invalid_as_zero.completion_ratio), width=4),
    _Column("actions", lambda summary: wording.count(summary.actions)),
    _Column("tokens", lambda summary: wording.count(summary.tokens)),
    _Column("cost", lambda summary: wording.money(summary.cost), width=7, spare=True),
    _Column("time", lambda summary: wording.duration(summary.seconds), width=7, spare=True),
)


def results_table(results: Iterable[Result]) -> Any:
    """Returns what a run prints at its end, for a rich console: the trials, when they are few, then the agents.

    Args:
        results: In any order.
    """
    from rich.console import Group

    listed = sorted(results, key=lambda result: (result.agent, result.task, result.seed))
    if len(listed) > DETAILED_TRIALS:
        return agents_table(listed)
    return Group(trials_table(listed), agents_table(listed))


def trials_table(results: Sequence[Result]) -> Any:
    """Returns one row for each trial, in the order given, for a rich console."""
    return _Listing(TRIAL_COLUMNS, results, "" if all(result.valid for result in results) else "! invalid")


def agents_table(results: Iterable[Result]) -> Any:
    """Returns one row for each agent, for a rich console: rates without invalid trials, and with them as 0."""
    note = "SR₀, CR₀: invalid trials counted as 0, else left out. CE/1k: per 1,000 tokens."
    return _Listing(AGENT_COLUMNS, summarise(results), caption=note)


def checkpoint_lines(result: Result) -> tuple[Text, ...]:
    """Returns a line for each checkpoint of a trial, in the order of the graph: passed or not, when, and how."""
    return tuple(_checkpoint_line(checkpoint) for checkpoint in result.checkpoints)


def _checkpoint_line(checkpoint: CheckpointResult) -> Text:
    from rich.text import Text

    if not checkpoint.passed:
        return Text.assemble((f"{OPEN} ", "dim"), _plain(checkpoint.id))
    sign, note = PASSED, f"  step {checkpoint.step}"
    if checkpoint.implied_by is not None:
        sign, note = IMPLIED, f"{note}, with {checkpoint.implied_by}"
    return Text.assemble((f"{sign} ", "green"), _plain(checkpoint.id), (note, "dim"))


def _plain(text: str, style: str = "") -> Text:
    """Returns text in which square brackets mean nothing, and control characters are gone."""
    from rich.text import Text

    return Text("".join(sign if sign.isprintable() else "�" for sign in text), style=style)
