"""Where k-means starts: D² sampling, far rows, random rows, and what is known."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from sidelight._kernels.cluster.lloyd import join_candidates
from sidelight._typing import Array
from sidelight.cluster._core._distances import dense_rows, squared_distances
from sidelight.engine import RowSource

#: What :func:`_order_by_content` has found, as long as the source is in use.
_orders: WeakKeyDictionary[RowSource, Array] = WeakKeyDictionary()


def kmeans_plusplus(
    source: RowSource,
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    given: Array | None = None,
    sample_weight: Array | None = None,
) -> Array:
    """Choose centres by greedy D² sampling (Arthur and Vassilvitskii 2007), after those given.

    Every next centre is the best of ``2 + log k`` rows that are drawn with probability
    proportional to ``w_i min_h ‖x_i - c_h‖²``: the one that leaves the smallest sum of these. A
    row of weight 2 is the same as the row twice, and the order of the rows does not matter.

    Parameters
    ----------
    source : RowSource
        The rows.
    n_clusters : int
        Number of centres, given ones included.
    random_state : numpy.random.RandomState
        Source of chance.
    given : ndarray of shape (n_given, n_features), default=None
        Centres that are known already; they come first in the result.
    sample_weight : ndarray of shape (n_rows,), default=None
        Weights of the rows.

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
        Centres in the element type of the rows.
    """
    centers = np.empty((n_clusters, source.n_features), dtype=source.dtype)
    weights = (
        np.ones(source.n_rows, dtype=source.dtype)
        if sample_weight is None
        else np.ascontiguousarray(sample_weight, dtype=source.dtype)
    )
    order = _order_by_content(source)
    n_known = 0 if given is None else len(given)
    if given is not None:
        centers[:n_known] = given
    elif n_clusters:
        centers[0] = dense_rows(source, _draw(weights, order, 1, random_state))[0]
        n_known = 1
    if n_known >= n_clusters:
        return centers
    closest = np.full(source.n_rows, np.inf, dtype=source.dtype)
    for center in centers[:n_known]:
        _, closest = _join(source, weights, closest, center[None])
    n_candidates = 2 + int(np.log(n_clusters))
    for h in range(n_known, n_clusters):
        drawn = _draw(closest * weights, order, n_candidates, random_state)
        candidates = dense_rows(source, drawn)
        potentials, _ = _join(source, weights, closest, candidates)
        centers[h] = candidates[np.argmin(potentials)]
        _, closest = _join(source, weights, closest, centers[h : h + 1])
    return centers


def farthest_first(
    source: RowSource,
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    given: Array | None = None,
    sample_weight: Array | None = None,
) -> Array:
    """Choose centres far from each other (Gonzalez 1985), after those given.

    The first is drawn with probability proportional to the weights, every next is the row farthest
    from all before it. No row is then farther from its centre than twice what is possible with as
    many centres.

    Parameters
    ----------
    source : RowSource
        The rows.
    n_clusters : int
        Number of centres, given ones included.
    random_state : numpy.random.RandomState
        Source of chance.
    given : ndarray of shape (n_given, n_features), default=None
        Centres that are known already; they come first in the result.
    sample_weight : ndarray of shape (n_rows,), default=None
        Weights of the rows; one of weight 0 is no centre.

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
        Centres in the element type of the rows.
    """
    centers = np.empty((n_clusters, source.n_features), dtype=source.dtype)
    weights = np.ones(source.n_rows, dtype=source.dtype)
    if sample_weight is not None:
        weights[:] = sample_weight
    order = _order_by_content(source)
    n_given = 0 if given is None else min(len(given), n_clusters)
    closest = np.full(source.n_rows, np.inf, dtype=source.dtype)
    for h in range(n_clusters):
        if given is not None and h < n_given:
            centers[h] = given[h]
        elif h == 0:
            centers[0] = dense_rows(source, _draw(weights, order, 1, random_state))[0]
        else:
            # Of equally far rows the first in an order that does not depend on the table's.
            farthest = order[np.argmax(np.where(weights > 0, closest, -1)[order])]
            centers[h] = dense_rows(source, [farthest])[0]
        _, closest = _join(source, weights, closest, centers[h : h + 1])
    return centers


def random_rows(
    source: RowSource,
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    sample_weight: Array | None = None,
) -> Array:
    """Choose different rows as centres, with probabilities proportional to the weights."""
    p = None if sample_weight is None else sample_weight / np.sum(sample_weight)
    enough = p is None or np.count_nonzero(p) >= n_clusters
    chosen = random_state.choice(source.n_rows, n_clusters, replace=False, p=p if enough else None)
    return dense_rows(source, chosen)


def _join(
    source: RowSource, weights: Array, closest: Array, candidates: Array
) -> tuple[Array, Array]:
    """Sums of squared distances with each candidate as a further centre; minima with the last."""

    def join(block: Any, weights: Array, closest: Array) -> tuple[tuple[Array], tuple[Array]]:
        potentials, minima = np.zeros(len(candidates)), closest.copy()
        if not sparse.issparse(block):
            join_candidates(block, weights, candidates, minima, potentials)
            return (potentials,), (minima,)
        for c, candidate in enumerate(candidates):
            minima = np.minimum(closest, squared_distances(block, candidate))
            potentials[c] = minima @ weights
        return (potentials,), (minima,)

    (potentials,), (minima,) = source.map_reduce(join, aligned=(weights, closest))
    return potentials, minima


def _order_by_content(source: RowSource) -> Array:
    """Order the rows by their projection on a fixed line: equal rows become neighbours.

    Chance that walks along this order meets the same rows however the table is arranged, and does
    not tell a heavy row from a repeated one. It is the same for all starts on these rows.
    """
    known = _orders.get(source)
    if known is not None:
        return known
    line = np.random.RandomState(0).standard_normal(source.n_features).astype(source.dtype)
    projections = source.map_reduce(lambda block: ((), (block @ line,)))[1][0]
    order = _orders[source] = np.argsort(projections, kind="stable")
    return order


def _draw(mass: Array, order: Array, n: int, random_state: np.random.RandomState) -> Array:
    """Draw positions with probability proportional to ``mass``; evenly where it is all zero."""
    cumulative = np.cumsum(mass[order].astype(np.float64))
    if cumulative[-1] <= 0:
        return order[random_state.randint(len(mass), size=n)]
    goals = random_state.uniform(size=n) * cumulative[-1]
    drawn = np.searchsorted(cumulative, goals, side="right")
    return order[np.minimum(drawn, len(mass) - 1)]
