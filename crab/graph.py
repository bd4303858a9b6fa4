"""Checkpoint graphs: immutable directed acyclic graphs of evaluators with readable ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from crab.errors import GraphError
from crab.evaluator import Evaluator

if TYPE_CHECKING:
    import networkx


@dataclass(frozen=True)
class Checkpoint:
    """One node: a question that has to be answered yes once.

    Attributes:
        id: Readable and unique in its graph, for example ``folder_exists``.
        evaluator: The question, ready to be asked.
        transient: Whether it only checks the way (an application in front): its successors are active together
            with it, and when one of them passes it counts as passed.
        label: One line for people; the id in words when empty.
    """

    id: str
    evaluator: Evaluator
    transient: bool = False
    label: str = ""

    def __post_init__(self) -> None:
        if not self.id or self.id != self.id.strip() or any(character.isspace() for character in self.id):
            raise GraphError(f"checkpoint id {self.id!r} must be non-empty and free of white space")
        if not isinstance(self.evaluator, Evaluator):
            raise GraphError(f"checkpoint {self.id}: {type(self.evaluator).__name__} is not an evaluator")
        self.evaluator.require_ready()
        if not self.label:
            object.__setattr__(self, "label", self.id.rpartition(".")[2].replace("_", " "))


class CheckpointGraph:
    """An immutable graph of checkpoints; any number of sources and sinks.

    Args:
        checkpoints: The nodes. Their order is kept and breaks ties in `order`.
        edges: Pairs of ids (before, after). A pair given twice counts once.

    Raises:
        GraphError: No checkpoint, a duplicate id, an edge to an unknown id, or a cycle (which is spelled out).
    """

    def __init__(self, checkpoints: Iterable[Checkpoint], edges: Iterable[tuple[str, str]] = ()) -> None:
        nodes = tuple(checkpoints)
        if not nodes:
            raise GraphError("a checkpoint graph needs at least one checkpoint")
        by_id: dict[str, Checkpoint] = {}
        for node in nodes:
            if node.id in by_id:
                raise GraphError(f"checkpoint id {node.id!r} is used twice; ids are unique in a graph")
            by_id[node.id] = node
        before: dict[str, dict[str, None]] = {id: {} for id in by_id}
        after: dict[str, dict[str, None]] = {id: {} for id in by_id}
        for source, target in edges:
            for id in (source, target):
                if id not in by_id:
                    raise GraphError(f"edge {source!r} → {target!r}: there is no checkpoint {id!r}")
            before[target][source] = None
            after[source][target] = None
        self._by_id = by_id
        self._before = {id: tuple(others) for id, others in before.items()}
        self._after = {id: tuple(others) for id, others in after.items()}
        self.order: tuple[str, ...] = self._topological_order()
        """All ids, every checkpoint after its predecessors; ties in the order given."""

    def _topological_order(self) -> tuple[str, ...]:
        sorter = TopologicalSorter(self._before)
        try:
            sorter.prepare()
        except CycleError as error:
            raise GraphError(f"checkpoints form a cycle: {' → '.join(error.args[1])}") from error
        rank = {id: index for index, id in enumerate(self._by_id)}
        order: list[str] = []
        while sorter.is_active():
            ready = sorted(sorter.get_ready(), key=rank.__getitem__)
            order.extend(ready)
            sorter.done(*ready)
        return tuple(order)

    def __len__(self) -> int:
        """Number of checkpoints, N."""
        return len(self._by_id)

    def __getitem__(self, id: str) -> Checkpoint:
        """Returns the checkpoint with that id.

        Raises:
            KeyError: There is none.
        """
        return self._by_id[id]

    def __contains__(self, id: object) -> bool:
        """Whether there is a checkpoint with that id."""
        return id in self._by_id

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """All nodes in the order given."""
        return tuple(self._by_id.values())

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """All pairs (before, after), sorted by topological order of both ends."""
        rank = {id: index for index, id in enumerate(self.order)}
        pairs = [(source, target) for target, sources in self._before.items() for source in sources]
        return tuple(sorted(pairs, key=lambda pair: (rank[pair[0]], rank[pair[1]])))

    def predecessors(self, id: str) -> tuple[str, ...]:
        """Ids that come directly before."""
        return self._before[id]

    def successors(self, id: str) -> tuple[str, ...]:
        """Ids that come directly after."""
        return self._after[id]

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Ids without predecessor, in topological order."""
        return tuple(id for id in self.order if not self._before[id])

    @cached_property
    def sinks(self) -> tuple[str, ...]:
        """Ids without successor, in topological order."""
        return tuple(id for id in self.order if not self._after[id])

    @property
    def environments(self) -> frozenset[str]:
        """Roles of all environments that any checkpoint asks."""
        return frozenset().union(*(node.evaluator.environments for node in self._by_id.values()))

    def prefixed(self, prefix: str) -> CheckpointGraph:
        """Returns the same graph with ``prefix.`` before every id."""
        return CheckpointGraph(
            (replace(node, id=f"{prefix}.{node.id}") for node in self._by_id.values()),
            ((f"{prefix}.{source}", f"{prefix}.{target}") for source, target in self.edges),
        )

    def rebound(self, roles: Mapping[str, str]) -> CheckpointGraph:
        """Returns the same graph asking other environments; roles not in the mapping stay."""
        return CheckpointGraph(
            (replace(node, evaluator=node.evaluator.rebound(roles)) for node in self._by_id.values()), self.edges
        )

    def to_networkx(self) -> networkx.DiGraph[Any]:
        """Returns a networkx graph whose nodes are ids with attributes `label` and `transient`."""
        import networkx

        graph: networkx.DiGraph[Any] = networkx.DiGraph()
        for node in self._by_id.values():
            graph.add_node(node.id, label=node.label, transient=node.transient)
        graph.add_edges_from(self.edges)
        return graph


