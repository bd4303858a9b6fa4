"""Reads a run directory for showing, whatever state it is in: running, interrupted, or with broken trials."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from crab.errors import RecordError
from crab.record.reader import Event, TrialRecord, read_document, trial_directories
from crab.record.schema import EVENT_FIELDS, SCHEMA_VERSION, Result, State, TrialSpec


class Stage(StrEnum):
    """How far a trial is, as the report says it."""

    ENDED = "ended"
    UNFINISHED = "unfinished"
    INTERRUPTED = "interrupted"
    UNREADABLE = "unreadable"


@dataclass(frozen=True)
class Trial:
    """One trial directory, as far as it can be read.

    Attributes:
        directory: Where it lies.
        agent: Name of the agent's directory, which is the agent's id.
        task: Name of the task's directory.
        seed: Name of the seed's directory without its ``s``.
        stage: How far it is.
        spec: What was to be done; None when that cannot be read.
        events: What happened; empty when that cannot be read.
        result: What came of it; only when it ended.
        problem: Why it cannot be read, or empty.
    """

    directory: Path
    agent: str
    task: str
    seed: int
    stage: Stage
    spec: TrialSpec | None = None
    events: tuple[Event, ...] = ()
    result: Result | None = None
    problem: str = ""

    @property
    def parts(self) -> tuple[str, str, str]:
        """Where it lies below ``trials/``."""
        return self.agent, self.task, self.directory.name


class _AnyDocument(BaseModel):
    """A file of which only the schema version matters here."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    schema_version: int


def read_trials(run: Path) -> Iterator[Trial]:
    """Yields every trial of a run, sorted by agent, task and seed, each read when it is asked for.

    Raises:
        RecordError: `run` is no run directory, of another schema version, or not one of its trials can be read.
    """
    directories = list(trial_directories(run))
    read_document(run / "config.json", _AnyDocument)
    unreadable: list[Trial] = []
    for directory in directories:
        trial = read_trial(directory)
        if trial.stage is Stage.UNREADABLE:
            unreadable.append(trial)
        yield trial
    if unreadable and len(unreadable) == len(directories):
        raise RecordError(unreadable[0].problem)


def read_trial(directory: Path) -> Trial:
    """Reads one trial directory; what cannot be read becomes its `problem`."""
    agent, task, name = directory.parts[-3:]
    seed = int(name[1:])
    record = TrialRecord(directory)
    spec: TrialSpec | None = None
    try:
        spec = record.spec
        events = tuple(record.events) if (directory / "events.jsonl").exists() else ()
        for number, event in enumerate(events, start=1):
            _check(event, f"{directory / 'events.jsonl'}, line {number}")
        result = record.result() if record.ended else None
        state = record.status.state if record.status is not None else State.RUNNING
    except RecordError as error:
        return Trial(directory, agent, task, seed, Stage.UNREADABLE, spec, problem=str(error))
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        # Whole lines of the right sort, but with values that no writer of ours leaves behind.
        problem = f"{directory / 'events.jsonl'}: not as recorded ({type(error).__name__}: {error})"
        return Trial(directory, agent, task, seed, Stage.UNREADABLE, spec, problem=problem)
    stage = Stage.INTERRUPTED if state is State.INTERRUPTED else Stage.ENDED if result else Stage.UNFINISHED
    return Trial(directory, agent, task, seed, stage, spec, events, result)


def _check(event: Event, where: str) -> None:
    sort = event["event"]
    if sort not in EVENT_FIELDS:
        raise RecordError(f"{where}: unknown event {sort!r}; use the CRAB that wrote it")
    missing = sorted(set(EVENT_FIELDS[sort]) - set(event))
    if missing:
        raise RecordError(f"{where}: event {sort} has no {missing[0]!r}; delete the trial directory and run again")
    if sort == "trial_start" and event["schema_version"] != SCHEMA_VERSION:
        raise RecordError(
            f"{where}: schema version {event['schema_version']!r}, this CRAB reads {SCHEMA_VERSION}; "
            "use the CRAB that wrote it"
        )
