"""Makes task documents from choices: which subtasks, which links, which values, in which words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from crab.compose.composer import Catalogue, ComposedTask, compose, predecessors
from crab.compose.document import Link, Literals, Review, SubtaskDocument, TaskDocument
from crab.compose.matching import check_use
from crab.compose.wording import describe
from crab.errors import CompositionError
from crab.task import Subtask

AUTHOR = "crab compose"
"""Who stands for a document that nobody has put a name to."""

_DRAWS = 32
"""Attempts at values that no other part of the task has; after that, one is used twice."""

_SEEDS_APART = 1_000_003
"""Keeps the draws of one document away from those of another with a neighbouring seed."""


@dataclass(frozen=True)
class Part:
    """One subtask as an author chooses it.

    Attributes:
        subtask: Id or reference; an id alone stands for the newest version.
        id: Its id in the task; the subtask's id, numbered where needed, when empty.
        values: Literal values by parameter; what is neither given nor linked is drawn from the pool.
        links: Id of the part whose output is taken, by parameter.
        roles: Task role by template role.
    """

    subtask: str
    id: str = ""
    values: Mapping[str, Literals] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """A task as an author chooses it.

    Attributes:
        parts: Its subtasks.
        after: Further order: part id → ids of those that come before it.
        seed: Of the values that are drawn.
        id: Of the document; made of the subtasks' ids and the seed when empty.
        description: The author's own words; joined from the templates, or drafted, when empty.
        author: Who stands for it.
        family: Cluster for statistics; the last subtask's template when empty.
        tags: Added to the subtasks' tags and the words for the task's shape.
    """

    parts: Sequence[Part]
    after: Mapping[str, Sequence[str]] = field(default_factory=dict)
    seed: int = 0
    id: str = ""
    description: str = ""
    author: str = AUTHOR
    family: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Brief:
    """What somebody who words a task's description is told.

    Attributes:
        draft: The description as joined from the templates; true in every point.
        named: Literal values that the description must hold, letter for letter.
        hidden: Values it must not hold, because the agent is to find them out.
    """

    draft: str
    named: tuple[str, ...]
    hidden: tuple[str, ...]


class Describer(Protocol):
    """Words a description from a brief, for example by asking a model. A person reviews what it returns."""

    name: str
    """Recorded as author of the words, for example the model's name."""

    def __call__(self, brief: Brief) -> str:
        """Returns the description."""


def draft(plan: Plan, catalogue: Catalogue, describer: Describer | None = None) -> TaskDocument:
    """Makes a task document; it composes, and its review state is ``draft``.

    Args:
        plan: The choices.
        catalogue: Where subtasks are looked up.
        describer: Words the description, unless the plan has one; sentences of the templates are joined without it.

    Raises:
        CompositionError: Something does not fit or leads nowhere, or a description does not name what it must or gives
            away what it must not.
    """
    if not plan.parts:
        raise CompositionError("a task needs at least one subtask")
    if plan.id:
        check_id(plan.id)
    parts = _with_ids(plan.parts, catalogue)
    subtasks = {part.id: catalogue.find(part.subtask) for part in parts}
    _check_choices(parts, subtasks)
    roles, environments = _roles(parts, subtasks)
    values = _values(parts, subtasks, plan.seed)
    document = TaskDocument(
        schema_version=1,
        id=plan.id or "untitled",
        version=1,
        description=plan.description or "-",
        environments=environments,
        subtasks=tuple(_part_document(part, subtasks[part.id], values[part.id], roles[part.id]) for part in parts),
        after=_further_order(parts, plan.after),
        family=plan.family,
        review=Review(author=plan.author),
    )
    tags = dict.fromkeys([*shape(document), *(tag for part in parts for tag in subtasks[part.id].tags), *plan.tags])
    id = plan.id or document_id([subtask.id for subtask in subtasks.values()], plan.seed, ordered="chain" in tags)
    document = document.model_copy(update={"id": id, "tags": tuple(tags)})
    composed = compose(document, catalogue)
    return document if plan.description else _described(document, composed, describer)


