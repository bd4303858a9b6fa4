"""Validation stage by stage, for tests of projects."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crab.loading import find_project
from crab.run.build import load_catalogue
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
