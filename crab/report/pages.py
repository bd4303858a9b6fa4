"""What the pages of a report are filled with: plain values, ready to be shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from statistics import fmean
from typing import Any
from urllib.parse import quote

from crab.metrics.summary import AgentSummary, summarise
from crab.record.schema import Result
from crab.report import wording
from crab.report.collect import Stage, Trial
from crab.report.graph import draw_graph
from crab.report.timeline import Timeline

STAGE_WORDS = {
    Stage.UNFINISHED: "not finished",
    Stage.INTERRUPTED: "interrupted",
    Stage.UNREADABLE: "not readable",
}

Key = tuple[str, str, str]
"""Names of the agent's, the task's and the seed's directory."""


@dataclass(frozen=True)
class Cell:
    """One trial in the matrix: what `index.html` knows of it.

    Attributes:
        key: Which trial.
        seed: Its seed.
        tone: How it is coloured: ``cr0`` to ``cr10`` by completion, or ``invalid``, ``unfinished``, ``interrupted``,
            ``unreadable``.
        text: At most five characters.
        outcome: ``success``, ``partial``, ``nothing``, ``invalid`` or ``unended``, for the filter.
        ending: Why it ended, in words.
        details: All of it in one line.
        problem: Why it cannot be read, or empty.
    """

    key: Key
    seed: int
    tone: str
    text: str
    outcome: str
    ending: str
    details: str
    problem: str = ""

    @property
    def link(self) -> str:
        """Where its page is, from the index."""
        return page_link(self.key)


@dataclass
class Row:
    """One task in the matrix."""

    task: str
    description: str = ""
    family: str = ""
    tags: tuple[str, ...] = ()
    cells: dict[str, list[Cell]] = field(default_factory=dict)
    ratios: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float | None:
        """Mean completion of its valid trials."""
        return fmean(self.ratios) if self.ratios else None

    @property
    def haystack(self) -> str:
        """What the search looks in."""
        return " ".join((self.task, self.description, self.family, *self.tags)).lower()


def page_link(key: Key, extension: str = "html") -> str:
    """Returns the address of a trial's page relative to the index; safe for any directory name."""
    return "/".join(("trials", *(quote(part, safe="") for part in key))) + f".{extension}"


def cell_of(trial: Trial) -> Cell:
    """Returns what the index shows of a trial."""
    result = trial.result
    if result is None or trial.stage is not Stage.ENDED:
        words = STAGE_WORDS.get(trial.stage, "not finished")
        signs = {Stage.UNFINISHED: "…", Stage.INTERRUPTED: "‖", Stage.UNREADABLE: "×"}
        details = f"seed {trial.seed} · {words}"
        return Cell(trial.parts, trial.seed, trial.stage, signs[trial.stage], "unended", words, details, trial.problem)
    passed = sum(1 for checkpoint in result.checkpoints if checkpoint.passed)
    details = " · ".join(
        (
            f"seed {trial.seed}",
            wording.outcome(result),
            f"{passed} of {len(result.checkpoints)} checkpoints",
            f"{result.actions} actions",
            f"{wording.count(result.tokens)} tokens",
            wording.duration(result.seconds),
        )
    )
    tone, text, outcome = "invalid", "!", "invalid"
    if result.valid:
        share = result.completion_ratio
        tone, text = f"cr{_tenth(share)}", wording.percent(share).removesuffix("%")
        outcome = "success" if result.success else "partial" if share > 0 else "nothing"
    return Cell(trial.parts, trial.seed, tone, text, outcome, wording.REASON_WORDS[result.reason], details)


def _tenth(ratio: float) -> int:
    """Returns 0 only for nothing and 10 only for everything."""
    return min(max(round(ratio * 10), 1), 9) if 0 < ratio < 1 else int(ratio) * 10


@dataclass
class Overview:
    """What `index.html` is made of, gathered trial by trial."""

    rows: dict[str, Row] = field(default_factory=dict)
    agents: dict[str, None] = field(default_factory=dict)
    seeds: dict[int, None] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    projects: dict[str, None] = field(default_factory=dict)

    def add(self, trial: Trial) -> None:
        """Takes in one trial."""
        row = self.rows.setdefault(trial.task, Row(trial.task))
        if trial.spec is not None:
            task = trial.spec.task
            row.description, row.family, row.tags = task.description, task.family, task.tags
            # Where the project lay is of no use to a reader elsewhere; what it is called may be.
            self.projects.setdefault(PurePath(trial.spec.project).name)
        cell = cell_of(trial)
        row.cells.setdefault(trial.agent, []).append(cell)
        self.agents.setdefault(trial.agent)
        self.seeds.setdefault(trial.seed)
        self.cells.append(cell)
        if trial.result is not None:
            self.results.append(trial.result)
            if trial.result.valid:
                row.ratios.append(trial.result.completion_ratio)

    def context(self, name: str) -> dict[str, Any]:
        """Returns the values of the index template."""
        unended = [cell for cell in self.cells if cell.outcome == "unended"]
        return {
            "name": name,
            "projects": sorted(self.projects),
            "agents": sorted(self.agents),
            "seeds": sorted(self.seeds),
            "rows": [self.rows[task] for task in sorted(self.rows)],
            "trials": len(self.cells),
            "summaries": [_summary_context(summary) for summary in summarise(self.results)],
            "invalid": sum(1 for result in self.results if not result.valid),
            "unended": unended,
            "problems": [cell for cell in unended if cell.problem],
            "endings": sorted({cell.ending for cell in self.cells}),
            "families": sorted({row.family for row in self.rows.values() if row.family}),
        }


