"""One trial: its order, its endings, its limits, and what counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crab.agent import Call, Decision, Message, Usage
from crab.evaluator import Probes, evaluator
from crab.graph import chain, checkpoint, parallel
from crab.observation import Observations
from crab.record.reader import read_events
from crab.record.schema import LimitsSpec, Reason
from crab.task import SetupCall
from tests.crab.run.toy_stage import (
    COMPLETE,
    NOTHING,
    OPEN,
    START,
    Script,
    answer,
    answered,
    flaky,
    hosted,
    opened,
    play,
    toy_task,
    two_steps,
)


def test_a_trial_goes_in_order(tmp_path: Path) -> None:
    """Reset all, prepare, start check, agent, checks after each action, end."""
    setup = (SetupCall("phone", "receive_message", {"sender": "5550123", "text": "hi"}),)
    task = toy_task(two_steps(), "desktop", "phone", setup=setup)

    played = play(tmp_path, task, Script([Call("desktop__open_application", {"name": "Notepad"})], [answer()]))

    sorts = [event["event"] for event in played.events]
    begun = ["trial_start", "reset", "reset", "reset", "prepare", "probe", "check", "observation", "decision", "action"]
    assert sorts[: len(begun)] == begun
    assert [event["environment"] for event in played.of("reset")] == ["desktop", "phone", "root"]
    assert [event["step"] for event in played.of("check", checkpoint="opened")] == [0, 1]
    assert sorts[-2:] == ["observation", "trial_end"]
    assert played.of("observation")[-1]["turn"] == 0
    assert [event["n"] for event in played.events] == list(range(len(played.events)))


@pytest.mark.parametrize(
    ("first", "reason"),
    [(True, Reason.ENVIRONMENT_ERROR), (KeyError("gone"), Reason.EVALUATOR_ERROR)],
    ids=["true", "unknown"],
)
def test_a_start_that_is_true_or_unknown_is_no_trial(tmp_path: Path, first: bool | Exception, reason: Reason) -> None:
    """A first checkpoint that is true or unknown before the start makes the trial invalid; no agent sees it."""
    agent = Script()

    played = play(tmp_path, toy_task(chain(flaky([first]), answered())), agent)

    assert (played.ending.reason, played.ending.valid, played.result.valid) == (reason, False, False)
    assert "flaky" in played.result.error
    assert agent.view is None


def test_a_later_checkpoint_may_be_true_from_the_start(tmp_path: Path) -> None:
    """Only what is active at the start is asked by the start check."""
    played = play(tmp_path, toy_task(chain(answered(), flaky([True]))), Script([answer()]))

    assert played.ending.reason is Reason.SUCCESS
    assert [entry.step for entry in played.result.checkpoints] == [1, 1]


def test_success_ends_a_trial_at_once(tmp_path: Path) -> None:
    """Nothing more is carried out once every checkpoint has passed, also within a turn."""
    played = play(tmp_path, toy_task(chain(opened())), Script([OPEN, NOTHING]))

    assert (played.ending.reason, played.result.success, played.result.actions) == (Reason.SUCCESS, True, 1)
    assert played.result.execution_efficiency == 1


def test_success_with_the_last_allowed_action_is_success(tmp_path: Path) -> None:
    """The limit of actions is looked at after the checkpoints."""
    played = play(tmp_path, toy_task(chain(opened())), Script([NOTHING], [OPEN]), limits=LimitsSpec(actions=2))

    assert played.ending.reason is Reason.SUCCESS


BUSY = [[NOTHING]] * 20


@pytest.mark.parametrize(
    ("limits", "turns", "reason", "actions"),
    [
        (LimitsSpec(actions=3), BUSY, Reason.STEP_LIMIT, 3),
        (LimitsSpec(actions=3), [[NOTHING] * 5], Reason.STEP_LIMIT, 3),
        (LimitsSpec(tokens=25), [Decision((NOTHING,), usage=Usage(input=8, output=2))] * 9, Reason.TOKEN_LIMIT, 3),
        (
            LimitsSpec(tokens=25),
            [Decision((NOTHING,), usage=Usage(cache_read=7, cache_write=3))] * 9,
            Reason.TOKEN_LIMIT,
            3,
        ),
        (LimitsSpec(cost=0.5), [Decision((NOTHING,), usage=Usage(cost=0.25))] * 9, Reason.COST_LIMIT, 2),
        (
            LimitsSpec(invalid_calls=2),
            [[Call("fly")], [NOTHING], [Call("fly")], [Call("fly")]],
            Reason.INVALID_ACTION,
            1,
        ),
        (LimitsSpec(invalid_calls=0), [[NOTHING], [Call("fly")]], Reason.INVALID_ACTION, 1),
        (LimitsSpec(), [[]] * 9, Reason.INVALID_ACTION, 0),
    ],
    ids=["steps", "steps in a turn", "tokens", "cached tokens", "cost", "invalid calls", "the paper's rule", "no call"],
)
def test_limits_end_a_trial(tmp_path: Path, limits: LimitsSpec, turns: list[Any], reason: Reason, actions: int) -> None:
    """Each limit ends the trial with its reason, as a valid result, after an end check."""
    played = play(tmp_path, toy_task(two_steps()), Script(*turns), limits=limits)

    assert (played.ending.reason, played.ending.valid, played.result.actions) == (reason, True, actions)


def test_complete_is_checked_and_does_not_count(tmp_path: Path) -> None:
    """Saying that it is done ends the trial; with checkpoints missing that is a false completion."""
    played = play(tmp_path, toy_task(two_steps()), Script([OPEN], [COMPLETE], [answer()]))

    assert (played.ending.reason, played.ending.valid) == (Reason.AGENT_COMPLETE, True)
    assert (played.result.success, played.result.completion_ratio, played.result.actions) == (False, 0.5, 1)
    assert [event["counted"] for event in played.of("action")] == [True, False]


def test_the_end_check_can_still_pass(tmp_path: Path) -> None:
    """What became true after the last action counts: the end check asks once more."""
    played = play(tmp_path, toy_task(chain(flaky([False, True]))), Script([COMPLETE]))

    assert played.ending.reason is Reason.SUCCESS
    assert (played.result.actions, played.result.execution_efficiency) == (0, None)


def test_infeasible_ends_a_trial(tmp_path: Path) -> None:
    """Declaring the task infeasible ends it, and counts as an action."""
    turns = [Call("declare_infeasible", {"reason": "no such file"})]

    played = play(tmp_path, toy_task(two_steps()), Script(turns))

    assert (played.ending.reason, played.result.actions) == (Reason.DECLARED_INFEASIBLE, 1)


def test_one_answer_is_accepted(tmp_path: Path) -> None:
    """A second submission is told that the first one counts, and changes nothing."""
    agent = Script([answer("41")], [answer("42")])

    played = play(tmp_path, toy_task(chain(answered("42"))), agent)

    assert (played.result.success, played.result.actions) == (False, 2)
    assert "only the first one counts" in agent.seen[2].results[0].error


def test_calls_of_a_turn_are_carried_out_in_order(tmp_path: Path) -> None:
    """A turn may hold several calls; one that is refused skips those after it, and only it counts as invalid."""
    agent = Script([OPEN, Call("fly", id="mine"), NOTHING, NOTHING])

    played = play(tmp_path, toy_task(two_steps()), agent)

    assert (played.result.turns, played.result.actions, played.result.invalid_calls) == (2, 1, 1)
    assert [event["reason"] for event in played.of("invalid_call")] == ["unknown_action", "skipped", "skipped"]
    results = agent.seen[1].results
    assert [(result.id, result.executed) for result in results] == [
        ("call_1", True),
        ("mine", False),
        ("call_3", False),
        ("call_4", False),
    ]
    assert "earlier call of this turn was refused" in results[2].error


def test_a_failed_action_counts_and_goes_on(tmp_path: Path) -> None:
    """An action to which the device answers no was executed: it counts, and the next call is carried out."""
    agent = Script([Call("open_application", {"name": "Calculator"}), OPEN])

    played = play(tmp_path, toy_task(two_steps()), agent)

    assert (played.result.actions, played.result.invalid_calls) == (2, 0)
    assert "no application 'Calculator'" in agent.seen[1].results[0].error


def test_ratios_are_null_without_a_denominator(tmp_path: Path) -> None:
    """No action, no execution efficiency; no token, no cost efficiency."""
    nothing = play(tmp_path / "a", toy_task(two_steps()), Script()).result
    something = play(
        tmp_path / "b", toy_task(two_steps()), Script(Decision((OPEN,), usage=Usage(input=8, output=2, reasoning=1)))
    ).result

    assert (nothing.execution_efficiency, nothing.cost_efficiency, nothing.completion_ratio) == (None, None, 0)
    assert (something.execution_efficiency, something.cost_efficiency, something.tokens) == (0.5, 0.05, 10)


def test_waiting_moves_every_clock(tmp_path: Path) -> None:
    """Root's wait and an action's duration advance all devices, the acting one too, without sleeping."""
    environments = {"desktop": hosted("toy_desktop"), "phone": hosted("toy_phone")}
    task = toy_task(two_steps(), "desktop", "phone")
    times: list[dict[str, float]] = []

    def look(observations: Observations) -> list[Call]:
        times.append({role: seen.now.time for role, seen in observations.environments.items()})
        turns = [Call("wait", {"seconds": 60.0}), Call("desktop__click", {"x": 0, "y": 0}), COMPLETE]
        return [turns[len(times) - 1]]

    play(tmp_path, task, Script(look, look, look), environments=environments)

    assert times[0] == {"desktop": 0, "phone": 0}
    assert times[1] == {"desktop": 60, "phone": 60}
    assert times[2] == {"desktop": 60.5, "phone": 60.5}


@pytest.mark.parametrize(
    ("roles", "names"),
    [
        (("desktop",), {"click", "open_application", "write_text", "erase_notes"}),
        (("desktop", "phone"), {"desktop__click", "desktop__erase_notes", "phone__tap", "phone__write_text"}),
    ],
)
def test_tools_are_named_after_their_device_where_there_are_several(
    tmp_path: Path, roles: tuple[str, ...], names: set[str]
) -> None:
    """With one device a tool has the action's name, with several the device's before it; root's never have one."""
    agent = Script()

    play(tmp_path, toy_task(two_steps(), *roles, extra_actions={"desktop": ("erase_notes",)}), agent)

    assert agent.view is not None
    tools = {tool.name: tool for tool in agent.view.tools}
    assert names | {"submit", "complete", "wait", "declare_infeasible"} <= tools.keys()
    assert all(tool.schema["function"]["name"] == name for name, tool in tools.items())
    assert agent.view.seed == 7


