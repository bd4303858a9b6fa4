"""Documents made from choices: they compose, say everything, give nothing away, and wait for a person."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crab.compose.authoring import Brief, Part, Plan, draft, literal_of
from crab.compose.composer import Catalogue, compose
from crab.compose.document import Link, TaskDocument, document_text, parse_document
from crab.errors import CompositionError
from crab.task import NearMiss, Parameter, Subtask
from crab.testing.toy_subtasks import REPORT_MESSAGE, SEND_MESSAGE, TEXT, TOY_SUBTASKS, WRITE_NOTE

CATALOGUE = Catalogue(TOY_SUBTASKS)

NOTE = Part("write_note", id="note", values={"name": "list", "text": "bring bread"})
SEND = Part("send_message", id="send", links={"text": "note"}, values={"number": "5550110"})


def made(*parts: Part, **choices: object) -> TaskDocument:
    """A document of the toys."""
    return draft(Plan(parts, **choices), CATALOGUE)  # type: ignore[arg-type]


def test_a_chain_says_what_to_do_in_order() -> None:
    """Literal values are named and a linked one is referred to; the document is whole, and a draft."""
    document = made(NOTE, SEND)

    assert document.description == (
        "First save a note called “list” that holds “bring bread” on the desktop. "
        'Then send the text of the note "list" as a message to “5550110” from the phone. '
        "The quotation marks “ ” around values are not part of them."
    )
    assert document.id == "write-note-then-send-message-0"
    assert document.tags == ("chain", "cross")
    assert document.environments == {"desktop": "toy_desktop", "phone": "toy_phone"}
    assert document.subtasks[1].parameters == {"number": "5550110", "text": Link.model_validate({"from": "note"})}
    assert document.review.state == "draft"
    assert parse_document(document_text(document), "here") == document


def test_single_tasks_speak_as_their_template_does() -> None:
    """One subtask is described by its own description."""
    document = made(NOTE)

    assert document.description == 'Save a note called "list" with the text "bring bread" on the desktop.'
    assert document.tags == ("single",)


def test_forks_and_joins_number_their_steps() -> None:
    """Who waits for whom is said; what waits for nobody is free."""
    report = Part("report_message", id="report", links={"text": "note"})
    document = made(NOTE, SEND, report, after={"report": ["send"]})

    assert document.tags == ("fork", "join", "cross")
    assert document.id == "write-note-and-send-message-and-report-message-0"
    chain = made(NOTE, SEND, replace(report, links={}), after={"report": ["send"]})
    assert [word for word in ("First", "Then", "At last") if f"{word} " in chain.description] == [
        "First",
        "Then",
        "At last",
    ]
    fork = made(NOTE, SEND, report).description
    assert "There are 3 steps" in fork
    assert "Step 2, once step 1 is done: Send" in fork
    assert "Step 3, once step 1 is done: A message" in fork
    join = made(NOTE, replace(SEND, links={}), report, after={"report": ["note", "send"]}).description
    assert "Step 3, once steps 1 and 2 are done: " in join
    loose = made(NOTE, replace(SEND, links={}))
    assert loose.description.startswith("Do these 2 things, in any order. (1) Save a note")
    assert loose.tags == ("parallel", "cross")


def test_a_template_without_clause_says_what_stands_for_what() -> None:
    """A linked value in a template's own sentences is a name in brackets, explained."""
    document = made(NOTE, Part("report_message", id="report", links={"text": "note"}))

    assert 'Then do this: A message "[TEXT]" arrived on the phone. Submit its text.' in document.description
    assert '[TEXT] stands for the text of the note "list".' in document.description


def test_phrases_go_through_several_links() -> None:
    """The words for a value that was handed on twice do not give it away."""
    bare = replace(SEND_MESSAGE, output=replace(SEND_MESSAGE.output, phrase="what was sent ({text})"))  # type: ignore[type-var]
    parts = (
        Part("report_message", id="report", values={"text": "água fria"}),
        Part("send_message", id="send", links={"text": "report"}),
        Part("write_note", id="note", links={"text": "send"}),
    )
    text = draft(Plan(parts), Catalogue([bare, WRITE_NOTE, REPORT_MESSAGE])).description

    assert "holds what was sent (the text of the message) on the desktop" in text
    assert text.count("água fria") == 1