GraphPart = Checkpoint | CheckpointGraph | Evaluator
"""What `chain` and `parallel` take: an evaluator alone becomes a checkpoint named after it."""


def checkpoint(id: str, evaluator: Evaluator, *, transient: bool = False, label: str = "") -> Checkpoint:
    """Returns a `Checkpoint`; see there."""
    return Checkpoint(id, evaluator, transient, label)


def chain(*parts: GraphPart) -> CheckpointGraph:
    """Returns a graph in which each part comes after the one before: all its sinks before all sources of the next."""
    graphs = [_as_graph(part) for part in parts]
    links = [
        (sink, source) for earlier, later in pairwise(graphs) for sink in earlier.sinks for source in later.sources
    ]
    return _union(graphs, links)


def parallel(*parts: GraphPart) -> CheckpointGraph:
    """Returns a graph of parts that do not wait for one another."""
    return _union([_as_graph(part) for part in parts], [])


def union(graphs: Iterable[CheckpointGraph], links: Iterable[tuple[str, str]] = ()) -> CheckpointGraph:
    """Returns all graphs as one, with further edges between their checkpoints."""
    return _union(list(graphs), list(links))


def _as_graph(part: GraphPart) -> CheckpointGraph:
    if isinstance(part, CheckpointGraph):
        return part
    if isinstance(part, Evaluator):
        part = Checkpoint("_".join(part.name.split()), part)
    if not isinstance(part, Checkpoint):
        raise GraphError(f"chain and parallel take checkpoints, graphs and evaluators, not {type(part).__name__}")
    return CheckpointGraph([part])


def _union(graphs: list[CheckpointGraph], links: list[tuple[str, str]]) -> CheckpointGraph:
    nodes = [node for graph in graphs for node in graph.checkpoints]
    return CheckpointGraph(nodes, [edge for graph in graphs for edge in graph.edges] + links)
