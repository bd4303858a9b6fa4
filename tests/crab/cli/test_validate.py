"""``crab validate --prove``: every stage has its column, what was proven is not proven again, what failed is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.crab.cli.in_process import CommandLine, Done, crab
from tests.toy_project import NOTE_THEN_MESSAGE, WRITE_NOTE, write_task

__all__ = ["crab"]

SUBTASKS = '''\
"""Subtasks that are wrong in one way each."""

from dataclasses import replace

from crab.task import NearMiss, Parameter, perform
from crab.testing.toy_subtasks import TEXT, WRITE_NOTE


def half(values):
    yield perform("desktop", "open_application", name="Notepad")


def other(values):
    return WRITE_NOTE.solve({**values, "text": "something else"})


RIGHT = NearMiss("right", "note_saved", WRITE_NOTE.solve)
EASY = replace(WRITE_NOTE, id="easy", near_misses=(RIGHT, *WRITE_NOTE.near_misses))
STUCK = replace(WRITE_NOTE, id="stuck", solve=half)
IDLE = replace(WRITE_NOTE, id="idle", parameters=(*WRITE_NOTE.parameters, Parameter("mood", TEXT, ("gay", "glum"))))
WRONG = (EASY, STUCK, IDLE)
'''


@pytest.fixture
def wrong(crab: CommandLine) -> CommandLine:
    """A project with wrong subtasks beside the right ones."""
    (crab.project / "wrong_subtasks.py").write_text(SUBTASKS, encoding="utf-8")
    file = crab.project / "pyproject.toml"
    entry = '\nwrong = { object = "wrong_subtasks:WRONG", help = "Wrong ones." }\n'
    text = file.read_text(encoding="utf-8").replace("\n[tool.crab.agents]", f"{entry}\n[tool.crab.agents]")
    file.write_text(text, encoding="utf-8")
    return crab


def row(done: Done, id: str) -> list[str]:
    """A line of the table, without the task's id."""
    return next(line.split()[1:] for line in done.out.splitlines() if line.startswith(f"{id} "))


def test_every_stage_has_its_column(crab: CommandLine) -> None:
    """Two sound tasks, proven two at a time on devices of their own."""
    done = crab("validate", "--prove", "--jobs", "2")

    assert done.status == 0
    assert "task form fits words fresh oracle misses repeat reset" in " ".join(done.out.split())
    assert row(done, "write-note") == ["ok", "ok", "ok", "ok", "ok", "3/3", "ok", "ok"]
    assert row(done, "note-then-message") == ["ok", "ok", "ok", "ok", "ok", "5/5", "ok", "ok"]
    assert "2 of 2 tasks are right" in done.out


def test_what_was_proven_is_not_proven_again(crab: CommandLine) -> None:
    """An interrupted validation goes on where it stopped, and a change is proven alone."""
    first = crab("validate", "--prove", crab.project / "tasks" / "write-note.json")
    second = crab("validate", "--prove")
    write_task(crab.project, {**NOTE_THEN_MESSAGE, "tags": ["changed"]})
    third = crab("validate", "--prove")

    assert "unchanged" not in first.out
    assert "ok    write-note  7/7 rules kept, 3/3 near misses refused\n" in first.out
    assert "ok    write-note  7/7 rules kept, 3/3 near misses refused, unchanged\n" in second.out
    assert "ok    note-then-message  7/7 rules kept, 5/5 near misses refused\n" in second.out
    assert third.out.count("unchanged") == 1
    assert "unchanged" not in crab("validate", "--prove", "--fresh").out
    assert (crab.project / ".crab" / "validated.json").is_file()


