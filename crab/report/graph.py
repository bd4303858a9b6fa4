"""A task's checkpoints as a drawing: boxes with labels that fit, and curves between them."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from crab.record.schema import CheckpointSpec, TaskSpec
from crab.report.layout import Box, draw, layer_of

LINE = 16.0
"""Pixels of one line of a label."""

_PADDING = 10.0
_FOOT = 17.0
_LINES = 3
# Box width in pixels by the size of the widest layer, and how many characters fit a line beside the sign.
_SIZES = {1: (256.0, 26), 2: (188.0, 18), 3: (154.0, 13)}
_SMALLEST = (126.0, 10)


@dataclass(frozen=True)
class Node:
    """One checkpoint as it is drawn.

    Attributes:
        id: Of the checkpoint.
        box: Where it is.
        lines: Its label, broken so that it fits.
        foot: The small line below: which device it asks, else its subtask, else its evaluator.
        title: Everything about it, for the tooltip.
        transient: Whether it only checks the way.
    """

    id: str
    box: Box
    lines: tuple[str, ...]
    foot: str
    title: str
    transient: bool


@dataclass(frozen=True)
class Edge:
    """One arrow: ids of its ends, and its path in SVG's words."""

    source: str
    target: str
    path: str


@dataclass(frozen=True)
class Graph:
    """The whole drawing, in pixels; in a narrow one a box has no room for both its foot and the step it passed at."""

    width: float
    height: float
    narrow: bool
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def draw_graph(task: TaskSpec) -> Graph:
    """Draws the checkpoints of a task from top to bottom."""
    ids = [node.id for node in task.checkpoints]
    known = set(ids)
    edges = [(source, target) for source, target in task.edges if source in known and target in known]
    width, characters = _SIZES.get(max(Counter(layer_of(ids, edges).values()).values()), _SMALLEST)
    lines = {node.id: _broken(node.label or node.id, characters) for node in task.checkpoints}
    heights = {id: 2 * _PADDING + LINE * len(text) + _FOOT for id, text in lines.items()}
    drawing = draw(ids, edges, heights, width)
    several = len({role for node in task.checkpoints for role in node.environments}) > 1
    return Graph(
        narrow=width < _SIZES[2][0],
        width=drawing.width,
        height=drawing.height,
        nodes=tuple(
            Node(
                id=node.id,
                box=drawing.boxes[node.id],
                lines=lines[node.id],
                foot=_foot(node, characters, several=several),
                title=_title(node),
                transient=node.transient,
            )
            for node in task.checkpoints
        ),
        edges=tuple(Edge(source, target, _curve(points)) for (source, target), points in drawing.edges.items()),
    )


def _broken(label: str, characters: int) -> tuple[str, ...]:
    lines = textwrap.wrap(label, characters, max_lines=_LINES, placeholder="…")
    return tuple(lines) or (label[:characters],)


def _foot(node: CheckpointSpec, characters: int, *, several: bool) -> str:
    text = ", ".join(node.environments) if several else node.id.rpartition(".")[0]
    # Beside it stands the step at which the checkpoint passed.
    room = characters - 4 if characters > _SIZES[3][1] else characters
    if not text:
        # The evaluator's name helps when it is one; a whole formula does not fit.
        return node.evaluator if len(node.evaluator) <= room else ""
    return text if len(text) <= room else f"{text[: room - 1]}…"


def _title(node: CheckpointSpec) -> str:
    way = "\nchecks only the way: passes with what comes after it" if node.transient else ""
    return f"{node.id}\n{node.evaluator} on {', '.join(node.environments)}{way}"


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """Leaves and arrives upright, so that arrowheads point down."""
    (x, y), *rest = points
    parts = [f"M{x:g} {y:g}"]
    for next_x, next_y in rest:
        middle = (y + next_y) / 2
        straight = f"L{next_x:g} {next_y:g}"
        parts.append(straight if next_x == x else f"C{x:g} {middle:g} {next_x:g} {middle:g} {next_x:g} {next_y:g}")
        x, y = next_x, next_y
    return "".join(parts)
