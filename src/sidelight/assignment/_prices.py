r"""Prices of clusters from those before the centers moved, by Newton's method.

Rows go where cost plus price is least, and at the right prices the sizes meet their bounds
(:mod:`sidelight.assignment._sized`). When all centers move a little, thousands of rows
may be in the wrong cluster at the old prices. Raising the price of cluster a by δ against that of b
moves about :math:`\rho_{ab} \delta` rows from a to b, with :math:`\rho_{ab}` the number of rows
between the two per unit of cost, so that the sizes are off by as much as

.. math::

    \sum_b \rho_{ab} (\delta_a - \delta_b) = n_a - \text{bound}_a

says how the prices have to change. A few such steps leave some ten rows for the exact search, which
finds the same assignment from whatever prices.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels.assignment.sized import cheapest_and_margin, second_cheapest
from sidelight._typing import Array

#: A step takes as long as the exact search for one row in this many costs, and some more.
COSTS_PER_ROW = 1000
SOME_ROWS = 100

#: Steps at most; fewer where hardly any row per cluster is left, and without a look at what the
#: last one achieved where that is sure to be enough.
MAX_STEPS = 5
FEW_ROWS = 5
CLOSE = 40

#: Rows that the densities are counted from: for each row that has to move, and per cluster.
NEAR_ROWS = 2
NEAR_PER_CLUSTER = 30

#: No price changes by more than this many times the range that densities were counted in.
FARTHEST = 3.0


def better_prices(cost: Array, lower: Array, upper: Array, prices: Array) -> tuple[Array, bool]:
    """Return prices at which the sizes of the clusters are closer to their bounds, or the same.

    Also tells whether that was worth the time: not where few rows were in the wrong cluster.

    Parameters
    ----------
    cost : ndarray of shape (n, k)
        Costs of the rows in the clusters, finite.
    lower, upper : ndarray of shape (k,)
        Bounds on the numbers of rows.
    prices : ndarray of shape (k,)
        Where to begin.
    """
    n, k = cost.shape
    labels, margins = np.empty(n, np.int32), np.empty(n)
    few = cost.size / COSTS_PER_ROW + SOME_ROWS
    best, fewest = prices, np.inf
    for n_steps in range(MAX_STEPS):
        cheapest_and_margin(cost, prices, labels, margins)
        sizes = np.bincount(labels, minlength=k)
        # A price above 0 stands for a full cluster, one below 0 for one at its lower bound.
        goal = np.where(
            prices == 0, np.clip(sizes, lower, upper), np.where(prices > 0, upper, lower)
        )
        excess = sizes - goal
        to_move = np.abs(excess).sum() / 2
        if not to_move < fewest:
            break
        best, fewest = prices, to_move
        if to_move <= few:
            return best, n_steps > 0
        few = FEW_ROWS * k
        moved = prices + _newton_step(cost, prices, excess, labels, margins)
        # A cluster whose price changes its sign has no reason for a price any more.
        prices = np.where(prices * moved < 0, 0.0, moved)
        if to_move <= CLOSE * k:
            return prices, True
    return best, True


def _newton_step(cost: Array, prices: Array, excess: Array, labels: Array, margins: Array) -> Array:
    n, k = cost.shape
    n_near = NEAR_ROWS * int(np.abs(excess).sum()) // 2 + NEAR_PER_CLUSTER * k
    place = min(n_near, n // 2)
    width = np.partition(margins, place)[place]
    if not width > 0:
        return np.zeros(k)
    near = np.flatnonzero(margins <= width)
    second = np.empty(len(near), np.int64)
    second_cheapest(cost, prices, near, labels, second)
    between = np.bincount(labels[near] * np.int64(k) + second, minlength=k * k).reshape(k, k)
    density = (between + between.T) / (2 * width)
    tied = np.flatnonzero((excess != 0) | (prices != 0))  # the others are within their bounds
    system = (np.diag(density.sum(axis=1)) - density)[np.ix_(tied, tied)]
    # A common change of all prices moves nobody, nor does that of a cluster without neighbors.
    system[np.diag_indices(len(tied))] += 1e-9 * (1 + system.trace()) / len(tied)
    step = np.zeros(k)
    step[tied] = np.linalg.solve(system, excess[tied])
    reach: Array = np.clip(step, -FARTHEST * width, FARTHEST * width)
    return reach
