"""Suites name tasks that exist, and the first one shows enough."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from crab.loading import find_project
from crab.run.build import load_tasks

ROOT = Path(__file__).resolve().parents[2]
SUITES = sorted((ROOT / "benchmark" / "suites").glob("*.toml"))


@pytest.mark.parametrize("suite", SUITES, ids=lambda path: path.stem)
def test_every_named_task_composes(suite: Path) -> None:
    """A suite has a line of help, and its tasks are there."""
    content = tomllib.loads(suite.read_text(encoding="utf-8"))

    assert content["help"].endswith(".")
    assert len(load_tasks(find_project(explicit=ROOT), content["tasks"])) == len(set(content["tasks"]))


def test_the_demonstration_is_worth_its_time() -> None:
    """`make demo` runs at least eight tasks from six templates, three of them of several subtasks."""
    content = tomllib.loads((ROOT / "benchmark/suites/first_light.toml").read_text(encoding="utf-8"))
    tasks = load_tasks(find_project(explicit=ROOT), content["tasks"])

    assert len(tasks) >= 8
    assert len({instance.subtask.reference for task in tasks for instance in task.instances}) >= 6
    assert sum(len(task.instances) > 1 for task in tasks) >= 3
