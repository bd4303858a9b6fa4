"""``crab tasks``: listing tasks and showing what one is made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from crab.compose.composer import ComposedTask
from crab.errors import UsageError
from crab.loading import find_project
from crab.run.build import load_tasks, own_task_paths


def list_tasks(project_folder: Path | None, *, as_json: bool) -> None:
    """Prints every task of the project, as a table or as JSON lines."""
    from rich.console import Console
    from rich.table import Column, Table

    project = find_project(explicit=project_folder)
    tasks = load_tasks(project, ["all"]) if own_task_paths(project) else []
    if as_json:
        for composed in tasks:
            _print(json.dumps(_row(composed), ensure_ascii=False))
        return
    # An id is there to be copied, so it is never cut; what does not fit in 80 columns `crab tasks show` tells.
    id_column = Column("task", no_wrap=True, overflow="ignore")
    count_column = Column("checkpoints", no_wrap=True, justify="right")
    table = Table(id_column, "environments", count_column, "tags", box=None, pad_edge=False)
    for composed in tasks:
        row = _row(composed)
        table.add_row(
            row["id"],
            ", ".join(row["environments"].values()),
            str(row["checkpoints"]),
            ", ".join(row["tags"]),
        )
    Console().print(table)


def show_task(name: str, project_folder: Path | None) -> None:
    """Prints one task: what the agent is told, and what it is made of."""
    composed = _one(name, project_folder)
    task = composed.task
    lines = [f"{task.id} (version {task.version}, family {task.family})", "", task.description, ""]
    lines += ["environments:"] + [f"  {role}: {kind}" for role, kind in task.environments.items()]
    lines += ["subtasks, in an order in which they can be solved:"]
    for instance in composed.instances:
        values = ", ".join(f"{key}={value!r}" for key, value in instance.values.items())
        lines.append(f"  {instance.id}: {instance.subtask.reference}({values})")
        lines.append(f"    near misses: {', '.join(miss.name for miss in instance.subtask.near_misses)}")
    if task.setup:
        lines += ["set-up:"] + [f"  {call.environment}: {call.name}" for call in task.setup]
    lines += ["checkpoints:", *_graph_lines(composed)]
    _print("\n".join(lines))


def graph_task(name: str, project_folder: Path | None, form: str) -> None:
    """Prints the checkpoint graph of one task.

    Raises:
        UsageError: The form is unknown.
    """
    composed = _one(name, project_folder)
    graph = composed.task.graph
    match form:
        case "text":
            _print("\n".join(_graph_lines(composed)))
        case "json":
            nodes = [{"id": node.id, "label": node.label, "transient": node.transient} for node in graph.checkpoints]
            _print(json.dumps({"checkpoints": nodes, "edges": graph.edges}, indent=2, ensure_ascii=False))
        case "mermaid":
            numbers = {id: f"n{index}" for index, id in enumerate(graph.order)}
            lines = ["graph TD"] + [f'  {numbers[id]}["{id}"]' for id in graph.order]
            _print("\n".join(lines + [f"  {numbers[source]} --> {numbers[target]}" for source, target in graph.edges]))
        case _:
            raise UsageError(f"no form {form!r}; there are text, mermaid and json")


def _one(name: str, project_folder: Path | None) -> ComposedTask:
    if name == "all":
        raise UsageError("name one task; `crab tasks list` shows all")
    return load_tasks(find_project(explicit=project_folder), [name])[0]


def _row(composed: ComposedTask) -> dict[str, Any]:
    task = composed.task
    return {
        "id": task.id,
        "environments": dict(task.environments),
        "subtasks": [instance.subtask.reference for instance in composed.instances],
        "checkpoints": len(task.graph),
        "tags": list(task.tags),
    }


def _graph_lines(composed: ComposedTask) -> list[str]:
    graph = composed.task.graph
    lines = []
    for id in graph.order:
        after = graph.predecessors(id)
        note = f"  ← {', '.join(after)}" if after else ""
        lines.append(f"  {id}{' (transient)' if graph[id].transient else ''}{note}")
    return lines


def _print(text: str) -> None:
    import typer

    typer.echo(text)
