"""From names to objects, and from objects to specs. Pure: no device is started here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from crab.agent import Agent
from crab.compose.composer import Catalogue, ComposedTask, compose
from crab.compose.document import TaskDocument, read_document
from crab.environment import EnvironmentKind
from crab.errors import DefinitionError, LoadingError, UsageError
from crab.loading import Project, find_project
from crab.observation import ACCESSIBILITY_TRACK
from crab.record.schema import (
    AgentSpec,
    CheckpointSpec,
    EnvironmentSpec,
    LimitsSpec,
    TaskSpec,
    TrialSpec,
)
from crab.run.oracle import OracleAgent
from crab.task import Solve, Subtask

ORACLE = "oracle"
"""Id of the built-in agent that carries out the reference solutions."""

HUMAN = "human"
"""Id of the person who plays a task; `crab.run.trial.run_trial` is given the agent that asks this person."""

START_TIME = "2030-01-07T09:00:00Z"
"""What the clocks of devices with a virtual clock show when a trial begins: a Monday morning."""


@dataclass(frozen=True)
class RunOptions:
    """What all trials of a run share.

    Attributes:
        limits: What ends a trial.
        providers: Provider name by role or kind; a kind's default provider where none is named.
        provider_options: Options of the provider, by role or kind.
        tracks: Privileged tracks of all trials; those that an agent needs are added for its own.
        frames_per_second: Frames of the time between two turns; None for the present frame only.
        start_time: ISO 8601 in UTC.
        agent_settings: Keyword arguments of the agent's constructor, by agent id.
    """

    limits: LimitsSpec = field(default_factory=LimitsSpec)
    providers: Mapping[str, str] = field(default_factory=dict)
    provider_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tracks: tuple[str, ...] = ()
    frames_per_second: float | None = None
    start_time: str = START_TIME
    agent_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def load_kind(project: Project, kind: str) -> EnvironmentKind:
    """Returns a kind of environment by id.

    Raises:
        LoadingError: There is none, or the object is something else.
    """
    found = project.load("environments", kind)
    if not isinstance(found, EnvironmentKind):
        raise LoadingError(f"environment {kind!r} is a {type(found).__name__}, not an EnvironmentKind")
    return found


def load_catalogue(project: Project) -> Catalogue:
    """Returns all subtasks the project offers.

    Raises:
        LoadingError: An entry is neither a subtask nor a collection of them.
    """
    subtasks: list[Subtask] = []
    for id in project.entries("subtasks"):
        found = project.load("subtasks", id)
        members = [found] if isinstance(found, Subtask) else list(found) if isinstance(found, Iterable) else []
        if not members or not all(isinstance(member, Subtask) for member in members):
            raise LoadingError(f"subtasks {id!r} must name a Subtask, or a tuple of them")
        subtasks.extend(members)
    return Catalogue(subtasks)


def task_paths(project: Project) -> dict[str, Path]:
    """Returns the file of every task document of the project by task id, sorted by id.

    Raises:
        UsageError: Two files have the same id.
    """
    found: dict[str, Path] = {}
    for directory in project.task_directories():
        for path in sorted(directory.rglob("*.json")):
            if path.stem in found:
                raise UsageError(f"task id {path.stem} is used by {found[path.stem]} and {path}; rename one")
            found[path.stem] = path
    return dict(sorted(found.items()))


def own_task_paths(project: Project) -> dict[str, Path]:
    """Returns what ``all`` stands for: the project's own task documents, or the bundled ones when it has none."""
    paths = task_paths(project)
    homes = [(project.root / name).absolute() for name in project.tasks]
    own = {id: path for id, path in paths.items() if any(path.absolute().is_relative_to(home) for home in homes)}
    return own or paths


def load_tasks(project: Project, names: Sequence[str]) -> list[ComposedTask]:
    """Returns composed tasks by id or file, in the order given; ``all`` stands for `own_task_paths`.

    Raises:
        UsageError: A name is unknown; near ones are suggested.
        DocumentError: A document is not well formed.
        CompositionError: It does not compose.
    """
    catalogue = load_catalogue(project)
    paths = task_paths(project)
    own = own_task_paths(project)
    wanted = dict.fromkeys(path for name in names for path in _paths(name, paths, own))
    if not wanted:
        raise UsageError("no task to run; name task ids, or all")
    return [compose(read_document(path), catalogue) for path in wanted]


def _paths(name: str, paths: Mapping[str, Path], own: Mapping[str, Path]) -> list[Path]:
    if name == "all":
        return list(own.values())
    if name in paths:
        return [paths[name]]
    if name.endswith(".json"):
        return [Path(name)]
    near = difflib.get_close_matches(name, paths, n=1)
    hint = f"did you mean {near[0]}?" if near else "`crab tasks list` shows all"
    raise UsageError(f"no task {name!r}; {hint}")


def agent_ids(project: Project) -> dict[str, str]:
    """Returns every agent the project offers, with its line of help."""
    listed = {id: entry.help for id, entry in project.entries("agents").items()}
    return {**listed, ORACLE: "Carries out each task's reference solution."}


def agent_name(reference: str) -> str:
    """Returns the id under which an agent is recorded: its own, or the object's name for an import string."""
    return reference.rpartition(":")[2] or reference


