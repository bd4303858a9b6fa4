"""Layered drawing of a directed acyclic graph: where each box stands and which way each edge goes.

Layers run from top to bottom (a node stands below all its predecessors). Edges that skip layers get a lane of their
own in each, so that they pass between boxes, never behind them. Boxes never overlap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

GAP = 14.0
"""Pixels between two boxes of a layer."""

LAYER_GAP = 34.0
"""Pixels between two layers."""

LANE = 14.0
"""Width in pixels of a passing edge's lane."""

MARGIN = 6.0
"""Pixels around the drawing."""

_SWEEPS = 24

# A bend in a passing edge is uglier than a box off its place.
_LANE_WEIGHT = 4.0


@dataclass(frozen=True)
class Box:
    """One node's place: upper left corner and size in pixels."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Drawing:
    """Where everything is, in pixels.

    Attributes:
        width: Of the whole drawing.
        height: Of the whole drawing.
        boxes: By node.
        edges: By (before, after): the points an edge goes through, from the bottom of one box to the top of the other.
    """

    width: float
    height: float
    boxes: Mapping[str, Box]
    edges: Mapping[tuple[str, str], tuple[tuple[float, float], ...]]


def layer_of(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Returns each node's layer: the length of the longest way to it from a source.

    Edges that close a cycle are ignored, so that a broken record can still be drawn.
    """
    before: dict[str, list[str]] = {node: [] for node in nodes}
    after: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in edges:
        before[target].append(source)
        after[source].append(target)
    waiting = {node: len(before[node]) for node in nodes}
    layers = dict.fromkeys(nodes, 0)
    ready = [node for node in nodes if waiting[node] == 0]
    for node in ready:
        for target in after[node]:
            layers[target] = max(layers[target], layers[node] + 1)
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    return layers


def draw(nodes: Sequence[str], edges: Sequence[tuple[str, str]], heights: Mapping[str, float], width: float) -> Drawing:
    """Lays out a graph.

    Args:
        nodes: Ids, in the order that breaks ties from left to right.
        edges: Pairs (before, after) of them.
        heights: Pixels of each node's box.
        width: Pixels of every box.
    """
    if not nodes:
        return Drawing(0.0, 0.0, {}, {})
    layers = layer_of(nodes, edges)
    forward = [edge for edge in dict.fromkeys(edges) if layers[edge[0]] < layers[edge[1]]]
    sheet = _Sheet(nodes, forward, layers)
    sheet.order()
    centers = sheet.place(width)
    tops, bottoms = _levels(sheet.rows, heights)
    left = min(centers[key] - sheet.width(key, width) / 2 for row in sheet.rows for key in row)
    shift = MARGIN - left
    boxes = {
        node: Box(round(centers[node] + shift - width / 2, 1), round(tops[layers[node]], 1), width, heights[node])
        for node in nodes
    }
    routes: dict[tuple[str, str], tuple[tuple[float, float], ...]] = {}
    for edge in forward:
        source, target = edge
        points = [(boxes[source].x + width / 2, boxes[source].y + boxes[source].height)]
        for layer in range(layers[source] + 1, layers[target]):
            x = centers[_lane(edge, layer)] + shift
            points += [(x, tops[layer]), (x, bottoms[layer])]
        points.append((boxes[target].x + width / 2, boxes[target].y))
        routes[edge] = tuple((round(x, 1), round(y, 1)) for x, y in points)
    right = max(centers[key] + sheet.width(key, width) / 2 for row in sheet.rows for key in row)
    return Drawing(round(right + shift + MARGIN, 1), round(bottoms[-1] + MARGIN, 1), boxes, routes)


def _levels(rows: Sequence[Sequence[str]], heights: Mapping[str, float]) -> tuple[list[float], list[float]]:
    tops: list[float] = []
    bottoms: list[float] = []
    top = MARGIN
    for row in rows:
        tall = max(heights.get(key, 0.0) for key in row)
        tops.append(top)
        bottoms.append(top + tall)
        top += tall + LAYER_GAP
    return tops, bottoms


def _lane(edge: tuple[str, str], layer: int) -> str:
    # Ids hold no white space, so a lane's key cannot be a node's.
    return f"{edge[0]} {edge[1]} {layer}"


