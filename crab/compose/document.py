"""Task documents: the JSON form of composed tasks, version 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crab.errors import DocumentError

SCHEMA_VERSION = 1
"""Of task documents; grows when a reader of the old version would misread the new one."""

MAXIMUM_BYTES = 1_000_000
"""A larger file is refused as not being a task document."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Link(_Part):
    """A parameter whose value is the output of another subtask of the task."""

    source: str = Field(alias="from", description="Id of the subtask instance whose output is taken.")


Literals = str | int | float | bool


class SubtaskDocument(_Part):
    """One subtask instance."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$", description="Unique in the task; prefixes its checkpoint ids.")
    template: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*@[1-9][0-9]*$", description="Subtask id and version.")
    environments: dict[str, str] = Field(
        default_factory=dict, description="Task role by template role; a role that is left out keeps its name."
    )
    parameters: dict[str, Link | Literals] = Field(default_factory=dict, description="Literal values and links.")


class Review(_Part):
    """Who stands for the document."""

    author: str
    reviewers: tuple[str, ...] = ()
    state: Literal["draft", "edited", "accepted"] = "draft"


class TaskDocument(_Part):
    """A composed task; one file each, whose name is the id."""

    schema_version: Literal[1]
    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", description="Readable; equals the file's name.")
    version: int = Field(ge=1, description="Grows whenever results may change.")
    description: str = Field(min_length=1, description="What the agent is told.")
    environments: dict[str, str] = Field(min_length=1, description="Kind of environment by role.")
    subtasks: tuple[SubtaskDocument, ...] = Field(min_length=1)
    after: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="Further order: subtask id → ids of those that come before it."
    )
    tags: tuple[str, ...] = ()
    family: str = Field(default="", description="Cluster for statistics; the last subtask's template when empty.")
    review: Review


def parse_document(text: str, where: str) -> TaskDocument:
    """Reads the text of a task document.

    Args:
        text: JSON.
        where: File name or other origin, for messages.

    Raises:
        DocumentError: Not JSON, a key twice, another schema version, or not of the form; it says where.
    """
    try:
        raw = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{where}: not a JSON document: {error}") from error
    if not isinstance(raw, dict):
        raise DocumentError(f"{where}: a task document is a JSON object, not {type(raw).__name__}")
    version = raw.get("schema_version")
    if version != SCHEMA_VERSION:
        raise DocumentError(f"{where}: schema_version is {version!r}, this CRAB reads {SCHEMA_VERSION}")
    try:
        return TaskDocument.model_validate_json(json.dumps(raw), strict=True)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in problem["loc"])
        raise DocumentError(f"{where}: {place}: {problem['msg']}") from error


def read_document(path: Path) -> TaskDocument:
    """Reads a task document from a file.

    Raises:
        DocumentError: It cannot be read, is no task document, or its id is not the file's name.
    """
    try:
        if path.stat().st_size > MAXIMUM_BYTES:
            raise DocumentError(f"{path}: larger than {MAXIMUM_BYTES} bytes, so no task document")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DocumentError(f"{path}: not UTF-8 text") from error
    document = parse_document(text, str(path))
    if document.id != path.stem:
        raise DocumentError(
            f"{path}: the id is {document.id!r}; rename the file to {document.id}.json or change the id"
        )
    return document


def document_text(document: TaskDocument) -> str:
    """Returns a document as JSON text in the form in which it is kept: two spaces, stable order, a line feed last."""
    return json.dumps(document.model_dump(mode="json", by_alias=True), indent=2, ensure_ascii=False) + "\n"


def document_schema() -> dict[str, Any]:
    """Returns the JSON schema of task documents (draft 2020-12)."""
    schema = TaskDocument.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"key {key!r} is given twice")
        result[key] = value
    return result


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
