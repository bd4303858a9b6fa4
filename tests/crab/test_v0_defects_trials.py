"""Defects of CRAB v0 in whole trials (numbers as in the list of its defects), each shown to be none of ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from crab.agent import Call
from crab.errors import DeadlineExceeded, EnvironmentFailure
from crab.evaluator import Probes, evaluator, submitted
from crab.graph import CheckpointGraph, chain, checkpoint, parallel
from crab.hosting import HostedEnvironment
from crab.metrics.summary import summarise
from crab.record.schema import LimitsSpec, Reason
from crab.task import SetupCall, Task
from tests.crab.lamp import EMBEDDED, LAMP, Lamp
from tests.crab.scripted import TOKENS, Stage, lamp_task, lamps, shines


def red(role: str = "desk") -> CheckpointGraph:
    return chain(checkpoint("red", shines.bind(colour="red").on(role)))


def red_then_blue() -> CheckpointGraph:
    return chain(red(), checkpoint("blue", shines.bind(colour="blue").on("desk")))


def shine(colour: str, **more: Any) -> list[Call]:
    return [Call("shine", {"colour": colour, **more})]


@pytest.fixture
def lamp() -> Lamp:
    return Lamp()


@pytest.fixture
def stage(tmp_path: Path, lamp: Lamp) -> Stage:
    return Stage(tmp_path, {"desk": HostedEnvironment(LAMP, lamp, EMBEDDED)})


def test_v0_04_a_second_trial_of_a_task_starts_at_nothing(stage: Stage) -> None:
    task = lamp_task(red())
    assert stage.play(task, shine("red")).result.completion_ratio == 1
    assert stage.play(task).result.completion_ratio == 0


def test_v0_04_one_checkpoint_and_no_action_divide_nothing_by_zero(stage: Stage) -> None:
    result = stage.play(lamp_task(red())).result
    assert (result.actions, result.completion_ratio, result.execution_efficiency) == (0, 0, None)
    (summary,) = summarise([result])
    assert summary.without_invalid.completion_ratio == 0


def test_v0_10_an_extra_action_is_gone_in_the_next_trial(stage: Stage) -> None:
    first = stage.play(lamp_task(red(), extra_actions={"desk": ("blink",)}), [Call("blink", {"times": 2})])
    second = stage.play(lamp_task(red()), [Call("blink", {"times": 2})])
    assert "blink" in first.agent.tools
    assert first.result.actions == 1
    assert "blink" not in second.agent.tools
    assert (second.result.actions, second.result.invalid_calls) == (0, 1)


def test_v0_10_a_submission_does_not_solve_the_next_task(stage: Stage) -> None:
    task = lamp_task(chain(checkpoint("answered", submitted("42"))))
    assert stage.play(task, [Call("submit", {"answer": "42"})]).ending.reason is Reason.SUCCESS
    again = stage.play(task)
    assert (again.ending.reason, again.result.completion_ratio) == (Reason.AGENT_COMPLETE, 0)


@pytest.mark.parametrize(
    ("call", "reason", "hint"),
    [
        (Call("attic__shine", {"colour": "red"}), "wrong_environment", "desk__shine, hall__shine"),
        (Call("shine", {"colour": "red"}), "unknown_action", "did you mean desk__shine?"),
        (Call("desk__zzz"), "unknown_action", "no tool 'desk__zzz'"),
        (Call("desk__shine", {"colour": "green"}), "invalid_arguments", "'red' or 'blue'"),
        (Call("desk__shine", {}), "invalid_arguments", "'colour': is missing"),
        (Call("desk__shine", ["red"]), "malformed_call", "object of arguments"),  # type: ignore[arg-type]
        (Call(None), "malformed_call", "a tool's name"),  # type: ignore[arg-type]
        ("shine red", "malformed_call", "a tool's name"),
    ],
)
def test_v0_11_a_wrong_call_is_explained_and_the_episode_goes_on(
    tmp_path: Path, call: Any, reason: str, hint: str
) -> None:
    stage = Stage(tmp_path, lamps("desk", "hall"))
    good = [Call("desk__shine", {"colour": "red"})]
    played = stage.play(lamp_task(red(), "desk", "hall"), [call], good)
    assert played.ending.reason is Reason.SUCCESS
    assert [event["reason"] for event in played.of("invalid_call")] == [reason]
    assert len(played.told) == 1
    assert hint in played.told[0]
    assert (played.result.actions, played.result.invalid_calls) == (1, 1)


def test_v0_11_only_wrong_calls_in_a_row_end_an_episode(stage: Stage) -> None:
    stage.limits = LimitsSpec(invalid_calls=2)
    wrong = [Call("dance")]
    task = lamp_task(red_then_blue())
    assert stage.play(task, wrong, shine("blue"), wrong, shine("red"), wrong).ending.reason is Reason.AGENT_COMPLETE
    assert stage.play(task, wrong, wrong, shine("red")).ending.reason is Reason.INVALID_ACTION


def test_v0_12_complete_leaves_the_stage_free(stage: Stage) -> None:
    assert stage.play(lamp_task(red())).ending.reason is Reason.AGENT_COMPLETE
    assert stage.play(lamp_task(red()), shine("red")).ending.reason is Reason.SUCCESS


def test_v0_12_a_failing_setup_leaves_the_stage_free(stage: Stage, lamp: Lamp) -> None:
    broken = lamp_task(red(), setup=[SetupCall("desk", "paint", {"colour": 3})])
    first = stage.play(broken, shine("red"))
    assert (first.ending.reason, first.ending.valid) == (Reason.ENVIRONMENT_ERROR, False)
    assert first.agent.seen == []
    assert stage.play(lamp_task(red()), shine("red")).ending.reason is Reason.SUCCESS


def test_v0_12_an_agent_that_breaks_leaves_the_stage_free(stage: Stage) -> None:
    first = stage.play(lamp_task(red_then_blue()), shine("red"), ValueError("no idea"))
    assert first.ending.reason is Reason.AGENT_ERROR
    assert first.result.completion_ratio == 0.5
    assert stage.play(lamp_task(red()), shine("red")).ending.reason is Reason.SUCCESS


def test_v0_13_success_with_the_last_allowed_action_is_success(stage: Stage) -> None:
    stage.limits = LimitsSpec(actions=2)
    played = stage.play(lamp_task(red()), shine("blue"), shine("red"))
    assert (played.ending.reason, played.result.actions) == (Reason.SUCCESS, 2)


def test_v0_14_the_limit_of_actions_is_the_only_cap_on_rounds(stage: Stage) -> None:
    stage.limits = LimitsSpec(actions=120)
    played = stage.play(lamp_task(red()), *[shine("blue")] * 119, shine("red"))
    assert (played.ending.reason, played.result.actions, played.result.turns) == (Reason.SUCCESS, 120, 120)
    stage.limits = LimitsSpec(actions=60)
    played = stage.play(lamp_task(red()), *[shine("blue")] * 100)
    assert (played.ending.reason, played.result.actions) == (Reason.STEP_LIMIT, 60)


def test_v0_14_actions_are_counted_as_they_are_and_the_start_check_is_none(stage: Stage) -> None:
    result = stage.play(lamp_task(red()), shine("blue"), shine("blue"), shine("red")).result
    assert result.actions == 3
    assert result.execution_efficiency == pytest.approx(1 / 3)


def test_v0_14_complete_is_no_action_but_other_root_calls_are(stage: Stage) -> None:
    result = stage.play(lamp_task(red_then_blue()), shine("red"), [Call("wait", {"seconds": 1})]).result
    assert result.actions == 2
    assert result.execution_efficiency == pytest.approx(0.5 / 2)


def test_v0_14_cost_efficiency_is_measured(stage: Stage) -> None:
    result = stage.play(lamp_task(red_then_blue()), shine("red")).result
    assert result.tokens == 2 * TOKENS
    assert result.cost_efficiency == pytest.approx(0.5 / (2 * TOKENS))


def test_v0_14_a_task_that_is_true_before_the_start_is_recorded_as_invalid(stage: Stage) -> None:
    played = stage.play(lamp_task(red(), setup=[SetupCall("desk", "paint", {"colour": "red"})]), shine("red"))
    assert not played.ending.valid
    assert not played.result.success
    assert played.result.error == "checkpoint red is true before the start"
    assert played.agent.seen == []


def test_v0_14_waiting_takes_no_time_where_time_is_stepped(stage: Stage, lamp: Lamp) -> None:
    """Two hours of waiting, which the test's own time limit would not allow."""
    stage.limits = LimitsSpec(actions=200)
    stage.play(lamp_task(red()), *[[Call("wait", {"seconds": 60})]] * 120)
    assert lamp.log.count("advance 60") == 120


