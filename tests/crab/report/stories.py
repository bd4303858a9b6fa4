"""A made-up run: every sort of event, ending and graph that a report must show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from crab.record.schema import TaskSpec
from tests.crab.report.fabricated import CONTACT, NOTE, QUARTER, TRIAGE, Story, begin_run
from tests.crab.report.pictures import desktop, phone

EMPTY = desktop()
EDITOR = desktop("Untitled - Editor")
WRITTEN = desktop("Untitled - Editor", ["Ship on Friday, call Dana Whitfield"])
DIALOG = desktop("Untitled - Editor", ["Ship on Friday, call Dana Whitfield"], dialog="Save as")
SAVED = desktop("plan.txt - Editor", ["Ship on Friday, call Dana Whitfield"])
CONTACTS = phone("Contacts", ["Aroha Lindqvist", "Dana Whitfield", "Tomas Ferreira", "Wen Okafor"])
DANA = phone("Dana Whitfield", ["555-0142", "dana@example.org"])


def note_solved(run: Path, agent: str, seed: int = 0) -> None:
    """The chain, solved in five actions, one of them refused before; the way-check is implied."""
    story = Story(run, agent, NOTE, seed).start("editor_in_front", "text_written")
    story.observe(desktop=EMPTY).decide(
        ("double_click", {"x": 72, "y": 164}),
        think="The editor is not open. The Documents icon is at the left; the panel has an editor entry.",
        say="I open the editor from the panel.",
    ).act("desktop", "click", {"x": 214, "y": 703, "button": "left", "count": 1}).check(
        editor_in_front=False, text_written=False
    )
    story.observe(desktop=EDITOR).decide(("clik", {"x": 600, "y": 300}), ("type_text", {"text": "Ship"}))
    story.refuse("clik", "unknown_action", "no action 'clik'; did you mean 'click'?")
    story.refuse("type_text", "skipped", "not carried out, because an earlier call of this turn was refused")
    story.observe(desktop=EDITOR).decide(
        ("click", {"x": 600, "y": 300}),
        ("type_text", {"text": "Ship on Friday, call Dana Whitfield"}),
        say="I put the caret into the text and type the note.",
    ).act("desktop", "click", {"x": 600, "y": 300, "button": "left", "count": 1})
    story.check(editor_in_front=False, text_written=False)
    story.act("desktop", "type_text", {"text": "Ship on Friday, call Dana Whitfield"})
    story.check(editor_in_front=False, text_written=True).passed("editor_in_front", "text_written")
    story.check(file_saved=False)
    story.observe(desktop=WRITTEN).decide(("press_keys", {"keys": ["ctrl", "s"]}), say="I save it.")
    story.act("desktop", "press_keys", {"keys": ["ctrl", "s"]}).check(file_saved=False)
    story.observe(desktop=[WRITTEN, DIALOG]).decide(("click", {"x": 859, "y": 395}))
    story.act("desktop", "click", {"x": 859, "y": 395}, value={"window": "plan.txt - Editor"})
    story.check(file_saved=True, file_in_documents=True).observe(0, desktop=SAVED).end("success")


def contact_half(run: Path, agent: str, seed: int = 0) -> None:
    """Two devices; the number is found, the note is never written, and the agent says it is done."""
    story = Story(run, agent, CONTACT, seed).start("find.contact_open", "note.editor_in_front", "note.number_written")
    story.observe(desktop=EMPTY, phone=phone("Home", ["Contacts", "Messages", "Calendar"]))
    story.decide(("phone__tap", {"x": 270, "y": 200}), say="Contacts first.").act("phone", "tap", {"x": 270, "y": 200})
    story.check(find__contact_open=False, note__editor_in_front=False)
    story.observe(desktop=EMPTY, phone=CONTACTS)
    story.decide(("phone__swipe", {"x1": 270, "y1": 900, "x2": 270, "y2": 420, "duration": 0.3}))
    story.act("phone", "swipe", {"x1": 270, "y1": 900, "x2": 270, "y2": 420, "duration": 0.3})
    story.check(find__contact_open=False, note__editor_in_front=None)
    story.observe(desktop=EMPTY, phone=CONTACTS).decide(("phone__tap", {"x": 230, "y": 302}))
    story.act("phone", "tap", {"x": 230, "y": 302})
    story.check(find__contact_open=True, find__number_seen=True, note__editor_in_front=False)
    story.observe(desktop=EMPTY, phone=DANA).decide(("desktop__double_click", {"x": 68, "y": 164}))
    story.act("desktop", "double_click", {"x": 68, "y": 164}).check(note__editor_in_front=False)
    story.observe(desktop=EDITOR, phone=DANA).decide(("desktop__scroll", {"x": 680, "y": 380, "dx": 0, "dy": 3}))
    story.act("desktop", "scroll", {"x": 680, "y": 380, "dx": 0, "dy": 3}, error="nothing to scroll here")
    story.check(note__editor_in_front=False)
    story.observe(desktop=EDITOR, phone=DANA).decide(("complete", {}), say="Done.").act("root", "complete", {})
    story.check(note__editor_in_front=False).observe(0, desktop=EDITOR, phone=DANA).end("agent_complete")


def mail_partly(run: Path, agent: str, seed: int = 0) -> None:
    """The fork and join; ends at the step limit on the way."""
    story = Story(run, agent, TRIAGE, seed).start("mail_open")
    inbox = desktop("Inbox - Mail", ["Invoice 1042", "Weekly digest", "Order 77-18, please confirm"])
    moves: list[tuple[str, dict[str, Any], dict[str, bool]]] = [
        ("click", {"x": 302, "y": 703}, {"mail_open": True, "invoices__folder_made": False}),
        ("right_click", {"x": 330, "y": 160}, {"invoices__folder_made": True, "invoices__all_moved": False}),
        (
            "drag",
            {"start": [320, 158], "end": [640, 420]},
            {"invoices__all_moved": True, "reply__draft_started": False},
        ),
        ("press_keys", {"keys": ["ctrl", "r"]}, {"reply__draft_started": True, "reply__recipient_right": True}),
        ("long_press", {"x": 520, "y": 300, "duration": 1.0}, {"newsletters__rule_written": False}),
        ("wait", {"seconds": 2}, {"newsletters__rule_written": False}),
    ]
    for number, (name, arguments, checks) in enumerate(moves):
        story.observe(desktop=inbox if number else EMPTY).decide((name, arguments), say=f"Move {number + 1}.")
        story.act("root" if name == "wait" else "desktop", name, arguments).check(**checks)
    story.check(newsletters__rule_written=False).observe(0, desktop=inbox).end("step_limit", seconds=128.0)


def quarter_failed(run: Path, agent: str, seed: int = 0) -> None:
    """Twenty checkpoints; the environment breaks after the first, so the trial is invalid."""
    story = Story(run, agent, QUARTER, seed).start("workbook_open")
    story.observe(desktop=EMPTY).decide(("click", {"x": 124, "y": 703}))
    story.act("desktop", "click", {"x": 124, "y": 703}).check(workbook_open=True, part_a__opened=False)
    story.fault("observe", "the display server is gone", "infrastructure")
    story.end("environment_error", valid=False, seconds=9.0)


def idle(run: Path, agent: str, task: TaskSpec, first: str, seed: int = 0) -> None:
    """An agent that says at once that it is done."""
    story = Story(run, agent, task, seed).start(first)
    shown = {role: EMPTY if role == "desktop" else CONTACTS for role in story.spec.environments}
    story.observe(None, **shown).decide(("complete", {}), tokens=400).act("root", "complete", {})
    story.check(**{first.replace(".", "__"): False}).observe(0, **shown).end("agent_complete", seconds=3.0)


SOLVERS: Mapping[str, Callable[[Path, str, int], None]] = {
    "save_meeting_note": note_solved,
    "contact_number_to_note": contact_half,
    "sort_the_inbox": mail_partly,
    "quarterly_report": quarter_failed,
}

FIRST = {
    NOTE.id: "editor_in_front",
    CONTACT.id: "find.contact_open",
    TRIAGE.id: "mail_open",
    QUARTER.id: "workbook_open",
}


def fabricate(run: Path) -> Path:
    """A run of two agents on four tasks with two seeds: solved, half done, stopped, invalid, running, interrupted."""
    begin_run(run)
    for seed in (1, 2):
        for write in SOLVERS.values():
            write(run, "single", seed)
        for task in (NOTE, CONTACT, TRIAGE):
            idle(run, "noop", task, FIRST[task.id], seed)
    quarter_failed(run, "noop", 1)
    running = Story(run, "noop", QUARTER, 2).start("workbook_open")
    running.observe(desktop=EMPTY).decide(("click", {"x": 124, "y": 703})).leave()
    stopped = Story(run, "by_function", NOTE, 1).start("editor_in_front").observe(desktop=EMPTY)
    stopped.end("interrupted", valid=False, seconds=4.0)
    note_solved(run, "by_function", 2)
    return run
