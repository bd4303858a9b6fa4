"""Marks: what on a screen can be named and clicked, where it is, and how doubles are told from two things.

The rules and their figures come from measurements on real desktops; see docs/concepts/perception.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from crab.observation import Bounds
from crab.perception.transform import clipped

Source = Literal["accessibility", "text", "shape"]
"""Where a mark comes from: the accessibility tree, or pixels (recognised text, contours)."""

SMALLEST = 8
"""Pixels on a side below which something seen in pixels is noise; accessibility knows better."""

LARGEST_SHARE = 0.6
"""Share of the screen above which a mark is a background, not a thing; fields for text may be larger."""

SAME_OVERLAP = 0.5
"""Intersection over union above which two marks of one source are one thing."""

SAME_OVERLAP_ACROSS = 0.3
"""The same for a mark seen in pixels and one from the accessibility tree."""

CENTERS_APART = 160
"""Marks whose middles are closer than the longer side of the screen by this are one thing."""

MOST_MARKS = 120
"""More numbers than this help nobody."""

TEXT_ROLES = frozenset({"text", "entry", "password text", "terminal", "document text"})
"""Roles of what is typed into."""

_PART_OF = 4
_RIM = 3
_SOURCE_ORDER: dict[Source, int] = {"accessibility": 0, "text": 1, "shape": 2}


@dataclass(frozen=True)
class Mark:
    """Something on the screen that can be named and clicked.

    Attributes:
        label: What it is called; may be empty.
        role: What it is, as in the accessibility tree, or ``text``, ``frame`` and ``icon`` for what is seen in pixels.
        source: Where it comes from.
        bounds: Where it is, in device pixels, on the screen.
        point: Where to click when the middle belongs to something inside it; None is the middle.
        id: Its number, at least 1; 0 until it is shown.
    """

    label: str
    role: str
    source: Source
    bounds: Bounds
    point: tuple[int, int] | None = None
    id: int = 0

    @property
    def click(self) -> tuple[int, int]:
        """Where to click it, in device pixels."""
        return self.point or self.bounds.center


def tidied(marks: Iterable[Mark], screen: tuple[int, int], *, most: int = MOST_MARKS) -> tuple[Mark, ...]:
    """Returns marks clipped to the screen, without noise, backgrounds and doubles, each with its point to click.

    Args:
        marks: From any sources; the order is kept.
        screen: Width and height in pixels.
        most: How many are left at most; those from accessibility, then text, then shapes are kept, each in order.
    """
    whole = Bounds(0, 0, *screen)
    kept: list[Mark] = []
    for mark in marks:
        part = clipped(mark.bounds, whole)
        if part is not None and _is_sized(replace(mark, bounds=part), whole):
            kept.append(replace(mark, bounds=part))
    near = max(screen) / CENTERS_APART
    kept = _without_doubles(kept, near)
    if len(kept) > most:
        first = sorted(range(len(kept)), key=lambda index: _SOURCE_ORDER[kept[index].source])[:most]
        kept = [kept[index] for index in sorted(first)]
    return tuple(replace(mark, point=_free_point(mark, kept)) for mark in kept)


def merged(accessible: Sequence[Mark], visual: Sequence[Mark]) -> tuple[Mark, ...]:
    """Returns the marks of the accessibility tree, and of those seen in pixels the ones it does not know."""
    leaves = [one for one in accessible if not any(two is not one and contains(one, two) for two in accessible)]
    new = (
        mark
        for mark in visual
        if not any(holds(leaf.bounds, mark.bounds.center) for leaf in leaves)
        and not any(overlap(known.bounds, mark.bounds) > SAME_OVERLAP_ACROSS for known in accessible)
    )
    return reading_order([*accessible, *new])


def reading_order(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """Returns marks line by line from the top, each line from the left.

    Marks stand on one line when their middles are within half of the first one's height.
    """
    waiting = sorted(marks, key=lambda mark: (mark.bounds.y + mark.bounds.height / 2, mark.bounds.x))
    ordered: list[Mark] = []
    while waiting:
        middle = waiting[0].bounds.y + waiting[0].bounds.height / 2
        reach = min(waiting[0].bounds.height, 60) / 2
        count = 1
        while count < len(waiting) and waiting[count].bounds.y + waiting[count].bounds.height / 2 <= middle + reach:
            count += 1
        ordered += sorted(waiting[:count], key=lambda mark: (mark.bounds.x, mark.bounds.y))
        waiting = waiting[count:]
    return tuple(ordered)


def overlap(one: Bounds, two: Bounds) -> float:
    """Returns intersection over union of two rectangles, from 0 to 1."""
    shared = clipped(one, two)
    if shared is None:
        return 0.0
    common = area(shared)
    return common / (area(one) + area(two) - common)


def area(bounds: Bounds) -> int:
    """Returns the pixels in a rectangle."""
    return bounds.width * bounds.height


def holds(bounds: Bounds, point: tuple[int, int]) -> bool:
    """Returns whether a point lies in a rectangle."""
    return bounds.x <= point[0] < bounds.x + bounds.width and bounds.y <= point[1] < bounds.y + bounds.height


def contains(outer: Mark, inner: Mark) -> bool:
    """Returns whether a mark's middle lies in a larger mark."""
    return area(outer.bounds) > area(inner.bounds) and holds(outer.bounds, inner.bounds.center)