def _summary_context(summary: AgentSummary) -> dict[str, Any]:
    rates, zero = summary.without_invalid, summary.invalid_as_zero
    return {
        "agent": summary.agent,
        "trials": summary.trials,
        "valid": summary.valid,
        "invalid": summary.invalid,
        "tasks": zero.tasks,
        "sr": wording.percent(rates.success_rate),
        "cr": wording.percent(rates.completion_ratio),
        "cr_tenth": _tenth(rates.completion_ratio or 0.0),
        "cr_bar": round(100 * (rates.completion_ratio or 0.0), 1),
        "sr_bar": round(100 * (rates.success_rate or 0.0), 1),
        "ee": wording.decimal(rates.execution_efficiency),
        "ce": wording.per_thousand(rates.cost_efficiency),
        "sr_zero": wording.percent(zero.success_rate),
        "cr_zero": wording.percent(zero.completion_ratio),
        "actions": f"{summary.actions / summary.trials:.1f}",
        "invalid_calls": wording.count(summary.invalid_calls),
        "tokens": wording.count(summary.tokens),
        "cost": wording.money(summary.cost),
        "seconds": wording.duration(summary.seconds),
        "reasons": [(wording.REASON_WORDS[reason], reason.value, number) for reason, number in summary.reasons],
    }


@dataclass(frozen=True)
class TrialPage:
    """One trial's page: values for the template, and the data that its script shows."""

    context: dict[str, Any]
    data: dict[str, Any]


def trial_page(trial: Trial, name: str, siblings: Sequence[Key], before: Key | None, after: Key | None) -> TrialPage:
    """Returns what a trial's page is made of.

    Args:
        trial: Which one.
        name: Of the run.
        siblings: All trials of the same task, this one included.
        before: The trial before it in the order of the run.
        after: The trial after it.
    """
    cell = cell_of(trial)
    # From report/trials/<agent>/<task>/ up to the run directory.
    shots = "/".join(("../../../../trials", *(quote(part, safe="") for part in trial.parts), "shots", ""))
    timeline = Timeline(trial.spec, trial.events).document if trial.spec is not None and trial.events else {}
    graph = draw_graph(trial.spec.task) if trial.spec is not None and trial.spec.task.checkpoints else None
    context = {
        "name": name,
        "trial": trial,
        "cell": cell,
        "heading": wording.outcome(trial.result) if trial.result is not None else cell.ending,
        "facts": _facts(trial),
        "graph": graph,
        "labels": _labels(trial),
        "siblings": [("../../../" + page_link(key), key == trial.parts, f"{key[0]} · {key[2]}") for key in siblings],
        "before": "../../../" + page_link(before) if before else None,
        "after": "../../../" + page_link(after) if after else None,
        "script": quote(trial.parts[2], safe="") + ".js",
        "has_story": bool(timeline),
    }
    return TrialPage(context, {"shots": shots, "labels": _labels(trial), **timeline})


def _labels(trial: Trial) -> dict[str, str]:
    nodes: Iterable[Any] = trial.spec.task.checkpoints if trial.spec is not None else ()
    return {node.id: node.label or node.id for node in nodes}


def _facts(trial: Trial) -> list[tuple[str, str]]:
    result = trial.result
    if result is None:
        return []
    passed = sum(1 for checkpoint in result.checkpoints if checkpoint.passed)
    facts = [
        ("Completion", f"{wording.percent(result.completion_ratio)} ({passed}/{len(result.checkpoints)})"),
        ("Actions", str(result.actions)),
        ("Turns", str(result.turns)),
        ("Refused calls", str(result.invalid_calls)),
        ("EE", wording.decimal(result.execution_efficiency)),
        ("CE per 1k tokens", wording.per_thousand(result.cost_efficiency)),
        ("Tokens", wording.count(result.tokens)),
        ("Cost", wording.money(result.cost)),
        ("Time", wording.duration(result.seconds)),
    ]
    if result.attempt > 1:
        facts.append(("Attempt", str(result.attempt)))
    return [*facts, *(("Privileged track", track) for track in result.tracks)]
