"""The agent contract: what is counted as tokens, and what may be left out of a decision."""

from __future__ import annotations

import dataclasses

import pytest

from crab.agent import Agent, Call, Decision, TaskView, Usage
from crab.observation import Observations


class Quitter:
    """The smallest agent: says at once that it is done."""

    name = "quitter"

    def start(self, view: TaskView) -> None:
        self.tools = [tool.name for tool in view.tools]

    def decide(self, observations: Observations) -> Decision:
        return Decision((Call("complete"),))

    def close(self) -> None: ...


def test_total_counts_cached_and_reasoning_tokens_once() -> None:
    usage = Usage(input=100, cache_read=20, cache_write=3, output=50, reasoning=40)
    assert usage.total == 173


def test_nothing_was_used_until_said() -> None:
    usage = Decision(()).usage
    assert (usage.total, usage.model_calls, usage.cost) == (0, 0, None)


def test_any_class_with_the_three_methods_is_an_agent() -> None:
    agent: Agent = Quitter()
    agent.start(TaskView("Do it.", {}, ()))
    decision = agent.decide(Observations(1, {}))
    assert decision.calls[0].name == "complete"
    assert decision.calls[0].arguments == {}
    agent.close()


def test_two_decisions_do_not_share_their_arguments() -> None:
    first, second = Call("click"), Call("click")
    assert first.arguments is not second.arguments


def test_a_task_view_cannot_be_changed_by_an_agent() -> None:
    view = TaskView("Do it.", {}, ())
    with pytest.raises(dataclasses.FrozenInstanceError):
        view.description = "Do something else."  # type: ignore[misc]


def test_a_task_view_has_no_room_for_the_answer() -> None:
    assert {field.name for field in dataclasses.fields(TaskView)} == {"description", "environments", "tools", "seed"}
