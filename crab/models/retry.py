"""Asking again: how often, and how long to wait in between."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from crab.errors import ModelError, ModelUnavailable, RateLimited

T = TypeVar("T")

Sleep = Callable[[float], None]
"""Waits so many seconds."""


@dataclass(frozen=True)
class RetryPolicy:
    """When a request that failed is made again.

    The wait doubles from try to try and is drawn from its upper half, so that trials that were turned away together
    do not come back together. An endpoint that says how long to wait is believed, up to `longest`.

    Attributes:
        attempts: Requests in all, at least 1.
        first: Seconds before the second request, at most.
        longest: Seconds of one wait, at most; an endpoint that asks for more is given up.
    """

    attempts: int = 6
    first: float = 1.0
    longest: float = 60.0

    def wait(self, failures: int, asked: float | None, draw: float) -> float | None:
        """Returns the seconds before the next request, or None when there is none.

        Args:
            failures: How many requests failed so far, at least 1.
            asked: Seconds the endpoint asks to wait, if it does.
            draw: A random number in [0, 1).
        """
        if failures >= self.attempts or (asked is not None and asked > self.longest):
            return None
        backoff = min(self.first * 2.0 ** (failures - 1), self.longest) * (0.5 + draw / 2)
        # A little more than asked for, for the same reason.
        return backoff if asked is None else min(asked * (1 + draw / 10), self.longest)


@dataclass
class Retrier:
    """Makes requests under a policy.

    Attributes:
        policy: When to ask again.
        sleep: Waits.
        random: Draws the jitter.
    """

    policy: RetryPolicy
    sleep: Sleep
    random: random.Random = field(default_factory=lambda: random.Random(0))

    def run(self, attempt: Callable[[], T]) -> T:
        """Returns what the first successful attempt returns.

        What interrupts it after a failure, such as the end of a trial's time, gets that failure as its cause.

        Raises:
            RateLimited, ModelUnavailable: The last attempt's, when it was one too many.
            CrabError: Any other, at once.
        """
        trouble: ModelError | None = None
        wait = 0.0
        for failures in count(1):
            try:
                if trouble is not None:
                    self.sleep(wait)
                return attempt()
            except (RateLimited, ModelUnavailable) as error:
                trouble = error
            except (KeyboardInterrupt, Exception):
                raise
            except BaseException as interruption:
                raise interruption from trouble
            asked = self.policy.wait(failures, trouble.retry_after, self.random.random())
            if asked is None:
                raise trouble
            wait = asked
            logging.getLogger(__name__).warning("asking again in %.1f s (%d): %s", wait, failures, trouble)
        raise AssertionError("count() has no end")
