"""Keys are read when they are used and never shown."""

from __future__ import annotations

import pytest

from crab.errors import UsageError
from crab.models.secrets import read_key, scrub

KEY = "sk-test-0123456789abcdef"


def test_the_key_is_read_from_the_named_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", f" {KEY}\n")

    assert read_key("SOME_KEY", "api_key_env") == KEY


def test_a_missing_variable_is_named() -> None:
    with pytest.raises(UsageError, match="api_key_env: NO_SUCH_KEY is not set"):
        read_key("NO_SUCH_KEY", "api_key_env")


@pytest.mark.parametrize("misplaced", [KEY, "abcDEF0123456789"])
def test_a_key_in_place_of_a_name_is_not_repeated(misplaced: str) -> None:
    """Who writes the key itself where the variable's name belongs does not see it in a message."""
    with pytest.raises(UsageError) as caught:
        read_key(misplaced, "api_key_env")

    assert misplaced not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"bad key {KEY}.", "bad key [key]."),
        (f"{KEY}{KEY} and {KEY[:12]}***{KEY[-4:]}", "[key] and [key]***cdef"),
        ("nothing here", "nothing here"),
        ("", ""),
    ],
)
def test_keys_and_long_pieces_of_them_are_taken_out(text: str, shown: str) -> None:
    assert scrub(text, KEY) == shown


def test_without_a_key_nothing_is_taken_out() -> None:
    assert scrub("none", "") == "none"
