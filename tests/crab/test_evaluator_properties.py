"""Laws of three-valued logic, on random combinations of evaluators."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crab.evaluator import Evaluator, Probes, evaluator

Truth = bool | None


def no_probes(role: str, deadline: float) -> Probes:
    raise LookupError(role)


def fixed(value: Truth) -> Evaluator:
    @evaluator
    def answer() -> bool:
        if value is None:
            raise OSError("no idea")
        return value

    return answer


def value(question: Evaluator) -> Truth:
    return question.evaluate(no_probes).value


truths = st.sampled_from([True, False, None])
leaves = st.builds(fixed, truths)
questions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda left, right: left & right, inner, inner),
        st.builds(lambda left, right: left | right, inner, inner),
        st.builds(lambda part: ~part, inner),
    ),
    max_leaves=6,
)


@given(questions, questions)
def test_de_morgan(a: Evaluator, b: Evaluator) -> None:
    assert value(~(a & b)) is value(~a | ~b)
    assert value(~(a | b)) is value(~a & ~b)


@given(questions, questions, questions)
def test_the_order_and_grouping_of_parts_do_not_change_the_value(a: Evaluator, b: Evaluator, c: Evaluator) -> None:
    assert value(a & b) is value(b & a)
    assert value(a | b) is value(b | a)
    assert value((a & b) & c) is value(a & (b & c))
    assert value((a | b) | c) is value(a | (b | c))


@given(questions, questions, questions)
def test_the_other_laws_of_the_lattice(a: Evaluator, b: Evaluator, c: Evaluator) -> None:
    assert value(a & (b | c)) is value((a & b) | (a & c))
    assert value(a | (b & c)) is value((a | b) & (a | c))
    assert value(a & (a | b)) is value(a)
    assert value(a & a) is value(a | a) is value(~~a) is value(a)


@given(st.lists(truths, min_size=4, max_size=4), st.lists(st.booleans(), min_size=4, max_size=4))
def test_a_known_answer_holds_whatever_the_unknown_parts_turn_out_to_be(
    seen: list[Truth], turned_out: list[bool]
) -> None:
    """So a verdict that stands despite a broken checker was never wrong."""

    def ask(values: list[Truth]) -> Truth:
        a, b, c, d = map(fixed, values)
        return value((a & ~b) | ~(c | (d & a)))

    before = ask(seen)
    after = ask([late if now is None else now for now, late in zip(seen, turned_out, strict=True)])
    assert before is None or before is after


@given(questions)
def test_unknown_always_says_why_and_known_never(question: Evaluator) -> None:
    verdict = question.evaluate(no_probes)
    assert bool(verdict.reason) == (verdict.value is None)
