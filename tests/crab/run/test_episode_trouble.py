"""Whose trouble it is: an agent's error is a valid ending, the machinery's is no result."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from crab.agent import Call, Decision, Fault, Usage
from crab.environment import ActResult
from crab.errors import (
    ContextExceeded,
    EnvironmentFailure,
    ModelError,
    ModelRejected,
    ModelUnavailable,
    RateLimited,
    Unreachable,
)
from crab.evaluator import evaluator
from crab.graph import Checkpoint, chain
from crab.hosting import HostedEnvironment
from crab.observation import Observation, ObservationRequest, Observations
from crab.record.schema import LimitsSpec, Reason
from crab.task import SetupCall
from crab.testing.toy import ToyDesktop
from tests.crab.run.toy_stage import NOTHING, OPEN, Script, answer, flaky, hosted, opened, play, toy_task, two_steps

SHORT = LimitsSpec(seconds=0.3)


def sleep_for_ever(observations: Observations) -> Any:
    time.sleep(3600)


def spin_for_ever(observations: Observations) -> Any:
    while True:
        pass


def swallow_everything(observations: Observations) -> Any:
    while True:
        # The fault under test: it survives whatever goes wrong.
        with suppress(Exception):
            time.sleep(3600)


@pytest.mark.parametrize("hang", [sleep_for_ever, spin_for_ever, swallow_everything])
def test_an_agent_that_hangs_is_stopped(tmp_path: Path, hang: Callable[[Observations], Any]) -> None:
    """The time limit ends a decision that takes too long; what was reached before counts."""
    played = play(tmp_path, toy_task(two_steps()), Script([OPEN], hang), limits=SHORT)

    assert (played.ending.reason, played.ending.valid) == (Reason.TIME_LIMIT, True)
    assert played.result.completion_ratio == 0.5


def test_time_is_over_between_turns_too(tmp_path: Path) -> None:
    """An agent that acts on and on is stopped by the time limit as well."""

    def slowly(observations: Observations) -> list[Call]:
        time.sleep(0.02)
        return [NOTHING]

    limits = LimitsSpec(seconds=0.3, actions=10_000)

    played = play(tmp_path, toy_task(two_steps()), Script(*[slowly] * 5000), limits=limits)

    assert (played.ending.reason, played.ending.valid) == (Reason.TIME_LIMIT, True)


@pytest.mark.parametrize(
    "turn",
    [
        ValueError("no idea"),
        SystemExit(3),
        RecursionError("deep"),
        EnvironmentFailure("said by the agent"),
        None,
        "open the notepad",
        Decision(cast("Any", None)),
        Decision((NOTHING,), cast("Any", ["text"])),
        Decision((NOTHING,), usage=cast("Any", {"input": 3})),
        Decision((NOTHING,), usage=Usage(input=-5)),
        Decision((NOTHING,), usage=Usage(cost=float("nan"))),
    ],
    ids=lambda turn: repr(turn)[:60],
)
def test_what_an_agent_breaks_is_its_own(tmp_path: Path, turn: Any) -> None:
    """An agent that raises, exits or returns something else ends the trial as its error, with an end check."""
    played = play(tmp_path, toy_task(two_steps()), Script([OPEN], lambda _: turn))

    assert (played.ending.reason, played.ending.valid) == (Reason.AGENT_ERROR, True)
    assert (played.result.completion_ratio, played.result.actions) == (0.5, 1)
    assert played.of("error")[-1]["blame"] == "agent"


def test_an_agent_that_cannot_start_is_its_own_trouble(tmp_path: Path) -> None:
    """An error in start is the agent's."""

    class Unwilling(Script):
        def start(self, view: Any) -> None:
            raise OSError("no model")

    played = play(tmp_path, toy_task(two_steps()), Unwilling())

    assert (played.ending.reason, played.ending.valid) == (Reason.AGENT_ERROR, True)


@pytest.mark.parametrize(
    "arguments",
    [{"answer": b"42"}, {"answer": float("nan")}, {"answer": {1, 2}}, {1: "42"}, ["42"], None],
    ids=repr,
)
def test_arguments_that_are_no_json_are_an_invalid_call(tmp_path: Path, arguments: Any) -> None:
    """Whatever an agent puts into a call is refused, told and recorded, and the trial goes on."""
    agent = Script([Call("submit", arguments)], [OPEN], [answer()])

    played = play(tmp_path, toy_task(two_steps()), agent)

    assert played.ending.reason is Reason.SUCCESS
    assert (played.result.invalid_calls, played.result.actions) == (1, 2)
    assert agent.seen[1].results[0].error
    assert isinstance(played.of("decision")[0]["calls"][0]["arguments"], str)


