"""Many documents of one structure: the same subtasks, links and order with values from many seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from crab.compose.authoring import Part, Plan, draft
from crab.compose.composer import Catalogue
from crab.compose.document import Link, TaskDocument
from crab.compose.matching import linkable, prepared_parameters


@dataclass(frozen=True)
class Generated:
    """What came of a plan and some seeds.

    Attributes:
        documents: One for each seed whose values no earlier seed had drawn.
        repeated: The other seeds: small pools run out.
    """

    documents: tuple[TaskDocument, ...]
    repeated: tuple[int, ...]


def chain_of(names: Sequence[str], catalogue: Catalogue) -> Plan:
    """Returns the plan of subtasks one after another.

    Each takes the output of the one before it where a parameter fits, by preference one that needs no set-up, and just
    comes after it otherwise.

    Args:
        names: Ids or references of subtasks.
        catalogue: Where they are looked up.

    Raises:
        CompositionError: A subtask is unknown.
    """
    parts: list[Part] = []
    after: dict[str, tuple[str, ...]] = {}
    for number, name in enumerate(names, start=1):
        subtask = catalogue.find(name)
        id = subtask.id.lower().lstrip("_")
        id = f"{id}_{number}" if any(part.id == id for part in parts) else id
        links: dict[str, str] = {}
        if parts:
            fits = linkable(catalogue.find(parts[-1].subtask).output, subtask)
            prepared = prepared_parameters(subtask)
            links = dict.fromkeys(sorted(fits, key=prepared.__contains__)[:1], parts[-1].id)
            after[id] = () if links else (parts[-1].id,)
        parts.append(Part(name, id=id, links=links))
    return Plan(tuple(parts), after=after)


def plan_of(document: TaskDocument) -> Plan:
    """Returns the structure of a document, without its literal values and its words."""
    parts = [
        Part(
            subtask=part.template,
            id=part.id,
            links={name: value.source for name, value in part.parameters.items() if isinstance(value, Link)},
            roles=part.environments,
        )
        for part in document.subtasks
    ]
    return Plan(tuple(parts), after=document.after, family=document.family)


def generate(plan: Plan, seeds: Iterable[int], catalogue: Catalogue) -> Generated:
    """Makes a document for each seed.

    Args:
        plan: The structure; where it has an id, each document's is that and the seed.
        seeds: Of the values.
        catalogue: Where subtasks are looked up.

    Raises:
        CompositionError: The plan does not fit together.
    """
    documents: dict[str, TaskDocument] = {}
    repeated: list[int] = []
    for seed in seeds:
        document = draft(replace(plan, seed=seed, id=f"{plan.id}-{seed}" if plan.id else ""), catalogue)
        values = repr([part.parameters for part in document.subtasks])
        if values in documents:
            repeated.append(seed)
        else:
            documents[values] = document
    return Generated(tuple(documents.values()), tuple(repeated))
