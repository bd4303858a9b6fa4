"""``crab play``: a person does a task in the browser, recorded as a trial of the agent `human`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crab.cli.progress import result_line
from crab.cli.run import assignments, provider_options
from crab.errors import UsageError
from crab.loading import find_project
from crab.observation import Frame, Observation
from crab.play.human import HumanAgent
from crab.play.serving import serving_page
from crab.play.session import Session
from crab.record.reader import TrialRecord
from crab.record.schema import LimitsSpec, Result, TrialSpec
from crab.record.writer import EXTENSIONS
from crab.report import wording
from crab.run.build import HUMAN, RunOptions, load_tasks, make_spec
from crab.run.lock import make_lock
from crab.run.suite import Suite
from crab.run.trial import run_trial

INVALID_CALLS = 1000
"""Refused calls in a row that end the trial: a person sees why, and may try again for long."""

TELLING_SECONDS = 3.0
"""How long an open page has to fetch how it ended."""


@dataclass(frozen=True)
class PlayRequest:
    """What was asked for; see ``crab play --help``."""

    task: str
    open: bool
    out: Path
    port: int
    seed: int
    max_actions: int
    max_seconds: float
    providers: Sequence[str]
    options: Sequence[str]
    project: Path | None


def play_command(request: PlayRequest) -> int:
    """Serves the page, runs the trial, prints the result and where the record is.

    Returns:
        0 when the trial is valid, else 1.

    Raises:
        CrabError: What was asked for is not there, or the page cannot be served.
        KeyboardInterrupt: The person gave up; that is recorded.
    """
    from rich.console import Console

    project = find_project(explicit=request.project)
    tasks = load_tasks(project, [request.task])
    if len(tasks) != 1:
        raise UsageError("play one task at a time; `crab tasks list` shows all")
    options = RunOptions(
        limits=LimitsSpec(actions=request.max_actions, seconds=request.max_seconds, invalid_calls=INVALID_CALLS),
        providers=assignments(request.providers, "--provider"),
        provider_options=provider_options(request.options),
        # Who saw the checkpoints knew more than an agent does: that belongs into the record.
        agent_settings={HUMAN: {"open": request.open}},
    )
    spec = make_spec(project, tasks[0], HUMAN, request.seed, options)
    suite = Suite(
        directory=request.out,
        specs=[spec],
        lock=make_lock(project, [(spec, tasks[0])]),
        config={"agents": [HUMAN], "tasks": [spec.task.id], "open": request.open, "project": project.name},
    )
    checkpoints = [(node.id, node.label) for node in spec.task.checkpoints] if request.open else None
    session = Session(spec.task.id, spec.task.description, checkpoints)
    console = Console()
    with serving_page(session, request.port) as address:
        _say(console, f"play {spec.task.id} at {address}")
        result = suite.run_here(lambda directory, spec: _trial(directory, spec, session))
        _tell(session, result, request.out / spec.path)
    _conclude(console, request.out, spec, result)
    return 0 if result.valid else 1


def _trial(directory: Path, spec: TrialSpec, session: Session) -> None:
    human = HumanAgent(session)
    run_trial(directory, spec, mirror=session.event, agent=human, started=human.watch)


def _tell(session: Session, result: Result, directory: Path) -> None:
    """Shows the page the last screens and the result, and waits until it has them, if there is a page."""
    session.show(_last_look(directory))
    text = f"Completion {wording.percent(result.completion_ratio)} after {result.actions} actions."
    session.end(wording.outcome(result), text if result.valid else result.error, success=result.success)
    if session.opened:
        session.told.wait(TELLING_SECONDS)


def _last_look(directory: Path) -> dict[str, Observation]:
    looks = [event for event in TrialRecord(directory).events if event["event"] == "observation"]
    environments: dict[str, Any] = looks[-1]["environments"] if looks else {}
    return {role: Observation((_frame(directory, seen["frames"][-1]),)) for role, seen in environments.items()}


def _frame(directory: Path, shot: dict[str, Any]) -> Frame:
    path = directory / "shots" / f"{shot['sha256']}.{EXTENSIONS.get(shot['media_type'], 'bin')}"
    return Frame(path.read_bytes(), shot["media_type"], shot["width"], shot["height"], shot["time"])


def _conclude(console: Any, out: Path, spec: TrialSpec, result: Result) -> None:
    from crab.report.html import write_report

    _say(console, result_line(spec, result, 1, 1))
    _say(console, f"demonstration: {out / spec.path / 'trajectory.json'}")
    _say(console, f"report: {write_report(out)}")


def _say(console: Any, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
