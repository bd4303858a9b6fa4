"""Subtasks of the toy devices, each with its oracle and near misses; they compose across both devices."""

from __future__ import annotations

from crab.errors import ContentError
from crab.evaluator import Probes, evaluator, submitted
from crab.graph import CheckpointGraph, chain, checkpoint
from crab.observation import Observations
from crab.task import (
    NearMiss,
    Needs,
    Output,
    Parameter,
    SetupCall,
    Solution,
    Subtask,
    Values,
    ValueType,
    perform,
    submit,
)

TEXT = ValueType("text", "Any line of text.")
NOTE_NAME = ValueType("note_name", "Name of a note.")
NUMBER = ValueType("phone_number", "A phone number.")

WORDS = ("bring bread", "call at noon", "Zug um 9", "água fria")
SENDER = "5550123"


@evaluator
def application_in_front(env: Probes, name: str) -> bool:
    """Whether the application is in front."""
    return bool(env.probe("application") == name)


@evaluator
def note_holds(env: Probes, name: str, text: str) -> bool:
    """Whether the note's text equals the given one exactly."""
    return bool(env.probe("note", name=name) == text)


@evaluator
def message_sent(env: Probes, number: str, text: str) -> bool:
    """Whether exactly this message went to exactly this number."""
    return {"to": number, "text": text} in env.probe("sent_messages")


def point(observations: Observations, role: str, name: str) -> tuple[int, int]:
    """Returns the middle of the element with that name, as the accessibility tree shows it.

    Raises:
        ContentError: It is not on the screen.
    """
    tree = observations[role].accessibility
    node = tree.find(name=name) if tree else None
    if node is None or node.bounds is None:
        raise ContentError(f"oracle: no element {name!r} on {role}")
    return node.bounds.center


def _write_note(name: str, text: str, *, save: bool = True) -> Solution:
    seen = yield perform("desktop", "open_application", name="Notepad")
    for element, content in (("Name", name), ("Text", text)):
        x, y = point(seen, "desktop", element)
        yield perform("desktop", "click", x=x, y=y)
        seen = yield perform("desktop", "write_text", text=content)
    if save:
        x, y = point(seen, "desktop", "Save")
        yield perform("desktop", "click", x=x, y=y)


def _note_graph(values: Values) -> CheckpointGraph:
    return chain(
        checkpoint("notepad_open", application_in_front.bind(name="Notepad").on("desktop"), transient=True),
        checkpoint("note_saved", note_holds.bind(name=values["name"], text=values["text"]).on("desktop")),
    )


WRITE_NOTE = Subtask(
    id="write_note",
    version=1,
    description='Save a note called "{name}" with the text "{text}" on the desktop.',
    environments={"desktop": "toy_desktop"},
    parameters=(
        Parameter("name", NOTE_NAME, ("list", "plan", "idea")),
        Parameter("text", TEXT, WORDS),
    ),
    checkpoints=_note_graph,
    solve=lambda values: _write_note(values["name"], values["text"]),
    near_misses=(
        NearMiss("not_saved", "note_saved", lambda values: _write_note(values["name"], values["text"], save=False)),
        NearMiss("upper_case", "note_saved", lambda values: _write_note(values["name"], values["text"].upper())),
        NearMiss("other_note", "note_saved", lambda values: _write_note(values["name"] + "2", values["text"])),
    ),
    needs={"desktop": Needs(probes=("note", "application"), roles=("text_editor",))},
    output=Output(TEXT, 'the text of the note "{name}"', lambda values: values["text"]),
    clause="save a note called {name} that holds {text} on the desktop",
)


def _send(number: str, text: str, *, send: bool = True) -> Solution:
    seen = yield None
    x, y = point(seen, "phone", "Messages")
    seen = yield perform("phone", "tap", x=x, y=y)
    for element, content in (("To", number), ("Message", text)):
        x, y = point(seen, "phone", element)
        yield perform("phone", "tap", x=x, y=y)
        seen = yield perform("phone", "write_text", text=content)
    if send:
        x, y = point(seen, "phone", "Send")
        yield perform("phone", "tap", x=x, y=y)


SEND_MESSAGE = Subtask(
    id="send_message",
    version=1,
    description='Send the message "{text}" to {number} from the phone.',
    environments={"phone": "toy_phone"},
    parameters=(
        Parameter("number", NUMBER, ("5550110", "5550111")),
        Parameter("text", TEXT, WORDS),
    ),
    checkpoints=lambda values: chain(
        checkpoint("messages_open", application_in_front.bind(name="Messages").on("phone"), transient=True),
        checkpoint("message_sent", message_sent.bind(number=values["number"], text=values["text"]).on("phone")),
    ),
    solve=lambda values: _send(values["number"], values["text"]),
    near_misses=(
        NearMiss("not_sent", "message_sent", lambda values: _send(values["number"], values["text"], send=False)),
        NearMiss("other_number", "message_sent", lambda values: _send(values["number"] + "0", values["text"])),
    ),
    needs={"phone": Needs(probes=("sent_messages", "application"), roles=("messages",))},
    output=Output(TEXT, "the message", lambda values: values["text"]),
    clause="send {text} as a message to {number} from the phone",
)


def _answer(text: str) -> Solution:
    yield submit(text)


REPORT_MESSAGE = Subtask(
    id="report_message",
    version=1,
    description='A message "{text}" arrived on the phone. Submit its text.',
    environments={"phone": "toy_phone"},
    parameters=(Parameter("text", TEXT, WORDS),),
    checkpoints=lambda values: chain(checkpoint("answer_submitted", submitted(values["text"]))),
    solve=lambda values: _answer(values["text"]),
    near_misses=(
        NearMiss("part_of_answer", "answer_submitted", lambda values: _answer(values["text"][:-1])),
        NearMiss("upper_case", "answer_submitted", lambda values: _answer(values["text"].upper())),
    ),
    setup=lambda values: (SetupCall("phone", "receive_message", {"sender": SENDER, "text": values["text"]}),),
    output=Output(TEXT, "the text of the message", lambda values: values["text"]),
)

TOY_SUBTASKS = (WRITE_NOTE, SEND_MESSAGE, REPORT_MESSAGE)
"""All of them, as ``[tool.crab.subtasks]`` names them."""
