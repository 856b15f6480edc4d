r"""Memberships with given sums over the rows, at a temperature: entropic transport.

.. math::

    \min_P \sum_{ih} w_i P_{ih} c_{ih} + T \sum_{ih} w_i P_{ih} \log (P_{ih} / \pi_h)
    \quad\text{subject to}\quad
    \sum_h P_{ih} = 1, \quad \sum_i w_i P_{ih} = W \pi_h

is solved by :math:`P_{ih} \propto \pi_h \exp((b_h - c_{ih}) / T)` for the multipliers ``b`` that
maximize the concave dual

.. math::

    g(b) = W \sum_h \pi_h b_h - T \sum_i w_i \log \sum_h \pi_h \exp((b_h - c_{ih}) / T) ,

``T log β`` of equation (8.17) in Constrained Clustering. The sums over the rows are its gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._fit.tiles import EqualWeights, tiles
from sidelight._typing import Array
from sidelight.engine.inner import map_values

#: Sums over the rows are right when they are off by this share at most.
TOLERANCE = 1e-9

#: Rounds at most: a Newton step each, or a sweep of (8.18) where that does not help.
MAX_ROUNDS = 60

#: When these rounds do not suffice, multipliers of a temperature this much higher restart them;
#: at this many times the temperature at most.
WARMER = 4.0
WARMEST = 4.0**8

#: How far a Newton step may go at first and at most, in temperatures; twice as far after a success.
REACH = 10.0
FARTHEST = 1e3

#: Halvings of a Newton step before it is given up; with the usual condition of sufficient rise.
HALVINGS = 8
SUFFICIENT = 1e-4


@dataclass(frozen=True)
class Balance:
    """Multipliers, the dual and the sums of memberships at them, and whether these are right.

    ``value`` is the dual: the least objective, up to the square of the error of the sums.
    """

    multipliers: Array
    value: float
    sums: Array
    balanced: bool


def memberships(costs: Array, multipliers: Array, shares: Array, temperature: float) -> Array:
    """Return ``P``, ``(m, k)`` in float64."""
    return _memberships(costs, multipliers, shares, temperature)[0]


def _memberships(
    costs: Array, multipliers: Array, shares: Array, temperature: float
) -> tuple[Array, Array]:
    """Return ``P`` and the logarithms of the divisors of its rows."""
    logs = (multipliers - costs.astype(np.float64)) / temperature
    top = logs.max(axis=1)
    P = np.exp(logs - top[:, None]) * shares
    total = P.sum(axis=1)
    P /= total[:, None]
    return P, np.log(total) + top


def balance(
    costs: Array,
    shares: Array,
    temperature: float,
    *,
    weights: Array | None = None,
    start: Array | None = None,
) -> Balance:
    """Find the multipliers for which every cluster gets its share of the rows.

    Newton's method on the dual, with ``k`` unknowns, and the sweeps of equation (8.18) (Sinkhorn),
    which always make progress, where it does not.

    Parameters
    ----------
    costs : ndarray of shape (n, k)
        Cost of every row in every cluster; values beside partitions stay there.
    shares : ndarray of shape (k,)
        ``π``: positive, with sum 1.
    temperature : float
        ``T`` above 0, in the units of the costs.
    weights : ndarray of shape (n,), default=None
        Weights of the rows; 1 by default.
    start : ndarray of shape (k,), default=None
        Multipliers of a similar problem.
    """
    first = np.zeros(len(shares)) if start is None else start
    found = _climb(_Dual(costs, shares, temperature, weights), first)
    if not found.balanced:
        at = WARMER
        while not found.balanced and at <= WARMEST:
            found = _climb(_Dual(costs, shares, at * temperature, weights), np.zeros(len(shares)))
            at *= WARMER
        at /= WARMER
        while at > 1:
            at /= WARMER
            found = _climb(_Dual(costs, shares, at * temperature, weights), found.multipliers)
    return found


def _climb(dual: _Dual, start: Array) -> Balance:
    """Climb the dual from the given multipliers."""
    now, reach = dual.at(start), REACH
    for _ in range(MAX_ROUNDS):
        if dual.off(now) <= TOLERANCE:
            break
        better = dual.newton(now, reach)
        reach = max(reach / 4, 1.0) if better is None else min(2 * reach, FARTHEST)
        now = dual.sweep(now) if better is None else better
    return Balance(now.point, now.value, now.sums, dual.off(now) <= TOLERANCE)


@dataclass(frozen=True)
class _Place:
    """A point of the dual with its value and the sums of the memberships there."""

    point: Array
    value: float
    sums: Array


class _Dual:
    """``g(b)`` of a problem, its gradient and its curvature."""

    def __init__(
        self, costs: Array, shares: Array, temperature: float, weights: Array | None
    ) -> None:
        self.costs = costs
        self.shares = shares
        self.temperature = temperature
        self.weights: Any = EqualWeights(costs)
        self.mass = float(len(costs))
        if weights is not None:
            self.weights = weights.astype(np.float64)
            self.mass = float(self.weights.sum())
        self.goal = self.mass * shares

    def off(self, place: _Place) -> float:
        """Return the largest relative error of the sum of a cluster."""
        return float(np.max(np.abs(place.sums - self.goal) / self.goal))

    def at(self, point: Array) -> _Place:
        """Evaluate a point.

        A common constant of the multipliers changes nothing; taken off, they are unique.
        """
        point = point - self.shares @ point
        shares, temperature = self.shares, self.temperature

        def add_up(costs: Array, weights: Array) -> tuple[tuple[Array, float], tuple[()]]:
            sums, logs = np.zeros(len(point)), 0.0
            for tile in tiles(len(costs)):
                P, log_total = _memberships(costs[tile], point, shares, temperature)
                sums += weights[tile] @ P
                logs += float(weights[tile] @ log_total)
            return (sums, logs), ()

        (sums, logs), _ = map_values(add_up, self.costs, self.weights)
        return _Place(point, float(self.goal @ point - self.temperature * logs), sums)

    def sweep(self, place: _Place) -> _Place:
        """Do one sweep of (8.18): every cluster corrects its own multiplier."""
        least = np.finfo(float).tiny
        ratio = np.log(self.goal) - np.log(np.maximum(place.sums, least))
        return self.at(place.point + self.temperature * ratio)

    def newton(self, place: _Place, reach: float) -> _Place | None:
        """Do one Newton step, shortened until it helps; None if it does not.

        Between groups of rows that lie far apart the dual is all but straight, and the step would
        be endless: no direction of curvature goes farther than ``reach`` temperatures.
        """
        point, shares, temperature = place.point, self.shares, self.temperature

        def add_up(costs: Array, weights: Array) -> tuple[tuple[Array], tuple[()]]:
            products = np.zeros((len(shares),) * 2)
            for tile in tiles(len(costs)):
                P = memberships(costs[tile], point, shares, temperature)
                products += P.T @ (weights[tile, None] * P)
            return (products,), ()

        (products,), _ = map_values(add_up, self.costs, self.weights)
        slope = self.goal - place.sums
        bend, directions = np.linalg.eigh((np.diag(place.sums) - products) / self.temperature)
        slopes = directions.T @ slope
        least = np.abs(slopes) / (reach * self.temperature)
        step = directions @ (slopes / np.maximum(np.maximum(bend, least), np.finfo(float).tiny))
        rise = float(slope @ step)
        length, before = 1.0, self.off(place)
        for _ in range(HALVINGS):
            there = self.at(place.point + length * step)
            enough = there.value >= place.value + SUFFICIENT * length * rise
            # Near the top the value no longer tells, but the sums do.
            if enough or self.off(there) < before / 2:
                return there
            length /= 2
        return None
