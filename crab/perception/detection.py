"""Marks from a screenshot alone: pieces of text, frames around things, and icons; no weights, tens of milliseconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from crab.observation import Bounds
from crab.perception.comparing import Pixels, opencv
from crab.perception.marks import Mark, area, holds, overlap, reading_order, tidied
from crab.perception.text import Line
from crab.perception.transform import clipped

SPLIT_GAP = 0.5
"""Gap without ink, in heights of the line, at which a piece of text is two: recognition takes a menu bar for one."""

FRAME_FILL = 0.75
"""Least share of its bounding box that a contour covers to be a frame."""

FRAME_SIDE, FRAME_HEIGHT, FRAME_WIDTH_SHARE = 12, 90, 0.6
"""Least side and most height of a frame in pixels; most width as a share of the screen."""

ICON_SIDES = (8, 110)
"""Least and most side of an icon in pixels."""

ICON_ASPECT = 4.0
"""Most ratio of an icon's sides."""

_MOST_PIECES = 2
_EDGES = (20, 60)
_LINE_LENGTH = 120
_INK_SPREAD = 24
_WALL_LINES, _WALL_REACH = 3, 2.2

Grey = np.ndarray[Any, np.dtype[np.uint8]]


def marks_from_pixels(picture: Pixels, lines: Sequence[Line]) -> tuple[Mark, ...]:
    """Returns marks of what a screenshot shows, tidied, in reading order.

    Args:
        picture: The whole screen.
        lines: The text on it; without text there are frames and icons only.

    Raises:
        InfrastructureError: OpenCV is not installed.
    """
    height, width = picture.shape[:2]
    edges = _edges(picture)
    texts = [mark for line in lines for mark in _marks_of(line, lines, picture)]
    frames = [Mark("", "frame", "shape", box) for box in _frames(edges, width)]
    icons = [
        Mark("", "icon", "shape", box)
        for box in _icons(edges)
        if not any(_inside(box, text.bounds) >= 0.5 for text in texts)
    ]
    return reading_order(tidied(_framed([*texts, *icons], frames), (width, height)))


def _edges(picture: Pixels) -> Grey:
    """Returns the edges of any colour, closed over small gaps."""
    cv2 = opencv()
    edges = np.zeros(picture.shape[:2], dtype=np.uint8)
    for channel in range(3):
        edges |= cv2.Canny(np.ascontiguousarray(picture[:, :, channel]), *_EDGES)
    return np.asarray(cv2.morphologyEx(edges, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8)))


def _marks_of(line: Line, lines: Sequence[Line], picture: Pixels) -> Iterator[Mark]:
    """Yields a line's pieces, or the line whole within a wall of text, of which words would take all the numbers."""
    reach = _WALL_REACH * line.bounds.height
    near = (
        other
        for other in lines
        if other is not line
        and abs(other.bounds.center[1] - line.bounds.center[1]) <= reach
        and _covered_width(line.bounds, other.bounds) >= 0.5
    )
    if sum(1 for _ in near) >= _WALL_LINES:
        yield Mark(line.text, "text", "text", line.bounds)
    else:
        yield from _pieces(line, picture)


def _covered_width(one: Bounds, two: Bounds) -> float:
    """Returns the share of the first rectangle's width that the second one is above, below or beside."""
    common = min(one.x + one.width, two.x + two.width) - max(one.x, two.x)
    return max(0, common) / one.width


def _pieces(line: Line, picture: Pixels) -> Iterator[Mark]:
    """Yields a line's pieces between wide gaps, each with its share of the text."""
    box = line.bounds
    spans = _spans(picture[box.y : box.y + box.height, box.x : box.x + box.width])
    words = _shared_out(line.text, spans, box.width)
    for (left, right), text in zip(spans, words, strict=True):
        yield Mark(text, "text", "text", Bounds(box.x + left, box.y, right - left, box.height))