class Breaking(HostedEnvironment):
    """Breaks in one verb, from the second time on or at once."""

    verb = ""
    error: Exception = EnvironmentFailure("the device is gone")
    spare = 0

    def _break(self, verb: str) -> None:
        if verb == self.verb:
            self.spare -= 1
            if self.spare < 0:
                raise self.error

    def reset(self, seed: int, start_time: str, extra_actions: Any = ()) -> None:
        self._break("reset")
        super().reset(seed, start_time, extra_actions)

    def observe(self, request: ObservationRequest | None = None) -> Observation:
        self._break("observe")
        return super().observe(request)

    def act(self, name: str, arguments: Mapping[str, Any]) -> ActResult:
        self._break("act")
        return super().act(name, arguments)

    def advance(self, seconds: float) -> None:
        self._break("advance")
        super().advance(seconds)

    def pause(self) -> None:
        self._break("pause")
        super().pause()

    def prepare(self, name: str, arguments: Mapping[str, Any]) -> None:
        self._break("prepare")
        super().prepare(name, arguments)


def breaking(verb: str, error: Exception, *, spare: int = 0) -> HostedEnvironment:
    """A toy desktop that breaks in one verb, after some times that it works."""
    environment = hosted("toy_desktop", host=Breaking, time="real" if verb == "pause" else "stepped")
    assert isinstance(environment, Breaking)
    environment.verb, environment.error, environment.spare = verb, error, spare
    return environment


def test_a_device_that_dies_of_an_action_is_the_agents(tmp_path: Path) -> None:
    """The environment dying because of an action is a valid ending that counts as it stands."""
    environment = breaking("act", EnvironmentFailure("the device is gone"), spare=1)

    played = play(tmp_path, toy_task(two_steps()), Script([OPEN], [NOTHING]), environments={"desktop": environment})

    assert (played.ending.reason, played.ending.valid) == (Reason.ENVIRONMENT_ERROR, True)
    assert (played.result.completion_ratio, played.result.actions) == (0.5, 2)
    assert played.of("error")[-1]["blame"] == "agent"


@pytest.mark.parametrize("error", [EnvironmentFailure("gone"), Unreachable("gone"), RuntimeError("gone")], ids=repr)
@pytest.mark.parametrize("verb", ["reset", "prepare", "observe", "pause"])
def test_a_device_that_dies_by_itself_is_nobodys(tmp_path: Path, verb: str, error: Exception) -> None:
    """The environment dying outside the agent's calls makes the trial invalid, whatever it raises."""
    setup = (SetupCall("desktop", "write_note", {"name": "list", "text": "bread"}),)

    played = play(
        tmp_path, toy_task(two_steps(), setup=setup), Script([OPEN]), environments={"desktop": breaking(verb, error)}
    )

    assert (played.ending.reason, played.ending.valid) == (Reason.ENVIRONMENT_ERROR, False)
    assert (played.of("error")[-1]["blame"], played.result.success) == ("infrastructure", False)


def test_another_device_that_dies_meanwhile_is_nobodys(tmp_path: Path) -> None:
    """A device that dies while time passes on it did not die of the agent's action."""
    environments = {
        "desktop": breaking("advance", EnvironmentFailure("gone")),
        "phone": hosted("toy_phone"),
    }

    played = play(
        tmp_path,
        toy_task(two_steps(), "desktop", "phone"),
        Script([Call("phone__tap", {"x": 0, "y": 0})]),
        environments=environments,
    )

    assert (played.ending.reason, played.ending.valid) == (Reason.ENVIRONMENT_ERROR, False)


def test_a_last_picture_that_fails_changes_no_result(tmp_path: Path) -> None:
    """The look after the end is for the record only."""
    environment = breaking("observe", EnvironmentFailure("gone"), spare=1)

    played = play(tmp_path, toy_task(chain(opened())), Script([OPEN]), environments={"desktop": environment})

    assert (played.ending.reason, played.result.success) == (Reason.SUCCESS, True)


def test_clocks_stand_while_an_agent_thinks_and_run_when_it_is_checked(tmp_path: Path) -> None:
    """A real clock is paused for each decision, and runs again before the end check, also after a hang."""
    device = ToyDesktop()
    thinking: list[bool] = []
    asking: list[bool] = []

    class Watched(HostedEnvironment):
        def probe(self, name: str, arguments: Mapping[str, Any], seconds: float = 10.0) -> Any:
            asking.append(device.paused)
            return super().probe(name, arguments, seconds)

    def hang(observations: Observations) -> Any:
        thinking.append(device.paused)
        time.sleep(3600)

    environment = hosted("toy_desktop", device, time="real", host=Watched)

    played = play(
        tmp_path, toy_task(chain(opened())), Script(hang), environments={"desktop": environment}, limits=SHORT
    )

    assert played.ending.reason is Reason.TIME_LIMIT
    assert thinking == [True]
    assert asking == [False, False]


