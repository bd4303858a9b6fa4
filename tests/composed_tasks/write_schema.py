"""Writes composed_tasks/schema.json, by which editors check task documents.

``python -m tests.composed_tasks.write_schema`` writes it anew.
"""

from __future__ import annotations

import json

from crab.compose.document import document_schema
from tests.architecture.tree import ROOT

SCHEMA = ROOT / "composed_tasks" / "schema.json"


def schema_text() -> str:
    """The schema as it is kept."""
    return json.dumps(document_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(schema_text(), encoding="utf-8")
