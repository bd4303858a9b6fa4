"""Pictures that set-up puts on the desktop: landscapes of bands, drawn from a seed, as PNG bytes."""

from __future__ import annotations

import random
import struct
import zlib
from functools import lru_cache

WIDTH, HEIGHT = 192, 120
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@lru_cache(maxsize=256)
def landscape(seed: str) -> bytes:
    """Returns a picture of `WIDTH` times `HEIGHT` pixels; the same seed gives the same bytes.

    Args:
        seed: Any text; two different ones give two pictures that can be told apart.
    """
    generator = random.Random(f"landscape:{seed}")
    cuts = sorted(generator.sample(range(30, HEIGHT - 10, 8), 4))
    colours = [bytes(generator.randrange(40, 236) for _ in range(3)) for _ in range(len(cuts) + 1)]
    sun, sun_colour = generator.randrange(20, WIDTH - 40), bytes(generator.randrange(200, 256) for _ in range(3))
    rows = bytearray()
    for y in range(HEIGHT):
        colour = colours[sum(y >= cut for cut in cuts)]
        row = colour * WIDTH
        if 8 <= y < 26:
            row = row[: sun * 3] + sun_colour * 18 + row[(sun + 18) * 3 :]
        # Each row begins with the number of its filter, here none.
        rows += b"\0" + row
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(bytes(rows))), (b"IEND", b"")
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
