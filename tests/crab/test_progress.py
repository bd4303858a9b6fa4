"""Progress: which checkpoints are asked in a step, which pass, and what never happens twice."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from crab.evaluator import Verdict, evaluator
from crab.graph import Checkpoint, CheckpointGraph, chain, parallel
from crab.progress import Pass, Progress


@evaluator
def unused() -> bool:
    """Stands in a graph whose questions the test answers itself."""
    return False


def node(id: str) -> Checkpoint:
    """A checkpoint; one with a capital id is transient."""
    return Checkpoint(id, unused, transient=id.isupper())


class Observer:
    """Answers by id, as an episode does, and notes what it was asked in each step."""

    def __init__(self, graph: CheckpointGraph) -> None:
        self.progress = Progress(graph)
        self.asked: list[str] = []
        self.step = 0

    def see(self, true: Iterable[str] = "", unknown: Iterable[str] = "") -> list[str]:
        """Takes one step in which those ids are true or unknown and all others false; returns what passed."""
        true, unknown = set(true), set(unknown)
        self.asked = []
        self.step += 1

        def ask(checkpoint: Checkpoint) -> Verdict:
            self.asked.append(checkpoint.id)
            if checkpoint.id in unknown:
                return Verdict(None, f"cannot see {checkpoint.id}")
            return Verdict(checkpoint.id in true)

        return [passed.checkpoint for passed in self.progress.advance(ask, self.step)]

    @property
    def implied(self) -> dict[str, str]:
        return {passed.checkpoint: passed.implied_by for passed in self.progress.passed if passed.implied_by}


def observe(*parts: Checkpoint | CheckpointGraph) -> Observer:
    return Observer(chain(*parts))


def abc() -> Observer:
    return observe(node("a"), node("b"), node("c"))


def test_at_first_the_sources_are_active_and_nothing_has_passed() -> None:
    progress = Observer(parallel(chain(node("a"), node("b")), node("c"))).progress
    assert progress.active == ("a", "c")
    assert progress.passed == ()
    assert progress.completion == 0
    assert not progress.complete


def test_only_active_checkpoints_are_asked() -> None:
    observer = abc()
    assert observer.see(true="bc") == []
    assert observer.asked == ["a"]


def test_a_pass_opens_its_successors_in_the_same_step() -> None:
    observer = abc()
    assert observer.see(true="ab") == ["a", "b"]
    assert observer.asked == ["a", "b", "c"]
    assert observer.progress.active == ("c",)


def test_what_has_passed_stays_passed_and_is_not_asked_again() -> None:
    observer = abc()
    observer.see(true="a")
    assert observer.see(true="") == []
    assert observer.asked == ["b"]
    assert observer.progress.has_passed("a")
    assert observer.progress.completion == pytest.approx(1 / 3)


def test_a_checkpoint_waits_for_all_its_predecessors() -> None:
    observer = observe(parallel(node("a"), node("b")), node("c"))
    assert observer.see(true="ac") == ["a"]
    assert observer.see(true="ac") == []
    assert set(observer.see(true="bc")) == {"b", "c"}
    assert observer.progress.complete


def test_each_is_asked_at_most_once_in_a_step() -> None:
    observer = observe(parallel(node("a"), node("b"), node("c")), parallel(node("d"), node("e")))
    observer.see(true="abcd", unknown="e")
    assert sorted(observer.asked) == ["a", "b", "c", "d", "e"]


def test_every_pass_carries_its_step() -> None:
    observer = abc()
    observer.see()
    observer.see(true="a")
    observer.see(true="bc")
    assert observer.progress.passed == (Pass("a", 2), Pass("b", 3), Pass("c", 3))


def test_a_complete_graph_can_be_advanced_and_asks_nothing() -> None:
    observer = abc()
    observer.see(true="abc")
    assert observer.progress.complete
    assert observer.progress.completion == 1
    assert observer.see(true="abc") == []
    assert observer.asked == []


def test_unknown_neither_passes_nor_blocks_others() -> None:
    observer = observe(parallel(node("a"), node("b")), node("c"))
    assert observer.see(true="b", unknown="a") == ["b"]
    assert observer.progress.unknown == (("a", "cannot see a"),)
    assert observer.progress.active == ("a",)


def test_an_unknown_one_is_asked_again_and_forgotten_when_known() -> None:
    observer = abc()
    observer.see(unknown="a")
    observer.see(true="")
    assert observer.progress.unknown == ()
    observer.see(unknown="a")
    assert observer.see(true="a") == ["a"]
    assert observer.progress.unknown == ()


def test_two_runs_over_one_graph_do_not_see_each_other() -> None:
    graph = chain(node("a"), node("b"))
    first, second = Observer(graph), Observer(graph)
    first.see(true="ab")
    assert second.progress.passed == ()
    assert second.progress.active == ("a",)


# Transient checkpoints: a capital letter


def test_the_successors_of_a_way_check_are_active_together_with_it() -> None:
    observer = observe(node("A"), node("b"))
    assert observer.progress.active == ("A", "b")


def test_another_way_loses_no_points() -> None:
    """Saving from a terminal is as good as saving from the editor that should have been in front."""
    observer = observe(node("A"), node("b"), node("c"))
    assert observer.see(true="b") == ["b", "A"]
    assert observer.implied == {"A": "b"}
    assert observer.see(true="c") == ["c"]
    assert observer.progress.completion == 1


def test_a_way_check_that_is_seen_true_passes_by_itself() -> None:
    observer = observe(node("A"), node("b"))
    assert observer.see(true="A") == ["A"]
    assert observer.see(true="b") == ["b"]
    assert observer.implied == {}


def test_seen_true_in_the_step_of_its_successor_it_passes_by_itself() -> None:
    observer = observe(node("A"), node("b"))
    assert observer.see(true="bA") == ["A", "b"]
    assert observer.implied == {}


def test_an_unknown_way_check_counts_when_its_successor_passes() -> None:
    observer = observe(node("A"), node("b"))
    observer.see(true="b", unknown="A")
    assert observer.implied == {"A": "b"}
    assert observer.progress.unknown == ()
    assert observer.progress.complete


def test_a_row_of_way_checks_opens_and_counts_as_one() -> None:
    observer = observe(node("A"), node("B"), node("C"), node("d"))
    assert observer.progress.active == ("A", "B", "C", "d")
    observer.see(true="d")
    assert observer.implied == {"A": "B", "B": "C", "C": "d"}


def test_a_later_way_check_seen_true_counts_for_those_before_it() -> None:
    observer = observe(node("A"), node("B"), node("c"))
    assert observer.see(true="B") == ["B", "A"]
    assert observer.implied == {"A": "B"}


def test_a_way_check_opens_only_with_its_own_predecessors() -> None:
    observer = observe(node("a"), node("B"), node("c"))
    assert observer.progress.active == ("a",)
    assert observer.see(true="c") == []
    assert observer.see(true="ac") == ["a", "c", "B"]


def test_a_way_check_does_not_excuse_other_predecessors() -> None:
    observer = observe(parallel(node("A"), node("b")), node("c"))
    assert observer.progress.active == ("A", "b")
    assert observer.see(true="c") == []
    assert observer.see(true="bc") == ["b", "c", "A"]


def test_passing_a_way_check_does_not_pass_its_successors() -> None:
    observer = observe(node("A"), parallel(node("b"), node("c")))
    observer.see(true="A")
    assert observer.progress.active == ("b", "c")
    assert observer.progress.completion == pytest.approx(1 / 3)


def test_one_of_several_successors_is_enough() -> None:
    observer = observe(node("A"), parallel(node("b"), node("c")))
    observer.see(true="c")
    assert observer.implied == {"A": "c"}
    assert observer.progress.active == ("b",)


def test_one_successor_counts_for_all_its_way_checks() -> None:
    observer = observe(parallel(node("A"), node("B")), node("c"))
    observer.see(true="c")
    assert observer.implied == {"A": "c", "B": "c"}


def test_a_way_check_at_the_end_must_be_seen() -> None:
    observer = observe(node("a"), node("B"))
    observer.see(true="a")
    assert observer.progress.active == ("B",)
    assert observer.see(true="B") == ["B"]
    assert observer.progress.complete


def test_an_implied_way_check_is_not_asked_again() -> None:
    observer = observe(node("A"), node("b"), node("c"))
    observer.see(true="b")
    observer.see()
    assert observer.asked == ["c"]
