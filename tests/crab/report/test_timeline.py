"""The viewer's story follows the record: which stop, which screenshot, which checkpoint states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crab.record.reader import TrialRecord
from crab.report.timeline import TEXT_LIMIT, Timeline, clipped
from tests.crab.report import stories
from tests.crab.report.fabricated import CONTACT, NOTE, QUARTER, TRIAGE, Story, begin_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run directory without trials."""
    return begin_run(tmp_path / "run")


def story_of(run: Path, path: str) -> dict[str, Any]:
    """Tells a recorded trial."""
    record = TrialRecord(run / "trials" / path)
    return Timeline(record.spec, record.events).document


def states(document: dict[str, Any]) -> dict[str, str]:
    """States of the checkpoints at each stop."""
    return {stop["id"]: stop["states"] for stop in document["stops"]}


def test_states_follow_the_record_step_by_step(run: Path) -> None:
    """A transient check is active with its successor, then implied by it; the rest opens one after the other."""
    stories.note_solved(run, "a")

    assert states(story_of(run, "a/save_meeting_note/s0")) == {
        "start": "aaww",
        "step-1": "aaww",
        "refused-1": "aaww",
        "step-2": "aaww",
        "step-3": "ipaw",
        "step-4": "ipaw",
        "step-5": "ippp",
        "end": "ippp",
    }


def test_unknown_is_shown_until_it_is_answered_and_failed_only_at_the_end(run: Path) -> None:
    """An evaluator that could not tell is not a failure; what is open when the agent stops is."""
    stories.contact_half(run, "a")
    found = states(story_of(run, "a/contact_number_to_note/s0"))

    assert found["step-1"] == "awaww"
    assert found["step-2"] == "awuww"
    assert found["step-3"] == "ppaaw"
    assert found["complete"] == "ppaaw"
    assert found["end"] == "ppffw"


def test_fork_opens_all_branches_and_join_waits_for_all(run: Path) -> None:
    """After the fork three checkpoints are active at once; the join waits until the last branch is through."""
    stories.mail_partly(run, "a")
    found = states(story_of(run, "a/sort_the_inbox/s0"))
    ids = [node.id for node in TRIAGE.checkpoints]

    active = {id for id, state in zip(ids, found["step-1"], strict=True) if state == "a"}
    assert active == {"invoices.folder_made", "newsletters.rule_written", "reply.draft_started"}
    assert found["end"][ids.index("inbox_empty")] == "w"


def test_an_invalid_trial_has_no_failed_checkpoints(run: Path) -> None:
    """When the machinery broke, nothing is held against the agent."""
    stories.quarter_failed(run, "a")
    document = story_of(run, "a/quarterly_report/s0")

    assert "f" not in document["stops"][-1]["states"]
    assert document["stops"][-1]["errors"][0]["blame"] == "infrastructure"


def test_an_action_belongs_to_the_observation_of_its_turn(run: Path) -> None:
    """Pixels that the agent saw when it decided; two actions of one decision share them."""
    stories.note_solved(run, "a")
    document = story_of(run, "a/save_meeting_note/s0")
    by_id = {stop["id"]: stop for stop in document["stops"]}

    def file(stop: str) -> str:
        shown = document["turns"][by_id[stop]["turn"]]["environments"]["desktop"]["frames"][-1]
        return str(shown["file"])

    assert file("step-1") == f"{stories.EMPTY.sha256}.png"
    assert file("step-2") == file("step-3") == f"{stories.EDITOR.sha256}.png"
    assert file("step-5") == f"{stories.DIALOG.sha256}.png"
    assert document["final"]["desktop"]["frames"][0]["file"] == f"{stories.SAVED.sha256}.png"


def test_questions_of_the_end_check_are_the_ends(run: Path) -> None:
    """What is asked again after the last action's own questions belongs to the end, not to the action."""
    story = Story(run, "a", NOTE).start("editor_in_front").observe(desktop=stories.EMPTY)
    story.decide(("click", {"x": 1, "y": 1})).act("desktop", "click", {"x": 1, "y": 1})
    story.check(editor_in_front=False, text_written=None)
    story.check(editor_in_front=False, text_written=True).passed("editor_in_front", "text_written")
    story.observe(0, desktop=stories.EMPTY).end("step_limit")
    document = story_of(run, "a/save_meeting_note/s0")
    step, end = document["stops"][-2:]

    assert [check["value"] for check in step["checks"]] == [False, None]
    assert step["passes"] == []
    assert step["states"] == "auww"
    assert [check["value"] for check in end["checks"]] == [False, True]
    assert end["states"] == "ipfw"


def test_a_refused_call_has_its_own_stop_with_what_was_skipped(run: Path) -> None:
    """One sees the reason, the arguments, and which calls fell with it."""
    stories.note_solved(run, "a")
    stop = next(stop for stop in story_of(run, "a/save_meeting_note/s0")["stops"] if stop["kind"] == "refused")

    assert (stop["title"], stop["reason"]) == ("clik", "unknown_action")
    assert stop["arguments"] == {"x": 600, "y": 300}
    assert [call["title"] for call in stop["skipped"]] == ["type_text"]


def test_a_decision_of_which_nothing_came_has_a_stop(run: Path) -> None:
    """In a trial still running, or killed, the last decision is not overlooked."""
    story = Story(run, "a", NOTE).start("editor_in_front").observe(desktop=stories.EMPTY)
    story.decide(("click", {"x": 1, "y": 1}), say="I begin.").leave()
    document = story_of(run, "a/save_meeting_note/s0")

    assert [stop["id"] for stop in document["stops"]] == ["start", "turn-1"]
    assert document["final"] is None


def test_two_steps_never_share_an_id(run: Path) -> None:
    """`complete` has the number of the step before it in the record, but its own place in the story."""
    for write in stories.SOLVERS.values():
        write(run, "a", 0)
    for task in (NOTE, CONTACT, TRIAGE, QUARTER):
        ids = [stop["id"] for stop in story_of(run, f"a/{task.id}/s0")["stops"]]
        assert len(set(ids)) == len(ids)


def test_a_scroll_without_a_place_is_where_the_pointer_was_left(run: Path) -> None:
    """The pointer is followed from action to action, in each environment apart."""
    story = Story(run, "a", CONTACT).start("find.contact_open")
    story.observe(desktop=stories.EMPTY, phone=stories.CONTACTS).decide()
    story.act("desktop", "drag", {"start": [1, 2], "end": [30, 40]}).act("phone", "tap", {"x": 5, "y": 6})
    story.act("desktop", "scroll", {"dx": 0, "dy": 1}).leave()
    scroll = story_of(run, "a/contact_number_to_note/s0")["stops"][-1]

    assert scroll["mark"]["at"] == (30.0, 40.0)


def test_what_is_long_is_cut_and_says_so() -> None:
    """A page stays small whatever a probe answered; the record has the rest."""
    assert clipped("a" * TEXT_LIMIT) == "a" * TEXT_LIMIT
    assert clipped("a" * (TEXT_LIMIT + 5)).endswith("… (5 more characters in the record)")
    assert clipped(list(range(150)))[-1] == "… (50 more in the record)"
    assert clipped({str(number): number for number in range(101)})["…"] == "1 more in the record"
    assert clipped([float("nan"), float("-inf"), 1.5, None, True]) == ["nan", "-inf", 1.5, None, True]
