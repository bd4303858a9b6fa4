"""Measures of how alike two pictures are; the pictures are arrays of RGB bytes.

Perceptual hash and structural similarity agree with the well-known implementations, without what those bring along.
"""

from __future__ import annotations

import io
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image

from crab.errors import InfrastructureError
from crab.observation import Bounds

Pixels: TypeAlias = npt.NDArray[np.uint8]
"""Height × width × 3 in RGB."""

Plane: TypeAlias = npt.NDArray[np.float64]
"""Height × width, grey, from 0 to 255."""

MOST_PIXELS = 40_000_000
"""Pictures with more pixels than this are not looked at: a checker must not be drowned."""

COMMON_SIDE = 256
"""Side in pixels to which pictures of any size are scaled to be compared."""

AGREES = 0.8
"""Normalised correlation above which two cells show the same."""

FLAT = 4.0
"""Standard deviation of grey below which a cell has no structure to correlate."""

FLAT_APART = 14.0
"""Grey levels by which the means of two flat cells may differ."""

_HASH_SIDE, _HASH_BITS = 32, 8
_SSIM_WINDOW = 7


def opencv() -> ModuleType:
    """Returns OpenCV.

    Raises:
        InfrastructureError: It is not installed; the message names the extra.
    """
    try:
        import cv2
    except ImportError as error:
        raise InfrastructureError(
            "matching pictures needs opencv-python-headless", fix="install crab-eval with the extra: vision"
        ) from error
    return cv2


def decoded(data: bytes) -> Pixels | None:
    """Returns the picture that some bytes encode, on white where it is transparent; None when they encode none.

    An agent can make such a file, so whatever is wrong with it (empty, cut off, too large, no picture at all) is None.
    """
    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.width * image.height > MOST_PIXELS:
                return None
            image.load()
            if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
                layer = image.convert("RGBA")
                ground = Image.new("RGBA", layer.size, "white")
                ground.alpha_composite(layer)
                return np.asarray(ground.convert("RGB"))
            return np.asarray(image.convert("RGB"))
    except Exception:  # noqa: BLE001  decoders of many formats raise anything over a broken file; it is no picture
        return None


def grey(picture: Pixels) -> Plane:
    """Returns the brightness of each pixel, from 0 to 255."""
    return np.asarray(Image.fromarray(picture).convert("L"), dtype=np.float64)


def scaled(picture: Pixels, width: int, height: int) -> Pixels:
    """Returns a picture in another size, each side at least one pixel."""
    image = Image.fromarray(picture).resize((max(1, width), max(1, height)), Image.Resampling.BICUBIC)
    return np.asarray(image)


def part(picture: Pixels, bounds: Bounds) -> Pixels:
    """Returns the part of a picture in a rectangle, clipped to the picture; it may be empty."""
    top, left = max(0, bounds.y), max(0, bounds.x)
    return picture[top : max(top, bounds.y + bounds.height), left : max(left, bounds.x + bounds.width)]


def hash_distance(one: Pixels, two: Pixels) -> int:
    """Returns how many of the 64 bits of two perceptual hashes differ: 0 for the same picture, about 32 for another."""
    return int(np.count_nonzero(_perceptual_hash(one) != _perceptual_hash(two)))


def structural_similarity(one: Plane, two: Plane) -> float:
    """Returns the mean SSIM of two planes of one size, from -1 to 1; windows of 7×7 pixels."""
    mean_one, mean_two = _windows(one), _windows(two)
    count = _SSIM_WINDOW**2
    sample = count / (count - 1)
    variance_one = sample * (_windows(one * one) - mean_one**2)
    variance_two = sample * (_windows(two * two) - mean_two**2)
    shared = sample * (_windows(one * two) - mean_one * mean_two)
    steady, structure = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    upper = (2 * mean_one * mean_two + steady) * (2 * shared + structure)
    lower = (mean_one**2 + mean_two**2 + steady) * (variance_one + variance_two + structure)
    return float(np.mean(upper / lower))


def colour_difference(one: Pixels, two: Pixels) -> float:
    """Returns the mean difference of two pictures of one size over all pixels and colours, from 0 to 255."""
    return float(np.mean(np.abs(one.astype(np.int16) - two.astype(np.int16))))


def agreeing_share(one: Plane, two: Plane, columns: int, rows: int, *, known: npt.NDArray[Any] | None = None) -> float:
    """Cuts two planes of one size into cells and returns the share of cells that show the same, from 0 to 1.

    Args:
        one: A plane.
        two: Another of the same size.
        columns: Cells across.
        rows: Cells down.
        known: Which pixels count; a cell with less than half of them does not agree.
    """
    agreeing = 0
    for row in range(rows):
        for column in range(columns):
            cell = _cell(one.shape, row, column, rows, columns)
            if known is not None and np.mean(known[cell]) < 0.5:
                continue
            agreeing += _cells_agree(one[cell], two[cell])
    return agreeing / (columns * rows)


def correlation(one: Plane, two: Plane) -> float:
    """Returns the normalised correlation of two planes of one size, from -1 to 1; 0 when either is flat."""
    first, second = one - one.mean(), two - two.mean()
    scale = float(np.sqrt(np.sum(first**2) * np.sum(second**2)))
    return float(np.sum(first * second)) / scale if scale > 0 else 0.0


def _cell(shape: tuple[int, ...], row: int, column: int, rows: int, columns: int) -> tuple[slice, slice]:
    height, width = shape[:2]
    return (
        slice(height * row // rows, height * (row + 1) // rows),
        slice(width * column // columns, width * (column + 1) // columns),
    )


def _cells_agree(one: Plane, two: Plane) -> bool:
    if one.size == 0:
        return False
    flat = one.std() < FLAT, two.std() < FLAT
    if all(flat):
        return bool(abs(one.mean() - two.mean()) <= FLAT_APART)
    return not any(flat) and correlation(one, two) > AGREES


def _perceptual_hash(picture: Pixels) -> npt.NDArray[np.bool_]:
    small = Image.fromarray(picture).convert("L").resize((_HASH_SIDE, _HASH_SIDE), Image.Resampling.LANCZOS)
    steps = np.arange(_HASH_SIDE)
    cosines = 2 * np.cos(np.pi * np.outer(steps[:_HASH_BITS], 2 * steps + 1) / (2 * _HASH_SIDE))
    low = cosines @ np.asarray(small, dtype=np.float64) @ cosines.T
    return np.asarray(low > np.median(low))


def _windows(plane: Plane) -> Plane:
    """Returns the mean of each whole window."""
    sums = np.zeros((plane.shape[0] + 1, plane.shape[1] + 1))
    sums[1:, 1:] = plane.cumsum(axis=0).cumsum(axis=1)
    size = _SSIM_WINDOW
    return np.asarray((sums[size:, size:] - sums[:-size, size:] - sums[size:, :-size] + sums[:-size, :-size]) / size**2)
