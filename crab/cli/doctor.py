"""``crab doctor``: what the project's devices need on this machine, and how to get what is missing."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from crab.environment import Finding
from crab.loading import find_project
from crab.run.build import load_kind

NAMESAKE = "crab-framework"
"""Another distribution that installs a package called ``crab``; the two cannot share an environment."""


def doctor_command(project_folder: Path | None) -> int:
    """Prints one line for each thing looked at.

    Returns:
        0 when everything is as needed, else 1.
    """
    import typer

    project = find_project(explicit=project_folder)
    healthy = True
    for finding in (_namesake(), *_findings_of_devices(project_folder)):
        mark = "ok  " if finding.ok else "MISS"
        typer.echo(f"{mark}  {finding.name}: {finding.detail}")
        if not finding.ok:
            healthy = False
            typer.echo(f"      fix: {finding.fix}")
    typer.echo(f"project {project.name}: {'everything needed is here' if healthy else 'something is missing'}")
    return 0 if healthy else 1


def _findings_of_devices(project_folder: Path | None) -> list[Finding]:
    project = find_project(explicit=project_folder)
    findings: list[Finding] = []
    for id in project.entries("environments"):
        for provider in load_kind(project, id).providers.values():
            for finding in provider.diagnose():
                name = f"{id}/{provider.name}: {finding.name}"
                findings.append(Finding(name, finding.ok, finding.detail, finding.fix))
    return findings


def _namesake() -> Finding:
    try:
        distribution(NAMESAKE)
    except PackageNotFoundError:
        return Finding("package name", ok=True, detail="no other distribution installs `crab` here")
    return Finding(
        "package name",
        ok=False,
        detail=f"{NAMESAKE} is installed and overwrites the package `crab`",
        fix=f"pip uninstall {NAMESAKE}, then reinstall crab-eval",
    )
