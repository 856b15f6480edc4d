"""Label switching of the transductive SVM (Joachims 1999, section 4), for two classes.

Minimizes over ``w``, ``b`` and pseudo-labels ``ŷ`` with a fixed number of positive ones

    ½‖w‖² + C Σ_L max(0, 1 - y_i f_i)² + C* Σ_U max(0, 1 - ŷ_j f_j)²,    f = w'x + b.

``C*`` doubles from a small cost to its final value. At each cost the plane is trained, then pairs
of opposite pseudo-labels with slacks ``ξ_m > 0``, ``ξ_l > 0``, ``ξ_m + ξ_l > 2`` are switched; at
the last cost until there are none. A switched row has slack ``max(0, 2 - ξ_m) < ξ_l``, so that
every switch lowers the objective, for this loss as for the hinge; pairs of different rows do so
independently.

That ends in a local optimum. So further searches begin at the last cost with other pseudo-labels:
the first and last rows along the principal axes, in both directions, then the best ones found so
far with a fifth of the pairs switched at random. The lowest objective stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, svds

from sidelight._typing import Array, IntArray
from sidelight.semi_supervised.margin._squared_hinge import (
    Plane,
    Solver,
    at_origin,
    fit_squared_hinge,
)

#: Cost of all unlabeled rows at the first stage, as a share of that of all labeled ones.
FIRST_SHARE = 0.01

#: Accuracy of the planes on the way to the last cost.
ROUGH = 1e-4

#: Before the last cost, a stage ends when at most this share of the unlabeled rows is switched.
FEW_SWITCHES = 1e-3

#: Principal axes along which further searches begin, in both directions.
N_AXES = 2

#: Up to this many rows or columns all singular vectors are computed.
DENSE_AXES = 10

#: Share of the pairs that are switched at random where a search begins from the best so far.
KICKED = 0.2

#: An objective is lower if it is by this share: less may be rounding.
LOWER = 1e-9

#: Switches gain at least this much slack: less may be rounding.
MIN_GAIN = 1e-9


@dataclass
class Switching:
    """Result of the search for one pair of classes.

    Attributes
    ----------
    plane : Plane
        The last plane.
    signs : ndarray of shape (n,)
        Classes of the rows as -1 and 1: the pseudo-labels where they are not known.
    costs : ndarray of shape (n,)
        Costs of the rows at the end.
    history : list of float
        Objective after every training.
    cost_history : list of float
        ``C*`` of every training.
    swaps : list of int
        Pairs that were switched after every training.
    converged : bool
        Whether the last training found no pair to switch.
    share : float
        Share of the unlabeled rows that are positive.
    """

    plane: Plane
    signs: Array
    costs: Array
    history: list[float] = field(default_factory=list)
    cost_history: list[float] = field(default_factory=list)
    swaps: list[int] = field(default_factory=list)
    converged: bool = True
    share: float = 0.5


def pairs_to_switch(values: Array, signs: Array) -> tuple[IntArray, IntArray]:
    """Positive and negative rows to switch: the largest slacks of both sides, matched in order.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Decision values of the unlabeled rows.
    signs : ndarray of shape (n,)
        Their pseudo-labels.

    Returns
    -------
    positive, negative : ndarray of int64
        Rows of the pairs; slacks of both are above 0, and together above 2.
    """
    slacks = np.maximum(1.0 - signs * values, 0.0)
    ordered = []
    for sign in (1.0, -1.0):
        side = np.flatnonzero((signs == sign) & (slacks > 0.0))
        ordered.append(side[np.argsort(-slacks[side], kind="stable")])
    n = min(len(ordered[0]), len(ordered[1]))
    positive, negative = ordered[0][:n], ordered[1][:n]
    # Sums fall from pair to pair: those that are large enough come first.
    taken = int(np.count_nonzero(slacks[positive] + slacks[negative] > 2.0 + MIN_GAIN))
    return positive[:taken], negative[:taken]


def stage_costs(first: float, last: float) -> list[float]:
    """Costs that double from the first to the last, which is met exactly."""
    costs = [last]
    while costs[-1] > first:
        costs.append(costs[-1] / 2)
    return costs[::-1]


def first_pseudo_labels(values: Array, n_positive: int) -> Array:
    """The rows of largest decision values are positive."""
    signs = np.full(len(values), -1.0)
    signs[np.argsort(-values, kind="stable")[:n_positive]] = 1.0
    return signs


def expected_share(values: Array) -> float:
    """``mean of min(max((1 + f)/2, 0), 1)``: share of positive rows that decision values suggest.

    Rows beyond the margin count for their side. Where the machine is uncertain, ``f`` is near its
    bias everywhere, and the share near that of the labels.
    """
    return float(np.clip((1.0 + values) / 2, 0.0, 1.0).mean())


def _count(share: float, n: int) -> int:
    """Number of positive rows: no class is left without a row, where there are two rows."""
    return int(np.clip(round(share * n), min(1, n - 1), max(n - 1, 1)))


def switch_labels(
    rows: Any,
    given: Array,
    *,
    cost: float,
    cost_unlabeled: float,
    positive_share: float | None,
    solver: Solver,
    tol: float,
    max_iter: int,
    n_init: int = 1,
    step: Callable[[float], None] = lambda value: None,
) -> Switching:
    """Train a transductive SVM.

    Parameters
    ----------
    rows : ndarray or CSR matrix of float64, shape (n, d)
        All rows.
    given : ndarray of shape (n,)
        -1 and 1 for labeled rows, 0 for unlabeled ones.
    cost, cost_unlabeled : float
        ``C`` and the final ``C*``.
    positive_share : float or None
        Share of the unlabeled rows that are positive; None for :func:`expected_share`.
    solver, tol
        As in :func:`fit_squared_hinge`; ``tol`` for the last cost.
    max_iter : int
        Most trainings at one cost.
    n_init : int
        Number of searches; the first is the published one.
    step : callable
        Called with the objective after every training.
    """
    free = np.flatnonzero(given == 0)
    labeled_costs = np.where(given != 0, cost, 0.0)
    signs = np.where(given != 0, given, 1.0)
    plane = fit_squared_hinge(rows, signs, labeled_costs, at_origin(rows), solver, tol)
    found = Switching(plane, signs, labeled_costs)
    _record(found, plane, 0.0, 0)
    step(plane.objective)
    if not len(free):
        found.converged = plane.converged
        return found
    found.share = expected_share(plane.values[free]) if positive_share is None else positive_share
    signs[free] = first_pseudo_labels(plane.values[free], _count(found.share, len(free)))
    if cost_unlabeled == 0:
        found.converged = plane.converged
        return found
    n_labeled = len(given) - len(free)
    stages = stage_costs(FIRST_SHARE * cost * n_labeled / len(free), cost_unlabeled)
    train = _Trainer(rows, given, cost, solver, tol, max_iter, step)
    for stage in stages:
        train.settle(found, stage, is_last=stage == stages[-1])
    return _best_of_searches(found, plane, train, cost_unlabeled, n_init)


@dataclass(frozen=True)
class _Trainer:
    """What the trainings of all searches share."""

    rows: Any
    given: Array
    cost: float
    solver: Solver
    tol: float
    max_iter: int
    step: Callable[[float], None]

    def settle(self, found: Switching, stage: float, *, is_last: bool) -> None:
        """Train at one cost ``C*`` and switch pairs, at the last one until there are none."""
        free = np.flatnonzero(self.given == 0)
        costs = np.where(self.given != 0, self.cost, stage)
        plane, signs, accuracy = found.plane, found.signs, max(ROUGH, self.tol)
        found.converged = False
        for _ in range(self.max_iter):
            plane = fit_squared_hinge(self.rows, signs, costs, plane, self.solver, accuracy)
            positive, negative = pairs_to_switch(plane.values[free], signs[free])
            _record(found, plane, stage, len(positive))
            self.step(plane.objective)
            signs[free[positive]], signs[free[negative]] = -1.0, 1.0
            if not is_last and len(positive) <= FEW_SWITCHES * len(free):
                break
            if not len(positive) and accuracy == self.tol:
                found.converged = plane.converged
                break
            if not len(positive):
                accuracy = self.tol
        if is_last and not found.converged:  # the last switch has not been trained on
            plane = fit_squared_hinge(self.rows, signs, costs, plane, self.solver, self.tol)
            _record(found, plane, stage, 0)
        found.plane, found.signs, found.costs = plane, signs, costs


def _best_of_searches(
    best: Switching,
    labeled: Plane,
    train: _Trainer,
    cost_unlabeled: float,
    n_init: int,
) -> Switching:
    """Search from other pseudo-labels as well; ``labeled`` is the plane of the labeled rows."""
    free = np.flatnonzero(train.given == 0)
    n_positive = int(np.count_nonzero(best.signs[free] > 0))
    rng = np.random.RandomState(0)
    starts = [along[free] for along in _axes(train.rows)][: n_init - 1] if n_init > 1 else []
    for number in range(n_init - 1):
        signs = best.signs.copy()
        if number < len(starts):
            signs[free] = first_pseudo_labels(starts[number], n_positive)
            plane = at_origin(train.rows)
        else:
            plane = best.plane
            for sign in (1.0, -1.0):
                side = free[best.signs[free] == sign]
                n_kicked = max(1, int(KICKED * min(n_positive, len(free) - n_positive)))
                signs[rng.choice(side, min(n_kicked, len(side)), replace=False)] = -sign
        found = Switching(plane, signs, best.costs, share=best.share)
        _record(found, labeled, 0.0, 0)
        train.settle(found, cost_unlabeled, is_last=True)
        if found.plane.objective < best.plane.objective * (1 - LOWER):
            best = found
    return best


def _axes(rows: Any) -> list[Array]:
    """Places of the rows along their principal axes, in both directions."""
    mean = np.asarray(rows.mean(axis=0)).ravel()
    n_axes = min(N_AXES, *rows.shape)
    if min(rows.shape) > DENSE_AXES:
        centered = LinearOperator(
            rows.shape,
            matvec=lambda v: rows @ v.ravel() - mean @ v.ravel(),
            rmatvec=lambda u: rows.T @ u.ravel() - mean * u.sum(),
            dtype=np.float64,
        )
        start = np.random.RandomState(0).uniform(0.5, 1.5, min(rows.shape))
        axes = svds(centered, n_axes, v0=start)[2][::-1]
    else:
        dense = rows.toarray() if sparse.issparse(rows) else rows
        axes = np.linalg.svd(dense - mean, full_matrices=False)[2][:n_axes]
    signs = [np.sign(axis[np.argmax(np.abs(axis))]) or 1.0 for axis in axes]
    along = [np.asarray(rows @ (sign * axis)) for sign, axis in zip(signs, axes, strict=True)]
    return [sign * one for one in along for sign in (1.0, -1.0)]


def _record(found: Switching, plane: Plane, cost: float, swaps: int) -> None:
    found.history.append(plane.objective)
    found.cost_history.append(cost)
    found.swaps.append(swaps)
