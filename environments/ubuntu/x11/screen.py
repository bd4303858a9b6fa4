"""The pixels of a display: grabbing, encoding, and telling when they stand still."""

from __future__ import annotations

import io
import threading
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crab.errors import EnvironmentFailure
from environments.ubuntu.x11.connection import PERSISTENCE, cookie, exists
from environments.ubuntu.x11.watch import Watch

MEDIA_TYPE = "image/png"
"""What `Picture.png` encodes to."""

STILL_SECONDS = 0.1
"""A screen counts as settled when its checksum has stayed the same for so long."""

SETTLE_CAP_SECONDS = 2.0
"""A screen that never stands still is waited for no longer than this."""

_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Picture:
    """One grabbed screen, the pointer drawn in where its picture can be read.

    Attributes:
        pixels: Rows from the top, four bytes a pixel: blue, green, red, unused.
        width: Pixels.
        height: Pixels.
    """

    pixels: bytes | bytearray = field(repr=False)
    width: int
    height: int

    @property
    def checksum(self) -> int:
        """CRC-32 of the pixels."""
        return zlib.crc32(self.pixels)

    def png(self) -> bytes:
        """Returns the picture as PNG at compression level 1: lossless, read by everyone, quick to make."""
        from PIL import Image

        image = Image.frombuffer("RGB", (self.width, self.height), self.pixels, "raw", "BGRX", 0, 1)
        encoded = io.BytesIO()
        image.save(encoded, "PNG", compress_level=1)
        return encoded.getvalue()


@dataclass(frozen=True)
class Stillness:
    """How waiting for a still screen went.

    Attributes:
        settled: Whether the screen stood still in time.
        seconds: How long it was waited for.
    """

    settled: bool
    seconds: float


class Screen:
    """Grabs the screen through one handle that is kept open.

    Args:
        name: The display, such as ``":1"``.
        xauthority: Its cookie file.
        size: Width and height in pixels.
        watch: Times every call.
    """

    def __init__(self, name: str, xauthority: Path, size: tuple[int, int], watch: Watch | None = None) -> None:
        self._name = name
        self._xauthority = xauthority
        self._size = size
        self._watch = watch or Watch()
        self._handle: Any = None
        self._shown: Any = None
        self._lock = threading.Lock()

    def grab(self) -> Picture:
        """Returns the screen as it is now.

        Raises:
            EnvironmentFailure: The display is gone.
        """
        deadline = time.monotonic() + PERSISTENCE
        with self._lock, self._watch:
            while True:
                try:
                    return self._grab()
                except _lost_errors():
                    # A program on the display may have cut the connection.
                    self._forget()
                try:
                    # The pointer's picture cannot be read once the program that made it is dead.
                    return self._grab(pointer=False)
                except _lost_errors() as trouble:
                    if time.monotonic() > deadline or not exists(self._name):
                        raise EnvironmentFailure(
                            f"cannot grab the screen of X display {self._name}: {trouble}"
                        ) from trouble
                finally:
                    self._forget()
                time.sleep(_POLL_SECONDS)

    def settle(self, still: float = STILL_SECONDS, cap: float = SETTLE_CAP_SECONDS) -> Stillness:
        """Waits until the screen has stood still.

        Args:
            still: Seconds during which the checksum has to stay the same.
            cap: Seconds after which waiting ends in any case.

        Raises:
            EnvironmentFailure: The display is gone.
        """
        began = time.monotonic()
        last, since = self.grab().checksum, began
        while True:
            now = time.monotonic()
            if now - since >= still:
                return Stillness(settled=True, seconds=now - began)
            if now - began >= cap:
                return Stillness(settled=False, seconds=now - began)
            time.sleep(_POLL_SECONDS)
            checksum = self.grab().checksum
            if checksum != last:
                last, since = checksum, time.monotonic()

    def close(self) -> None:
        """Closes the handle; may be called twice."""
        with self._lock:
            self._forget()

    def _grab(self, *, pointer: bool = True) -> Picture:
        if self._handle is None:
            import mss

            with cookie(self._xauthority):
                self._handle = mss.MSS(display=self._name, with_cursor=pointer)
            self._shown = self._handle.monitors[0]
        # A program on the display may have made the screen smaller, but not larger.
        width, height = (min(a, self._shown[b]) for a, b in zip(self._size, ("width", "height"), strict=True))
        shot = self._handle.grab({"left": 0, "top": 0, "width": width, "height": height})
        if (width, height) == self._size:
            return Picture(shot.raw, width, height)
        # The handle keeps the size it found.
        self._forget()
        return Picture(_padded(bytes(shot.raw), (width, height), self._size), *self._size)

    def _forget(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            with suppress(*_lost_errors()):
                handle.close()


def _padded(pixels: bytes, size: tuple[int, int], wanted: tuple[int, int]) -> bytes:
    """Returns a picture of the wanted size: that of the smaller size in the upper left corner, the rest black."""
    row = 4 * size[0]
    right = bytes(4 * (wanted[0] - size[0]))
    rows = [pixels[begin : begin + row] + right for begin in range(0, row * size[1], row)]
    return b"".join([*rows, bytes(4 * wanted[0] * (wanted[1] - size[1]))])


def _lost_errors() -> tuple[type[BaseException], ...]:
    """Returns what mss raises once its connection is gone: it asserts that replies are there."""
    from mss.exception import ScreenShotError

    return (ScreenShotError, AssertionError, OSError)
