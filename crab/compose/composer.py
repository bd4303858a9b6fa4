"""Composes a task from a document: resolves values, joins graphs, orders set-up."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from crab.compose.document import Link, SubtaskDocument, TaskDocument
from crab.compose.matching import check_link
from crab.errors import CompositionError, DefinitionError
from crab.graph import union
from crab.task import Needs, SetupCall, Subtask, Task


@dataclass(frozen=True)
class Instance:
    """One subtask with its values, as part of a task.

    Attributes:
        id: Its id in the task.
        subtask: The template.
        values: A value for each parameter; links are resolved.
        roles: Task role by template role.
    """

    id: str
    subtask: Subtask
    values: Mapping[str, Any]
    roles: Mapping[str, str]


@dataclass(frozen=True)
class ComposedTask:
    """A task and the instances it was made of.

    Attributes:
        task: What a trial runs.
        instances: In an order in which they can be solved one after another.
        document: Where it came from.
    """

    task: Task
    instances: tuple[Instance, ...]
    document: TaskDocument


class Catalogue:
    """Subtasks by reference (``id@version``).

    Raises:
        CompositionError: Two different subtasks have the same reference.
    """

    def __init__(self, subtasks: Iterable[Subtask]) -> None:
        self._subtasks: dict[str, Subtask] = {}
        for subtask in subtasks:
            if self._subtasks.setdefault(subtask.reference, subtask) is not subtask:
                raise CompositionError(f"two subtasks are called {subtask.reference}; give one another id or version")

    def __iter__(self) -> Iterator[Subtask]:
        """Iterates over the subtasks, sorted by reference."""
        return iter([self._subtasks[reference] for reference in sorted(self._subtasks)])

    def __len__(self) -> int:
        """Number of subtasks."""
        return len(self._subtasks)

    def get(self, reference: str) -> Subtask:
        """Returns a subtask.

        Raises:
            CompositionError: There is none; near names are suggested.
        """
        if reference not in self._subtasks:
            near = difflib.get_close_matches(reference, self._subtasks, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]}?" if near else f"known are: {', '.join(sorted(self._subtasks)) or 'none'}"
            raise CompositionError(f"no subtask {reference}; {hint}")
        return self._subtasks[reference]

    def find(self, name: str) -> Subtask:
        """Returns a subtask by reference, or by id alone: then it is the newest version.

        Raises:
            CompositionError: There is none; near names are suggested.
        """
        versions = [subtask for subtask in self._subtasks.values() if subtask.id == name]
        return max(versions, key=lambda subtask: subtask.version) if versions else self.get(name)


def compose(document: TaskDocument, catalogue: Catalogue) -> ComposedTask:
    """Builds the task a document describes.

    The graph is the union of the subtasks' graphs, ids prefixed with the instance's id; where one instance comes
    after another (by a link or by ``after``), all sinks of the earlier one come before all sources of the later one.

    Raises:
        CompositionError: An unknown template or instance, a cycle, a link whose types differ, a role that does not
            fit, or values that do not; the message names the task and the instance.
    """
    try:
        return _compose(document, catalogue)
    except (CompositionError, DefinitionError) as error:
        raise CompositionError(f"task {document.id}: {error}") from error


def _compose(document: TaskDocument, catalogue: Catalogue) -> ComposedTask:
    parts = {part.id: part for part in document.subtasks}
    if len(parts) != len(document.subtasks):
        raise CompositionError("two subtasks share an id")
    before = _before(document, parts)
    instances: dict[str, Instance] = {}
    for id in _order(before):
        instances[id] = _instance(parts[id], document, catalogue, instances)
    ordered = tuple(instances.values())
    graphs = {
        instance.id: instance.subtask.checkpoints(instance.values).rebound(instance.roles).prefixed(instance.id)
        for instance in ordered
    }
    links = [
        (sink, source)
        for later, earlier_ids in before.items()
        for earlier in earlier_ids
        for sink in graphs[earlier].sinks
        for source in graphs[later].sources
    ]
    task = Task(
        id=document.id,
        version=document.version,
        description=document.description,
        environments=dict(document.environments),
        graph=union((graphs[part.id] for part in document.subtasks), links),
        setup=tuple(call for instance in ordered for call in _setup(instance)),
        needs=_needs(ordered),
        extra_actions=_extra_actions(ordered),
        tags=document.tags,
        family=document.family or ordered[-1].subtask.id,
    )
    return ComposedTask(task, ordered, document)


def predecessors(document: TaskDocument) -> dict[str, tuple[str, ...]]:
    """Returns, for each part in the document's order, the ids of those that come directly before it.

    Raises:
        CompositionError: A link or ``after`` names a part that is not there.
    """
    before = _before(document, {part.id: part for part in document.subtasks})
    rank = {id: index for index, id in enumerate(before)}
    return {id: tuple(sorted(earlier, key=rank.__getitem__)) for id, earlier in before.items()}


def _before(document: TaskDocument, parts: Mapping[str, SubtaskDocument]) -> dict[str, dict[str, None]]:
    before: dict[str, dict[str, None]] = {id: {} for id in parts}
    for part in document.subtasks:
        for name, value in part.parameters.items():
            if isinstance(value, Link):
                if value.source not in parts:
                    raise CompositionError(f"subtask {part.id}: {name} comes from {value.source!r}, which is not here")
                before[part.id][value.source] = None
    for later, earlier_ids in document.after.items():
        for id in (later, *earlier_ids):
            if id not in parts:
                raise CompositionError(f"after: there is no subtask {id!r}")
        before[later].update(dict.fromkeys(earlier_ids))
    return before


def _order(before: Mapping[str, Mapping[str, None]]) -> list[str]:
    sorter = TopologicalSorter({id: tuple(earlier) for id, earlier in before.items()})
    rank = {id: index for index, id in enumerate(before)}
    try:
        sorter.prepare()
    except CycleError as error:
        raise CompositionError(f"subtasks wait for one another: {' → '.join(error.args[1])}") from error
    order: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=rank.__getitem__)
        order.extend(ready)
        sorter.done(*ready)
    return order


def _instance(
    part: SubtaskDocument, document: TaskDocument, catalogue: Catalogue, earlier: Mapping[str, Instance]
) -> Instance:
    subtask = catalogue.get(part.template)
    values = {name: _value(part, subtask, name, value, earlier) for name, value in part.parameters.items()}
    try:
        subtask.check(values)
    except DefinitionError as error:
        raise CompositionError(f"subtask {part.id}: {error}") from error
    for role in part.environments:
        if role not in subtask.environments:
            raise CompositionError(f"subtask {part.id}: {subtask.reference} has no role {role!r}")
    roles = {role: part.environments.get(role, role) for role in subtask.environments}
    for role, kind in subtask.environments.items():
        found = document.environments.get(roles[role])
        if found != kind:
            raise CompositionError(
                f"subtask {part.id}: role {roles[role]!r} must be of kind {kind!r}, the task has {found!r}"
            )
    return Instance(part.id, subtask, values, roles)


def _value(part: SubtaskDocument, subtask: Subtask, name: str, value: Any, earlier: Mapping[str, Instance]) -> Any:
    if not isinstance(value, Link):
        return value
    source = earlier[value.source]
    output = check_link(part.id, subtask, name, source.id, source.subtask)
    return output.value(source.values)


def _setup(instance: Instance) -> list[SetupCall]:
    return [
        SetupCall(instance.roles.get(call.environment, call.environment), call.name, dict(call.arguments))
        for call in instance.subtask.setup(instance.values)
    ]


def _needs(instances: Iterable[Instance]) -> dict[str, Needs]:
    probes: dict[str, dict[str, None]] = {}
    roles: dict[str, dict[str, None]] = {}
    for instance in instances:
        for role, needs in instance.subtask.needs.items():
            target = instance.roles[role]
            probes.setdefault(target, {}).update(dict.fromkeys(needs.probes))
            roles.setdefault(target, {}).update(dict.fromkeys(needs.roles))
    return {role: Needs(tuple(probes[role]), tuple(roles[role])) for role in probes}


def _extra_actions(instances: Iterable[Instance]) -> dict[str, tuple[str, ...]]:
    names: dict[str, dict[str, None]] = {}
    for instance in instances:
        for role, actions in instance.subtask.extra_actions.items():
            names.setdefault(instance.roles[role], {}).update(dict.fromkeys(actions))
    return {role: tuple(actions) for role, actions in names.items()}
