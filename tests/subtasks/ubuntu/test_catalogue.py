"""Every template for the desktop is proven on a real one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from agents.random import RandomAgent
from crab.compose.composer import Catalogue, ComposedTask, compose
from crab.compose.document import Review, SubtaskDocument, TaskDocument
from crab.environment import Environment
from crab.record.schema import LimitsSpec, Reason
from crab.task import Subtask
from crab.testing.stage import Stage
from crab.testing.subtask import prove_subtask
from subtasks.ubuntu import SUBTASKS

TEMPLATES = [pytest.param(subtask, id=subtask.id) for subtask in SUBTASKS]
RANDOM_ACTIONS = 50
POOL_SEEDS = range(200)


@pytest.mark.desktop
@pytest.mark.parametrize("subtask", TEMPLATES)
def test_template_is_proven(subtask: Subtask, desktop: Environment, tmp_path: Path) -> None:
    """Fresh 0, oracle 1, each near miss fails where it says, same seed same result, reset 0."""
    proof = prove_subtask(subtask, {"desktop": desktop}, directory=tmp_path)

    assert proof.ok, str(proof)


@pytest.mark.desktop
@pytest.mark.parametrize("seed", range(3))
def test_random_actions_solve_nothing(seed: int, desktop: Environment, tmp_path: Path) -> None:
    """Fifty valid random actions on a desktop with the set-up of all templates complete none of them."""
    limits = LimitsSpec(actions=RANDOM_ACTIONS, seconds=170)
    trial = Stage(everything(seed), {"desktop": desktop}, seed, limits, tmp_path).trial("random", RandomAgent())

    assert trial.result.reason is Reason.STEP_LIMIT, trial.story
    assert trial.result.actions == RANDOM_ACTIONS
    assert not trial.passed & last_checkpoints(seed), trial.story


@pytest.mark.parametrize("subtask", TEMPLATES)
def test_pools_vary_and_fit(subtask: Subtask) -> None:
    """Different seeds draw different values; every one of them gives a graph and a set-up."""
    drawn = [subtask.draw(seed) for seed in POOL_SEEDS]
    for values in drawn:
        subtask.check(values)
        subtask.checkpoints(values)
        subtask.setup(values)

    assert len({str(values) for values in drawn}) > 0.8 * len(drawn)


@pytest.mark.parametrize("subtask", TEMPLATES)
def test_set_up_writes_no_path_twice(subtask: Subtask) -> None:
    """No decoy takes the place of what the task is about, whatever is drawn."""
    for seed in POOL_SEEDS:
        paths = [call.arguments["path"] for call in subtask.setup(subtask.draw(seed))]
        assert len(set(paths)) == len(paths)


def everything(seed: int) -> ComposedTask:
    """A task of all templates side by side."""
    parts = [
        SubtaskDocument(id=subtask.id, template=subtask.reference, parameters=subtask.draw(seed))
        for subtask in SUBTASKS
    ]
    document = TaskDocument(
        schema_version=1,
        id="everything",
        version=1,
        description="Do everything.",
        environments={"desktop": "ubuntu"},
        subtasks=tuple(parts),
        review=Review(author="test"),
    )
    return compose(document, Catalogue(SUBTASKS))


def last_checkpoints(seed: int) -> set[str]:
    """The checkpoints that complete a subtask."""
    return set(everything(seed).task.graph.sinks)


def test_sources_and_targets_of_copies_never_meet() -> None:
    """The folder to be created is neither above nor below the one that set-up fills, so it is really new."""
    copy = next(subtask for subtask in SUBTASKS if subtask.id == "copy_by_extension")
    generator = random.Random(0)
    for _ in range(500):
        values = {parameter.name: parameter.draw(generator) for parameter in copy.parameters}
        source, target = Path(values["source"]), Path(values["target"])
        assert not source.is_relative_to(target)
        assert not target.is_relative_to(source)
