"""Objects with their labels in several partitions, and the search for their consensus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from sidelight._fit.restarts import fit_progress
from sidelight._kernels.relational.correlation import consensus
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.constraints import Constraints
from sidelight.relational.correlation._graph import SignedGraph
from sidelight.relational.correlation._local_search import LocalOptimum, compact

#: Passes over the nodes of one round.
MAX_PASSES = 50


@dataclass(frozen=True, eq=False)
class Profiles:
    """Nodes, which stand for objects that stay together, with their labels in all partitions.

    Attributes
    ----------
    counts : csr_array of shape (n, n_codes), float64
        Objects of every node by label; the labels of all partitions have different codes.
    known : ndarray of shape (n, q), float64
        Objects of every node with a label, by partition; one column where no label is missing.
    factor : float
        Number of partitions that a column of ``known`` stands for.
    conflicts : csr_array of shape (n, n), int8
        1 between nodes that must not join.
    node : ndarray of shape (n_objects,), int64
        Node of every object.
    mass : ndarray of shape (n,), float64
        Number of objects of every node.
    """

    counts: sparse.csr_array
    known: FloatArray
    factor: float
    conflicts: sparse.csr_array
    node: IntArray
    mass: FloatArray

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.mass)

    @property
    def is_complete(self) -> bool:
        """Whether every object has a label in every partition."""
        return self.factor > 1 or self.known.shape[1] == 1

    @cached_property
    def within(self) -> float:
        """Disagreements inside nodes, which every partition has."""
        same = _pairs(self.counts.data).sum()
        return float(self.factor * _pairs(self.known).sum() - same)

    @cached_property
    def together(self) -> float:
        """Pairs of objects that the given partitions join, summed over partitions."""
        return float(_pairs(np.asarray(self.counts.sum(axis=0))).sum())

    @cached_property
    def total(self) -> float:
        """Pairs of objects with labels, summed over partitions: cost and agreement together."""
        return float(self.factor * _pairs(self.known.sum(axis=0)).sum())

    def cost(self, table: FloatArray, in_cluster: FloatArray) -> float:
        """Sum of the Mirkin distances of a partition from its contingency tables."""
        joined = self.factor * _pairs(in_cluster).sum()
        return float(joined + self.together - 2 * _pairs(table).sum())

    @property
    def arrays(self) -> tuple[Array, Array, Array, FloatArray]:
        """Profiles as the loops take them."""
        return self.counts.indptr, self.counts.indices, self.counts.data, self.known


def profiles_of(codes: IntArray, n_labels: IntArray, known: Constraints) -> Profiles:
    """Contract must-links, and objects with equal labels that nothing is known about.

    Parameters
    ----------
    codes : ndarray of shape (n_objects, m), int64
        Label of every object in every partition, -1 where unknown.
    n_labels : ndarray of shape (m,)
        Number of labels of every partition.
    known : Constraints
        What must and must not join.
    """
    n, m = codes.shape
    closure = known.closure()
    component = closure.component
    is_free = closure.sizes == 1
    is_free[closure.conflicts.ravel()] = False
    key = np.zeros(n, np.int64)
    for i in range(m):
        key = np.unique(key * (n_labels[i] + 1) + codes[:, i] + 1, return_inverse=True)[1]
    key = np.where(is_free[component], key, n + component)
    _, node = np.unique(key, return_inverse=True)
    n_nodes = int(node.max()) + 1
    offsets = np.concatenate([[0], np.cumsum(n_labels)])
    has_label = codes >= 0
    rows = np.repeat(node, has_label.sum(axis=1))
    columns = (codes + offsets[:-1])[has_label]
    counts = sparse.coo_array(
        (np.ones(len(rows)), (rows, columns)), (n_nodes, int(offsets[-1]))
    ).tocsr()
    mass = np.bincount(node, minlength=n_nodes).astype(np.float64)
    if has_label.all():
        in_partition, factor = mass[:, None], float(m)
    else:
        in_partition = np.column_stack(
            [np.bincount(node, weights=has_label[:, i], minlength=n_nodes) for i in range(m)]
        )
        factor = 1.0
    node_of = np.empty(closure.n_components, np.int64)
    node_of[component] = node
    pairs = node_of[closure.conflicts]
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    conflicts = sparse.coo_array(
        (np.ones(len(ends), np.int8), (ends[:, 0], ends[:, 1])), (n_nodes, n_nodes)
    ).tocsr()
    return Profiles(counts, in_partition, factor, conflicts, node, mass)


def explicit_graph(profiles: Profiles) -> SignedGraph:
    """Scores of the pairs of nodes that some partition joins; of all, where labels are missing."""
    joined = (profiles.counts @ profiles.counts.T).tocoo()
    upper = joined.row < joined.col
    rows, columns, plus = joined.row[upper], joined.col[upper], joined.data[upper]
    absent = profiles.factor
    if not profiles.is_complete:
        absent = 0.0
        dense = np.zeros((profiles.n, profiles.n))
        dense[rows, columns] = plus
        rows, columns = np.triu_indices(profiles.n, 1)
        plus = dense[rows, columns]
    all_known = (profiles.known[rows] * profiles.known[columns]).sum(axis=1)
    minus = profiles.factor * all_known - plus
    scores = sparse.coo_array(
        (
            np.tile(plus - minus, 2),
            (np.concatenate([rows, columns]), np.concatenate([columns, rows])),
        ),
        (profiles.n, profiles.n),
    ).tocsr()
    scores.sort_indices()
    return SignedGraph(
        scores=scores,
        absent=absent,
        mass=profiles.mass,
        conflicts=profiles.conflicts,
        sources=sparse.csr_array((profiles.n, 0), dtype=np.int8),
        constant=float(np.minimum(plus, minus).sum()) + profiles.within,
        total=profiles.total,
        node=profiles.node,
    )


def start_from(profiles: Profiles, codes: Array, k: int) -> Array:
    """Labels of the nodes from one partition of the objects, that of their first object."""
    first = np.empty(profiles.n, np.int64)
    first[profiles.node[::-1]] = np.arange(len(profiles.node))[::-1]
    return np.maximum(codes[first], 0).astype(np.int32) % k


def search_tables(
    profiles: Profiles,
    labels: Array,
    k: int,
    rng: np.random.RandomState,
    *,
    max_iter: int,
    description: str,
    verbose: int,
) -> LocalOptimum:
    """Move nodes, and merge clusters, until neither lowers the cost.

    Time O(n m k) per pass, memory O(n m) for the profiles and O(labels k) for the tables.
    """
    limits = (profiles.conflicts.indptr, profiles.conflicts.indices)
    consensus.separate(*limits, k, labels)
    table = np.zeros((profiles.counts.shape[1], k))
    in_cluster = np.zeros((profiles.known.shape[1], k))
    consensus.tables_of(*profiles.arrays, labels, table, in_cluster)
    size = np.bincount(labels, minlength=k)
    history = [profiles.cost(table, in_cluster)]
    converged = False
    progress = fit_progress(description, max_iter, verbose=verbose)
    with progress:
        for _ in range(max_iter):
            moved = 0
            for _ in range(MAX_PASSES):
                order = rng.permutation(profiles.n)
                state = (labels, size, table, in_cluster)
                _, n_moves = consensus.sweep(
                    *profiles.arrays, profiles.factor, *limits, order, *state
                )
                moved += n_moves
                if n_moves == 0:
                    break
            moved += _merge(profiles, labels, size, table, in_cluster)
            history.append(profiles.cost(table, in_cluster))
            progress.step(history[-1])
            if moved == 0:
                converged = True
                break
    return LocalOptimum(
        compact(labels),
        history[-1],
        np.array(history),
        max(len(history) - 1, 1),
        converged,
        progress.interrupted,
    )


def _merge(
    profiles: Profiles, labels: Array, size: Array, table: FloatArray, in_cluster: FloatArray
) -> int:
    """Merge the two clusters that gain most by it, again and again; returns how often."""
    k = len(size)
    clash = np.zeros((k, k), bool)
    pairs = profiles.conflicts.tocoo()
    clash[labels[pairs.row], labels[pairs.col]] = True
    gains = 2 * table.T @ table - profiles.factor * in_cluster.T @ in_cluster
    name = np.arange(k, dtype=labels.dtype)
    n_merged = 0
    while True:
        possible = np.where(np.triu(~clash, 1) & (size[:, None] * size > 0), gains, 0.0)
        a, b = np.unravel_index(np.argmax(possible), (k, k))
        if possible[a, b] <= 0:
            labels[:] = name[labels]
            return n_merged
        for array in (table, in_cluster):
            array[:, a] += array[:, b]
            array[:, b] = 0.0
        size[a], size[b] = size[a] + size[b], 0
        clash[a] |= clash[b]
        clash[:, a] |= clash[:, b]
        gains[a] += gains[b]
        gains[:, a] += gains[:, b]
        name[name == b] = a
        n_merged += 1


def mirkin_distance(first: Array, second: Array) -> float:
    """Pairs of objects that one partition joins and the other does not; -1 is no label."""
    known = (first >= 0) & (second >= 0)
    if not known.all():
        first, second = first[known], second[known]
    if len(first) == 0:
        return 0.0
    width = int(second.max()) + 1
    both = first.astype(np.int64) * width + second
    cells = np.bincount(both) if width * (int(first.max()) + 1) <= 4 * len(both) else None
    if cells is None:
        cells = np.unique(both, return_counts=True)[1]
    counts = (np.bincount(first), np.bincount(second))
    return float(sum(_pairs(one.astype(float)).sum() for one in counts) - 2 * _pairs(cells).sum())


def _pairs(counts: Array) -> FloatArray:
    """Number of pairs among ``counts`` objects."""
    numbers = np.asarray(counts, dtype=np.float64)
    return numbers * (numbers - 1) / 2
