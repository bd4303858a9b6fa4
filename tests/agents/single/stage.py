"""Trials of the single agent on the toys, with its model on this machine."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from agents.single import SingleAgent
from crab.agent import Agent, Decision, TaskView
from crab.compose.composer import Catalogue, compose
from crab.compose.document import TaskDocument
from crab.environment import Environment
from crab.observation import Frame, ObservationRequest, Observations
from crab.record.reader import TrialRecord
from crab.record.schema import LimitsSpec
from crab.record.writer import TrialWriter
from crab.run.episode import Episode, EpisodeSettings
from crab.task import Task
from crab.testing.chat_server import Brain, ChatServer
from crab.testing.toy_subtasks import TOY_SUBTASKS
from tests.crab.run.toy_stage import START, Played, hosted, spec_of

Look = Callable[[bytes], bytes]
"""What becomes of a picture before the agent is given it."""


@contextmanager
def single(brain: Brain, **settings: Any) -> Iterator[tuple[SingleAgent, ChatServer]]:
    """A single agent whose model is this brain; without marks, unless they are set."""
    with ChatServer(brain) as server:
        agent = SingleAgent(**{"model": "m", "base_url": server.url, "api_key_env": None, "marks": "none", **settings})
        try:
            yield agent, server
        finally:
            agent.close()


class Glasses:
    """The single agent, seeing pictures through something."""

    name = "glasses"

    def __init__(self, agent: SingleAgent, look: Look) -> None:
        self._agent = agent
        self._look = look

    def start(self, view: TaskView) -> None:
        self._agent.start(view)

    def decide(self, observations: Observations) -> Decision:
        seen = {
            role: replace(observation, frames=tuple(self._seen(frame) for frame in observation.frames))
            for role, observation in observations.environments.items()
        }
        return self._agent.decide(replace(observations, environments=seen))

    def close(self) -> None:
        self._agent.close()

    def _seen(self, frame: Frame) -> Frame:
        return replace(frame, data=self._look(frame.data))


def blank(data: bytes) -> bytes:
    """The picture without anything on it."""
    return _png(np.full_like(_pixels(data), 244))


def shuffled(data: bytes) -> bytes:
    """The picture with its tiles of 20×20 pixels in another order."""
    pixels = _pixels(data)
    rows, columns = pixels.shape[0] // 20, pixels.shape[1] // 20
    tiles = pixels.reshape(rows, 20, columns, 20, 3).swapaxes(1, 2).reshape(rows * columns, 20, 20, 3)
    tiles = tiles[np.random.default_rng(1).permutation(len(tiles))]
    return _png(tiles.reshape(rows, columns, 20, 20, 3).swapaxes(1, 2).reshape(pixels.shape))


def _pixels(data: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def _png(pixels: np.ndarray[Any, np.dtype[np.uint8]]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def toy(document: Mapping[str, Any]) -> Task:
    """A composed task of the toys."""
    return compose(TaskDocument.model_validate(document), Catalogue(TOY_SUBTASKS)).task


def play_seed(
    directory: Path,
    task: Task,
    agent: Agent,
    seed: int,
    *,
    actions: int = 15,
    seconds: float = 60.0,
    environments: Mapping[str, Environment] | None = None,
    accessibility: bool = False,
) -> Played:
    """Plays one trial with a seed, which decides where things lie on the screens; on the toys where none is given."""
    limits = LimitsSpec(actions=actions, seconds=seconds)
    devices = environments or {role: hosted(kind) for role, kind in task.environments.items()}
    with TrialWriter(directory, spec_of(task, limits)) as writer:
        settings = EpisodeSettings(seed, START, limits, ObservationRequest(accessibility=accessibility))
        ending = Episode(task, agent, devices, writer, settings).run()
    record = TrialRecord(directory)
    return Played(ending, record.result(), record.events, directory)
