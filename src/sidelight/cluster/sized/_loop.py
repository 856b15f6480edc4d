"""Assignments under bounds on the sizes and centers, by turns: the loop of chapter 9.

At given centers the assignment is the cheapest one within the bounds
(:func:`sidelight.assignment.assign_sized`), at given labels the centers are the best ones, so that
the objective never rises. Ties may let assignments of equal cost alternate for ever: the loop stops
when the objective does not fall any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from sidelight._fit.alternation import alternate
from sidelight._typing import Array
from sidelight.assignment import SizedAssignment, assign_sized
from sidelight.assignment.inner import better_prices
from sidelight.cluster._core._lloyd import LloydResult
from sidelight.cluster.sized._geometry import SizedGeometry, Statistics, reseed_empty
from sidelight.constraints import Closure


@dataclass(frozen=True)
class Assigned:
    """Clusters of the rows within the bounds.

    Attributes
    ----------
    labels : ndarray of int32, shape (n,)
        Cluster of every row, -1 where it is left out.
    solution : SizedAssignment
        Assignment of the items, with the prices of the clusters.
    calm : bool
        Whether the centers move so little that old prices are good enough.
    """

    labels: Array
    solution: SizedAssignment
    calm: bool


@dataclass(frozen=True)
class Evaluated:
    """The cheapest labels at some centers, and what follows from them.

    Attributes
    ----------
    labels : ndarray of int32, shape (n,)
        Cluster of every row, -1 where it is left out.
    solution : SizedAssignment
        The assignment, with the prices of the clusters.
    inertia : float
        Cost of the rows in clusters.
    left_out : float
        Weight of the rows that are left out.
    counts : ndarray of int, shape (k,)
        Number of rows of every cluster.
    n_changed : int
        Number of labels that differ from those before.
    statistics : object
        Sums for the next centers.
    memory : object
        What makes the next assignment faster.
    """

    labels: Array
    solution: SizedAssignment
    inertia: float
    left_out: float
    counts: Array
    n_changed: int
    statistics: Statistics
    memory: Any


class Assigner(Protocol):
    """Finds the cheapest labels at centers."""

    def assign(self, centers: Array, before: Evaluated | None = None) -> Evaluated:
        """Return the cheapest labels; ``before`` are those of an iteration before."""


class SizedItems:
    """Rows, or must-linked rows together, as items that are assigned within bounds.

    The cost of an item is the sum of the costs of its rows, and it counts as much as they do
    together.

    Parameters
    ----------
    lower, upper : ndarray of shape (k,)
        Bounds on the sizes.
    row_sizes : ndarray of shape (n,) or None
        Size of every row; 1 each if None.
    closure : Closure or None
        Links between the rows.
    leaves_out : bool
        Whether there is a further column of costs, for rows that are left out.
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

    def assign(self, costs: Array, before: Assigned | None = None) -> Assigned:
        """Return the cheapest clusters; prices of an assignment at similar costs save time."""
        lower, upper = self.lower, self.upper
        items = self._adder @ costs if self._linked else costs
        if self.leaves_out:
            if self._linked:
                # Nobody left out is in a cluster with anyone: links keep their rows in.
                items[self._stated, -1] = np.inf
            total = len(costs) if self._sizes is None else self._sizes.sum()
            lower, upper = np.append(lower, 0.0), np.append(upper, total)
        start, calm = self._start(items, lower, upper, before)
        found = assign_sized(
            items,
            lower,
            upper,
            sizes=self._sizes,
            conflicts=self._conflicts if len(self._conflicts) else None,
            start=start,
            time_limit=self.time_limit,
        )
        labels = found.labels[self._component] if self._linked else found.labels
        labels = np.where(labels == len(self.lower), np.int32(-1), labels)
        return Assigned(labels, found, calm)

    def _start(
        self, items: Array, lower: Array, upper: Array, before: Assigned | None
    ) -> tuple[SizedAssignment | None, bool]:
        """Return the last assignment, with prices adapted to the current costs."""
        if before is None:
            return None, False
        last, plain = before.solution, self._sizes is None and not self._linked
        if not plain or before.calm or not last.prices.any():
            return last, before.calm
        prices, worth_it = better_prices(items, lower, upper, last.prices)
        return replace(last, prices=prices), not worth_it  # centers move less and less


