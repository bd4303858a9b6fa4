"""Actions: what a model is told, what is checked before a call, and how actions are put together."""

from __future__ import annotations

import enum
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field

from crab.action import Action, action, is_name
from crab.errors import DefinitionError, InvalidArguments

if TYPE_CHECKING:
    from crab.testing import NoSuchDevice  # type: ignore[attr-defined]  # a type that exists for type checkers only


class Button(enum.Enum):
    """Which button of the pointer."""

    LEFT = "left"
    RIGHT = "right"


class Point(BaseModel):
    """A place on the screen."""

    x: int
    y: int = 0
    title: str = "here"


class Stroke(BaseModel):
    points: list[Point]
    button: Button = Button.LEFT


class Tree(BaseModel):
    children: list[Tree] = []


class NotJson:
    """No model, so JSON cannot say it."""


@action
def draw(
    stroke: Stroke,
    button: Button,
    mode: Literal["fast", "slow"] = "fast",
    pressure: float | None = None,
    repeat: Annotated[int, Field(ge=1, le=9)] = 1,
    origin: Point = Point(x=1, y=2, title="start"),  # noqa: B008  a default model, as authors write it
) -> str:
    """Draws a line.

    It stays on the screen
    until it is wiped.

    Args:
        stroke: Where it goes.
        button: What is held down.
        mode: How fast,
            in words.
        pressure: Between 0 and 1.
        repeat: How often.
        origin: Where from.
    """
    return f"{stroke.points[0].x} {button.value} {mode} {pressure} {repeat} {origin.title}"


@action
def add(first: int, second: int = 1) -> int:
    """Adds two numbers."""
    return first + second


@action
def double(number: int) -> int:
    """Doubles a number."""
    return 2 * number


@action
def describe(number: int) -> str:
    return f"number {number}"


@action
def shout(text: str) -> str:
    """Says it aloud."""
    return text.upper()


@action
def type_text(env: list[str], text: str) -> int:
    """Types text on a device."""
    env.append(text)
    return len(env)


@action
def beep(env: list[str]) -> None:
    """Makes a sound."""
    env.append("beep")


@action
def convert(
    count: int = 0,
    ratio: float = 0.0,
    flag: bool = False,
    text: str = "",
    items: list[int] = [],  # noqa: B006  authors do this, and one call must not see another's items
    pair: tuple[int, int] = (0, 0),
    either: int | str = 0,
    button: Button = Button.LEFT,
    table: dict[str, float] = {},  # noqa: B006
) -> list[Any]:
    """Gives back what it got, after having used it up."""
    items.append(0)
    return [count, ratio, flag, text, items, pair, either, button, table]


def parameters_of(operation: Action[..., Any]) -> dict[str, Any]:
    schema: dict[str, Any] = operation.schema()["function"]["parameters"]
    return schema


# Schema


def test_a_schema_has_the_openai_function_form() -> None:
    assert add.schema() == {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Adds two numbers.",
            "parameters": {
                "type": "object",
                "properties": {"first": {"type": "integer"}, "second": {"type": "integer", "default": 1}},
                "required": ["first"],
                "additionalProperties": False,
            },
        },
    }


def test_an_action_without_parameters_has_an_empty_object_schema() -> None:
    assert parameters_of(beep) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_short_and_long_text_of_the_docstring_become_the_description() -> None:
    assert draw.description == "Draws a line.\nIt stays on the screen\nuntil it is wiped."


def test_argument_texts_reach_the_schema_with_and_without_defaults() -> None:
    properties = parameters_of(draw)["properties"]
    texts = {name: part.get("description") for name, part in properties.items()}
    assert texts["stroke"] == "Where it goes."
    assert texts["button"] == "What is held down."
    assert texts["mode"] == "How fast, in words."
    assert texts["pressure"] == "Between 0 and 1."
    assert texts["repeat"] == "How often."


