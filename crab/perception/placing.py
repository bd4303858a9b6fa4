"""Finds a picture in another in whatever size, and says how much of it is really there.

Matching points alone would take another photograph of the same scene for the picture; so the picture is laid over
what was found, and compared cell by cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crab.perception.comparing import Pixels, agreeing_share, grey, opencv, scaled

SIDES = (1000, 450)
"""Longer sides in pixels at which the picture is looked for: details vanish when it is shown small."""

LEAST_POINTS = 8
"""Matching points that a fit needs."""

CELLS = 10
"""Cells across and down in which the fitted picture is compared."""

CERTAIN = 0.9
"""Share above which no other size is tried."""

_RATIO = 0.75
_MOST_POINTS = 3000
_SMALLEST_FOOTPRINT = 24


@dataclass(frozen=True)
class _Features:
    """Points of a picture that are found again in another, with what is around them."""

    points: np.ndarray[Any, Any]
    descriptors: np.ndarray[Any, Any] | None

    @classmethod
    def of(cls, picture: Pixels) -> _Features:
        plane = np.clip(np.rint(grey(picture)), 0, 255).astype(np.uint8)
        points, descriptors = opencv().SIFT_create(nfeatures=_MOST_POINTS).detectAndCompute(plane, None)
        return cls(np.array([point.pt for point in points], dtype=np.float32).reshape(-1, 2), descriptors)


def shown_share(shot: Pixels, picture: Pixels) -> float:
    """Returns how much of a picture a screenshot shows, from 0 to 1; its size and place are found, turned or not.

    The same input gives the same answer.
    """
    there = _Features.of(shot)
    best = 0.0
    for side in SIDES:
        best = max(best, _share(shot, there, _limited(picture, side)))
        if best >= CERTAIN:
            break
    return best


def _limited(picture: Pixels, side: int) -> Pixels:
    height, width = picture.shape[:2]
    scale = side / max(height, width)
    return picture if scale >= 1 else scaled(picture, round(width * scale), round(height * scale))


def _share(shot: Pixels, there: _Features, picture: Pixels) -> float:
    matrix = _fit(_Features.of(picture), there)
    if matrix is None:
        return 0.0
    cv2 = opencv()
    height, width = picture.shape[:2]
    scale = float(np.hypot(matrix[0, 0], matrix[1, 0]))
    if min(height, width) * scale < _SMALLEST_FOOTPRINT:
        return 0.0
    # Looked at from the picture: each of its pixels fetches what the screenshot shows at its place.
    back = cv2.warpAffine(shot, matrix, (width, height), flags=cv2.WARP_INVERSE_MAP | cv2.INTER_LINEAR)
    inside = cv2.warpAffine(
        np.ones(shot.shape[:2], np.uint8), matrix, (width, height), flags=cv2.WARP_INVERSE_MAP | cv2.INTER_NEAREST
    )
    # A screen shows fewer details than the picture has, so both are compared at the size that is shown.
    smooth = max(1.0, 1 / scale)
    wanted = cv2.GaussianBlur(picture, (0, 0), 0.5 * smooth) if smooth > 1.2 else picture
    return agreeing_share(grey(wanted), grey(back), CELLS, CELLS, known=inside > 0)


def _fit(here: _Features, there: _Features) -> np.ndarray[Any, Any] | None:
    """Returns the matrix (2×3) that takes points of the picture to the screenshot, or None without enough matches."""
    if here.descriptors is None or there.descriptors is None or len(there.points) < 2:
        return None
    cv2 = opencv()
    matches = cv2.BFMatcher(cv2.NORM_L2).knnMatch(here.descriptors, there.descriptors, k=2)
    good = [pair[0] for pair in matches if len(pair) == 2 and pair[0].distance < _RATIO * pair[1].distance]
    if len(good) < LEAST_POINTS:
        return None
    source = here.points[[match.queryIdx for match in good]]
    target = there.points[[match.trainIdx for match in good]]
    cv2.setRNGSeed(0)
    matrix, inliers = cv2.estimateAffinePartial2D(source, target, method=cv2.RANSAC, ransacReprojThreshold=4.0)
    if matrix is None or int(np.sum(inliers)) < LEAST_POINTS:
        return None
    return np.asarray(matrix)
