"""Environments: in which order the verbs may be used, and whose trouble it is when a device does not comply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from crab.environment import ActResult
from crab.errors import (
    ActionFailed,
    DeadlineExceeded,
    EnvironmentFailure,
    InfrastructureError,
    InvalidArguments,
    ProbeFailure,
    UnknownAction,
    UsageError,
)
from crab.hosting import HostedEnvironment
from crab.observation import ObservationRequest
from tests.crab.lamp import EMBEDDED, LAMP, START, Lamp


@pytest.fixture
def lamp() -> Lamp:
    return Lamp()


@pytest.fixture
def new(lamp: Lamp) -> HostedEnvironment:
    """An environment that has not been reset yet."""
    return HostedEnvironment(LAMP, lamp, EMBEDDED)


@pytest.fixture
def environment(new: HostedEnvironment, lamp: Lamp) -> HostedEnvironment:
    """An environment right after its reset."""
    new.reset(7, START)
    lamp.log.clear()
    return new


# Acting


def test_an_action_is_carried_out_and_the_device_settles(environment: HostedEnvironment, lamp: Lamp) -> None:
    result = environment.act("shine", {"colour": "red", "seconds": 2})
    assert result == ActResult("was red", duration=2.0, settled=False, settle_seconds=0.25)
    assert lamp.log == ["shine red", "settle"]
    assert environment.act("shine", {"colour": "blue"}).duration == 0.5


@pytest.mark.parametrize("arguments", [{}, {"colour": "green"}, {"colour": "red", "x": 1}, {"colour": "red", "env": 1}])
def test_wrong_arguments_touch_nothing(environment: HostedEnvironment, lamp: Lamp, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments, match="shine"):
        environment.act("shine", arguments)
    assert lamp.log == []


@pytest.mark.parametrize("name", ["dance", "colour", "paint", "note", "reset", "close", "__class__", "", "lamp__shine"])
def test_only_actions_can_be_called_by_name(environment: HostedEnvironment, lamp: Lamp, name: str) -> None:
    """Probes, preparations and the device's own methods are out of an agent's reach."""
    with pytest.raises(UnknownAction, match=r"lamp has no action .*; it has: shine, unscrew"):
        environment.act(name, {})
    assert lamp.log == []


def test_a_device_that_answers_no_is_the_agents_and_settles_too(environment: HostedEnvironment, lamp: Lamp) -> None:
    with pytest.raises(ActionFailed, match="the bulb is stuck"):
        environment.act("unscrew", {})
    assert lamp.log == ["unscrew", "settle"]


def test_a_device_that_breaks_is_infrastructure(environment: HostedEnvironment, lamp: Lamp) -> None:
    lamp.broken = OSError("no power")
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: environment.prepare("paint", {"colour": "red"}), "lamp: preparation paint: OSError: no power"),
        (environment.observe, "lamp: observe: OSError: no power"),
        (lambda: environment.reset(1, START), "lamp: reset: OSError: no power"),
    ]
    for call, message in calls:
        with pytest.raises(EnvironmentFailure, match=message):
            call()


def test_an_action_that_is_written_wrong_is_no_dead_device(environment: HostedEnvironment, lamp: Lamp) -> None:
    """A device that dies of an action counts against the agent, so a mere mistake in its code must look otherwise."""
    lamp.broken = KeyError("colour")
    with pytest.raises(InfrastructureError, match="lamp: action shine: KeyError: 'colour'") as caught:
        environment.act("shine", {"colour": "red"})
    assert not isinstance(caught.value, EnvironmentFailure)


def test_a_device_that_dies_of_an_action_says_so(environment: HostedEnvironment, lamp: Lamp) -> None:
    lamp.broken = BrokenPipeError("no answer")
    lamp.died = "the bulb burst"
    with pytest.raises(EnvironmentFailure, match="lamp: action shine: BrokenPipeError: no answer"):
        environment.act("shine", {"colour": "red"})


def test_a_preparation_that_fails_is_not_the_agents(environment: HostedEnvironment, lamp: Lamp) -> None:
    lamp.broken = ActionFailed("the paint is dry")
    with pytest.raises(EnvironmentFailure, match="preparation paint: the paint is dry"):
        environment.prepare("paint", {"colour": "red"})


def test_extra_actions_are_there_only_when_enabled(environment: HostedEnvironment, lamp: Lamp) -> None:
    with pytest.raises(UnknownAction):
        environment.act("blink", {"times": 2})
    environment.reset(7, START, extra_actions=["blink"])
    environment.act("blink", {"times": 2})
    assert "blink 2" in lamp.log


def test_extra_actions_are_gone_after_the_next_reset(environment: HostedEnvironment) -> None:
    environment.reset(7, START, extra_actions=["blink"])
    environment.reset(7, START)
    with pytest.raises(UnknownAction, match=r"it has: shine, unscrew$"):
        environment.act("blink", {"times": 2})


def test_an_unknown_extra_action_is_refused_before_anything_is_reset(
    environment: HostedEnvironment, lamp: Lamp
) -> None:
    for name in ("dance", "shine"):
        with pytest.raises(UsageError, match=f"lamp has no extra action '{name}'"):
            environment.reset(7, START, extra_actions=[name])
    assert lamp.log == []


# Phases


def test_reset_hands_on_seed_and_start_time(new: HostedEnvironment, lamp: Lamp) -> None:
    new.reset(42, START)
    assert lamp.log == [f"reset 42 {START}"]


def test_nothing_works_before_the_first_reset(new: HostedEnvironment, lamp: Lamp) -> None:
    verbs: list[tuple[str, Callable[[], object]]] = [
        ("observe", new.observe),
        ("act", lambda: new.act("shine", {"colour": "red"})),
        ("advance", lambda: new.advance(1)),
        ("pause", new.pause),
        ("resume", new.resume),
        ("probe", lambda: new.probe("colour", {})),
        ("prepare", lambda: new.prepare("paint", {"colour": "red"})),
    ]
    for verb, call in verbs:
        with pytest.raises(UsageError, match=f"lamp: {verb} before reset"):
            call()
    assert lamp.log == []


def test_preparations_are_accepted_until_the_first_act(environment: HostedEnvironment, lamp: Lamp) -> None:
    environment.prepare("paint", {"colour": "red"})
    environment.observe()
    assert environment.probe("colour", {}) == "red"
    environment.advance(1)
    environment.prepare("paint", {"colour": "blue"})
    environment.act("shine", {"colour": "red"})
    with pytest.raises(UsageError, match="prepare 'paint' came after the first act; reset first"):
        environment.prepare("paint", {"colour": "blue"})
    assert lamp.light == "red"


def test_a_failed_action_ends_the_preparations_too(environment: HostedEnvironment) -> None:
    with pytest.raises(ActionFailed):
        environment.act("unscrew", {})
    with pytest.raises(UsageError, match="after the first act"):
        environment.prepare("paint", {"colour": "red"})


def test_a_refused_call_is_no_act(environment: HostedEnvironment, lamp: Lamp) -> None:
    with pytest.raises(InvalidArguments):
        environment.act("shine", {})
    with pytest.raises(UnknownAction):
        environment.act("dance", {})
    environment.prepare("paint", {"colour": "red"})
    assert lamp.light == "red"


def test_a_reset_opens_the_preparations_again(environment: HostedEnvironment, lamp: Lamp) -> None:
    environment.act("shine", {"colour": "red"})
    environment.reset(7, START)
    environment.prepare("paint", {"colour": "blue"})
    assert lamp.light == "blue"


def test_after_a_failed_reset_nothing_is_enabled(environment: HostedEnvironment, lamp: Lamp) -> None:
    """Half a reset may have left anything behind, so nothing may go on from there."""
    lamp.broken = EnvironmentFailure("no power")
    with pytest.raises(EnvironmentFailure):
        environment.reset(7, START, extra_actions=["blink"])
    lamp.broken = None
    for call in (lambda: environment.act("shine", {"colour": "red"}), environment.observe):
        with pytest.raises(UsageError, match="before reset"):
            call()
    environment.reset(7, START)
    assert environment.act("shine", {"colour": "red"}).value == "was red"


def test_unknown_preparations_and_wrong_arguments_are_named(environment: HostedEnvironment) -> None:
    with pytest.raises(UsageError, match="lamp has no preparation 'shine'; it has: paint"):
        environment.prepare("shine", {"colour": "red"})
    with pytest.raises(InvalidArguments, match="paint: argument 'colour': input should be a valid string, got 3"):
        environment.prepare("paint", {"colour": 3})


# Probing


def test_a_probe_answers_and_leaves_no_trace(environment: HostedEnvironment, lamp: Lamp) -> None:
    environment.act("shine", {"colour": "red"})
    lamp.log.clear()
    assert environment.probe("colour_is", {"name": "red"}) is True
    assert environment.probe("colour_is", {"name": "blue"}) is False
    assert lamp.log == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("paint", {"colour": "x"}), ("shine", {"colour": "red"}), ("colour_is", {"name": 3}), ("", {})],
)
def test_a_question_that_cannot_be_asked_is_a_probe_failure(
    environment: HostedEnvironment, lamp: Lamp, name: str, arguments: dict[str, Any]
) -> None:
    """Nothing an evaluator does may look like the agent's fault, or reach a write."""
    with pytest.raises(ProbeFailure):
        environment.probe(name, arguments)
    assert lamp.log == []


