"""Validation stage by stage, for tests of projects."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crab.compose.composer import Catalogue
from crab.loading import find_project
from crab.run.build import load_catalogue
from crab.testing.toy_subtasks import TOY_SUBTASKS
from crab.testing.validation import PROOF, WORDS, prove_document, validate_document
from tests.toy_project import WRITE_NOTE, write_project, write_task


def test_only_what_is_right_so_far_is_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A description that hides a value ends the validation before any device is started."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = write_project(tmp_path / "project")
    pyproject = folder / "pyproject.toml"
    devices = pyproject.read_text(encoding="utf-8").replace("toy_devices:HELD_", "crab.testing.toy:TOY_")
    pyproject.write_text(devices, encoding="utf-8")
    project = find_project(explicit=folder)
    catalogue = load_catalogue(project)
    mute = validate_document(write_task(folder, {**WRITE_NOTE, "id": "mute", "description": "Save."}), catalogue)
    sound = validate_document(folder / "tasks" / "write-note.json", catalogue)

    assert prove_document(mute, project) is mute
    assert PROOF not in mute.problems
    assert mute.problems[WORDS]
    proven = prove_document(sound, project)
    assert proven.ok
    assert [finding.name for finding in proven.findings][:3] == [
        "task_names_its_values",
        "environments_meet_its_needs",
        "doing_nothing_scores_0",
    ]


@pytest.mark.parametrize(
    ("text", "named"),
    [("Save 3 lines.", True), ("Save 13 lines.", False), ("Save “3”.", True), ("Save 3a.", False), ("3", True)],
)
def test_a_value_is_named_only_where_it_stands_by_itself(tmp_path: Path, text: str, named: bool) -> None:
    """A 3 inside a 13 tells nobody the value."""
    folder = write_project(tmp_path / "project")
    part = {"id": "note", "template": "write_note@1", "parameters": {"name": "Save", "text": "3"}}
    document = write_task(folder, {**WRITE_NOTE, "description": f"{text} Save", "subtasks": [part]})

    found = validate_document(document, Catalogue(TOY_SUBTASKS))

    assert found.ok is named


def test_a_device_that_no_subtask_uses_is_found(tmp_path: Path) -> None:
    """Every trial would start it for nothing, and its tools would be named after it."""
    folder = write_project(tmp_path / "project")
    environments = {"desktop": "toy_desktop", "tablet": "toy_phone"}

    found = validate_document(write_task(folder, {**WRITE_NOTE, "environments": environments}), Catalogue(TOY_SUBTASKS))

    assert found.lines == ["environment 'tablet' is used by no subtask; leave it out"]
