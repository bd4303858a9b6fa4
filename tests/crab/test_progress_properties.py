"""Laws of progress, on random graphs and random truths.

Progress is compared with a reference model that is slow and simple: after every single answer it works out anew, from
the words of the rule, which checkpoints are active.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import crab.progress
from crab.evaluator import Verdict, evaluator
from crab.graph import Checkpoint, CheckpointGraph, chain, parallel
from crab.progress import Pass, Progress

Truth = bool | None
Truths = dict[str, Truth]
"""What every checkpoint would answer in one step."""


@evaluator
def unused() -> bool:
    """Stands in a graph whose questions the test answers itself."""
    return False


@dataclass(frozen=True)
class Story:
    """A graph and what its checkpoints would answer in each step."""

    graph: CheckpointGraph
    steps: tuple[Truths, ...]


@st.composite
def stories(draw: st.DrawFn) -> Story:
    size = draw(st.integers(1, 9))
    ids = draw(st.permutations([f"n{index}" for index in range(size)]))
    pairs = [(ids[i], ids[j]) for i in range(size) for j in range(i + 1, size)]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=2 * size)) if pairs else []
    nodes = [Checkpoint(id, unused, transient=draw(st.booleans())) for id in draw(st.permutations(ids))]
    # Mostly false at first, as in life, so that several steps are needed.
    truth = st.sampled_from([True, True, False, False, None])
    steps = draw(st.lists(st.fixed_dictionaries(dict.fromkeys(ids, truth)), min_size=1, max_size=6))
    return Story(CheckpointGraph(nodes, edges), tuple(steps))


@dataclass
class Played:
    """What happened in each step of a story."""

    progress: Progress
    asked: list[list[str]] = field(default_factory=list)
    passes: list[tuple[Pass, ...]] = field(default_factory=list)

    def passed(self, step: int) -> set[str]:
        return {entry.checkpoint for entry in self.passes[step]}


def play(graph: CheckpointGraph, steps: tuple[Truths, ...]) -> Iterator[Played]:
    """Plays a story and yields after each step."""
    played = Played(Progress(graph))
    for number, truths in enumerate(steps):
        asked: list[str] = []

        def ask(checkpoint: Checkpoint, asked: list[str] = asked, truths: Truths = truths) -> Verdict:
            asked.append(checkpoint.id)
            return Verdict(truths[checkpoint.id])

        passes = played.progress.advance(ask, number)
        played.asked.append(asked)
        played.passes.append(passes)
        yield played


def play_all(story: Story) -> Played:
    *_, played = play(story.graph, story.steps)
    return played


class Reference:
    """The rule in its own words, without any bookkeeping."""

    def __init__(self, graph: CheckpointGraph) -> None:
        self.graph = graph
        self.passed: set[str] = set()
        self.implied: set[str] = set()

    def is_active(self, id: str) -> bool:
        """Active: not passed, and every predecessor has passed or is a transient one that is active itself."""
        return id not in self.passed and all(
            before in self.passed or (self.graph[before].transient and self.is_active(before))
            for before in self.graph.predecessors(id)
        )

    def step(self, truths: Truths) -> set[str]:
        """Returns what passes in a step with these truths."""
        before = set(self.passed)
        asked: set[str] = set()
        while waiting := [id for id in self.graph.order if self.is_active(id) and id not in asked]:
            asked.add(waiting[0])
            if truths[waiting[0]] is True:
                self.passed.add(waiting[0])
                self.count_ways_to(waiting[0])
        return self.passed - before

    def count_ways_to(self, id: str) -> None:
        """A way-check whose successor passed counts as passed."""
        for before in self.graph.predecessors(id):
            if before not in self.passed:
                self.passed.add(before)
                self.implied.add(before)
                self.count_ways_to(before)


@given(stories())
def test_progress_agrees_with_the_reference_model(story: Story) -> None:
    reference = Reference(story.graph)
    for number, played in enumerate(play(story.graph, story.steps)):
        assert played.passed(number) == reference.step(story.steps[number])
        assert set(played.progress.active) == {id for id in story.graph.order if reference.is_active(id)}
        assert {entry.checkpoint for entry in played.progress.passed if entry.implied_by} == reference.implied


@given(stories())
def test_a_pass_is_never_undone_and_never_repeated(story: Story) -> None:
    seen: list[str] = []
    for played in play(story.graph, story.steps):
        now = [entry.checkpoint for entry in played.progress.passed]
        assert now[: len(seen)] == seen
        assert len(set(now)) == len(now)
        seen = now


@given(stories())
def test_order_is_respected(story: Story) -> None:
    """Nothing passes before a predecessor that is no mere way-check."""
    place = {entry.checkpoint: index for index, entry in enumerate(play_all(story).progress.passed)}
    for before, after in story.graph.edges:
        if after in place and not story.graph[before].transient:
            assert place[before] < place[after]
        assert after not in place or before in place


@given(stories())
def test_completion_never_falls_and_is_the_share_passed(story: Story) -> None:
    last = 0.0
    for played in play(story.graph, story.steps):
        completion = played.progress.completion
        assert last <= completion <= 1
        assert completion == len(played.progress.passed) / len(story.graph)
        assert played.progress.complete == (completion == 1)
        last = completion


@given(stories())
def test_each_is_asked_at_most_once_in_a_step_and_never_after_it_passed(story: Story) -> None:
    done: set[str] = set()
    for number, played in enumerate(play(story.graph, story.steps)):
        asked = played.asked[number]
        assert len(set(asked)) == len(asked)
        assert done.isdisjoint(asked)
        done |= played.passed(number)


@given(stories())
def test_a_checkpoint_is_asked_before_any_of_its_successors(story: Story) -> None:
    played = play_all(story)
    for asked in played.asked:
        for before, after in story.graph.edges:
            assert before not in asked or after not in asked or asked.index(before) < asked.index(after)


@given(stories())
def test_a_step_leaves_nothing_unasked_that_is_active(story: Story) -> None:
    for number, played in enumerate(play(story.graph, story.steps)):
        assert set(played.progress.active) <= set(played.asked[number])


@given(stories())
def test_a_pass_is_implied_exactly_when_it_was_not_seen(story: Story) -> None:
    for number, played in enumerate(play(story.graph, story.steps)):
        for entry in played.passes[number]:
            assert entry.step == number
            if entry.implied_by is None:
                assert story.steps[number][entry.checkpoint] is True
            else:
                assert story.steps[number][entry.checkpoint] is not True
                assert story.graph[entry.checkpoint].transient
                assert entry.implied_by in story.graph.successors(entry.checkpoint)
                assert entry.implied_by in played.passed(number)


@given(stories())
def test_what_is_unknown_is_what_was_last_answered_so(story: Story) -> None:
    for number, played in enumerate(play(story.graph, story.steps)):
        truths = story.steps[number]
        assert [id for id, _ in played.progress.unknown] == [id for id in played.progress.active if truths[id] is None]


@given(stories(), st.data())
def test_the_order_in_which_a_graph_is_given_does_not_matter(story: Story, data: st.DataObject) -> None:
    graph = story.graph
    nodes = data.draw(st.permutations(graph.checkpoints))
    edges = data.draw(st.permutations(graph.edges)) if graph.edges else []
    shuffled = play_all(Story(CheckpointGraph(nodes, edges), story.steps))
    played = play_all(story)

    def outcome(passes: tuple[Pass, ...]) -> set[tuple[str, int, bool]]:
        return {(entry.checkpoint, entry.step, entry.implied_by is not None) for entry in passes}

    assert [outcome(passes) for passes in shuffled.passes] == [outcome(passes) for passes in played.passes]
    assert [set(asked) for asked in shuffled.asked] == [set(asked) for asked in played.asked]


@given(stories(), st.data())
def test_seeing_more_never_scores_less(story: Story, data: st.DataObject) -> None:
    """Turning one false or unknown answer into a true one loses no pass."""
    number = data.draw(st.integers(0, len(story.steps) - 1))
    id = data.draw(st.sampled_from(story.graph.order))
    more = [*story.steps]
    more[number] = {**more[number], id: True}
    before = {entry.checkpoint for entry in play_all(story).progress.passed}
    after = {entry.checkpoint for entry in play_all(Story(story.graph, tuple(more))).progress.passed}
    assert before <= after


@given(stories())
def test_unknown_scores_like_false(story: Story) -> None:
    known: tuple[Truths, ...] = tuple({id: truth is True for id, truth in truths.items()} for truths in story.steps)
    assert play_all(story).progress.passed == play_all(Story(story.graph, known)).progress.passed


@given(stories())
def test_a_way_check_costs_nobody_a_point(story: Story) -> None:
    """Whatever passes in a graph of plain checkpoints also passes when some of them are way-checks."""
    plain = CheckpointGraph([Checkpoint(node.id, unused) for node in story.graph.checkpoints], story.graph.edges)
    strict = {entry.checkpoint for entry in play_all(Story(plain, story.steps)).progress.passed}
    lenient = {entry.checkpoint for entry in play_all(story).progress.passed}
    assert strict <= lenient


# Bookkeeping


def nothing(checkpoint: Checkpoint) -> Verdict:
    return Verdict(False)


def everything(checkpoint: Checkpoint) -> Verdict:
    return Verdict(True)


@contextmanager
def counted_lines() -> Iterator[list[int]]:
    """Counts the lines of crab.progress that run: a measure of work that is the same on every machine."""
    count = [0]

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != crab.progress.__file__:
            return None
        count[0] += event == "line"
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        yield count
    finally:
        sys.settrace(previous)


def work(progress: Progress, ask: Callable[[Checkpoint], Verdict]) -> int:
    with counted_lines() as count:
        progress.advance(ask, 1)
    return count[0]


def row(length: int, *, transient: bool = False) -> CheckpointGraph:
    return chain(*(Checkpoint(f"n{index}", unused, transient=transient) for index in range(length)))


def ladder(rungs: int) -> CheckpointGraph:
    """Rows of two, fully joined: the number of paths doubles with each."""
    return chain(*(parallel(Checkpoint(f"l{i}", unused), Checkpoint(f"r{i}", unused)) for i in range(rungs)))


def test_a_step_in_which_nothing_passes_costs_the_same_in_a_graph_of_any_size() -> None:
    assert work(Progress(row(10)), nothing) == work(Progress(row(5000)), nothing)


def test_passes_of_earlier_steps_cost_nothing() -> None:
    progress = Progress(row(2000))
    before = work(progress, nothing)
    progress.advance(lambda checkpoint: Verdict(checkpoint.id != "n1999"), 1)
    assert len(progress.passed) == 1999
    assert work(progress, nothing) <= before


def test_work_grows_in_a_line_with_what_passes() -> None:
    for build in (row, ladder, lambda length: row(length, transient=True)):
        small, large = work(Progress(build(200)), everything), work(Progress(build(2000)), everything)
        assert large < 11 * small


def test_a_row_of_way_checks_that_counts_at_once_costs_a_line_too() -> None:
    def work_of(length: int) -> int:
        graph = chain(row(length, transient=True), Checkpoint("last", unused))
        progress = Progress(graph)
        progress.advance(lambda checkpoint: Verdict(checkpoint.id == "last"), 1)
        assert progress.complete
        return work(Progress(graph), lambda checkpoint: Verdict(checkpoint.id == "last"))

    assert work_of(2000) < 11 * work_of(200)


def test_as_many_questions_as_checkpoints_where_paths_are_countless() -> None:
    asked: list[str] = []

    def ask(checkpoint: Checkpoint) -> Verdict:
        asked.append(checkpoint.id)
        return Verdict(True)

    progress = Progress(ladder(500))
    progress.advance(ask, 1)
    assert progress.complete
    assert len(asked) == 1000
