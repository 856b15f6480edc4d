r"""The cheapest assignment within bounds of rows that are read in passes: k prices, and few rows.

.. math::

    \min_l \sum_i w_i \|x_i - \mu_{l_i}\|^2 \quad\text{subject to}\quad
    \ell_h \le \sum_{i : l_i = h} s_i \le u_h

At the right prices every row goes where cost plus price is least (a power diagram), clusters with a
price above 0 are full, those with a price below 0 at their lower bound. So the matrix of costs is
never needed:

1. Prices of a sample come close; those of the last assignment, moved as the sample's have moved
   since, come very close.
2. A pass at these prices gives sizes, and the rows that a small change of the prices could move
   (:mod:`sidelight.cluster.sized._priced`). Where too many rows are in a wrong cluster, these rows
   tell how many a change of the prices moves, and a step of Newton's method changes them.
3. The last few move along shortest paths between the clusters, among the rows of the band alone
   (:mod:`sidelight._kernels.assignment.sized`). While no price moves by more than the reach of the
   band, all other rows stay where they are, which proves that nothing is cheaper.

By weak duality an assignment costs at most

.. math::

    \sum_i (c_{i, l_i} + s_i p_{l_i} - \min_h (c_{ih} + s_i p_h))
    + \sum_h (\max(p_h u_h, p_h \ell_h) - p_h n_h)

more than the cheapest one, for any prices: the first sum has terms in the band only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._fit.tiles import EqualWeights
from sidelight._kernels.assignment.sized import DONE, NO_PATH, move_to_bounds
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.assignment.inner import solve_flow
from sidelight.cluster.sized._priced import NearRows, PricedPass, list_near, unit_costs
from sidelight.engine import RowSource
from sidelight.exceptions import SidelightError

#: Rows of the sample: at least so many, and for each cluster.
SAMPLE_ROWS, SAMPLE_PER_CLUSTER = 10_000, 400

#: Rows that a band should have: one in this many, at least and at most.
BAND_SHARE, FEWEST_IN_BAND, MOST_IN_BAND = 50, 20_000, 500_000

#: The flow is tried where the band has so many rows for each that has to move, and where prices are
#: not going to change against each other by more than so many times its reach (it fails above 2).
COVER, WITHIN = 8, 1.5

#: Rows of the sample that a band should have, in all and of each cluster, and the share of the
#: median margin below which rows tie.
FEWEST_IN_SAMPLE, FEWEST_OF_CLUSTER, TIE = 20, 8, 1e-9

#: Passes for Newton's method at most, and passes in all.
MAX_NEWTON, MAX_PASSES = 6, 30

#: No price changes by more than this many times the width of the band in a step; and how often
#: clusters change between their bounds before it.
FARTHEST, MAX_SIDES = 5.0, 50

#: Bands get wider by these factors where the flow does not find its way.
WIDER, WIDEST = 3.0, 100.0

#: Sizes that differ by less than this share of the total are equal.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Items:
    """Rows that are linked to each other, or must be apart, as items with a size each.

    Attributes
    ----------
    rows, component : ndarray of int, shape (r,)
        Positions of the rows, ascending, and the item of each.
    sizes : ndarray of shape (m,)
        Sizes of the items.
    costs : callable
        Costs of the items at centers, ``(m, k)``, with a column for rows left out where there is
        one; these stay inside.
    conflicts : ndarray of int, shape (e, 2)
        Items that must be in different clusters.
    """

    rows: IntArray
    component: IntArray
    sizes: FloatArray
    costs: Any
    conflicts: IntArray


@dataclass(frozen=True, eq=False)
class Problem:
    """What is assigned, and within which bounds.

    Attributes
    ----------
    source : RowSource
        The rows.
    weights, sizes : ndarray of shape (n_rows,) or None
        Weights and sizes of the rows; 1 each if None.
    lower, upper : ndarray of shape (k,) or (k + 1,)
        Bounds on the sizes; the last are for rows that are left out.
    outlier_cost : float or None
        Cost of leaving a row out.
    items : Items or None
        Rows that are items of their own.
    """

    source: RowSource
    weights: Array | None
    sizes: FloatArray | None
    lower: FloatArray
    upper: FloatArray
    outlier_cost: float | None
    items: Items | None

    @property
    def apart(self) -> IntArray:
        """Positions of the rows that are items of their own."""
        return np.empty(0, np.int64) if self.items is None else self.items.rows

    @property
    def total(self) -> float:
        """Sum of all sizes."""
        return float(self.source.n_rows if self.sizes is None else self.sizes.sum())

    def pass_at(
        self, centers: Array, prices: FloatArray, reach: FloatArray, before: Any
    ) -> tuple[Any, Any]:
        """Return totals and labels of a pass."""
        work = PricedPass(
            centers, prices, reach, self.outlier_cost, self.apart, self.source.is_sparse
        )
        n, ones = self.source.n_rows, EqualWeights(self.source)
        aligned = (
            range(n),
            ones if self.weights is None else self.weights,
            ones if self.sizes is None else self.sizes,
            np.broadcast_to(np.int32(-2), n) if before is None else before,
        )
        totals, (labels,) = self.source.map_reduce(work, aligned=aligned)
        return totals, labels


@dataclass(frozen=True, eq=False)
class Divided:
    """The optimum for rows that may be divided, as the last pass and what is changed in it.

    Attributes
    ----------
    totals : tuple
        Totals of the pass, see :class:`PricedPass`.
    labels : ndarray of int32 or RowValues
        Labels of the pass.
    near : NearRows
        The band, and behind it the items.
    chosen : ndarray of int32
        Clusters of near rows and items; one of several for those that are split.
    split : ndarray of int
        Which of these are split.
    fixed : ndarray
        Sizes of what is in neither.
    prices : ndarray
        Prices of the optimum.
    gap : float
        How much the chosen clusters may be above the optimum at most.
    n_passes : int
        Number of passes over the rows.
    """

    totals: tuple[Any, ...]
    labels: Any
    near: NearRows
    chosen: Array
    split: IntArray
    fixed: FloatArray
    prices: FloatArray
    gap: float
    n_passes: int


class Sample:
    """Some of the rows, evenly along the table, which prices are found on first."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        n, k = problem.source.n_rows, len(problem.lower)
        size = min(n, max(SAMPLE_ROWS, SAMPLE_PER_CLUSTER * k))
        stride = n / size
        offsets = np.random.RandomState(0).uniform(size=size)
        rows = np.minimum(((np.arange(size) + offsets) * stride).astype(np.int64), n - 1)
        rows = np.setdiff1d(rows if size < n else np.arange(n), problem.apart)
        sizes = np.ones(len(rows)) if problem.sizes is None else problem.sizes[rows]
        self._sizes = sizes[sizes > 0].astype(np.float64)
        rows = rows[sizes > 0]
        self.is_whole = size == n
        self._rows = problem.source.take(rows)
        self._weights = np.ones(len(rows)) if problem.weights is None else problem.weights[rows]
        items = 0.0 if problem.items is None else problem.items.sizes.sum()
        free = problem.total - items
        self._share = self._sizes.sum() / free if free > 0 else 1.0

    def solve(self, centers: Array, start: FloatArray) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return prices, and at these prices labels and margins of the rows in the sample."""
        problem = self._problem
        costs = unit_costs(self._rows, self._weights, self._sizes, centers, problem.outlier_cost)
        sizes, table = self._sizes, costs
        if problem.items is not None:
            held = problem.items.sizes > 0
            item_sizes = problem.items.sizes[held]
            table = np.concatenate(
                [costs, problem.items.costs(centers)[held] / item_sizes[:, None]]
            )
            sizes = np.concatenate([sizes, self._share * item_sizes])
        prices = start
        if len(sizes):
            bounds = self._share * problem.lower, self._share * problem.upper
            try:
                prices = solve_flow(np.ascontiguousarray(table), sizes, *bounds, start).prices
            except SidelightError:  # a sample may not fill all clusters
                prices = start
        if costs.shape[1] == 1 or len(costs) == 0:
            return prices, np.zeros(len(costs), np.int64), np.full(len(costs), np.inf)
        priced = costs + prices
        least = np.partition(priced, 1, axis=1)
        return prices, priced.argmin(axis=1), least[:, 1] - least[:, 0]


class PriceSearch:
    """The optimum for divisible rows at centers that move, each from the prices before.

    Parameters
    ----------
    problem : Problem
        What is assigned.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._sample = Sample(problem)
        self._columns = len(problem.lower)

    def solve(
        self, centers: Array, before: Any = None, last: tuple[FloatArray, FloatArray] | None = None
    ) -> tuple[Divided, tuple[FloatArray, FloatArray]]:
        """Return the optimum, and its prices with those of the sample.

        Parameters
        ----------
        centers : ndarray of shape (k, d)
            The centers.
        before : ndarray of int32 or RowValues, default=None
            Labels before, to count those that change.
        last : tuple of ndarray, default=None
            What was returned behind the optimum at the centers before.
        """
        start = np.zeros(self._columns) if last is None else last[1]
        sampled, labels, margins = self._sample.solve(centers, start)
        prices, reach = sampled, self._first_reach(labels, margins)
        if last is not None and not self._sample.is_whole:
            # The error of the sample hardly changes while the centers move. What is larger than a
            # few reaches is no error: where few rows are on a border, many prices are as good.
            error = np.clip(last[1] - last[0], -FARTHEST * reach, FARTHEST * reach)
            moved = sampled - error
            prices = np.where(np.sign(moved) == np.sign(sampled), moved, sampled)
        found = self._search(centers, prices, reach, before)
        return found, (found.prices, sampled)

    def _first_reach(self, labels: IntArray, margins: FloatArray) -> FloatArray:
        """Return the reach at which the band has about as many rows as it should.

        It is larger for clusters that have few rows near their borders.
        """
        n = self._problem.source.n_rows
        wanted = np.clip(n // BAND_SHARE, FEWEST_IN_BAND, MOST_IN_BAND)
        # Rows that are split in the optimum of the sample tie, and so may equal rows.
        apart = np.isfinite(margins)
        apart[apart] = margins[apart] > TIE * np.median(margins[apart]) if apart.any() else False
        labels, margins = labels[apart], margins[apart]
        if n <= wanted or len(margins) == 0:
            return np.full(self._columns, np.inf)
        share = max(wanted / n, min(1.0, FEWEST_IN_SAMPLE / len(margins)))
        reach = np.full(self._columns, float(np.quantile(margins, share)) / 2)
        order = np.lexsort((margins, labels))
        starts = np.searchsorted(labels[order], np.arange(self._columns + 1))
        for h in range(self._columns):
            few = min(starts[h] + FEWEST_OF_CLUSTER, starts[h + 1]) - 1
            if few >= starts[h]:
                reach[h] = max(reach[h], margins[order[few]] / 2)
        return reach

    def _search(
        self, centers: Array, prices: FloatArray, reach: FloatArray, before: Any
    ) -> Divided:
        problem, fewest = self._problem, np.inf
        for number in range(MAX_PASSES):
            totals, labels = problem.pass_at(centers, prices, reach, before)
            filled, near = totals[3] + self._item_sizes(centers, prices), totals[-1]
            to_move = np.abs(self._excess(filled, prices)).sum() / 2
            if number < MAX_NEWTON and to_move < fewest and np.isfinite(reach).all():
                better = self._newton(prices, filled, near, reach)
                covered = COVER * to_move <= near.sizes.sum()
                step = better - prices
                if not covered or is_beyond(step, WITHIN * reach / 2):
                    prices, fewest = better, to_move
                    if covered:  # prices of clusters with few rows on the border have far to go
                        far = np.abs(step - np.median(step))
                        reach = np.clip(far, reach, WIDER * reach)
                    continue
            found, prices, status, changed = self._flow(
                centers, totals, labels, prices, reach, number + 1
            )
            if found is not None:
                return found
            far = np.abs(changed - np.median(changed)) > reach / 2
            short = COVER * to_move / max(float(near.sizes.sum()), 1.0)
            wider = np.clip(short, WIDER, WIDEST) * reach
            reach = np.where(far | (status == NO_PATH), wider, reach)
        raise SidelightError(
            f"The prices of the clusters were not found in {MAX_PASSES} passes over the rows: "
            "loosen the bounds on the sizes a little."
        )

    def _excess(self, filled: FloatArray, prices: FloatArray) -> FloatArray:
        """Return what clusters have more than they should at these prices."""
        lower, upper = self._problem.lower, self._problem.upper
        within = np.clip(filled, lower, upper)
        goal = np.where(prices == 0, within, np.where(prices > 0, upper, lower))
        return filled - goal

    def _item_sizes(self, centers: Array, prices: FloatArray) -> FloatArray:
        """Return the sizes of the items by cluster, each whole in its cheapest one."""
        items = self._problem.items
        if items is None:
            return np.zeros(self._columns)
        costs = items.costs(centers) + items.sizes[:, None] * prices
        cheapest = costs.argmin(axis=1)
        return np.bincount(cheapest, items.sizes, minlength=self._columns).astype(np.float64)

    def _newton(
        self, prices: FloatArray, filled: FloatArray, near: NearRows, reach: FloatArray
    ) -> FloatArray:
        """Return prices at which sizes and bounds agree, as far as the band tells."""
        if len(near.rows) == 0:
            return prices
        k, (row, others, margins) = self._columns, second_best(near)
        width = reach[:, None] + reach
        own = near.labels[row]
        counted = (others == margins[row]) & (others <= width[own, near.cluster])
        pairs = own[counted] * np.int64(k) + near.cluster[counted]
        between = np.bincount(pairs, near.sizes[row[counted]], minlength=k * k).reshape(k, k)
        density = (between + between.T) / (2 * width)
        better = agreeing_prices(density, filled, self._problem, prices)
        return np.clip(better, prices - FARTHEST * 2 * reach, prices + FARTHEST * 2 * reach)

    def _flow(
        self,
        centers: Array,
        totals: tuple[Any, ...],
        labels: Any,
        prices: FloatArray,
        reach: FloatArray,
        n_passes: int,
    ) -> tuple[Divided | None, FloatArray, int, FloatArray]:
        """Move rows of the band until sizes, bounds and prices agree, if its reach allows that.

        Returns the optimum or None, the prices that were reached, how it ended, and by how much the
        prices have changed.
        """
        problem, near = self._problem, totals[-1]
        fixed = totals[3] - np.bincount(near.labels, near.sizes, minlength=self._columns)
        near = self._with_items(near, centers, prices)
        row = np.repeat(np.arange(len(near.rows)), near.counts)
        indptr = np.concatenate([[0], np.cumsum(near.counts)])
        amount = np.where(near.cluster == near.labels[row], near.sizes[row], 0.0)
        reached = prices.copy()
        status = move_to_bounds(
            indptr,
            near.cluster,
            near.margin,
            amount,
            fixed,
            problem.lower,
            problem.upper,
            reached,
            reach,
            ROUNDING * problem.total,
        )
        if status != DONE:
            return None, reached, status, reached - prices
        chosen = near.labels.copy()
        held = np.flatnonzero(amount > 0)
        chosen[row[held]] = near.cluster[held]
        split = np.flatnonzero(np.bincount(row[held], minlength=len(near.rows)) > 1)
        filled = fixed + np.bincount(near.cluster, amount, minlength=self._columns)
        gap = _slackness(problem, filled, reached)
        if len(near.rows):  # the other rows are where cost plus price is least
            dearer = near.margin + (reached - prices)[near.cluster]
            least = np.minimum.reduceat(dearer, indptr[:-1])
            gap += float(np.sum(amount * (dearer - least[row])))
        found = Divided(
            totals, labels, near, chosen, split, fixed, reached, max(gap, 0.0), n_passes
        )
        return found, reached, status, reached - prices

    def _with_items(self, near: NearRows, centers: Array, prices: FloatArray) -> NearRows:
        """Append the items that have a size, with all clusters that each may be in."""
        items = self._problem.items
        if items is None:
            return near
        held = np.flatnonzero(items.sizes > 0)
        sizes = items.sizes[held]
        costs = np.ascontiguousarray(items.costs(centers)[held] / sizes[:, None])
        anywhere = np.full(self._columns, np.inf)
        listed = list_near(costs, prices, anywhere, sizes, held, fewest=1)[1]
        return NearRows(*map(np.concatenate, zip(near, listed, strict=True)))


def is_beyond(change: FloatArray, reach: FloatArray) -> bool:
    """Whether prices change against each other by more than their reaches together."""
    return bool(np.max(change - reach) > np.min(change + reach))


def second_best(near: NearRows) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the row of every entry, its margin unless it is the best, and the least of these."""
    row = np.repeat(np.arange(len(near.rows)), near.counts)
    others = np.where(near.cluster == near.labels[row], np.inf, near.margin)
    return row, others, np.minimum.reduceat(others, np.cumsum(near.counts) - near.counts)


def agreeing_prices(
    density: FloatArray, filled: FloatArray, problem: Problem, prices: FloatArray
) -> FloatArray:
    """Return prices at which sizes and bounds agree, if sizes depend on prices linearly.

    A cluster with a price above 0 is then full, one with a price below 0 at its lower bound, all
    others within their bounds: found by moving clusters between these three.

    Parameters
    ----------
    density : ndarray of shape (k, k)
        What moves between two clusters for each unit that their prices change against each other.
    filled : ndarray of shape (k,)
        Sizes of the clusters at the prices now.
    problem : Problem
        The bounds.
    prices : ndarray of shape (k,)
        The prices now.
    """
    lower, upper = problem.lower, problem.upper
    system = np.diag(density.sum(axis=1)) - density
    # A common change of all prices moves nobody, nor does that of a cluster without neighbors.
    system[np.diag_indices(len(prices))] += 1e-9 * (1 + system.trace()) / len(prices)
    side = np.sign(prices)
    side[prices == 0] = np.sign(filled - np.clip(filled, lower, upper))[prices == 0]
    better = prices
    for _ in range(MAX_SIDES):
        tied = np.flatnonzero((side != 0) | (lower == upper))
        loose = np.setdiff1d(np.arange(len(prices)), tied)
        goal = np.where(side > 0, upper, lower)
        better = np.zeros(len(prices))
        known = system[np.ix_(tied, loose)] @ prices[loose]
        excess = filled[tied] - goal[tied] + known
        better[tied] = prices[tied] + np.linalg.solve(system[np.ix_(tied, tied)], excess)
        left = filled - system @ (better - prices)
        slack = 1e-9 * (1 + np.abs(filled))
        wrong = (np.sign(better) * side < 0) & (lower < upper)
        beyond = np.where(left > upper + slack, 1, np.where(left < lower - slack, -1, 0))
        changed = np.where(wrong, 0, np.where(side == 0, beyond, side))
        if np.array_equal(changed, side):
            break
        side = changed
    return better


def _slackness(problem: Problem, filled: FloatArray, prices: FloatArray) -> float:
    """Return what prices of clusters that are not at their bounds leave unproved."""
    dearest = np.maximum(prices * problem.upper, prices * problem.lower)
    return float(np.sum(dearest - prices * filled))
