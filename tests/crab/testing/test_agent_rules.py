"""Every rule of the agent suite finds an agent that breaks it."""

from __future__ import annotations

import random
from typing import Any, cast

import pytest

from crab.agent import Call, Decision, Message, TaskView, Usage
from crab.observation import Observations
from crab.testing.agent import AGENT_RULES, AgentSamples, check_agent
from crab.testing.rules import failed

OPEN = Call("desktop__open_application", {"name": "Notepad"})


class Sound:
    """Opens the notepad, waits, and is done; the broken ones below change one thing each."""

    name = "sound"

    def __init__(self) -> None:
        self.view = TaskView("", {}, ())
        self.turn = 0

    def start(self, view: TaskView) -> None:
        self.view = view
        self.turn = 0

    def decide(self, observations: Observations) -> Decision:
        self.turn += 1
        several = any("__" in tool.name for tool in self.view.tools)
        calls = [OPEN if several else Call("open_application", {"name": "Notepad"}), Call("wait", {"seconds": 1.5})]
        call = calls[self.turn - 1] if self.turn <= len(calls) else Call("complete")
        return Decision((call,), (Message("sound", "On it."),), Usage(input=10, output=2, reasoning=1, model_calls=1))

    def close(self) -> None:
        """Holds nothing."""


class HasNoName(Sound):
    name = ""


class SpeaksInStrings(Sound):
    def decide(self, observations: Observations) -> Decision:
        messages: Any = ("On it.",)
        return Decision((Call("complete"),), messages)


class ReturnsNothing(Sound):
    def decide(self, observations: Observations) -> Decision:
        return cast("Decision", None)


class InventsTools(Sound):
    def decide(self, observations: Observations) -> Decision:
        return Decision((Call("desktop__fly"),))


class KnowsSeveralDevicesOnly(Sound):
    def decide(self, observations: Observations) -> Decision:
        return Decision((OPEN,))


class WaitsTooLong(Sound):
    def decide(self, observations: Observations) -> Decision:
        return Decision((Call("wait", {"seconds": 61}),))


class SendsNoJson(Sound):
    def decide(self, observations: Observations) -> Decision:
        return Decision((Call("submit", {"answer": b"42"}),))


class RepeatsItsIds(Sound):
    def decide(self, observations: Observations) -> Decision:
        return Decision((Call("wait", {"seconds": 1}, id="a"), Call("wait", {"seconds": 2}, id="a")))


class EditsTheView(Sound):
    def start(self, view: TaskView) -> None:
        super().start(view)
        view.tools[0].schema["function"]["description"] = "Mine."


class EditsTheObservations(Sound):
    def decide(self, observations: Observations) -> Decision:
        environments: Any = observations.environments
        environments.clear()
        return super().decide(observations)


class EarnsTokens(Sound):
    def decide(self, observations: Observations) -> Decision:
        return Decision((Call("complete"),), usage=Usage(input=-1))


class ThinksMoreThanItSays(Sound):
    def decide(self, observations: Observations) -> Decision:
        return Decision((Call("complete"),), usage=Usage(output=1, reasoning=2))


class ThrowsDice(Sound):
    dice = random.Random(0)

    def decide(self, observations: Observations) -> Decision:
        return Decision((Call("wait", {"seconds": round(self.dice.uniform(1, 2), 9)}),))


class Remembers(Sound):
    tasks = 0

    def start(self, view: TaskView) -> None:
        super().start(view)
        self.tasks += 1

    def decide(self, observations: Observations) -> Decision:
        return Decision((Call("wait", {"seconds": self.tasks}),))


class BreaksWhenRefused(Sound):
    def decide(self, observations: Observations) -> Decision:
        if any(not result.executed for result in observations.results):
            raise ValueError("how dare you")
        return super().decide(observations)


class ClosesOnce(Sound):
    closed = False

    def close(self) -> None:
        if self.closed:
            raise ValueError("closed already")
        self.closed = True


EVERY_PLAY = [rule.__name__ for rule in AGENT_RULES][1:]

BROKEN: dict[type[Sound], list[str]] = {
    HasNoName: ["it_has_a_name"],
    SpeaksInStrings: ["it_decides"],
    # Without a decision nothing else can be tried.
    ReturnsNothing: EVERY_PLAY,
    InventsTools: ["it_calls_tools_of_the_view"],
    KnowsSeveralDevicesOnly: ["it_calls_tools_of_the_view"],
    WaitsTooLong: ["it_calls_tools_of_the_view"],
    SendsNoJson: ["it_calls_tools_of_the_view"],
    RepeatsItsIds: ["its_calls_are_told_apart"],
    EditsTheView: ["it_leaves_what_it_is_given"],
    EditsTheObservations: ["it_leaves_what_it_is_given"],
    EarnsTokens: ["its_usage_is_counted"],
    ThinksMoreThanItSays: ["its_usage_is_counted"],
    # What differs from run to run also differs after another task.
    ThrowsDice: ["it_repeats_under_a_seed", "it_forgets_the_last_task"],
    Remembers: ["it_forgets_the_last_task"],
    BreaksWhenRefused: ["it_survives_refusals"],
    ClosesOnce: ["it_closes_twice"],
}
"""What each broken agent breaks, in the order of the rules."""


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_agent_breaks_its_rule(broken: type[Sound]) -> None:
    """Exactly the rules that a broken agent breaks fail."""
    findings = check_agent(broken)

    assert failed(findings) == BROKEN[broken], [finding for finding in findings if not finding.ok]


def test_every_rule_has_an_agent_that_breaks_it() -> None:
    """No rule is there that has never failed."""
    alone = [rules for broken, rules in BROKEN.items() if broken is not ReturnsNothing]
    assert {rule.__name__ for rule in AGENT_RULES} == {rule for rules in alone for rule in rules}


def test_a_sound_agent_keeps_all() -> None:
    """What the broken agents share breaks no rule."""
    assert failed(check_agent(Sound)) == []


def test_an_agent_may_throw_dice_where_it_says_so() -> None:
    """Where an agent does not promise to repeat itself, the rules about that are left out."""
    findings = check_agent(ThrowsDice, AgentSamples(repeatable=False))

    assert failed(findings) == []
    assert [finding.name for finding in findings if finding.detail.startswith("left out")] == [
        "it_repeats_under_a_seed",
        "it_forgets_the_last_task",
    ]
