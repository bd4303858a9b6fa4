"""Knowing how long calls to the X server have been going on.

A program on the display can keep the server from answering anybody else, and a call that waits for the server cannot
be given up. So calls are timed, and somebody else looks at the time.
"""

from __future__ import annotations

import threading
import time


class Watch:
    """Times the calls of one display: ``with watch:`` around each, in any thread, one inside another if need be."""

    def __init__(self) -> None:
        self._began: dict[int, float] = {}
        self._depths = threading.local()

    def __enter__(self) -> None:
        depth = getattr(self._depths, "depth", 0)
        self._depths.depth = depth + 1
        if depth == 0:
            self._began[threading.get_ident()] = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._depths.depth -= 1
        if self._depths.depth == 0:
            del self._began[threading.get_ident()]

    def longest(self) -> float:
        """Seconds for which the oldest call that has not returned has been going on; 0 when there is none."""
        # A copy in one step: other threads go on meanwhile.
        began = list(self._began.values())
        return time.monotonic() - min(began) if began else 0.0
