"""Composing: links, order and roles become one task; every way in which parts do not fit is one line."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from crab.compose.composer import Catalogue
from crab.errors import CompositionError, DefinitionError
from crab.task import Needs, Output, SetupCall
from crab.testing.toy_subtasks import NUMBER, REPORT_MESSAGE, SEND_MESSAGE, TOY_SUBTASKS, WRITE_NOTE
from tests.crab.compose.documents import SOUND, changed, composed


def note(id: str, **more: Any) -> dict[str, Any]:
    """An instance that writes a note."""
    return {"id": id, "template": "write_note@1", "parameters": {"name": "list", "text": "bring bread"}, **more}


def notes(*ids: str, **after: list[str]) -> dict[str, Any]:
    """A document of notes with an explicit order."""
    document = changed("subtasks", to=[note(id) for id in ids])
    document["after"] = after
    return document


def edges(document: dict[str, Any]) -> set[tuple[str, str]]:
    """Which instance's last checkpoint comes before which one's first."""
    graph = composed(document).task.graph
    ends = (tuple(id.partition(".")[0] for id in edge) for edge in graph.edges)
    return {(before, after) for before, after in ends if before != after}


def test_a_link_hands_on_a_value_and_orders_two_parts() -> None:
    """The output of one part is the parameter of the next, whose checkpoints come after."""
    task = composed(SOUND)

    assert task.instances[1].values == {"number": "5550110", "text": "bring bread"}
    assert task.task.graph.order == (
        "note.notepad_open",
        "note.note_saved",
        "message.messages_open",
        "message.message_sent",
    )
    assert edges(SOUND) == {("note", "message")}
    assert task.task.environments == {"desktop": "toy_desktop", "phone": "toy_phone"}
    assert (task.task.description, task.task.family) == (SOUND["description"], "send_message")


def test_parts_without_order_are_parallel() -> None:
    """Where nothing is said, parts do not wait for one another, and keep the order of the document."""
    task = composed(notes("b", "a"))

    assert edges(notes("b", "a")) == set()
    assert [instance.id for instance in task.instances] == ["b", "a"]
    assert task.task.graph.sources == ("b.notepad_open", "a.notepad_open")


def test_after_orders_fork_and_join() -> None:
    """One part may come before two, and two before one."""
    document = notes("d", "c", "b", "a", b=["a"], c=["a"], d=["b", "c"])

    assert edges(document) == {("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")}
    assert [instance.id for instance in composed(document).instances] == ["a", "c", "b", "d"]


def test_an_order_said_twice_counts_once() -> None:
    """A link and an ``after`` between the same parts are one edge."""
    twice = {**copy.deepcopy(SOUND), "after": {"message": ["note"]}}

    assert composed(twice).task.graph.edges == composed(SOUND).task.graph.edges


def test_values_travel_through_several_links() -> None:
    """A linked value can be linked on."""
    document = copy.deepcopy(SOUND)
    document["subtasks"].append(
        {"id": "again", "template": "write_note@1", "parameters": {"name": "plan", "text": {"from": "message"}}}
    )

    assert composed(document).instances[2].values["text"] == "bring bread"


def test_roles_are_renamed_everywhere() -> None:
    """Two devices of a kind: graph, set-up, needs and extra actions speak of the task's roles."""
    report = replace(
        REPORT_MESSAGE,
        needs={"phone": Needs(probes=("inbox",), roles=("messages",))},
        extra_actions={"phone": ("shake",)},
    )
    document = changed("environments", to={"phone_a": "toy_phone", "phone_b": "toy_phone"})
    document["subtasks"] = [
        {
            "id": "send",
            "template": "send_message@1",
            "environments": {"phone": "phone_a"},
            "parameters": {"number": "5550110", "text": "call at noon"},
        },
        {
            "id": "report",
            "template": "report_message@1",
            "environments": {"phone": "phone_b"},
            "parameters": {"text": "call at noon"},
        },
    ]

    task = composed(document, catalogue=Catalogue([SEND_MESSAGE, report])).task

    assert task.graph["send.message_sent"].evaluator.environments == {"phone_a"}
    assert task.setup == (SetupCall("phone_b", "receive_message", {"sender": "5550123", "text": "call at noon"}),)
    assert task.needs == {
        "phone_a": Needs(("sent_messages", "application"), ("messages",)),
        "phone_b": Needs(("inbox",), ("messages",)),
    }
    assert task.extra_actions == {"phone_b": ("shake",)}


