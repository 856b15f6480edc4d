"""Centers chosen one after the other: D² sampling and far rows, in an order by content.

Each choice takes one or two passes over the rows (:mod:`sidelight.cluster._core._oversampling`
chooses many rows a pass).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from sidelight._fit.tiles import EqualWeights
from sidelight._kernels.cluster.lloyd import join_candidates, join_center
from sidelight._typing import Array
from sidelight.cluster._core._distances import dense_rows, squared_distances
from sidelight.engine import RowSource

#: Rows of a bin of the order by content.
BIN_ROWS = 1024

#: What :func:`_order_by_content` has found, as long as the source is in use.
_orders: WeakKeyDictionary[RowSource, ContentOrder] = WeakKeyDictionary()


def kmeans_plusplus(
    source: RowSource,
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    given: Array | None = None,
    sample_weight: Array | None = None,
) -> Array:
    """Choose centers by greedy D² sampling (Arthur and Vassilvitskii 2007), after those given.

    Every next center is the best of ``2 + log k`` rows that are drawn with probability
    proportional to ``w_i min_h ‖x_i - c_h‖²``: the one that leaves the smallest sum of these. A
    row of weight 2 is the same as the row twice, and the order of the rows does not matter.

    Parameters
    ----------
    source : RowSource
        The rows.
    n_clusters : int
        Number of centers, given ones included.
    random_state : numpy.random.RandomState
        Generator of random numbers.
    given : ndarray of shape (n_given, n_features), default=None
        Centers that are known already; they come first in the result.
    sample_weight : ndarray of shape (n_rows,), default=None
        Weights of the rows.

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
        Centers in the element type of the rows.
    """
    n_candidates = 2 + int(np.log(max(n_clusters, 1)))

    def best_of_some(state: _Seeding) -> Array:
        candidates = dense_rows(source, state.draw(n_candidates, random_state))
        best: Array = candidates[np.argmin(state.potentials(candidates))]
        return best

    return _choose_in_turn(source, n_clusters, random_state, best_of_some, given, sample_weight)


def farthest_first(
    source: RowSource,
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    given: Array | None = None,
    sample_weight: Array | None = None,
) -> Array:
    """Choose centers far from each other (Gonzalez 1985), after those given.

    The first is drawn with probability proportional to the weights, every next is the row farthest
    from all before it. No row is then farther from its center than twice what is possible with as
    many centers.

    The parameters are those of :func:`kmeans_plusplus`; a row of weight 0 is no center.
    """

    def farthest(state: _Seeding) -> Array:
        # Of equally far rows the first in an order that does not depend on the table's.
        order, far = state.content.order, np.asarray(state.closest)
        if state.weights is not None:
            far = np.where(state.weights > 0, far, -1)
        row = order[np.argmax(far[order])]
        return dense_rows(source, [row])[0]

    return _choose_in_turn(source, n_clusters, random_state, farthest, given, sample_weight)


def _choose_in_turn(
    source: RowSource,
    n_clusters: int,
    random_state: np.random.RandomState,
    choose: Callable[[_Seeding], Array],
    given: Array | None,
    sample_weight: Array | None,
) -> Array:
    """Choose one center after the other, behind those given; the first of all is drawn."""
    centers = np.empty((n_clusters, source.n_features), dtype=source.dtype)
    n_given = 0 if given is None else min(len(given), n_clusters)
    if given is not None:
        centers[:n_given] = given[:n_given]
    if n_given == n_clusters:
        return centers
    state = _Seeding(source, sample_weight)
    for h in range(n_clusters):
        if h > 0:
            state.add(centers[h - 1])
        if h == n_given == 0:
            centers[0] = dense_rows(source, state.draw(1, random_state))[0]
        elif h >= n_given:
            centers[h] = choose(state)
    return centers


def random_rows(
    source: RowSource,
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    sample_weight: Array | None = None,
) -> Array:
    """Choose different rows as centers, with probabilities proportional to the weights."""
    p = None if sample_weight is None else sample_weight / np.sum(sample_weight)
    enough = p is None or np.count_nonzero(p) >= n_clusters
    chosen = random_state.choice(source.n_rows, n_clusters, replace=False, p=p if enough else None)
    return dense_rows(source, chosen)


class _Seeding:
    """Rows with the centers so far: what the choice of the next one needs.

    Attributes
    ----------
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows; None for 1 each.
    content : ContentOrder
        Their order by content.
    closest : ndarray of shape (n_rows,)
        Squared distances to the nearest center; infinite before the first.
    """

    def __init__(self, source: RowSource, sample_weight: Array | None) -> None:
        self._source = source
        self.weights: Array | None = None
        if sample_weight is not None:
            self.weights = np.asarray(sample_weight, dtype=source.dtype)
        self.content = _order_by_content(source)
        infinite = np.asarray(np.inf, dtype=source.dtype)
        self.closest: Array = np.broadcast_to(infinite, source.n_rows)
        self._is_first = True
        self._masses = np.diff(self.content.starts).astype(np.float64)
        if self.weights is not None:
            self._masses = self.content.add_up(self.weights)

    @property
    def _aligned_weights(self) -> Any:
        return EqualWeights(self._source) if self.weights is None else self.weights

    def add(self, center: Array) -> None:
        """Add a center."""
        n_bins = len(self._masses)

        def join(
            block: Any, weights: Array, bins: Array, closest: Array
        ) -> tuple[tuple[Array], tuple[Array]]:
            if sparse.issparse(block):
                closest = np.minimum(closest, squared_distances(block, center))
                return (np.bincount(bins, closest * weights, minlength=n_bins),), (closest,)
            closest, masses = closest.copy(), np.zeros(n_bins)
            join_center(block, weights, center, bins, closest, masses)
            return (masses,), (closest,)

        aligned = (self._aligned_weights, self.content.bins, self.closest)
        (self._masses,), (self.closest,) = self._source.map_reduce(join, aligned=aligned)
        self._is_first = False

    def potentials(self, candidates: Array) -> Array:
        """Sums of weighted squared distances with each candidate as a further center."""

        def join(block: Any, weights: Array, closest: Array) -> tuple[tuple[Array], tuple[()]]:
            found = np.zeros(len(candidates))
            if not sparse.issparse(block):
                join_candidates(block, weights, candidates, closest, found)
                return (found,), ()
            for c, candidate in enumerate(candidates):
                found[c] = np.minimum(closest, squared_distances(block, candidate)) @ weights
            return (found,), ()

        return self._source.map_reduce(join, aligned=(self._aligned_weights, self.closest))[0][0]

    def draw(self, n: int, random_state: np.random.RandomState) -> Array:
        """Draw rows by weight times squared distance; evenly where that is zero for all.

        The first of all is drawn by weight.
        """
        order, starts = self.content.order, self.content.starts
        masses = np.cumsum(self._masses)
        if masses[-1] <= 0:
            return order[random_state.randint(len(order), size=n)]
        goals = random_state.uniform(size=n) * masses[-1]
        drawn = []
        for goal, b in zip(goals, _first_above(masses, goals), strict=True):
            rows = order[starts[b] : starts[b + 1]]
            mass = np.ones(len(rows)) if self._is_first else self.closest[rows]
            if self.weights is not None:
                mass = mass * self.weights[rows]
            before = masses[b - 1] if b > 0 else 0.0
            drawn.append(rows[_first_above(np.cumsum(mass, dtype=np.float64), goal - before)])
        return np.array(drawn)


def _first_above(cumulative: Array, goals: Any) -> Any:
    """Position of the first sum above each goal; after rounding, at most of the last that rose."""
    last = np.searchsorted(cumulative, cumulative[-1], side="left")
    return np.minimum(np.searchsorted(cumulative, goals, side="right"), last)


@dataclass(frozen=True)
class ContentOrder:
    """An order of rows that depends on what is in them, in bins of consecutive rows.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        Positions of the rows.
    starts : ndarray of shape (n_bins + 1,)
        Where the bins begin in ``order``.
    bins : ndarray of shape (n_rows,)
        Bin of every row of the table.
    """

    order: Array
    starts: Array
    bins: Array

    @classmethod
    def from_values(cls, values: Array) -> ContentOrder:
        """Order rows by these values, ties by position."""
        n = len(values)
        order = np.argsort(values)  # several times as fast as a stable sort
        ascending = values[order]
        same = np.append(False, ascending[1:] == ascending[:-1])
        tied = np.flatnonzero(same | np.append(same[1:], False))
        order[tied] = order[tied][np.lexsort((order[tied], ascending[tied]))]
        n_bins = min(-(-n // BIN_ROWS), np.iinfo(np.uint16).max)
        starts = np.linspace(0, n, n_bins + 1).astype(np.int64)
        bins = np.empty(n, dtype=np.uint16)
        bins[order] = np.repeat(np.arange(n_bins), np.diff(starts))
        return cls(order, starts, bins)

    def add_up(self, mass: Array) -> Array:
        """Sum of some mass of the rows in every bin."""
        return np.bincount(self.bins, mass, minlength=len(self.starts) - 1)


def _order_by_content(source: RowSource) -> ContentOrder:
    """Order the rows by their projection on a fixed line: equal rows become neighbors.

    Random draws along this order meet the same rows however the table is arranged, and do
    not tell a heavy row from a repeated one. It is the same for all restarts on these rows.
    """
    known = _orders.get(source)
    if known is not None:
        return known
    line = np.random.RandomState(0).standard_normal(source.n_features).astype(source.dtype)
    projections = source.map_reduce(lambda block: ((), (block @ line,)))[1][0]
    content = _orders[source] = ContentOrder.from_values(projections)
    return content