class _Sheet:
    """Rows of nodes and lanes, ordered and then placed."""

    def __init__(self, nodes: Sequence[str], edges: Sequence[tuple[str, str]], layers: Mapping[str, int]) -> None:
        self.rows: list[list[str]] = [[] for _ in range(max(layers.values()) + 1)]
        self._lanes: set[str] = set()
        self._up: dict[str, list[str]] = {}
        self._down: dict[str, list[str]] = {}
        for node in nodes:
            self._add(node, layers[node])
        for edge in edges:
            previous = edge[0]
            for layer in range(layers[edge[0]] + 1, layers[edge[1]]):
                key = _lane(edge, layer)
                self._add(key, layer)
                self._lanes.add(key)
                self._join(previous, key)
                previous = key
            self._join(previous, edge[1])

    def _add(self, key: str, layer: int) -> None:
        self.rows[layer].append(key)
        self._up[key], self._down[key] = [], []

    def _join(self, upper: str, lower: str) -> None:
        self._down[upper].append(lower)
        self._up[lower].append(upper)

    def width(self, key: str, box: float) -> float:
        """Returns how wide a node or lane is."""
        return LANE if key in self._lanes else box

    def order(self) -> None:
        """Sorts each row so that few edges cross: by the mean place of the neighbours above, then below, in turn."""
        best, fewest = [list(row) for row in self.rows], self._crossings()
        for sweep in range(_SWEEPS):
            if fewest == 0:
                break
            down = sweep % 2 == 0
            rows = range(1, len(self.rows)) if down else range(len(self.rows) - 2, -1, -1)
            for number in rows:
                self._sort_row(number, self._up if down else self._down, number - 1 if down else number + 1)
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(row) for row in self.rows], crossings
        self.rows = best

    def _sort_row(self, number: int, neighbours: Mapping[str, list[str]], beside: int) -> None:
        place = {key: index for index, key in enumerate(self.rows[beside])}
        own = {key: index for index, key in enumerate(self.rows[number])}

        def mean(key: str) -> float:
            others = neighbours[key]
            return sum(place[other] for other in others) / len(others) if others else float(own[key])

        self.rows[number].sort(key=lambda key: (mean(key), own[key]))

    def _crossings(self) -> int:
        count = 0
        for upper, lower in zip(self.rows, self.rows[1:], strict=False):
            place = {key: index for index, key in enumerate(lower)}
            ends = [place[target] for key in upper for target in sorted(self._down[key], key=place.__getitem__)]
            count += sum(1 for index, end in enumerate(ends) for other in ends[index + 1 :] if other < end)
        return count

    def place(self, box: float) -> dict[str, float]:
        """Returns the middle of each node and lane: near its neighbours, and clear of the others in its row."""
        centers: dict[str, float] = {}
        for row in self.rows:
            centers.update(self._packed(row, dict.fromkeys(row, 0.0), box))
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            neighbours = self._up if down else self._down
            for row in self.rows if down else reversed(self.rows):
                wanted = {key: self._wanted(key, neighbours[key], centers) for key in row}
                centers.update(self._packed(row, wanted, box))
        return centers

    def _wanted(self, key: str, others: Sequence[str], centers: Mapping[str, float]) -> float:
        if key in self._lanes:
            # A passing edge should run straight, so its own parts pull more than the boxes at its ends.
            others = [other for other in others if other in self._lanes] or others
        return sum(centers[other] for other in others) / len(others) if others else centers[key]

    def _packed(self, row: Sequence[str], wanted: Mapping[str, float], box: float) -> dict[str, float]:
        """Comes as near to the wanted places as order and gaps allow, in the sense of least squares."""
        offsets: list[float] = []
        edge = 0.0
        for key in row:
            wide = self.width(key, box)
            offsets.append(edge + wide / 2)
            edge += wide + GAP
        # With the offsets taken off, "in order and apart" is "not decreasing": isotonic regression pools violators.
        blocks: list[tuple[float, float, int]] = []
        for key, offset in zip(row, offsets, strict=True):
            mean, weight, size = wanted[key] - offset, _LANE_WEIGHT if key in self._lanes else 1.0, 1
            while blocks and blocks[-1][0] > mean:
                other, heavy, count = blocks.pop()
                mean = (mean * weight + other * heavy) / (weight + heavy)
                weight, size = weight + heavy, size + count
            blocks.append((mean, weight, size))
        means = [mean for mean, _, size in blocks for _ in range(size)]
        return {key: mean + offset for key, mean, offset in zip(row, means, offsets, strict=True)}
