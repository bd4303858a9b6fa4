"""What evaluators ask about pictures: is it the same, a part, brighter, joined, on the wallpaper, in a window.

Pictures are given as encoded bytes (PNG, JPEG, …), as probes return them. What an agent can make of a file is never
an error: bytes that are no picture make the answer False or None. All thresholds were measured on real screens and
photographs; pairs of different pictures, a stereo pair among them, stay below each by a wide margin.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from crab.observation import Bounds
from crab.perception.comparing import (
    COMMON_SIDE,
    FLAT,
    Pixels,
    Plane,
    agreeing_share,
    colour_difference,
    correlation,
    decoded,
    grey,
    hash_distance,
    opencv,
    part,
    scaled,
    structural_similarity,
)
from crab.perception.placing import shown_share

SAME_HASH = 8
"""Bits of 64 in which the hashes of one picture in two files may differ."""

SAME_STRUCTURE = 0.8
"""Least structural similarity of one picture in two files."""

SAME_COLOUR = 6.0
"""Most mean difference of one picture in two files, of 255."""

CROP_MATCH = 0.92
"""Least match of a part of a picture at its place; recompressed photographs reach it, other pictures do not."""

ICON_MATCH = 0.90
"""Least match of an icon on a screenshot."""

WALLPAPER_SHARE = 0.30
"""Least share of the screen that must show the wallpaper: two windows leave .43 of it, other pictures agree by .14."""

WINDOW_SHARE = 0.70
"""Least share of a picture that must be found in a window; another photograph of the same scene stays below .4."""

STEADY_SHARE = 0.97
"""Least share of values that have not gone the other way when a picture was made brighter or darker."""

SHIFTED_CORRELATION = 0.7
"""Least correlation of a picture with itself made brighter or darker, of which light that clips leaves enough."""

SHIFTED_DEVIATION = 5.0
"""Grey levels by which such a picture may be off the curve that takes old to new brightness, on the average."""

_STEADY_SLACK = 6

Side = Literal["left", "right", "above", "below"]


def same_picture(one: bytes, two: bytes) -> bool:
    """Returns whether two files show the same picture, in whatever size, format and compression.

    A version in other colours, turned, mirrored, cropped, or made clearly brighter is another picture.
    """
    first, second = decoded(one), decoded(two)
    return first is not None and second is not None and _same(first, second)


def crop_place(whole: bytes, cut: bytes) -> Bounds | None:
    """Returns where a picture lies within another, at its own size, or None when it is no crop of it.

    A crop is smaller on one side at least, and larger on none.

    Args:
        whole: The picture it may have been cut from.
        cut: The smaller picture.
    """
    first, second = decoded(whole), decoded(cut)
    if first is None or second is None or first.shape == second.shape:
        return None
    return _place(first, second, CROP_MATCH)


def is_brighter(before: bytes, after: bytes, least: float = 8.0) -> bool:
    """Returns whether a picture is another one made brighter, with nothing else changed.

    Args:
        before: The picture as it was.
        after: As it is now, in the same size.
        least: How much the mean brightness must have grown, of 255.
    """
    return _is_shifted(before, after, least, up=True)


def is_darker(before: bytes, after: bytes, least: float = 8.0) -> bool:
    """Returns whether a picture is another one made darker, with nothing else changed.

    Args:
        before: The picture as it was.
        after: As it is now, in the same size.
        least: How much the mean brightness must have fallen, of 255.
    """
    return _is_shifted(before, after, least, up=False)


def is_joined(first: bytes, second: bytes, whole: bytes, side: Side) -> bool:
    """Returns whether a picture is two others put together at their own size, edge to edge.

    The smaller one may stand anywhere along the edge they share; what is left beside it may be filled with anything.

    Args:
        first: One picture.
        second: The other.
        whole: The picture made of both.
        side: Where the first one stands, seen from the second.
    """
    one, two, both = decoded(first), decoded(second), decoded(whole)
    if one is None or two is None or both is None:
        return False
    if side in ("right", "below"):
        one, two = two, one
    if side in ("above", "below"):
        one, two, both = (np.ascontiguousarray(picture.transpose(1, 0, 2)) for picture in (one, two, both))
    height, width = both.shape[:2]
    seam = one.shape[1]
    if width != seam + two.shape[1] or height != max(one.shape[0], two.shape[0]):
        return False
    return _fills(both[:, :seam], one) and _fills(both[:, seam:], two)


def wallpaper_is(screenshot: bytes, picture: bytes) -> bool:
    """Returns whether a picture is the wallpaper of a screen, stretched, fitted, filling or centred.

    Windows may cover about half of it. A picture larger than the screen that is shown centred is not recognised: read
    the setting instead.

    Args:
        screenshot: The whole screen.
        picture: The picture it may show.
    """
    screen, wanted = decoded(screenshot), decoded(picture)
    if screen is None or wanted is None:
        return False
    shot = grey(screen)
    return any(
        agreeing_share(shot, grey(rendered), 16, 9, known=known) >= WALLPAPER_SHARE
        for rendered, known in _wallpapers(wanted, screen.shape[1], screen.shape[0])
    )


def picture_in_window(screenshot: bytes, window: Bounds, picture: bytes) -> bool:
    """Returns whether a window shows a picture, in whatever size, as a viewer does.

    The window must be in front: raise it first.

    Args:
        screenshot: The whole screen.
        window: Where the window is, in pixels of the screenshot.
        picture: The picture it may show.
    """
    screen, wanted = decoded(screenshot), decoded(picture)
    if screen is None or wanted is None:
        return False
    shot = part(screen, window)
    return shot.size > 0 and shown_share(shot, wanted) >= WINDOW_SHARE


def icon_place(screenshot: bytes, icon: bytes, region: Bounds | None = None) -> Bounds | None:
    """Returns where a screenshot shows an icon at its own size, or None where it does not.

    Args:
        screenshot: The whole screen.
        icon: The icon as the screen draws it, background included.
        region: Where to look; themes use one icon in many places, so name the place if there is one.
    """
    screen, wanted = decoded(screenshot), decoded(icon)
    if screen is None or wanted is None:
        return None
    left, top = (max(0, region.x), max(0, region.y)) if region else (0, 0)
    found = _place(part(screen, region) if region else screen, wanted, ICON_MATCH)
    return Bounds(found.x + left, found.y + top, found.width, found.height) if found else None


def _same(one: Pixels, two: Pixels) -> bool:
    first, second = (scaled(picture, COMMON_SIDE, COMMON_SIDE) for picture in (one, two))
    return (
        hash_distance(one, two) <= SAME_HASH
        and structural_similarity(grey(first), grey(second)) >= SAME_STRUCTURE
        and colour_difference(first, second) <= SAME_COLOUR
    )


def _place(whole: Pixels, cut: Pixels, least: float) -> Bounds | None:
    """Returns the best place of a picture within another at scale 1, if it matches there in structure and colour."""
    height, width = cut.shape[:2]
    if cut.size == 0 or height > whole.shape[0] or width > whole.shape[1]:
        return None
    cv2 = opencv()
    # Structureless pictures correlate with anything or nothing, so those are compared by colour alone.
    structured = grey(cut).std() >= FLAT
    method = cv2.TM_CCOEFF_NORMED if structured else cv2.TM_SQDIFF
    scores = cv2.matchTemplate(np.ascontiguousarray(whole), np.ascontiguousarray(cut), method)
    _, score, lowest, highest = cv2.minMaxLoc(scores)
    x, y = highest if structured else lowest
    if structured and not score >= least:
        return None
    same_colour = colour_difference(whole[y : y + height, x : x + width], cut) <= SAME_COLOUR
    return Bounds(x, y, width, height) if same_colour else None


def _fills(strip: Pixels, picture: Pixels) -> bool:
    """Returns whether a strip shows a picture of its own width somewhere along it."""
    return _place(strip, picture, CROP_MATCH) is not None


def _is_shifted(before: bytes, after: bytes, least: float, *, up: bool) -> bool:
    """Returns whether all of a picture went up or down in brightness by one curve, and nothing the other way."""
    one, two = decoded(before), decoded(after)
    if one is None or two is None or one.shape != two.shape:
        return False
    first, second = (scaled(picture, COMMON_SIDE, COMMON_SIDE) for picture in (one, two))
    old, new = grey(first), grey(second)
    sign = 1 if up else -1
    if sign * float(np.mean(new - old)) < least:
        return False
    gains = sign * (second.astype(np.int16) - first.astype(np.int16))
    steady = float(np.mean(gains >= -_STEADY_SLACK)) >= STEADY_SHARE
    alike = correlation(old, new) >= SHIFTED_CORRELATION or old.std() < FLAT
    return steady and alike and _off_the_curve(old, new) <= SHIFTED_DEVIATION


def _off_the_curve(old: Plane, new: Plane) -> float:
    """Returns the mean distance of new values from the one curve that explains them best by the old ones alone."""
    bins = (old / 8).astype(np.int64)
    distance = np.zeros_like(new)
    for value in np.unique(bins):
        chosen = bins == value
        distance[chosen] = np.abs(new[chosen] - np.median(new[chosen]))
    return float(np.mean(distance))


def _wallpapers(picture: Pixels, width: int, height: int) -> list[tuple[Pixels, np.ndarray]]:
    """Returns a picture as desktops render it to a screen, each with the pixels it covers."""
    own_height, own_width = picture.shape[:2]
    fit = min(width / own_width, height / own_height)
    fill = max(width / own_width, height / own_height)
    sizes = {(width, height)}
    sizes |= {(round(own_width * scale), round(own_height * scale)) for scale in (fit, fill, 1.0)}
    rendered: list[tuple[Pixels, np.ndarray]] = []
    for wide, high in sorted(sizes):
        if wide * high > 4 * width * height + own_width * own_height:
            continue
        image = scaled(picture, wide, high)
        canvas = np.zeros((height, width, 3), dtype=np.uint8)
        known = np.zeros((height, width), dtype=bool)
        x, y = (width - wide) // 2, (height - high) // 2
        shown = image[max(0, -y) : max(0, -y) + height, max(0, -x) : max(0, -x) + width]
        top, left = max(0, y), max(0, x)
        canvas[top : top + shown.shape[0], left : left + shown.shape[1]] = shown
        known[top : top + shown.shape[0], left : left + shown.shape[1]] = True
        rendered.append((canvas, known))
    return rendered
