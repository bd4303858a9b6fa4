"""Task documents: what is well formed reads back as it was written, every fault is one line that says where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from crab.compose.document import (
    MAXIMUM_BYTES,
    Link,
    document_schema,
    document_text,
    parse_document,
    read_document,
)
from crab.errors import DocumentError
from tests.crab.compose.documents import SOUND, changed


def test_a_document_reads_back_as_it_was_written() -> None:
    """Reading, writing and reading again changes nothing, and the text is in the form in which it is kept."""
    document = parse_document(json.dumps(SOUND), "here")
    text = document_text(document)

    assert parse_document(text, "here") == document
    assert document_text(parse_document(text, "here")) == text
    assert text.endswith("}\n")
    assert text.startswith('{\n  "schema_version": 1,\n  "id": "note-by-message"')
    assert document.subtasks[1].parameters["text"] == Link.model_validate({"from": "note"})
    assert '"from": "note"' in text


def test_literals_keep_their_types() -> None:
    """A text stays a text, a number a number, a truth a truth."""
    values = {"a": "1", "b": 1, "c": 1.5, "d": True, "e": "Zürich"}
    document = parse_document(json.dumps(changed("subtasks", 0, "parameters", to=values)), "here")

    kept = document.subtasks[0].parameters
    assert {name: (type(value), value) for name, value in kept.items()} == {
        name: (type(value), value) for name, value in values.items()
    }
    assert "Zürich" in document_text(document)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a JSON document"),
        ("{", "not a JSON document"),
        ("[]", "a task document is a JSON object, not list"),
        ('"x"', "a task document is a JSON object, not str"),
        ("[" * 100_000, "not a JSON document"),
        ('{"schema_version": 1, "schema_version": 1}', "key 'schema_version' is given twice"),
        ('{"schema_version": NaN}', "NaN is not JSON"),
        ("{}", "schema_version is None, this CRAB reads 1"),
        (json.dumps(changed("schema_version", to=2)), "schema_version is 2, this CRAB reads 1"),
        (json.dumps(changed("schema_version", to="1")), "schema_version is '1', this CRAB reads 1"),
        (json.dumps(changed("id", to=...)), "id: Field required"),
        (json.dumps(changed("id", to="Note")), "id: String should match"),
        (json.dumps(changed("id", to="../up")), "id: String should match"),
        (json.dumps(changed("version", to=0)), "version: Input should be greater than or equal to 1"),
        (json.dumps(changed("version", to="1")), "version: Input should be a valid integer"),
        (json.dumps(changed("description", to="")), "description: String should have at least 1"),
        (json.dumps(changed("environments", to={})), "environments: Dictionary should have at least 1"),
        (json.dumps(changed("subtasks", to=[])), "subtasks: Tuple should have at least 1"),
        (json.dumps(changed("subtasks", 0, "template", to="write_note")), "subtasks.0.template: String should match"),
        (json.dumps(changed("subtasks", 0, "template", to="write_note@0")), "subtasks.0.template: String should match"),
        (json.dumps(changed("subtasks", 1, "id", to="2nd")), "subtasks.1.id: String should match"),
        (json.dumps(changed("subtasks", 0, "color", to="red")), "subtasks.0.color: Extra inputs"),
        (json.dumps(changed("subtasks", 0, "parameters", "name", to=None)), "subtasks.0.parameters.name"),
        (json.dumps(changed("subtasks", 0, "parameters", "name", to=["list"])), "subtasks.0.parameters.name"),
        (json.dumps(changed("subtasks", 1, "parameters", "text", to={"of": "note"})), "subtasks.1.parameters.text"),
        (json.dumps(changed("after", to={"note": "message"})), "after.note"),
        (json.dumps(changed("review", to=...)), "review: Field required"),
        (json.dumps(changed("review", "state", to="good")), "review.state: Input should be"),
        (json.dumps(changed("score", to=1)), "score: Extra inputs"),
    ],
)
def test_every_fault_is_one_line_that_says_where(text: str, said: str) -> None:
    """A document that is not well formed is refused in one line with its origin and the place."""
    with pytest.raises(DocumentError) as caught:
        parse_document(text, "tasks/here.json")

    message = str(caught.value)
    assert message.startswith("tasks/here.json: ")
    assert said in message
    assert "\n" not in message


def write(directory: Path, data: bytes, name: str = "note-by-message.json") -> Path:
    """Writes a file."""
    path = directory / name
    path.write_bytes(data)
    return path


def test_a_file_is_read(tmp_path: Path) -> None:
    """A document in a file of its name is read."""
    assert read_document(write(tmp_path, json.dumps(SOUND).encode())).id == "note-by-message"


@pytest.mark.parametrize(
    ("data", "name", "said"),
    [
        (json.dumps(SOUND).encode(), "other.json", "rename the file to note-by-message.json or change the id"),
        (b'{"schema_version": "\xff"}', "note-by-message.json", "not UTF-8 text"),
        (b" " * (MAXIMUM_BYTES + 1), "note-by-message.json", f"larger than {MAXIMUM_BYTES} bytes"),
    ],
    ids=["name", "text", "size"],
)
def test_a_file_that_is_no_document_is_refused(tmp_path: Path, data: bytes, name: str, said: str) -> None:
    """A file of another name, of no text, or too large is refused with its path."""
    path = write(tmp_path, data, name)

    with pytest.raises(DocumentError) as caught:
        read_document(path)

    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """A missing file, or a folder, is told with its path."""
    with pytest.raises(DocumentError, match=r"none\.json: cannot be read: No such file"):
        read_document(tmp_path / "none.json")
    with pytest.raises(DocumentError, match="cannot be read: Is a directory"):
        read_document(tmp_path)


@pytest.mark.parametrize(
    "document",
    [changed("id", to="Up"), changed("subtasks", to=[]), changed("score", to=1), changed("review", to=...)],
)
def test_the_schema_refuses_what_the_reader_refuses(document: dict[str, Any]) -> None:
    """The JSON schema for authors is one itself, takes the sound document, and refuses these."""
    schema = document_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)

    assert list(validator.iter_errors(SOUND)) == []
    assert list(validator.iter_errors(document)) != []
