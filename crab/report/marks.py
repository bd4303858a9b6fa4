"""What an action looks like on a screenshot, read from its name and arguments.

The report knows no environment by name. It goes by the words that actions of pointer, touch and keyboard share:
``x`` and ``y`` are a point, ``to_x`` or ``end`` another, ``text`` is typed, ``keys`` are pressed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Point = tuple[float, float]
"""Pixels of the frame that was shown, from its upper left corner."""

Kind = Literal[
    "click", "double", "right", "middle", "press", "release", "hold", "move", "drag", "scroll", "text", "keys"
]

_STARTS = (("x", "y"), ("x1", "y1"), ("start_x", "start_y"), ("from_x", "from_y"))
_ENDS = (("x2", "y2"), ("end_x", "end_y"), ("to_x", "to_y"))
_START_PAIRS = ("start", "point", "position", "at")
_END_PAIRS = ("end", "to", "target")
_KEY_NAMES = ("keys", "key", "button_name", "keycode", "hotkey")
_TEXT_NAMES = ("text", "string", "characters")
_DIRECTIONS: dict[str, Point] = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
_DOUBLE = 2
_TEXT_LENGTH = 200


@dataclass(frozen=True)
class Mark:
    """One action as it is drawn.

    Attributes:
        kind: Which shape.
        at: Where it happened; None for what has no place, or an unknown one.
        to: Where it led (`drag`, `move`).
        by: Direction and amount of a `scroll` or of a relative move, positive is right and down.
        caption: The text typed, the keys pressed, or another button's name; may be empty.
    """

    kind: Kind
    at: Point | None = None
    to: Point | None = None
    by: Point | None = None
    caption: str = ""

    @property
    def leaves_pointer_at(self) -> Point | None:
        """Where the pointer is afterwards, or None when the action says nothing about it."""
        return self.to or self.at


def mark_of(action: str, arguments: Mapping[str, Any], pointer: Point | None = None) -> Mark | None:
    """Returns how an action is drawn, or None when there is nothing to draw.

    Args:
        action: Its name in its environment.
        arguments: Its arguments as recorded; anything may be in there.
        pointer: Where the pointer was before, for actions that act where it is.
    """
    words = frozenset(action.lower().split("_"))
    start, end = _place(arguments, _STARTS, _START_PAIRS), _place(arguments, _ENDS, _END_PAIRS)
    if words & {"scroll", "wheel"}:
        return Mark("scroll", start or pointer, by=_amount(arguments))
    if start is not None and end is not None:
        return Mark("drag", start, end)
    if end is not None:
        return Mark("drag" if "drag" in words else "move", pointer, end)
    by = _pair(arguments, "dx", "dy")
    if by is not None and pointer is not None:
        return Mark("move", pointer, (pointer[0] + by[0], pointer[1] + by[1]))
    written = _written(words, arguments, start)
    return written or _pointed(words, arguments, start or pointer, given=start is not None)


def _written(words: frozenset[str], arguments: Mapping[str, Any], start: Point | None) -> Mark | None:
    for name in _TEXT_NAMES:
        value = arguments.get(name)
        if isinstance(value, str):
            return Mark("text", start, caption=_short(value))
    for name in _KEY_NAMES:
        value = arguments.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool):
            verb = next((f"{word} " for word in ("hold", "release") if word in words), "")
            return Mark("keys", start, caption=_short(f"{verb}{value}"))
        if isinstance(value, list | tuple) and value:
            return Mark("keys", start, caption=_short(" + ".join(str(key) for key in value)))
    return None


def _pointed(words: frozenset[str], arguments: Mapping[str, Any], at: Point | None, *, given: bool) -> Mark | None:
    if at is None:
        return None
    button = arguments.get("button")
    if words & {"press", "down"} and not words & {"long", "key"} and (button is not None or "mouse" in words):
        return Mark("press", at)
    if words & {"release", "up"} and (button is not None or "mouse" in words):
        return Mark("release", at)
    if words & {"move", "hover"}:
        return Mark("move", at)
    if words & {"long", "hold"}:
        return Mark("hold", at)
    if "double" in words or arguments.get("count") == _DOUBLE or arguments.get("clicks") == _DOUBLE:
        return Mark("double", at)
    for kind in ("right", "middle"):
        if button == kind or kind in words:
            return Mark("right" if kind == "right" else "middle", at)
    clicks = bool(words & {"click", "tap", "touch"})
    if not (clicks or given):
        return None
    caption = button if isinstance(button, str) and button != "left" else ""
    return Mark("click", at, caption=_short(caption))


def _place(arguments: Mapping[str, Any], names: tuple[tuple[str, str], ...], pairs: tuple[str, ...]) -> Point | None:
    for first, second in names:
        point = _pair(arguments, first, second)
        if point is not None:
            return point
    for name in pairs:
        value = arguments.get(name)
        if isinstance(value, list | tuple) and len(value) == 2 and all(_is_number(part) for part in value):
            return float(value[0]), float(value[1])
        if isinstance(value, Mapping):
            point = _pair(value, "x", "y")
            if point is not None:
                return point
    return None


def _pair(arguments: Mapping[str, Any], first: str, second: str) -> Point | None:
    x, y = arguments.get(first), arguments.get(second)
    if _is_number(x) and _is_number(y):
        return float(x), float(y)  # type: ignore[arg-type]
    return None


def _amount(arguments: Mapping[str, Any]) -> Point:
    direction = arguments.get("direction")
    if isinstance(direction, str) and direction in _DIRECTIONS:
        size = next((arguments[name] for name in ("amount", "steps", "clicks") if _is_number(arguments.get(name))), 1)
        x, y = _DIRECTIONS[direction]
        return x * abs(float(size)), y * abs(float(size))
    right, down = (
        next((float(arguments[name]) for name in names if _is_number(arguments.get(name))), 0.0)
        for names in (("dx", "right"), ("dy", "down"))
    )
    return right, down


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _short(text: str) -> str:
    return text if len(text) <= _TEXT_LENGTH else f"{text[: _TEXT_LENGTH - 1]}…"
