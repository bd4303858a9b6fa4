"""Reads the numbers drawn on a picture, as a vision model does: which there are, and around what each has its box.

Nothing is known but the pixels and how numbers look. A number that another one hides is not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor

from crab.observation import Bounds
from crab.perception.drawing import PALETTE, draw_marks
from crab.perception.marks import Mark
from crab.perception.transform import ScreenTransform

Pixels = NDArray[np.uint8]

_PAPER = (120, 80)
_SAMPLE = Bounds(40, 30, 40, 20)


def read_marks(picture: Pixels, numbers: Iterable[int]) -> dict[int, Bounds]:
    """Returns the box of each of these numbers that is to be seen, in pixels of the picture.

    Args:
        picture: Height × width × 3, as it is shown to a model.
        numbers: What to look for.
    """
    found = {}
    for number in numbers:
        label = _label(number)
        place = next(_places(picture, label), None)
        if place is not None:
            box = _box(picture, number, Bounds(*place, label.shape[1], label.shape[0]))
            if box is not None:
                found[number] = box
    return found


def _label(number: int) -> Pixels:
    """Returns how a number looks."""
    mark = Mark("", "icon", "shape", _SAMPLE, id=number)
    drawn = draw_marks(Image.new("RGB", _PAPER), [mark], ScreenTransform.fit(_PAPER))
    at = drawn.labels[number]
    return np.asarray(drawn.picture)[at.y : at.y + at.height, at.x : at.x + at.width]


def _places(picture: Pixels, label: Pixels) -> Iterator[tuple[int, int]]:
    """Yields where a picture shows exactly this, from the top."""
    height, width = label.shape[:2]
    inside = picture[: picture.shape[0] - height + 1, : picture.shape[1] - width + 1]
    # Rim and ground of a label rule out nearly all places at once.
    likely = (inside == label[0, 0]).all(axis=2)
    likely[:-1, :-1] &= (inside[1:, 1:] == label[1, 1]).all(axis=2)
    for y, x in np.argwhere(likely):
        if np.array_equal(picture[y : y + height, x : x + width], label):
            yield int(x), int(y)


def _box(picture: Pixels, number: int, label: Bounds) -> Bounds | None:
    """Returns the box that has a number's colour and is nearest to it; others may have the same colour."""
    coloured = (picture == ImageColor.getrgb(PALETTE[number % len(PALETTE)])[:3]).all(axis=2)
    coloured[label.y : label.y + label.height, label.x : label.x + label.width] = False
    rows, columns = np.nonzero(coloured)
    if not rows.size:
        return None
    aside = np.maximum(label.x - columns, columns - (label.x + label.width - 1)).clip(0)
    apart = np.maximum(label.y - rows, rows - (label.y + label.height - 1)).clip(0)
    nearest = int(np.argmin(np.maximum(aside, apart)))
    line = _connected(
        set(zip(columns.tolist(), rows.tolist(), strict=True)), (int(columns[nearest]), int(rows[nearest]))
    )
    left, right = min(x for x, _ in line), max(x for x, _ in line)
    top, bottom = min(y for _, y in line), max(y for _, y in line)
    return Bounds(left, top, right - left + 1, bottom - top + 1)


def _connected(pixels: set[tuple[int, int]], start: tuple[int, int]) -> set[tuple[int, int]]:
    """Returns the pixels that one of them leads to, from neighbour to neighbour."""
    found, pending = {start}, [start]
    while pending:
        x, y = pending.pop()
        around = {(x + right, y + down) for right in (-1, 0, 1) for down in (-1, 0, 1)} & pixels
        pending += around - found
        found |= around
    return found