def test_types_are_said_in_json_schema_words() -> None:
    properties = parameters_of(draw)["properties"]
    assert properties["button"]["enum"] == ["left", "right"]
    assert properties["mode"] == {
        "type": "string",
        "enum": ["fast", "slow"],
        "default": "fast",
        "description": "How fast, in words.",
    }
    assert {"type": "null"} in properties["pressure"]["anyOf"]
    assert properties["pressure"]["default"] is None
    assert (properties["repeat"]["minimum"], properties["repeat"]["maximum"]) == (1, 9)
    assert parameters_of(draw)["required"] == ["stroke", "button"]


def test_nested_types_are_inlined_and_generated_titles_left_out() -> None:
    """A model's back end need not follow references; a property that is called title is no generated title."""
    parameters = parameters_of(draw)
    text = json.dumps(parameters)
    assert "$ref" not in text
    assert "$defs" not in text
    point = parameters["properties"]["stroke"]["properties"]["points"]["items"]
    assert point["required"] == ["x"]
    assert point["properties"] == {
        "x": {"type": "integer"},
        "y": {"type": "integer", "default": 0},
        "title": {"type": "string", "default": "here"},
    }
    assert "title" not in parameters
    assert "title" not in point


def test_defaults_are_shown_as_they_are_whatever_their_keys() -> None:
    assert parameters_of(draw)["properties"]["origin"]["default"] == {"x": 1, "y": 2, "title": "start"}


def test_every_schema_is_valid_json_schema_and_accepts_what_validation_accepts() -> None:
    arguments = {"stroke": {"points": [{"x": 3}]}, "button": "right", "repeat": 2}
    for operation in (draw, add, convert, beep, type_text):
        jsonschema.Draft202012Validator.check_schema(parameters_of(operation))
    jsonschema.validate(arguments, parameters_of(draw))
    assert draw.run(arguments) == "3 right fast None 2 start"


def test_a_schema_belongs_to_the_caller() -> None:
    """Adapters change schemas for their model's taste; that must not reach the next agent."""
    before = json.dumps(add.schema())
    add.schema()["function"]["parameters"]["properties"].clear()
    assert json.dumps(add.schema()) == before


def test_any_parameter_name_works() -> None:
    @action
    def awkward(
        model_config: int,
        schema: int,
        title: int,
        self: int,
        cls: int,
        arguments: int,
        copy: int,
        validate: int,
        properties: int,
        name: int,
        field_0: int,
        json: int = 0,
        _hidden: int = 0,
    ) -> list[int]:
        """Has names that mean something elsewhere."""
        return [model_config, schema, title, self, cls, arguments, copy, validate, properties, name, field_0, json]

    names = [
        "model_config",
        "schema",
        "title",
        "self",
        "cls",
        "arguments",
        "copy",
        "validate",
        "properties",
        "name",
        "field_0",
    ]
    schema = parameters_of(awkward)
    assert list(schema["properties"]) == [*names, "json", "_hidden"]
    assert schema["properties"]["title"] == {"type": "integer"}
    assert awkward.run({name: index for index, name in enumerate(names)}) == [*range(11), 0]
    closed = awkward.bind(**{name: index for index, name in enumerate(names)})
    assert closed.run() == [*range(11), 0]
    with pytest.raises(InvalidArguments, match="'self'"):
        awkward.run({**dict.fromkeys(names, 1), "self": "me"})


def test_an_undocumented_action_is_described_by_its_name() -> None:
    assert describe.description == "Describe."
    assert type(json.loads(json.dumps(describe.schema()))["function"]["description"]) is str


def test_a_type_that_json_cannot_say_is_named() -> None:
    @action
    def send(thing: NotJson) -> None:
        """Cannot be called by a model."""

    for use in (send.schema, lambda: send.run({"thing": 1})):
        with pytest.raises(DefinitionError, match=r"send.*thing: NotJson.*JSON cannot say"):
            use()


def test_a_type_that_contains_itself_is_refused_with_its_name() -> None:
    @action
    def plant(tree: Tree) -> None:
        """Plants."""

    with pytest.raises(DefinitionError, match="Tree contains itself"):
        plant.schema()


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


# Validation

