"""Every composed task is proven on a real desktop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from crab.compose.composer import ComposedTask
from crab.environment import Environment
from crab.record.schema import LimitsSpec
from crab.testing.stage import Stage
from crab.testing.subtask import doing_nothing_scores_0, oracle_scores_1, prove_task
from tests.composed_tasks.documents import PATHS, composed

TASKS = [composed(path) for path in PATHS]
ALONE = [pytest.param(task, id=task.task.id) for task in TASKS if len(task.instances) == 1]
JOINED = [pytest.param(task, id=task.task.id) for task in TASKS if len(task.instances) > 1]


@pytest.mark.desktop
@pytest.mark.parametrize("task", ALONE)
def test_task_of_one_template_can_be_solved(task: ComposedTask, desktop: Environment, tmp_path: Path) -> None:
    """Doing nothing scores 0 and the oracle 1; the rest is the template's proof, which does not hang on the values."""
    stage = Stage(task, {"desktop": desktop}, 0, LimitsSpec(), tmp_path)

    doing_nothing_scores_0(stage)
    oracle_scores_1(stage)


@pytest.mark.desktop
@pytest.mark.parametrize("task", JOINED)
def test_task_of_several_templates_is_proven(task: ComposedTask, desktop: Environment, tmp_path: Path) -> None:
    """Fresh 0, oracle 1, a wrong last part fails where it says, same seed same result, reset 0."""
    proof = prove_task(with_one_near_miss(task), {"desktop": desktop}, directory=tmp_path)

    assert proof.ok, str(proof)


def with_one_near_miss(task: ComposedTask) -> ComposedTask:
    """The task with the near misses of its last part cut to one; the others stand in the proofs of the templates."""
    *earlier, last = (replace(part, subtask=replace(part.subtask, near_misses=())) for part in task.instances)
    near_misses = task.instances[-1].subtask.near_misses[:1]
    return replace(task, instances=(*earlier, replace(last, subtask=replace(last.subtask, near_misses=near_misses))))
