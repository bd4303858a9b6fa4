"""``crab compose``: choices become a document that composes, by flags or by questions; wrong ones become one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crab.cli.dialogue import Dialogue
from crab.compose.composer import Catalogue, compose
from crab.compose.document import Link, parse_document, read_document
from crab.testing.toy_subtasks import TOY_SUBTASKS
from tests.crab.cli.in_process import CommandLine, crab
from tests.crab.cli.terminal import Terminal

__all__ = ["crab"]

CATALOGUE = Catalogue(TOY_SUBTASKS)
CHAIN = ("compose", "--subtasks", "note=write_note,send=send_message", "--link", "send.text=note")


def test_flags_make_a_document(crab: CommandLine) -> None:
    """Without a place it is printed: valid, composable, a draft."""
    done = crab(*CHAIN, "--value", "note.text=call at noon", "--seed", "4", "--author", "Ada Example")
    document = parse_document(done.out, "printed")

    assert done.status == 0
    assert document.subtasks[0].parameters["text"] == "call at noon"
    assert document.subtasks[1].parameters["text"] == Link.model_validate({"from": "note"})
    assert (document.review.author, document.review.state) == ("Ada Example", "draft")
    assert compose(document, CATALOGUE).task.family == "send_message"


def test_a_file_is_written_once(crab: CommandLine, tmp_path: Path) -> None:
    """A folder gets ``<id>.json``, a file gives its name to the id; neither is ever overwritten."""
    folder = tmp_path / "new" / "tasks"

    assert crab(*CHAIN, "--out", folder).out.strip() == str(folder / "write-note-then-send-message-0.json")
    assert "is there already" in crab.refused(*CHAIN, "--out", folder)
    assert crab(*CHAIN, "--out", folder / "mine.json").status == 0
    assert read_document(folder / "mine.json").id == "mine"
    assert "named other.json" in crab.refused(*CHAIN, "--id", "other", "--out", folder / "mine.json")
    assert "2 of 2 tasks are right" in crab("validate", folder).out


def test_order_roles_and_words_can_be_chosen(crab: CommandLine) -> None:
    """Every choice of a document has its flag."""
    words = "Message bring bread to 5550110 from each phone, the second first."
    done = crab(
        *("compose", "--subtasks", "a=send_message,b=send_message", "--role", "b.phone=phone_b", "--after", "a=b"),
        *("--value", "a.text=bring bread", "--value", "b.text=bring bread", "--value", "a.number=5550110"),
        *("--value", "b.number=5550110", "--id", "two-phones", "--description", words, "--family", "phones"),
    )
    document = json.loads(done.out)

    assert document["environments"] == {"phone": "toy_phone", "phone_b": "toy_phone"}
    assert document["after"] == {"a": ["b"]}
    assert (document["id"], document["family"], document["description"]) == ("two-phones", "phones", words)


def test_a_link_into_set_up_is_pointed_out(crab: CommandLine) -> None:
    """It may be meant, so it is a note, on the other stream."""
    done = crab("compose", "--subtasks", "write_note,report_message", "--link", "report_message.text=write_note")

    assert done.status == 0
    assert "the set-up of report_message depends on text" in done.err
    json.loads(done.out)


def test_a_describer_is_named_by_an_import_string(crab: CommandLine) -> None:
    """What drafts descriptions is the project's own; it is recorded, and held to the values."""
    (crab.project / "wording.py").write_text(
        "class Shouting:\n"
        "    name = 'shouting-1'\n\n"
        "    def __call__(self, brief):\n"
        "        return 'PLEASE: ' + brief.draft\n\n\n"
        "def silent(brief):\n"
        "    return ''\n\n\n"
        "silent.name = 'silent-1'\n"
        "nothing = 3\n",
        encoding="utf-8",
    )
    document = json.loads(crab(*CHAIN, "--describer", "wording:Shouting").out)

    assert document["description"].startswith("PLEASE: First save")
    assert document["review"] == {
        "author": "crab compose, in the words of shouting-1",
        "reviewers": [],
        "state": "draft",
    }
    assert "silent-1 does not name" in crab.refused(*CHAIN, "--describer", "wording:silent")
    assert "must have a `name`" in crab.refused(*CHAIN, "--describer", "wording:nothing")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--subtasks", "write_nota"), "did you mean write_note@1?"),
        (("--subtasks", "write_note,write_note"), "ID=SUBTASK"),
        (("--subtasks", "write_note", "--link", "write_note.text=write_note"), "from 'write_note' itself"),
        (("--subtasks", "write_note", "--link", "text=write_note"), "SUBTASK.PARAMETER=SUBTASK"),
        (("--subtasks", "write_note", "--link", "other.text=write_note"), "there is no subtask 'other'"),
        (("--subtasks", "write_note", "--value", "write_note.size=3"), "has no parameter 'size'"),
        (("--subtasks", "write_note", "--value", "write_note.text"), "SUBTASK.PARAMETER=VALUE"),
        (("--subtasks", "write_note", "--value", "write_note.text=a", "--value", "write_note.text=b"), "given twice"),
        (("--subtasks", "write_note", "--after", "write_note"), "SUBTASK=SUBTASK"),
        (("--subtasks", "write_note", "--after", "write_note=other"), "there is no subtask 'other'"),
        (("--subtasks", "write_note", "--role", "write_note.tablet=x"), "no role 'tablet'"),
        (("--subtasks", "write_note", "--id", "My Task"), "task id 'My Task'"),
        (("--subtasks", "write_note", "--description", "Do it."), "does not name"),
        (("--subtasks", ","), "at least one subtask"),
        (("--link", "a.b=c"), "there is no subtask 'a'"),
        ((), "name --subtasks"),
    ],
)
def test_wrong_choices_are_one_line(crab: CommandLine, flags: tuple[str, ...], said: str) -> None:
    """It says what is wrong and what to write instead."""
    assert said in crab.refused("compose", *flags)


