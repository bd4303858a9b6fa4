"""``crab validate``: task documents are checked, and with ``--prove`` proven on devices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crab.environment import Finding
from crab.errors import UsageError
from crab.loading import Project, find_project
from crab.run.build import load_catalogue, own_task_paths
from crab.testing.proven import DEFAULT, ProofDigests, Proven
from crab.testing.validation import (
    FITS,
    FORM,
    PROOF,
    WORDS,
    Validation,
    prove_document,
    validate_document,
    with_findings,
)

if TYPE_CHECKING:
    from rich.table import Table

PROOFS = {
    "fresh": ("doing_nothing_scores_0",),
    "oracle": ("oracle_scores_1", "needs_are_complete"),
    "misses": ("near_miss",),
    "repeat": ("same_seed_same_result",),
    "reset": ("reset_brings_0_back",),
}
"""Columns of the table of proofs: heading → how the names of their findings begin."""


@dataclass(frozen=True)
class ValidateRequest:
    """What was asked for; see ``crab validate --help``."""

    paths: Sequence[Path]
    prove: bool
    jobs: int
    state: Path | None
    fresh: bool
    seed: int
    project: Path | None


def validate_command(request: ValidateRequest) -> int:
    """Prints a line for each document and what is wrong with it, and a table of several at the end.

    Returns:
        0 when all are right, else 1.

    Raises:
        UsageError: A path is missing, there is nothing to validate, or the file of earlier proofs is none.
    """
    import typer

    project = find_project(explicit=request.project)
    files = list(_files(request.paths)) if request.paths else list(own_task_paths(project).values())
    if not files:
        raise UsageError("nothing to validate; name a task document or a folder of them")
    done: dict[Path, Validation] = {}
    for validation in _validated(files, project, request):
        done[validation.file] = validation
        typer.echo(f"{'ok  ' if validation.ok else 'FAIL'}  {validation.file.stem}{_count(validation)}")
        for problem in validation.lines:
            typer.echo(f"      {problem}")
    ordered = [done[file] for file in dict.fromkeys(files)]
    if len(ordered) > 1:
        _show(_table(ordered, proofs=request.prove))
    right = sum(validation.ok for validation in ordered)
    typer.echo(f"{right} of {len(ordered)} tasks are right")
    return 0 if right == len(ordered) else 1


def _validated(files: Sequence[Path], project: Project, request: ValidateRequest) -> Iterator[Validation]:
    """Every document once, in the order in which they are done: those that need no device first."""
    catalogue = load_catalogue(project)
    checked = [validate_document(file, catalogue) for file in dict.fromkeys(files)]
    if not request.prove:
        yield from checked
        return
    proven = Proven(request.state or project.root / DEFAULT, fresh=request.fresh)
    digests = ProofDigests(project, request.seed)
    waiting: dict[str, list[Validation]] = {}
    for validation in checked:
        if validation.composed is None or not validation.ok:
            yield validation
            continue
        digest = digests.of(validation.composed)
        findings = proven.find(validation.composed.task.id, digest)
        if findings is not None:
            yield with_findings(validation, findings, unchanged=True)
        else:
            waiting.setdefault(digest, []).append(validation)
    pool = ThreadPoolExecutor(request.jobs, thread_name_prefix="prove")
    try:
        jobs = {
            pool.submit(prove_document, validation, project, seed=request.seed): (digest, validation)
            for digest, validations in waiting.items()
            for validation in validations
        }
        for job in as_completed(jobs):
            validation = job.result()
            if validation.composed is not None:
                proven.keep(validation.composed.task.id, jobs[job][0], validation.findings)
            yield validation
    finally:
        # Interrupted: what runs is let end, so that its devices are closed; what waits is dropped.
        pool.shutdown(cancel_futures=True)


def _count(validation: Validation) -> str:
    """Says how much was tried, how much of it is as it should be, and whether it was tried now."""
    if PROOF not in validation.problems:
        return ""
    misses = [finding for finding in validation.findings if finding.name.startswith(PROOFS["misses"])]
    rules = [finding for finding in validation.findings if finding not in misses]
    unchanged = ", unchanged" if validation.unchanged else ""
    return f"  {_of(rules)} rules kept, {_of(misses)} near misses refused{unchanged}"


def _of(findings: Sequence[Finding]) -> str:
    return f"{sum(finding.ok for finding in findings)}/{len(findings)}"


def _show(table: Table) -> None:
    """Prints a table as wide as it is: ids and marks are never cut, whatever the terminal."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console()
    width = Measurement.get(console, console.options.update(max_width=1000), table).maximum
    Console(width=max(width, console.width)).print(table)


def _table(validations: Iterable[Validation], *, proofs: bool) -> Table:
    from rich.table import Column, Table

    table = Table(
        Column("task", no_wrap=True, overflow="ignore"),
        *("form", "fits", "words"),
        *(PROOFS if proofs else ()),
        box=None,
        pad_edge=False,
    )
    for validation in validations:
        stages = [_mark(validation, stage) for stage in (FORM, FITS, WORDS)]
        tried = [_tried(validation, begin) for begin in PROOFS.values()] if proofs else []
        table.add_row(validation.file.stem, *stages, *tried)
    return table


def _mark(validation: Validation, stage: str) -> str:
    problems = validation.problems.get(stage)
    return "-" if problems is None else "FAIL" if problems else "ok"


def _tried(validation: Validation, begin: tuple[str, ...]) -> str:
    if PROOF not in validation.problems:
        return "-"
    found = [finding.ok for finding in validation.findings if finding.name.startswith(begin)]
    if begin == PROOFS["misses"] and found:
        return f"{sum(found)}/{len(found)}"
    return "-" if not found else "ok" if all(found) else "FAIL"


def _files(paths: Sequence[Path]) -> Iterable[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(path.rglob("*.json"))
        elif path.exists():
            yield path
        else:
            raise UsageError(f"{path}: no such file; name a task document or a folder of them")
