"""Minimum cuts that separate the labeled rows of classes, by maximum flows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array, IntArray

#: Sum of all capacities of a flow problem: weights become whole numbers of this resolution.
TOTAL_CAPACITY = 2**50

#: A swap has to lower the cut by more than this share of it.
SMALLEST_GAIN = 1e-9


@dataclass(frozen=True)
class FlowEdges:
    """Edges of a graph, each once, and the classes of its labeled rows.

    Attributes
    ----------
    first, second : ndarray of shape (n_edges,)
        Ends.
    weights : ndarray of shape (n_edges,)
        Weights above 0.
    labels : ndarray of shape (n,)
        Codes of the classes, -1 for unlabeled rows.
    """

    first: IntArray
    second: IntArray
    weights: Array
    labels: IntArray

    def cut(self, classes: IntArray) -> float:
        """Weight of the edges between rows of different classes."""
        return float(self.weights[classes[self.first] != classes[self.second]].sum())

    def cost(self, classes: IntArray, prices: Array) -> float:
        """Weight of the edges between rows of different classes, and prices of unlabeled rows."""
        counts = np.bincount(classes[self.labels < 0], minlength=len(prices))
        return self.cut(classes) + float(counts @ prices)

    def reweighted(self, factors: Array) -> FlowEdges:
        """The same edges, with weights times these factors."""
        return replace(self, weights=self.weights * factors)

    def subgraph(self, rows: IntArray) -> FlowEdges:
        """Edges between some of the rows, renumbered."""
        place = np.full(len(self.labels), -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        ends = place[self.first], place[self.second]
        kept = (ends[0] >= 0) & (ends[1] >= 0)
        return FlowEdges(ends[0][kept], ends[1][kept], self.weights[kept], self.labels[rows])


def edges_of(W: sparse.csr_array, labels: IntArray) -> FlowEdges:
    """Edges of a symmetric matrix of similarities."""
    upper = sparse.coo_array(sparse.triu(W, 1))
    first, second = (np.asarray(ends, dtype=np.int64) for ends in upper.coords)
    return FlowEdges(first, second, upper.data, labels)


def separate(edges: FlowEdges, code: int, price: float = 0.0) -> tuple[Array, Array, float]:
    """Minimum cut between the labeled rows of a class and those of all others.

    Labeled rows on the same side are one vertex: edges of infinite weight join them. Every
    unlabeled row that is with the class costs ``price`` more than one that is with the others.

    Returns
    -------
    inside : ndarray of bool, shape (n,)
        Rows that are with the class in every minimum cut: the smallest of its sides.
    outside : ndarray of bool, shape (n,)
        Rows that are with the others in every minimum cut.
    value : float
        Weight of the cut, and of the price: where that is negative, of what the rows with the
        others forgo.
    """
    from ortools.graph.python import max_flow

    labels = edges.labels
    vertex = np.arange(2, len(labels) + 2)
    vertex[labels >= 0] = 1
    vertex[labels == code] = 0
    first, second = vertex[edges.first], vertex[edges.second]
    kept = first != second
    first, second = first[kept], second[kept]
    priced = vertex[vertex > 1] if price else vertex[:0]
    scale = TOTAL_CAPACITY / max(float(edges.weights.sum()) + len(priced) * abs(price), 1e-300)
    capacity = np.maximum(np.rint(edges.weights[kept] * scale), 1).astype(np.int64)
    flow = max_flow.SimpleMaxFlow()
    if len(priced):
        toll = np.full(len(priced), max(round(abs(price) * scale), 1))
        end = np.full(len(priced), int(price > 0))
        flow.add_arcs_with_capacity(*((priced, end) if price > 0 else (end, priced)), toll)
    flow.add_arcs_with_capacity(
        np.concatenate([first, second, [0, 1]]),
        np.concatenate([second, first, [1, 0]]),  # so that both ends exist without any edge
        np.concatenate([capacity, capacity, [0, 0]]),
    )
    if flow.solve(0, 1) != flow.OPTIMAL:
        raise RuntimeError("The maximum flow was not found.")
    sides = [np.zeros(len(labels) + 2, dtype=bool) for _ in range(2)]
    sides[0][flow.get_source_side_min_cut()] = True
    sides[1][flow.get_sink_side_min_cut()] = True
    return sides[0][vertex], sides[1][vertex], flow.optimal_flow() / scale


def cut_in_two(edges: FlowEdges, price: float = 0.0) -> IntArray:
    """Classes 0 and 1 of the rows, by a minimum cut; unlabeled rows in class 1 cost ``price``.

    Of several minimum cuts one at an end is taken: rows on which they differ all go with the class
    that has fewer rows per label so far.
    """
    second, first, _ = separate(edges, 1, price)
    counts = np.bincount(edges.labels[edges.labels >= 0], minlength=2)
    fewer_first = first.sum() * counts[1] < second.sum() * counts[0]
    return np.where(second, 1, np.where(first | fewer_first, 0, 1))


def cut_by_isolation(edges: FlowEdges, n_classes: int) -> IntArray:
    """Classes of the rows by a cut for each class that isolates it from all others.

    The isolated sets are disjoint; all rows outside them go with the class whose cut is heaviest.
    The edges between classes weigh at most ``2 - 2 / n_classes`` times the minimum (Dahlhaus et
    al. 1994).
    """
    classes = np.full(len(edges.labels), -1, dtype=np.int64)
    values = np.zeros(n_classes)
    for code in range(n_classes):
        inside, _, values[code] = separate(edges, code)
        classes[inside] = code
    classes[classes < 0] = int(np.argmax(values))
    return classes


def improve_by_swaps(
    edges: FlowEdges, classes: IntArray, prices: Array
) -> tuple[IntArray, list[float]]:
    """Recut the rows of two classes, for all pairs of classes, until nothing gets cheaper.

    Edges to third classes are cut either way, so that the cut of two classes is a minimum one in
    the graph of their rows alone.

    Parameters
    ----------
    edges : FlowEdges
        The graph.
    classes : ndarray of shape (n,)
        Classes to begin with.
    prices : ndarray of shape (n_classes,)
        What an unlabeled row costs in each class.

    Returns
    -------
    classes : ndarray of shape (n,)
        Classes of the rows.
    history : list of float
        Weight of the cut, and the prices, after each round over the pairs.
    """
    value, history = edges.cost(classes, prices), []
    while True:
        before = value
        for pair in combinations(range(len(prices)), 2):
            rows, two = rows_of_two(edges, classes, pair)
            trial = classes.copy()
            price = float(prices[pair[1]] - prices[pair[0]])
            trial[rows] = np.asarray(pair)[cut_in_two(two, price)]
            new = edges.cost(trial, prices)
            if new < value - SMALLEST_GAIN * before:
                classes, value = trial, new
        history.append(value)
        if value >= before:
            return classes, history


def rows_of_two(
    edges: FlowEdges, classes: IntArray, pair: tuple[int, int]
) -> tuple[IntArray, FlowEdges]:
    """Rows of two classes, and the edges between them with labels 0 and 1."""
    rows = np.flatnonzero((classes == pair[0]) | (classes == pair[1]))
    part = edges.subgraph(rows)
    two: Any = np.where(part.labels == pair[0], 0, np.where(part.labels == pair[1], 1, -1))
    return rows, replace(part, labels=np.asarray(two, dtype=np.int64))
