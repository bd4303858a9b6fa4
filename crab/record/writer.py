"""Writes a trial directory: events are appended and flushed one by one, everything else is replaced atomically."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from crab.observation import AccessibilityNode, Frame, Observation
from crab.record.schema import EVENT_FIELDS, SCHEMA_VERSION, State, Status, TrialSpec

EXTENSIONS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}
"""File name extension of a shot by media type; others become ``bin``."""

LARGE_BYTES = 100_000
"""Probe answers above this many bytes of JSON are stored as ``shots/<sha256>.json``."""

ESCAPED = "backslashreplace"
"""How JSON text is encoded: half a surrogate pair, which agents do produce, becomes the JSON escape that means it."""

ATTEMPT_FILES = ("spec.json", "status.json", "events.jsonl", "trial.log", "trajectory.json", "result.json", "shots")
"""What belongs to one attempt and moves to ``attempts/<n>/`` when the next one begins."""


def write_atomic(path: Path, text: str) -> None:
    """Replaces a file in one step: readers see the old text or the new one, never a part."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors=ESCAPED) as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def next_attempt(directory: Path) -> int:
    """Makes room for a new attempt: moves what an earlier one left to ``attempts/<n>/``; returns the new number."""
    attempts = directory / "attempts"
    numbers = [int(path.name) for path in attempts.iterdir() if path.name.isdecimal()] if attempts.is_dir() else []
    number = max(numbers, default=0) + 1
    if not (directory / "events.jsonl").exists():
        return number
    target = attempts / str(number)
    target.mkdir(parents=True)
    # The events move last: until then the directory still counts as an attempt, whatever interrupts us.
    for name in sorted(ATTEMPT_FILES, key=lambda name: name == "events.jsonl"):
        source = directory / name
        if source.exists():
            shutil.move(source, target / name)
    return number + 1


class TrialWriter:
    """Records one attempt at a trial.

    Args:
        directory: The trial directory; made when it is missing.
        spec: Written to ``spec.json``.
        mirror: Called with every event, for live progress.
    """

    def __init__(
        self, directory: Path, spec: TrialSpec, *, mirror: Callable[[dict[str, Any]], None] | None = None
    ) -> None:
        self.directory = directory
        self._mirror = mirror
        (directory / "shots").mkdir(parents=True, exist_ok=True)
        self.attempt = next_attempt(directory)
        (directory / "shots").mkdir(exist_ok=True)
        write_atomic(directory / "spec.json", spec.model_dump_json(indent=2) + "\n")
        self._events = (directory / "events.jsonl").open("a", encoding="utf-8", errors=ESCAPED)
        self._count = 0
        self._began = time.monotonic()
        self.status(State.RUNNING)
        self.event(
            "trial_start",
            schema_version=SCHEMA_VERSION,
            attempt=self.attempt,
            time=datetime.now(UTC).isoformat(timespec="milliseconds"),
        )

    def __enter__(self) -> Self:
        """Returns itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the event file."""
        self._events.close()

    @property
    def seconds(self) -> float:
        """Seconds since the attempt began."""
        return time.monotonic() - self._began

    def event(self, event: str, /, **fields: Any) -> None:
        """Appends one event and flushes it.

        Args:
            event: A key of `EVENT_FIELDS`.
            **fields: Exactly the fields of that sort, as JSON values.

        Raises:
            ValueError: The fields are not those of the sort.
        """
        if set(fields) != set(EVENT_FIELDS[event]):
            raise ValueError(f"event {event} has fields {sorted(EVENT_FIELDS[event])}, got {sorted(fields)}")
        document = {"event": event, "n": self._count, "at": round(self.seconds, 4), **fields}
        self._events.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n")
        self._events.flush()
        self._count += 1
        if self._mirror is not None:
            self._mirror(document)

    def observation(self, turn: int, observations: dict[str, Observation]) -> None:
        """Stores the frames and trees of an observation and appends its event."""
        self.event(
            "observation",
            turn=turn,
            environments={
                role: {
                    "frames": [self._frame(frame) for frame in observation.frames],
                    "accessibility": self._tree(observation.accessibility),
                }
                for role, observation in observations.items()
            },
        )

    def large(self, value: Any) -> Any:
        """Returns a JSON value as an event holds it: a large one goes to ``shots/`` and leaves its digest behind."""
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors=ESCAPED)
        if len(data) <= LARGE_BYTES:
            return value
        digest = hashlib.sha256(data).hexdigest()
        self._store(f"{digest}.json", data)
        return {"shot": digest}

    def status(self, state: State) -> None:
        """Replaces ``status.json``."""
        document = Status(state=state, attempt=self.attempt, process=os.getpid())
        write_atomic(self.directory / "status.json", document.model_dump_json() + "\n")

    def _frame(self, frame: Frame) -> dict[str, Any]:
        self._store(f"{frame.sha256}.{EXTENSIONS.get(frame.media_type, 'bin')}", frame.data)
        return {
            "sha256": frame.sha256,
            "media_type": frame.media_type,
            "width": frame.width,
            "height": frame.height,
            "time": round(frame.time, 4),
        }

    def _tree(self, tree: AccessibilityNode | None) -> str | None:
        if tree is None:
            return None
        data = json.dumps(asdict(tree), ensure_ascii=False, separators=(",", ":")).encode(errors=ESCAPED)
        digest = hashlib.sha256(data).hexdigest()
        self._store(f"{digest}.json", data)
        return digest

    def _store(self, name: str, data: bytes) -> None:
        path = self.directory / "shots" / name
        if path.exists():
            return
        temporary = path.with_name(f".{name}.part")
        temporary.write_bytes(data)
        os.replace(temporary, path)
