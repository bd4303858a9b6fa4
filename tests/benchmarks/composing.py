"""Budgets of the catalogue: task documents to tasks."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from crab.compose.composer import Catalogue, compose
from crab.compose.document import SCHEMA_VERSION, read_document
from crab.testing.toy_subtasks import TOY_SUBTASKS
from tests.benchmarks.budget import Budget, cpu_per_call

TASKS = 120


def document(number: int) -> dict[str, Any]:
    """A task of two subtasks on two devices, the second fed by the first."""
    return {
        "schema_version": SCHEMA_VERSION,
        "id": f"task-{number}",
        "version": 1,
        "description": 'Save a note called "list" with the text "bring bread", then send that text to 5550110.',
        "environments": {"desktop": "toy_desktop", "phone": "toy_phone"},
        "subtasks": [
            {"id": "note", "template": "write_note@1", "parameters": {"name": "list", "text": "bring bread"}},
            {
                "id": "message",
                "template": "send_message@1",
                "parameters": {"number": "5550110", "text": {"from": "note"}},
            },
        ],
        "review": {"author": "benchmark"},
    }


def load_and_build() -> float:
    """CPU seconds of reading ``TASKS`` documents from files and composing each."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"task-{number}.json") for number in range(TASKS)]
        for number, path in enumerate(paths):
            path.write_text(json.dumps(document(number)), encoding="utf-8")
        catalogue = Catalogue(TOY_SUBTASKS)
        return cpu_per_call(lambda: [compose(read_document(path), catalogue) for path in paths], calls=1)


BUDGETS = (Budget(f"loading and building {TASKS} tasks", 0.3, "s CPU", load_and_build),)
