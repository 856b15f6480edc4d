"""Cheapest labels within bounds for rows that are read in passes.

:mod:`sidelight.cluster.sized._search` finds the optimum for rows that may be divided. Rows that
count alike are whole there. Where items count differently or must be apart, those that the prices
leave in doubt are assigned whole (:func:`sidelight.assignment.assign_sized`), all others stay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.assignment import SizedAssignment, assign_sized
from sidelight.assignment.inner import size_bound
from sidelight.cluster._core._distances import PointCosts, offset_sums
from sidelight.cluster.sized._loop import Evaluated
from sidelight.cluster.sized._priced import unit_costs
from sidelight.cluster.sized._search import Divided, Items, PriceSearch, Problem, second_best
from sidelight.constraints import Closure
from sidelight.constraints.inner import Contraction, contract
from sidelight.engine import RowSource
from sidelight.exceptions import SidelightError

#: Rows in doubt that are assigned whole, at first; so many times more where that is not possible.
FIRST_ROWS, MORE = 2_000, 8


class _Memory(NamedTuple):
    """Prices of the last assignment, and those of the sample."""

    prices: tuple[FloatArray, FloatArray]


class StreamedAssigner:
    """Assigns in passes over the rows: O(n) labels, which stay where the rows are, and no table.

    Parameters
    ----------
    source : RowSource
        The rows.
    weights, sizes : ndarray of shape (n_rows,) or None
        Weights and sizes of the rows; 1 each if None.
    lower, upper : ndarray of shape (k,)
        Bounds on the sizes.
    closure : Closure or None
        Links between the rows.
    outlier_cost : float or None
        Cost of leaving a row out.
    time_limit : float
        Seconds for the items that must stay whole.
    """

    def __init__(
        self,
        source: RowSource,
        weights: Array | None,
        sizes: FloatArray | None,
        lower: FloatArray,
        upper: FloatArray,
        closure: Closure | None,
        *,
        outlier_cost: float | None,
        time_limit: float,
    ) -> None:
        self._time_limit = time_limit
        self._contraction = _linked(source, closure, weights)
        items = None
        if self._contraction is not None:
            items = _items(self._contraction, sizes, outlier_cost)
        total = source.n_rows if sizes is None else sizes.sum()
        if sizes is None:  # what does not fill a row is of no use to a bound
            slack = 1e-12 * total
            lower, upper = np.ceil(lower - slack), np.floor(upper + slack)
        if outlier_cost is not None:
            lower, upper = np.append(lower, 0.0), np.append(upper, float(total))
        self._problem = Problem(
            source,
            weights,
            sizes,
            lower.astype(np.float64),
            np.minimum(upper, total).astype(np.float64),
            outlier_cost,
            items,
        )
        self._search = PriceSearch(self._problem)

    def assign(self, centers: Array, before: Evaluated | None = None) -> Evaluated:
        """Return the cheapest labels; ``before`` are those of an iteration before."""
        known = (None, None) if before is None else (before.labels, before.memory.prices)
        divided, prices = self._search.solve(centers, *known)
        whole = self._whole(centers, divided)
        return _Result(self._problem, self._contraction, centers, divided, whole).evaluated(
            before, _Memory(prices)
        )

    def _whole(self, centers: Array, divided: Divided) -> _Whole:
        """Return whole clusters for the near rows and the items."""
        problem = self._problem
        n_rows = len(divided.totals[-1].rows)
        rows = divided.chosen[:n_rows]
        if problem.items is None and len(divided.split) == 0:
            return _Whole(rows, np.empty(0, np.int64), divided.gap, True)
        n_reduced = FIRST_ROWS
        while True:
            try:
                return _assign_whole(problem, centers, divided, n_reduced, self._time_limit)
            except SidelightError:
                if n_reduced >= n_rows:
                    raise
                n_reduced *= MORE


class _Whole(NamedTuple):
    """Clusters of the near rows and of the items, the excess of their cost, and whether proved."""

    rows: Array
    items: IntArray
    gap: float
    optimal: bool


def _linked(
    source: RowSource, closure: Closure | None, weights: Array | None
) -> Contraction | None:
    """Return the components of rows that are linked, apart or of a known class."""
    if closure is None or len(closure.constrained_components()) == 0:
        return None
    return contract(source, closure, weights, only_constrained=True)


def _items(found: Contraction, sizes: FloatArray | None, outlier_cost: float | None) -> Items:
    means, scatter = PointCosts(found.means, found.weights), found.scatter
    counts = np.ones(len(found.rows)) if sizes is None else sizes[found.rows]

    def costs(centers: Array) -> FloatArray:
        table = means.at(centers)[0].astype(np.float64) + scatter[:, None]
        if outlier_cost is None:
            return table
        # Nobody left out is in a cluster with anyone: links keep their rows in.
        return np.column_stack([table, np.full(len(table), np.inf)])

    return Items(
        found.rows,
        found.component,
        np.bincount(found.component, counts, minlength=found.n_components).astype(np.float64),
        costs,
        found.conflicts,
    )


def _assign_whole(
    problem: Problem, centers: Array, divided: Divided, n_reduced: int, time_limit: float
) -> _Whole:
    """Assign the rows with the least margins, and the items, whole; all others stay."""
    near, k = divided.totals[-1], len(problem.lower)
    reduced = _most_doubtful(divided, n_reduced)
    stays = np.ones(len(near.rows), dtype=bool)
    stays[reduced] = False
    chosen = divided.chosen[: len(near.rows)].astype(np.int64)
    fixed = divided.fixed + np.bincount(chosen[stays], near.sizes[stays], minlength=k)
    sizes, positions = near.sizes[reduced], near.rows[reduced]
    weights = np.ones(len(reduced)) if problem.weights is None else problem.weights[positions]
    rows = problem.source.take(positions)
    cost = unit_costs(rows, weights, sizes, centers, problem.outlier_cost) * sizes[:, None]
    conflicts = np.empty((0, 2), np.int64)
    if problem.items is not None:
        cost = np.concatenate([cost, problem.items.costs(centers)])
        sizes = np.concatenate([sizes, problem.items.sizes])
        conflicts = problem.items.conflicts + len(reduced)
    lower, upper = problem.lower - fixed, np.maximum(problem.upper - fixed, 0)
    divided_labels = np.argmin(cost + sizes[:, None] * divided.prices, axis=1)
    divided_labels[: len(reduced)] = chosen[reduced]
    start = SizedAssignment(divided_labels.astype(np.int32), np.inf, divided.prices, -np.inf, False)
    binding = np.any(lower > 0) or np.any(upper < sizes.sum())
    found = assign_sized(
        cost,
        np.maximum(lower, 0),
        upper,
        sizes=sizes,
        conflicts=conflicts if len(conflicts) else None,
        start=start if binding else None,
        time_limit=time_limit,
    )
    labels = found.labels.astype(np.int64)
    chosen[reduced] = labels[: len(reduced)]
    everything = len(reduced) + len(problem.apart) == problem.source.n_rows
    optimal = found.optimal and everything
    gap = found.cost - size_bound(cost, sizes, lower, upper, divided.prices)
    return _Whole(chosen, labels[len(reduced) :], 0.0 if optimal else max(gap, 0.0), optimal)


def _most_doubtful(divided: Divided, n: int) -> IntArray:
    """Return the near rows with the least margins at the final prices, and those that are split."""
    near = divided.totals[-1]
    if len(near.rows) <= n:
        return np.arange(len(near.rows))
    margins = second_best(near)[2]
    closest = np.argpartition(margins, n)[:n]
    return np.union1d(closest, divided.split[divided.split < len(near.rows)])


class _Result:
    """Labels and sums of an assignment: those of the pass, corrected where rows go elsewhere."""

    def __init__(
        self,
        problem: Problem,
        contraction: Contraction | None,
        centers: Array,
        divided: Divided,
        whole: _Whole,
    ) -> None:
        self._problem, self._contraction = problem, contraction
        self._centers, self._divided, self._whole = centers, divided, whole

    def evaluated(self, before: Evaluated | None, memory: _Memory) -> Evaluated:
        """Return the result; ``before`` are the labels of an iteration before."""
        k, near = len(self._centers), self._divided.totals[-1]
        offsets, mass, squares, _, counts, left_out, changed, _ = self._divided.totals
        counts = counts[:k].copy()
        left_out, n_changed = float(left_out), int(changed)
        moved = np.flatnonzero(self._whole.rows != near.labels)
        old, new = near.labels[moved].astype(np.int64), self._whole.rows[moved].astype(np.int64)
        rows = near.rows[moved]
        for labels, sign in ((old, -1), (new, 1)):
            added = self._sums(rows, labels, sign)
            offsets, mass, squares = (
                total + piece for total, piece in zip((offsets, mass, squares), added, strict=True)
            )
            counts += sign * np.bincount(labels, minlength=k)[:k]
            left_out += sign * float(self._weights(rows)[labels == k].sum())
        n_changed += self._count_changes(before, rows, old, new)
        labels = self._divided.labels
        if len(rows):
            labels[rows] = np.where(new == k, -1, new).astype(np.int32)
        if self._contraction is not None:
            there = self._contraction
            item_labels = self._whole.items[there.component]
            if before is None:
                n_changed += len(there.rows)
            else:
                n_changed += int(np.count_nonzero(before.labels[there.rows] != item_labels))
            labels[there.rows] = item_labels.astype(np.int32)
            counts += np.bincount(item_labels, minlength=k)
            added = self._item_sums()
            offsets, mass, squares = offsets + added[0], mass + added[1], squares + added[2]
        inertia = max(float(squares[0]), 0.0)
        return Evaluated(
            labels=labels,
            solution=self._solution(inertia, left_out),
            inertia=inertia,
            left_out=left_out,
            counts=counts,
            n_changed=n_changed,
            statistics=(offsets, mass),
            memory=memory,
        )

    def _weights(self, rows: IntArray) -> Array:
        weights = self._problem.weights
        return np.ones(len(rows)) if weights is None else weights[rows]

    def _sums(self, rows: IntArray, labels: IntArray, sign: int) -> tuple[Array, Array, Array]:
        """Return the sums of some rows in some clusters, left out ones apart, with this sign."""
        inside = labels < len(self._centers)
        rows, labels = rows[inside], labels[inside]
        if len(rows) == 0:
            return np.zeros(self._centers.shape), np.zeros(len(self._centers)), np.zeros(1)
        weights = sign * self._weights(rows).astype(np.float64)
        return offset_sums(self._problem.source.take(rows), weights, self._centers, labels)

    def _item_sums(self) -> tuple[Array, Array, Array]:
        """Return the sums of the items in their clusters."""
        found, labels = self._contraction, self._whole.items
        assert found is not None
        assert self._problem.items is not None
        offsets, mass, _ = offset_sums(found.means, found.weights, self._centers, labels)
        costs = self._problem.items.costs(self._centers)[np.arange(len(labels)), labels]
        return offsets, mass, np.array([costs.sum()])

    def _count_changes(
        self, before: Evaluated | None, rows: IntArray, old: IntArray, new: IntArray
    ) -> int:
        """Return how many more labels are new than the pass has counted."""
        if before is None or len(rows) == 0:
            return 0
        known = np.asarray(before.labels[rows])
        known = np.where(known < 0, len(self._centers), known)
        return int(np.count_nonzero(known != new)) - int(np.count_nonzero(known != old))

    def _solution(self, inertia: float, left_out: float) -> SizedAssignment:
        cost = inertia + (self._problem.outlier_cost or 0.0) * left_out
        return SizedAssignment(
            self._divided.labels,
            cost,
            self._divided.prices,
            cost - self._whole.gap,
            self._whole.optimal,
        )
