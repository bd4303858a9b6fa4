"""Our own wallpaper, drawn by a formula: flat colours in large areas, so that screenshots compress fast.

``python -m environments.ubuntu.session.wallpaper`` writes the two pictures that the HOME template carries.
"""

from __future__ import annotations

import math
from pathlib import Path

from PIL import Image, ImageDraw

from environments.ubuntu.session.themes import Theme

SIZE = (1280, 800)
_SCALE = 3

# Sky from top to horizon, disc, halo, then ridges from far to near.
_PAINT: dict[Theme, tuple[str, str, str, str, tuple[str, ...]]] = {
    "light": ("#6fb1e0", "#f6e3c5", "#fff6df", "#fbe9c9", ("#a9c4d6", "#7fa9bf", "#568c9f", "#376f7d", "#23535c")),
    "dark": ("#141b38", "#3a3f6b", "#e9e4f5", "#4a4d7d", ("#2b3158", "#232a4c", "#1b2240", "#141a33", "#0d1226")),
}

# Base height and height of the waves, in parts of the picture; then wave lengths and phases in parts of its width.
_RIDGES = (
    (0.56, 0.050, ((0.62, 0.10), (0.23, 0.70), (0.11, 0.35))),
    (0.64, 0.055, ((0.80, 0.45), (0.31, 0.15), (0.13, 0.80))),
    (0.73, 0.050, ((0.95, 0.80), (0.37, 0.55), (0.17, 0.25))),
    (0.82, 0.042, ((1.10, 0.20), (0.45, 0.90), (0.21, 0.60))),
    (0.91, 0.034, ((1.30, 0.65), (0.52, 0.30), (0.27, 0.05))),
)
_BANDS = 28


def draw(theme: Theme, size: tuple[int, int] = SIZE) -> Image.Image:
    """Draw the wallpaper of ``theme``; the same pixels every time.

    Args:
        theme: Light is a morning, dark is a night.
        size: Width and height in pixels.

    Returns:
        An RGB picture.
    """
    top, horizon, disc, halo, ridges = _PAINT[theme]
    width, height = size[0] * _SCALE, size[1] * _SCALE
    picture = Image.new("RGB", (width, height), top)
    canvas = ImageDraw.Draw(picture)
    reach = 0.66
    for band in range(_BANDS):
        share = band / (_BANDS - 1)
        upper = round(height * reach * band / _BANDS)
        canvas.rectangle((0, upper, width, height), fill=_mixed(top, horizon, share**1.4))
    centre, radius = (width * 0.72, height * 0.40), height * 0.075
    for factor, share in ((2.3, 0.22), (1.7, 0.40), (1.3, 0.65)):
        _disc(canvas, centre, radius * factor, _mixed(_mixed(top, horizon, 0.5), halo, share))
    _disc(canvas, centre, radius, disc)
    for (base, swing, waves), colour in zip(_RIDGES, ridges, strict=True):
        outline = [(x, height * (base + swing * _wave(x / width, waves))) for x in range(0, width + 1, 4)]
        canvas.polygon([(0, height), *outline, (width, outline[-1][1]), (width, height)], fill=colour)
    return picture.resize(size, Image.Resampling.BOX)


def main(directory: Path) -> None:
    """Write ``wallpaper-light.png`` and ``wallpaper-dark.png`` into ``directory``."""
    for theme in _PAINT:
        draw(theme).save(directory / f"wallpaper-{theme}.png", optimize=True)


def _wave(position: float, waves: tuple[tuple[float, float], ...]) -> float:
    """A value between -1 and 1: longer waves swing wider."""
    total = sum(length for length, _ in waves)
    return sum(length / total * math.sin(2 * math.pi * (position / length + phase)) for length, phase in waves)


def _disc(canvas: ImageDraw.ImageDraw, centre: tuple[float, float], radius: float, colour: str) -> None:
    x, y = centre
    canvas.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)


def _mixed(first: str, second: str, share: float) -> str:
    """The colour at ``share`` (0 to 1) of the way from ``first`` to ``second``."""
    parts = [
        round(int(first[at : at + 2], 16) * (1 - share) + int(second[at : at + 2], 16) * share) for at in (1, 3, 5)
    ]
    return "#" + "".join(f"{part:02x}" for part in parts)


if __name__ == "__main__":
    main(Path(__file__).with_name("template"))
