"""Assignments under bounds on the sizes and centres, by turns: the loop of chapter 9.

At given centres the assignment is the cheapest one within the bounds
(:func:`sidelight.assignment.assign_sized`), at given labels the centres are the best ones, so that
the objective never rises. Ties may let assignments of equal cost alternate for ever: the loop stops
when the objective does not fall any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from sidelight._fit.restarts import fit_progress
from sidelight._typing import Array
from sidelight.assignment import SizedAssignment, assign_sized
from sidelight.cluster._core._lloyd import LloydResult
from sidelight.cluster.sized._geometry import Geometry, farthest_rows
from sidelight.cluster.sized._prices import better_prices
from sidelight.constraints import Closure


class SizedAssigner:
    """Rows to clusters within bounds, at costs that change little from call to call.

    Must-linked rows are added up to one item: its cost is the sum of their costs, and it counts as
    much as they do together.

    Parameters
    ----------
    lower, upper : ndarray of shape (k,)
        Bounds on the sizes.
    row_sizes : ndarray of shape (n,) or None
        What every row counts; 1 each if None.
    closure : Closure or None
        Links between the rows.
    outlier_cost : float or None
        Whether there is a further column of rows that are left out.
    time_limit : float
        Seconds for an assignment that is hard.
    """

    def __init__(
        self,
        lower: Array,
        upper: Array,
        row_sizes: Array | None,
        closure: Closure | None,
        *,
        leaves_out: bool,
        time_limit: float,
    ) -> None:
        self.lower, self.upper = lower, upper
        self.leaves_out = leaves_out
        self.time_limit = time_limit
        self.last: SizedAssignment | None = None
        self._calm = False
        self._sizes = row_sizes
        self._linked = closure is not None and len(closure.constrained_components()) > 0
        self._conflicts = np.empty((0, 2), np.int64)
        if closure is not None and self._linked:
            n, m = len(closure.component), closure.n_components
            self._component = closure.component
            self._stated = np.union1d(
                closure.constrained_components(), np.flatnonzero(closure.component_label >= 0)
            )
            self._adder = sparse.csr_array((np.ones(n), (closure.component, np.arange(n))), (m, n))
            counts = np.ones(n) if row_sizes is None else row_sizes
            self._sizes = np.bincount(closure.component, counts, minlength=m)
            self._conflicts = closure.conflicts

    def __call__(self, costs: Array) -> Array:
        """Return the cluster of every row, -1 where it is left out."""
        lower, upper = self.lower, self.upper
        items = self._adder @ costs if self._linked else costs
        if self.leaves_out:
            if self._linked:
                # Nobody left out is in a cluster with anyone: links keep their rows in.
                items[self._stated, -1] = np.inf
            total = len(costs) if self._sizes is None else self._sizes.sum()
            lower, upper = np.append(lower, 0.0), np.append(upper, total)
        self.last = assign_sized(
            items,
            lower,
            upper,
            sizes=self._sizes,
            conflicts=self._conflicts if len(self._conflicts) else None,
            start=self._start(items, lower, upper),
            time_limit=self.time_limit,
        )
        labels = self.last.labels[self._component] if self._linked else self.last.labels
        return np.where(labels == len(self.lower), np.int32(-1), labels)

    def _start(self, items: Array, lower: Array, upper: Array) -> SizedAssignment | None:
        """Return the last assignment, with prices for the costs as they are now."""
        plain = self._sizes is None and not self._linked
        if self.last is None or not plain or self._calm or not self.last.prices.any():
            return self.last
        prices, worth_it = better_prices(items, lower, upper, self.last.prices)
        self._calm = not worth_it  # centres move less and less
        return replace(self.last, prices=prices)


@dataclass(frozen=True)
class _Visit:
    centers: Array
    labels: Array
    inertia: float
    penalty: float
    assignment: SizedAssignment

    @property
    def objective(self) -> float:
        return self.inertia + self.penalty


@dataclass(frozen=True)
class SizedResult:
    """Where the loop ended, and its last assignment."""

    lloyd: LloydResult
    assignment: SizedAssignment


def sized_lloyd(
    geometry: Geometry,
    centers: Array,
    assigner: SizedAssigner,
    *,
    outlier_cost: float | None,
    max_iter: int,
    largest_move: float,
    description: str,
    verbose: int,
) -> SizedResult:
    """Run the loop from the given centres.

    ``largest_move`` is the squared move of the centres that ends it.
    """
    centers = np.ascontiguousarray(centers, dtype=geometry.source.dtype)
    history: list[float] = []
    visit: _Visit | None = None
    converged = False
    with fit_progress(description, max_iter, verbose=verbose) as progress:
        for _ in range(max_iter):
            last, visit = visit, _visit(geometry, centers, assigner, outlier_cost)
            progress.step(visit.objective)
            if last is not None and visit.objective > last.objective:
                # Nothing but rounding is left to gain.
                visit, centers, converged = last, last.centers, True
                break
            history.append(visit.objective)
            if last is not None and (
                visit.objective == last.objective or np.array_equal(visit.labels, last.labels)
            ):
                converged = True
                break
            moved = _move(geometry, visit, outlier_cost)
            move = float(np.sum((moved - centers).astype(np.float64) ** 2))
            centers = moved
            if move <= largest_move:
                converged = True
                break
        if visit is None or centers is not visit.centers:
            final = _visit(geometry, centers, assigner, outlier_cost)
            if visit is None or final.objective <= visit.objective:
                visit = final
                history.append(visit.objective)
    result = LloydResult(
        centers=visit.centers,
        labels=visit.labels,
        inertia=visit.inertia,
        penalty=visit.penalty,
        history=np.array(history),
        n_iter=progress.n_steps,
        converged=converged and not progress.interrupted,
        interrupted=progress.interrupted,
    )
    return SizedResult(result, visit.assignment)


def _visit(
    geometry: Geometry, centers: Array, assigner: SizedAssigner, outlier_cost: float | None
) -> _Visit:
    """Assign the rows at these centres."""
    labels = assigner(geometry.costs(centers, outlier_cost))
    penalty = 0.0
    if outlier_cost is not None:
        out = labels < 0
        weights = geometry.weights
        penalty = outlier_cost * float(out.sum() if weights is None else weights[out].sum())
    assert assigner.last is not None
    return _Visit(centers, labels, geometry.value(centers, labels), penalty, assigner.last)


def _move(geometry: Geometry, visit: _Visit, outlier_cost: float | None) -> Array:
    """Move the centres; give an empty cluster a row that is far from all of them."""
    centers = geometry.move(visit.centers, visit.labels)
    filled = np.bincount(visit.labels[visit.labels >= 0], minlength=len(centers)) > 0
    if not np.all(filled):
        rows = farthest_rows(geometry, centers, visit.labels, int(np.sum(~filled)), outlier_cost)
        centers[np.flatnonzero(~filled)[: len(rows)]] = rows
    return centers
