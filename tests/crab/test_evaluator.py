"""Evaluators: yes, no or unknown, and how they combine."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from crab.action import action
from crab.errors import DeadlineExceeded, DefinitionError, InvalidArguments, ProbeFailure
from crab.evaluator import (
    EVALUATION_SECONDS,
    Evaluator,
    Leaf,
    Probes,
    Verdict,
    evaluator,
    normalise_answer,
    submitted,
)

# The facade's `evaluator` is the decorator, so the module is fetched by its name.
EVALUATOR_MODULE = importlib.import_module("crab.evaluator")

Truth = bool | None
TRUTHS: tuple[Truth, ...] = (True, False, None)


class Device:
    """Answers probes from a table and notes what was asked; an exception in the table is raised."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def probe(self, name: str, /, **arguments: Any) -> Any:
        self.asked.append((name, arguments))
        answer = self.answers[name]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Devices:
    """A probe source over devices by role, which notes the deadlines it was handed."""

    def __init__(self, **devices: Device) -> None:
        self.devices = devices
        self.deadlines: list[float] = []

    def __call__(self, role: str, deadline: float) -> Probes:
        self.deadlines.append(deadline)
        return self.devices[role]


@evaluator
def says(env: Probes, question: str, wanted: str = "yes") -> bool:
    """Whether a device answers a question as wanted."""
    return bool(env.probe(question) == wanted)


@evaluator
def text_differs(env: Probes, question: str, text: str) -> bool:
    return bool(env.probe(question) != text)


def fixed(value: Truth, asked: list[Truth] | None = None) -> Evaluator:
    """An evaluator with that verdict, which notes that it was asked."""

    @evaluator
    def answer() -> bool:
        if asked is not None:
            asked.append(value)
        if value is None:
            raise OSError("no idea")
        return value

    return answer


def ask(question: Evaluator, **devices: Device) -> Verdict:
    return question.evaluate(Devices(**devices))


# Leaves


@pytest.mark.parametrize("value", [True, False])
def test_a_bool_is_the_verdict(value: bool) -> None:
    assert ask(fixed(value)) == Verdict(value)


@pytest.mark.parametrize("answer", [1, 0, None, "yes", "", [], [1]])
def test_anything_but_a_bool_is_unknown(answer: object) -> None:
    """A checker that returns a match object or None by accident has not decided anything."""

    @evaluator
    def careless() -> bool:
        return answer  # type: ignore[return-value]

    verdict = ask(careless)
    assert verdict.value is None
    assert verdict.reason == f"careless returned {type(answer).__name__}, not bool"


@pytest.mark.parametrize(
    "error", [FileNotFoundError("gone"), ValueError("bad"), ProbeFailure("silent"), AssertionError(), RecursionError()]
)
def test_an_exception_is_unknown_and_named(error: Exception) -> None:
    verdict = ask(says.bind(question="ready").on("desktop"), desktop=Device({"ready": error}))
    assert verdict.value is None
    assert verdict.reason.startswith(f"says: {type(error).__name__}: {error}")


def test_a_person_can_still_interrupt_a_checker() -> None:
    @evaluator
    def endless() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(endless)


