"""A project outside the repository, on the toy devices, written into a folder of the test's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PYPROJECT = """\
[project]
name = "toy-project"
version = "0"

[tool.crab]
tasks = ["tasks"]

[tool.crab.environments]
toy_desktop = { object = "toy_devices:HELD_DESKTOP", help = "A toy desktop that can be held at an action." }
toy_phone = { object = "toy_devices:HELD_PHONE", help = "A toy phone that can be held at an action." }

[tool.crab.subtasks]
toy = { object = "crab.testing.toy_subtasks:TOY_SUBTASKS", help = "Subtasks of the toy devices." }

[tool.crab.agents]
unmade = { object = "toy_agents:UnmadeAgent", help = "Raises while it is made." }
slow = { object = "toy_agents:SlowAgent", help = "Never decides." }
chatty = { object = "toy_agents:ChattyAgent", help = "Prints, and leaves processes behind." }
crashing = { object = "toy_agents:CrashingAgent", help = "Ends its process." }
"""

DEVICES = '''\
"""The toy devices, with a gate: while the file `gate` holds a number, the action of that number does not begin."""

from pathlib import Path
from time import sleep

from crab.hosting import in_process
from crab.testing import toy

GATE = Path(__file__).with_name("gate")
HELD = Path(__file__).with_name("held")
count = 0


def pass_gate() -> None:
    global count
    count += 1
    while GATE.exists() and GATE.read_text() == str(count):
        HELD.touch()
        sleep(0.002)


class HeldDesktop(toy.ToyDesktop):
    def click(self, x, y):
        pass_gate()
        super().click(x, y)

    def type(self, text):
        pass_gate()
        super().type(text)

    def open(self, application):
        pass_gate()
        super().open(application)


class HeldPhone(toy.ToyPhone):
    def click(self, x, y):
        pass_gate()
        super().click(x, y)

    def type(self, text):
        pass_gate()
        super().type(text)


def held(kind, device):
    return in_process(
        kind.kind,
        kind.description,
        device=device,
        actions=kind.actions.values(),
        extra_actions=kind.extra_actions.values(),
        probes=kind.probes.values(),
        preparations=kind.preparations.values(),
        applications=kind.provider().describe().applications,
    )


HELD_DESKTOP = held(toy.TOY_DESKTOP, HeldDesktop)
HELD_PHONE = held(toy.TOY_PHONE, HeldPhone)
'''

AGENTS = '''\
"""Agents that misbehave."""

import os
import signal
import subprocess
import threading

from crab.agent import Call, Decision


class SlowAgent:
    name = "slow"

    def start(self, view):
        pass

    def decide(self, observations):
        threading.Event().wait()

    def close(self):
        pass


class UnmadeAgent(SlowAgent):
    def __init__(self):
        raise RuntimeError("no key is set")


class ChattyAgent(SlowAgent):
    name = "chatty"

    def decide(self, observations):
        print("not an event")
        os.write(1, b"nor this")
        subprocess.Popen(["sleep", "987"])
        subprocess.Popen(["sleep", "987"], start_new_session=True)
        return Decision((Call("complete"),))


class CrashingAgent(SlowAgent):
    name = "crashing"

    def decide(self, observations):
        os.kill(os.getpid(), signal.SIGKILL)
'''

NOTE_THEN_MESSAGE: Mapping[str, Any] = {
    "schema_version": 1,
    "id": "note-then-message",
    "version": 1,
    "description": 'Save a note called "list" with the text "bring bread" on the desktop, then message it to 5550110.',
    "environments": {"desktop": "toy_desktop", "phone": "toy_phone"},
    "subtasks": [
        {"id": "note", "template": "write_note@1", "parameters": {"name": "list", "text": "bring bread"}},
        {"id": "send", "template": "send_message@1", "parameters": {"number": "5550110", "text": {"from": "note"}}},
    ],
    "tags": ["toy", "cross"],
    "review": {"author": "tests", "state": "accepted"},
}
"""Two devices, a link, twelve actions by the oracle: six on each device."""

WRITE_NOTE: Mapping[str, Any] = {
    "schema_version": 1,
    "id": "write-note",
    "version": 1,
    "description": 'Save a note called "plan" with the text "call at noon" on the desktop.',
    "environments": {"desktop": "toy_desktop"},
    "subtasks": [{"id": "note", "template": "write_note@1", "parameters": {"name": "plan", "text": "call at noon"}}],
    "tags": ["toy"],
    "review": {"author": "tests", "state": "accepted"},
}
"""One device."""

STEPS = 12
"""Executed actions of the oracle on `NOTE_THEN_MESSAGE`."""


def write_project(folder: Path) -> Path:
    """Writes the project and returns its folder."""
    (folder / "tasks").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    (folder / "toy_devices.py").write_text(DEVICES, encoding="utf-8")
    (folder / "toy_agents.py").write_text(AGENTS, encoding="utf-8")
    for document in (NOTE_THEN_MESSAGE, WRITE_NOTE):
        write_task(folder, document)
    return folder


def write_task(folder: Path, document: Mapping[str, Any]) -> Path:
    """Writes a task document and returns its file."""
    path = folder / "tasks" / f"{document['id']}.json"
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False), encoding="utf-8")
    return path
