"""The problem that every method of correlation clustering solves: nodes with signed scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sidelight._kernels.relational.correlation.branching import component_costs
from sidelight._kernels.relational.correlation.local_search import disagreements
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.constraints import Constraints, Relations
from sidelight.constraints.inner import StatedPairs, Statements
from sidelight.exceptions import InconsistentConstraints


def _with_short_indices(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the matrix with indices of 32 bits, where they are enough.

    SciPy makes either kind, and every loop is compiled for every combination that it is given.
    """
    is_long = np.int64 in (matrix.indices.dtype, matrix.indptr.dtype)
    if not is_long or max(matrix.nnz, *matrix.shape) > np.iinfo(np.int32).max:
        return matrix
    places = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return sparse.csr_array((matrix.data, *places), matrix.shape)


@dataclass(frozen=True, eq=False)
class SignedGraph:
    r"""Nodes with signed scores and conflicts, whose partition is sought.

    .. math::
        \mathrm{cost}(Y) = c_0 + \sum_{u<v,\ \mathrm{same}} \max(-S_{uv}, 0)
        + \sum_{u<v,\ \mathrm{apart}} \max(S_{uv}, 0)

    A node stands for the objects of one must-link component; its scores are sums over them, and
    ``constant`` is what has to be paid in any case: for negative pairs inside of nodes, and for
    scores of both signs between two nodes. Pairs of nodes that ``scores`` does not list have the
    score ``-absent * mass[u] * mass[v]``.

    Attributes
    ----------
    scores : csr_array of shape (n, n), float64
        Scores of the listed pairs of nodes, both directions, sorted indices, no diagonal. Listed
        scores of zero stay listed.
    absent : float
        What it costs to join two objects that no edge joins, at least 0.
    mass : ndarray of shape (n,), float64
        Number of objects of every node.
    conflicts : csr_array of shape (n, n), int8
        1 between nodes that must not join, both directions.
    sources : csr_array of shape (n, n_sources), int8
        1 where a node holds an object of a source; two nodes that share a source must not join.
    constant : float
        Cost that every partition has.
    total : float
        Sum of the absolute scores of all pairs of objects, absent ones included: agreement and
        cost of any partition add up to it.
    node : ndarray of shape (n_objects,), int64
        Node of every object.
    cliques : bool
        Whether nodes that are not listed must not join, so that all clusters are cliques.
    """

    scores: sparse.csr_array
    absent: float
    mass: FloatArray
    conflicts: sparse.csr_array
    sources: sparse.csr_array
    constant: float
    total: float
    node: IntArray
    cliques: bool = False

    def __post_init__(self) -> None:
        for name in ("scores", "conflicts", "sources"):
            object.__setattr__(self, name, _with_short_indices(getattr(self, name)))

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.mass)

    @property
    def is_constrained(self) -> bool:
        """Whether some nodes must not join."""
        return self.cliques or bool(self.conflicts.nnz or self.sources.nnz)

    @cached_property
    def positive_components(self) -> IntArray:
        """Component of every node in the graph of its positive edges.

        Some optimal partition joins no two of them, since all scores between them are at most 0.
        """
        kept = self.scores.data > 0
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.scores.indptr]
        shape = (self.n, self.n)
        ones = np.ones(indptr[-1], np.int8)
        positive = sparse.csr_array((ones, self.scores.indices[kept], indptr), shape)
        return connected_components(positive, directed=False)[1].astype(np.int64)

    def subgraph(self, nodes: IntArray) -> SignedGraph:
        """Some nodes, sorted, with all that is between them; nothing is paid in any case.

        Pairs that must not join since they are not listed become conflicts, a matrix of all pairs
        of nodes: small parts only.
        """
        conflicts = self.conflicts[nodes][:, nodes]
        scores = self.scores[nodes][:, nodes]
        if self.cliques:
            apart = np.ones(scores.shape, np.int8)
            apart[np.repeat(np.arange(len(nodes)), np.diff(scores.indptr)), scores.indices] = 0
            np.fill_diagonal(apart, 0)
            apart[conflicts.nonzero()] = 1
            conflicts = sparse.csr_array(apart)
        return SignedGraph(
            scores=scores,
            absent=self.absent,
            mass=self.mass[nodes],
            conflicts=conflicts,
            sources=self.sources[nodes],
            constant=0.0,
            total=0.0,
            node=np.arange(len(nodes)),
        )

    def component_costs(self, labels: Array) -> FloatArray:
        """Cost of every component of positive edges, where a partition joins none of them."""
        matrix, component = self.scores, self.positive_components
        costs = np.zeros(int(component.max(initial=-1)) + 1)
        codes = np.asarray(labels).astype(np.int32, copy=False)
        arrays = (matrix.indptr, matrix.indices, matrix.data, self.mass, self.absent)
        component_costs(*arrays, component.astype(np.int32), codes, costs)
        return costs

    def cost(self, labels: Array) -> float:
        """Disagreements of a partition of the nodes."""
        listed, joined = self._disagreements(labels)
        if self.absent:
            listed += self.absent * (self._joined_pairs(labels) - joined)
        return float(self.constant + listed)

    def agreement(self, labels: Array) -> float:
        """Agreements of a partition of the nodes."""
        return self.total - self.cost(labels)

    def _disagreements(self, labels: Array) -> tuple[float, float]:
        """Cost of the listed pairs, and the number of pairs of objects that listed ones join."""
        codes = np.asarray(labels).astype(np.int32, copy=False)
        matrix = self.scores
        return disagreements(matrix.indptr, matrix.indices, matrix.data, self.mass, codes)

    def _joined_pairs(self, labels: Array) -> float:
        """Number of pairs of objects of different nodes that a partition joins."""
        _, codes = np.unique(labels, return_inverse=True)
        inside = np.bincount(codes, weights=self.mass)
        return float((np.square(inside).sum() - np.square(self.mass).sum()) / 2)

    def of_objects(self, labels: Array) -> Array:
        """Labels of the objects, numbered by their first appearance."""
        spread = np.asarray(labels)[self.node]
        _, first, codes = np.unique(spread, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int32)
        rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
        return rank[codes]

    def violates(self, labels: Array) -> bool:
        """Whether two nodes that must not join have the same label."""
        if self.cliques and self._disagreements(labels)[1] != self._joined_pairs(labels):
            return True
        pairs = self.conflicts.tocoo()
        if np.any(labels[pairs.row] == labels[pairs.col]):
            return True
        held = self.sources.tocoo()
        key = labels[held.row].astype(np.int64) * max(self.sources.shape[1], 1) + held.col
        return len(np.unique(key)) < len(key)


