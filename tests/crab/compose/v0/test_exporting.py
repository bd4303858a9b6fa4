"""Task documents in the form of CRAB v0, and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crab.compose.authoring import Part, Plan, draft
from crab.compose.composer import Catalogue, compose
from crab.compose.document import TaskDocument, read_document
from crab.compose.v0.exporting import export_task, losses
from crab.compose.v0.form import write
from crab.compose.v0.importing import import_task
from crab.errors import CompositionError
from crab.task import Parameter, ValueType
from crab.testing.toy_subtasks import TOY_SUBTASKS, WRITE_NOTE
from subtasks.ubuntu import SUBTASKS
from tests.architecture.tree import ROOT
from tests.crab.compose.v0.test_importing import DOCUMENTS, imported

CATALOGUE = Catalogue([*SUBTASKS, *TOY_SUBTASKS])

BUNDLED = sorted((ROOT / "composed_tasks" / "v0").rglob("*.json"))


def back_and_forth(document: TaskDocument, catalogue: Catalogue = CATALOGUE) -> TaskDocument:
    """A document exported and imported again."""
    task = export_task(document, catalogue)
    found = import_task(write(task), task.id, catalogue).document
    assert found is not None
    return found


def test_samples_come_back_byte_for_byte(v0_samples: list[Path]) -> None:
    """Importing and exporting changes nothing, whatever is wrong with a file."""
    for path in v0_samples:
        text = path.read_text(encoding="utf-8")
        document = import_task(text, path.stem, CATALOGUE).document
        assert document is not None
        assert write(export_task(document, CATALOGUE)) == text


REPORTED = {"stray_key", "unknown_attribute", "missing_node", "stray_output", "empty_output"}
"""Classes of faults that importing mends, by leaving something out."""

COMPUTED = {"misread_graph", "nothing_passed"}
"""Files without an output that our template computes and that CRAB v0 has where a subtask follows."""


@pytest.mark.parametrize("name", sorted(DOCUMENTS.keys() - REPORTED - COMPUTED))
def test_faulty_files_come_back_too(name: str) -> None:
    """Only what the form has no place for is dropped, and that was reported."""
    document = imported(name).document
    if document is None:
        return
    raw = json.loads(DOCUMENTS[name].read_text(encoding="utf-8"))

    assert json.loads(write(export_task(document, CATALOGUE))) == raw


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.stem)
def test_our_own_tasks_keep_their_meaning(path: Path) -> None:
    """A task of ours that went through the old form has the same words, values and order."""
    document = read_document(path)
    before, after = compose(document, CATALOGUE), compose(back_and_forth(document), CATALOGUE)

    assert after.task.description == before.task.description
    assert [instance.values for instance in after.instances] == [instance.values for instance in before.instances]
    assert [len(instance.subtask.near_misses) for instance in after.instances] == [
        len(instance.subtask.near_misses) for instance in before.instances
    ]
    assert len(after.task.graph.edges) == len(before.task.graph.edges)


def test_links_between_our_templates_come_back_as_links() -> None:
    """Equal values of equal types are links again, whatever CRAB v0 calls the types."""
    plan = Plan(
        (
            Part("show_file"),
            Part("add_line", links={"line": "show_file"}),
            Part("submit_text", links={"text": "add_line"}),
        )
    )
    document = draft(plan, CATALOGUE)

    again = back_and_forth(document)

    assert [part.parameters for part in again.subtasks] == [part.parameters for part in document.subtasks]
    assert again.after == document.after


def test_ids_are_kept_or_made_and_stay() -> None:
    """A file of ours gets the same UUID every time; an imported one has the one it had."""
    document = read_document(BUNDLED[0])

    assert export_task(document, CATALOGUE).id == export_task(document, CATALOGUE).id
    assert export_task(back_and_forth(document), CATALOGUE).id == export_task(document, CATALOGUE).id


def test_numbers_survive_as_text() -> None:
    """The old form knows only texts; the template says what they were."""
    count = Parameter("count", ValueType("count", "How many.", int), (3, 4))
    counted = WRITE_NOTE.__class__(
        **{**WRITE_NOTE.__dict__, "id": "counted", "parameters": (*WRITE_NOTE.parameters, count)},
    )
    document = draft(Plan((Part("counted"),), description="Three or 4: list, plan, idea."), Catalogue([counted]))

    again = back_and_forth(document, Catalogue([counted]))

    assert again.subtasks[0].parameters == document.subtasks[0].parameters


def test_what_the_form_cannot_say_is_said() -> None:
    """Two devices of a kind, and templates that CRAB v0 never had."""
    document = draft(Plan((Part("send_message", roles={"phone": "phone_b"}),)), CATALOGUE)

    assert losses(document, CATALOGUE) == [
        "send-message-0: send_message: which device is meant by phone",
        "send-message-0: send_message: CRAB v0 has no template send_message@1",
    ]
    assert losses(read_document(ROOT / "composed_tasks/v0/ubuntu/set-the-wallpaper.json"), CATALOGUE) == []


def test_an_unknown_template_is_not_exported() -> None:
    """Without its template, nobody knows what a subtask leaves."""
    document = draft(Plan((Part("write_note"),)), CATALOGUE)

    with pytest.raises(CompositionError, match="no subtask write_note@1"):
        export_task(document, Catalogue([]))
