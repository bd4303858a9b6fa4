"""Checkpoint graphs: what may be built, how parts nest, and what a graph says about itself."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import networkx
import pytest

from crab.errors import DefinitionError, GraphError
from crab.evaluator import Evaluator, Probes, evaluator
from crab.graph import Checkpoint, CheckpointGraph, chain, checkpoint, parallel, union


@evaluator
def done() -> bool:
    """Always true."""
    return True


@evaluator
def asks(env: Probes, what: str) -> bool:
    """Asks a device."""
    return bool(env.probe(what))


def node(id: str, *, transient: bool = False) -> Checkpoint:
    return checkpoint(id, done, transient=transient)


def nodes(ids: str) -> list[Checkpoint]:
    return [node(id) for id in ids]


def edges(graph: CheckpointGraph) -> set[str]:
    return {before + after for before, after in graph.edges}


# Checkpoints


@pytest.mark.parametrize("id", ["", " ", "a b", " a", "a\n", "tab\tbed"])
def test_an_id_is_one_word(id: str) -> None:
    with pytest.raises(GraphError, match="non-empty and free of white space"):
        checkpoint(id, done)


def test_a_label_is_the_id_in_words_unless_given() -> None:
    assert checkpoint("make.folder_exists", done).label == "folder exists"
    assert checkpoint("folder_exists", done, label="The folder is there").label == "The folder is there"


def test_only_ready_evaluators_become_checkpoints() -> None:
    with pytest.raises(DefinitionError, match="'what' is still open"):
        checkpoint("a", asks)
    with pytest.raises(DefinitionError, match="asks no environment"):
        checkpoint("a", asks.bind(what="x"))
    with pytest.raises(GraphError, match="checkpoint a: function is not an evaluator"):
        checkpoint("a", lambda: True)  # type: ignore[arg-type]


# Building


def test_an_empty_graph_is_refused() -> None:
    builds: list[Callable[[], CheckpointGraph]] = [lambda: CheckpointGraph([]), chain, parallel, lambda: union([])]
    for build in builds:
        with pytest.raises(GraphError, match="at least one checkpoint"):
            build()


def test_an_id_used_twice_is_refused_and_named() -> None:
    builds: list[Callable[[], CheckpointGraph]] = [
        lambda: CheckpointGraph(nodes("aba")),
        lambda: chain(node("a"), parallel(node("b"), node("a"))),
        lambda: parallel(done, done),
    ]
    for build in builds:
        with pytest.raises(GraphError, match=r"checkpoint id '(a|done)' is used twice"):
            build()


def test_an_edge_to_nowhere_is_refused_and_named() -> None:
    for edge in (("a", "x"), ("x", "a")):
        with pytest.raises(GraphError, match=f"'{edge[0]}' → '{edge[1]}': there is no checkpoint 'x'"):
            CheckpointGraph(nodes("ab"), [edge])


@pytest.mark.parametrize(
    ("ids", "pairs", "cycles"),
    [
        ("a", ["aa"], ["a → a"]),
        ("ab", ["ab", "ba"], ["a → b → a", "b → a → b"]),
        ("sabct", ["sa", "ab", "bc", "ca", "ct"], ["a → b → c → a", "b → c → a → b", "c → a → b → c"]),
    ],
)
def test_a_cycle_is_refused_and_spelled_out_in_its_direction(ids: str, pairs: list[str], cycles: list[str]) -> None:
    with pytest.raises(GraphError) as caught:
        CheckpointGraph(nodes(ids), [(pair[0], pair[1]) for pair in pairs])
    assert str(caught.value) in {f"checkpoints form a cycle: {cycle}" for cycle in cycles}


def test_an_edge_given_twice_counts_once() -> None:
    graph = CheckpointGraph(nodes("ab"), [("a", "b"), ("a", "b")])
    assert graph.edges == (("a", "b"),)
    assert graph.predecessors("b") == ("a",)


def test_a_graph_does_not_change_with_what_it_was_built_from() -> None:
    parts, pairs = nodes("ab"), [("a", "b")]
    graph = CheckpointGraph(parts, pairs)
    parts.append(node("c"))
    pairs.append(("b", "a"))
    assert (len(graph), graph.edges) == (2, (("a", "b"),))


# What a graph says


def test_a_graph_has_any_number_of_sources_and_sinks() -> None:
    graph = CheckpointGraph(nodes("abcde"), [("a", "c"), ("b", "c"), ("c", "d")])
    assert graph.sources == ("a", "b", "e")
    assert set(graph.sinks) == {"d", "e"}
    assert len(graph) == 5


def test_neighbours_are_told() -> None:
    graph = CheckpointGraph(nodes("abc"), [("a", "c"), ("b", "c")])
    assert set(graph.predecessors("c")) == {"a", "b"}
    assert graph.successors("a") == ("c",)
    assert graph.successors("c") == graph.predecessors("a") == ()


def test_checkpoints_are_found_by_id() -> None:
    graph = CheckpointGraph(nodes("ab"))
    assert graph["b"].id == "b"
    assert "a" in graph
    assert "x" not in graph
    with pytest.raises(KeyError):
        graph["x"]


@pytest.mark.parametrize("ids", ["".join(order) for order in itertools.permutations("abcd")])
def test_the_order_puts_every_checkpoint_after_its_predecessors(ids: str) -> None:
    graph = CheckpointGraph(nodes(ids), [("d", "b"), ("b", "a"), ("c", "a")])
    place = {id: graph.order.index(id) for id in "abcd"}
    assert place["d"] < place["b"] < place["a"]
    assert place["c"] < place["a"]
    assert sorted(graph.order) == list("abcd")


def test_ties_in_the_order_are_broken_as_given() -> None:
    assert CheckpointGraph(nodes("zxy")).order == ("z", "x", "y")


def test_environments_are_gathered_from_all_questions() -> None:
    first, second = asks.bind(what="x").on("desktop"), asks.bind(what="x").on("phone")
    assert chain(node("a"), checkpoint("b", first & ~second)).environments == {"desktop", "phone"}
    assert chain(node("a")).environments == frozenset()


def test_a_graph_becomes_a_networkx_graph() -> None:
    graph = chain(node("a"), parallel(node("b", transient=True), node("c"))).to_networkx()
    assert networkx.is_directed_acyclic_graph(graph)
    assert set(graph.edges) == {("a", "b"), ("a", "c")}
    assert graph.nodes["b"] == {"label": "b", "transient": True}


# Putting parts together


def test_a_chain_links_every_sink_to_every_source() -> None:
    graph = chain(node("a"), parallel(node("b"), node("c")), parallel(node("d"), node("e")), node("f"))
    assert edges(graph) == {"ab", "ac", "bd", "be", "cd", "ce", "df", "ef"}


def test_parallel_parts_do_not_wait_for_one_another() -> None:
    graph = parallel(chain(node("a"), node("b")), chain(node("c"), node("d")))
    assert edges(graph) == {"ab", "cd"}
    assert (set(graph.sources), set(graph.sinks)) == ({"a", "c"}, {"b", "d"})


def test_chains_and_parallels_nest() -> None:
    graph = chain(
        parallel(chain(node("a"), parallel(node("b"), node("c"))), node("d")),
        chain(node("e"), parallel(node("f"), chain(node("g"), node("h")))),
    )
    assert edges(graph) == {"ab", "ac", "be", "ce", "de", "ef", "eg", "gh"}


def test_a_chain_of_chains_is_one_chain() -> None:
    flat = chain(*nodes("abcd"))
    assert edges(flat) == edges(chain(chain(*nodes("ab")), chain(*nodes("cd")))) == {"ab", "bc", "cd"}


def test_one_part_stays_itself() -> None:
    inner = chain(*nodes("ab"))
    assert edges(chain(inner)) == edges(parallel(inner)) == {"ab"}


def test_an_evaluator_alone_becomes_a_checkpoint_named_after_it() -> None:
    graph = chain(done, asks.bind(what="x").on("desktop") & done)
    assert [part.id for part in graph.checkpoints] == ["done", "(asks_and_done)"]


def test_other_things_are_refused() -> None:
    with pytest.raises(GraphError, match="not str"):
        chain("a")  # type: ignore[arg-type]


def test_transience_survives_nesting_prefixing_and_rebinding() -> None:
    graph = parallel(chain(node("a", transient=True), node("b"))).prefixed("one").rebound({})
    assert [(part.id, part.transient) for part in graph.checkpoints] == [("one.a", True), ("one.b", False)]


def test_a_prefix_renames_ids_and_edges_and_keeps_labels() -> None:
    graph = chain(node("a_b"), checkpoint("c", done, label="See")).prefixed("make")
    assert graph.edges == (("make.a_b", "make.c"),)
    assert [part.label for part in graph.checkpoints] == ["a b", "See"]


def test_rebinding_moves_the_questions_to_other_roles() -> None:
    question: Evaluator = asks.bind(what="x").on("desktop")
    graph = chain(checkpoint("a", question), checkpoint("b", ~question))
    moved = graph.rebound({"desktop": "laptop"})
    assert moved.environments == {"laptop"}
    assert moved.edges == graph.edges
    assert graph.environments == {"desktop"}


def test_a_union_adds_links_between_its_parts() -> None:
    graph = union([chain(*nodes("ab")), chain(*nodes("cd"))], [("a", "d")])
    assert edges(graph) == {"ab", "cd", "ad"}
    with pytest.raises(GraphError, match="cycle"):
        union([graph], [("d", "a")])
