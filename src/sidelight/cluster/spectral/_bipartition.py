"""Recursive two-way cuts of a graph along its second eigenvector (Shi, Malik 2000)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sidelight._fit.lowest import lowest
from sidelight._kernels.cluster.sweep import sweep_cuts
from sidelight._typing import Array
from sidelight.cluster.spectral._nystroem import Extension
from sidelight.graphs import degrees, smooth_eigenvectors

#: Objectives by the name that :class:`sidelight.graphs.Cuts` has for them.
CRITERIA = {
    "cut": "cut",
    "ratio-cut": "ratio_cut",
    "normalized-cut": "normalized_cut",
    "min-max-cut": "min_max_cut",
}

#: Objectives that are relaxed by eigenvectors of ``D - W``; the others by the normalized ones.
UNNORMALIZED = ("cut", "ratio-cut")


@dataclass(frozen=True)
class Split:
    """A part of a graph that was split in two.

    Attributes
    ----------
    part : int
        Label of the part; the rows that stay keep it.
    new : int
        Label of the rows that leave.
    cost : float
        Cost of this split, within the part.
    rows : ndarray
        Rows of the part before the split.
    leaving : ndarray
        Rows that leave.
    extension : Extension or None
        Gives new rows their value of the eigenvector; None if the part was not connected.
    threshold : float
        Rows with at most this value leave.
    """

    part: int
    new: int
    cost: float
    rows: Array
    leaving: Array
    extension: Extension | None
    threshold: float

    def leaves(self, b: sparse.csr_array) -> Array:
        """Which new rows, with these similarities to all old ones, leave."""
        if self.extension is None:
            leaving = np.zeros(b.shape[1])
            leaving[self.leaving] = 1.0
            staying = np.zeros(b.shape[1])
            staying[self.rows] = 1.0
            return np.asarray(b @ leaving > b @ (staying - leaving))
        inside = sparse.csr_array(b[:, self.rows])
        value = self.extension.place(inside)[:, 0]
        if self.extension.eigenvalues is None:
            value = value / np.sqrt(np.maximum(degrees(inside), 1e-300))
        return np.asarray((value <= self.threshold) & (degrees(inside) > 0))


def recursive_labels(
    W: Any, k: int, objective: str, rng: np.random.RandomState, max_cost: float = np.inf
) -> tuple[Array, list[Split]]:
    """Split the part whose best split costs least until there are ``k`` parts.

    No split costs more than ``max_cost``. Returns the labels and the splits in their order.
    """
    graph = sparse.csr_array(W)
    labels = np.zeros(graph.shape[0], dtype=np.int32)
    done: list[Split] = []
    possible = [best_split(graph, np.arange(len(labels)), objective, rng, 0)]
    for new in range(1, k):
        open_ones = [split for split in possible if split is not None and split.cost <= max_cost]
        if not open_ones:
            break
        best = open_ones[lowest((split.cost for split in open_ones), "splits")]
        best = Split(**{**vars(best), "new": new})
        labels[best.leaving] = new
        done.append(best)
        possible = [s for s in possible if s is not None and s.part != best.part]
        for changed in (best.part, new):
            rows = np.flatnonzero(labels == changed)
            possible.append(best_split(graph, rows, objective, rng, changed))
    return labels, done


def labels_of_new(b: sparse.csr_array, splits: list[Split]) -> Array:
    """Send new rows down the splits; -1 for rows that are similar to none of the old ones."""
    labels = np.zeros(b.shape[0], dtype=np.int32)
    for split in splits:
        here = np.flatnonzero(labels == split.part)
        labels[here[split.leaves(sparse.csr_array(b[here]))]] = split.new
    labels[degrees(b) <= 0] = -1
    return labels


def best_split(
    graph: sparse.csr_array, rows: Array, objective: str, rng: np.random.RandomState, part: int
) -> Split | None:
    """The cheapest split of these rows along an eigenvector; None for a single row."""
    if len(rows) < 2:
        return None
    inside = sparse.csr_array(graph[rows][:, rows])
    n_parts, member = connected_components(inside, directed=False)
    if n_parts > 1:  # a split that cuts nothing
        largest = int(np.argmax(np.bincount(member)))
        return Split(part, -1, 0.0, rows, rows[member != largest], None, 0.0)
    normalized = objective not in UNNORMALIZED
    values, vectors = smooth_eigenvectors(inside, 2, random_state=rng, normalized=normalized)
    degree, vector = degrees(inside), vectors[:, 1:]
    if normalized:
        extension = Extension.normalized(vector, 1.0 - values[1:], degree)
        vector = vector / np.sqrt(degree)[:, None]
    else:
        extension = Extension(vector, values[1:])
    order = np.argsort(vector[:, 0], kind="stable")
    costs = split_costs(inside, order, objective)
    best = lowest(costs, "splits")
    threshold = float(vector[order[best : best + 2], 0].mean())
    return Split(part, -1, float(costs[best]), rows, rows[order[: best + 1]], extension, threshold)


def split_costs(graph: sparse.csr_array, order: Array, objective: str) -> Array:
    """Cost of cutting behind each of the first ``n - 1`` vertices in this order."""
    degree = degrees(graph)
    cut = sweep_cuts(graph.data, graph.indices, graph.indptr, order)
    n = len(order)
    volume = np.cumsum(degree[order])[:-1]
    other = np.cumsum(degree[order[::-1]])[-2::-1]  # a difference would round to 0 and below
    size = np.arange(1, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        if objective == "cut":
            return cut
        if objective == "ratio-cut":
            return cut / size + cut / (n - size)
        if objective == "normalized-cut":
            return cut / volume + cut / other
        inner, outer = volume - cut, other - cut
        return np.where(inner > 1e-12, cut / inner, np.inf) + np.where(
            outer > 1e-12, cut / outer, np.inf
        )
