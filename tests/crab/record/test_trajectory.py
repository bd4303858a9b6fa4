"""The derived trajectory: ATIF 1.8, rebuilt byte for byte from the events; and the checker that says so."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crab.agent import Call, Decision, Message, Usage
from crab.errors import RecordError
from crab.graph import parallel
from crab.record.reader import TrialRecord
from crab.record.trajectory import derive_trajectory, write_derived
from tests.crab.record.atif import Trajectory, check
from tests.crab.run.toy_stage import NOTHING, Script, answer, answered, opened, play, toy_task

NO_OBJECT: Any = ["42"]
OPEN = Call("desktop__open_application", {"name": "Notepad"}, id="open")


def decision(*calls: Any, **usage: Any) -> Decision:
    """A decision of an agent with two voices."""
    messages = (
        Message("planner", "First the notepad.", recipient="actor"),
        Message("actor", "It is the icon.", kind="reasoning"),
        Message("actor", "Opening it."),
    )
    return Decision(tuple(calls), messages, Usage(**usage))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A trial with several calls, one refused, one that fails, two with one id, and one with no object of arguments."""
    task = toy_task(parallel(opened(), answered()), "desktop", "phone")
    play(
        tmp_path,
        task,
        Script(
            decision(
                OPEN,
                OPEN,
                Call("fly"),
                Call("wait", {"seconds": 1}),
                input=70,
                cache_read=20,
                cache_write=10,
                output=9,
                reasoning=4,
                cost=0.25,
                model_calls=2,
            ),
            decision(
                Call("phone__write_text", {"text": "no field"}),
                Call("submit", NO_OBJECT),
                input=1,
                output=1,
                model_calls=1,
            ),
            [],
            [answer("41"), answer("42")],
        ),
    )
    return tmp_path


@pytest.fixture
def trajectory(directory: Path) -> dict[str, Any]:
    """The trial's trajectory."""
    return derive_trajectory(TrialRecord(directory))


def test_a_trajectory_is_atif(directory: Path, trajectory: dict[str, Any]) -> None:
    """It keeps every field rule, and each picture is a file of the record."""
    checked = check(json.loads(json.dumps(trajectory)), directory)

    assert len(checked.pictures()) == 2 * 6
    assert {Path(path).parts[0] for path in checked.pictures()} == {"shots"}


def test_one_step_a_turn_after_the_task(trajectory: dict[str, Any]) -> None:
    """The user's step says the task and shows the start; each turn is one agent step."""
    steps = trajectory["steps"]

    assert [step["source"] for step in steps] == ["user", "agent", "agent", "agent", "agent", "agent"]
    assert steps[0]["message"][0] == {"type": "text", "text": "Do something."}
    assert [part["type"] for part in steps[0]["message"]] == ["text", "image", "image"]
    assert [step["extra"].get("turn") for step in steps[1:]] == [1, 2, 3, 4, 5]


def test_a_step_tells_what_was_said_called_and_done(trajectory: dict[str, Any]) -> None:
    """Words, thoughts, calls with their own ids, and for each call what became of it."""
    step = trajectory["steps"][1]
    outcomes = [result for result in step["observation"]["results"] if "source_call_id" in result]

    assert step["message"] == "First the notepad.\n\nOpening it."
    assert step["reasoning_content"] == "It is the icon."
    assert [call["tool_call_id"] for call in step["tool_calls"]] == ["open", "open#2", "call_3", "call_4"]
    assert step["tool_calls"][0]["arguments"] == {"name": "Notepad"}
    assert [result["source_call_id"] for result in outcomes] == ["open", "open#2", "call_3", "call_4"]
    assert [result["extra"]["executed"] for result in outcomes] == [True, True, False, False]
    assert outcomes[0]["extra"]["environment"] == "desktop"
    assert outcomes[0]["extra"]["arguments"] == {"name": "Notepad"}
    assert outcomes[0]["extra"]["checkpoints_passed"] == [{"checkpoint": "opened", "implied_by": None}]
    assert outcomes[2]["extra"]["reason"] == "unknown_action"


def test_what_was_shown_after_a_turn_stands_in_its_step(trajectory: dict[str, Any]) -> None:
    """After the calls each device shows what it shows; after the last turn, what it showed at the end."""
    for step in trajectory["steps"][1:]:
        shown = [result for result in step["observation"]["results"] if "frames" in result["extra"]]
        assert [result["extra"]["environment"] for result in shown] == ["desktop", "phone"]
        assert all(result["content"][0]["type"] == "image" for result in shown)
        assert shown[0]["extra"]["frames"][0]["width"] == 320


def test_odd_turns_have_their_place(trajectory: dict[str, Any]) -> None:
    """A failed action, arguments that are no object, and a turn without any call are told as they were."""
    failed_then_refused, empty = trajectory["steps"][2], trajectory["steps"][3]

    assert "no text field is focused" in failed_then_refused["observation"]["results"][0]["content"]
    assert failed_then_refused["tool_calls"][1]["arguments"] == {"not_an_object": "['42']"}
    assert "tool_calls" not in empty
    assert "holds no call" in empty["observation"]["results"][0]["content"]


