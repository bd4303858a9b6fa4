"""Small ways in which a text goes wrong, for near misses. Each changes every text of the pools."""

from __future__ import annotations

_LOOK_ALIKES = str.maketrans({"a": "а", "e": "е", "o": "о"})


def swapped_case(text: str) -> str:
    """Returns the text with small letters in place of capitals and the other way round."""
    return text.swapcase()


def look_alike(text: str) -> str:
    """Returns the text with Cyrillic letters in place of the Latin ones that look the same."""
    return text.translate(_LOOK_ALIKES)


def with_blank_at_end(text: str) -> str:
    """Returns the text with a blank behind it."""
    return text + " "


def shortened(text: str) -> str:
    """Returns the text without its last character."""
    return text[:-1]
