"""Task documents on their way to a file: what is checked before, and how they are written."""

from __future__ import annotations

from pathlib import Path

from crab.compose.composer import Catalogue, compose
from crab.compose.document import Link, TaskDocument, document_text
from crab.compose.matching import prepared_parameters
from crab.errors import UsageError
from crab.testing.validation import description_problems


def require_named(document: TaskDocument, catalogue: Catalogue) -> None:
    """Checks that a description in somebody's own words says all that is asked.

    Raises:
        UsageError: A literal value is not named.
    """
    problems = description_problems(compose(document, catalogue))
    if problems:
        raise UsageError(f"{document.id}: {problems[0]}; word it anew")


def notes(document: TaskDocument, catalogue: Catalogue) -> list[str]:
    """Returns what an author should know about a document that composes."""
    return [
        f"the set-up of {part.id} depends on {name}, which {value.source} hands on; `crab validate --prove` tells "
        "whether the two get in each other's way"
        for part in document.subtasks
        for name, value in part.parameters.items()
        if isinstance(value, Link) and name in prepared_parameters(catalogue.get(part.template))
    ]


def write_new(document: TaskDocument, out: Path) -> Path:
    """Writes a document into a folder, or to a file that ends in ``.json``, and returns the file.

    Raises:
        UsageError: The file is there already, is not named like the id, or cannot be written.
    """
    path = out if out.suffix == ".json" else out / f"{document.id}.json"
    if path.stem != document.id:
        raise UsageError(f"{path}: a document's file is named {document.id}.json, like its id")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(document_text(document))
    except FileExistsError as error:
        raise UsageError(f"{path} is there already; remove it, or choose another --id") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
    return path


def write_text(path: Path, text: str) -> None:
    """Writes a file, its folder included; one that is there is replaced.

    Raises:
        UsageError: It cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
