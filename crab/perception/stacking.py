"""Which of two windows lies on top, told from the screenshot: the accessibility tree does not say.

The upper window's border runs unbroken across the lower one, whose own border stops where the upper one begins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crab.observation import Bounds
from crab.perception.transform import clipped

STEP = 6
"""Grey levels by which a border differs from what is beside it, at least."""

_VISIBLE = 0.5
_SLACK = 2

Plane = np.ndarray[Any, np.dtype[np.int16]]


def is_above(one: Bounds, two: Bounds, grey: Plane) -> bool:
    """Returns whether the first window lies on the second, where they overlap; False where they do not.

    Args:
        one: A window.
        two: Another.
        grey: The screenshot's brightness, from 0 to 255, height × width.
    """
    if clipped(one, two) is None:
        return False
    own, other = _border_share(one, two, grey), _border_share(two, one, grey)
    if own is None and other is None:
        return False
    if own is None:
        return other is not None and other < _VISIBLE
    return own >= _VISIBLE if other is None else own > other


def _border_share(window: Bounds, ground: Bounds, grey: Plane) -> float | None:
    """Returns the share of a window's border within another one's area that is to be seen; None without any there."""
    right, bottom = window.x + window.width - 1, window.y + window.height - 1
    inner = Bounds(ground.x + 3, ground.y + 3, max(1, ground.width - 6), max(1, ground.height - 6))
    seen, total = 0, 0
    for lines, line in ((grey.T, Bounds(x, window.y, 1, window.height)) for x in (window.x, right)):
        seen, total = _add(seen, total, lines, clipped(line, inner), upright=True)
    for lines, line in ((grey, Bounds(window.x, y, window.width, 1)) for y in (window.y, bottom)):
        seen, total = _add(seen, total, lines, clipped(line, inner), upright=False)
    return seen / total if total else None


def _add(seen: int, total: int, lines: Plane, line: Bounds | None, *, upright: bool) -> tuple[int, int]:
    if line is None:
        return seen, total
    place, start, length = (line.x, line.y, line.height) if upright else (line.y, line.x, line.width)
    strip = lines[max(0, place - _SLACK) : place + _SLACK + 1, start : start + length]
    if strip.shape[0] < 2 or strip.shape[1] == 0:
        return seen, total
    steps = np.abs(np.diff(strip, axis=0)).max(axis=0)
    return seen + int(np.count_nonzero(steps >= STEP)), total + strip.shape[1]
