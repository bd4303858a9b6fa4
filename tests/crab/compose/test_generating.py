"""Plans for many documents: what a chain hands on, and what of a document is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crab.compose.composer import Catalogue
from crab.compose.document import TaskDocument
from crab.compose.generating import chain_of, generate, plan_of
from crab.errors import CompositionError
from crab.task import Parameter, SetupCall, Values
from crab.testing.toy_subtasks import REPORT_MESSAGE, SEND_MESSAGE, TEXT, TOY_SUBTASKS, WRITE_NOTE
from tests.crab.compose.documents import SOUND

CATALOGUE = Catalogue(TOY_SUBTASKS)


def greeted(values: Values) -> tuple[SetupCall, ...]:
    """A set-up that depends on one parameter."""
    return (SetupCall("phone", "receive_message", {"sender": "5550123", "text": values["greeting"]}),)


def test_a_chain_prefers_what_needs_no_set_up() -> None:
    """Of two parameters that fit, the one on which set-up depends comes second, wherever it is declared."""
    greeting = Parameter("greeting", TEXT, ("hello", "servus"))
    greet = replace(SEND_MESSAGE, id="greet", parameters=(greeting, *SEND_MESSAGE.parameters), setup=greeted)

    plan = chain_of(["write_note", "greet"], Catalogue([WRITE_NOTE, greet]))

    assert plan.parts[1].links == {"text": "write_note"}


def test_a_chain_without_a_fit_keeps_its_order() -> None:
    """Where nothing can be handed on, one part still comes after the other."""
    silent = replace(WRITE_NOTE, output=None)

    plan = chain_of(["write_note", "send_message", "write_note"], Catalogue([silent, SEND_MESSAGE]))

    assert [dict(part.links) for part in plan.parts] == [{}, {}, {"text": "send_message"}]
    assert [part.id for part in plan.parts] == ["write_note", "send_message", "write_note_3"]
    assert plan.after["send_message"] == ("write_note",)
    with pytest.raises(CompositionError, match="did you mean write_note@1"):
        chain_of(["write_not"], CATALOGUE)


def test_a_structure_is_taken_without_its_values() -> None:
    """Links, order, roles and family are kept; values and words are made anew for each seed."""
    document = TaskDocument.model_validate({**SOUND, "family": "notes"})
    made = generate(replace(plan_of(document), id="again"), range(4), CATALOGUE)

    assert {other.id for other in made.documents} | {f"again-{seed}" for seed in made.repeated} == {
        f"again-{seed}" for seed in range(4)
    }
    for other in made.documents:
        assert other.subtasks[1].parameters["text"] == document.subtasks[1].parameters["text"]
        assert other.family == "notes"
    assert len({other.description for other in made.documents}) == len(made.documents)


def test_the_same_values_are_made_once() -> None:
    """Seeds that draw what an earlier one drew are told, not made."""
    made = generate(chain_of(["report_message"], Catalogue([REPORT_MESSAGE])), range(30), Catalogue([REPORT_MESSAGE]))

    assert len(made.documents) == 4
    assert len(made.repeated) == 26