class TableAssigner:
    """Assigns by a table of all costs, rows times clusters.

    Parameters
    ----------
    geometry : SizedGeometry
        Costs of the rows.
    items : SizedItems
        What is assigned.
    outlier_cost : float or None
        Cost of leaving a row out.
    """

    def __init__(
        self, geometry: SizedGeometry, items: SizedItems, outlier_cost: float | None
    ) -> None:
        self._geometry, self._items, self._outlier_cost = geometry, items, outlier_cost

    def assign(self, centers: Array, before: Evaluated | None = None) -> Evaluated:
        """Return the cheapest labels; ``before`` are those of an iteration before."""
        geometry = self._geometry
        costs = geometry.costs(centers, self._outlier_cost)
        assigned = self._items.assign(costs, None if before is None else before.memory)
        labels = assigned.labels
        inertia, statistics = geometry.statistics(centers, labels, costs)
        out = labels < 0
        return Evaluated(
            labels=labels,
            solution=assigned.solution,
            inertia=inertia,
            left_out=float(out.sum() if geometry.weights is None else geometry.weights[out].sum()),
            counts=np.bincount(labels[~out], minlength=len(centers)),
            n_changed=int(np.count_nonzero(labels != (-2 if before is None else before.labels))),
            statistics=statistics,
            memory=assigned,
        )


@dataclass(frozen=True)
class _Evaluation:
    """Centers with the cheapest labels."""

    parameters: Array
    found: Evaluated
    penalty: float

    @property
    def objective(self) -> float:
        return self.found.inertia + self.penalty


@dataclass(frozen=True)
class SizedResult(LloydResult):
    """Final state of the loop, with its last assignment and the number of rows by cluster."""

    assignment: SizedAssignment
    counts: Array


def sized_lloyd(
    geometry: SizedGeometry,
    centers: Array,
    assigner: Assigner,
    *,
    outlier_cost: float | None,
    max_iter: int,
    largest_move: float,
    description: str,
    verbose: int,
) -> SizedResult:
    """Run the loop from the given centers.

    ``largest_move`` is the squared move of the centers that ends it.
    """

    def evaluate(centers: Array, before: _Evaluation | None) -> _Evaluation:
        found = assigner.assign(centers, None if before is None else before.found)
        return _Evaluation(centers, found, (outlier_cost or 0.0) * found.left_out)

    def update(now: _Evaluation) -> Array:
        found = now.found
        moved = geometry.update(now.parameters, found.labels, found.statistics)
        return reseed_empty(geometry, moved, found.labels, found.counts, outlier_cost)

    def stop(before: _Evaluation, now: _Evaluation, history: list[float]) -> bool:
        return now.found.n_changed == 0 or now.objective == before.objective

    def stands_still(old: Array, new: Array) -> bool:
        return float(np.sum((new - old).astype(np.float64) ** 2)) <= largest_move

    end = alternate(
        np.ascontiguousarray(centers, dtype=geometry.source.dtype),
        evaluate,
        update,
        stop=stop,
        stands_still=stands_still,
        reject_rises=True,  # then only rounding is left to gain
        max_iter=max_iter,
        description=description,
        verbose=verbose,
    )
    last = end.last.found
    return SizedResult(
        centers=end.last.parameters,
        labels=last.labels,
        inertia=last.inertia,
        penalty=end.last.penalty,
        history=end.history,
        n_iter=end.n_iter,
        converged=end.converged,
        interrupted=end.interrupted,
        assignment=last.solution,
        counts=last.counts,
    )
