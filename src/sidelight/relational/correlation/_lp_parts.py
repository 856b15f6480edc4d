"""Components of the positive edges as the covering problems that the linear program solves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from sidelight._kernels.relational.correlation.lp import component_scores
from sidelight._typing import FloatArray, IntArray
from sidelight.exceptions import SidelightError
from sidelight.relational.correlation._graph import SignedGraph

#: Nodes of a component whose pairs are held as a matrix: 8 bytes each, 128 MB.
MAX_NODES = 4000
#: Scored pairs of a component up to which programs are tried: 400 nodes if all pairs have a score.
#: 300 such nodes take seconds, and time grows steeply.
MAX_PAIRS = 80_000
#: Edges of small components that are solved together, so that few programs are started.
SHARED_EDGES = 4000


@dataclass(frozen=True, eq=False)
class EdgeComponents:
    """Some components of positive edges: positive edges, and the negative edges across them.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes,), int64
        Nodes of the graph, component by component.
    starts : ndarray of shape (n_components + 1,), int64
        Where components begin in ``nodes``.
    ends : ndarray of shape (n_edges, 2), int64
        Both ends of every edge as places in ``nodes``; positive edges first.
    weights : ndarray of shape (n_edges,), float64
        Absolute score; infinite for pairs that must not join.
    n_positive : int
        Number of positive edges.
    paid : ndarray of shape (n_components,), float64
        Positive scores of pairs that must not join: these pairs are no positive edges.
    """

    nodes: IntArray
    starts: IntArray
    ends: IntArray
    weights: FloatArray
    n_positive: int
    paid: FloatArray

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def n_negative(self) -> int:
        """Number of negative edges."""
        return len(self.weights) - self.n_positive

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.starts) - 1

    @cached_property
    def component(self) -> IntArray:
        """Component of every edge, counted from 0 in this part."""
        return np.repeat(np.arange(self.n_components), np.diff(self.starts))[self.ends[:, 0]]

    def positive_rows(self) -> tuple[IntArray, IntArray, IntArray]:
        """Positive edges in CSR form, both directions: row pointers, neighbors, edge numbers."""
        low, high = self.ends[: self.n_positive].T
        rows, columns = np.concatenate([low, high]), np.concatenate([high, low])
        numbers = np.tile(np.arange(1, self.n_positive + 1), 2)
        matrix = sparse.coo_array((numbers, (rows, columns)), (self.n_nodes,) * 2).tocsr()
        matrix.sort_indices()
        return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data - 1

    def negative_rows(self) -> tuple[IntArray, IntArray]:
        """Row pointers and larger ends of the negative edges, which are sorted by both ends."""
        low, high = self.ends[self.n_positive :].T
        counts = np.bincount(low, minlength=self.n_nodes)
        return np.concatenate([[0], np.cumsum(counts)]), np.ascontiguousarray(high)


def components_of(graph: SignedGraph) -> list[IntArray]:
    """Nodes of every component of positive edges that has more than one, by their first node."""
    code = graph.positive_components
    order = np.argsort(code, kind="stable")
    counts = np.bincount(code)
    groups = np.split(order, np.cumsum(counts)[:-1]) if graph.n else []
    return [group for group, count in zip(groups, counts, strict=True) if count > 1]


class ComponentScores:
    """Scores of all pairs of the nodes of one component, as a matrix at a time."""

    def __init__(self, graph: SignedGraph) -> None:
        self._graph = graph
        self._place = np.full(graph.n, -1, np.int64)
        self._sources = graph.sources.sorted_indices()

    def __call__(self, nodes: IntArray) -> tuple[FloatArray, float]:
        """Scores, ``-inf`` for pairs that must not join, and the positive scores these cost."""
        graph, sources = self._graph, self._sources
        out = np.empty((len(nodes), len(nodes)))
        self._place[nodes] = np.arange(len(nodes))
        paid = component_scores(
            graph.scores.indptr,
            graph.scores.indices,
            graph.scores.data,
            graph.mass,
            graph.absent,
            graph.cliques,
            graph.conflicts.indptr,
            graph.conflicts.indices,
            sources.indptr,
            sources.indices,
            nodes,
            self._place,
            out,
        )
        self._place[nodes] = -1
        return out, paid


def check_nodes(groups: list[IntArray], what: str) -> None:
    """Raise on a component whose matrix of pairs is too large for memory."""
    largest = max((len(group) for group in groups), default=0)
    if largest > MAX_NODES:
        raise SidelightError(
            f"{what} with n={largest:,} nodes that positive scores connect would need a matrix of "
            f"{8e-9 * largest**2:.1f} GB, and at most {MAX_NODES:,} nodes are taken; use "
            "method='local' or 'pivot'."
        )


def check_pairs(graph: SignedGraph, groups: list[IntArray], what: str) -> None:
    """Raise on a component that makes a program too large to solve."""
    check_nodes(groups, what)
    listed = np.diff(graph.scores.indptr)
    for nodes in groups:
        k = len(nodes)
        all_count = graph.absent > 0 or graph.cliques
        n_pairs = k * (k - 1) // 2 if all_count else int(listed[nodes].sum()) // 2
        if n_pairs > MAX_PAIRS:
            raise SidelightError(
                f"{what} with n={k:,} nodes that positive scores connect would need {n_pairs:,} "
                f"columns, and at most {MAX_PAIRS:,} are tried; use method='local' or 'pivot'."
            )


def parts_of(graph: SignedGraph, groups: list[IntArray]) -> Iterator[EdgeComponents]:
    """Parts of the graph, small components together."""
    scores_of = ComponentScores(graph)
    waiting: list[tuple[IntArray, IntArray, FloatArray, float]] = []
    n_edges = 0
    for nodes in groups:
        scores, paid = scores_of(nodes)
        first, second = np.nonzero(np.triu(scores))
        waiting.append((nodes, np.column_stack([first, second]), scores[first, second], paid))
        n_edges += len(first)
        if n_edges >= SHARED_EDGES:
            yield _joined(waiting)
            waiting, n_edges = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(waiting: list[tuple[IntArray, IntArray, FloatArray, float]]) -> EdgeComponents:
    """One part of several components."""
    starts = np.concatenate([[0], np.cumsum([len(nodes) for nodes, *_ in waiting])])
    shifted = [pairs + start for (_, pairs, _, _), start in zip(waiting, starts[:-1], strict=True)]
    ends = np.concatenate(shifted)
    scores = np.concatenate([values for *_, values, _ in waiting])
    positive, negative = np.flatnonzero(scores > 0), np.flatnonzero(scores < 0)
    order = np.concatenate([positive, negative])
    return EdgeComponents(
        nodes=np.concatenate([nodes for nodes, *_ in waiting]),
        starts=starts.astype(np.int64),
        ends=ends[order].astype(np.int64),
        weights=np.abs(scores[order]),
        n_positive=len(positive),
        paid=np.array([paid for *_, paid in waiting]),
    )