def test_a_question_is_asked_once_a_step(tmp_path: Path) -> None:
    """Checkpoints of one step see one state: the same question reaches the device once."""
    task = toy_task(parallel(opened("a"), opened("b"), answered()))

    played = play(tmp_path, task, Script([NOTHING], [COMPLETE]))

    asked = [event["step"] for event in played.of("probe", name="application")]
    assert asked == [0, 1, 1]
    assert [event["step"] for event in played.of("check", checkpoint="b")] == [0, 1, 1]


def test_an_evaluator_that_changes_an_answer_changes_it_for_itself(tmp_path: Path) -> None:
    """What one checkpoint does to an answer is not seen by the next."""

    @evaluator
    def adds_a_message(env: Probes) -> bool:
        """Whether nothing was sent, and then something."""
        sent = env.probe("sent_messages")
        sent.append({"to": "5550110", "text": "forged"})
        return False

    @evaluator
    def something_sent(env: Probes) -> bool:
        """Whether anything was sent."""
        return len(env.probe("sent_messages")) > 0

    graph = parallel(checkpoint("forger", adds_a_message.on("phone")), checkpoint("sent", something_sent.on("phone")))

    played = play(tmp_path, toy_task(graph, "phone"), Script([Call("tap", {"x": 0, "y": 0})]))

    assert played.result.completion_ratio == 0
    assert {event["value"] for event in played.of("check", checkpoint="sent")} == {False}