class Person:
    """Answers questions in order and remembers what was said."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.said: list[str] = []

    def ask(self, question: str, default: str) -> str:
        self.asked.append(question)
        return self.answers.pop(0) or default


def test_a_dialogue_leads_to_a_document(tmp_path: Path) -> None:
    """Start, what can follow, values, words, file; answers that cannot be are asked again."""
    person = Person(
        *("write_nota", "3", "list", ""),  # start with write_note; its name and text
        *("send_mesage", "1", "5550110"),  # a misspelt subtask, then the first offer, send_message
        *("report_message", "nobody"),  # something unlinked after nobody: refused
        *("write_note", "send_message", "idea", "=send_message"),  # a second note, linked by hand
        "",  # enough
        *("Too short.", ""),  # own words that name nothing, then the offered ones
        *("My Task", "my-task", ""),  # a bad id, a good one, the offered folder
    )
    path = Dialogue(CATALOGUE, person.ask, person.said.append).run(tmp_path, 0, "Ada Example")
    document = read_document(path)

    assert not person.answers
    assert path == tmp_path / "my-task.json"
    assert [part.id for part in document.subtasks] == ["write_note", "send_message", "write_note_2"]
    assert document.subtasks[0].parameters["name"] == "list"
    assert document.subtasks[2].parameters == {"name": "idea", "text": Link.model_validate({"from": "send_message"})}
    assert document.review.state == "draft"
    said = "\n".join(person.said)
    assert "did you mean write_note@1?" in said
    assert "   1  send_message, its text from write_note" in said
    assert "   3  report_message, its text from write_note (its set-up depends on it)" in said
    assert "there is no subtask 'nobody'" in said
    assert "does not name" in said
    assert "task id 'My Task'" in said


def test_the_dialogue_runs_on_a_terminal(crab: CommandLine) -> None:
    """``crab compose`` alone asks, on a real terminal."""
    with Terminal("compose", "--project", str(crab.project), cwd=crab.project) as terminal:
        terminal.answer("Start with", "write_note")
        terminal.answer("write_note: name", "plan")
        terminal.answer("write_note: text", "água fria")
        terminal.answer("Add (number", "")
        terminal.answer("Other words", "")
        terminal.answer("Id of the task", "by-hand")
        terminal.answer("Folder", "")
        status = terminal.end()

    assert status == 0
    assert read_document(crab.project / "tasks" / "by-hand.json").subtasks[0].parameters == {
        "name": "plan",
        "text": "água fria",
    }
