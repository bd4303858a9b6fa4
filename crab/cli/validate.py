"""``crab validate``: task documents are checked, and with ``--prove`` proven on devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crab.compose.composer import Catalogue, ComposedTask, compose
from crab.compose.document import Link, read_document
from crab.errors import CrabError, UsageError
from crab.loading import Project, find_project
from crab.run.build import load_catalogue, own_task_paths

if TYPE_CHECKING:
    from crab.environment import Finding
    from crab.testing.subtask import Proof


def validate_command(paths: Sequence[Path], project_folder: Path | None, *, prove: bool) -> int:
    """Prints one line for each document.

    Returns:
        0 when all are right, else 1.

    Raises:
        UsageError: A path is missing, or there is nothing to validate.
    """
    import typer

    project = find_project(explicit=project_folder)
    catalogue = load_catalogue(project)
    files = list(_files(paths)) if paths else list(own_task_paths(project).values())
    if not files:
        raise UsageError("nothing to validate; name a task document or a folder of them")
    faulty = 0
    for file in files:
        problems, proven = document_problems(file, catalogue), ""
        if prove and not problems:
            proof = _prove(file, catalogue, project)
            problems = [f"{finding.name}: {finding.detail}" for finding in proof.failures]
            proven = f"  {_count(proof)}"
        faulty += bool(problems)
        typer.echo(f"{'FAIL' if problems else 'ok  '}  {file.stem}{proven}")
        for problem in problems:
            typer.echo(f"      {problem}")
    typer.echo(f"{len(files) - faulty} of {len(files)} tasks are right")
    return 1 if faulty else 0


def document_problems(file: Path, catalogue: Catalogue) -> list[str]:
    """Returns what is wrong with one document, as lines; empty when all is right."""
    try:
        composed = compose(read_document(file), catalogue)
    except CrabError as error:
        return [str(error)]
    return description_problems(composed)


def description_problems(composed: ComposedTask) -> list[str]:
    """Returns a line for each literal value that the description does not name: nobody could know it."""
    description = composed.document.description
    return [
        f"subtask {part.id}: the description does not name {name} = {value!r}"
        for part in composed.document.subtasks
        for name, value in part.parameters.items()
        if not isinstance(value, Link) and str(value) not in description
    ]


def _files(paths: Sequence[Path]) -> Iterable[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(path.rglob("*.json"))
        elif path.exists():
            yield path
        else:
            raise UsageError(f"{path}: no such file; name a task document or a folder of them")


def _prove(file: Path, catalogue: Catalogue, project: Project) -> Proof:
    from crab.run.build import load_kind
    from crab.testing.subtask import prove_task

    composed = compose(read_document(file), catalogue)
    environments = {
        role: load_kind(project, kind).provider().start({}) for role, kind in composed.task.environments.items()
    }
    try:
        return prove_task(composed, environments)
    finally:
        for environment in environments.values():
            environment.close()


def _count(proof: Proof) -> str:
    """Says how much was tried, and how much of it is as it should be."""
    misses = [finding for finding in proof.findings if finding.name.startswith("near_miss ")]
    rules = [finding for finding in proof.findings if finding not in misses]
    return f"{_of(rules)} rules kept, {_of(misses)} near misses refused"


def _of(findings: Sequence[Finding]) -> str:
    return f"{sum(finding.ok for finding in findings)}/{len(findings)}"
