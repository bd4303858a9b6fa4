"""Validation of task documents, stage by stage: form, composition, description, and proof on devices."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crab.compose.composer import Catalogue, ComposedTask, compose
from crab.compose.document import Link, read_document
from crab.compose.matching import check_use
from crab.environment import Environment, Finding
from crab.errors import CrabError, DocumentError
from crab.loading import Project
from crab.run.build import load_kind
from crab.testing.subtask import prove_task

FORM, FITS, WORDS, PROOF = "form", "fits", "words", "proof"
"""The stages in order: JSON and schema; templates, links and values; the description names its values; devices."""


@dataclass(frozen=True)
class Validation:
    """What was found out about one document.

    Attributes:
        file: Where it lies.
        composed: The task; None where it does not compose.
        problems: What is wrong, by stage; a stage that is missing was not reached or not asked for.
        findings: Of the proof, one for each thing that was tried.
        unchanged: Whether the findings are those of an earlier validation of the very same things.
    """

    file: Path
    composed: ComposedTask | None
    problems: Mapping[str, tuple[str, ...]]
    findings: tuple[Finding, ...] = ()
    unchanged: bool = field(default=False)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong in any stage."""
        return not any(self.problems.values())

    @property
    def lines(self) -> list[str]:
        """Everything that is wrong, as lines."""
        return [line for stage in self.problems.values() for line in stage]


def validate_document(file: Path, catalogue: Catalogue) -> Validation:
    """Checks a document without any device: form, composition, description.

    Args:
        file: The document.
        catalogue: Where its templates are looked up.
    """
    try:
        composed = compose(read_document(file), catalogue)
    except DocumentError as error:
        return Validation(file, None, {FORM: (str(error),)})
    except CrabError as error:
        return Validation(file, None, {FORM: (), FITS: (str(error),)})
    fits = link_problems(composed) + environment_problems(composed)
    return Validation(file, composed, {FORM: (), FITS: tuple(fits), WORDS: tuple(description_problems(composed))})


def description_problems(composed: ComposedTask) -> list[str]:
    """Returns a line for each literal value that the description does not name: nobody could know it."""
    description = composed.document.description
    return [
        f"subtask {part.id}: the description does not name {name} = {value!r}"
        for part in composed.document.subtasks
        for name, value in part.parameters.items()
        if not isinstance(value, Link) and not _names(description, str(value))
    ]


def _names(description: str, value: str) -> bool:
    """Whether a value stands in a text as itself: a 3 is not named by 13, nor ``an`` by ``plan``."""
    before = r"(?<!\w)" if re.match(r"\w", value) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", value) else ""
    return re.search(f"{before}{re.escape(value)}{after}", description) is not None


def environment_problems(composed: ComposedTask) -> list[str]:
    """Returns a line for each environment that no subtask uses: each trial would start a device for nothing."""
    used = {role for instance in composed.instances for role in instance.roles.values()}
    return [
        f"environment {role!r} is used by no subtask; leave it out"
        for role in composed.document.environments
        if role not in used
    ]


def link_problems(composed: ComposedTask) -> list[str]:
    """Returns a line for each link that leads into a parameter nobody looks at."""
    subtasks = {instance.id: instance.subtask for instance in composed.instances}
    problems = []
    for part in composed.document.subtasks:
        for name, value in part.parameters.items():
            if isinstance(value, Link):
                try:
                    check_use(part.id, subtasks[part.id], name)
                except CrabError as error:
                    problems.append(str(error))
    return problems


def prove_document(validation: Validation, project: Project, *, seed: int = 0) -> Validation:
    """Proves a document that composes on devices of its own, started with their default providers.

    Args:
        validation: What `validate_document` found.
        project: Where its kinds of environment are looked up.
        seed: Of every trial.

    Returns:
        The validation with the stage of the proof; trouble with devices is a finding too.
    """
    composed = validation.composed
    if composed is None or not validation.ok:
        return validation
    environments: dict[str, Environment] = {}
    try:
        for role, kind in composed.task.environments.items():
            environments[role] = load_kind(project, kind).provider().start({})
        findings: Sequence[Finding] = prove_task(composed, environments, seed=seed).findings
    except CrabError as error:
        findings = (Finding("devices_start", ok=False, detail=str(error)),)
    finally:
        for environment in environments.values():
            environment.close()
    return with_findings(validation, findings)


def with_findings(validation: Validation, findings: Sequence[Finding], *, unchanged: bool = False) -> Validation:
    """Returns a validation with the findings of a proof."""
    wrong = tuple(f"{finding.name}: {finding.detail}" for finding in findings if not finding.ok)
    problems = {**validation.problems, PROOF: wrong}
    return Validation(validation.file, validation.composed, problems, tuple(findings), unchanged)
