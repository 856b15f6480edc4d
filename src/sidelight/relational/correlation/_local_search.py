r"""Local search for correlation clustering: nodes, clusters and parts of clusters move.

.. math:: \mathrm{gain}(u: a \to b) = \sum_{v \in b} S_{uv} - \sum_{v \in a \setminus u} S_{uv}

where ``b`` may be a new cluster. A round moves nodes; then clusters, contracted to nodes, which
merges them; then the parts into which every cluster falls on its own, which splits them. Every move
lowers the cost.

Pivot clustering (Ailon, Charikar and Newman): a 3-approximation for complete +-1 scores.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from sidelight._fit.restarts import fit_progress
from sidelight._kernels.relational.correlation.local_search import contract, count_cross, move_nodes
from sidelight._kernels.relational.correlation.pivot import pivot
from sidelight._typing import Array, FloatArray
from sidelight.relational.correlation._graph import SignedGraph


def pivot_clusters(graph: SignedGraph, order: Array) -> Array:
    """Pivot of every node: the first of its positive neighbors, in this order, that is a pivot.

    A pivot is a node that joined no earlier one. Priorities alone decide, so that it does not
    matter who is asked when. Nodes that clash with a member of a cluster do not join it; its
    neighbors are then asked by falling score. Time O(edges), memory O(nodes).

    Parameters
    ----------
    graph : SignedGraph
        The problem.
    order : ndarray of shape (n,)
        The nodes by rising priority; a random permutation.
    """
    labels = np.empty(graph.n, np.int32)
    pivot(
        graph.scores.indptr,
        graph.scores.indices,
        graph.scores.data,
        graph.cliques,
        graph.conflicts.indptr,
        graph.conflicts.indices,
        graph.sources.indptr,
        graph.sources.indices,
        graph.sources.shape[1],
        order.astype(np.int32),
        labels,
    )
    return labels


#: Times that the queue of nodes is filled at one level; gains beyond are left to the next round.
MAX_PASSES = 100

#: A round that lowers the cost by a smaller share ends the search.
TOLERANCE = 1e-3

NOWHERE = np.empty(0, np.int32)


class Level(NamedTuple):
    """Nodes, or clusters contracted to nodes, as the loops of the search take them."""

    weights: sparse.csr_array
    pairs: FloatArray
    mass: FloatArray
    absent: float
    conflicts: sparse.csr_array
    sources: sparse.csr_array

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.mass)

    @classmethod
    def of(cls, graph: SignedGraph) -> Level:
        """Level of the nodes themselves: ``W_uv = S_uv + absent m_u m_v`` where listed."""
        weights, listed = graph.scores, np.empty(0)
        if graph.absent or graph.cliques:
            rows = np.repeat(np.arange(graph.n), np.diff(weights.indptr))
            products = graph.mass[rows] * graph.mass[weights.indices]
            if graph.absent:
                data = weights.data + graph.absent * products
                weights = sparse.csr_array((data, weights.indices, weights.indptr), weights.shape)
            if graph.cliques:
                listed = products
        return cls(weights, listed, graph.mass, graph.absent, graph.conflicts, graph.sources)

    def contracted(self, labels: Array) -> Level:
        """Clusters 0 to k - 1 as nodes."""
        W, k = self.weights, int(labels.max(initial=-1)) + 1
        members = np.argsort(labels, kind="stable")
        starts = np.searchsorted(labels[members], np.arange(k + 1))
        n_cross = count_cross(W.indptr, W.indices, labels)
        indptr, indices, data = contract(
            W.indptr, W.indices, W.data, labels, members, starts, n_cross
        )
        pairs = self.pairs
        if len(pairs):
            pairs = contract(W.indptr, W.indices, pairs, labels, members, starts, n_cross)[2]
        return Level(
            # Of the same types as before: the loops are compiled for those.
            sparse.csr_array(
                (data, indices.astype(W.indices.dtype), indptr.astype(W.indptr.dtype)), (k, k)
            ),
            pairs,
            np.bincount(labels, weights=self.mass, minlength=k).astype(np.float64),
            self.absent,
            _between(self.conflicts, labels, k),
            _held(self.sources, labels, k),
        )

    def move(
        self, labels: Array, rng: np.random.RandomState, within: Array = NOWHERE
    ) -> tuple[float, int]:
        """Move nodes in place until none gains; returns the gain and the number of moves."""
        order = rng.permutation(self.n).astype(np.int32)
        gain, n_moves = move_nodes(
            self.weights.indptr,
            self.weights.indices,
            self.weights.data,
            self.mass,
            self.absent,
            self.pairs,
            self.conflicts.indptr,
            self.conflicts.indices,
            self.sources.indptr,
            self.sources.indices,
            self.sources.shape[1],
            within,
            labels,
            order,
            MAX_PASSES,
        )
        return float(gain), int(n_moves)


class LocalOptimum(NamedTuple):
    """Final state of a local search."""

    labels: Array
    objective: float
    history: FloatArray
    n_iter: int
    converged: bool
    interrupted: bool


def local_search(
    graph: SignedGraph,
    labels: Array,
    rng: np.random.RandomState,
    *,
    max_iter: int,
    level: Level | None = None,
    description: str = "local search",
    verbose: int = 0,
) -> LocalOptimum:
    """Lower the cost of a partition by moves of nodes, clusters and parts of clusters.

    Parameters
    ----------
    graph : SignedGraph
        The problem.
    labels : ndarray of shape (n,)
        Partition of the nodes that joins none that must not join.
    rng : RandomState
        Source of the orders in which nodes are asked.
    max_iter : int
        Largest number of rounds.
    level : Level, optional
        ``Level.of(graph)``, where several searches share it.
    description, verbose
        Name and display of the progress bar.
    """
    level = Level.of(graph) if level is None else level
    labels = compact(labels)
    history = [graph.cost(labels)]
    converged = False
    progress = fit_progress(description, max_iter, verbose=verbose)
    with progress:
        for _ in range(max_iter):
            labels, gain, n_moves = _round(level, labels, rng)
            history.append(history[-1] - gain)
            progress.step(history[-1])
            if n_moves == 0 or gain <= TOLERANCE * history[-2]:
                converged = True
                break
    history[-1] = graph.cost(labels)
    return LocalOptimum(
        labels,
        history[-1],
        np.minimum.accumulate(history),
        len(history) - 1 or 1,
        converged,
        progress.interrupted,
    )


def _round(level: Level, labels: Array, rng: np.random.RandomState) -> tuple[Array, float, int]:
    """Move nodes, then whole clusters, then parts of clusters."""
    gain, n_moves = level.move(labels, rng)
    labels, by_clusters, n_clusters_moved = _merge(level, labels, rng)
    labels, by_parts, n_parts_moved = _split(level, labels, rng)
    return labels, gain + by_clusters + by_parts, n_moves + n_clusters_moved + n_parts_moved


def _merge(level: Level, labels: Array, rng: np.random.RandomState) -> tuple[Array, float, int]:
    """Contract clusters to nodes and move those, again and again until none moves."""
    labels = compact(labels)
    merged, gain, n_moves = labels, 0.0, 0
    while True:
        level = level.contracted(merged)
        merged = np.arange(level.n, dtype=np.int32)
        gained, moved = level.move(merged, rng)
        if moved == 0:
            return labels, gain, n_moves
        gain, n_moves = gain + gained, n_moves + moved
        merged = compact(merged)
        labels = merged[labels]


def _split(level: Level, labels: Array, rng: np.random.RandomState) -> tuple[Array, float, int]:
    """Find the parts into which every cluster falls on its own, and move those."""
    parts = np.arange(level.n, dtype=np.int32)
    level.move(parts, rng, within=labels)
    parts = compact(parts)
    coarse = level.contracted(parts)
    moved = np.empty(coarse.n, np.int32)
    moved[parts] = labels
    gain, n_moves = coarse.move(moved, rng)
    return compact(moved[parts]), gain, n_moves


def compact(labels: Array) -> Array:
    """Labels 0 to k - 1 in the same order, int32."""
    present = np.zeros(int(labels.max(initial=-1)) + 1, np.int32)
    present[labels] = 1
    return (np.cumsum(present, dtype=np.int32) - 1)[labels].astype(np.int32)


def _between(conflicts: sparse.csr_array, labels: Array, k: int) -> sparse.csr_array:
    """Conflicts of clusters."""
    if conflicts.nnz == 0:
        return sparse.csr_array((k, k), dtype=np.int8)
    pairs = conflicts.tocoo()
    ones = np.ones(len(pairs.row), np.int8)
    return sparse.coo_array((ones, (labels[pairs.row], labels[pairs.col])), (k, k)).tocsr()


def _held(sources: sparse.csr_array, labels: Array, k: int) -> sparse.csr_array:
    """Sources of clusters, each of which a cluster holds once."""
    held = sources.tocoo()
    shape = (k, sources.shape[1])
    return sparse.coo_array((held.data, (labels[held.row], held.col)), shape).tocsr()