def test_a_change_of_code_or_seed_is_proven(crab: CommandLine) -> None:
    """Proofs depend on the code of the devices and on the seed."""
    path = crab.project / "tasks" / "write-note.json"
    crab("validate", "--prove", path)
    assert "unchanged" in crab("validate", "--prove", path).out
    assert "unchanged" not in crab("validate", "--prove", path, "--seed", "1").out

    devices = crab.project / "toy_devices.py"
    devices.write_text(devices.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    assert "unchanged" not in crab("validate", "--prove", path, "--seed", "1").out


def test_the_file_of_proofs_can_be_chosen(crab: CommandLine, tmp_path: Path) -> None:
    """Then the project is left alone; a file that is something else is refused before anything is proven."""
    state = tmp_path / "deep" / "state.json"

    assert crab("validate", "--prove", "--state", state).status == 0
    assert sorted(json.loads(state.read_text(encoding="utf-8"))["tasks"]) == ["note-then-message", "write-note"]
    assert not (crab.project / ".crab").exists()
    for content in ("{", "[]", '{"schema_version": 1, "tasks": {"a": {}}}'):
        state.write_text(content, encoding="utf-8")
        assert "not a file that `crab validate` wrote" in crab.refused("validate", "--prove", "--state", state)
    state.write_text('{"schema_version": 0}', encoding="utf-8")
    assert crab("validate", "--prove", "--state", state, crab.project / "tasks" / "write-note.json").status == 0
    assert "below.json: cannot be" in crab.refused("validate", "--prove", "--state", state / "below.json")


def test_failed_proofs_say_what_and_are_tried_again(wrong: CommandLine) -> None:
    """A wrong solution that passes, a reference solution that does not: each in its column, with a line."""
    for name in ("easy", "stuck"):
        part = {**WRITE_NOTE["subtasks"][0], "template": f"{name}@1"}
        write_task(wrong.project, {**WRITE_NOTE, "id": name, "subtasks": [part]})
    done = wrong("validate", "--prove")

    assert done.status == 1
    assert row(done, "easy") == ["ok", "ok", "ok", "ok", "ok", "3/4", "ok", "ok"]
    assert "near_miss note.right: note.note_saved passed although the solution is wrong" in done.out
    assert row(done, "stuck")[4] == "FAIL"
    assert "oracle_scores_1: the oracle ended by" in done.out
    assert "2 of 4 tasks are right" in done.out
    again = wrong("validate", "--prove")
    assert again.status == 1
    assert "FAIL  easy  7/7 rules kept, 3/4 near misses refused\n" in again.out
    assert again.out.count("unchanged") == 2


def test_stages_before_the_proof_stop_it(wrong: CommandLine) -> None:
    """What does not compose, hands a value to nobody, or hides a value is not proven."""
    mute = {**WRITE_NOTE, "id": "mute", "description": "Save a note."}
    odd = {**WRITE_NOTE, "id": "odd", "subtasks": [{**WRITE_NOTE["subtasks"][0], "template": "no_such@1"}]}
    idle = {"id": "idle", "template": "idle@1", "parameters": {"name": "plan", "text": "hm", "mood": {"from": "note"}}}
    unused = {**WRITE_NOTE, "id": "unused", "subtasks": [*WRITE_NOTE["subtasks"], idle], "description": "hm"}
    for document in (mute, odd, unused):
        write_task(wrong.project, document)
    (wrong.project / "tasks" / "broken.json").write_text("{", encoding="utf-8")
    done = wrong("validate", "--prove")

    assert row(done, "broken")[:4] == ["FAIL", "-", "-", "-"]
    assert row(done, "odd")[:4] == ["ok", "FAIL", "-", "-"]
    assert row(done, "mute")[:4] == ["ok", "ok", "FAIL", "-"]
    assert row(done, "unused")[:2] == ["ok", "FAIL"]
    assert "subtask idle: mood is looked at by no checkpoint" in done.out
    assert "2 of 6 tasks are right" in done.out


def test_devices_that_do_not_start_are_a_finding(crab: CommandLine) -> None:
    """The task is not right here, and the other ones are still tried."""
    (crab.project / "toy_devices.py").write_text(
        (crab.project / "toy_devices.py").read_text(encoding="utf-8")
        + "\n\nfrom crab.errors import ProviderUnavailable\n\n\nclass Dead(HeldPhone):\n"
        "    def __init__(self):\n        raise ProviderUnavailable('no phone here', fix='buy one')\n\n\n"
        "HELD_PHONE = held(toy.TOY_PHONE, Dead)\n",
        encoding="utf-8",
    )
    done = crab("validate", "--prove")

    assert done.status == 1
    assert "devices_start: no phone here — buy one" in done.out
    assert "1 of 2 tasks are right" in done.out


def test_without_proof_nothing_is_kept(crab: CommandLine) -> None:
    """Checking documents leaves no file behind and starts no device."""
    done = crab("validate")

    assert done.status == 0
    assert row(done, "write-note") == ["ok", "ok", "ok"]
    assert not (crab.project / ".crab").exists()


def test_bundled_tasks_are_right_without_devices(crab: CommandLine) -> None:
    """The documents that come with CRAB pass every stage that needs no device."""
    crab.project = Path(__file__).resolve().parents[3]

    assert crab("validate").status == 0
