r"""The cheapest assignment of rows to clusters whose sizes are bounded, exactly.

.. math::

    \min_l \sum_i c_{i, l_i} \quad\text{subject to}\quad
    \ell_h \le \sum_{i : l_i = h} s_i \le u_h

Every cluster has a price :math:`p_h` for each unit of size, and rows go where cost plus price is
least. At the right prices a cluster with a price above 0 is at its upper bound, one with a price
below 0 at its lower bound, and nothing can be cheaper:

.. math::

    g(p) = \sum_i \min_h (c_{ih} + s_i p_h) - \sum_h \max(p_h u_h, p_h \ell_h)
    \le \sum_i c_{i, l_i} ,

with equality there. Prices of an earlier problem, or of a sample of the rows, come close; the rest
is moved along shortest paths between clusters (:mod:`sidelight._kernels.assignment.sized`), with
only those
rows in play that small changes of the prices can move (Constrained Clustering, section 9.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._kernels.assignment.sized import (
    DONE,
    NO_PATH,
    cheapest_and_margin,
    cost_of,
    excess_at,
    label_and_count,
    list_candidates,
    move_to_bounds,
)
from sidelight._typing import FloatArray, IntArray
from sidelight.exceptions import SidelightError

#: One row in this many is in the sample that prices are found on first, if that leaves enough rows.
SAMPLE = 8
ROWS_PER_CLUSTER = 20

#: Rows in play at first, for each row that has to move.
ROWS_IN_PLAY = 8

#: How much farther prices may move in the next round; after this many rounds anywhere.
WIDER = 3.0
MAX_ROUNDS = 30

#: Sizes that differ by less than this share of the total are equal.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class SizedAssignment:
    """Rows in clusters whose sizes are within bounds.

    Attributes
    ----------
    labels : ndarray of int32, shape (n,)
        Cluster of every row.
    cost : float
        Sum of the costs of the rows in their clusters.
    prices : ndarray of shape (k,)
        Price of each cluster per unit of size: what its bound costs. They start the next problem.
    bound : float
        No assignment costs less than this.
    optimal : bool
        Whether it is proved that no assignment costs less than this one.
    """

    labels: npt.NDArray[np.int32]
    cost: float
    prices: FloatArray
    bound: float
    optimal: bool


@dataclass(frozen=True, eq=False)
class Flow:
    """The optimum when rows may be divided; rows that are ``split`` have one of their clusters."""

    labels: npt.NDArray[np.int32]
    prices: FloatArray
    split: IntArray


def assign_sized(
    cost: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    *,
    sizes: npt.ArrayLike | None = None,
    conflicts: npt.ArrayLike | None = None,
    start: SizedAssignment | None = None,
    time_limit: float = 60.0,
) -> SizedAssignment:
    """Find the cheapest assignment with sizes within bounds.

    Rows that count alike are assigned exactly at any number. Rows of different sizes, which must
    not be split, and rows that must be apart make the problem hard: the rows that the exact
    optimum of divisible rows leaves in doubt are decided by a mixed integer program (HiGHS), and
    ``optimal`` tells whether the result is proved to be the best.

    Parameters
    ----------
    cost : array-like of shape (n, k)
        Cost of every row in every cluster; infinite where it must not go.
    lower, upper : array-like of shape (k,)
        Bounds on the sizes of the clusters.
    sizes : array-like of shape (n,), default=None
        Size of each row, not negative; 1 by default.
    conflicts : array-like of shape (e, 2), default=None
        Pairs of rows that must be in different clusters.
    start : SizedAssignment, default=None
        The solution of a similar problem, such as that before the centers moved. Its prices speed
        up the search, and where optimality cannot be proved the result is no worse than it.
    time_limit : float, default=60.0
        Seconds for the mixed integer program.

    Returns
    -------
    SizedAssignment

    Raises
    ------
    SidelightError
        If there is no such assignment, or none was found in time.

    Examples
    --------
    >>> from sidelight.assignment import assign_sized
    >>> cost = [[0.0, 5.0], [1.0, 2.0], [1.0, 4.0]]
    >>> found = assign_sized(cost, lower=[0, 1], upper=[3, 3])
    >>> found.labels, found.cost
    (array([0, 1, 0], dtype=int32), 3.0)
    """
    costs = _check_cost(cost)
    n, k = costs.shape
    low, high = (_check_vector(v, k, "bound for each of the {} clusters") for v in (lower, upper))
    edges = np.empty((0, 2), np.int64) if conflicts is None else np.asarray(conflicts, np.int64)
    if sizes is None:
        row_sizes = np.ones(n)
    else:
        row_sizes = _check_vector(sizes, n, "size for each of the {} rows")
    _check_bounds(row_sizes.sum(), low, high)
    prices = None if start is None else start.prices
    equal = n == 0 or row_sizes[0] == row_sizes.max() == row_sizes.min() > 0
    if equal and len(edges) == 0:
        # Whole rows: what does not fill one is of no use to a bound.
        unit = row_sizes[0] if n else 1.0
        slack = ROUNDING * n
        low, high = np.ceil(low / unit - slack), np.floor(high / unit + slack)
        _check_bounds(n, low, high)
        flow = solve_flow(costs, np.ones(n), low, high, None if prices is None else prices * unit)
        total = cost_of(costs, flow.labels)
        return SizedAssignment(flow.labels, total, flow.prices / unit, total, True)
    from sidelight.assignment._sized_rounding import solve_whole_rows

    return solve_whole_rows(costs, row_sizes, low, high, edges, start, time_limit)


def solve_flow(
    cost: npt.NDArray[Any],
    sizes: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    start: FloatArray | None = None,
) -> Flow:
    """Solve the problem with rows that may be divided; ``cost`` is per unit of size.

    Sizes are positive; with whole numbers as sizes and bounds no row of size 1 is divided.
    """
    n, k = cost.shape
    prices = np.zeros(k) if start is None else np.array(start, dtype=np.float64)
    total = sizes.sum()
    tolerance, row_size = ROUNDING * total, total / max(n, 1)
    cheapest = _CheapestClusters(cost, sizes, prices)
    excess = cheapest.excess(lower, upper, prices)
    # Prices from a sample leave about √(k n SAMPLE) rows to move.
    enough = n // SAMPLE >= ROWS_PER_CLUSTER * k
    if enough and excess > row_size * np.sqrt(SAMPLE * n * k):
        prices = _prices_of_sample(cost, sizes, lower, upper, prices)
        cheapest = _CheapestClusters(cost, sizes, prices)
        excess = cheapest.excess(lower, upper, prices)
    if excess <= tolerance:
        return Flow(cheapest.labels, prices, np.empty(0, np.int64))
    in_play = min(int(ROWS_IN_PLAY * excess / row_size) + 200, n // 2)
    reach = np.full(k, np.partition(cheapest.margins, in_play)[in_play] / 2)
    for n_rounds in range(MAX_ROUNDS):
        movable = cheapest.movable(prices, reach)
        before, prices = prices, prices.copy()
        status = move_to_bounds(
            movable.indptr,
            movable.cluster,
            movable.margin,
            movable.amount,
            movable.fixed,
            lower,
            upper,
            prices,
            reach,
            tolerance,
        )
        if status == DONE:
            return movable.finish(cheapest.labels, prices)
        if n_rounds + 2 >= MAX_ROUNDS:
            reach = np.full(k, np.inf)
        else:
            reach = _widen(reach, prices - before, status, float(cheapest.margins.max()))
    raise SidelightError(
        "No assignment of the rows to the clusters they may be in meets the bounds on the sizes: "
        "loosen the bounds or allow more clusters to the rows."
    )


def _widen(reach: FloatArray, change: FloatArray, status: int, largest_margin: float) -> FloatArray:
    """Widen the reach of prices that changed much; of all where there was no path at all."""
    far = np.abs(change - np.median(change)) > reach / 2
    wider = WIDER * reach if status == NO_PATH else np.where(far, WIDER * reach, reach)
    return np.where(wider > 0, wider, largest_margin)


class _CheapestClusters:
    """Cheapest clusters of all rows, kept up as prices change.

    A row whose second best cluster was worse by more than the prices have changed against each
    other is still where it was: only the others are looked at again.
    """

    def __init__(self, cost: npt.NDArray[Any], sizes: FloatArray, prices: FloatArray) -> None:
        self._cost = cost
        self._sizes = sizes
        self.labels, self.margins = np.empty(len(cost), np.int32), np.empty(len(cost))
        self._relabel_all(prices)

    def _relabel_all(self, prices: FloatArray) -> None:
        cheapest_and_margin(self._cost, prices, self.labels, self.margins)
        if np.any(np.isnan(self.margins)):
            row = int(np.argmax(np.isnan(self.margins)))
            raise SidelightError(f"Row {row} may be in no cluster: all its costs are infinite.")
        self._prices = prices
        self._labels_at_prices = self.labels.copy()

    def excess(self, lower: FloatArray, upper: FloatArray, prices: FloatArray) -> float:
        """How much has to move before sizes, bounds and prices agree."""
        filled = np.bincount(self.labels, self._sizes, minlength=len(prices))
        return float(excess_at(filled, lower, upper, prices))

    def movable(self, prices: FloatArray, reach: FloatArray) -> _MovableRows:
        """Label the rows at these prices; those that reaches put into play are listed."""
        rows = self._near(prices, reach)
        if len(rows) > len(self.margins) // 2 and np.any(prices != self._prices):
            self._relabel_all(prices)
            rows = self._near(prices, reach)
        counts = np.empty(len(rows), np.int64)
        self.labels[:] = self._labels_at_prices
        label_and_count(self._cost, prices, reach, rows, self.labels, counts)
        chosen = counts > 1
        return _MovableRows(
            self._cost, prices, reach, rows[chosen], counts[chosen], self._sizes, self.labels
        )

    def _near(self, prices: FloatArray, reach: FloatArray) -> IntArray:
        change = prices - self._prices
        near = reach.max() + reach + (change - change.min())
        return np.flatnonzero(self.margins <= near[self._labels_at_prices])


def _prices_of_sample(
    cost: npt.NDArray[Any],
    sizes: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    prices: FloatArray,
) -> FloatArray:
    """Learn the prices from one row in eight, drawn evenly along the table."""
    n = len(cost) // SAMPLE
    rows = np.arange(n) * SAMPLE + np.random.RandomState(0).randint(SAMPLE, size=n)
    share = sizes[rows].sum() / sizes.sum()
    try:
        return solve_flow(cost[rows], sizes[rows], share * lower, share * upper, prices).prices
    except SidelightError:  # where rows may be in few clusters, a sample may not fill them all
        return prices


class _MovableRows:
    """The rows that may move, with the clusters within reach of each."""

    def __init__(
        self,
        cost: npt.NDArray[Any],
        prices: FloatArray,
        reach: FloatArray,
        rows: IntArray,
        counts: IntArray,
        sizes: FloatArray,
        labels: npt.NDArray[np.int32],
    ) -> None:
        self.rows = rows
        moving = np.bincount(labels[rows], sizes[rows], minlength=len(prices))
        self.fixed = np.bincount(labels, sizes, minlength=len(prices)) - moving
        self.indptr = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(counts, out=self.indptr[1:])
        self.cluster = np.empty(self.indptr[-1], np.int32)
        self.margin = np.empty(self.indptr[-1])
        self.amount = np.empty(self.indptr[-1])
        list_candidates(
            cost,
            prices,
            reach,
            rows,
            sizes,
            labels,
            self.indptr,
            self.cluster,
            self.margin,
            self.amount,
        )

    def finish(self, labels: npt.NDArray[np.int32], prices: FloatArray) -> Flow:
        """Write the final labels of the movable rows, and list those that are split."""
        held = np.flatnonzero(self.amount > 0)
        number = np.searchsorted(self.indptr, held, side="right") - 1
        labels[self.rows[number]] = self.cluster[held]
        split = np.flatnonzero(np.bincount(number, minlength=len(self.rows)) > 1)
        return Flow(labels, prices, self.rows[split])


def size_bound(
    cost: npt.NDArray[Any],
    sizes: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    prices: FloatArray,
) -> float:
    """Return ``g(p)``: what any assignment costs at least, whatever the prices."""
    least = np.min(cost + sizes[:, None] * prices, axis=1)
    return float(least.sum() - np.maximum(prices * upper, prices * lower).sum())


def _check_cost(cost: npt.ArrayLike) -> npt.NDArray[Any]:
    costs = np.asarray(cost)
    if costs.dtype != np.float32:
        costs = np.asarray(costs, dtype=np.float64)
    if costs.ndim != 2 or costs.shape[1] == 0:
        raise SidelightError(
            f"cost must be a matrix of rows and clusters, got shape {costs.shape}."
        )
    costs = np.ascontiguousarray(costs)
    if np.isnan(np.sum(costs)):
        raise SidelightError("cost holds NaN; every row needs a cost in every cluster.")
    return costs


def _check_vector(values: npt.ArrayLike, length: int, what: str) -> FloatArray:
    vector = np.array(values, dtype=np.float64)
    if vector.shape != (length,) or not np.all(np.isfinite(vector)) or np.any(vector < 0):
        raise SidelightError(f"Give one finite, non-negative {what.format(length)}.")
    return vector


def _check_bounds(total: float, lower: FloatArray, upper: FloatArray) -> None:
    slack = 1e-9 * max(total, 1.0)
    if np.any(lower > upper + slack):
        h = int(np.argmax(lower - upper))
        raise SidelightError(
            f"Cluster {h} is to hold at least {lower[h]:g} and at most {upper[h]:g}."
        )
    if lower.sum() > total + slack or upper.sum() < total - slack:
        raise SidelightError(
            f"The bounds on the sizes add up to {lower.sum():g} at least and {upper.sum():g} at "
            f"most, but there is {total:g} to divide."
        )
