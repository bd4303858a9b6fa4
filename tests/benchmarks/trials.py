"""Budgets of a trial: what the framework adds to each action."""

from __future__ import annotations

import tempfile
from pathlib import Path

from crab.agent import Call, Decision, TaskView
from crab.evaluator import Probes, evaluator
from crab.graph import chain, checkpoint
from crab.hosting import HostedEnvironment
from crab.observation import Frame, Observation, ObservationRequest, Observations
from crab.record.schema import AgentSpec, CheckpointSpec, EnvironmentSpec, LimitsSpec, TaskSpec, TrialSpec
from crab.record.writer import TrialWriter
from crab.run.episode import Episode, EpisodeSettings
from crab.task import Task
from crab.testing.toy import TOY_DESKTOP, ToyDesktop
from tests.benchmarks.budget import Budget, cpu_per_call

ACTIONS = 400
START_TIME = "2030-01-07T09:00:00Z"


class StillDesktop(ToyDesktop):
    """A toy desktop that always shows the same picture and so costs nothing to look at."""

    frame = Frame(b"\x89PNG\r\n\x1a\n" + bytes(64), "image/png", 320, 240, 0.0)

    def observe(self, request: ObservationRequest) -> Observation:
        """The same picture."""
        return Observation((self.frame,))


class Clicker:
    """An agent that clicks without thinking until it is stopped."""

    name = "clicker"

    def start(self, view: TaskView) -> None:
        """Needs to know nothing."""

    def decide(self, observations: Observations) -> Decision:
        """Clicks."""
        return Decision((Call("click", {"x": 1, "y": 1}),))

    def close(self) -> None:
        """Holds nothing."""


@evaluator
def noted(env: Probes, name: str) -> bool:
    """Whether a note with that name was saved."""
    return env.probe("note", name=name) is not None


def task() -> Task:
    """A task of three checkpoints that clicking never solves."""
    names = ("hill", "lake", "shore")
    graph = chain(*(checkpoint(name, noted.bind(name=name).on("desktop")) for name in names))
    return Task("benchmark", 1, "Take three notes.", {"desktop": TOY_DESKTOP.kind}, graph)


def spec() -> TrialSpec:
    """What the trial's record begins with."""
    played = task()
    nodes = (
        CheckpointSpec(id=node.id, label=node.label, evaluator=node.evaluator.name, environments=("desktop",))
        for node in played.graph.checkpoints
    )
    resolved = TaskSpec(
        id=played.id,
        version=played.version,
        description=played.description,
        family=played.family,
        document={},
        checkpoints=tuple(nodes),
        edges=played.graph.edges,
    )
    return TrialSpec(
        project="",
        task=resolved,
        agent=AgentSpec(id="clicker", reference="clicker"),
        environments={"desktop": EnvironmentSpec(kind=TOY_DESKTOP.kind, reference=TOY_DESKTOP.kind)},
        seed=0,
        start_time=START_TIME,
        limits=LimitsSpec(actions=ACTIONS),
    )


def play(directory: Path) -> None:
    """One recorded trial of ``ACTIONS`` actions."""
    described = spec()
    environment = HostedEnvironment(TOY_DESKTOP, StillDesktop(), TOY_DESKTOP.provider().describe())
    settings = EpisodeSettings(described.seed, described.start_time, described.limits)
    with TrialWriter(directory, described) as writer:
        ending = Episode(task(), Clicker(), {"desktop": environment}, writer, settings).run()
    assert ending.reason.value == "step_limit", ending


def overhead() -> float:
    """CPU milliseconds of the framework for one action: decide, validate, act, observe, check, record."""
    with tempfile.TemporaryDirectory() as folder:
        return 1e3 * cpu_per_call(lambda: play(Path(folder)), calls=1) / ACTIONS


BUDGETS = (Budget("framework's share of an action", 1.0, "ms CPU", overhead),)
