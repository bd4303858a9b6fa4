"""A model that reads pixels solves tasks through the single agent, and only by looking."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crab.record.schema import Reason
from crab.testing.chat_server import images_of
from crab.testing.toy_reader import read
from tests.agents.single.stage import Glasses, Look, blank, play_seed, shuffled, single, toy
from tests.crab.run.toy_stage import Played
from tests.toy_project import NOTE_THEN_MESSAGE, WRITE_NOTE

SEND_MESSAGE = {
    **WRITE_NOTE,
    "id": "send-message",
    "description": 'Send the message "Zug um 9" to 5550111 from the phone.',
    "environments": {"phone": "toy_phone"},
    "subtasks": [{"id": "send", "template": "send_message@1", "parameters": {"number": "5550111", "text": "Zug um 9"}}],
}
DOCUMENTS = (WRITE_NOTE, SEND_MESSAGE, NOTE_THEN_MESSAGE)
SEEDS = (1, 2, 3)


def clicked(played: Played) -> list[tuple[int, int]]:
    """The points that were clicked or tapped."""
    return [
        (event["arguments"]["x"], event["arguments"]["y"]) for event in played.of("action") if "x" in event["arguments"]
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document["id"])
def test_looking_solves_tasks_wherever_things_lie(tmp_path: Path, document: dict[str, object]) -> None:
    """On one device and across two, for several seeds, with other points for each."""
    points = []
    for seed in SEEDS:
        with single(read) as (agent, _):
            played = play_seed(tmp_path / str(seed), toy(document), agent, seed)
        assert (played.ending.reason, played.result.completion_ratio) == (Reason.SUCCESS, 1.0)
        assert played.result.invalid_calls == 0
        points.append(tuple(clicked(played)))

    assert len(set(points)) == len(SEEDS), "the same points fit all seeds"


@pytest.mark.parametrize("look", [blank, shuffled], ids=lambda look: look.__name__)
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document["id"])
def test_without_the_picture_nothing_is_solved(tmp_path: Path, document: dict[str, object], look: Look) -> None:
    """The answers come from the pixels: with blank or shuffled pictures the score stays below 1."""
    for seed in SEEDS[:2]:
        with single(read) as (agent, _):
            played = play_seed(tmp_path / str(seed), toy(document), Glasses(agent, look), seed, actions=12)
        assert played.ending.valid
        assert played.result.completion_ratio < 1


def test_tokens_reach_the_result(tmp_path: Path) -> None:
    """What the endpoint counts is in the record, and makes EE and CE."""
    with single(read) as (agent, server):
        played = play_seed(tmp_path, toy(WRITE_NOTE), agent, 1)

    result = played.result
    assert (result.actions, result.model_calls, result.tokens) == (6, 6, 660)
    assert result.execution_efficiency == pytest.approx(1 / 6)
    assert result.cost_efficiency == pytest.approx(1 / 660)
    assert played.of("decision")[0]["usage"] == {
        "input": 60,
        "cache_read": 40,
        "cache_write": 0,
        "output": 10,
        "reasoning": 4,
        "cost": None,
        "model_calls": 1,
    }
    assert len(server.requests) == 6


def test_the_model_is_shown_the_devices_own_bytes(tmp_path: Path) -> None:
    """Pictures reach the wire unchanged, under their own media type, and are those the record keeps."""
    with single(read) as (agent, server):
        played = play_seed(tmp_path, toy(NOTE_THEN_MESSAGE), agent, 1)

    shots = {path.read_bytes() for path in (tmp_path / "shots").iterdir()}
    urls = [
        part["image_url"]["url"][:22]
        for part in json.loads(server.requests[-1])["messages"][-1]["content"]
        if part["type"] == "image_url"
    ]
    assert played.ending.reason is Reason.SUCCESS
    assert all(data in shots for data in images_of(server.requests[-1]))
    assert urls == ["data:image/png;base64,"] * 2
