"""Checkpoint graphs are drawn so that everything can be read."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from crab.report.graph import draw_graph
from crab.report.layout import Box, Drawing, draw, layer_of
from tests.crab.report.fabricated import CONTACT, NOTE, QUARTER, TRIAGE, chain_edges, task_spec

WIDTH = 120.0


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes share a point."""
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def drawn(count: int, edges: list[tuple[str, str]]) -> Drawing:
    """Draws nodes n0, n1, … of different heights."""
    nodes = [f"n{index}" for index in range(count)]
    return draw(nodes, edges, {node: 30.0 + 7 * (index % 3) for index, node in enumerate(nodes)}, WIDTH)


@st.composite
def graphs(draw_value: st.DrawFn) -> tuple[int, list[tuple[str, str]]]:
    """Acyclic graphs of up to 20 nodes."""
    count = draw_value(st.integers(1, 20))
    pairs = [(f"n{before}", f"n{after}") for before, after in combinations(range(count), 2)]
    return count, draw_value(st.lists(st.sampled_from(pairs), max_size=30, unique=True)) if pairs else []


@given(graphs())
def test_no_two_boxes_overlap_and_all_are_inside(graph: tuple[int, list[tuple[str, str]]]) -> None:
    """Whatever the graph, no box hides another, and none is cut off."""
    drawing = drawn(*graph)
    boxes = list(drawing.boxes.values())

    assert len(boxes) == graph[0]
    assert not [pair for pair in combinations(boxes, 2) if overlap(*pair)]
    assert all(box.x >= 0 and box.x + box.width <= drawing.width for box in boxes)
    assert all(box.y >= 0 and box.y + box.height <= drawing.height for box in boxes)


@given(graphs())
def test_every_edge_leads_down_and_passes_no_box(graph: tuple[int, list[tuple[str, str]]]) -> None:
    """An arrow joins its two boxes from above to below; on its way it goes between the others, not behind them."""
    drawing = drawn(*graph)

    assert set(drawing.edges) == set(graph[1])
    for (source, target), points in drawing.edges.items():
        assert points[0][1] == drawing.boxes[source].y + drawing.boxes[source].height
        assert points[-1][1] == drawing.boxes[target].y
        assert [y for _, y in points] == sorted(y for _, y in points)
        for x, y in points[1:-1]:
            assert not any(
                box.x < x < box.x + box.width and box.y <= y <= box.y + box.height for box in drawing.boxes.values()
            )


def test_chain_is_one_straight_column() -> None:
    """A chain of 20 has all boxes under one another."""
    drawing = drawn(20, chain_edges(*(f"n{index}" for index in range(20))))

    assert len({box.x for box in drawing.boxes.values()}) == 1
    assert drawing.width < WIDTH + 20


def test_fork_and_join_are_centred() -> None:
    """What forks stands in the middle above its branches, and what joins in the middle below."""
    drawing = drawn(5, [("n0", "n1"), ("n0", "n2"), ("n0", "n3"), ("n1", "n4"), ("n2", "n4"), ("n3", "n4")])

    assert drawing.boxes["n0"].x == drawing.boxes["n2"].x == drawing.boxes["n4"].x
    assert len({drawing.boxes[node].y for node in ("n1", "n2", "n3")}) == 1


def test_two_chains_side_by_side_do_not_cross() -> None:
    """Order within layers follows the chains, even when nodes are named in a confusing order."""
    nodes = ["a1", "b1", "b2", "a2", "a3", "b3"]
    drawing = draw(
        nodes, [*chain_edges("a1", "a2", "a3"), *chain_edges("b1", "b2", "b3")], dict.fromkeys(nodes, 30.0), WIDTH
    )

    lefts = {drawing.boxes[node].x for node in ("a1", "a2", "a3")}
    rights = {drawing.boxes[node].x for node in ("b1", "b2", "b3")}
    assert len(lefts) == len(rights) == 1
    assert lefts != rights


def test_a_broken_record_with_a_cycle_is_still_drawn() -> None:
    """The edge that cannot lead down is left out; nothing hangs."""
    drawing = drawn(3, [("n0", "n1"), ("n1", "n2"), ("n2", "n1")])

    assert len(drawing.boxes) == 3
    assert layer_of(["n0"], []) == {"n0": 0}


def test_nothing_to_draw_is_an_empty_drawing() -> None:
    """No node, no size."""
    assert draw([], [], {}, WIDTH) == Drawing(0.0, 0.0, {}, {})


def test_labels_fit_their_boxes() -> None:
    """Lines are broken at words; what is too long ends in an ellipsis, and the tooltip has all of it."""
    for task in (NOTE, CONTACT, TRIAGE, QUARTER):
        graph = draw_graph(task)
        for node in graph.nodes:
            assert 1 <= len(node.lines) <= 3
            # 13 px of a wide font take about 8 px a character.
            assert all(len(line) * 8 + 35 <= node.box.width + 12 for line in node.lines)
            assert node.id in node.title
    long = next(node for node in draw_graph(TRIAGE).nodes if "quotes" in node.id)
    assert long.lines[-1].endswith("…")


def test_the_foot_names_the_device_where_there_are_several() -> None:
    """In a task of two devices one sees at once which is asked."""
    feet = {node.id: node.foot for node in draw_graph(CONTACT).nodes}

    assert feet["find.contact_open"] == "phone"
    assert feet["note.number_written"] == "desktop"


def test_an_unbroken_word_does_not_burst_its_box() -> None:
    """Labels of one long word are cut into lines too."""
    graph = draw_graph(task_spec("t", {"x" * 80: "desktop"}, []))

    assert all(len(line) <= 30 for line in graph.nodes[0].lines)
