"""Draws numbered marks on a screenshot: legible on light and dark, and in each other's way as little as possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from crab.observation import Bounds
from crab.perception.marks import Mark, area
from crab.perception.transform import ScreenTransform, clipped

PALETTE = ("#b3121d", "#0b5cad", "#1a6b2b", "#7a1fa2", "#a14a00", "#00636b", "#8a1256", "#43464b")
"""Colours of marks by their number: dark, so that white digits stand out."""

TEXT_SIZE = 13
"""Height of the digits' font in shown pixels."""

_PADDING = (3, 1)
_ROOMY = 24
_INK_STEP = 24
_OVERLAP_WEIGHT, _BOX_WEIGHT, _INK_WEIGHT = 100.0, 0.3, 14.0


@dataclass(frozen=True)
class Drawn:
    """A screenshot with marks on it.

    Attributes:
        picture: As it is shown.
        labels: Where each number stands, in shown pixels, by id.
    """

    picture: Image.Image
    labels: dict[int, Bounds]


def draw_marks(screenshot: Image.Image, marks: Sequence[Mark], transform: ScreenTransform) -> Drawn:
    """Returns the shown part of a screenshot with a box and a number for each mark that is on it.

    The same input gives the same picture. Each number stands at a corner or edge of its box, where it hides no other
    number if that can be helped, and as little as possible of what else is to be seen.

    Args:
        screenshot: The whole screen in device pixels.
        marks: With their ids.
        transform: From the screen to the picture.
    """
    picture = transform.apply(screenshot).convert("RGB")
    shown = [(mark, box) for mark in marks if (box := transform.bounds_to_shown(mark.bounds)) is not None]
    ink = _ink(picture)
    boxes = [box for _, box in shown]
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(TEXT_SIZE)
    labels: dict[int, Bounds] = {}
    for mark, box in sorted(shown, key=lambda pair: -area(pair[1])):
        _draw_box(draw, box, _color(mark), picture.size)
    # Small boxes leave their numbers least choice, so they choose first.
    for mark, box in sorted(shown, key=lambda pair: (area(pair[1]), pair[0].id)):
        size = _label_size(draw, font, mark.id)
        labels[mark.id] = _place(size, box, picture.size, list(labels.values()), boxes, ink)
    for mark, _ in shown:
        _draw_label(draw, labels[mark.id], str(mark.id), _color(mark), font)
    return Drawn(picture, dict(sorted(labels.items())))


def _color(mark: Mark) -> str:
    return PALETTE[mark.id % len(PALETTE)]


def _draw_box(draw: ImageDraw.ImageDraw, box: Bounds, color: str, size: tuple[int, int]) -> None:
    """Draws a coloured line with a light one around it, of which one stands out on any background."""
    left, top = max(0, box.x - 1), max(0, box.y - 1)
    right, bottom = min(size[0] - 1, box.x + box.width), min(size[1] - 1, box.y + box.height)
    draw.rectangle((left, top, right, bottom), outline="#ffffff")
    if right - left > 2 and bottom - top > 2:
        # In small boxes a second line would hide what is in them.
        width = 2 if min(box.width, box.height) >= _ROOMY else 1
        draw.rectangle((left + 1, top + 1, right - 1, bottom - 1), outline=color, width=width)


def _draw_label(
    draw: ImageDraw.ImageDraw,
    box: Bounds,
    text: str,
    color: str,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
) -> None:
    draw.rectangle((box.x, box.y, box.x + box.width - 1, box.y + box.height - 1), fill=color, outline="#ffffff")
    middle = (box.x + box.width / 2, box.y + box.height / 2)
    draw.text(middle, text, fill="#ffffff", font=font, anchor="mm", stroke_width=0.3, stroke_fill="#ffffff")


def _label_size(
    draw: ImageDraw.ImageDraw, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, number: int
) -> tuple[int, int]:
    left, top, right, bottom = draw.textbbox((0, 0), str(number), font=font)
    return round(right - left) + 2 * _PADDING[0] + 1, round(bottom - top) + 2 * _PADDING[1] + 3


def _place(
    size: tuple[int, int],
    box: Bounds,
    screen: tuple[int, int],
    placed: Sequence[Bounds],
    boxes: Sequence[Bounds],
    ink: np.ndarray[Any, np.dtype[np.int64]],
) -> Bounds:
    """Returns the cheapest spot for a label of that size; the first one that costs nothing is taken at once."""
    best, least = Bounds(0, 0, *size), float("inf")
    for spot in _spots(size, box, screen):
        cost = _OVERLAP_WEIGHT * sum(_shared(spot, other) for other in placed)
        if cost < least:
            cost += _BOX_WEIGHT * sum(_shared(spot, other) for other in boxes if other is not box)
            cost += _INK_WEIGHT * _ink_in(ink, spot)
        if cost < least:
            best, least = spot, cost
        if cost == 0:
            break
    return best


def _spots(size: tuple[int, int], box: Bounds, screen: tuple[int, int]) -> Iterator[Bounds]:
    """Yields where a label may stand: around its box, then in its corners; always wholly on the picture."""
    width, height = size
    left, right = box.x, box.x + box.width - width
    top, bottom = box.y, box.y + box.height - height
    above, below = box.y - height, box.y + box.height
    before, after = box.x - width, box.x + box.width
    middle_x, middle_y = (left + right) // 2, (top + bottom) // 2
    corners = [(left, top), (right, top), (left, bottom), (right, bottom)]
    around = [(left, above), (before, top), (before, middle_y), (after, top), (after, middle_y), (right, above)]
    around += [(left, below), (right, below), (middle_x, above), (middle_x, below), (before, above), (after, below)]
    for x, y in around + corners:
        yield Bounds(max(0, min(x, screen[0] - width)), max(0, min(y, screen[1] - height)), width, height)


def _shared(one: Bounds, two: Bounds) -> int:
    shared = clipped(one, two)
    return area(shared) if shared else 0


def _ink(picture: Image.Image) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Returns how many pixels with an edge lie above and left of each pixel, so that any box is counted at once."""
    grey = np.asarray(picture.convert("L"), dtype=np.int16)
    edges = np.zeros(grey.shape, dtype=bool)
    edges[:, 1:] |= np.abs(np.diff(grey, axis=1)) > _INK_STEP
    edges[1:, :] |= np.abs(np.diff(grey, axis=0)) > _INK_STEP
    sums = np.zeros((grey.shape[0] + 1, grey.shape[1] + 1), dtype=np.int64)
    sums[1:, 1:] = edges.cumsum(axis=0).cumsum(axis=1)
    return sums


def _ink_in(ink: np.ndarray[Any, np.dtype[np.int64]], box: Bounds) -> int:
    right, bottom = box.x + box.width, box.y + box.height
    return int(ink[bottom, right] - ink[box.y, right] - ink[bottom, box.x] + ink[box.y, box.x])
