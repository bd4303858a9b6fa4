"""Decorators keep the types of what they decorate.

Nothing here runs: mypy reads it with the rest of the repository. A line that must be refused carries an ignore for
exactly that error, and mypy's ``warn_unused_ignores`` (part of strict) fails when the line is accepted after all.
"""

from __future__ import annotations

from typing import Any, assert_type

from crab.action import Action, action
from crab.environment import Device, EnvironmentKind, Preparation, Probe, preparation, probe
from crab.evaluator import Evaluator, Leaf, Probes, evaluator
from crab.graph import CheckpointGraph, chain, checkpoint, parallel
from crab.hosting import HostedEnvironment
from crab.task import OracleCall, perform


@action
def add(first: int, second: int = 1) -> int:
    """Adds."""
    return first + second


@action(duration=0.5)
def describe(number: int) -> str:
    """Describes."""
    return str(number)


@evaluator
def ready(env: Probes, what: str) -> bool:
    """Asks."""
    return bool(env.probe(what))


@probe
def state(env: Device) -> str:
    """Answers."""
    return ""


@preparation
def set_state(env: Device, value: str) -> None:
    """Writes."""


def a_decorated_function_is_called_like_the_function_itself() -> None:
    assert_type(add(1), int)
    assert_type(add(first=1, second=2), int)
    assert_type(describe(1), str)
    add("1")  # type: ignore[arg-type]
    add(1, third=3)  # type: ignore[call-arg]
    add()  # type: ignore[call-arg]
    describe("1")  # type: ignore[arg-type]


def both_forms_of_the_decorator_give_actions() -> None:
    plain: Action[..., int] = add
    timed: Action[..., str] = describe
    wrong: Action[..., str] = add  # type: ignore[assignment]
    del plain, timed, wrong


def compositions_have_the_result_of_the_last() -> None:
    assert_type((add >> describe)(1), str)
    (add >> describe)("1")  # type: ignore[arg-type]
    assert_type(add + describe, Action[..., str])
    assert_type(add.run({"first": 1}), Any)
    add >> 3  # type: ignore[operator]


def binding_keeps_the_sort() -> None:
    assert_type(ready.bind(what="x"), Leaf)
    assert_type(ready.bind(what="x").on("desktop"), Leaf)
    assert_type(state.bind(), Probe)
    assert_type(set_state.bind(value="x"), Preparation)


def evaluators_combine_to_evaluators() -> None:
    assert_type(ready & ready | ~ready, Evaluator)
    assert_type(ready(None, "x"), bool)
    ready & True  # type: ignore[operator]


def an_evaluator_must_return_bool() -> None:
    @evaluator  # type: ignore[arg-type]
    def wrong(env: Probes) -> str:
        return ""


def graphs_are_made_of_checkpoints_graphs_and_evaluators() -> None:
    assert_type(chain(checkpoint("a", ready), parallel(ready, chain(ready))), CheckpointGraph)
    chain("a")  # type: ignore[arg-type]
    checkpoint("a", add)  # type: ignore[arg-type]


def an_environment_takes_each_sort_in_its_place(device: Device) -> None:
    EnvironmentKind("lamp", "", actions=[add, describe], probes=[state], preparations=[set_state])
    EnvironmentKind("lamp", "", actions=[set_state])  # type: ignore[list-item]
    EnvironmentKind("lamp", "", actions=[], probes=[set_state])  # type: ignore[list-item]
    HostedEnvironment(EnvironmentKind("lamp", "", actions=[]), device)  # type: ignore[call-arg]


def an_oracle_yields_calls() -> None:
    assert_type(perform("desktop", "click", x=1, environment="any name works"), OracleCall)
