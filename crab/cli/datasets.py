"""``crab tasks generate`` and ``crab tasks export``: sets of task documents, made and written out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from crab.cli.documents import write_text
from crab.compose.authoring import AUTHOR, Plan
from crab.compose.composer import Catalogue
from crab.compose.document import TaskDocument, document_text, read_document
from crab.compose.generating import chain_of, generate, plan_of
from crab.compose.v0.exporting import export_task, losses
from crab.compose.v0.form import write
from crab.errors import UsageError
from crab.loading import Project, find_project
from crab.run.build import load_catalogue, load_tasks, task_paths

FORMS = ("dir", "jsonl", "v0")
"""What task documents are exported to."""

MAXIMUM_SEEDS = 100_000


def generate_command(templates: Sequence[str], seeds: str, out: Path, author: str, project_folder: Path | None) -> None:
    """Writes one document for each template and seed.

    Args:
        templates: Subtasks with commas, each handing on to the next where it can; or the id or file of a task document,
            whose structure is taken.
        seeds: See `read_seeds`.
        out: Folder.
        author: Who stands for the documents.
        project_folder: Where the project lies.

    Raises:
        UsageError: A seed is none, a file is there already, or two templates make documents of one id.
        CompositionError: A template is unknown, or does not fit together.
    """
    import typer

    project = find_project(explicit=project_folder)
    catalogue = load_catalogue(project)
    wanted = read_seeds(seeds)
    documents: dict[str, TaskDocument] = {}
    for template in templates:
        plan = replace(_plan(template, project, catalogue), author=author or AUTHOR)
        made = generate(plan, wanted, catalogue)
        for document in made.documents:
            if document.id in documents:
                raise UsageError(f"--template {template}: two of the templates make {document.id}; generate them apart")
            documents[document.id] = document
        if made.repeated:
            typer.echo(f"{template}: {len(made.repeated)} seeds draw values that an earlier one drew; left out")
    _refuse_existing(out, documents)
    for document in documents.values():
        write_text(out / f"{document.id}.json", document_text(document))
    typer.echo(f"task documents in {out}, as drafts for review: {len(documents)}")


def export_command(names: Sequence[str], form: str, out: Path | None, project_folder: Path | None) -> None:
    """Writes tasks of the project in one of the `FORMS`; files of the same tasks are replaced.

    Args:
        names: Task ids, files, or ``all``.
        form: ``dir`` for a file each, ``jsonl`` for one line each, ``v0`` for a file each in the form of CRAB v0.
        out: Folder, or file for ``jsonl``, which goes to standard output without one.
        project_folder: Where the project lies.

    Raises:
        UsageError: The form is unknown, or there is no place to write to.
    """
    import typer

    if form not in FORMS:
        raise UsageError(f"--to {form}: the forms are {', '.join(FORMS)}")
    if out is None and form != "jsonl":
        raise UsageError(f"--to {form} writes a file for each task: name a folder with --out")
    project = find_project(explicit=project_folder)
    tasks = load_tasks(project, names or ["all"])
    if form == "jsonl":
        text = "".join(f"{_line(task.document)}\n" for task in tasks)
        if out is None:
            typer.echo(text, nl=False)
            return
        write_text(out, text)
    else:
        catalogue = load_catalogue(project)
        for task in tasks:
            name, text = _file(task.document, form, catalogue)
            write_text((out or Path()) / name, text)
            for loss in losses(task.document, catalogue) if form == "v0" else ():
                typer.echo(f"note: {loss}", err=True)
    typer.echo(f"tasks in {out}: {len(tasks)}")


def read_seeds(text: str) -> list[int]:
    """Reads seeds: a count (``10`` is 0 to 9), a range with both ends (``10-19``), or several with commas.

    Raises:
        UsageError: It is none of these.
    """
    try:
        parts = [part.strip() for part in text.split(",")]
        if len(parts) == 1 and parts[0].isdecimal():
            found = list(range(int(parts[0])))
        else:
            found = []
            for part in parts:
                first, dash, last = part.partition("-")
                found.extend(range(int(first), int(last) + 1) if dash else [int(first)])
    except ValueError as error:
        raise UsageError(f"--seeds {text}: write a count (10), a range (10-19), or several with commas") from error
    if not 0 < len(found) <= MAXIMUM_SEEDS:
        raise UsageError(f"--seeds {text}: that is {len(found)} seeds; there can be 1 to {MAXIMUM_SEEDS}")
    return list(dict.fromkeys(found))


def _plan(template: str, project: Project, catalogue: Catalogue) -> Plan:
    paths = task_paths(project)
    if template.endswith(".json") or template in paths:
        document = read_document(paths.get(template, Path(template)))
        return replace(plan_of(document), id=document.id)
    return chain_of([name.strip() for name in template.split(",") if name.strip()], catalogue)


def _file(document: TaskDocument, form: str, catalogue: Catalogue) -> tuple[str, str]:
    """Name and text of the file of one task."""
    if form == "v0":
        task = export_task(document, catalogue)
        return f"{task.id}.json", write(task)
    return f"{document.id}.json", document_text(document)


def _line(document: TaskDocument) -> str:
    return json.dumps(document.model_dump(mode="json", by_alias=True), ensure_ascii=False, separators=(",", ":"))


def _refuse_existing(folder: Path, documents: Mapping[str, TaskDocument]) -> None:
    for id in documents:
        if (folder / f"{id}.json").exists():
            raise UsageError(f"{folder / id}.json is there already; choose another --out, or remove it")
