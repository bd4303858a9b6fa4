"""The one way between a device's pixels and those of the picture an agent is shown: a crop, then a scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PIL import Image

from crab.observation import Bounds


@dataclass(frozen=True)
class ScreenTransform:
    """Maps device pixels to shown pixels and back; pixels are squares, and a pixel stands for its middle.

    There and back from the shown picture is exact as long as that is not enlarged; there and back from the device
    moves a point by less than one shown pixel.

    Attributes:
        crop: The part of the screen that is shown, in device pixels.
        shown: Width and height of the shown picture in pixels, each at least 1.
    """

    crop: Bounds
    shown: tuple[int, int]

    def __post_init__(self) -> None:
        if min(self.crop.width, self.crop.height, *self.shown) < 1:
            raise ValueError(f"a screen transform needs at least one pixel on each side, got {self}")

    @classmethod
    def fit(cls, screen: tuple[int, int], *, longest: int | None = None, crop: Bounds | None = None) -> ScreenTransform:
        """Returns the transform that shows a screen, or a part of it, no larger than a model can read.

        Args:
            screen: Width and height of the device's screen in pixels.
            longest: Most pixels on either side of the shown picture; None never scales. Nothing is enlarged.
            crop: The part to show, clipped to the screen; None shows all.

        Raises:
            ValueError: The crop lies outside the screen.
        """
        whole = Bounds(0, 0, *screen)
        part = whole if crop is None else clipped(crop, whole)
        if part is None:
            raise ValueError(f"{crop} lies outside the screen of {screen[0]}×{screen[1]} pixels")
        larger = max(part.width, part.height)
        if longest is None or larger <= longest:
            return cls(part, (part.width, part.height))
        return cls(part, (max(1, round(part.width * longest / larger)), max(1, round(part.height * longest / larger))))

    @property
    def identical(self) -> bool:
        """Whether shown pixels are device pixels."""
        return (self.crop.x, self.crop.y) == (0, 0) and (self.crop.width, self.crop.height) == self.shown

    def to_device(self, x: float, y: float) -> tuple[int, int]:
        """Returns the device pixel under the middle of a shown pixel; fractions of the shown one count.

        Raises:
            ValueError: The point lies outside the shown picture, or is no number.
        """
        width, height = self.shown
        if not (0 <= x < width and 0 <= y < height):
            raise ValueError(f"({x:g}, {y:g}) lies outside the picture of {width}×{height} pixels")
        return (
            self.crop.x + _rescaled(x, width, self.crop.width),
            self.crop.y + _rescaled(y, height, self.crop.height),
        )

    def to_shown(self, x: int, y: int) -> tuple[int, int] | None:
        """Returns the shown pixel that shows a device pixel, or None when that is cropped away."""
        left, top = x - self.crop.x, y - self.crop.y
        if not (0 <= left < self.crop.width and 0 <= top < self.crop.height):
            return None
        width, height = self.shown
        return _rescaled(left, self.crop.width, width), _rescaled(top, self.crop.height, height)

    def bounds_to_shown(self, bounds: Bounds) -> Bounds | None:
        """Returns where a rectangle of the device is shown, at least one pixel wide and high; None if nowhere."""
        part = clipped(bounds, self.crop)
        if part is None:
            return None
        first = self.to_shown(part.x, part.y)
        last = self.to_shown(part.x + part.width - 1, part.y + part.height - 1)
        if first is None or last is None:
            return None
        return Bounds(*first, last[0] - first[0] + 1, last[1] - first[1] + 1)

    def apply(self, picture: Image.Image) -> Image.Image:
        """Returns the part of a whole screenshot that is shown, in its shown size."""
        crop = self.crop
        part = picture.crop((crop.x, crop.y, crop.x + crop.width, crop.y + crop.height))
        return part if part.size == self.shown else part.resize(self.shown, Image.Resampling.LANCZOS)


def clipped(bounds: Bounds, frame: Bounds) -> Bounds | None:
    """Returns the part of a rectangle that lies in another, or None when there is none."""
    left, top = max(bounds.x, frame.x), max(bounds.y, frame.y)
    right = min(bounds.x + bounds.width, frame.x + frame.width)
    bottom = min(bounds.y + bounds.height, frame.y + frame.height)
    return Bounds(left, top, right - left, bottom - top) if right > left and bottom > top else None


def _rescaled(position: float, size: int, other: int) -> int:
    """Maps the middle of a pixel on an axis of `size` pixels to the pixel it falls into on one of `other` pixels."""
    if isinstance(position, int):
        return (2 * position + 1) * other // (2 * size)
    return min(other - 1, math.floor((position + 0.5) * other / size))
