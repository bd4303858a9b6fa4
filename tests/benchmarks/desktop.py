"""Budgets of the embedded desktop: getting it ready, getting it back, and looking at it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

from crab.environment import Environment
from environments.ubuntu import UBUNTU
from tests.benchmarks.budget import Budget, median_wall

START_TIME = "2030-01-07T09:00:00Z"


@contextmanager
def desktop() -> Iterator[Environment]:
    """A started desktop, not yet reset; it is closed afterwards."""
    environment = UBUNTU.provider("embedded").start({})
    try:
        yield environment
    finally:
        environment.close()


def ready() -> float:
    """The median wall seconds from nothing to the first screenshot, closing included."""

    def start() -> None:
        with desktop() as environment:
            environment.reset(0, START_TIME)
            environment.observe()

    return median_wall(start, calls=3)


def reset() -> float:
    """The median wall seconds of a reset, to the first screenshot after it."""
    with desktop() as environment:

        def again() -> None:
            environment.reset(0, START_TIME)
            environment.observe()

        return median_wall(again, calls=5)


def screenshot() -> float:
    """The median wall milliseconds of a screenshot of a changed screen: captured, encoded and delivered."""
    figures = []
    with desktop() as environment:
        environment.reset(0, START_TIME)
        for place in range(30):
            # The pointer is in the picture, so no screenshot equals the one before.
            environment.act("move", {"x": 100 + 20 * place, "y": 300})
            start = time.perf_counter()
            environment.observe()
            figures.append(time.perf_counter() - start)
    return 1e3 * statistics.median(figures)


BUDGETS = (
    Budget("desktop ready", 2.0, "s median", ready),
    Budget("desktop reset", 2.0, "s median", reset),
    Budget("desktop screenshot, 1280 x 720", 40.0, "ms median", screenshot),
)