def signed_graph(
    relations: Relations,
    known: Constraints,
    *,
    sources: IntArray | None = None,
    absent: float = 0.0,
) -> SignedGraph:
    """Contract must-links, and turn all else that must hold into conflicts.

    Parameters
    ----------
    relations : Relations
        Scored pairs.
    known : Constraints
        Must-links, cannot-links, labels and groups, which always hold.
    sources : ndarray of shape (n_samples,), optional
        Code of the source of every object; objects of one source never join. -1 for none.
    absent : float, default=0.0
        What it costs to join two objects that no edge joins.

    Raises
    ------
    InconsistentConstraints
        With the chain that contradicts a cannot-link, or joins two objects of one source.
    """
    if sources is not None:
        _check_sources(known, sources)
    closure = known.closure()
    node, n = closure.component, closure.n_components
    mass = closure.sizes.astype(np.float64)
    ends = node[relations.edges]
    inside = ends[:, 0] == ends[:, 1]
    scores, both = _contracted(ends[~inside], relations.scores[~inside], mass, absent)
    unlisted_inside = float((mass * (mass - 1) / 2).sum()) - int(inside.sum())
    n_pairs = relations.n_samples * (relations.n_samples - 1) / 2
    return SignedGraph(
        scores=scores,
        absent=float(absent),
        mass=mass,
        conflicts=_both_directions(closure.conflicts, np.ones(len(closure.conflicts), np.int8), n),
        sources=_incidence(sources, node, n),
        constant=float(np.maximum(-relations.scores[inside], 0.0).sum())
        + absent * unlisted_inside
        + both,
        total=float(np.abs(relations.scores).sum()) + absent * (n_pairs - relations.n_edges),
        node=node,
    )


