"""Actions of every sort, for the tests of actions."""

from __future__ import annotations

import enum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from crab.action import Action, action


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