def test_values_follow_from_the_seed_and_keep_apart() -> None:
    """The same seed draws the same; two parts of a template do not draw the same values while there are others."""
    notes = (Part("write_note"), Part("write_note"))
    one, again = made(*notes, seed=3), made(*notes, seed=3)

    assert one == again
    assert [part.id for part in one.subtasks] == ["write_note", "write_note_2"]
    for seed in range(20):
        first, second = made(*notes, seed=seed).subtasks
        assert first.parameters["name"] != second.parameters["name"]
        assert first.parameters["text"] != second.parameters["text"]
        assert made(Part("write_note"), seed=seed).subtasks[0].parameters == WRITE_NOTE.draw(seed)


def test_two_devices_of_a_kind_and_two_kinds_of_a_name() -> None:
    """Roles can be chosen; a role of the same name and another kind gets a name of its own."""
    twice = made(SEND_A, replace(SEND_A, id="b", roles={"phone": "phone_b"}))
    assert twice.environments == {"phone": "toy_phone", "phone_b": "toy_phone"}
    other = replace(WRITE_NOTE, id="other", environments={"phone": "toy_tablet"}, needs={}, solve=WRITE_NOTE.solve)
    catalogue = Catalogue([SEND_MESSAGE, replace(other, checkpoints=REPORT_MESSAGE.checkpoints)])

    mixed = draft(Plan((SEND_A, Part("other", values={"name": "list", "text": "hm"}))), catalogue)

    assert mixed.environments == {"phone": "toy_phone", "phone_b": "toy_tablet"}
    assert mixed.subtasks[1].environments == {"phone": "phone_b"}


SEND_A = Part("send_message", id="a", values={"number": "5550110", "text": "call at noon"})


@pytest.mark.parametrize(
    ("parts", "choices", "said"),
    [
        ((), {}, "at least one subtask"),
        ((Part("write_nota"),), {}, "did you mean write_note@1?"),
        ((NOTE, replace(NOTE)), {}, "two subtasks of the task are called 'note'"),
        ((replace(NOTE, id="A b"),), {}, "subtask id 'A b'"),
        ((NOTE, replace(SEND, links={"text": "nowhere"})), {}, "text comes from 'nowhere', which is not here"),
        ((NOTE, replace(SEND, links={"text": "send"})), {}, "text cannot come from 'send' itself"),
        ((NOTE, replace(SEND, links={"size": "note"})), {}, "send_message@1 has no parameter 'size'"),
        ((NOTE, replace(SEND, values={"text": "x"})), {}, "text has both a link and a value"),
        (
            (NOTE, Part("send_message", links={"number": "note"})),
            {},
            "number wants a phone_number, 'note' gives a text",
        ),
        ((NOTE, SEND), {"after": {"note": ["send"]}}, "wait for one another"),
        ((NOTE, SEND), {"after": {"note": ["nobody"]}}, "after: there is no subtask 'nobody'"),
        ((replace(NOTE, values={"name": 3}),), {}, "name must be str"),
        ((replace(SEND_A, roles={"tablet": "phone"}),), {}, "send_message@1 has no role 'tablet'"),
    ],
)
def test_what_does_not_fit_is_refused(parts: tuple[Part, ...], choices: dict[str, object], said: str) -> None:
    """Nothing is dropped silently: no link, no value, no order."""
    with pytest.raises(CompositionError) as caught:
        made(*parts, **choices)

    assert said in str(caught.value)


def test_a_link_that_nobody_looks_at_is_refused() -> None:
    """A value that no check depends on need not be found out, so it is no link."""
    idle = replace(WRITE_NOTE, id="idle", parameters=(*WRITE_NOTE.parameters, Parameter("mood", TEXT, ("gay", "glum"))))

    with pytest.raises(CompositionError, match="subtask idle: mood is looked at by no checkpoint"):
        draft(Plan((NOTE, Part("idle", links={"mood": "note"}))), Catalogue([WRITE_NOTE, idle]))


