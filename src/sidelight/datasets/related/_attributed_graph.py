"""Objects with attributes on a graph whose edges are mostly inside clusters, for NetScan."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_random_state

from sidelight._typing import FloatArray, IntArray
from sidelight.constraints import Relations
from sidelight.datasets._generator_options import check_counts, check_shares, check_sizes
from sidelight.datasets.related._pair_sampling import (
    PairRange,
    check_affordable,
    draw_numbers,
    pairs_of_blocks,
)


class RelatedRows(NamedTuple):
    """Rows, how they are related, and the classes behind them.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Attributes.
    relations : Relations
        Edges or hyper-edges between the rows.
    target : ndarray of int64, shape (n_samples,)
        Cluster or entity of every row.
    """

    X: FloatArray
    relations: Relations
    target: IntArray


def make_attributed_graph(
    separation: float = 2.0,
    *,
    n_per_cluster: int = 100,
    n_clusters: int = 3,
    n_features: int = 10,
    p_in: float = 0.06,
    p_out: float = 0.002,
    random_state: Any = None,
) -> RelatedRows:
    """Gaussian attributes on the nodes of a stochastic block graph (chapter 12).

    The center of a cluster is ``separation`` away from the origin, along an axis of its own, so
    that two centers are ``sqrt(2) * separation`` standard deviations apart; where there are more
    clusters than axes, the next ones follow further out, at least as far from all others. Every
    cluster is connected: where chance left it in pieces, these are joined in a chain.

    Parameters
    ----------
    separation : float, default=2.0
        Distance of the first centers from the origin, in standard deviations of the attributes.
    n_per_cluster : int, default=100
        Number of nodes of a cluster.
    n_clusters : int, default=3
        Number of clusters.
    n_features : int, default=10
        Number of attributes.
    p_in : float, default=0.06
        Probability of an edge between two nodes of a cluster.
    p_out : float, default=0.002
        Probability of an edge between nodes of different clusters.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    RelatedRows
        ``X``, ``relations`` with unsigned edges, and ``target``; also as a triple to unpack.

    References
    ----------
    Basu, Davidson and Wagstaff (eds.), *Constrained Clustering* (2009), chapter 12.

    Examples
    --------
    >>> from sidelight.datasets import make_attributed_graph
    >>> X, relations, labels = make_attributed_graph(random_state=0)
    >>> X.shape, int(relations.restrict(labels == 0).components().max())
    ((300, 10), 0)
    """
    check_counts(1, n_per_cluster=n_per_cluster, n_clusters=n_clusters, n_features=n_features)
    check_shares(p_in=p_in, p_out=p_out)
    check_sizes(separation=separation)
    rng = check_random_state(random_state)
    n = n_clusters * n_per_cluster
    within, across = pairs_of_blocks(np.full(n_clusters, n_per_cluster))
    check_affordable(p_in * within.n_pairs + p_out * across.n_pairs)
    inner = _edges(within, p_in, rng)
    outer = _edges(across, p_out, rng)
    edges = np.concatenate([inner, _joints(inner, n, n_per_cluster, rng), outer])
    cluster = np.repeat(np.arange(n_clusters), n_per_cluster)
    row = rng.permutation(n)  # rows are in no order, the nodes above in that of their clusters
    target = np.empty(n, np.int64)
    target[row] = cluster
    X = rng.standard_normal((n, n_features))
    X += _centers(separation, n_clusters, n_features)[target]
    return RelatedRows(X, Relations(row[edges], n_samples=n), target)


def _centers(separation: float, n_clusters: int, n_features: int) -> FloatArray:
    """Centers along the axes, all at least ``sqrt(2) * separation`` apart."""
    number = np.arange(n_clusters)
    centers = np.zeros((n_clusters, n_features))
    centers[number, number % n_features] = separation * (1 + np.sqrt(2.0) * (number // n_features))
    return centers


def _edges(pairs: PairRange, probability: float, rng: np.random.RandomState) -> IntArray:
    """Each pair with this probability."""
    n_edges = rng.binomial(pairs.n_pairs, probability) if pairs.n_pairs else 0
    return pairs.pairs(draw_numbers(pairs.n_pairs, n_edges, rng))


def _joints(inner: IntArray, n: int, n_per_cluster: int, rng: np.random.RandomState) -> IntArray:
    """Edges that chain the pieces of every cluster, from a random node of each to the next."""
    graph = sparse.coo_array((np.ones(len(inner), np.int8), (inner[:, 0], inner[:, 1])), (n, n))
    _, piece = connected_components(graph, directed=False)
    shuffled = rng.permutation(n)
    _, first = np.unique(piece[shuffled], return_index=True)
    chosen = shuffled[np.sort(first)]
    chosen = chosen[np.argsort(chosen // n_per_cluster, kind="stable")]
    neighbors = np.column_stack([chosen[:-1], chosen[1:]])
    return neighbors[neighbors[:, 0] // n_per_cluster == neighbors[:, 1] // n_per_cluster]
