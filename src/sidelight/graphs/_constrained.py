"""Neighborhood graphs that listen to must-links and cannot-links."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sidelight._kernels.manifold.cuts import cut_between
from sidelight._typing import Array
from sidelight.constraints import Pairs
from sidelight.graphs._bridges import spanning_edges
from sidelight.graphs._nearest import pair_distances, symmetric_edges
from sidelight.graphs._neighborhoods import Metric

#: A must-link of weight ``w`` makes a way ``1 + STRENGTH w`` times shorter: ten times for one.
STRENGTH = 9.0


def constrain_graph(
    graph: sparse.csr_array, X: Any, pairs: Pairs, *, metric: Metric = "euclidean"
) -> sparse.csr_array:
    """Shorten the way between must-linked rows, and cut the edges between cannot-linked ones.

    Two rows of a must-link of weight ``w`` are joined by an edge of their distance over ``1 + 9w``:
    a tenth for weight 1. A cannot-link says that the short way between two rows ``i`` and ``j``
    does not lie on the manifold, and so for the rows around them: cut are the edges between ``i``
    or a neighbor ``a`` of it and ``j`` or a neighbor ``b`` of it, where ``|ai| + |bj| <= w |ij|``
    and each end is nearer to its own row. A cut never splits a part of the graph: the shortest of
    the cut edges that hold it together stay, ``1 + 9w`` times as long.

    Parameters
    ----------
    graph : csr_array of shape (n_samples, n_samples)
        Distances of joined rows, as :func:`distance_graph` gives them.
    X : array or CSR matrix
        What the graph was built from.
    pairs : Pairs
        What is known about pairs of rows, from :func:`sidelight.constraints.known_pairs`.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        Whether ``X`` holds rows or distances; distances that a sparse matrix does not store count
        as the median edge.

    Returns
    -------
    graph : csr_array of shape (n_samples, n_samples)
        The graph with other edges and lengths.

    Examples
    --------
    >>> from sidelight import Constraints
    >>> from sidelight.constraints import known_pairs
    >>> from sidelight.graphs import constrain_graph, distance_graph
    >>> X = [[0.0], [1.0], [3.0]]
    >>> pairs = known_pairs(Constraints(must_link=[(0, 2)], n_samples=3))
    >>> constrain_graph(distance_graph(X, n_neighbors=1), X, pairs).toarray().round(3)
    array([[0. , 1. , 0.3],
           [1. , 0. , 2. ],
           [0.3, 2. , 0. ]])
    """
    lengths, factors = constrained_edges(graph, X, pairs, metric=metric)
    return sparse.csr_array((lengths.data * factors, lengths.indices, lengths.indptr), graph.shape)


def constrained_edges(
    graph: sparse.csr_array, X: Any, pairs: Pairs, *, metric: Metric = "euclidean"
) -> tuple[sparse.csr_array, Array]:
    """Edges that constraints leave and add, with their distances, and by how much each is longer.

    Parameters
    ----------
    graph, X, pairs, metric
        As in :func:`constrain_graph`.

    Returns
    -------
    edges : csr_array of shape (n_samples, n_samples)
        Distances of joined rows.
    factors : ndarray of shape (edges.nnz,)
        Factor of every stored distance; :func:`constrain_graph` returns the product of both.

    Examples
    --------
    >>> from sidelight import Constraints
    >>> from sidelight.constraints import known_pairs
    >>> from sidelight.graphs import constrained_edges, distance_graph
    >>> X = [[0.0], [1.0], [3.0]]
    >>> pairs = known_pairs(Constraints(must_link=[(0, 1)], n_samples=3))
    >>> constrained_edges(distance_graph(X, n_neighbors=1), X, pairs)[1]
    array([0.1, 0.1, 1. , 1. ])
    """
    graph = sparse.csr_array(graph)
    factors = np.ones(graph.nnz)
    if pairs.n_apart:
        reach = pairs.apart_weight * _distances(graph, X, pairs.apart, metric)
        graph, factors = _cut(graph, pairs.apart, reach, pairs.apart_weight)
    if pairs.n_together:
        graph, factors = _joined(graph, factors, X, pairs, metric)
    return graph, factors


def _distances(graph: sparse.csr_array, X: Any, pairs: Array, metric: Metric) -> Array:
    """Distances between the two rows of pairs."""
    first, second = pairs[:, 0], pairs[:, 1]
    if metric == "euclidean":
        return pair_distances(X if sparse.issparse(X) else np.asarray(X), first, second)
    if not sparse.issparse(X):
        return np.asarray(X, dtype=np.float64)[first, second]
    usual = float(np.median(graph.data)) if graph.nnz else 1.0
    stored = np.asarray(sparse.csr_array(X)[first, second]).ravel()
    return np.where(stored > 0, stored, usual)


def _cut(
    graph: sparse.csr_array, pairs: Array, reach: Array, weight: Array
) -> tuple[sparse.csr_array, Array]:
    """Leave out cut edges, but for those that hold the graph together; and factors of all."""
    indptr, indices = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    cut = np.full(graph.nnz, -1.0)
    places = np.ascontiguousarray(pairs, dtype=np.int64)
    cut_between(indptr, indices, graph.data, places, reach, weight.astype(np.float64), cut)
    kept = cut < 0
    factors = np.where(kept, 1.0, 1.0 + STRENGTH * np.maximum(cut, 0.0))
    ends = np.repeat(np.arange(graph.shape[0]), np.diff(indptr))
    whole = connected_components(graph, directed=False)[0]
    left = _edges(graph, ends, indices, kept)
    n_parts, part = connected_components(left, directed=False)
    if n_parts > whole:
        held = np.flatnonzero(~kept & (part[ends] != part[indices]))
        kept[
            held[_holding(part[ends[held]], part[indices[held]], (graph.data * factors)[held])]
        ] = 1
        both = _edges(graph, ends, indices, kept)
        kept[:] = np.asarray(both.maximum(both.T)[ends, indices]).ravel() > 0
    return _edges(graph, ends, indices, kept, graph.data), factors[kept]


def _edges(
    graph: sparse.csr_array, ends: Array, indices: Array, kept: Array, values: Array | None = None
) -> sparse.csr_array:
    """Some edges of a graph, in their order, of value 1 by default."""
    data = np.ones(np.count_nonzero(kept)) if values is None else values[kept]
    counts = np.bincount(ends[kept], minlength=graph.shape[0])
    return sparse.csr_array((data, indices[kept], np.append(0, np.cumsum(counts))), graph.shape)


def _holding(first: Array, second: Array, lengths: Array) -> Array:
    """Places of the shortest edges that join parts: those of a minimum spanning tree."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    order = np.lexsort((high, low, lengths))
    return np.asarray(order[spanning_edges(first[order], second[order])])


def _joined(
    graph: sparse.csr_array, factors: Array, X: Any, pairs: Pairs, metric: Metric
) -> tuple[sparse.csr_array, Array]:
    """Add an edge between must-linked rows, and shorten it."""
    n = graph.shape[0]
    first, second = pairs.together[:, 0], pairs.together[:, 1]
    old = sparse.coo_array(graph)
    shorter = 1.0 / (1.0 + STRENGTH * pairs.together_weight)
    ends = np.concatenate([old.row, first]), np.concatenate([old.col, second])
    known = _distances(graph, X, pairs.together, metric)
    lengths = symmetric_edges(*ends, np.concatenate([old.data, known]), n)
    # The shorter of two factors stays, as the shorter of two lengths does.
    factor = symmetric_edges(*ends, np.concatenate([factors, shorter]), n)
    return lengths, factor.data
