"""JSON crosses unchanged, or is refused with the place where it is not JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crab.remote.values import ENVELOPE_DEPTH, MAXIMUM_DEPTH, dump, load, require_json

# Lone surrogates too: file names of a device may hold them.
TEXT = st.text(st.characters(codec=None, exclude_categories=()))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=25,
)


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


@given(JSON)
def test_every_json_value_round_trips(value: Any) -> None:
    require_json(value)
    assert repr(load(dump(value))) == repr(value)


@given(JSON)
def test_what_is_sent_is_ascii_and_standard_json(value: Any) -> None:
    assert json.loads(dump(value).decode("ascii")) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "the value is nan"),
        ({"a": [1, {"b": float("inf")}]}, r"a\[1\]\.b is inf"),
        ([b"raw"], r"\[0\] is of type bytes"),
        ({"a": {1, 2}}, "a is of type set"),
        ({"a": {1: 2}}, "a has the key 1; JSON keys are strings"),
        (object(), "the value is of type object"),
        (10**5000, "too long to be read"),
    ],
    ids=["nan", "infinity", "bytes", "set", "key", "object", "large"],
)
def test_what_is_not_json_is_refused_with_its_place(value: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        require_json(value)


def test_depth_is_limited_when_sending_and_receiving() -> None:
    require_json(nested(MAXIMUM_DEPTH))
    load(dump(nested(MAXIMUM_DEPTH + ENVELOPE_DEPTH)))
    with pytest.raises(ValueError, match="nested too deep"):
        require_json(nested(MAXIMUM_DEPTH + 1))
    with pytest.raises(ValueError, match="nested too deep"):
        load(dump(nested(MAXIMUM_DEPTH + ENVELOPE_DEPTH + 1)))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"NaN",
        b"[Infinity]",
        b"-Infinity",
        b"1e999",
        b"\xff\xfe",
        b"[" * 1_000_000,
        b'{"a":' * 100_000,
        b"9" * 5000,
    ],
    ids=lambda data: repr(data[:12]),
)
def test_documents_that_are_not_json_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the text is Python's
        load(data)
