"""Trials of a scripted agent on lamps, for tests that need a whole episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crab.agent import Call, Decision, TaskView, Usage
from crab.environment import Environment
from crab.evaluator import Probes, evaluator
from crab.graph import CheckpointGraph
from crab.hosting import HostedEnvironment
from crab.observation import Observations
from crab.record.reader import TrialRecord
from crab.record.schema import AgentSpec, CheckpointSpec, LimitsSpec, Result, TaskSpec, TrialSpec
from crab.record.writer import TrialWriter
from crab.run.episode import Ending, Episode, EpisodeSettings
from crab.task import SetupCall, Task
from tests.crab.lamp import EMBEDDED, LAMP, START, Lamp

Turn = Sequence[Call] | Exception
"""What a scripted agent does in one turn: it makes calls, or breaks."""

TOKENS = 110
"""What every decision of a scripted agent takes."""


@evaluator
def shines(env: Probes, colour: str) -> bool:
    """Whether the lamp has that colour."""
    return bool(env.probe("colour") == colour)


class Scripted:
    """Does what it was told, turn by turn, then says that it is done."""

    name = "scripted"

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = list(turns)
        self.seen: list[Observations] = []
        self.tools: list[str] = []

    def start(self, view: TaskView) -> None:
        self.tools = [tool.name for tool in view.tools]

    def decide(self, observations: Observations) -> Decision:
        self.seen.append(observations)
        turn = self._turns.pop(0) if self._turns else [Call("complete")]
        if isinstance(turn, Exception):
            raise turn
        return Decision(tuple(turn), usage=Usage(input=100, output=10, model_calls=1))

    def close(self) -> None: ...


@dataclass(frozen=True)
class Played:
    """A trial that has ended."""

    ending: Ending
    result: Result
    events: list[dict[str, Any]]
    agent: Scripted

    def of(self, sort: str) -> list[dict[str, Any]]:
        """All events of a sort."""
        return [event for event in self.events if event["event"] == sort]

    @property
    def told(self) -> list[str]:
        """The errors the agent was told of, in order."""
        return [result.error for seen in self.agent.seen for result in seen.results if result.error]


def lamp_task(graph: CheckpointGraph, *roles: str, setup: Sequence[SetupCall] = (), **changes: Any) -> Task:
    """A task on a lamp for each role; one called ``desk`` when none is named."""
    environments = dict.fromkeys(roles or ("desk",), "lamp")
    return Task("light_up", 1, "Light it up.", environments, graph, tuple(setup), **changes)


def lamps(*roles: str) -> dict[str, Environment]:
    """A lamp for each role; one called ``desk`` when none is named."""
    return {role: HostedEnvironment(LAMP, Lamp(), EMBEDDED) for role in roles or ("desk",)}


@dataclass
class Stage:
    """Where trials are played one after another on the same environments, as in a run."""

    directory: Path
    environments: Mapping[str, Environment] = field(default_factory=lamps)
    limits: LimitsSpec = field(default_factory=LimitsSpec)
    watch: Callable[[dict[str, Any]], None] | None = None

    def play(self, task: Task, *turns: Turn) -> Played:
        """Plays one trial and reads its record."""
        agent = Scripted(turns)
        spec = spec_of(task, self.limits)
        with TrialWriter(self.directory, spec, mirror=self.watch) as writer:
            settings = EpisodeSettings(spec.seed, spec.start_time, self.limits)
            ending = Episode(task, agent, self.environments, writer, settings).run()
        record = TrialRecord(self.directory)
        return Played(ending, record.result(), record.events, agent)


def spec_of(task: Task, limits: LimitsSpec) -> TrialSpec:
    """The spec of a trial that is built from objects, without a task document."""
    checkpoints = tuple(
        CheckpointSpec(id=node.id, label=node.label, evaluator=node.evaluator.name, environments=())
        for node in task.graph.checkpoints
    )
    return TrialSpec(
        project="",
        task=TaskSpec(
            id=task.id,
            version=task.version,
            description=task.description,
            family=task.family,
            document={},
            checkpoints=checkpoints,
            edges=task.graph.edges,
        ),
        agent=AgentSpec(id="scripted", reference="scripted"),
        environments={},
        seed=7,
        start_time=START,
        limits=limits,
    )
