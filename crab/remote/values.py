"""JSON as it crosses the wire: strict both ways, so that what arrives is what was sent or a clear refusal.

A value is null, a bool, a finite number, a string, a list or an object with string keys. A tuple is sent as a list and
arrives as one. NaN, infinities, bytes, sets and every other Python object are refused, never approximated.
"""

from __future__ import annotations

import json
import math
from typing import Any

MAXIMUM_DEPTH = 200
"""Lists and objects inside one another, at most, in one value."""

LONGEST_INTEGER = 13_000
"""Bits in a whole number, at most: Python reads no more than 4,300 decimal digits."""

ENVELOPE_DEPTH = 8
"""What a message may add around a value."""


def require_json(value: Any, *, depth: int = MAXIMUM_DEPTH) -> None:
    """Checks that a value is JSON.

    Args:
        value: Anything.
        depth: Lists and objects inside one another, at most.

    Raises:
        ValueError: One line naming where the first thing is that is not JSON, and what it is.
    """
    _require(value, "", depth)


def dump(value: Any) -> bytes:
    """Encodes a value already known to be JSON, compactly, in ASCII.

    Raises:
        ValueError: It is not JSON after all.
    """
    try:
        return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def load(data: bytes | memoryview) -> Any:
    """Decodes a JSON document.

    Raises:
        ValueError: It is not UTF-8, not JSON, nested too deep, or holds a number that is not finite.
    """
    try:
        value = json.loads(str(data, "utf-8"), parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deep") from None
    require_json(value, depth=MAXIMUM_DEPTH + ENVELOPE_DEPTH)
    return value


def _require(value: Any, where: str, depth: int) -> None:
    if value is None or isinstance(value, str):
        return
    if isinstance(value, (int, float)):
        _require_number(value, where)
        return
    if not isinstance(value, (dict, list, tuple)):
        raise ValueError(f"{_place(where)} is of type {type(value).__name__}, which JSON cannot hold")  # noqa: TRY004
    if depth == 0:
        raise ValueError(f"{_place(where)} is nested too deep")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError(f"{_place(where)} has the key {repr(key)[:80]}; JSON keys are strings")  # noqa: TRY004
            _require(item, f"{where}.{key}" if where else key, depth - 1)
    else:
        for index, item in enumerate(value):
            _require(item, f"{where}[{index}]", depth - 1)


def _require_number(value: float, where: str) -> None:
    if isinstance(value, int):
        if value.bit_length() > LONGEST_INTEGER:
            raise ValueError(f"{_place(where)} is a whole number of {value.bit_length()} bits, too long to be read")
    elif not math.isfinite(value):
        raise ValueError(f"{_place(where)} is {value}, which JSON cannot hold")


def _place(where: str) -> str:
    return where[:200] or "the value"


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")
