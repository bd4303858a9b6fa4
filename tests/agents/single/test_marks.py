"""A model that reads the numbers drawn on pictures solves tasks through them, and only by looking."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agents.single import SingleAgent
from crab.errors import UsageError
from crab.loading import find_project
from crab.observation import ACCESSIBILITY_TRACK
from crab.record.schema import Reason
from crab.run.build import RunOptions, load_tasks, make_spec
from crab.testing.chat_server import Answer, Brain, Called, Script, images_of
from crab.testing.toy_reader import read
from tests.agents.single.stage import Glasses, Look, blank, play_seed, shuffled, single, toy
from tests.agents.single.test_toys import DOCUMENTS, SEEDS
from tests.architecture.tree import ROOT
from tests.crab.run.toy_stage import Played
from tests.toy_project import NOTE_THEN_MESSAGE, WRITE_NOTE

POINTED = ("click", "tap")


def play(
    directory: Path, document: Mapping[str, Any], brain: Brain, seed: int, marks: str, look: Look | None = None
) -> tuple[Played, list[bytes]]:
    """Plays one trial through marks; returns what was played, and what the model was sent."""
    with single(brain, marks=marks) as (agent, server):
        seen = Glasses(agent, look) if look else agent
        played = play_seed(directory, toy(document), seen, seed, actions=15, accessibility=marks != "visual")
    return played, server.requests


def pointed(played: Played) -> list[dict[str, Any]]:
    """The calls that pointed at something, as the record of decisions keeps them."""
    calls = [call for event in played.of("decision") for call in event["calls"]]
    return [call for call in calls if call["name"].rpartition("__")[2] in POINTED]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document["id"])
def test_numbers_solve_tasks_wherever_things_lie(tmp_path: Path, document: Mapping[str, Any]) -> None:
    """For several seeds; the record keeps the number that the model gave and the point it became."""
    points = set()
    for seed in SEEDS:
        played, _ = play(tmp_path / str(seed), document, read, seed, "accessibility")
        assert (played.ending.reason, played.result.completion_ratio) == (Reason.SUCCESS, 1.0), played.of("decision")
        assert played.result.invalid_calls == 0
        assert pointed(played)
        assert all(set(call["asked"]) == {"element"} for call in pointed(played))
        assert all(set(call["arguments"]) == {"x", "y"} for call in pointed(played))
        points.add(tuple((call["arguments"]["x"], call["arguments"]["y"]) for call in pointed(played)))

    assert len(points) == len(SEEDS), "the same points fit all seeds"


@pytest.mark.parametrize("seed", SEEDS)
def test_marks_of_the_screenshot_alone_solve_tasks(tmp_path: Path, seed: int) -> None:
    """Without the accessibility tree: text is recognised, buttons are found."""
    played, _ = play(tmp_path, WRITE_NOTE, read, seed, "visual")

    assert (played.ending.reason, played.result.completion_ratio) == (Reason.SUCCESS, 1.0), played.of("decision")
    assert all(set(call["asked"]) == {"element"} for call in pointed(played))


@pytest.mark.parametrize("look", [blank, shuffled], ids=lambda look: look.__name__)
@pytest.mark.parametrize("marks", ["accessibility", "visual"])
def test_without_the_picture_numbers_solve_nothing(tmp_path: Path, marks: str, look: Look) -> None:
    """Even where the tree puts the same numbers in the same places, and lists them."""
    for seed in SEEDS[:2]:
        played, _ = play(tmp_path / str(seed), WRITE_NOTE, read, seed, marks, look)
        assert played.ending.valid
        assert played.result.completion_ratio < 1


@pytest.mark.parametrize("marks", ["none", "accessibility"])
def test_points_are_taken_with_marks_and_without(tmp_path: Path, marks: str) -> None:
    """Marks are an offer: a point goes to the device as it is, and stands in the record once."""
    played, requests = play(tmp_path, WRITE_NOTE, Script(Answer("", (Called("click", {"x": 3, "y": 4}),))), 1, marks)

    parameters = json.loads(requests[0])["tools"][0]["function"]["parameters"]
    assert ("element" in parameters["properties"], "x" in parameters["required"]) == (marks != "none", marks == "none")
    assert played.of("action")[0]["arguments"] == {"x": 3, "y": 4}
    assert "asked" not in pointed(played)[0]


def test_a_number_of_an_earlier_picture_is_refused_and_told(tmp_path: Path) -> None:
    """It is never resolved to what has another number now; the model reads why, and the trial goes on."""
    first, old = (Answer("", (Called("click", {"element": 1}),)) for _ in range(2))
    played, requests = play(tmp_path, WRITE_NOTE, Script(first, old), 1, "accessibility")

    assert played.result.actions == 1
    assert [event["reason"] for event in played.of("invalid_call")] == ["invalid_arguments"]
    assert "Refused: element 1 is not on the present picture of desktop" in requests[2].decode()


def test_the_model_is_shown_marks_of_each_device_and_the_record_keeps_the_screens(tmp_path: Path) -> None:
    """Marked pictures and a list for each device go to the model, not the tree; the devices' own pictures are kept."""
    played, requests = play(tmp_path, NOTE_THEN_MESSAGE, Script(), 1, "accessibility")

    parts = json.loads(requests[0])["messages"][-1]["content"]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    shots = {path.read_bytes() for path in (played.directory / "shots").iterdir()}
    assert [text.splitlines()[1:] for text in texts if text.startswith("Marks on")] == [
        ["[1|Notepad]"],
        ["[2|Messages]"],
    ]
    assert not any(text.startswith("Elements") for text in texts)
    assert not shots.intersection(images_of(requests[0]))
    assert "Numbers on the present picture" in requests[0].decode()


@pytest.mark.parametrize(
    ("settings", "tracks"),
    [
        ({}, ()),
        ({"marks": "none"}, ()),
        ({"marks": "visual"}, ()),
        ({"marks": "accessibility"}, (ACCESSIBILITY_TRACK,)),
        ({"marks": "merged"}, (ACCESSIBILITY_TRACK,)),
    ],
    ids=str,
)
def test_a_run_switches_on_and_names_the_track_that_marks_need(
    settings: dict[str, str], tracks: tuple[str, ...]
) -> None:
    """Only that agent's trials have it."""
    project = find_project(explicit=ROOT)
    task = load_tasks(project, ["show-a-file-in-a-terminal"])[0]
    options = RunOptions(agent_settings={"single": {"model": "m", **settings}})

    assert make_spec(project, task, "single", 0, options).tracks == tracks
    assert make_spec(project, task, "noop", 0, options).tracks == ()


@pytest.mark.parametrize("marks", ["visual", "merged"])
def test_marks_that_cannot_be_made_name_the_extra(marks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any device is started, in one line; other marks need nothing."""
    monkeypatch.setitem(sys.modules, "rapidocr", None)

    with pytest.raises(UsageError, match=r"need rapidocr; install crab-eval with the extra: vision") as caught:
        SingleAgent(model="m", api_key_env=None, marks=marks)
    SingleAgent(model="m", api_key_env=None, marks="accessibility").close()

    assert "\n" not in str(caught.value)
