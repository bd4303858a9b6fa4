"""What a budget is, and the clocks that benchmarks share."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

TOLERANCE = 1.25
"""A figure over its budget is a miss; one over this multiple of its budget fails the run."""


@dataclass(frozen=True)
class Budget:
    """One promise about cost.

    Attributes:
        name: What is done, in words.
        limit: The most it may cost, in ``unit``.
        unit: Unit of the limit and of the figure: CPU or wall time, or a ratio.
        measure: Does it and returns the cost; raises ``crab.errors.ProviderUnavailable`` where it cannot be done.
    """

    name: str
    limit: float
    unit: str
    measure: Callable[[], float]


def cpu_of(command: Sequence[str], *, repeats: int = 5) -> float:
    """The CPU seconds, user and system, that ``command`` takes: the least of ``repeats`` runs after one to warm up."""
    figures = []
    for _ in range(repeats + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        figures.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(figures[1:])


def cpu_of_code(code: str) -> float:
    """The CPU seconds of a fresh interpreter that runs ``code``."""
    return cpu_of([sys.executable, "-P", "-c", code])


def cpu_per_call(call: Callable[[], object], *, calls: int, repeats: int = 5) -> float:
    """The CPU seconds of this process for one call: the least average of ``repeats`` rounds of ``calls``."""
    figures = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(calls):
            call()
        figures.append((time.process_time() - start) / calls)
    return min(figures)


def median_wall(call: Callable[[], object], *, calls: int) -> float:
    """The median wall seconds of one call, after one to warm up; for what happens in another process."""
    figures = []
    for _ in range(calls + 1):
        start = time.perf_counter()
        call()
        figures.append(time.perf_counter() - start)
    return statistics.median(figures[1:])
