"""Pictures that set-up puts on the desktop: a sun over bands of land, drawn from a seed, as PNG bytes."""

from __future__ import annotations

import colorsys
import math
import random
import struct
import zlib
from functools import lru_cache

WIDTH, HEIGHT = 192, 120
_RADIUS = 11
_SUN = bytes((255, 250, 224))
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@lru_cache(maxsize=256)
def landscape(seed: str) -> bytes:
    """Returns a picture of `WIDTH` times `HEIGHT` pixels; the same seed gives the same bytes.

    Args:
        seed: Any text; two different ones give two pictures that can be told apart.
    """
    generator = random.Random(f"landscape:{seed}")
    cuts = sorted(generator.sample(range(30, HEIGHT - 10, 8), 4))
    colours = _colours(generator, len(cuts) + 1)
    sun = generator.randrange(2 * _RADIUS, WIDTH - 2 * _RADIUS)
    rows = bytearray()
    for y in range(HEIGHT):
        row = colours[sum(y >= cut for cut in cuts)] * WIDTH
        half = math.isqrt(max(0, _RADIUS**2 - (y - 2 * _RADIUS + 4) ** 2))
        if half and y < cuts[0]:
            row = row[: (sun - half) * 3] + _SUN * 2 * half + row[(sun + half) * 3 :]
        # Each row begins with the number of its filter, here none.
        rows += b"\0" + row
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(bytes(rows))), (b"IEND", b"")
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in chunks)


def _colours(generator: random.Random, count: int) -> list[bytes]:
    """Returns colours from a light sky down to a dark ground, of hues that lie near one another."""
    hue, step = generator.random(), generator.choice((-0.06, -0.04, 0.04, 0.06))
    colours = []
    for index in range(count):
        lightness = 0.84 - 0.6 * index / (count - 1) + generator.uniform(-0.03, 0.03)
        channels = colorsys.hls_to_rgb((hue + step * index) % 1, lightness, generator.uniform(0.35, 0.6))
        colours.append(bytes(round(channel * 255) for channel in channels))
    return colours


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
