"""Where a proof runs its trials: a composed task on started environments, with a directory for the records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from crab.agent import Agent, Call, Decision, TaskView
from crab.compose.composer import ComposedTask
from crab.environment import Environment
from crab.observation import ACCESSIBILITY_TRACK, ObservationRequest, Observations
from crab.record.reader import Event, TrialRecord
from crab.record.schema import AgentSpec, EnvironmentSpec, LimitsSpec, Result, TrialSpec
from crab.record.writer import TrialWriter
from crab.run.build import START_TIME, task_spec
from crab.run.episode import Episode, EpisodeSettings
from crab.run.oracle import OracleAgent
from crab.task import Solve


@dataclass(frozen=True)
class Trial:
    """One trial of a proof: its result and its events."""

    result: Result
    events: list[Event]

    @property
    def passed(self) -> frozenset[str]:
        """Ids of the checkpoints that passed."""
        return frozenset(checkpoint.id for checkpoint in self.result.checkpoints if checkpoint.passed)

    @property
    def story(self) -> str:
        """How it ended, in words."""
        error = f" ({self.result.error})" if self.result.error else ""
        return f"{self.result.reason}, {len(self.passed)} of {len(self.result.checkpoints)} checkpoints{error}"


@dataclass
class Stage:
    """A task with everything its proof needs.

    Attributes:
        composed: The task.
        environments: By role.
        seed: Of every trial.
        limits: Of every trial.
        directory: Where records go.
        oracle: The first trial of the oracle, once there was one.
        latest: The latest trial of all.
    """

    composed: ComposedTask
    environments: Mapping[str, Environment]
    seed: int
    limits: LimitsSpec
    directory: Path
    oracle: Trial | None = field(default=None)
    latest: Trial | None = field(default=None)

    def trial(self, name: str, agent: Agent) -> Trial:
        """Runs one trial of an agent and returns what came of it."""
        spec = TrialSpec(
            project="",
            task=task_spec(self.composed),
            agent=AgentSpec(id=name, reference=f"{type(agent).__module__}:{type(agent).__name__}"),
            environments={
                role: EnvironmentSpec(kind=kind, reference=kind)
                for role, kind in self.composed.task.environments.items()
            },
            seed=self.seed,
            start_time=START_TIME,
            limits=self.limits,
            tracks=(ACCESSIBILITY_TRACK,),
        )
        settings = EpisodeSettings(self.seed, START_TIME, self.limits, ObservationRequest(accessibility=True))
        directory = self.directory / spec.path
        with TrialWriter(directory, spec) as writer:
            try:
                Episode(self.composed.task, agent, self.environments, writer, settings).run()
            finally:
                agent.close()
        record = TrialRecord(directory)
        self.latest = Trial(record.result(), record.events)
        return self.latest

    def solve(self, name: str, mutations: Mapping[str, Solve] | None = None, *, instances: int | None = None) -> Trial:
        """Runs the oracle of the first instances, all by default."""
        part = replace(self.composed, instances=self.composed.instances[:instances])
        return self.trial(name, OracleAgent(part, mutations))


class Idle:
    """Does nothing but say that it is done."""

    name = "idle"

    def start(self, view: TaskView) -> None:
        """Ignores the task."""

    def decide(self, observations: Observations) -> Decision:
        """Ends the task."""
        return Decision((Call("complete"),))

    def close(self) -> None:
        """Holds nothing."""