def test_tokens_and_cost_are_counted(trajectory: dict[str, Any]) -> None:
    """Prompt tokens include cached ones; a step without a model call has no metrics; an unknown cost has no sum."""
    step, without_model = trajectory["steps"][1], trajectory["steps"][4]

    assert step["metrics"] == {
        "prompt_tokens": 100,
        "completion_tokens": 9,
        "cached_tokens": 20,
        "cost_usd": 0.25,
        "extra": {"cache_write_tokens": 10, "reasoning_tokens": 4},
    }
    assert (step["llm_call_count"], without_model["llm_call_count"]) == (2, 0)
    assert "metrics" not in without_model
    assert trajectory["final_metrics"] == {
        "total_prompt_tokens": 101,
        "total_completion_tokens": 10,
        "total_cached_tokens": 20,
        "total_steps": 6,
    }


def test_the_rest_stands_in_extra(trajectory: dict[str, Any]) -> None:
    """Task, environments, seed, edges and result stand in ``extra``."""
    extra = trajectory["extra"]

    assert (extra["task"]["id"], extra["seed"]) == ("toy-task", 7)
    assert extra["environments"] == {"desktop": "toy_desktop", "phone": "toy_phone"}
    assert extra["result"]["completion_ratio"] == 0.5
    assert trajectory["session_id"] == "trials/script/toy-task/s7/attempt-1"


def test_derived_files_are_rebuilt_byte_for_byte(directory: Path) -> None:
    """What is derived can be deleted: the events give the same files again."""
    write_derived(directory)
    first = {name: (directory / name).read_bytes() for name in ("trajectory.json", "result.json")}
    for name in first:
        (directory / name).unlink()

    write_derived(directory)

    assert {name: (directory / name).read_bytes() for name in first} == first
    assert json.loads(first["result.json"])["completion_ratio"] == 0.5
    assert [path.name for path in directory.iterdir() if path.name.startswith(".")] == []


def test_half_a_surrogate_pair_is_no_obstacle(tmp_path: Path) -> None:
    """Text that is no valid Unicode is kept as the escape that JSON has for it."""
    said = Decision((NOTHING,), (Message("script", "\ud83d"),))
    play(tmp_path, toy_task(parallel(opened())), Script(said, RuntimeError("\ud83d")))

    write_derived(tmp_path)

    trajectory = json.loads((tmp_path / "trajectory.json").read_text(encoding="utf-8"))
    assert trajectory["steps"][1]["message"] == "\ud83d"
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["error"] == "\ud83d"


def test_a_trial_without_an_end_has_no_trajectory(directory: Path) -> None:
    """What did not reach its end is refused, and nothing is written."""
    lines = (directory / "events.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (directory / "events.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")

    with pytest.raises(RecordError, match="did not reach its end"):
        write_derived(directory)
    assert not (directory / "trajectory.json").exists()


def broken(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A copy of a trajectory with one change."""

    def apply(document: dict[str, Any]) -> dict[str, Any]:
        copied = copy.deepcopy(document)
        change(copied)
        return copied

    return apply


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.update(schema_version="ATIF-v1.7"), "schema_version"),
        (lambda t: t.update(score=1), "score"),
        (lambda t: t["agent"].pop("version"), "agent.version"),
        (lambda t: t.update(steps=[]), "steps"),
        (lambda t: t["steps"].pop(2), "without a gap"),
        (lambda t: t["steps"][0].update(tool_calls=[]), "agent steps only"),
        (lambda t: t["steps"][0].update(reasoning_content="hm"), "agent steps only"),
        (lambda t: t["steps"][0].update(metrics=t["steps"][1]["metrics"]), "agent steps only"),
        (lambda t: t["steps"][1].update(environment="desktop"), "environment"),
        (lambda t: t["steps"][1].update(timestamp="yesterday"), "timestamp|isoformat"),
        (lambda t: t["steps"][1].update(llm_call_count=0), "without a model call"),
        (lambda t: t["steps"][1]["tool_calls"].pop(0), "no call of this step"),
        (lambda t: t["steps"][1]["tool_calls"][1].update(tool_call_id="open"), "unique"),
        (lambda t: t["steps"][1]["tool_calls"][0].update(arguments="x=1"), "arguments"),
        (lambda t: t["steps"][1]["metrics"].update(cached_tokens=1000), "include the cached"),
        (lambda t: t["steps"][0]["message"][1].update(text="a picture"), "holds exactly that"),
        (lambda t: t["steps"][0]["message"][1]["source"].update(path="data:image/png;base64,AAAA"), "path"),
        (lambda t: t["steps"][0]["message"][1]["source"].update(path="shots/none.png"), "no picture"),
        (lambda t: t["steps"][0]["message"][1]["source"].update(path="../shots/none.png"), "no picture"),
        (lambda t: t["steps"][0]["message"][1]["source"].update(media_type="image/bmp"), "media_type"),
    ],
)
def test_the_checker_finds_what_is_wrong(
    directory: Path, trajectory: dict[str, Any], change: Callable[[dict[str, Any]], object], said: str
) -> None:
    """Every field rule is one that the checker has refused a trajectory for."""
    with pytest.raises(ValueError, match=said):
        check(broken(change)(trajectory), directory)
    assert Trajectory.model_validate(trajectory).steps