def test_an_order_that_links_give_is_not_said_again() -> None:
    """``after`` holds only what does not follow from links."""
    assert made(NOTE, SEND, after={"send": ["note"]}).after == {}


class Parrot:
    """A describer that says what it was told to say."""

    name = "parrot-1"

    def __init__(self, text: str) -> None:
        self.text = text
        self.brief: Brief | None = None

    def __call__(self, brief: Brief) -> str:
        self.brief = brief
        return self.text


def test_a_drafted_description_waits_for_a_person() -> None:
    """A describer's words are taken over as a draft that names it; it is told what to name and what to hide."""
    parts = (Part("report_message", id="report", values={"text": "água fria"}), replace(SEND, links={"text": "report"}))
    parrot = Parrot("  A message “água fria” came: submit it, then send it to 5550110.\n")
    document = draft(Plan(parts, author="Ada Example"), CATALOGUE, parrot)

    assert document.description == "A message “água fria” came: submit it, then send it to 5550110."
    assert document.review.state == "draft"
    assert document.review.author == "Ada Example, in the words of parrot-1"
    assert parrot.brief is not None
    assert parrot.brief.named == ("água fria", "5550110")
    assert "First do this: " in parrot.brief.draft


def test_a_drafted_description_that_misses_or_gives_away_is_refused() -> None:
    """Whatever worded it, the description names every literal value and no value that is to be found out."""
    secret = replace(NOTE_READ, output=replace(NOTE_READ.output, value=lambda values: "the secret 9"))  # type: ignore[type-var]
    catalogue = Catalogue([secret, SEND_MESSAGE])
    plan = Plan((replace(NOTE, subtask="read_note"), SEND))

    with pytest.raises(CompositionError, match="the description of parrot-1 does not name '5550110'"):
        draft(plan, catalogue, Parrot("Save “bring bread” as “list” and send it."))
    with pytest.raises(CompositionError, match="the description of parrot-1 gives 'the secret 9' away"):
        draft(plan, catalogue, Parrot("“list”, “bring bread”, 5550110: the secret 9."))
    assert "the secret 9" not in draft(plan, catalogue).description


NOTE_READ: Subtask = replace(
    WRITE_NOTE, id="read_note", near_misses=(NearMiss("a", "note_saved", WRITE_NOTE.solve),), clause=""
)


def test_a_template_that_hides_its_values_is_found_out() -> None:
    """A description that does not name a literal value is refused where it is made."""
    mute = replace(WRITE_NOTE, id="mute", description="Save a note.", clause="")

    with pytest.raises(CompositionError, match="the description does not name 'list'"):
        draft(Plan((replace(NOTE, subtask="mute"),)), Catalogue([mute]))


def test_own_words_are_kept() -> None:
    """A plan with a description of its own is worded by nobody else."""
    parrot = Parrot("parroted")

    document = draft(Plan((NOTE,), description="My words.", family="notes", tags=("mine",)), CATALOGUE, parrot)

    assert (document.description, document.family, document.tags) == ("My words.", "notes", ("single", "mine"))
    assert parrot.brief is None
    assert compose(document, CATALOGUE).task.family == "notes"


def test_values_written_as_text_get_their_type() -> None:
    """What is typed on a command line becomes what the parameter wants, or is refused."""
    number = replace(TEXT, name="count", python_type=int)
    flag = replace(TEXT, name="flag", python_type=bool)
    subtask = replace(
        WRITE_NOTE, parameters=(*WRITE_NOTE.parameters, Parameter("n", number, (1,)), Parameter("f", flag, (True,)))
    )

    assert [literal_of(subtask, "name", "7"), literal_of(subtask, "n", "7"), literal_of(subtask, "f", "false")] == [
        "7",
        7,
        False,
    ]
    for name, text in (("n", "seven"), ("f", "maybe"), ("size", "1")):
        with pytest.raises(CompositionError, match=r"must be|has no parameter"):
            literal_of(subtask, name, text)
