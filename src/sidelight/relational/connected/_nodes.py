"""Nodes with attributes on a graph: what the steps of all connected methods do with them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sidelight._kernels.relational.connected.growth import (
    add_members,
    assign_nearest,
    closest_members,
    grow_by_heap,
    grow_by_rounds,
    member_squares,
)
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.relational.connected._graph import RowGraph, uniform_seeds

#: Pairs of rows that the average distance is estimated on.
SAMPLED_PAIRS = 10_000


@dataclass(frozen=True)
class Clusters:
    """Connected clusters with their centers.

    Attributes
    ----------
    labels : ndarray of int32, shape (n,)
        Cluster of every node, -1 for none.
    centers : ndarray of float64, shape (k, d)
        Centers: attributes of a node, or means.
    seeds : ndarray of int64, shape (k,)
        A member of every cluster, where its growth begins.
    absorbed : ndarray of float64, shape (n,)
        Squared distance to the center at which a node joined; infinity where it did not.
    objective : float
        Value that is minimized.
    """

    labels: Array
    centers: FloatArray
    seeds: IntArray
    absorbed: FloatArray
    objective: float

    def ordered(self) -> Clusters:
        """The same clusters, numbered by their first members."""
        found, first = np.unique(self.labels, return_index=True)
        order = found[found >= 0][np.argsort(first[found >= 0])]
        rank = np.empty(len(self.seeds) + 1, np.int32)
        rank[order] = np.arange(len(order))
        rank[-1] = -1
        return replace(
            self, labels=rank[self.labels], centers=self.centers[order], seeds=self.seeds[order]
        )


@dataclass(frozen=True, eq=False)
class Nodes:
    """Attributes of nodes, and the graph between them.

    Attributes
    ----------
    rows : ndarray of shape (n, d)
        Attributes; of unit length for directions.
    graph : RowGraph or None
        The graph; None where every node is next to every other.
    directions : bool
        Whether distances are 1 minus the cosine: half the squared distances of unit rows.
    """

    rows: Array
    graph: RowGraph | None
    directions: bool

    def __post_init__(self) -> None:
        # Loops would be compiled once more for rows that can be written, and none writes them.
        rows = self.rows.view()
        rows.flags.writeable = False
        object.__setattr__(self, "rows", rows)

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.rows)

    def draw_seeds(self, n_clusters: int, rng: np.random.RandomState) -> IntArray:
        """Step I: initial center nodes, in proportion to their degrees."""
        if self.graph is None:
            return uniform_seeds(self.n, n_clusters, rng)
        return self.graph.draw_seeds(n_clusters, rng)

    def at(self, seeds: IntArray) -> FloatArray:
        """Attributes of nodes as centers."""
        return self.rows[seeds].astype(np.float64)

    def grow(
        self,
        centers: FloatArray,
        seeds: IntArray,
        *,
        look_ahead: bool = False,
        strength: float = 0.0,
        increment: float | None = None,
    ) -> tuple[Array, FloatArray]:
        """Step II: clusters that grow from their seeds by the distance to their centers.

        Returns labels and squared absorption thresholds. With an ``increment``, by rounds.
        """
        labels, absorbed = np.empty(self.n, np.int32), np.empty(self.n)
        if self.graph is None:
            assign_nearest(self.rows, centers, labels, absorbed)
            return labels, absorbed
        graph = (self.graph.indptr, self.graph.indices, self.rows, centers, seeds, look_ahead)
        if increment is None:
            grow_by_heap(*graph, strength, labels, absorbed)
        else:
            grow_by_rounds(*graph, half_least_distance(centers), increment, labels, absorbed)
        return labels, absorbed

    def average_distance(self, rng: np.random.RandomState) -> float:
        """Average distance of two nodes, of a sample of pairs."""
        pairs = check_random_state(rng).randint(self.n, size=(2, SAMPLED_PAIRS))
        one, other = self.at(pairs[0]), self.at(pairs[1])
        different = pairs[0] != pairs[1]
        if not different.any():
            return 0.0
        return float(np.linalg.norm(one - other, axis=1)[different].mean())

    def sums(self, labels: Array, n_clusters: int) -> tuple[FloatArray, IntArray]:
        """Sums and numbers of the rows of every cluster."""
        sums = np.empty((n_clusters, self.rows.shape[1]))
        sizes = np.empty(n_clusters, np.int64)
        add_members(self.rows, labels, sums, sizes)
        return sums, sizes

    def means(self, labels: Array, before: FloatArray) -> FloatArray:
        """Mean of every cluster, or its direction; that of an empty one stays where it was."""
        sums, sizes = self.sums(labels, len(before))
        if self.directions:
            lengths = np.linalg.norm(sums, axis=1)
            known = lengths > 8 * np.finfo(self.rows.dtype).eps * np.maximum(sizes, 1)
            scaled = sums / np.where(known, lengths, 1.0)[:, None]
            return np.where(known[:, None], scaled, before)
        return np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], before)

    def closest(self, labels: Array, centers: FloatArray, seeds: IntArray) -> IntArray:
        """Member of every cluster that is closest to its center; empty ones keep their seed."""
        nodes = seeds.copy()
        closest_members(self.rows, labels, centers, nodes)
        return nodes

    def squares(self, labels: Array, centers: FloatArray) -> FloatArray:
        """Squared distance of every node to the center of its cluster; 0 for those in none."""
        squares = np.empty(self.n)
        member_squares(self.rows, labels, centers, squares)
        return squares

    def total(self, squares: FloatArray) -> float:
        """Sum of squared distances; of 1 minus the cosines for directions."""
        return float(squares.sum()) * (0.5 if self.directions else 1.0)

    def lengths(self, squares: Any) -> Any:
        """Distances of squared ones; 1 minus the cosine for directions."""
        return np.asarray(squares) / 2 if self.directions else np.sqrt(squares)

    def reabsorbed(self, clusters: Clusters) -> Clusters:
        """The same clusters, with the thresholds at which they take their nodes from the seed.

        The threshold of a node is the largest distance to the center on the best path to it inside
        of its cluster.
        """
        if self.graph is None:
            return replace(clusters, absorbed=self.squares(clusters.labels, clusters.centers))
        inside = replace(self, graph=self.graph.inside(clusters.labels))
        absorbed = inside.grow(clusters.centers, clusters.seeds)[1]
        absorbed[clusters.labels < 0] = np.inf
        at_seeds = self.squares(clusters.labels, clusters.centers)[clusters.seeds]
        absorbed[clusters.seeds] = at_seeds
        return replace(clusters, absorbed=absorbed)


def half_least_distance(centers: FloatArray) -> float:
    """Half of the smallest distance of two centers, the first threshold of the printed rounds."""
    if len(centers) < 2:
        return 0.0
    least = np.inf
    for j in range(len(centers) - 1):
        offsets = centers[j + 1 :] - centers[j]
        least = min(least, float(np.einsum("ij,ij->i", offsets, offsets).min()))
    return 0.5 * float(np.sqrt(least))