def test_every_leaf_is_handed_its_own_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 101.0, 200.0, 201.0])
    monkeypatch.setattr(EVALUATOR_MODULE, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    devices = Devices(desktop=Device({"ready": "yes"}), phone=Device({"ready": "yes"}))
    question = says.bind(question="ready").on("desktop") & says.bind(question="ready").on("phone")
    assert question.evaluate(devices).value is True
    assert devices.deadlines == [100.0 + EVALUATION_SECONDS, 200.0 + EVALUATION_SECONDS]


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_an_answer_after_the_deadline_is_unknown(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    clock = iter([100.0, 100.0 + EVALUATION_SECONDS + 0.001])
    monkeypatch.setattr(EVALUATOR_MODULE, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    verdict = ask(says.bind(question="ready").on("desktop"), desktop=Device({"ready": answer}))
    assert verdict.value is None
    assert "DeadlineExceeded" in verdict.reason


def test_a_missed_deadline_of_a_probe_is_unknown() -> None:
    device = Device({"ready": DeadlineExceeded("too slow")})
    assert ask(says.bind(question="ready").on("desktop"), desktop=device).value is None


def test_a_role_without_probes_is_unknown() -> None:
    assert ask(says.bind(question="ready").on("desktop")).value is None


def test_a_leaf_asks_the_environment_it_is_bound_to() -> None:
    desktop, phone = Device({"ready": "yes"}), Device({"ready": "no"})
    question = says.bind(question="ready")
    assert ask(question.on("desktop"), desktop=desktop, phone=phone).value is True
    assert ask(question.on("phone"), desktop=desktop, phone=phone).value is False
    assert question.environment is None


def test_defaults_hold_and_bound_defaults_are_kept() -> None:
    device = Device({"ready": "maybe"})
    question = says.bind(question="ready").on("desktop")
    assert ask(question, desktop=device).value is False
    assert ask(question.bind(wanted="maybe"), desktop=device).value is True


def test_the_plain_function_stays_callable_for_its_own_tests() -> None:
    assert says(Device({"ready": "yes"}), "ready") is True


def test_expected_values_are_checked_when_bound() -> None:
    with pytest.raises(InvalidArguments, match="says: question"):
        says.bind(question=3)
    with pytest.raises(DefinitionError, match="no open parameter 'answer'"):
        says.bind(answer="x")


def test_an_evaluator_must_be_annotated_to_return_bool() -> None:
    def wrong() -> str:
        return ""

    with pytest.raises(DefinitionError, match="evaluator wrong must be annotated to return bool"):
        evaluator(wrong)  # type: ignore[arg-type]

    def silent():  # type: ignore[no-untyped-def]
        return True

    with pytest.raises(DefinitionError, match="must be annotated to return bool"):
        evaluator(silent)


def test_an_async_evaluator_is_refused() -> None:
    """Its coroutine would be neither true nor false, at every step."""

    async def later() -> bool:
        return True

    with pytest.raises(DefinitionError, match="evaluator later must be a plain function"):
        evaluator(later)  # type: ignore[arg-type]


# Readiness


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        (says.on("desktop"), r"evaluator says: 'question' is still open; close it with \.bind"),
        (says.bind(question="ready"), r"evaluator says asks no environment yet; name one with \.on"),
        (text_differs.bind(question="ready").on("desktop"), "'text' is still open"),
    ],
)
def test_only_closed_and_bound_leaves_can_be_asked_or_combined(question: Leaf, problem: str) -> None:
    uses: list[Callable[[], object]] = [
        question.require_ready,
        lambda: ask(question),
        lambda: question & fixed(True),
        lambda: fixed(True) | question,
        lambda: ~question,
    ]
    for use in uses:
        with pytest.raises(DefinitionError, match=problem):
            use()


def test_only_evaluators_combine() -> None:
    @action
    def click() -> None: ...

    for other in (True, click, "yes"):
        with pytest.raises(DefinitionError, match="only evaluators combine"):
            fixed(True) & other  # type: ignore[operator]


# Combinations


def kleene_and(left: Truth, right: Truth) -> Truth:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def kleene_or(left: Truth, right: Truth) -> Truth:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


@pytest.mark.parametrize(("left", "right"), list(itertools.product(TRUTHS, repeat=2)))
def test_and_follows_kleene(left: Truth, right: Truth) -> None:
    assert ask(fixed(left) & fixed(right)).value is kleene_and(left, right)


@pytest.mark.parametrize(("left", "right"), list(itertools.product(TRUTHS, repeat=2)))
def test_or_follows_kleene(left: Truth, right: Truth) -> None:
    assert ask(fixed(left) | fixed(right)).value is kleene_or(left, right)


@pytest.mark.parametrize(("value", "opposite"), [(True, False), (False, True), (None, None)])
def test_not_follows_kleene(value: Truth, opposite: Truth) -> None:
    assert ask(~fixed(value)).value is opposite
    assert ask(~~fixed(value)).value is value


def test_false_and_unknown_is_false_in_both_orders() -> None:
    """A broken checker must not hide that the work is not done."""
    assert ask(fixed(None) & fixed(False)).value is False
    assert ask(fixed(False) & fixed(None)).value is False


def test_an_unknown_combination_says_why() -> None:
    assert "no idea" in ask(fixed(True) & fixed(None)).reason
    assert "no idea" in ask(~(fixed(None) | fixed(False))).reason
    assert ask(fixed(None) & fixed(False)).reason == ""


def test_nothing_is_asked_once_the_answer_is_settled() -> None:
    """Each question costs a call to a device."""
    asked: list[Truth] = []
    ask(fixed(False, asked) & fixed(True, asked))
    assert asked == [False]
    asked.clear()
    ask(fixed(True, asked) | fixed(False, asked))
    assert asked == [True]
    asked.clear()
    ask(fixed(None, asked) & fixed(False, asked))
    assert asked == [None, False]


def test_combinations_keep_arguments_and_environments() -> None:
    desktop, phone = Device({"ready": "yes"}), Device({"open": "blue"})
    question = says.bind(question="ready").on("desktop") & ~says.bind(question="open", wanted="red").on("phone")
    assert ask(question, desktop=desktop, phone=phone).value is True
    assert question.environments == {"desktop", "phone"}
    assert (desktop.asked, phone.asked) == ([("ready", {})], [("open", {})])


def test_a_combination_has_a_readable_name() -> None:
    question = (says.bind(question="a").on("desktop") | fixed(True)) & ~fixed(False)
    assert question.name == "((says or answer) and not answer)"


def test_a_question_can_be_asked_of_other_environments() -> None:
    """Templates name roles of their own, which a composed task maps to its roles."""
    question = says.bind(question="ready").on("desktop") & (fixed(True) | says.bind(question="open").on("phone"))
    moved = question.rebound({"desktop": "laptop"})
    assert moved.environments == {"laptop", "phone"}
    assert question.environments == {"desktop", "phone"}
    assert ask(moved, laptop=Device({"ready": "yes"})).value is True


def test_roles_can_be_swapped() -> None:
    question = says.bind(question="ready").on("a") & ~says.bind(question="ready").on("b")
    swapped = question.rebound({"a": "b", "b": "a"})
    assert ask(swapped, a=Device({"ready": "no"}), b=Device({"ready": "yes"})).value is True


# Answers


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (" 42\n", "42"),
        ("a\r\nb", "a\nb"),
        ("a\rb", "a\nb"),
        ("cafe\N{COMBINING ACUTE ACCENT}", "caf\N{LATIN SMALL LETTER E WITH ACUTE}"),
        ("\N{NO-BREAK SPACE}Oslo\t", "Oslo"),
    ],
)
def test_how_an_answer_was_typed_does_not_count(given: str, wanted: str) -> None:
    assert normalise_answer(given) == normalise_answer(wanted) == wanted


@pytest.mark.parametrize("given", ["oslo", "Oslo.", "Oslo ,Norway", "Oslo  Norway", "Oslo, Oslo", "", "O slo", "Ｏslo"])
def test_everything_else_about_an_answer_counts(given: str) -> None:
    assert normalise_answer(given) not in (normalise_answer("Oslo"), normalise_answer("Oslo Norway"))


def test_normalising_twice_changes_nothing() -> None:
    text = " \N{ANGSTROM SIGN}\r\n\r x "
    assert normalise_answer(normalise_answer(text)) == normalise_answer(text)


@pytest.mark.parametrize(
    ("submission", "value"),
    [("Oslo", True), (" Oslo\r\n", True), ("oslo", False), ("It is Oslo", False), (None, False), ("", False)],
)
def test_a_submission_is_compared_exactly(submission: str | None, value: bool) -> None:
    question = submitted("Oslo")
    assert question.environments == {"root"}
    assert ask(question, root=Device({"submission": submission})).value is value


def test_no_submission_is_not_an_empty_answer() -> None:
    assert ask(submitted(""), root=Device({"submission": None})).value is False
