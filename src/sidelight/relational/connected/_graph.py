"""The graph in which every cluster has to be one piece."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sidelight._typing import Array, IntArray
from sidelight._words import counted, listed, setting
from sidelight.constraints import Relations, as_relations
from sidelight.exceptions import InfeasibleConstraints, SidelightError

#: Pairs of members of hyper-edges that are made edges; 16 bytes each.
MAX_PAIRS = 20_000_000

#: Largest number of components of a graph that a message describes.
SHOWN_COMPONENTS = 5


@dataclass(frozen=True, eq=False)
class RowGraph:
    """Undirected graph of the rows, without loops.

    Attributes
    ----------
    indptr, indices : ndarray
        Neighbors of the nodes, in CSR arrays.
    relations : Relations
        What it was made of; it names the nodes.
    """

    indptr: Array
    indices: Array
    relations: Relations

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.indptr) - 1

    @property
    def degree(self) -> Array:
        """Number of neighbors of every node."""
        return np.diff(self.indptr)

    @cached_property
    def component(self) -> IntArray:
        """Connected component of every node."""
        ones = np.ones(len(self.indices), np.int8)
        matrix = sparse.csr_array((ones, self.indices, self.indptr), shape=(self.n, self.n))
        return connected_components(matrix, directed=False)[1].astype(np.int64)

    @property
    def n_components(self) -> int:
        """Number of connected components."""
        return int(self.component.max(initial=-1)) + 1

    def check_n_clusters(self, n_clusters: int) -> None:
        """Raise if there are fewer clusters than components of the graph, and describe these."""
        if n_clusters >= self.n_components:
            return
        sizes = np.bincount(self.component)
        order = np.argsort(-sizes, kind="stable")[:SHOWN_COMPONENTS]
        example = np.unique(self.component, return_index=True)[1]
        names = self.relations.name_rows(example[order])
        shown = [
            f"{counted(int(sizes[c]), 'row')} with {name}"
            for c, name in zip(order, names, strict=True)
        ]
        if self.n_components > SHOWN_COMPONENTS:
            shown.append(f"{self.n_components - SHOWN_COMPONENTS} smaller ones")
        raise InfeasibleConstraints(
            f"The graph has {self.n_components} components that no edge joins, so that "
            f"{setting('n_clusters', n_clusters)} connected clusters cannot hold all rows: "
            f"{listed(shown)}. Ask for at least {self.n_components} clusters, add the missing "
            "edges, or cluster the rows of one component.",
            k=n_clusters,
            sufficient_k=self.n_components,
        )

    def draw_seeds(self, n_clusters: int, rng: np.random.RandomState) -> IntArray:
        """Different nodes, drawn in proportion to their degrees; one of every component at least.

        Sampling without replacement: the nodes with the smallest exponential variates of rates
        that are the degrees.
        """
        variates = rng.exponential(size=self.n) / np.maximum(self.degree, 0.5)
        order = np.argsort(variates, kind="stable")
        _, firsts = np.unique(self.component[order], return_index=True)
        others = np.delete(order, firsts)[: n_clusters - len(firsts)]
        return np.concatenate([order[firsts], others]).astype(np.int64)

    def inside(self, labels: Array) -> RowGraph:
        """The graph without edges between different clusters, or of rows in none."""
        ends = np.repeat(np.arange(self.n), self.degree)
        kept = (labels[ends] == labels[self.indices]) & (labels[ends] >= 0)
        counts = np.bincount(ends[kept], minlength=self.n)
        indptr = np.append(0, np.cumsum(counts)).astype(self.indptr.dtype)
        return RowGraph(indptr, self.indices[kept], self.relations)

    def are_connected(self, labels: Array) -> bool:
        """Whether every cluster induces a connected subgraph."""
        placed = labels >= 0
        pieces = self.inside(labels).component[placed]
        return len(np.unique(pieces)) == len(np.unique(labels[placed]))


def connection_graph(relations: Any, n_samples: int, X: Any) -> RowGraph | None:
    """The graph that ``relations`` describe; None where all rows are next to each other.

    Edges of any positive score join, and the members of a hyper-edge are next to each other.
    """
    if relations is None:
        return None
    given = as_relations(relations, n_samples, X)
    if given.is_signed:
        worst = int(np.argmin(given.scores))
        (pair,) = given.describe_pairs(given.edges[worst : worst + 1])
        raise SidelightError(
            f"The edge {pair} has the score {given.scores[worst]:g}; connected clusters need edges "
            "that say which rows are next to each other, with scores above 0. Leave such pairs "
            "out; CorrelationClustering is for signed scores."
        )
    edges = given.edges[given.scores > 0]
    if given.n_hyperedges:
        edges = np.concatenate([edges, _pairs_of_members(given)])
    kind = np.int32 if max(n_samples, 2 * len(edges)) < 2**31 else np.int64
    ends = edges.astype(kind)
    one_way = sparse.coo_array((np.ones(len(ends), np.int8), ends.T), (n_samples, n_samples))
    matrix = (one_way + one_way.T).tocsr()
    matrix.sort_indices()
    if n_samples > 1 and matrix.nnz == n_samples * (n_samples - 1):
        return None
    return RowGraph(matrix.indptr, matrix.indices, given)


def _pairs_of_members(given: Relations) -> IntArray:
    """Pairs of members of the hyper-edges, refused where they are too many."""
    incidence = given.incidence.astype(np.int64)
    sizes = np.asarray(incidence.sum(axis=0)).ravel()
    pairs = sizes * (sizes - 1) // 2
    if pairs.sum() > MAX_PAIRS:
        largest = int(np.argmax(pairs))
        raise SidelightError(
            f"The members of the hyper-edges make {pairs.sum():,} pairs of neighbors, more than "
            f"{MAX_PAIRS:,}; the largest, {given.hyperedge_names[largest]}, has "
            f"{sizes[largest]:,} members. Pass edges instead, for example from each member to the "
            "next, or leave such large sets out."
        )
    together = sparse.triu(incidence @ incidence.T, 1).tocoo()
    return np.column_stack([together.row, together.col]).astype(np.int64)


def uniform_seeds(n: int, n_clusters: int, rng: np.random.RandomState) -> IntArray:
    """Different nodes of a graph in which all have the same degree."""
    return rng.permutation(n)[:n_clusters].astype(np.int64)


def joined_pairs(graph: RowGraph | None, labels: Array, n_clusters: int) -> sparse.csr_array:
    """For every cluster those that an edge joins to it, as a CSR matrix of 0 and 1.

    A cluster that no edge joins to another has all others, as without a graph.
    """
    if graph is None:
        return sparse.csr_array(1.0 - np.eye(n_clusters))
    ends = np.repeat(np.arange(graph.n), graph.degree)
    one, other = labels[ends].astype(np.int64), labels[graph.indices].astype(np.int64)
    apart = (one != other) & (one >= 0) & (other >= 0)
    key = np.unique(one[apart] * n_clusters + other[apart])
    alone = np.setdiff1d(np.arange(n_clusters), key // n_clusters)
    others = alone[:, None] * n_clusters + np.arange(n_clusters)
    others = others[alone[:, None] != np.arange(n_clusters)]
    key = np.concatenate([key, others])
    pairs = np.divmod(key, n_clusters)
    return sparse.csr_array((np.ones(len(key)), pairs), shape=(n_clusters, n_clusters))
