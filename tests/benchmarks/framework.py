"""Budgets of the framework alone: starting it, and keeping the books of a trial."""

from __future__ import annotations

import sys
from pathlib import Path

from crab.evaluator import Verdict, evaluator
from crab.graph import CheckpointGraph, chain, checkpoint
from crab.progress import Progress
from tests.benchmarks.budget import Budget, cpu_of, cpu_of_code, cpu_per_call

IMPORT_AND_GRAPH = """
from crab import Environment, action, chain, checkpoint, evaluator

@evaluator
def reached(place: str) -> bool:
    return place == "shore"

assert len(chain(*(checkpoint(place, reached.bind(place=place)) for place in ("hill", "lake", "shore")))) == 3
"""


@evaluator
def reached(place: str) -> bool:
    """Whether the made-up traveller is at ``place``."""
    return place == "shore"


def long_chain(length: int) -> CheckpointGraph:
    """A chain of ``length`` checkpoints."""
    return chain(*(checkpoint(f"place_{number}", reached.bind(place=f"{number}")) for number in range(length)))


def import_and_build() -> float:
    """CPU seconds of importing the facade and building a graph of three checkpoints."""
    return cpu_of_code(IMPORT_AND_GRAPH)


def command_help() -> float:
    """CPU seconds of ``crab --help``."""
    return cpu_of([str(Path(sys.executable).parent / "crab"), "--help"])


def idle_step() -> float:
    """CPU microseconds of one step on a chain of 1,000 checkpoints when nothing passes."""
    progress = Progress(long_chain(1_000))
    no = Verdict(False)
    return 1e6 * cpu_per_call(lambda: progress.advance(lambda _: no, 1), calls=2_000)


def pass_all(graph: CheckpointGraph) -> None:
    """Pass every checkpoint of a chain, one a step, as an agent would."""
    progress = Progress(graph)
    for step in range(len(graph)):
        waiting = progress.active[0]
        progress.advance(lambda node, waiting=waiting: Verdict(node.id == waiting), step)  # type: ignore[misc]
    assert progress.complete


def growth() -> float:
    """How much dearer one pass is on a chain of 4,000 than on one of 1,000."""
    short, long = long_chain(1_000), long_chain(4_000)
    per_pass = [
        cpu_per_call(lambda graph=graph: pass_all(graph), calls=1) / len(graph)  # type: ignore[misc]
        for graph in (short, long)
    ]
    return per_pass[1] / per_pass[0]


BUDGETS = (
    Budget("import crab, build a 3-node graph", 0.3, "s CPU", import_and_build),
    Budget("crab --help", 0.3, "s CPU", command_help),
    Budget("step on a 1,000-checkpoint chain, nothing passes", 50, "µs CPU", idle_step),
    Budget("cost of a pass, chain of 4,000 to chain of 1,000", 1.25, "ratio", growth),
)