def agent_tracks(project: Project, agent: str, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the privileged tracks that an agent needs with these settings; see `crab.agent.Agent`.

    Raises:
        LoadingError: There is no such agent.
        DefinitionError: It names a track that does not exist.
    """
    if agent == ORACLE:
        return (ACCESSIBILITY_TRACK,)
    if agent == HUMAN:
        return ()
    tell = getattr(project.load("agents", agent), "tracks", None)
    tracks = tuple(tell(settings)) if callable(tell) else ()
    unknown = [track for track in tracks if track != ACCESSIBILITY_TRACK]
    if unknown:
        raise DefinitionError(f"agent {agent!r} needs the track {unknown[0]!r}; there is: {ACCESSIBILITY_TRACK}")
    return tracks


def make_spec(project: Project, composed: ComposedTask, agent: str, seed: int, options: RunOptions) -> TrialSpec:
    """Resolves one trial so far that a child process can run it and the report can show it.

    Raises:
        UsageError: A needed probe or application role is not offered by the chosen provider, or a name is unknown.
    """
    id = agent_name(agent)
    settings = dict(options.agent_settings.get(id, {}))
    tracks = tuple(dict.fromkeys((*options.tracks, *agent_tracks(project, agent, settings))))
    task = composed.task
    environments = {role: _environment_spec(project, role, kind, options) for role, kind in task.environments.items()}
    for role, needs in task.needs.items():
        kind = load_kind(project, task.environments[role])
        provider = kind.provider(environments[role].provider).describe()
        missing = [f"probe {name!r}" for name in needs.probes if name not in kind.probes]
        missing += [f"application role {name!r}" for name in needs.roles if name not in provider.applications]
        if missing:
            raise UsageError(f"task {task.id} needs {missing[0]} of {role!r}, which {provider.name} does not offer")
    return TrialSpec(
        project=str(project.root),
        task=task_spec(composed),
        agent=AgentSpec(id=id, reference=agent, settings=settings),
        environments=environments,
        seed=seed,
        start_time=options.start_time,
        limits=options.limits,
        tracks=tracks,
        frames_per_second=options.frames_per_second,
    )


def _environment_spec(project: Project, role: str, kind: str, options: RunOptions) -> EnvironmentSpec:
    entries = project.entries("environments")
    provider = options.providers.get(role, options.providers.get(kind))
    settings = options.provider_options.get(role, options.provider_options.get(kind, {}))
    chosen = load_kind(project, kind).provider(provider)
    chosen.check(settings)
    reference = entries[kind].object if kind in entries else kind
    return EnvironmentSpec(kind=kind, reference=reference, provider=chosen.name, options=dict(settings))


def task_spec(composed: ComposedTask) -> TaskSpec:
    """Returns a composed task as a trial's spec holds it."""
    task = composed.task
    return TaskSpec(
        id=task.id,
        version=task.version,
        description=task.description,
        family=task.family,
        tags=task.tags,
        document=composed.document.model_dump(mode="json", by_alias=True),
        checkpoints=tuple(
            CheckpointSpec(
                id=node.id,
                label=node.label,
                evaluator=node.evaluator.name,
                environments=tuple(sorted(node.evaluator.environments)),
                transient=node.transient,
            )
            for node in task.graph.checkpoints
        ),
        edges=task.graph.edges,
    )


def composed_from_spec(spec: TrialSpec) -> tuple[Project, ComposedTask]:
    """Builds the task of a spec again, in the child process.

    Raises:
        LoadingError: The project is gone.
        CompositionError: The templates no longer fit the document.
    """
    project = find_project(explicit=Path(spec.project))
    document = TaskDocument.model_validate(spec.task.document)
    return project, compose(document, load_catalogue(project))


def build_agent(
    project: Project, spec: AgentSpec, composed: ComposedTask, mutations: Mapping[str, Solve] | None = None
) -> Agent:
    """Makes the agent of a trial.

    Args:
        project: Where its reference is looked up.
        spec: Which agent, with which settings.
        composed: The task; only the oracle is given it.
        mutations: Near misses for the oracle, by instance id.

    Raises:
        UsageError: It is the person, whom nobody can make.
        DefinitionError: The object does not keep the agent contract, refuses its settings, or cannot be made.
    """
    if spec.reference == ORACLE:
        return OracleAgent(composed, mutations)
    if spec.reference == HUMAN:
        raise UsageError(f"a person plays one task at a time: crab play {composed.task.id}")
    factory = project.load("agents", spec.reference)
    if not callable(factory):
        raise DefinitionError(f"agent {spec.id!r} is a {type(factory).__name__}, not a class or function")
    try:
        agent = factory(**spec.settings)
    except TypeError as error:
        raise DefinitionError(f"agent {spec.id!r} does not take these settings: {error}") from error
    except Exception as error:
        # A foreign constructor may raise anything, for example because a key is missing: no trial can tell more.
        raise DefinitionError(f"agent {spec.id!r} cannot be made: {type(error).__name__}: {error}") from error
    missing = [verb for verb in ("start", "decide", "close") if not callable(getattr(agent, verb, None))]
    if missing:
        raise DefinitionError(f"agent {spec.id!r} has no {missing[0]}(); see crab.agent.Agent")
    return cast("Agent", agent)