def test_v0_14_a_result_tells_of_every_checkpoint(stage: Stage) -> None:
    result = stage.play(lamp_task(red_then_blue()), shine("blue"), shine("red")).result
    assert [(node.id, node.passed, node.step) for node in result.checkpoints] == [
        ("red", True, 2),
        ("blue", False, None),
    ]


def test_v0_15_what_the_caller_hands_in_stays_as_it_was(tmp_path: Path) -> None:
    environments = lamps()
    stage = Stage(tmp_path, MappingProxyType(environments))
    assert stage.play(lamp_task(red()), shine("red")).ending.reason is Reason.SUCCESS
    assert list(environments) == ["desk"]


def test_v0_15_two_tasks_share_no_default() -> None:
    first, second = (Task("a", 1, "", {"desk": "lamp"}, red()) for _ in range(2))
    assert first.needs is not second.needs
    assert first.extra_actions is not second.extra_actions


def flaky(errors: Iterator[Exception]) -> CheckpointGraph:
    """A checkpoint whose evaluator raises until there are no more errors; it is asked once before the start."""

    @evaluator
    def careful(env: Probes) -> bool:
        if env.probe("colour") == "off":
            return False
        for error in errors:
            raise error
        return True

    return chain(checkpoint("careful", careful.on("desk")))


