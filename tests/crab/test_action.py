"""Actions: which functions become one, and how actions are put together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from crab.action import action
from crab.errors import DefinitionError, InvalidArguments
from crab.operation import is_name
from tests.crab.sample_actions import add, beep, describe, double, draw, parameters_of, shout, type_text

if TYPE_CHECKING:
    from crab.testing import NoSuchDevice  # type: ignore[attr-defined]  # a type that exists for type checkers only


# Definition


def test_env_is_injected_and_never_shown() -> None:
    device: list[str] = []
    assert list(parameters_of(type_text)["properties"]) == ["text"]
    assert type_text.needs_env
    assert type_text.run({"text": "hi"}, device) == 1
    assert device == ["hi"]
    with pytest.raises(InvalidArguments, match="'env': is not a parameter"):
        type_text.run({"text": "hi", "env": []}, device)
    with pytest.raises(DefinitionError, match="env"):
        type_text.bind(env=device)
    with pytest.raises(DefinitionError, match="type_text acts on an environment"):
        type_text.run({"text": "hi"})


def test_the_type_of_env_may_be_known_to_type_checkers_only() -> None:
    @action
    def look(env: NoSuchDevice, depth: int) -> int:
        return depth

    assert look.run({"depth": 2}, object()) == 2


def test_any_other_type_must_be_known_when_decorated() -> None:
    with pytest.raises(DefinitionError, match=r"look.*NoSuchDevice.*TYPE_CHECKING"):

        @action
        def look(where: NoSuchDevice) -> None: ...


def make_async() -> Callable[..., Any]:
    async def later() -> None: ...

    return later


def make_generator() -> Callable[..., Any]:
    def several() -> Iterator[int]:
        yield 1

    return several


def make_async_generator() -> Callable[..., Any]:
    async def several_later() -> AsyncIterator[int]:
        yield 1

    return several_later


@pytest.mark.parametrize("make", [make_async, make_generator, make_async_generator])
def test_only_plain_functions_become_actions(make: Callable[[], Callable[..., Any]]) -> None:
    """A coroutine or generator would come back unrun and look like success."""
    with pytest.raises(DefinitionError, match=r"several|later"):
        action(make())


def double_underscore() -> Callable[..., Any]:
    def ubuntu__click() -> None: ...

    return ubuntu__click


def trailing_underscore() -> Callable[..., Any]:
    def click_() -> None: ...

    return click_


def not_ascii() -> Callable[..., Any]:
    def drücken() -> None: ...

    return drücken


def unnamed() -> Callable[..., Any]:
    return lambda: None


@pytest.mark.parametrize("make", [double_underscore, trailing_underscore, not_ascii, unnamed])
def test_a_name_that_would_make_tool_names_ambiguous_is_refused(make: Callable[[], Callable[..., Any]]) -> None:
    with pytest.raises(DefinitionError, match="name is an ASCII identifier without '__'"):
        action(make())


def test_names_joined_by_two_underscores_come_apart_in_one_way() -> None:
    assert is_name("phone_b")
    assert is_name("tap2")
    assert is_name("_tap")
    for text in ("", "a__b", "a_", "1a", "a b", "a-b", "é"):
        assert not is_name(text)


def no_annotation() -> Callable[..., Any]:
    def click(x) -> None: ...  # type: ignore[no-untyped-def]

    return click


def variadic() -> Callable[..., Any]:
    def click(*x: int) -> None: ...

    return click


def keywords() -> Callable[..., Any]:
    def click(**x: int) -> None: ...

    return click


def positional_only() -> Callable[..., Any]:
    def click(x: int, /) -> None: ...

    return click


def positional_only_env() -> Callable[..., Any]:
    def click(env: object, /, x: int) -> None: ...

    return click


def variadic_env() -> Callable[..., Any]:
    def click(**env: int) -> None: ...

    return click


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (no_annotation, "'x' has no type annotation"),
        (variadic, "'x' must be callable by name"),
        (keywords, "'x' must be callable by name"),
        (positional_only, "'x' must be callable by name"),
        (positional_only_env, "'env' must be callable by name"),
        (variadic_env, "'env' must be callable by name"),
    ],
)
def test_a_parameter_that_cannot_be_said_in_a_schema_is_refused(
    make: Callable[[], Callable[..., Any]], problem: str
) -> None:
    with pytest.raises(DefinitionError, match=f"action click: parameter {problem}"):
        action(make())


def test_a_decorated_function_is_still_that_function() -> None:
    assert add(1, second=2) == 3
    assert double(4) == 8


# Binding


def test_bind_closes_arguments() -> None:
    closed = add.bind(first=3)
    assert list(parameters_of(closed)["properties"]) == ["second"]
    assert closed.run({"second": 4}) == 7
    with pytest.raises(InvalidArguments, match="'first': is not a parameter"):
        closed.run({"first": 9})


def test_a_bound_optional_value_is_kept() -> None:
    assert add.bind(second=10).run({"first": 1}) == 11
    assert add.bind(first=1, second=10).run() == 11


def test_bind_leaves_the_original_open() -> None:
    add.bind(first=3)
    assert [parameter.name for parameter in add.parameters] == ["first", "second"]
    assert add.run({"first": 1}) == 2


def test_binding_step_by_step_is_binding_at_once() -> None:
    assert add.bind(first=2).bind(second=5).run() == add.bind(first=2, second=5).run() == 7


@pytest.mark.parametrize("value", ["3", True, 3.0, None])
def test_bind_refuses_a_wrong_type(value: Any) -> None:
    with pytest.raises(InvalidArguments, match="add: first"):
        add.bind(first=value)


def test_bind_refuses_a_value_out_of_range() -> None:
    with pytest.raises(InvalidArguments, match="draw: repeat"):
        draw.bind(repeat=0)


def test_bind_refuses_names_that_are_not_open() -> None:
    with pytest.raises(DefinitionError, match="no open parameter 'third'; open are: \\['first', 'second'\\]"):
        add.bind(third=3)
    with pytest.raises(DefinitionError, match="no open parameter 'first'"):
        add.bind(first=1).bind(first=2)


def test_a_bound_action_is_run_not_called() -> None:
    with pytest.raises(DefinitionError, match="run"):
        add.bind(first=1)(2)


# Composition


def test_a_pipe_feeds_the_result_into_the_only_open_parameter() -> None:
    piped = add >> double
    assert list(parameters_of(piped)["properties"]) == ["first", "second"]
    assert piped.run({"first": 2, "second": 3}) == 10
    assert (add >> double >> describe >> shout).run({"first": 1}) == "NUMBER 4"
    assert (double >> add.bind(second=100)).run({"number": 2}) == 104


def test_a_pipe_needs_exactly_one_open_parameter() -> None:
    with pytest.raises(
        DefinitionError, match=r"double >> add: add needs one open parameter, has \['first', 'second'\]"
    ):
        double >> add
    with pytest.raises(DefinitionError, match="has \\[\\]"):
        double >> beep


def test_a_pipe_checks_what_it_hands_on() -> None:
    """The mistake is the author's, so it is not reported as the agent's wrong argument."""
    with pytest.raises(DefinitionError, match="result of describe does not fit double: number"):
        (describe >> double).run({"number": 1})


def test_a_pipe_injects_env_into_both_ends() -> None:
    device: list[str] = []
    assert (shout >> type_text >> double).run({"text": "hi"}, device) == 2
    assert device == ["HI"]
    with pytest.raises(DefinitionError, match="environment"):
        (shout >> type_text).run({"text": "hi"})


def test_a_sequence_runs_in_order_and_gives_the_last_result() -> None:
    device: list[str] = []
    sequence = beep + type_text.bind(text="one") + beep + type_text.bind(text="two")
    assert sequence.run({}, device) == 4
    assert device == ["beep", "one", "beep", "two"]


def test_a_sequence_asks_for_the_open_parameters_of_both() -> None:
    both = add + shout
    assert list(parameters_of(both)["properties"]) == ["first", "second", "text"]
    assert both.run({"first": 1, "text": "hi"}) == "HI"
    with pytest.raises(InvalidArguments, match="'text': is missing"):
        both.run({"first": 1})


def test_a_sequence_refuses_a_parameter_both_ask_for() -> None:
    with pytest.raises(DefinitionError, match="describe \\+ double: both ask for 'number'"):
        describe + double
    assert (describe.bind(number=1) + double).run({"number": 2}) == 4


def test_compositions_have_valid_names_and_both_descriptions() -> None:
    for composed in (add >> double, add + shout):
        assert is_name(composed.name)
        assert composed.description.startswith("Adds two numbers. Then")
    assert (add >> double).description.endswith("Doubles a number.")


# Duration


@action(duration=0.5)
def tap() -> None:
    """Taps."""


@action(duration="seconds")
def hold(seconds: float, times: int = 1) -> None:
    """Holds."""


def test_a_duration_is_a_number_or_a_parameter() -> None:
    assert tap.seconds({}) == 0.5
    assert add.seconds({"first": 1}) == 0
    assert hold.seconds(hold.validate({"seconds": 2})) == 2.0


def test_a_bound_duration_becomes_a_number() -> None:
    closed = hold.bind(seconds=3.0)
    assert closed.duration == 3.0
    assert hold.bind(times=2).duration == "seconds"


def test_durations_add_up_in_compositions() -> None:
    assert (tap + hold.bind(seconds=3.0)).duration == 3.5
    with pytest.raises(DefinitionError, match="bind the duration"):
        tap + hold


def test_a_duration_must_name_a_parameter() -> None:
    with pytest.raises(DefinitionError, match="duration names no parameter: 'second'"):

        @action(duration="second")
        def hold(seconds: float) -> None: ...