VALID: list[tuple[dict[str, Any], int, Any]] = [
    ({"count": -3}, 0, -3),
    ({"count": 10**30}, 0, 10**30),
    ({"ratio": 3}, 1, 3.0),
    ({"ratio": 0.5}, 1, 0.5),
    ({"flag": True}, 2, True),
    ({"text": "3 ü 𝄞"}, 3, "3 ü 𝄞"),
    ({"items": [1, 2]}, 4, [1, 2, 0]),
    ({"pair": [1, 2]}, 5, (1, 2)),
    ({"either": 1}, 6, 1),
    ({"either": "1"}, 6, "1"),
    ({"button": "right"}, 7, Button.RIGHT),
    ({"table": {"a": 1}}, 8, {"a": 1.0}),
]


@pytest.mark.parametrize(("arguments", "position", "value"), VALID)
def test_json_values_arrive_as_the_annotated_types(arguments: dict[str, Any], position: int, value: Any) -> None:
    given = convert.run(arguments)[position]
    assert given == value
    assert type(given) is type(value)


INVALID: list[tuple[dict[str, Any], str]] = [
    ({"count": "3"}, "'count'.*valid integer.*'3'"),
    ({"count": True}, "'count'.*valid integer.*True"),
    ({"count": 3.0}, "'count'.*valid integer.*3.0"),
    ({"count": None}, "'count'.*valid integer.*None"),
    ({"ratio": "0.5"}, "'ratio'.*valid number"),
    ({"ratio": True}, "'ratio'.*valid number"),
    ({"ratio": 10**400}, "'ratio'.*finite"),
    ({"flag": 1}, "'flag'.*valid boolean"),
    ({"flag": "true"}, "'flag'.*valid boolean"),
    ({"text": 3}, "'text'.*valid string"),
    ({"items": "12"}, "'items'.*valid"),
    ({"items": [1, "2"]}, r"'items\.1'.*valid integer.*'2'"),
    ({"pair": [1]}, "'pair"),
    ({"button": "middle"}, "'button'.*'left' or 'right'"),
    ({"table": {"a": "b"}}, r"'table\.a'.*valid number"),
    ({"colour": 1}, "'colour': is not a parameter"),
]


@pytest.mark.parametrize(("arguments", "message"), INVALID)
def test_a_wrong_type_is_refused_and_the_argument_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArguments, match=f"^convert: argument {message}"):
        convert.run(arguments)


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), b"bytes", {1, 2}, NotJson(), "\ud800", json.loads("[" * 900 + "]" * 900)],
    ids=["nan", "infinity", "bytes", "set", "object", "lone-surrogate", "deep"],
)
def test_what_is_not_json_is_refused_for_any_type(value: Any) -> None:
    """What a model sends goes on to devices and into records, so no parameter takes what JSON cannot carry."""

    @action
    def take(value: Any) -> None:
        """Takes anything."""

    with pytest.raises(InvalidArguments, match="take: "):
        take.run({"value": value})


def test_a_message_says_what_was_expected() -> None:
    with pytest.raises(InvalidArguments) as caught:
        add.run({"second": 2})
    assert str(caught.value) == "add: argument 'first': is missing; expected first: int, second: int (optional)"
    with pytest.raises(InvalidArguments, match="expected no arguments"):
        beep.run({"x": 1}, [])
    with pytest.raises(InvalidArguments, match=r"items: list\[int\] \(optional\)"):
        convert.run({"count": "x"})


def test_a_message_stays_short_whatever_was_sent() -> None:
    with pytest.raises(InvalidArguments) as caught:
        add.run({"first": "x" * 100_000})
    assert len(str(caught.value)) < 500


def test_ranges_and_words_are_checked() -> None:
    good = {"stroke": {"points": [{"x": 1}]}, "button": "left"}
    for wrong in ({"repeat": 0}, {"repeat": 10}, {"mode": "medium"}, {"stroke": {"points": [{"y": 1}]}}):
        with pytest.raises(InvalidArguments, match=next(iter(wrong))):
            draw.run({**good, **wrong})


def test_nothing_runs_when_an_argument_is_wrong() -> None:
    device: list[str] = []
    with pytest.raises(InvalidArguments):
        type_text.run({"text": 3}, device)
    assert device == []


def test_one_call_does_not_see_the_defaults_another_used_up() -> None:
    assert convert.run({})[4] == [0]
    assert convert.run({})[4] == [0]


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
