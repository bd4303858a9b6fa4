"""Frames between observations, for agents that are shown motion."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from crab.errors import EnvironmentFailure
from crab.observation import Frame
from environments.ubuntu.x11.screen import MEDIA_TYPE, Picture, Screen

_MOST_FRAMES = 120


class Recorder:
    """Takes frames at a steady rate in the background, once it has been asked to.

    Args:
        screen: What to record.
        clock: Returns seconds since the reset.
    """

    def __init__(self, screen: Screen, clock: Callable[[], float]) -> None:
        self._screen = screen
        self._clock = clock
        self._frames: deque[Frame] = deque(maxlen=_MOST_FRAMES)
        self._last: tuple[int, bytes] | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._rate = 0.0

    def frame(self) -> Frame:
        """Returns a frame of now. One whose pixels equal the last one's is not encoded again."""
        picture, moment = self._screen.grab(), self._clock()
        with self._lock:
            return self._encoded(picture, moment)

    def begin(self) -> None:
        """Forgets the frames so far: an action begins."""
        with self._lock:
            self._frames.clear()

    def taken(self) -> tuple[Frame, ...]:
        """Returns the frames since the last `begin`, oldest first; of many, the latest 120."""
        with self._lock:
            return tuple(self._frames)

    def record(self, rate: float | None) -> None:
        """Records at `rate` frames per second from now on, or stops when it is None."""
        if rate == (self._rate or None):
            return
        self.close()
        if rate:
            self._rate = rate
            self._stop = threading.Event()
            self._thread = threading.Thread(
                target=self._work, args=(1 / rate, self._stop), name="recorder", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Stops recording; may be called twice."""
        thread, self._thread = self._thread, None
        self._rate = 0.0
        self._stop.set()
        if thread is not None:
            thread.join()

    def _work(self, interval: float, stop: threading.Event) -> None:
        due = time.monotonic() + interval
        while not stop.wait(max(0.0, due - time.monotonic())):
            try:
                frame = self.frame()
            except EnvironmentFailure:
                # The display is gone; whoever observes next is told so.
                return
            with self._lock:
                self._frames.append(frame)
            due = max(due + interval, time.monotonic())

    def _encoded(self, picture: Picture, moment: float) -> Frame:
        checksum = picture.checksum
        if self._last is None or self._last[0] != checksum:
            self._last = (checksum, picture.png())
        return Frame(self._last[1], MEDIA_TYPE, picture.width, picture.height, moment)
