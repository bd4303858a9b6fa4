"""Reads trial and run directories, and rebuilds everything that is derived from the events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from crab.errors import RecordError
from crab.record.schema import (
    SCHEMA_VERSION,
    CheckpointResult,
    Reason,
    Result,
    Status,
    TrialSpec,
)

Event = dict[str, Any]
"""One line of ``events.jsonl``; see `crab.record.schema.EVENT_FIELDS`."""

Document = TypeVar("Document", bound=BaseModel)


def read_document(path: Path, model: type[Document]) -> Document:
    """Reads a JSON file into a model.

    Raises:
        RecordError: The file is missing, not JSON, of another schema version, or not of that form.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror}); is this a run directory?") from error
    except UnicodeDecodeError as error:
        raise RecordError(f"{path}: not UTF-8 text; delete the trial directory and run again") from error
    try:
        document = json.loads(text)
    except ValueError as error:
        raise RecordError(f"{path}: not JSON ({error}); delete the trial directory and run again") from error
    version = document.get("schema_version") if isinstance(document, dict) else None
    if version != SCHEMA_VERSION:
        raise RecordError(
            f"{path}: schema version {version!r}, this CRAB reads {SCHEMA_VERSION}; use the CRAB that wrote it"
        )
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise RecordError(f"{path}: {where}: {problem['msg']}") from error


def read_events(path: Path) -> list[Event]:
    """Returns all whole events of an ``events.jsonl``; a torn last line is ignored.

    Raises:
        RecordError: A line before the last is not an event.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror})") from error
    lines = data.split(b"\n")
    events: list[Event] = []
    for number, line in enumerate(lines, start=1):
        # A whole line ends in a line feed, so the last piece is empty or torn.
        if number == len(lines):
            break
        try:
            event = json.loads(line)
        except ValueError as error:
            raise RecordError(f"{path}, line {number}: not JSON ({error})") from error
        if not isinstance(event, dict) or "event" not in event:
            raise RecordError(f"{path}, line {number}: not an event")
        events.append(event)
    return events


@dataclass(frozen=True)
class TrialRecord:
    """One trial directory, read on demand."""

    directory: Path

    @cached_property
    def spec(self) -> TrialSpec:
        """``spec.json``."""
        return read_document(self.directory / "spec.json", TrialSpec)

    @cached_property
    def events(self) -> list[Event]:
        """All whole events."""
        return read_events(self.directory / "events.jsonl")

    @cached_property
    def status(self) -> Status | None:
        """``status.json``, or None when there is none yet."""
        path = self.directory / "status.json"
        return read_document(path, Status) if path.exists() else None

    @property
    def ended(self) -> bool:
        """Whether the events reach the end of the trial."""
        return bool(self.events) and self.events[-1]["event"] == "trial_end"

    def result(self) -> Result:
        """Returns the result, rebuilt from the events.

        Raises:
            RecordError: The trial did not reach its end.
        """
        return derive_result(self.spec, self.events)

    def shot(self, sha256: str) -> Path:
        """Returns the file with that digest.

        Raises:
            RecordError: There is none.
        """
        found = sorted((self.directory / "shots").glob(f"{sha256}.*"))
        if not found:
            raise RecordError(f"{self.directory}: no shot {sha256}; was the record pruned?")
        return found[0]


def derive_result(spec: TrialSpec, events: list[Event]) -> Result:
    """Builds the result of a trial from its events.

    Raises:
        RecordError: The events do not reach the end of the trial.
    """
    if not events or events[-1]["event"] != "trial_end":
        raise RecordError(f"trial {spec.path} did not reach its end; run it again")
    passes = {event["checkpoint"]: event for event in events if event["event"] == "pass"}
    decisions = [event for event in events if event["event"] == "decision"]
    actions = sum(1 for event in events if event["event"] == "action" and event["counted"])
    tokens = sum(_tokens(event["usage"]) for event in decisions)
    total, passed = len(spec.task.checkpoints), len(passes)
    ratio = passed / total
    costs = [event["usage"]["cost"] for event in decisions]
    end = events[-1]
    return Result(
        agent=spec.agent.id,
        task=spec.task.id,
        seed=spec.seed,
        family=spec.task.family,
        attempt=events[0]["attempt"],
        reason=Reason(end["reason"]),
        valid=end["valid"],
        success=end["valid"] and passed == total,
        completion_ratio=ratio,
        execution_efficiency=ratio / actions if actions else None,
        cost_efficiency=ratio / tokens if tokens else None,
        actions=actions,
        turns=len(decisions),
        invalid_calls=sum(1 for event in events if event["event"] == "invalid_call" and event["reason"] != "skipped"),
        tokens=tokens,
        cost=None if any(cost is None for cost in costs) else sum(costs),
        model_calls=sum(event["usage"]["model_calls"] for event in decisions),
        seconds=end["seconds"],
        tracks=spec.tracks,
        checkpoints=tuple(
            CheckpointResult(
                id=node.id,
                passed=node.id in passes,
                step=passes[node.id]["step"] if node.id in passes else None,
                implied_by=passes[node.id]["implied_by"] if node.id in passes else None,
            )
            for node in spec.task.checkpoints
        ),
        error=next((event["message"] for event in reversed(events) if event["event"] == "error"), ""),
    )


def _tokens(usage: dict[str, Any]) -> int:
    return int(usage["input"] + usage["cache_read"] + usage["cache_write"] + usage["output"])


def trial_directories(run: Path) -> Iterator[Path]:
    """Yields every trial directory of a run, sorted by agent, task and seed.

    Raises:
        RecordError: `run` is no run directory.
    """
    if not (run / "config.json").exists():
        raise RecordError(f"{run}: no config.json here; name a directory that `crab run --out` wrote")
    found = (path.parent for path in (run / "trials").glob("*/*/s*/spec.json"))
    yield from sorted(found, key=lambda path: (path.parts[-3], path.parts[-2], int(path.name[1:])))