def test_setup_comes_in_the_order_of_solving() -> None:
    """Preparations of an earlier part come first, whatever the order of the document."""

    def arrives(text: str) -> dict[str, Any]:
        return {"template": "report_message@1", "parameters": {"text": text}}

    document = changed("subtasks", to=[{"id": "late", **arrives("second")}, {"id": "early", **arrives("first")}])
    document["after"] = {"late": ["early"]}

    assert [call.arguments["text"] for call in composed(document).task.setup] == ["first", "second"]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (
            changed("subtasks", 0, "template", to="write_notes@1"),
            "no subtask write_notes@1; did you mean write_note@1?",
        ),
        (changed("subtasks", 0, "template", to="write_note@2"), "no subtask write_note@2; did you mean write_note@1?"),
        (
            changed("subtasks", 0, "template", to="zzz@1"),
            "no subtask zzz@1; known are: report_message@1, send_message@1",
        ),
        (changed("subtasks", 1, "id", to="note"), "two subtasks share an id"),
        (changed("subtasks", 0, "parameters", "name", to=...), "subtask note: write_note@1: 'name' is missing"),
        (changed("subtasks", 0, "parameters", "size", to=3), "subtask note: write_note@1: 'size' is no parameter"),
        (changed("subtasks", 0, "parameters", "name", to=3), "name must be str (note_name), got 3"),
        (
            changed("subtasks", 1, "parameters", "text", to={"from": "nowhere"}),
            "subtask message: text comes from 'nowhere', which is not here",
        ),
        (
            changed("subtasks", 1, "parameters", "number", to={"from": "note"}),
            "subtask message: number wants a phone_number, 'note' gives a text",
        ),
        (
            changed("subtasks", 0, "parameters", "text", to={"from": "note"}),
            "subtasks wait for one another: note → note",
        ),
        (
            changed("subtasks", 0, "parameters", "text", to={"from": "message"}),
            "subtasks wait for one another: ",
        ),
        (notes("a", "b", "c", a=["c"], b=["a"], c=["b"]), "subtasks wait for one another: "),
        (notes("a", "b", b=["z"]), "after: there is no subtask 'z'"),
        (notes("a", "b", z=["b"]), "after: there is no subtask 'z'"),
        (
            changed("environments", to={"desktop": "toy_desktop"}),
            "subtask message: role 'phone' must be of kind 'toy_phone', the task has None",
        ),
        (
            changed("environments", "phone", to="toy_desktop"),
            "subtask message: role 'phone' must be of kind 'toy_phone', the task has 'toy_desktop'",
        ),
        (
            changed("subtasks", 1, "environments", to={"phone": "phone_b"}),
            "subtask message: role 'phone_b' must be of kind 'toy_phone', the task has None",
        ),
        (
            changed("subtasks", 1, "environments", to={"tablet": "phone"}),
            "subtask message: send_message@1 has no role 'tablet'",
        ),
        (changed("environments", "root", to="toy_desktop"), "'root' is always there by itself"),
    ],
)
def test_what_does_not_fit_is_one_line(document: dict[str, Any], said: str) -> None:
    """Every fault is told in one line that names the task and the part."""
    with pytest.raises(CompositionError) as caught:
        composed(document)

    message = str(caught.value)
    assert message.startswith("task note-by-message: ")
    assert said in message
    assert "\n" not in message


def test_a_cycle_is_spelled_out() -> None:
    """The parts are named around the circle, each before the one that waits for it."""
    with pytest.raises(CompositionError) as caught:
        composed(notes("a", "b", "c", a=["c"], b=["a"], c=["b"]))

    *ids, last = str(caught.value).rpartition(": ")[2].split(" → ")
    assert last == ids[0]
    assert sorted(ids) == ["a", "b", "c"]
    assert {"a→b", "b→c", "c→a"} == {f"{before}→{after}" for before, after in pairwise([*ids, last])}


def test_a_part_without_output_gives_nothing() -> None:
    """A link to a part that leaves nothing behind is refused."""
    silent = replace(WRITE_NOTE, output=None)

    with pytest.raises(CompositionError, match="text comes from 'note', which has no output"):
        composed(SOUND, catalogue=Catalogue([silent, SEND_MESSAGE]))


def test_a_template_that_breaks_its_contract_is_named() -> None:
    """An output whose value has the wrong type is refused where it arrives."""
    wrong = replace(WRITE_NOTE, output=Output(WRITE_NOTE.parameters[1].type, "a number", lambda values: 5))

    with pytest.raises(CompositionError, match=r"subtask message: send_message@1: text must be str"):
        composed(SOUND, catalogue=Catalogue([wrong, SEND_MESSAGE]))


def test_a_catalogue_holds_each_reference_once() -> None:
    """The same subtask twice is one; two different ones of a reference are refused; it iterates by reference."""
    catalogue = Catalogue([*TOY_SUBTASKS, WRITE_NOTE])

    assert len(catalogue) == 3
    assert [subtask.reference for subtask in catalogue] == ["report_message@1", "send_message@1", "write_note@1"]
    with pytest.raises(CompositionError, match="two subtasks are called write_note@1"):
        Catalogue([WRITE_NOTE, replace(WRITE_NOTE, tags=("other",))])
    with pytest.raises(CompositionError, match="known are: none"):
        Catalogue([]).get("write_note@1")


def test_types_are_the_same_when_their_names_are() -> None:
    """A declared word is its name: two objects of one name fit, two names do not."""
    assert replace(NUMBER, description="Other words.").name == NUMBER.name
    with pytest.raises(DefinitionError, match=r"number must be str \(phone_number\)"):
        SEND_MESSAGE.check({"number": 5, "text": "hi"})
