"""``crab tasks import``: foreign task files become task documents, with a report of what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from crab.cli.documents import write_text
from crab.compose.document import MAXIMUM_BYTES, document_text
from crab.compose.v0.faults import Severity
from crab.compose.v0.importing import Imported, contradictions, import_task, record_of
from crab.errors import UsageError
from crab.loading import find_project
from crab.run.build import load_catalogue

FORMS = ("v0",)
"""What task files are imported from."""


def import_command(
    form: str, paths: Sequence[Path], out: Path, report: Path | None, project_folder: Path | None
) -> int:
    """Imports files and prints every fault, the worst first.

    Args:
        form: One of `FORMS`.
        paths: Files, or folders of them.
        out: Folder the documents are written to.
        report: File for the report as JSON; None writes none.
        project_folder: Where the project lies.

    Returns:
        0 when every file became a document and none has more than notes, else 1.

    Raises:
        UsageError: The form is unknown, a path leads nowhere, or a document is there already.
    """
    import typer

    if form not in FORMS:
        raise UsageError(f"--from {form}: the forms are {', '.join(FORMS)}")
    catalogue = load_catalogue(find_project(explicit=project_folder))
    files = [import_task(_read(path), path.stem, catalogue) for path in _files(paths)]
    across = contradictions(files)
    files = [replace(file, faults=(*across.get(file.name, ()), *file.faults)) for file in files]
    targets = _targets(files, out)
    for path, text in targets.items():
        write_text(path, text)
    for file in files:
        typer.echo(f"{file.name} → {file.document.id if file.document else 'no document'}")
        for fault in file.faults:
            typer.echo(f"    {fault}")
    if report is not None:
        write_text(report, json.dumps(_report(files), indent=2, ensure_ascii=False) + "\n")
    faulty = [file for file in files if any(fault.severity < Severity.NOTE for fault in file.faults)]
    foreign = {template.reference for file in files for template in file.foreign}
    typer.echo(f"files: {len(files)}; drafts in {out}: {len(targets)}; files with faults: {len(faulty)}")
    if foreign:
        typer.echo(f"templates this project does not have, without which their tasks do not compose: {len(foreign)}")
    return 1 if faulty else 0


def _files(paths: Sequence[Path]) -> Iterable[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(path.rglob("*.json"))
        elif path.is_file():
            yield path
        else:
            raise UsageError(f"{path}: no such file; name task files or folders of them")


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAXIMUM_BYTES:
            raise UsageError(f"{path}: larger than {MAXIMUM_BYTES} bytes, so no task file")
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error


def _targets(files: Iterable[Imported], out: Path) -> dict[Path, str]:
    """Text by file; nothing is written when one of them is there already."""
    found: dict[Path, str] = {}
    for file in files:
        if file.document is None:
            continue
        path = out / f"{file.document.id}.json"
        if path.exists() or path in found:
            raise UsageError(f"{path} is there already; choose another --out, or remove it")
        found[path] = document_text(file.document)
    return found


def _report(files: Sequence[Imported]) -> dict[str, object]:
    foreign = {template.reference: record_of(template) for file in files for template in file.foreign}
    return {
        "schema_version": 1,
        "files": [
            {
                "name": file.name,
                "document": file.document.id if file.document else None,
                "faults": [
                    {"severity": fault.severity.name.lower(), "code": fault.code, "message": fault.message}
                    for fault in file.faults
                ],
            }
            for file in files
        ],
        "foreign_templates": [foreign[reference] for reference in sorted(foreign)],
    }
