"""Task documents are well formed, in their one written form, and say all that is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from crab.compose.document import Link, document_text, read_document
from crab.testing.validation import description_problems
from subtasks.ubuntu import SUBTASKS
from tests.composed_tasks.documents import PATHS, composed
from tests.composed_tasks.write_schema import SCHEMA, schema_text

DOCUMENTS = [pytest.param(path, id=path.stem) for path in PATHS]


def test_schema_is_current() -> None:
    """The schema in the repository is the one the reader goes by."""
    assert SCHEMA.read_text(encoding="utf-8") == schema_text(), "run: python -m tests.composed_tasks.write_schema"


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(loaded)
    return loaded


@pytest.mark.parametrize("path", DOCUMENTS)
def test_document_meets_the_schema(path: Path, schema: dict[str, Any]) -> None:
    """Other tools that go by the schema accept what we accept."""
    jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), schema, jsonschema.Draft202012Validator)


@pytest.mark.parametrize("path", DOCUMENTS)
def test_document_is_in_its_written_form(path: Path) -> None:
    """A tool that reads and writes a document leaves no difference."""
    assert path.read_text(encoding="utf-8") == document_text(read_document(path))


@pytest.mark.parametrize("path", DOCUMENTS)
def test_document_composes_and_names_its_values(path: Path) -> None:
    """Whoever reads the description knows every value that no other subtask gives."""
    assert not description_problems(composed(path))


@pytest.mark.parametrize("path", DOCUMENTS)
def test_description_gives_no_hidden_value_away(path: Path) -> None:
    """A text that is to be read from a file does not stand in the description."""
    task = composed(path)
    values = {instance.id: instance.values for instance in task.instances}
    hidden = [
        values[part.id][name]
        for part in task.document.subtasks
        for name, value in part.parameters.items()
        if isinstance(value, Link) and part.template.startswith(("submit_text", "add_line", "write_with_vim"))
        if name in ("text", "line")
    ]

    assert not [value for value in hidden if value in task.task.description]


def test_every_template_is_used_alone_and_every_shape_is_there() -> None:
    """A task of each template alone, and at least one chain, join and fork."""
    tasks = [composed(path) for path in PATHS]
    alone = {task.instances[0].subtask.id for task in tasks if len(task.instances) == 1}
    tags = {tag for task in tasks for tag in task.task.tags}

    assert alone == {subtask.id for subtask in SUBTASKS}
    assert {"chain", "join", "fork"} <= tags
