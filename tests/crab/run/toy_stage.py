"""Trials of a scripted agent on the toys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crab.agent import Agent, Call, Decision, TaskView
from crab.environment import Environment, EnvironmentKind, ProviderDescription
from crab.evaluator import Probes, evaluator, submitted
from crab.graph import Checkpoint, CheckpointGraph, chain, checkpoint
from crab.hosting import HostedEnvironment
from crab.observation import Observations
from crab.record.reader import Event, TrialRecord
from crab.record.schema import AgentSpec, CheckpointSpec, EnvironmentSpec, LimitsSpec, Result, TaskSpec, TrialSpec
from crab.record.writer import TrialWriter
from crab.run.episode import Ending, Episode, EpisodeSettings
from crab.task import Task
from crab.testing.toy import TOY_DESKTOP, TOY_PHONE, ToyDesktop, ToyDevice, ToyPhone
from crab.testing.toy_subtasks import application_in_front

START = "2031-05-06T07:08:09Z"
SEED = 7
KINDS: dict[str, tuple[EnvironmentKind, Callable[[], ToyDevice]]] = {
    "toy_desktop": (TOY_DESKTOP, ToyDesktop),
    "toy_phone": (TOY_PHONE, ToyPhone),
}

OPEN = Call("open_application", {"name": "Notepad"})
NOTHING = Call("click", {"x": 0, "y": 0})
COMPLETE = Call("complete")


class Script:
    """An agent that does in each turn what stands in its script, then says that it is done.

    A turn is calls, a decision, an exception to raise, or a function of the observations.
    """

    name = "script"

    def __init__(self, *turns: Any) -> None:
        self.turns = list(turns)
        self.view: TaskView | None = None
        self.seen: list[Observations] = []

    def start(self, view: TaskView) -> None:
        self.view = view

    def decide(self, observations: Observations) -> Any:
        self.seen.append(observations)
        turn = self.turns.pop(0) if self.turns else [COMPLETE]
        if callable(turn):
            turn = turn(observations)
        if isinstance(turn, BaseException):
            raise turn
        return Decision(tuple(turn)) if isinstance(turn, list) else turn

    def close(self) -> None:
        """Holds nothing."""


@dataclass(frozen=True)
class Played:
    """A trial that has ended."""

    ending: Ending
    result: Result
    events: list[Event]
    directory: Path

    def of(self, sort: str, **fields: Any) -> list[Event]:
        """All events of a sort whose fields have these values."""
        return [
            event
            for event in self.events
            if event["event"] == sort and all(event[name] == value for name, value in fields.items())
        ]


def hosted(
    kind: str,
    device: ToyDevice | None = None,
    *,
    time: str = "stepped",
    host: type[HostedEnvironment] = HostedEnvironment,
) -> HostedEnvironment:
    """A toy in this process; `time` may say that its clock is real."""
    declared, make = KINDS[kind]
    about = declared.provider().describe()
    real = ProviderDescription(about.name, about.reset, "real" if time == "real" else "stepped", about.applications)
    return host(declared, device or make(), real)


def toy_task(graph: CheckpointGraph, *roles: str, **changes: Any) -> Task:
    """A task on the toys ``desktop`` and ``phone``; on the desktop alone when none is named."""
    kinds = {role: f"toy_{role}" for role in roles or ("desktop",)}
    return Task("toy-task", 1, "Do something.", kinds, graph, **changes)


def play(
    directory: Path,
    task: Task,
    agent: Agent,
    *,
    environments: Mapping[str, Environment] | None = None,
    limits: LimitsSpec | None = None,
) -> Played:
    """Plays one trial and reads its record."""
    spec = spec_of(task, limits or LimitsSpec())
    found = {role: hosted(kind) for role, kind in task.environments.items()} if environments is None else environments
    with TrialWriter(directory, spec) as writer:
        ending = Episode(task, agent, found, writer, EpisodeSettings(SEED, START, spec.limits)).run()
    record = TrialRecord(directory)
    return Played(ending, record.result(), record.events, directory)


def spec_of(task: Task, limits: LimitsSpec) -> TrialSpec:
    """The spec of a trial that is built from objects, without a task document."""
    return TrialSpec(
        project="",
        task=TaskSpec(
            id=task.id,
            version=task.version,
            description=task.description,
            family=task.family,
            document={},
            checkpoints=tuple(
                CheckpointSpec(
                    id=node.id,
                    label=node.label,
                    evaluator=node.evaluator.name,
                    environments=(),
                    transient=node.transient,
                )
                for node in task.graph.checkpoints
            ),
            edges=task.graph.edges,
        ),
        agent=AgentSpec(id="script", reference="tests:Script"),
        environments={role: EnvironmentSpec(kind=kind, reference=kind) for role, kind in task.environments.items()},
        seed=SEED,
        start_time=START,
        limits=limits,
    )


def opened(id: str = "opened") -> Checkpoint:
    """The notepad is in front."""
    return checkpoint(id, application_in_front.bind(name="Notepad").on("desktop"))


def answered(answer: str = "42") -> Checkpoint:
    """The answer was submitted."""
    return checkpoint("answered", submitted(answer))


def two_steps() -> CheckpointGraph:
    """First the notepad is opened, then the answer is submitted."""
    return chain(opened(), answered())


def answer(text: str = "42") -> Call:
    """The call that submits an answer."""
    return Call("submit", {"answer": text})


def flaky(answers: Sequence[bool | Exception]) -> Checkpoint:
    """A checkpoint that gives these answers one after another, and the last one for ever."""
    left = list(answers)

    @evaluator
    def sometimes(env: Probes) -> bool:
        """Whether it feels like it."""
        now = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(now, Exception):
            raise now
        return now

    return checkpoint("flaky", sometimes.on("desktop"))
