"""Whether the subtasks of a CRAB v0 file hand on what they should."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from crab.compose.v0.faults import Fault
from crab.compose.v0.form import V0Subtask, V0Task
from crab.compose.v0.table import Table, V0Template


@dataclass(frozen=True)
class V0Link:
    """A value that is handed on.

    Attributes:
        source: Index of the subtask that leaves it.
        target: Index of the subtask that takes it.
        attribute: The attribute that takes it.
        typed: Whether the types agree.
    """

    source: int
    target: int
    attribute: str
    typed: bool


def links(task: V0Task, templates: list[V0Template]) -> list[V0Link]:
    """Returns the values that are handed on along edges: those that equal the output of the subtask before."""
    return [
        V0Link(source, target, name, templates[source].output in templates[target].attributes.get(name, ()))
        for source, target in task.edges
        if task.tasks[source].output
        for name, value in task.tasks[target].attribute.items()
        if value == task.tasks[source].output
    ]


def wiring_faults(task: V0Task, templates: list[V0Template], table: Table) -> list[Fault]:
    """Returns what is wrong with attributes, outputs and edges."""
    return [
        *(fault for index in range(len(task.tasks)) for fault in _subtask_faults(task, templates, index, table)),
        *(fault for edge in task.edges for fault in _edge_faults(task, templates, *edge)),
    ]


def _subtask_faults(task: V0Task, templates: list[V0Template], index: int, table: Table) -> Iterator[Fault]:
    part, template = task.tasks[index], templates[index]
    where = f"subtask {index} ({template.name})"
    for name in template.attributes:
        if name not in part.attribute:
            yield Fault("missing_attribute", f"{where} lacks {name!r}")
    for name in part.attribute:
        if name not in template.attributes:
            yield Fault(
                "unknown_attribute", f"{where} has {name!r}; it takes: {', '.join(template.attributes) or 'none'}"
            )
    if part.output == "":
        yield Fault("empty_output", f"{where} stores an empty output")
    elif part.output is not None and not template.output:
        yield Fault("stray_output", f"{where} stores the output {part.output!r}")
    yield from _template_faults(where, part, template)
    yield from _given_files(task, templates, index, table)


def _template_faults(where: str, part: V0Subtask, template: V0Template) -> Iterator[Fault]:
    for defect in template.defects:
        if not defect.pattern or re.search(defect.pattern, part.attribute.get(defect.attribute, "")):
            yield Fault("template_blocks" if defect.blocks else "template_defect", f"{where}: {defect.text}")
    if template.live:
        yield Fault("ageing", f"{where} depends on live pages, maps or files")
    if "date" in template.attributes:
        yield Fault("ageing", f"{where} has the fixed date {part.attribute.get('date')!r}")


def _edge_faults(task: V0Task, templates: list[V0Template], source: int, target: int) -> Iterator[Fault]:
    output = task.tasks[source].output
    where = f"subtask {source} ({templates[source].name}) → {target} ({templates[target].name})"
    passed = [link for link in links(task, templates) if (link.source, link.target) == (source, target)]
    for link in passed:
        if not link.typed:
            wanted = "/".join(templates[target].attributes.get(link.attribute, ("nothing",)))
            yield Fault(
                "type_mismatch",
                f"{where}: a {templates[source].output or 'nothing'} feeds the {wanted} {link.attribute}",
            )
    later = task.tasks[target].output
    if later and not passed and later in task.tasks[source].attribute.values() and templates[target].output:
        yield Fault("wrong_order", f"{where}: the first needs {later!r}, which the second finds out")
    elif not passed and output and any(output in value for value in task.tasks[target].attribute.values()):
        yield Fault("part_passed", f"{where}: {output!r} is only a part of a value")
    elif not passed and output:
        yield Fault("output_not_used", f"{where}: {output!r} feeds nothing, and no check looks at it")
    elif not passed:
        yield Fault("nothing_passed", f"{where}: no value is handed on, at most something in the clipboard or a folder")
    devices = {templates[index].kind for index in (source, target) if not templates[index].root}
    if len(devices) > 1:
        yield Fault("cross_device", f"{where}: from {templates[source].kind} to {templates[target].kind}")


def _given_files(task: V0Task, templates: list[V0Template], index: int, table: Table) -> Iterator[Fault]:
    """Pictures that are taken as given under one ending here and under another elsewhere."""
    for name, value in task.tasks[index].attribute.items():
        kinds = templates[index].attributes.get(name, ())
        if not any(kind.startswith("photo_path") for kind in kinds) or "after" in name or name == "output_path":
            continue
        path = value
        for source in task.before(index):
            part = task.tasks[source]
            if part.output == value:
                path = ""
            copied = part.attribute.get("target_dir")
            if copied and path.startswith(f"{copied}/"):
                path = part.attribute.get("source_dir", "") + path.removeprefix(copied)
        stem = path.rpartition(".")[0]
        for given in table.given:
            if stem and given.rpartition(".")[0] == stem and given != path:
                yield Fault("other_extension", f"subtask {index}: {name} is {path!r}, other files have {given!r}")
