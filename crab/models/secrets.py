"""Keys: read from the environment when they are used, and kept out of everything that is written."""

from __future__ import annotations

import os
import re
from itertools import groupby

from crab.errors import UsageError

FRAGMENT = 8
"""Pieces of a key at least this long are taken out of texts."""

HIDDEN = "[key]"
"""What stands where a key was."""


def read_key(variable: str, setting: str) -> str:
    """Returns the key in an environment variable.

    Args:
        variable: Name of the variable.
        setting: Name of the setting that names it, for messages.

    Raises:
        UsageError: That is no name of a variable, or it is not set. The message does not repeat what could be a key.
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable):
        raise UsageError(f"{setting} names the environment variable that holds the key; it never holds the key itself")
    key = os.environ.get(variable, "").strip()
    if not key:
        # Lower-case letters may be a key that was put in the wrong place.
        shown = variable if variable == variable.upper() else "the variable it names"
        raise UsageError(
            f"{setting}: {shown} is not set; export it, or name another variable (any text does where no key is needed)"
        )
    return key


def scrub(text: str, key: str) -> str:
    """Returns the text without the key and without longer pieces of it.

    Args:
        text: Anything, for example what an endpoint answered.
        key: The key; an empty one leaves the text as it is.
    """
    size = min(len(key), FRAGMENT)
    if not size:
        return text
    pieces = {key[start : start + size] for start in range(len(key) - size + 1)}
    hidden = [False] * len(text)
    for start in range(len(text) - size + 1):
        if text[start : start + size] in pieces:
            hidden[start : start + size] = [True] * size
    runs = groupby(zip(hidden, text, strict=True), key=lambda pair: pair[0])
    return "".join(HIDDEN if is_key else "".join(letter for _, letter in run) for is_key, run in runs)