def test_v0_16_a_checker_that_breaks_once_punishes_nobody(stage: Stage) -> None:
    graph = flaky(iter([FileNotFoundError("gone"), DeadlineExceeded("too slow")]))
    played = stage.play(lamp_task(graph), shine("red"), shine("red"))
    assert (played.ending.reason, played.result.completion_ratio) == (Reason.SUCCESS, 1)
    assert [event["value"] for event in played.of("check")] == [False, None, None, True]


def test_v0_16_a_checker_that_stays_broken_makes_the_trial_invalid(stage: Stage) -> None:
    graph = flaky(OSError("unreadable") for _ in range(100))
    played = stage.play(lamp_task(graph), shine("red"))
    assert (played.ending.reason, played.ending.valid) == (Reason.EVALUATOR_ERROR, False)
    assert "careful" in played.result.error
    assert "unreadable" in played.result.error
    assert played.of("error")[0]["blame"] == "infrastructure"


def test_v0_16_a_broken_checker_does_not_hide_what_others_found(stage: Stage) -> None:
    graph = parallel(flaky(OSError("unreadable") for _ in range(100)), red())
    played = stage.play(lamp_task(graph), shine("red"))
    assert [event["checkpoint"] for event in played.of("pass")] == ["red"]


def test_v0_16_every_probe_has_a_deadline(stage: Stage, lamp: Lamp) -> None:
    """A probe that answers too late is unknown; the evaluator's ten seconds are handed down to it."""
    seconds: list[float] = []

    class Listening(HostedEnvironment):
        def probe(self, name: str, arguments: Any, seconds_left: float = 0.0) -> Any:
            seconds.append(seconds_left)
            return super().probe(name, arguments, seconds_left)

    stage.environments = {"desk": Listening(LAMP, lamp, EMBEDDED)}
    stage.play(lamp_task(red()), shine("red"))
    assert len(seconds) == 2
    assert all(0 < left <= 10 for left in seconds)


def test_v0_17_what_an_action_returns_reaches_agent_and_record(stage: Stage) -> None:
    played = stage.play(lamp_task(red_then_blue()), shine("red"), shine("blue"), [])
    assert [event["value"] for event in played.of("action")] == ["was red", "was blue"]
    assert [result.value for seen in played.agent.seen for result in seen.results] == ["was red"]


def test_v0_17_an_episode_that_was_cut_short_says_so(stage: Stage) -> None:
    stage.limits = LimitsSpec(actions=1)
    cut = stage.play(lamp_task(red()), shine("blue"))
    stage.limits = LimitsSpec(tokens=TOKENS)
    spent = stage.play(lamp_task(red()), shine("blue"))
    given_up = stage.play(lamp_task(red()), [Call("declare_infeasible", {"reason": "no bulb"})])
    reasons = [played.result.reason for played in (cut, spent, given_up)]
    assert reasons == [Reason.STEP_LIMIT, Reason.TOKEN_LIMIT, Reason.DECLARED_INFEASIBLE]


def test_v0_34_any_word_may_stand_in_a_name(tmp_path: Path) -> None:
    """v0 took tool names apart at ``_in_``; ours are looked up, so nothing in a name can mislead."""
    stage = Stage(tmp_path, lamps("lamp_in_hall", "hall"))
    task = lamp_task(red("lamp_in_hall"), "lamp_in_hall", "hall")
    played = stage.play(task, [Call("lamp_in_hall__shine", {"colour": "red"})])
    assert played.ending.reason is Reason.SUCCESS


def test_v0_34_a_turn_without_a_call_is_explained_and_goes_on(stage: Stage) -> None:
    played = stage.play(lamp_task(red()), [], shine("red"))
    assert played.ending.reason is Reason.SUCCESS
    assert "no call" in played.told[0]


def test_v0_34_an_action_that_was_promised_exists(stage: Stage) -> None:
    """Every tool in the list can be called, and every one is described."""
    played = stage.play(lamp_task(red()), shine("red"))
    assert played.agent.tools == ["shine", "unscrew", "submit", "complete", "wait", "declare_infeasible"]


def test_a_device_that_dies_of_an_action_counts_against_the_agent(stage: Stage, lamp: Lamp) -> None:
    """And a device that dies by itself does not."""

    def die(event: dict[str, Any]) -> None:
        if event["event"] == "decision":
            lamp.broken = EnvironmentFailure("no power")

    stage.watch = die
    played = stage.play(lamp_task(red()), shine("red"))
    assert (played.ending.reason, played.ending.valid) == (Reason.ENVIRONMENT_ERROR, True)
    lamp.broken = EnvironmentFailure("no power")
    played = stage.play(lamp_task(red()), shine("red"))
    assert (played.ending.reason, played.ending.valid) == (Reason.ENVIRONMENT_ERROR, False)