def _contracted(
    ends: IntArray, scores: FloatArray, mass: FloatArray, absent: float
) -> tuple[sparse.csr_array, float]:
    """Scores between nodes, and what evidence of both signs between two nodes costs anyway."""
    n = len(mass)
    low, high = np.minimum(ends[:, 0], ends[:, 1]), np.maximum(ends[:, 0], ends[:, 1])
    key = low * n + high
    if np.all(np.diff(key) > 0) and np.all(mass == 1):
        return _both_directions(np.column_stack([low, high]), scores, n), 0.0
    pairs, where, listed = np.unique(key, return_inverse=True, return_counts=True)
    together = _sums(where, np.maximum(scores, 0.0), len(pairs))
    apart = _sums(where, np.maximum(-scores, 0.0), len(pairs))
    ends = np.column_stack(np.divmod(pairs, n))
    apart += absent * (mass[ends[:, 0]] * mass[ends[:, 1]] - listed)
    both = float(np.minimum(together, apart).sum())
    return _both_directions(ends, together - apart, n), both


def _sums(where: IntArray, values: FloatArray, n: int) -> FloatArray:
    """Sum of the values of every place; NumPy counts in whole numbers where there are none."""
    return np.bincount(where, weights=values, minlength=n).astype(np.float64)


def _both_directions(pairs: IntArray, values: Array, n: int) -> sparse.csr_array:
    """Symmetric CSR matrix of pairs a < b; values of zero stay listed."""
    kind = np.int32 if max(n, 2 * len(pairs)) < 2**31 else np.int64
    rows = np.concatenate([pairs[:, 0], pairs[:, 1]]).astype(kind)
    columns = np.concatenate([pairs[:, 1], pairs[:, 0]]).astype(kind)
    matrix = sparse.coo_array((np.concatenate([values, values]), (rows, columns)), (n, n)).tocsr()
    matrix.sort_indices()
    return matrix


def _incidence(sources: IntArray | None, node: IntArray, n: int) -> sparse.csr_array:
    """Sources of every node."""
    if sources is None:
        return sparse.csr_array((n, 0), dtype=np.int8)
    known = np.flatnonzero(sources >= 0)
    shape = (n, int(sources.max(initial=-1)) + 1)
    ones = np.ones(len(known), np.int8)
    return sparse.coo_array((ones, (node[known], sources[known])), shape).tocsr()


def _check_sources(known: Constraints, sources: IntArray) -> None:
    """Raise, with the chain, where must-links join two objects of one source."""
    node = known.components()
    placed = np.flatnonzero(sources >= 0)
    order = placed[np.lexsort((placed, sources[placed], node[placed]))]
    first, second = order[:-1], order[1:]
    clash = np.flatnonzero((node[first] == node[second]) & (sources[first] == sources[second]))
    if len(clash):
        pair = (int(first[clash[0]]), int(second[clash[0]]))
        chain = _chain_between(known, pair)
        names = known.name_rows(chain)
        raise InconsistentConstraints(
            f"{names[0]} and {names[-1]} are of one source, whose objects are all different, but "
            f"what is known joins them: {' - '.join(names)}. Remove one of these statements, or "
            "correct a source.",
            pair=pair,
            chain=chain,
        )


def _chain_between(known: Constraints, pair: tuple[int, int]) -> tuple[int, ...]:
    """Shortest chain of statements that joins two rows."""
    apart = known._derive(Statements(StatedPairs(_NONE), StatedPairs(np.array([pair]))))
    try:
        (known | apart).closure()
    except InconsistentConstraints as error:
        return error.chain
    return pair


_NONE = np.empty((0, 2), np.int64)
