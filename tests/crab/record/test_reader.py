"""Reading a record: what is torn at the end is forgiven, what is wrong before it is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crab.agent import Decision, Usage
from crab.errors import RecordError
from crab.graph import chain
from crab.record.reader import TrialRecord, read_document, read_events, trial_directories
from crab.record.schema import LimitsSpec, Reason, Status, TrialSpec
from tests.crab.run.toy_stage import NOTHING, OPEN, Script, opened, play, spec_of, toy_task, two_steps


def lines(directory: Path, *texts: str) -> Path:
    """Writes an event file."""
    path = directory / "events.jsonl"
    path.write_bytes("".join(texts).encode())
    return path


GOOD = '{"event":"trial_start","n":0}\n'


@pytest.mark.parametrize("torn", ["", '{"event":"pa', '{"event":"pass","n":1}', "\x00\x00"])
def test_a_torn_last_line_is_ignored(tmp_path: Path, torn: str) -> None:
    """A line without its line feed was never finished, even where it looks whole."""
    assert [event["n"] for event in read_events(lines(tmp_path, GOOD, torn))] == [0]


@pytest.mark.parametrize("bad", ['{"event":"pa\n', "\n", "[1]\n", '{"n":1}\n', "\x00\n"])
def test_a_broken_earlier_line_is_refused(tmp_path: Path, bad: str) -> None:
    """A line before the last that is no event makes the record untrustworthy; the message names it."""
    with pytest.raises(RecordError, match=r"events\.jsonl, line 2: not"):
        read_events(lines(tmp_path, GOOD, bad, GOOD))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    """What is not UTF-8 is told like any other broken line."""
    path = tmp_path / "events.jsonl"
    path.write_bytes(GOOD.encode() + b'{"event":"\xff"}\n')

    with pytest.raises(RecordError, match="line 2: not JSON"):
        read_events(path)


def test_a_missing_record_is_said(tmp_path: Path) -> None:
    """A directory without events is told with its path."""
    with pytest.raises(RecordError, match=r"events\.jsonl: cannot be read \(No such file"):
        read_events(tmp_path / "events.jsonl")


STATUS = {"schema_version": 1, "state": "done", "attempt": 1, "process": 7}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON"),
        ("[]", "schema version None"),
        (json.dumps({**STATUS, "schema_version": 2}), "schema version 2, this CRAB reads 1"),
        (json.dumps({**STATUS, "schema_version": "1"}), "schema version '1'"),
        (json.dumps({**STATUS, "state": "asleep"}), "state: Input should be"),
        (json.dumps({**STATUS, "mood": "good"}), "mood: Extra inputs"),
        (json.dumps({"schema_version": 1, "state": "done"}), "attempt: Field required"),
    ],
)
def test_another_form_is_refused(tmp_path: Path, content: str, said: str) -> None:
    """A document of another version or form is refused in one line that says where and what."""
    path = tmp_path / "status.json"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(RecordError, match=said) as caught:
        read_document(path, Status)

    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_document_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are a broken record, not a crash."""
    (tmp_path / "status.json").write_bytes(b"\xff\xfe")

    with pytest.raises(RecordError, match=r"status\.json"):
        read_document(tmp_path / "status.json", Status)


def test_a_result_follows_from_the_events(tmp_path: Path) -> None:
    """The result counts what the events hold: actions, turns, invalid calls, tokens, passes."""
    decision = Decision(
        (OPEN,), usage=Usage(input=3, cache_read=2, cache_write=1, output=4, reasoning=4, model_calls=1)
    )
    played = play(tmp_path, toy_task(two_steps()), Script(decision, [], [NOTHING]))

    result = TrialRecord(tmp_path).result()

    assert result == played.result
    assert (result.reason, result.valid, result.success) == (Reason.AGENT_COMPLETE, True, False)
    assert (result.actions, result.turns, result.invalid_calls) == (2, 4, 1)
    assert (result.tokens, result.cost_efficiency, result.cost) == (10, 0.05, None)
    assert [(entry.id, entry.passed, entry.step) for entry in result.checkpoints] == [
        ("opened", True, 1),
        ("answered", False, None),
    ]


def test_two_equal_trials_have_one_canonical_result(tmp_path: Path) -> None:
    """Attempt, wall time and the words of an error are left out; all else has to be equal."""
    first = play(tmp_path, toy_task(two_steps()), Script([OPEN], OSError("one"))).result
    second = play(tmp_path, toy_task(two_steps()), Script([OPEN], OSError("two"))).result

    assert (first.attempt, second.attempt) == (1, 2)
    assert first.canonical() == second.canonical()
    assert {"attempt", "seconds", "error"}.isdisjoint(first.canonical())


def test_a_record_without_an_end_has_no_result(tmp_path: Path) -> None:
    """A trial that was cut short says so, instead of a result that looks like a failure."""
    play(tmp_path, toy_task(two_steps()), Script())
    text = (tmp_path / "events.jsonl").read_text(encoding="utf-8")
    (tmp_path / "events.jsonl").write_text(text[:-2], encoding="utf-8")
    record = TrialRecord(tmp_path)

    assert not record.ended
    with pytest.raises(RecordError, match="did not reach its end; run it again"):
        record.result()


def test_trials_are_found_in_order(tmp_path: Path) -> None:
    """Trial directories come sorted by agent, task and seed as a number; earlier attempts are no trials."""
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    wanted = ["a/t/s2", "a/t/s10", "a/u/s0", "b/t/s0"]
    for name in reversed(wanted):
        for folder in (tmp_path / "trials" / name, tmp_path / "trials" / name / "attempts" / "1"):
            folder.mkdir(parents=True)
            (folder / "spec.json").write_text("{}", encoding="utf-8")

    found = [path.relative_to(tmp_path / "trials").as_posix() for path in trial_directories(tmp_path)]

    assert found == wanted
    with pytest.raises(RecordError, match=r"no config\.json here"):
        list(trial_directories(tmp_path / "trials"))


def test_a_spec_reads_back_as_it_was(tmp_path: Path) -> None:
    """What a child process is given is what was written."""
    spec = spec_of(toy_task(chain(opened())), LimitsSpec(actions=3, cost=0.5))
    play(tmp_path, toy_task(chain(opened())), Script(), limits=spec.limits)

    assert read_document(tmp_path / "spec.json", TrialSpec) == spec
    missing: Any = TrialRecord(tmp_path / "nowhere")
    assert missing.status is None