def test_a_stepped_clock_needs_no_pause(tmp_path: Path) -> None:
    """Where time is stepped, thinking takes none, and nothing is paused."""
    device = ToyDesktop()
    paused: list[bool] = []

    def look(observations: Observations) -> list[Call]:
        paused.append(device.paused)
        return [Call("complete")]

    play(tmp_path, toy_task(two_steps()), Script(look), environments={"desktop": hosted("toy_desktop", device)})

    assert paused == [False]


def test_a_broken_checker_at_a_limit_is_nobodys(tmp_path: Path) -> None:
    """A limit that is reached while a checkpoint is unknown gives no result either."""
    graph = chain(flaky([False, OSError("gone")]))

    played = play(tmp_path, toy_task(graph), Script([NOTHING], [NOTHING]), limits=LimitsSpec(actions=2))

    assert (played.ending.reason, played.ending.valid) == (Reason.EVALUATOR_ERROR, False)


def test_an_alarm_of_the_host_is_given_back(tmp_path: Path) -> None:
    """A process has one alarm: an episode that borrows it leaves it running, with the time that is left."""
    outer = signal.setitimer(signal.ITIMER_REAL, 500.0, 7.0)
    try:
        play(tmp_path, toy_task(two_steps()), Script([OPEN]))
        left, interval = signal.getitimer(signal.ITIMER_REAL)
    finally:
        signal.setitimer(signal.ITIMER_REAL, *outer)

    assert 0 < left <= 500
    assert interval == 7


@pytest.mark.parametrize("error", [RateLimited("429"), ModelUnavailable("500"), ModelRejected("401")], ids=repr)
def test_a_model_that_does_not_answer_is_no_result(tmp_path: Path, error: ModelError) -> None:
    """An endpoint's failure ends the trial as invalid, never as the agent's; a hopeless one says so."""
    played = play(tmp_path, toy_task(two_steps()), Script([OPEN], error))

    assert (played.ending.reason, played.ending.valid) == (Reason.ENVIRONMENT_ERROR, False)
    assert played.of("error")[-1]["blame"] == "infrastructure"
    assert played.of("error")[-1]["type"] == type(error).__name__
    assert bool(played.ending.hopeless) == isinstance(error, ModelRejected)


def test_a_request_that_is_too_long_is_the_agents(tmp_path: Path) -> None:
    """What an agent asks its model is its own doing."""
    played = play(tmp_path, toy_task(two_steps()), Script([OPEN], ContextExceeded("too long")))

    assert (played.ending.reason, played.ending.valid) == (Reason.AGENT_ERROR, True)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("", "malformed_call"), ("refusal", "refusal"), ("cut_off", "cut_off"), ("no_answer", "no_answer")],
)
def test_decisions_without_a_call_are_told_apart(tmp_path: Path, fault: Fault, reason: str) -> None:
    """Each counts as invalid under its own reason, and the agent is told."""
    agent = Script(Decision((), fault=fault), [OPEN], [answer()])

    played = play(tmp_path, toy_task(two_steps()), agent)

    assert played.ending.reason is Reason.SUCCESS
    assert [event["reason"] for event in played.of("invalid_call")] == [reason]
    assert agent.seen[1].results[0].error


def test_a_fault_of_an_unknown_kind_is_the_agents_error(tmp_path: Path) -> None:
    played = play(tmp_path, toy_task(two_steps()), Script(Decision((), fault=cast("Any", "lazy"))))

    assert (played.ending.reason, played.ending.valid) == (Reason.AGENT_ERROR, True)


def test_a_call_that_could_not_be_read_is_refused_with_its_problem(tmp_path: Path) -> None:
    """It is malformed, and what follows it is left out."""
    agent = Script([Call("submit", {}, "a", problem="not JSON: {"), OPEN], [OPEN], [answer()])

    played = play(tmp_path, toy_task(two_steps()), agent)

    assert played.ending.reason is Reason.SUCCESS
    assert [event["reason"] for event in played.of("invalid_call")] == ["malformed_call", "skipped"]
    assert agent.seen[1].results[0].error == "not JSON: {"


@evaluator
def spins() -> bool:
    """Never answers, and asks no probe whose deadline could end it."""
    while True:
        pass


def test_a_checker_that_hangs_is_unknown_and_nobodys_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given up after its deadline, and the record says which checkpoint it was."""
    monkeypatch.setattr("crab.run.probing.EVALUATION_SECONDS", 0.1)
    monkeypatch.setattr("crab.run.probing.HANGING_SECONDS", 0.1)

    played = play(tmp_path, toy_task(chain(Checkpoint("spinning", spins))), Script([OPEN]))

    assert (played.ending.reason, played.ending.valid) == (Reason.EVALUATOR_ERROR, False)
    assert "spinning is unknown: spins: did not answer" in played.of("error")[-1]["message"]
