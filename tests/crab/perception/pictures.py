"""Pictures for tests, drawn from seeds: something like photographs, what people do to them, and screens around them."""

from __future__ import annotations

import io
import random

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

SCREEN = (1280, 720)


def photograph(seed: int, size: tuple[int, int] = (360, 240), *, eye: int = 0) -> Image.Image:
    """A landscape with texture, hills and things in it; another `eye` sees the same scene from beside it."""
    draws = random.Random(seed)
    width, height = size
    image = Image.fromarray(_texture(seed, width + 12, height, draws)[:, 6 * eye : 6 * eye + width])
    draw = ImageDraw.Draw(image)
    for depth in range(1, 4):
        shift = eye * (6 + 10 * depth)
        base, color = height * (0.35 + 0.15 * depth), _color(draws)
        wave = [draws.uniform(0, 6.28), draws.uniform(0.01, 0.03), draws.uniform(10, 40)]
        line = [(x, base + wave[2] * np.sin(wave[0] + wave[1] * (x + shift))) for x in range(-20, width + 21, 10)]
        draw.polygon([(-20, height), *line, (width + 20, height)], fill=color)
        for _ in range(9):
            x, y, side = draws.randrange(width) - shift, int(base) + draws.randrange(60), draws.randrange(8, 40)
            shape = draws.choice((draw.rectangle, draw.ellipse))
            shape((x, y, x + side, y + draws.randrange(6, 40)), fill=_color(draws), outline=_color(draws))
    noise = np.random.default_rng(seed).normal(0, 6, (height, width, 1))
    grained = np.clip(np.asarray(image, dtype=float) + noise, 0, 255).astype(np.uint8)
    return Image.fromarray(grained).filter(ImageFilter.GaussianBlur(0.6))


def encoded(image: Image.Image, form: str = "PNG", quality: int = 75) -> bytes:
    """The bytes of a file."""
    buffer = io.BytesIO()
    image.save(buffer, form, **({"compress_level": 1} if form == "PNG" else {"quality": quality}))
    return buffer.getvalue()


def resized(image: Image.Image, scale: float) -> Image.Image:
    """The picture in another size."""
    return image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.LANCZOS)


def joined(one: Image.Image, two: Image.Image, *, across: bool = True, middle: bool = False) -> Image.Image:
    """Two pictures edge to edge; the smaller one at the beginning of the edge, or in its middle."""
    size = (
        (one.width + two.width, max(one.height, two.height))
        if across
        else (max(one.width, two.width), one.height + two.height)
    )
    whole = Image.new("RGB", size, "white")
    free = (size[1] - two.height if across else size[0] - two.width) // 2 if middle else 0
    whole.paste(one, (0, 0))
    whole.paste(two, (one.width, free) if across else (free, one.height))
    return whole


def brightened(image: Image.Image, amount: int) -> Image.Image:
    """The picture with that much added to each value."""
    return Image.fromarray(np.clip(np.asarray(image, dtype=int) + amount, 0, 255).astype(np.uint8))


def screen_with(picture: Image.Image | None, place: tuple[int, int, int, int], seed: int = 0) -> Image.Image:
    """A screen with a wallpaper, and a window at a place (x, y, width, height) that shows a picture in its middle."""
    screen = photograph(1000 + seed, SCREEN)
    x, y, width, height = place
    draw = ImageDraw.Draw(screen)
    draw.rectangle((x, y, x + width, y + height), fill="#e8e8ec", outline="#9a9aa2")
    draw.text((x + 8, y + 8), "Viewer", fill="#333333")
    if picture is not None:
        shown = picture.copy()
        shown.thumbnail((width - 20, height - 50))
        screen.paste(shown, (x + (width - shown.width) // 2, y + 40 + (height - 50 - shown.height) // 2))
    return screen


def _texture(seed: int, width: int, height: int, draws: random.Random) -> np.ndarray:
    generator = np.random.default_rng(seed + 10_000)
    total = np.zeros((height, width, 3))
    for cells in (3, 7, 20):
        small = Image.fromarray(generator.integers(0, 256, (cells, cells, 3), dtype=np.uint8))
        total += np.asarray(small.resize((width, height), Image.Resampling.BICUBIC), dtype=float) / cells
    tint = np.array(_color(draws), dtype=float)
    return np.clip(total * 1.1 + 0.4 * tint, 0, 255).astype(np.uint8)


def _color(draws: random.Random) -> tuple[int, int, int]:
    return draws.randrange(256), draws.randrange(256), draws.randrange(256)
