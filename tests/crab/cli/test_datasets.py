"""``crab tasks generate`` and ``export``: many documents from seeds, and tasks written out for others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crab.cli.datasets import read_seeds
from crab.compose.document import Link, document_text, read_document
from crab.errors import UsageError
from tests.crab.cli.in_process import CommandLine, crab
from tests.toy_project import NOTE_THEN_MESSAGE

__all__ = ["crab"]


def generate(crab: CommandLine, out: Path, seeds: str, *templates: str) -> list[Path]:
    """Generates into a folder and returns its files."""
    flags = [flag for template in templates for flag in ("--template", template)]
    done = crab("tasks", "generate", *flags, "--seeds", seeds, "--out", out)
    assert done.status == 0, done
    return sorted(out.glob("*.json"))


def test_single_and_chained_templates_for_many_seeds(crab: CommandLine, tmp_path: Path) -> None:
    """A document for each template and seed; a chain hands on what fits; all are right."""
    files = generate(crab, tmp_path / "set", "3", "send_message", "report_message,write_note,send_message")
    chain = read_document(tmp_path / "set" / "report-message-then-write-note-then-send-message-1.json")

    assert len(files) == 6
    assert [part.parameters.get("text") for part in chain.subtasks[1:]] == [
        Link.model_validate({"from": "report_message"}),
        Link.model_validate({"from": "write_note"}),
    ]
    assert {read_document(file).review.state for file in files} == {"draft"}
    assert "6 of 6 tasks are right" in crab("validate", tmp_path / "set").out


def test_the_same_seeds_make_the_same_files(crab: CommandLine, tmp_path: Path) -> None:
    """Generated sets can be made again, byte for byte."""
    one = generate(crab, tmp_path / "one", "2-3", "write_note")
    two = generate(crab, tmp_path / "two", "3,2", "write_note")

    assert [file.read_bytes() for file in one] == [file.read_bytes() for file in two]
    assert [file.name for file in one] == ["write-note-2.json", "write-note-3.json"]


def test_seeds_that_draw_nothing_new_are_left_out(crab: CommandLine, tmp_path: Path) -> None:
    """A small pool runs out; it is said how many seeds were in vain."""
    done = crab("tasks", "generate", "--template", "report_message", "--seeds", "50", "--out", tmp_path / "set")

    assert "report_message: 46 seeds draw values that an earlier one drew; left out" in done.out
    assert ": 4\n" in done.out
    assert len({read_document(file).description for file in (tmp_path / "set").glob("*.json")}) == 4


def test_a_document_lends_its_structure(crab: CommandLine, tmp_path: Path) -> None:
    """Links, order and roles of a task, with other values and words."""
    files = generate(crab, tmp_path / "set", "2", "note-then-message")
    document = read_document(files[0])

    assert [file.stem for file in files] == ["note-then-message-0", "note-then-message-1"]
    assert document.subtasks[1].parameters["text"] == Link.model_validate({"from": "note"})
    assert document.description.startswith("First save a note")


def test_parts_that_hand_on_nothing_come_one_after_another(crab: CommandLine, tmp_path: Path) -> None:
    """Where no parameter fits, order is all that is kept; the same template may come twice."""
    (file,) = generate(crab, tmp_path / "set", "1", "send_message,send_message")
    document = read_document(file)

    assert [part.id for part in document.subtasks] == ["send_message", "send_message_2"]
    assert document.subtasks[1].parameters["text"] == Link.model_validate({"from": "send_message"})


def test_nothing_is_overwritten(crab: CommandLine, tmp_path: Path) -> None:
    """Generating into files that are there is refused before any is written."""
    generate(crab, tmp_path / "set", "1", "write_note")
    flags = ("tasks", "generate", "--template", "write_note", "--seeds", "2", "--out", tmp_path / "set")

    assert "write-note-0.json is there already" in crab.refused(*flags)
    assert len(list((tmp_path / "set").iterdir())) == 1


@pytest.mark.parametrize(
    ("text", "seeds"), [("3", [0, 1, 2]), ("3-5", [3, 4, 5]), ("7,9", [7, 9]), ("1-2,2,8", [1, 2, 8]), ("5,", None)]
)
def test_seeds_are_counts_ranges_or_lists(text: str, seeds: list[int] | None) -> None:
    """As ``crab run --seeds`` counts, and as people number."""
    if seeds is not None:
        assert read_seeds(text) == seeds
        return
    with pytest.raises(UsageError, match=r"write a count \(10\)"):
        read_seeds(text)


@pytest.mark.parametrize("text", ["0", "-1", "x", "5-3", "", "1000000"])
def test_other_seeds_are_refused(text: str) -> None:
    """Nothing to make, or far too much."""
    with pytest.raises(UsageError, match=r"^--seeds "):
        read_seeds(text)


def test_export_writes_files_or_lines(crab: CommandLine, tmp_path: Path) -> None:
    """Single files in their one form, or one line each; both read back to the same documents."""
    assert crab("tasks", "export", "--to", "dir", "--out", tmp_path / "all").status == 0
    files = sorted((tmp_path / "all").iterdir())
    documents = [read_document(file) for file in files]
    assert [file.stem for file in files] == ["note-then-message", "write-note"]
    assert files[0].read_text(encoding="utf-8") == document_text(documents[0])

    crab("tasks", "export", "--to", "jsonl", "--out", tmp_path / "all.jsonl")
    lines = (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["note-then-message", "write-note"]
    assert json.loads(lines[0])["subtasks"][1]["parameters"] == NOTE_THEN_MESSAGE["subtasks"][1]["parameters"]

    printed = crab("tasks", "export", "write-note", "--to", "jsonl").out
    assert printed == lines[1] + "\n"


def test_export_refuses_what_it_cannot_do(crab: CommandLine, tmp_path: Path) -> None:
    """An unknown form, no folder, a place that is no folder."""
    assert "the forms are dir, jsonl" in crab.refused("tasks", "export", "--to", "csv")
    assert "name a folder with --out" in crab.refused("tasks", "export", "--to", "dir")
    (tmp_path / "file").touch()
    assert "cannot be written" in crab.refused("tasks", "export", "--to", "dir", "--out", tmp_path / "file")
