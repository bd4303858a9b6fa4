"""Writing a record: events are there as they happen, earlier attempts are kept, files change in one step."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from crab.graph import chain
from crab.observation import AccessibilityNode, Frame, Observation
from crab.record.reader import TrialRecord, read_events
from crab.record.schema import LimitsSpec, State, TrialSpec
from crab.record.writer import LARGE_BYTES, TrialWriter, next_attempt, write_atomic
from tests.crab.run.toy_stage import opened, spec_of, toy_task

PATIENCE = 60.0
"""Seconds until a condition that should come is given up; not a measurement."""


@pytest.fixture
def spec() -> TrialSpec:
    """The spec of a small trial."""
    return spec_of(toy_task(chain(opened())), LimitsSpec())


CHILD = """
import sys
from pathlib import Path
from crab.record.schema import TrialSpec
from crab.record.writer import TrialWriter

writer = TrialWriter(Path(sys.argv[1]), TrialSpec.model_validate_json(sys.argv[2]))
while True:
    writer.event("check", step=1, checkpoint="opened", value=False, reason="x" * 1000)
"""


def test_events_survive_a_kill(tmp_path: Path, spec: TrialSpec) -> None:
    """When the process is killed at any moment, every whole line can be read and is in order."""
    root = Path(__file__).parents[3]
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path), spec.model_dump_json()], cwd=root)
    path = tmp_path / "events.jsonl"
    deadline = time.monotonic() + PATIENCE
    while not (path.exists() and path.stat().st_size > 100_000):
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()

    events = read_events(path)

    assert len(events) > 50
    assert [event["n"] for event in events] == list(range(len(events)))


def test_an_event_is_there_before_the_next_one(tmp_path: Path, spec: TrialSpec) -> None:
    """Another process can read an event at once, and the mirror is told what was written."""
    told: list[dict[str, Any]] = []
    with TrialWriter(tmp_path, spec, mirror=told.append) as writer:
        writer.event("pass", step=1, checkpoint="opened", implied_by=None)

        events = read_events(tmp_path / "events.jsonl")

    assert [event["event"] for event in events] == ["trial_start", "pass"]
    assert events == told


@pytest.mark.parametrize("fields", [{"step": 1}, {"step": 1, "checkpoint": "a", "implied_by": None, "why": ""}])
def test_an_event_has_exactly_its_fields(tmp_path: Path, spec: TrialSpec, fields: dict[str, Any]) -> None:
    """A field that is missing or not of the sort is refused, so that readers can rely on the schema."""
    with TrialWriter(tmp_path, spec) as writer, pytest.raises(ValueError, match="event pass has fields"):
        writer.event("pass", **fields)


def test_a_new_attempt_keeps_the_old_one(tmp_path: Path, spec: TrialSpec) -> None:
    """What an earlier attempt left is moved as it was, and attempts are numbered."""
    texts = []
    for number in (1, 2, 3):
        with TrialWriter(tmp_path, spec) as writer:
            assert writer.attempt == number
            writer.observation(number, {"desktop": picture(f"picture {number}")})
            writer.status(State.INTERRUPTED)
        (tmp_path / "trial.log").write_text(f"log {number}", encoding="utf-8")
        texts.append((tmp_path / "events.jsonl").read_bytes())

    for number in (1, 2):
        old = tmp_path / "attempts" / str(number)
        assert (old / "events.jsonl").read_bytes() == texts[number - 1]
        assert (old / "trial.log").read_text(encoding="utf-8") == f"log {number}"
        assert len(list((old / "shots").iterdir())) == 1
    assert TrialRecord(tmp_path).events[0]["attempt"] == 3
    assert next_attempt(tmp_path / "nowhere") == 1


def test_a_move_that_was_cut_short_goes_on(tmp_path: Path, spec: TrialSpec) -> None:
    """A process that died while it moved an attempt away leaves a record that the next one can go on from."""
    with TrialWriter(tmp_path, spec):
        pass
    (tmp_path / "attempts" / "1").mkdir(parents=True)
    (tmp_path / "spec.json").rename(tmp_path / "attempts" / "1" / "spec.json")

    with TrialWriter(tmp_path, spec) as writer:
        attempt = writer.attempt

    assert attempt >= 2
    assert [event["event"] for event in read_events(tmp_path / "events.jsonl")] == ["trial_start"]
    kept = list((tmp_path / "attempts").glob("*/events.jsonl"))
    assert len(kept) == 1


def test_a_large_answer_is_stored_once(tmp_path: Path, spec: TrialSpec) -> None:
    """A large value leaves its digest in the event and its bytes in ``shots/``; a small one stays where it is."""
    large = ["é" * LARGE_BYTES]
    with TrialWriter(tmp_path, spec) as writer:
        first, second, small = writer.large(large), writer.large(large), writer.large(["a"])

    assert first == second
    assert small == ["a"]
    assert json.loads(TrialRecord(tmp_path).shot(first["shot"]).read_text(encoding="utf-8")) == large
    assert len(list((tmp_path / "shots").iterdir())) == 1


def test_pictures_are_kept_as_they_came(tmp_path: Path, spec: TrialSpec) -> None:
    """A frame's bytes are stored unchanged under their digest, equal ones once, the tree beside them."""
    with TrialWriter(tmp_path, spec) as writer:
        writer.observation(1, {"desktop": picture("same"), "phone": picture("same")})
        writer.observation(2, {"desktop": picture("other", tree=AccessibilityNode("frame", "Ö"))})
    record = TrialRecord(tmp_path)
    first, second = (event["environments"] for event in record.events[1:])

    assert first["desktop"] == first["phone"]
    shown = second["desktop"]
    assert record.shot(shown["frames"][0]["sha256"]).read_bytes() == b"other"
    assert json.loads(record.shot(shown["accessibility"]).read_text(encoding="utf-8"))["name"] == "Ö"
    assert len(list((tmp_path / "shots").iterdir())) == 3


def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    """When writing fails, the old text stays and nothing else is left behind."""
    path = tmp_path / "status.json"
    write_atomic(path, "old")

    with pytest.raises(TypeError):
        write_atomic(path, 3)  # type: ignore[arg-type]

    assert path.read_text(encoding="utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["status.json"]


def picture(text: str, *, tree: AccessibilityNode | None = None) -> Observation:
    """An observation of one frame, whose bytes need not be a picture for a record."""
    return Observation((Frame(text.encode(), "image/png", 1, 1, 0.0),), tree)
