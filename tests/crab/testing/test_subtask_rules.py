"""Every part of a proof finds a subtask, or a device, that breaks it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from crab.compose.composer import Catalogue, compose
from crab.compose.document import TaskDocument
from crab.environment import Environment
from crab.errors import DefinitionError
from crab.evaluator import Probes, evaluator
from crab.graph import CheckpointGraph, chain, checkpoint
from crab.hosting import HostedEnvironment
from crab.record.schema import LimitsSpec
from crab.task import NearMiss, Needs, Output, Parameter, SetupCall, Solution, Subtask, Values, perform, submit
from crab.testing.rules import failed
from crab.testing.subtask import Proof, ancestors, prove_subtask, prove_task, task_of
from crab.testing.toy import TOY_DESKTOP, TOY_PHONE, ToyDesktop
from crab.testing.toy_subtasks import NUMBER, TEXT, TOY_SUBTASKS, WRITE_NOTE, application_in_front, note_holds

ROUNDS = count()


def desktop(device: Callable[[], ToyDesktop] = ToyDesktop) -> dict[str, Environment]:
    """A toy desktop under the role ``desktop``."""
    return {"desktop": HostedEnvironment(TOY_DESKTOP, device(), TOY_DESKTOP.provider().describe())}


def saved(values: Values) -> CheckpointGraph:
    """Just that the note was saved."""
    return chain(checkpoint("note_saved", note_holds.bind(name=values["name"], text=values["text"]).on("desktop")))


def solve_badly(values: Values) -> Solution:
    yield perform("desktop", "click", x=0, y=0)


def solve_with_an_invalid_call(values: Values) -> Solution:
    yield perform("desktop", "click", x=-1, y=0)
    yield from WRITE_NOTE.solve(values)


def solve_with_a_failing_call(values: Values) -> Solution:
    yield perform("desktop", "open_application", name="Calculator")
    yield from WRITE_NOTE.solve(values)


def solve_by_magic(values: Values) -> Solution:
    yield perform("desktop", "fly")


def solve_differently(values: Values) -> Solution:
    for _ in range(next(ROUNDS)):
        yield perform("desktop", "open_application", name="Notepad")
    yield from WRITE_NOTE.solve(values)


def give_up(values: Values) -> Solution:
    yield from WRITE_NOTE.near_misses[0].solve(values)
    raise RuntimeError("lost the way")


def answer_first(values: Values) -> CheckpointGraph:
    """Two checkpoints, of which every near miss of the note fails the first."""
    note = note_holds.bind(name=values["name"], text=values["text"]).on("desktop")
    return chain(checkpoint("before", note), checkpoint("note_saved", note))


@evaluator
def always(env: Probes) -> bool:
    """Whether anything is."""
    env.probe("application")
    return True


@evaluator
def broken(env: Probes) -> bool:
    """Whether a checker that breaks says yes."""
    raise KeyError("clock")


@evaluator
def asks_the_clock(env: Probes, name: str, text: str) -> bool:
    """Whether the note was saved, with a look at the clock."""
    return bool(env.probe("clock")) and bool(env.probe("note", name=name) == text)


def unlisted(values: Values) -> CheckpointGraph:
    return chain(checkpoint("note_saved", asks_the_clock.bind(name=values["name"], text=values["text"]).on("desktop")))


def taking_values_away(values: Values) -> CheckpointGraph:
    graph = saved(values)
    loose: Any = values
    loose["text"] = "changed"
    return graph


def draws_anew(values: Values) -> list[SetupCall]:
    return [SetupCall("desktop", "write_note", {"name": "other", "text": str(random.random())})]


def with_miss(*misses: NearMiss) -> Subtask:
    """The sound subtask with other near misses."""
    return replace(WRITE_NOTE, near_misses=misses)


NOT_SAVED, UPPER_CASE, _ = WRITE_NOTE.near_misses
RIGHT = NearMiss("right", "note_saved", WRITE_NOTE.solve)

NAME = WRITE_NOTE.parameters[0]

BROKEN: dict[str, tuple[Subtask, list[str]]] = {
    "values from nowhere": (
        replace(WRITE_NOTE, parameters=(NAME, Parameter("text", TEXT, lambda _: f"round {next(ROUNDS)}"))),
        ["same_seed_same_values"],
    ),
    "value of another type": (
        replace(WRITE_NOTE, parameters=(NAME, Parameter("text", TEXT, (1, 2)))),
        [
            "same_seed_same_values",
            "output_has_its_type",
            "parts_are_built_alike",
            "near_misses_are_named",
            "it_composes",
        ],
    ),
    "text not in the description": (
        replace(WRITE_NOTE, description="Save a note called {name}."),
        ["description_names_its_blanks", "task_names_its_values"],
    ),
    "output of another type": (
        replace(WRITE_NOTE, output=Output(NUMBER, "a number", lambda values: 5)),
        ["output_has_its_type"],
    ),
    "output by chance": (
        replace(WRITE_NOTE, output=Output(TEXT, "a text", lambda values: str(next(ROUNDS)))),
        ["output_has_its_type"],
    ),
    "set-up by chance": (replace(WRITE_NOTE, setup=draws_anew), ["parts_are_built_alike"]),
    # The oracle, too, then works with other values.
    "graph that changes the values": (
        replace(WRITE_NOTE, checkpoints=taking_values_away),
        ["parts_are_built_alike", "oracle_scores_1"],
    ),
    "one near miss": (with_miss(NOT_SAVED), ["near_misses_are_named"]),
    "near misses of one name": (with_miss(NOT_SAVED, NOT_SAVED), ["near_misses_are_named"]),
    "near miss at no checkpoint": (
        with_miss(NOT_SAVED, replace(UPPER_CASE, checkpoint="nowhere")),
        ["near_misses_are_named", "near_miss write_note.upper_case"],
    ),
    "probe that is not offered": (
        replace(WRITE_NOTE, needs={"desktop": Needs(probes=("note", "application", "mood"))}),
        ["environments_meet_its_needs"],
    ),
    "role that is not offered": (
        replace(WRITE_NOTE, needs={"desktop": Needs(probes=("note", "application"), roles=("browser",))}),
        ["environments_meet_its_needs"],
    ),
    "preparation that is not offered": (
        replace(WRITE_NOTE, setup=lambda values: (SetupCall("desktop", "pray"),)),
        ["environments_meet_its_needs"],
    ),
    "extra action that is not offered": (
        replace(WRITE_NOTE, extra_actions={"desktop": ("pray",)}),
        ["environments_meet_its_needs"],
    ),
    "probe not among the needs": (replace(WRITE_NOTE, checkpoints=unlisted), ["needs_are_complete"]),
    "true from the start": (
        replace(WRITE_NOTE, checkpoints=lambda values: chain(checkpoint("note_saved", always.on("desktop")))),
        [
            "doing_nothing_scores_0",
            "oracle_scores_1",
            *(f"near_miss write_note.{name}" for name in ("not_saved", "upper_case", "other_note")),
            "reset_brings_0_back",
        ],
    ),
    "checker that breaks": (
        replace(WRITE_NOTE, checkpoints=lambda values: chain(checkpoint("note_saved", broken.on("desktop")))),
        [
            "doing_nothing_scores_0",
            "oracle_scores_1",
            *(f"near_miss write_note.{name}" for name in ("not_saved", "upper_case", "other_note")),
            "reset_brings_0_back",
        ],
    ),
    "oracle that does not solve it": (replace(WRITE_NOTE, solve=solve_badly), ["oracle_scores_1"]),
    "oracle with an invalid call": (replace(WRITE_NOTE, solve=solve_with_an_invalid_call), ["oracle_scores_1"]),
    "oracle with a failing call": (replace(WRITE_NOTE, solve=solve_with_a_failing_call), ["oracle_scores_1"]),
    "oracle with an action that is not there": (replace(WRITE_NOTE, solve=solve_by_magic), ["oracle_scores_1"]),
    "oracle that differs": (replace(WRITE_NOTE, solve=solve_differently), ["same_seed_same_result"]),
    "near miss that is right": (with_miss(NOT_SAVED, RIGHT), ["near_miss write_note.right"]),
    "near miss that fails too early": (
        replace(WRITE_NOTE, checkpoints=answer_first),
        [f"near_miss write_note.{name}" for name in ("not_saved", "upper_case", "other_note")],
    ),
    "near miss that gives up": (
        with_miss(UPPER_CASE, NearMiss("lost", "note_saved", give_up)),
        ["near_miss write_note.lost"],
    ),
}
"""What each broken subtask fails, in the order of the proof."""


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_subtask_is_not_proven(fault: str) -> None:
    """Exactly what a broken subtask breaks fails."""
    subtask, expected = BROKEN[fault]

    proof = prove_subtask(subtask, desktop())

    assert failed(proof.findings) == expected, str(proof)


def test_a_device_whose_reset_leaves_something_is_found() -> None:
    """When a reset does not bring the start state back, nothing is proven after the first trial that changed it."""

    class NotesStay(ToyDesktop):
        def reset(self, seed: int, start_time: str) -> None:
            kept = getattr(self, "notes", {})
            super().reset(seed, start_time)
            self.notes = kept

    proof = prove_subtask(WRITE_NOTE, desktop(NotesStay))

    assert "doing_nothing_scores_0" not in failed(proof.findings)
    assert {"reset_brings_0_back", "same_seed_same_result"} <= set(failed(proof.findings))


def test_every_part_of_a_proof_has_failed() -> None:
    """No finding is there that has never failed; what only a device can break is tested apart."""
    sound = prove_subtask(WRITE_NOTE, desktop())

    assert sound.ok, str(sound)
    broken_parts = {name for _, names in BROKEN.values() for name in names}
    assert {finding.name for finding in sound.findings} <= broken_parts


def test_the_limits_hold_for_the_oracle() -> None:
    """A solution that takes more actions than allowed is none."""
    proof = prove_subtask(WRITE_NOTE, desktop(), limits=LimitsSpec(actions=2))

    assert "oracle_scores_1" in failed(proof.findings)
    assert "step_limit" in str(proof)


@pytest.mark.parametrize(
    ("environments", "said"),
    [({}, "no environment was given"), ({"desktop": TOY_PHONE.provider().start({})}, "desktop is 'toy_phone'")],
    ids=["none", "another kind"],
)
def test_the_wrong_environments_are_named(environments: dict[str, Environment], said: str) -> None:
    """An environment that is missing or of another kind is one finding, and no trial is run."""
    proof = prove_subtask(WRITE_NOTE, environments)

    assert failed(proof.findings) == ["environments_meet_its_needs"]
    assert said in str(proof)


def test_a_proof_tells_what_failed_in_lines() -> None:
    """A proof is one line when all is well, and a line for each failure otherwise."""
    sound = prove_subtask(WRITE_NOTE, desktop())
    broken_one = prove_subtask(replace(WRITE_NOTE, solve=solve_badly), desktop())

    assert str(sound) == f"write_note@1: proven by {len(sound.findings)} findings"
    assert str(broken_one).startswith("write_note@1: oracle_scores_1: the oracle ended by agent_complete, 0 of 2")
    assert [finding.name for finding in broken_one.failures] == ["oracle_scores_1"]
    assert Proof("nothing", ()).ok


def test_a_link_need_not_be_named_but_a_literal_must() -> None:
    """A composed task's description may speak of a linked value in other words; every literal stands in it."""
    document: dict[str, Any] = {
        "schema_version": 1,
        "id": "two-notes",
        "version": 1,
        "description": 'Save a note called "list" with the text "bring bread", then a copy of it.',
        "environments": {"desktop": "toy_desktop"},
        "subtasks": [
            {"id": "first", "template": "write_note@1", "parameters": {"name": "list", "text": "bring bread"}},
            {"id": "copy", "template": "write_note@1", "parameters": {"name": "plan", "text": {"from": "first"}}},
        ],
        "review": {"author": "example"},
    }
    composed = compose(TaskDocument.model_validate(document), Catalogue(TOY_SUBTASKS))

    proof = prove_task(composed, desktop())

    assert failed(proof.findings) == ["task_names_its_values"]
    assert "'plan', the value of 'name'" in str(proof)


