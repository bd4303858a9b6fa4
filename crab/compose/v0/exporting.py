"""From task documents to task files of CRAB v0."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from crab.compose.composer import Catalogue, predecessors
from crab.compose.document import Link, SubtaskDocument, TaskDocument
from crab.compose.v0.form import V0Subtask, V0Task, order
from crab.compose.v0.importing import ID_TAG, OUTPUT
from crab.compose.v0.table import FOREIGN, V0Template, read_table


def export_task(document: TaskDocument, catalogue: Catalogue) -> V0Task:
    """Returns a document in the form of CRAB v0.

    Links become the values they carry, and outputs are stored where a subtask follows. A template that CRAB v0 does not
    have goes by our reference (``add_line@1``); an imported file gets back the id it had.

    Raises:
        CompositionError: A template is unknown, or a link leads nowhere.
    """
    table = read_table()
    before = predecessors(document)
    index = {part.id: number for number, part in enumerate(document.subtasks)}
    edges = [(index[earlier], index[id]) for id, names in before.items() for earlier in names]
    known = [table.by_reference(part.template) for part in document.subtasks]
    outputs: dict[str, Any] = {}
    tasks: dict[int, V0Subtask] = {}
    for number in order(len(document.subtasks), edges):
        part, template = document.subtasks[number], known[number]
        values = {
            name: outputs[value.source] if isinstance(value, Link) else value for name, value in part.parameters.items()
        }
        outputs[part.id] = _output(part, values, catalogue)
        stored = template is not None and template.ours is None
        shown = outputs[part.id] if stored or any(source == number for source, _ in edges) else None
        texts = {name: table.to_v0(str(value)) for name, value in values.items()}
        tasks[number] = V0Subtask(
            task=template.id if template else part.template,
            attribute=_attributes(template, texts),
            output=None if shown is None else table.to_v0(str(shown)),
        )
    return V0Task(
        description=table.to_v0(document.description),
        tasks=tuple(tasks[number] for number in range(len(tasks))),
        edges=tuple(sorted(edges)),
        id=_id(document),
        listed=frozenset(tasks),
    )


def losses(document: TaskDocument, catalogue: Catalogue) -> list[str]:
    """Returns what of a document the form of CRAB v0 has no place for, as lines for people."""
    references = {subtask.reference: subtask for subtask in catalogue}
    lost = []
    for part in document.subtasks:
        if part.environments:
            lost.append(f"{document.id}: {part.id}: which device is meant by {', '.join(part.environments)}")
        if part.template in references and read_table().by_reference(part.template) is None:
            lost.append(f"{document.id}: {part.id}: CRAB v0 has no template {part.template}")
    return lost


def _output(part: SubtaskDocument, values: Mapping[str, Any], catalogue: Catalogue) -> Any:
    if part.template.startswith(FOREIGN):
        return values.get(OUTPUT)
    subtask = catalogue.get(part.template)
    subtask.check(values)
    return subtask.output.value(values) if subtask.output else None


def _attributes(template: V0Template | None, texts: Mapping[str, str]) -> dict[str, str]:
    """The attributes in the order of CRAB v0's template."""
    if template is None:
        return dict(texts)
    if template.ours is None:
        return {name: text for name, text in texts.items() if name != OUTPUT}
    found: dict[str, str] = {}
    pieces: dict[str, dict[str, str]] = {}
    for name, rule in template.ours.parameters.items():
        what, of, attribute = rule.partition(" of ")
        if of:
            pieces.setdefault(attribute, {})[what] = texts[name]
        else:
            found[rule] = texts[name]
    found.update({name: f"{piece['folder']}/{piece['name']}" for name, piece in pieces.items()})
    return {name: found[name] for name in template.attributes}


def _id(document: TaskDocument) -> str:
    kept = next((tag.removeprefix(ID_TAG) for tag in document.tags if tag.startswith(ID_TAG)), "")
    return kept or str(uuid.uuid5(uuid.NAMESPACE_URL, f"crab-task:{document.id}"))
