"""Every rule of the environment suite finds an environment that breaks it, and blames no other without reason."""

from __future__ import annotations

from typing import Any

import pytest

from crab.environment import (
    Environment,
)
from crab.errors import CrabError
from crab.observation import Frame
from crab.testing import toy
from crab.testing.environment import RULES, EnvironmentSamples, check_environment
from crab.testing.rules import failed
from crab.testing.toy import TOY_PHONE, ToyDesktop
from tests.crab.testing.broken_environments import BROKEN, Hosted, SaysAnotherSize
from tests.crab.testing.toy_samples import DESKTOP_SAMPLES, PHONE_SAMPLES


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_environment_breaks_its_rule(broken: type[Hosted]) -> None:
    """Exactly the rules that a broken environment breaks fail, and the finding says what was promised."""
    samples = PHONE_SAMPLES if broken.kind is TOY_PHONE else DESKTOP_SAMPLES

    findings = check_environment(broken, samples)

    assert failed(findings) == list(BROKEN[broken]), [finding for finding in findings if not finding.ok]
    assert all(finding.fix for finding in findings if not finding.ok)


def test_every_rule_has_an_environment_that_breaks_it() -> None:
    """No rule is there that has never failed."""
    assert {rule.__name__ for rule in RULES} == {rule for rules in BROKEN.values() for rule in rules}


def test_nothing_but_the_fault_is_found() -> None:
    """The frame that the broken ones share breaks no rule, so what fails is the fault's."""
    assert failed(check_environment(Hosted, DESKTOP_SAMPLES)) == []


def test_rules_without_a_sample_are_left_out() -> None:
    """A rule that cannot be tried says so, and is no failure."""
    findings = check_environment(Hosted, EnvironmentSamples(DESKTOP_SAMPLES.action, DESKTOP_SAMPLES.probes))

    left_out = [finding.name for finding in findings if finding.detail.startswith("left out")]
    assert failed(findings) == []
    assert left_out == [
        "preparations_change_the_state",
        "preparations_end_with_the_first_act",
        "failed_actions_leave_it_usable",
        "extra_actions_are_asked_for",
        "accessibility_comes_when_asked",
        "the_clock_shows_the_start_time",
    ]


def test_everything_that_was_started_is_closed() -> None:
    """The suite closes each environment it started, also when rules break."""
    started: list[Environment] = []

    def make() -> Environment:
        started.append(SaysAnotherSize())
        return started[-1]

    check_environment(make, DESKTOP_SAMPLES)

    assert len(started) > 1
    for environment in started:
        with pytest.raises(CrabError, match="closed"):
            environment.observe()


def test_what_raises_is_a_finding() -> None:
    """A device that breaks in the middle of a rule breaks the rule, not the suite."""

    class Explodes(ToyDesktop):
        def settle(self) -> Any:
            raise MemoryError("full")

    class Host(Hosted):
        device = Explodes

    findings = check_environment(Host, DESKTOP_SAMPLES)

    assert "actions_change_the_state" in failed(findings)
    assert any("MemoryError: full" in finding.detail for finding in findings)


def test_the_toy_draws_what_it_says() -> None:
    """The toy's screen size is the size of its pictures."""
    environment = Hosted()
    environment.reset(0, "2030-01-07T09:00:00Z")
    frame: Frame = environment.observe().now

    assert (frame.width, frame.height) == toy.SCREEN
