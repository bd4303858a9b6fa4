"""What ends a trial although the agent would go on."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from crab.agent import Usage
from crab.record.schema import LimitsSpec, Reason

AGAIN_SECONDS = 1.0
"""How long an agent that swallowed the interruption has until the next one."""


class TimeUp(BaseException):
    """Raised inside an agent that is still deciding when the trial's time is over.

    No `Exception`, so that an agent which survives its own errors does not survive this one.
    """


class LimitWatch:
    """Counts against the limits of one trial.

    Args:
        limits: Bounds.
    """

    def __init__(self, limits: LimitsSpec) -> None:
        self.limits = limits
        self.actions = 0
        """Executed actions so far, A."""
        self.invalid_in_a_row = 0
        self._tokens = 0
        self._cost = 0.0
        self._ends = time.monotonic() + limits.seconds

    def used(self, usage: Usage) -> None:
        """Adds the usage of one decision."""
        self._tokens += usage.total
        self._cost += usage.cost or 0.0

    def reached(self) -> Reason | None:
        """Returns the first limit that is reached, or None."""
        if self.actions >= self.limits.actions:
            return Reason.STEP_LIMIT
        if time.monotonic() >= self._ends:
            return Reason.TIME_LIMIT
        if self.limits.tokens is not None and self._tokens >= self.limits.tokens:
            return Reason.TOKEN_LIMIT
        if self.limits.cost is not None and self._cost >= self.limits.cost:
            return Reason.COST_LIMIT
        # A limit of 0 is the paper's rule: the first invalid call ends the episode.
        if self.invalid_in_a_row >= max(1, self.limits.invalid_calls):
            return Reason.INVALID_ACTION
        return None

    def interrupting(self) -> AbstractContextManager[None]:
        """Raises `TimeUp` inside the block when the trial's time is over; see `ringing_at`."""
        return ringing_at(self._ends)


@contextmanager
def ringing_at(ends: float) -> Iterator[None]:
    """Raises `TimeUp` inside the block at a moment of the monotonic clock, again and again until the block ends.

    A signal can reach Python code of the main thread only: elsewhere nothing rings, and the driver's own time-out
    covers what hangs.

    Args:
        ends: When to ring, in seconds.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    armed = True

    def ring(number: int, frame: object) -> None:
        if armed:
            raise TimeUp

    began = time.monotonic()
    previous = signal.signal(signal.SIGALRM, ring)
    others = signal.setitimer(signal.ITIMER_REAL, max(0.001, ends - began), AGAIN_SECONDS)
    try:
        try:
            yield
        finally:
            # From here on a late ring is silent, so that the cleaning up below is never left half done.
            armed = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        if others[0] > 0:
            # Whoever runs us had set the one alarm that a process has, for example for a test.
            signal.setitimer(signal.ITIMER_REAL, max(0.001, others[0] - (time.monotonic() - began)), others[1])
