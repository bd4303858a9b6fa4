"""The JSON form of CRAB v0's task files, read and written without judging what they say."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from crab.compose.v0.faults import Fault

_KEYS: Mapping[str, type] = {"description": str, "tasks": list, "adjlist": str, "id": str}
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True)
class V0Subtask:
    """One subtask of a file.

    Attributes:
        task: Id of its template.
        attribute: Value by attribute.
        output: What it leaves, or None.
    """

    task: str
    attribute: Mapping[str, str]
    output: str | None = None


@dataclass(frozen=True)
class V0Task:
    """One file.

    Attributes:
        description: What the agent is told.
        tasks: Its subtasks.
        edges: Pairs of indices (before, after), in the order in which they are written.
        id: A UUID, by the rule.
        listed: Indices that the adjacency list has.
    """

    description: str
    tasks: tuple[V0Subtask, ...]
    edges: tuple[tuple[int, int], ...]
    id: str
    listed: frozenset[int]

    def before(self, index: int) -> tuple[int, ...]:
        """Returns the indices of the subtasks directly before one."""
        return tuple(source for source, target in self.edges if target == index)

    def after(self, index: int) -> tuple[int, ...]:
        """Returns the indices of the subtasks directly after one."""
        return tuple(target for source, target in self.edges if source == index)


def parse(text: str, stem: str) -> tuple[V0Task | None, list[Fault]]:
    """Reads a file.

    Args:
        text: Its content.
        stem: Its name without ending.

    Returns:
        The file, or None where it cannot be read as one, and what is wrong with its form.
    """
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        return None, [Fault("not_json", str(error))]
    if not isinstance(raw, dict):
        return None, [Fault("not_json", f"the file holds a {type(raw).__name__}, not an object")]
    faults = _keys(raw, _KEYS, "the file")
    if not any(fault.code == "missing_key" for fault in faults):
        faults += [fault for number, entry in enumerate(raw["tasks"]) for fault in _subtask_faults(number, entry)]
        if not raw["tasks"]:
            faults.append(Fault("missing_key", "the file has no subtask"))
    if any(fault.code == "missing_key" for fault in faults):
        return None, faults
    tasks = tuple(V0Subtask(entry["task"], entry["attribute"], entry["output"]) for entry in raw["tasks"])
    listed, edges, trouble = _adjacency(raw["adjlist"], len(tasks))
    faults += trouble
    if not _UUID.fullmatch(raw["id"]):
        faults.append(Fault("bad_id", f"the id {raw['id']!r} is no UUID"))
    if raw["id"] != stem:
        faults.append(Fault("bad_id", f"the id is {raw['id']!r}, the file is called {stem!r}"))
    if any(fault.code in ("bad_adjacency", "cycle") for fault in trouble):
        return None, faults
    return V0Task(raw["description"], tasks, tuple(edges), raw["id"], frozenset(listed)), faults


def write(task: V0Task) -> str:
    """Returns a file's text as CRAB v0 writes it: keys in their order, four spaces, no line feed at the end."""
    raw = {
        "description": task.description,
        "tasks": [{"task": part.task, "attribute": dict(part.attribute), "output": part.output} for part in task.tasks],
        "adjlist": "\n".join(" ".join(map(str, (node, *task.after(node)))) for node in range(len(task.tasks))),
        "id": task.id,
    }
    return json.dumps(raw, indent=4, ensure_ascii=False)


def order(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Returns the indices so that each comes after those before it; ties in the order of the file.

    Raises:
        CycleError: There is no such order.
    """
    sorter = TopologicalSorter({node: [before for before, after in edges if after == node] for node in range(count)})
    sorter.prepare()
    found: list[int] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        found.extend(ready)
        sorter.done(*ready)
    return found


def _keys(raw: Mapping[str, Any], wanted: Mapping[str, type], where: str) -> list[Fault]:
    faults = [Fault("stray_key", f"{where} has the key {key!r}") for key in raw if key not in wanted]
    for key, kind in wanted.items():
        if key not in raw:
            faults.append(Fault("missing_key", f"{where} lacks {key!r}"))
        elif not isinstance(raw[key], kind):
            faults.append(Fault("missing_key", f"{key!r} of {where} is a {type(raw[key]).__name__}"))
    return faults


def _subtask_faults(number: int, entry: Any) -> list[Fault]:
    where = f"subtask {number}"
    if not isinstance(entry, dict):
        return [Fault("missing_key", f"{where} is a {type(entry).__name__}, not an object")]
    faults = _keys(entry, {"task": str, "attribute": dict, "output": object}, where)
    if isinstance(entry.get("attribute"), dict):
        wrong = [name for name, value in entry["attribute"].items() if not isinstance(value, str)]
        faults += [Fault("missing_key", f"attribute {name!r} of {where} is no text") for name in wrong]
    if not isinstance(entry.get("output"), str | None):
        faults.append(Fault("missing_key", f"the output of {where} is neither text nor null"))
    return faults


def _adjacency(text: str, count: int) -> tuple[set[int], list[tuple[int, int]], list[Fault]]:
    listed: set[int] = set()
    edges: list[tuple[int, int]] = []
    for line in text.split("\n"):
        words = line.split()
        if not all(word.isdecimal() and int(word) < count for word in words):
            return (
                listed,
                [],
                [Fault("bad_adjacency", f"the line {line!r} names something else than subtasks 0 to {count - 1}")],
            )
        listed.update(map(int, words))
        edges.extend((int(words[0]), int(word)) for word in words[1:])
    edges = list(dict.fromkeys(edges))
    faults = [
        Fault("missing_node", f"subtask {node} is not in the adjacency list")
        for node in range(count)
        if node not in listed
    ]
    try:
        order(count, edges)
    except CycleError as error:
        return listed, edges, [*faults, Fault("cycle", " → ".join(map(str, error.args[1])))]
    faults += [
        Fault("out_of_order", f"subtask {before} comes before subtask {after}, which is listed earlier")
        for before, after in edges
        if after < before
    ]
    if any(sum(after == node for _, after in edges) > 1 for node in range(count)):
        faults.append(Fault("misread_graph", "a subtask waits for two others"))
    return listed, edges, faults