def check_id(id: str) -> None:
    """Checks the id of a document.

    Raises:
        CompositionError: It has other characters than lower-case letters, digits and hyphens.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", id):
        raise CompositionError(f"task id {id!r}: use lower-case letters, digits and '-', a letter or digit first")


def document_id(names: Sequence[str], seed: int, *, ordered: bool) -> str:
    """Returns a readable id made of what a task consists of: ``show-file-then-submit-text-3``."""
    words = [re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") for name in names]
    if len(words) > 3:
        words = [*words[:2], f"{len(words) - 2}-more"]
    return "-".join([("-then-" if ordered else "-and-").join(words), str(seed)])


def shape(document: TaskDocument) -> tuple[str, ...]:
    """Returns words for how the parts of a task hang together.

    ``single``; ``parallel`` without any order; ``fork`` where two parts wait for one; ``join`` where one waits for two;
    ``chain`` where each waits for one at most. ``cross`` is added with more than one environment.
    """
    before = predecessors(document)
    counts = [sum(id in earlier for earlier in before.values()) for id in before]
    words = [word for word, there in (("fork", max(counts) > 1), ("join", max(map(len, before.values())) > 1)) if there]
    if len(before) == 1:
        words = ["single"]
    elif not words:
        words = ["chain" if any(before.values()) else "parallel"]
    return (*words, "cross") if len(document.environments) > 1 else tuple(words)


def literal_of(subtask: Subtask, name: str, text: str) -> Literals:
    """Returns a parameter's value written as text.

    Raises:
        CompositionError: The parameter is unknown, or the text is no value of its type.
    """
    parameter = next((parameter for parameter in subtask.parameters if parameter.name == name), None)
    if parameter is None:
        known = ", ".join(parameter.name for parameter in subtask.parameters) or "none"
        raise CompositionError(f"{subtask.reference} has no parameter {name!r}; it has: {known}")
    wanted = parameter.type.python_type
    try:
        value = {"true": True, "false": False}[text.lower()] if wanted is bool else wanted(text)
    except (KeyError, ValueError) as error:
        raise CompositionError(f"{subtask.reference}: {name} must be {wanted.__name__}, got {text!r}") from error
    return value


def _with_ids(parts: Sequence[Part], catalogue: Catalogue) -> list[Part]:
    taken = {part.id for part in parts if part.id}
    named: list[Part] = []
    for part in parts:
        id = part.id or _free_id(catalogue.find(part.subtask).id.lower().lstrip("_") or "part", taken)
        if id in (other.id for other in named):
            raise CompositionError(f"two subtasks of the task are called {id!r}; give one another id")
        if not re.fullmatch(r"[a-z][a-z0-9_]*", id):
            raise CompositionError(f"subtask id {id!r}: use lower-case letters, digits and '_', a letter first")
        taken.add(id)
        named.append(replace(part, id=id))
    return named


def _free_id(wanted: str, taken: set[str]) -> str:
    number, id = 1, wanted
    while id in taken:
        number += 1
        id = f"{wanted}_{number}"
    return id


def _check_choices(parts: Sequence[Part], subtasks: Mapping[str, Subtask]) -> None:
    for part in parts:
        known = [parameter.name for parameter in subtasks[part.id].parameters]
        for name in (*part.links, *part.values):
            if name not in known:
                raise CompositionError(
                    f"subtask {part.id}: {subtasks[part.id].reference} has no parameter {name!r}; "
                    f"it has: {', '.join(known) or 'none'}"
                )
        for name, source in part.links.items():
            if name in part.values:
                raise CompositionError(f"subtask {part.id}: {name} has both a link and a value; give one of them")
            if source not in subtasks:
                raise CompositionError(
                    f"subtask {part.id}: {name} comes from {source!r}, which is not here; there are: "
                    f"{', '.join(subtasks)}"
                )
            if source != part.id:
                check_use(part.id, subtasks[part.id], name)
            else:
                raise CompositionError(f"subtask {part.id}: {name} cannot come from {source!r} itself")


def _roles(parts: Sequence[Part], subtasks: Mapping[str, Subtask]) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Task role by template role for each part, and kind by task role.

    Parts share a role when they agree on its name and kind; a role of the same name and another kind gets a name of
    its own.
    """
    environments: dict[str, str] = {}
    chosen: dict[str, dict[str, str]] = {}
    for part in parts:
        renamed = dict(part.roles)
        for role, kind in subtasks[part.id].environments.items():
            wanted = renamed.get(role, role)
            if environments.get(wanted, kind) != kind and role not in part.roles:
                wanted = next(
                    name
                    for letter in "bcdefghijklmnopqrstuvwxyz"
                    for name in [f"{role}_{letter}"]
                    if environments.get(name, kind) == kind
                )
                renamed[role] = wanted
            environments.setdefault(wanted, kind)
        chosen[part.id] = renamed
    return chosen, environments