def test_an_unknown_that_clears_up_punishes_nobody(tmp_path: Path) -> None:
    """A checker that broke is asked again at the end, three times at most."""
    trouble = KeyError("busy")
    graph = chain(flaky([False, trouble, trouble, trouble, True]))

    played = play(tmp_path, toy_task(graph), Script([COMPLETE]))

    assert played.ending.reason is Reason.SUCCESS


def test_an_unknown_that_stays_makes_the_trial_invalid(tmp_path: Path) -> None:
    """A checkpoint that stays unknown through the end check and three more is nobody's failure."""
    played = play(tmp_path, toy_task(chain(flaky([False, KeyError("gone")]))), Script([COMPLETE]))

    assert (played.ending.reason, played.ending.valid) == (Reason.EVALUATOR_ERROR, False)
    assert [event["value"] for event in played.of("check")] == [False, None, None, None, None]
    assert "flaky stays unknown" in played.result.error


def test_what_an_agent_says_is_recorded(tmp_path: Path) -> None:
    """Messages and usage are in the record as they were given, half a surrogate pair included."""
    said = Message("script", "half \ud83d of a pair", kind="reasoning")
    decision = Decision((Call("submit", {"answer": "\ud83d"}),), (said,), Usage(input=3, model_calls=1, cost=0.5))

    played = play(tmp_path, toy_task(two_steps()), Script(decision))

    event = played.of("decision")[0]
    assert event["messages"][0] == {"sender": "script", "text": said.text, "recipient": "", "kind": "reasoning"}
    assert event["usage"]["cost"] == 0.5
    (tmp_path / "events.jsonl").read_bytes().decode("utf-8")


def test_an_interrupt_is_recorded_and_passed_on(tmp_path: Path) -> None:
    """Ctrl-C ends the trial as interrupted, which is no result, and goes on to whoever runs it."""
    with pytest.raises(KeyboardInterrupt):
        play(tmp_path, toy_task(two_steps()), Script([OPEN], KeyboardInterrupt()))

    end = read_events(tmp_path / "events.jsonl")[-1]
    assert (end["event"], end["reason"], end["valid"]) == ("trial_end", "interrupted", False)


def test_same_seed_and_actions_give_the_same_events(tmp_path: Path) -> None:
    """Two trials on stepped devices leave the same record, times of this machine apart."""
    records = []
    for name in "ab":
        played = play(tmp_path / name, toy_task(two_steps()), Script([OPEN, NOTHING], [answer("41")]))
        apart = {"at", "seconds", "time"}
        records.append([{key: value for key, value in event.items() if key not in apart} for event in played.events])

    assert json.dumps(records[0]) == json.dumps(records[1])
    assert START.startswith("2031")