def _is_sized(mark: Mark, screen: Bounds) -> bool:
    if mark.source != "accessibility" and min(mark.bounds.width, mark.bounds.height) < SMALLEST:
        return False
    return mark.role in TEXT_ROLES or area(mark.bounds) <= LARGEST_SHARE * area(screen)


def _without_doubles(marks: Sequence[Mark], near: float) -> list[Mark]:
    """Keeps of marks that are one thing the one with a label, or else the smaller; it inherits a missing label."""
    order = sorted(range(len(marks)), key=lambda index: (not marks[index].label, area(marks[index].bounds), index))
    kept: dict[int, Mark] = {}
    for index in order:
        mark = marks[index]
        if not any(_is_same(mark, other, near) for other in kept.values()):
            kept[index] = mark
    return [kept[index] for index in sorted(kept)]


def _is_same(one: Mark, two: Mark, near: float) -> bool:
    limit = SAME_OVERLAP if one.source == two.source else SAME_OVERLAP_ACROSS
    if overlap(one.bounds, two.bounds) > limit:
        return True
    if one.source == two.source == "accessibility" and one.label and two.label and _is_part(one.bounds, two.bounds):
        return False
    (x, y), (other_x, other_y) = one.bounds.center, two.bounds.center
    return max(abs(x - other_x), abs(y - other_y)) < near


def _is_part(one: Bounds, two: Bounds) -> bool:
    """Returns whether one is so much smaller than the other that it is a thing within it, such as a row's button."""
    return max(area(one), area(two)) > _PART_OF * min(area(one), area(two))


def _grown(bounds: Bounds) -> Bounds:
    """A click on the rim of something may already belong to it."""
    return Bounds(bounds.x - _RIM, bounds.y - _RIM, bounds.width + 2 * _RIM, bounds.height + 2 * _RIM)


def _free_point(mark: Mark, marks: Sequence[Mark]) -> tuple[int, int] | None:
    """Returns the point nearest to the middle that belongs to nothing inside the mark; None when the middle does."""
    inside = [
        _grown(other.bounds)
        for other in marks
        if other is not mark and area(other.bounds) < area(mark.bounds) and clipped(other.bounds, mark.bounds)
    ]
    box, (middle_x, middle_y) = mark.bounds, mark.bounds.center
    if not any(holds(other, (middle_x, middle_y)) for other in inside):
        return None
    spots = [
        (box.x + box.width * (2 * column + 1) // 34, box.y + box.height * (2 * row + 1) // 18)
        for row in range(9)
        for column in range(17)
    ]
    free = [spot for spot in spots if not any(holds(other, spot) for other in inside)]
    return min(free, key=lambda spot: abs(spot[0] - middle_x) + abs(spot[1] - middle_y)) if free else None