def _spans(strip: Pixels) -> list[tuple[int, int]]:
    """Returns from where to where there is ink in a strip, gaps below the limit bridged; at least one span."""
    height, width = strip.shape[:2]
    spread = strip.max(axis=(0, 2)).astype(int) - strip.min(axis=(0, 2)).astype(int)
    columns = np.flatnonzero(spread > _INK_SPREAD)
    if columns.size == 0:
        return [(0, width)]
    breaks = np.flatnonzero(np.diff(columns) > max(4, SPLIT_GAP * height))
    starts = [columns[0], *columns[breaks + 1]]
    ends = [*columns[breaks], columns[-1]]
    return [(max(0, int(start) - 1), min(width, int(end) + 2)) for start, end in zip(starts, ends, strict=True)]


def _shared_out(text: str, spans: Sequence[tuple[int, int]], width: int) -> list[str]:
    """Gives each span the words that fall into it, when the words are spread evenly over the line's letters."""
    words = text.split()
    if len(spans) == 1 or not words:
        return [text] + [""] * (len(spans) - 1)
    if len(words) == len(spans):
        return words
    inked = sum(end - start for start, end in spans)
    letters = sum(len(word) for word in words) + len(words) - len(spans)
    shares: list[list[str]] = [[] for _ in spans]
    index, filled = 0, 0.0
    for position, word in enumerate(words):
        room = (spans[index][1] - spans[index][0]) / inked * max(1, letters)
        full = filled + len(word) / 2 > room and shares[index]
        if index < len(spans) - 1 and (full or len(words) - position <= len(spans) - 1 - index):
            index, filled = index + 1, 0.0
        shares[index].append(word)
        filled += len(word) + 1
    return [" ".join(share) for share in shares]


def _frames(edges: Grey, screen_width: int) -> Iterator[Bounds]:
    cv2 = opencv()
    contours, _ = cv2.findContours(edges, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    for contour in contours:
        box = Bounds(*cv2.boundingRect(contour))
        sized = min(box.width, box.height) >= FRAME_SIDE and box.height <= FRAME_HEIGHT
        sized = sized and box.width <= FRAME_WIDTH_SHARE * screen_width
        if sized and cv2.contourArea(contour) >= FRAME_FILL * area(box):
            yield box


def _icons(edges: Grey) -> Iterator[Bounds]:
    """Yields groups of edges that are about as wide as high, long straight lines left aside."""
    cv2 = opencv()
    straight = np.zeros_like(edges)
    for shape in ((1, _LINE_LENGTH), (_LINE_LENGTH, 1)):
        straight |= cv2.morphologyEx(edges, cv2.MORPH_OPEN, np.ones(shape, np.uint8))
    groups = cv2.dilate(edges & ~straight, np.ones((5, 7), np.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(groups)
    for index in range(1, count):
        x, y, width, height = (int(value) for value in stats[index][:4])
        # What the dilation added is taken away again.
        box = Bounds(x + 3, y + 2, width - 6, height - 4)
        sides = sorted((box.width, box.height))
        if sides[0] >= ICON_SIDES[0] and sides[1] <= ICON_SIDES[1] and sides[1] <= ICON_ASPECT * sides[0]:
            yield box


def _framed(pieces: Sequence[Mark], frames: Sequence[Mark]) -> list[Mark]:
    """Returns pieces and frames, a frame in place of the one or two pieces in it; those around more are left out."""
    left = list(pieces)
    kept: list[Mark] = []
    for frame in sorted(frames, key=lambda mark: (area(mark.bounds), mark.bounds.y, mark.bounds.x)):
        if any(holds(frame.bounds, other.bounds.center) or overlap(frame.bounds, other.bounds) > 0.5 for other in kept):
            continue
        # Letters have frames too: what lies within a text is part of it.
        if any(piece.source == "text" and _inside(frame.bounds, piece.bounds) >= 0.5 for piece in pieces):
            continue
        inside = [piece for piece in left if holds(frame.bounds, piece.bounds.center)]
        if len(inside) > _MOST_PIECES or any(area(piece.bounds) > area(frame.bounds) for piece in inside):
            continue
        label = " ".join(piece.label for piece in reading_order(inside) if piece.label)
        left = [piece for piece in left if not any(piece is other for other in inside)]
        kept.append(replace(frame, label=label))
    return [*left, *kept]


def _inside(box: Bounds, other: Bounds) -> float:
    """Returns the share of a box that lies in another."""
    shared = clipped(box, other)
    return area(shared) / area(box) if shared else 0.0
