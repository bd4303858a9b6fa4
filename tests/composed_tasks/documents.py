"""The task documents that come with CRAB, composed."""

from __future__ import annotations

from pathlib import Path

from crab.compose.composer import Catalogue, ComposedTask, compose
from crab.compose.document import read_document
from subtasks.ubuntu import SUBTASKS
from tests.architecture.tree import ROOT

FOLDER = ROOT / "composed_tasks" / "v0"
PATHS: tuple[Path, ...] = tuple(sorted(FOLDER.rglob("*.json")))


def composed(path: Path) -> ComposedTask:
    """The task of a document."""
    return compose(read_document(path), Catalogue(SUBTASKS))