def test_a_probe_that_breaks_is_a_probe_failure(environment: HostedEnvironment, lamp: Lamp) -> None:
    lamp.broken = FileNotFoundError("no such file")
    with pytest.raises(ProbeFailure, match="probe colour: FileNotFoundError: no such file"):
        environment.probe("colour", {})


def test_a_late_answer_is_none(environment: HostedEnvironment) -> None:
    with pytest.raises(DeadlineExceeded, match="probe colour took longer than 0 s"):
        environment.probe("colour", {}, seconds=0.0)


# Observing, time and closing


def test_an_observation_is_of_the_present_frame_unless_more_is_asked_for(
    environment: HostedEnvironment, lamp: Lamp
) -> None:
    assert environment.observe().now.data == b"off"
    environment.observe(ObservationRequest(2.0, accessibility=True))
    assert lamp.requests == [ObservationRequest(), ObservationRequest(2.0, accessibility=True)]


def test_time_verbs_reach_the_device(environment: HostedEnvironment, lamp: Lamp) -> None:
    environment.pause()
    environment.advance(1.5)
    environment.resume()
    assert lamp.log == ["pause", "advance 1.5", "resume"]


def test_acting_does_not_let_time_pass_by_itself(environment: HostedEnvironment, lamp: Lamp) -> None:
    """The episode owns time: it advances every environment by what the action declares."""
    environment.act("shine", {"colour": "red", "seconds": 3})
    assert not any(entry.startswith("advance") for entry in lamp.log)


def test_closing_twice_closes_once_and_ends_everything(environment: HostedEnvironment, lamp: Lamp) -> None:
    environment.close()
    environment.close()
    assert lamp.log == ["close"]
    assert environment.health() == "closed"
    calls: list[Callable[[], object]] = [
        environment.observe,
        lambda: environment.reset(7, START),
        lambda: environment.act("shine", {"colour": "red"}),
    ]
    for call in calls:
        with pytest.raises(EnvironmentFailure, match="lamp is closed"):
            call()


def test_a_provider_starts_environments_apart_from_one_another() -> None:
    first, second = LAMP.provider().start({}), LAMP.provider().start({})
    for each in (first, second):
        each.reset(1, START)
    first.act("shine", {"colour": "red"})
    assert second.probe("colour", {}) == "off"
