"""A model that reads pixels solves tasks of the real desktop, through coordinates and through marks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crab.environment import Environment
from crab.record.schema import Reason
from tests.agents.desktop_reader import read
from tests.agents.single.stage import Glasses, blank, play_seed, single
from tests.composed_tasks.documents import PATHS, composed
from tests.subtasks.ubuntu.started import started_desktop

TASKS = {path.stem: path for path in PATHS}

SOLVED = ("show-a-file-in-a-terminal", "copy-the-csv-files", "write-a-note-with-vim", "set-the-wallpaper")


@pytest.fixture(scope="module")
def desktop() -> Iterator[Environment]:
    with started_desktop() as environment:
        yield environment


@pytest.mark.desktop
@pytest.mark.parametrize("name", SOLVED)
def test_looking_solves_tasks_of_the_desktop(name: str, desktop: Environment, tmp_path: Path) -> None:
    """The model opens the application by its icon, clicks into its window, and types."""
    with single(read) as (agent, _):
        played = play_seed(tmp_path, composed(TASKS[name]).task, agent, 2, environments={"desktop": desktop})

    assert (played.ending.reason, played.result.completion_ratio) == (Reason.SUCCESS, 1.0), played.of("decision")
    assert played.of("action", action="click"), "it pointed at something"
    assert not played.of("action", action="open_application")


@pytest.mark.desktop
def test_marks_of_the_screenshot_alone_solve_a_task_of_the_desktop(desktop: Environment, tmp_path: Path) -> None:
    """The model opens the application by the number drawn at its icon."""
    with single(read, marks="visual") as (agent, _):
        task = composed(TASKS[SOLVED[0]]).task
        played = play_seed(tmp_path, task, agent, 2, environments={"desktop": desktop}, seconds=120)

    calls = [call for event in played.of("decision") for call in event["calls"] if call["name"] == "click"]
    assert (played.ending.reason, played.result.completion_ratio) == (Reason.SUCCESS, 1.0), played.of("decision")
    assert set(calls[0]["asked"]) == {"element"}
    assert set(calls[0]["arguments"]) == {"x", "y"}


@pytest.mark.desktop
def test_without_the_picture_the_desktop_stays_as_it_is(desktop: Environment, tmp_path: Path) -> None:
    """Shown blank pictures, the same model gets nowhere."""
    with single(read) as (agent, _):
        task = composed(TASKS[SOLVED[0]]).task
        blinded = Glasses(agent, blank)
        played = play_seed(tmp_path, task, blinded, 2, actions=5, environments={"desktop": desktop})

    assert (played.ending.valid, played.result.completion_ratio) == (True, 0.0)
