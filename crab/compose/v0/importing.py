"""From task files of CRAB v0 to task documents, with a report of every fault."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crab.compose.authoring import literal_of, shape
from crab.compose.composer import Catalogue
from crab.compose.document import Link, Review, SubtaskDocument, TaskDocument
from crab.compose.v0.faults import Fault, Severity
from crab.compose.v0.form import V0Task, parse
from crab.compose.v0.table import Counterpart, Table, V0Template, read_table
from crab.compose.v0.wiring import links, wiring_faults
from crab.compose.v0.wording import wording_faults
from crab.errors import CompositionError
from crab.task import Subtask

AUTHOR = "CRAB v0"
"""Who stands for imported documents, until a person has reviewed them."""

ID_TAG = "v0:"
"""How the tag begins that keeps the id a file had."""

OUTPUT = "output"
"""Parameter of templates that this project does not have: the output, which CRAB v0 has authors write down."""


@dataclass(frozen=True)
class Imported:
    """What came of one file.

    Attributes:
        name: The file's name without ending.
        task: The file as read, or None.
        document: The task document, a draft; None where the faults leave none.
        faults: Everything found, the worst first.
        foreign: Templates this project does not have; the document does not compose until it does.
    """

    name: str
    task: V0Task | None
    document: TaskDocument | None
    faults: tuple[Fault, ...]
    foreign: tuple[V0Template, ...] = ()


def import_task(text: str, name: str, catalogue: Catalogue) -> Imported:
    """Reads one file, checks it and makes a task document of it.

    Args:
        text: Content of the file.
        name: The file's name without ending.
        catalogue: Templates of this project, among which counterparts are looked up.
    """
    table = read_table()
    task, faults = parse(text, name)
    if task is None:
        return Imported(name, None, None, _sorted(faults))
    templates: list[V0Template] = []
    for index, part in enumerate(task.tasks):
        template = table.templates.get(part.task) or _own(part.task, catalogue, table)
        if template is None:
            faults.append(Fault("unknown_subtask", f"subtask {index} is of {part.task!r}"))
        else:
            templates.append(template)
    if len(templates) < len(task.tasks):
        return Imported(name, task, None, _sorted(faults))
    passed = links(task, templates)
    faults += wiring_faults(task, templates, table)
    faults += wording_faults(task, templates, table, {(link.target, link.attribute) for link in passed})
    foreign = {template.reference: template for template in templates if template.ours is None}
    for template in foreign.values():
        near = f"; {template.near} asks for something like it" if template.near else ""
        faults.append(Fault("foreign", f"{template.reference} stands for {template.id}{near}"))
    document = None
    if all(fault.severity is not Severity.UNREADABLE for fault in faults):
        document = _document(task, templates, table, catalogue)
    return Imported(name, task, document, _sorted(faults), tuple(foreign.values()))


def contradictions(imported: Iterable[Imported]) -> dict[str, list[Fault]]:
    """Returns, by file, what contradicts another one: the same subtask and values with two outputs."""
    found: dict[str, list[Fault]] = {}
    seen: dict[str, tuple[str, str]] = {}
    for file in imported:
        for part in file.task.tasks if file.task else ():
            key = repr((part.task, sorted(part.attribute.items())))
            name, output = seen.setdefault(key, (file.name, part.output or ""))
            if part.output and not output:
                seen[key] = (file.name, part.output)
            elif part.output and part.output != output:
                here = f"{part.output!r} here, {output!r} in {name}"
                found.setdefault(file.name, []).append(Fault("contradiction", here))
    return found


def record_of(template: V0Template) -> dict[str, Any]:
    """Returns what somebody has to know to write a template that this project does not have, as JSON values."""
    return {
        "reference": template.reference,
        "v0_id": template.id,
        "kind": template.kind,
        "parameters": {name: list(types) for name, types in template.attributes.items()},
        "output": template.output or None,
        "near": template.near or None,
    }


def _own(reference: str, catalogue: Catalogue, table: Table) -> V0Template | None:
    """A template of this project in the terms of the table; CRAB v0 knows it only from files we exported."""
    try:
        subtask = catalogue.get(reference)
    except CompositionError:
        return None
    types = {parameter.name: parameter.type.name for parameter in subtask.parameters}
    output = subtask.output.type.name if subtask.output else ""
    return V0Template(
        id=reference,
        name=subtask.id,
        kind=next(iter(subtask.environments.values())),
        attributes={name: (table.types.get(type, type),) for name, type in types.items()},
        output=table.types.get(output, output),
        named=(),
        unchecked=(),
        live=False,
        root=False,
        defects=(),
        ours=Counterpart(reference, {name: name for name in types}),
        near="",
    )


def _document(task: V0Task, templates: Sequence[V0Template], table: Table, catalogue: Catalogue) -> TaskDocument:
    ids = _ids([template.name for template in templates])
    sources = {(link.target, link.attribute): link.source for link in links(task, list(templates)) if link.typed}
    parts: list[SubtaskDocument] = []
    environments: dict[str, str] = {}
    linked: set[tuple[int, int]] = set()
    for index, template in enumerate(templates):
        subtask = _subtask(template, catalogue)
        environments.update(_environments(template, subtask))
        parameters: dict[str, Any] = {}
        for name, attribute in _attributes(template).items():
            source = sources.get((index, attribute))
            if source is not None:
                parameters[name] = Link.model_validate({"from": ids[source]})
                linked.add((source, index))
            else:
                text = table.to_ours(_piece(task.tasks[index].attribute, attribute))
                parameters[name] = literal_of(subtask, name, text) if subtask else text
        if template.ours is None and task.tasks[index].output is not None:
            parameters[OUTPUT] = table.to_ours(task.tasks[index].output or "")
        parts.append(SubtaskDocument(id=ids[index], template=template.reference, parameters=parameters))
    after: dict[str, tuple[str, ...]] = {}
    for source, target in task.edges:
        if (source, target) not in linked:
            after[ids[target]] = (*after.get(ids[target], ()), ids[source])
    document = TaskDocument(
        schema_version=1,
        id=_document_id([template.name for template in templates], task.id),
        version=1,
        description=table.to_ours(task.description),
        environments=environments,
        subtasks=tuple(parts),
        after=after,
        review=Review(author=AUTHOR),
    )
    return document.model_copy(update={"tags": (*shape(document), f"{ID_TAG}{task.id}")})


def _attributes(template: V0Template) -> Mapping[str, str]:
    """Attribute, or piece of one, by parameter of the task document."""
    return template.ours.parameters if template.ours else {name: name for name in template.attributes}


def _piece(attributes: Mapping[str, str], rule: str) -> str:
    what, of, name = rule.partition(" of ")
    if not of:
        return attributes[rule]
    folder, _, file = attributes[name].rpartition("/")
    return folder if what == "folder" else file


def _subtask(template: V0Template, catalogue: Catalogue) -> Subtask | None:
    known = {subtask.reference: subtask for subtask in catalogue}
    return known.get(template.reference)


def _environments(template: V0Template, subtask: Subtask | None) -> Mapping[str, str]:
    if subtask is not None:
        return subtask.environments
    return {"phone" if template.kind == "android" else "desktop": template.kind}


def _ids(names: Sequence[str]) -> list[str]:
    return [
        name if names.index(name) == index else f"{name}_{names[: index + 1].count(name)}"
        for index, name in enumerate(names)
    ]


def _document_id(names: Sequence[str], id: str) -> str:
    words = [*names[:2], *([f"{len(names) - 2}-more"] if len(names) > 2 else [])]
    return "-".join([*words, id[:8]]).lower().replace("_", "-").strip("-")


def _sorted(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    return tuple(sorted(dict.fromkeys(faults), key=lambda fault: fault.severity))
