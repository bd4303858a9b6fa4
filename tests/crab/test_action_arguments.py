"""Arguments: what is checked before an action runs, and how a wrong one is named."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from pydantic import Field

from crab.action import action
from crab.errors import InvalidArguments
from tests.crab.sample_actions import Button, NotJson, add, beep, convert, draw, type_text

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
    nested: dict[str, Any] = {"stroke": {"points": [{"x": "1"}]}}
    missing: dict[str, Any] = {"stroke": {"points": [{"y": 1}]}}
    for wrong in ({"repeat": 0}, {"repeat": 10}, {"mode": "medium"}, nested, missing):
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


def test_bounds_are_told_in_words_and_not_in_internals() -> None:
    """What an agent reads after a value out of range names the bound and the plain type."""

    @action
    def pause(seconds: Annotated[float, Field(ge=0, le=30)]) -> None:
        """Pause."""

    with pytest.raises(InvalidArguments) as refusal:
        pause.validate({"seconds": 99})
    assert str(refusal.value) == (
        "pause: argument 'seconds': input should be less than or equal to 30, got 99; expected seconds: float"
    )
