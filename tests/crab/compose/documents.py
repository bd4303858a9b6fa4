"""A sound task document of the toys, and ways to change it."""

from __future__ import annotations

import copy
from typing import Any

from crab.compose.composer import Catalogue, ComposedTask, compose
from crab.compose.document import TaskDocument
from crab.testing.toy_subtasks import TOY_SUBTASKS

SOUND: dict[str, Any] = {
    "schema_version": 1,
    "id": "note-by-message",
    "version": 1,
    "description": 'Save a note called "list" with the text "bring bread", and send that text to 5550110.',
    "environments": {"desktop": "toy_desktop", "phone": "toy_phone"},
    "subtasks": [
        {"id": "note", "template": "write_note@1", "parameters": {"name": "list", "text": "bring bread"}},
        {"id": "message", "template": "send_message@1", "parameters": {"number": "5550110", "text": {"from": "note"}}},
    ],
    "review": {"author": "example"},
}


def changed(*path: str | int, to: Any) -> dict[str, Any]:
    """The sound document with one value changed, or taken away when `to` is Ellipsis."""
    document = copy.deepcopy(SOUND)
    place: Any = document
    for key in path[:-1]:
        place = place[key]
    if to is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return document


def composed(document: dict[str, Any], *, catalogue: Catalogue | None = None) -> ComposedTask:
    """The task of a document of the toys."""
    return compose(TaskDocument.model_validate(document), catalogue or Catalogue(TOY_SUBTASKS))