def test_a_subtask_alone_makes_a_task() -> None:
    """`task_of` composes one instance with its values in the description; values have to fit."""
    composed = task_of(WRITE_NOTE, {"name": "list", "text": "bring bread"})

    assert composed.task.description == 'Save a note called "list" with the text "bring bread" on the desktop.'
    assert composed.task.graph.order == ("write_note.notepad_open", "write_note.note_saved")
    with pytest.raises(DefinitionError, match="'text' is missing"):
        task_of(WRITE_NOTE, {"name": "list"})


def test_what_comes_before_leaves_way_checks_out() -> None:
    """Whether a near miss passed a way-check on its way does not matter."""
    front = application_in_front.bind(name="Notepad").on("desktop")
    graph = chain(checkpoint("a", front), checkpoint("way", front, transient=True), checkpoint("b", front))

    assert ancestors(graph, "b") == {"a"}


def test_a_submitted_answer_is_proven_without_needs() -> None:
    """Root's own probe needs no mention among the needs."""
    report = next(subtask for subtask in TOY_SUBTASKS if subtask.id == "report_message")
    wrong = replace(report, solve=lambda values: iter_submit(values["text"] + "!"))

    assert prove_subtask(report, {"phone": TOY_PHONE.provider().start({})}).ok
    assert failed(prove_subtask(wrong, {"phone": TOY_PHONE.provider().start({})}).findings) == ["oracle_scores_1"]


def iter_submit(answer: str) -> Solution:
    yield submit(answer)
