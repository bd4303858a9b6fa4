"""What can follow a subtask, and which links are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crab.compose.matching import check_link, check_use, followers, linkable, prepared_parameters, used_parameters
from crab.errors import CompositionError
from crab.task import Parameter
from crab.testing.toy_subtasks import NUMBER, REPORT_MESSAGE, SEND_MESSAGE, TEXT, TOY_SUBTASKS, WRITE_NOTE

IDLE = replace(WRITE_NOTE, id="idle", parameters=(*WRITE_NOTE.parameters, Parameter("mood", TEXT, ("gay", "glum"))))
"""Nothing looks at its parameter `mood`."""


def names(source: object = WRITE_NOTE, catalogue: object = TOY_SUBTASKS) -> list[str]:
    """What can follow, as ``subtask.parameter``."""
    assert isinstance(catalogue, tuple)
    return [f"{fit.subtask.id}.{fit.parameter}" for fit in followers(source, catalogue)]  # type: ignore[arg-type]


def test_an_output_fits_parameters_of_its_type() -> None:
    """Every subtask with a parameter of the output's type can follow, the same one among them; others cannot."""
    assert names() == ["send_message.text", "write_note.text", "report_message.text"]
    assert linkable(WRITE_NOTE.output, SEND_MESSAGE) == ("text",)
    assert linkable(SEND_MESSAGE.output, REPORT_MESSAGE) == ("text",)


def test_the_order_does_not_depend_on_the_catalogue() -> None:
    """What is offered comes in one order, however the catalogue is sorted; what needs set-up comes last."""
    assert names(catalogue=tuple(reversed(TOY_SUBTASKS))) == names()
    assert [fit.prepared for fit in followers(WRITE_NOTE, TOY_SUBTASKS)] == [False, False, True]


def test_without_an_output_nothing_follows() -> None:
    """A subtask that leaves nothing behind hands nothing on."""
    assert names(replace(WRITE_NOTE, output=None)) == []


def test_two_parameters_of_a_type_are_two_ways() -> None:
    """None of them hides the other."""
    double = replace(SEND_MESSAGE, parameters=(Parameter("number", TEXT, ("5550110",)), SEND_MESSAGE.parameters[1]))

    assert names(catalogue=(double,)) == ["send_message.number", "send_message.text"]


def test_what_a_template_reads_is_known() -> None:
    """Parameters of checkpoints, set-up and output are used; one that only the description names is not."""
    assert used_parameters(REPORT_MESSAGE) == {"text"}
    assert prepared_parameters(REPORT_MESSAGE) == {"text"}
    assert prepared_parameters(WRITE_NOTE) == frozenset()
    assert used_parameters(IDLE) == {"name", "text"}
    assert linkable(WRITE_NOTE.output, IDLE) == ("text",)


def test_links_that_cannot_be() -> None:
    """To itself, from nothing, of another type, to something nobody looks at: each has its line."""
    assert check_link("b", SEND_MESSAGE, "text", "a", WRITE_NOTE) is WRITE_NOTE.output
    with pytest.raises(CompositionError, match="subtask a: text cannot come from 'a' itself"):
        check_link("a", WRITE_NOTE, "text", "a", WRITE_NOTE)
    with pytest.raises(CompositionError, match="comes from 'a', which has no output"):
        check_link("b", SEND_MESSAGE, "text", "a", replace(WRITE_NOTE, output=None))
    with pytest.raises(CompositionError, match=f"number wants a {NUMBER.name}, 'a' gives a text"):
        check_link("b", SEND_MESSAGE, "number", "a", WRITE_NOTE)
    with pytest.raises(CompositionError, match="subtask b: mood is looked at by no checkpoint"):
        check_use("b", IDLE, "mood")