def _values(parts: Sequence[Part], subtasks: Mapping[str, Subtask], seed: int) -> dict[str, dict[str, Any]]:
    """Values of the parameters that are not linked: as given, or drawn so that parts do not get in each other's way."""
    used: dict[str, set[Any]] = {}
    for part in parts:
        for parameter in subtasks[part.id].parameters:
            if parameter.name in part.values:
                used.setdefault(parameter.type.name, set()).add(part.values[parameter.name])
    found = {}
    for part in parts:
        subtask = subtasks[part.id]
        open_names = [p for p in subtask.parameters if p.name not in part.values and p.name not in part.links]
        best: dict[str, Any] = {}
        fewest = len(open_names) + 1
        for attempt in range(_DRAWS):
            drawn = subtask.draw(seed + attempt * _SEEDS_APART)
            taken = sum(drawn[p.name] in used.get(p.type.name, ()) for p in open_names)
            if taken < fewest:
                best, fewest = {p.name: drawn[p.name] for p in open_names}, taken
            if not taken:
                break
        for parameter in open_names:
            used.setdefault(parameter.type.name, set()).add(best[parameter.name])
        found[part.id] = {**part.values, **best}
    return found


def _part_document(
    part: Part, subtask: Subtask, values: Mapping[str, Any], roles: Mapping[str, str]
) -> SubtaskDocument:
    given = {**values, **{name: Link.model_validate({"from": source}) for name, source in part.links.items()}}
    # In the template's order, as people read its description.
    parameters = {parameter.name: given[parameter.name] for parameter in subtask.parameters}
    return SubtaskDocument(id=part.id, template=subtask.reference, environments=dict(roles), parameters=parameters)


def _further_order(parts: Sequence[Part], after: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """What ``after`` adds to the order that follows from links."""
    linked = {part.id: set(part.links.values()) for part in parts}
    order = {}
    for id, earlier in after.items():
        for name in (id, *earlier):
            if name not in linked:
                raise CompositionError(f"after: there is no subtask {name!r}; there are: {', '.join(linked)}")
        rest = tuple(dict.fromkeys(name for name in earlier if name not in linked[id]))
        if rest:
            order[id] = rest
    return order


def _described(document: TaskDocument, composed: ComposedTask, describer: Describer | None) -> TaskDocument:
    text = describe(composed)
    brief = _brief(composed, text)
    author = document.review.author
    if describer is not None:
        text = describer(brief).strip()
        author = f"{author}, in the words of {describer.name}"
    who = "the description" if describer is None else f"the description of {describer.name}"
    for value in brief.named:
        if value not in text:
            raise CompositionError(f"task {document.id}: {who} does not name {value!r}; word it anew")
    for value in brief.hidden:
        if value in text:
            raise CompositionError(f"task {document.id}: {who} gives {value!r} away, which is to be found out")
    return document.model_copy(update={"description": text, "review": Review(author=author, state="draft")})


def _brief(composed: ComposedTask, text: str) -> Brief:
    values = {instance.id: instance.values for instance in composed.instances}
    parameters = [
        (values[part.id][name], isinstance(value, Link))
        for part in composed.document.subtasks
        for name, value in part.parameters.items()
    ]
    named = dict.fromkeys(str(value) for value, linked in parameters if not linked)
    # A linked value that stands in the templates' own sentences is known anyway.
    hidden = dict.fromkeys(str(value) for value, linked in parameters if linked and str(value) not in text)
    return Brief(text, tuple(named), tuple(hidden))
