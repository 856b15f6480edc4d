"""Bandwidths of kernels: percentiles of the distances, chosen by constraints if there are any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.evaluation import constraint_satisfaction

#: Percentiles that constraints choose from (Mallapragada 2010, section 4.4).
CANDIDATES = (1.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0)
#: Percentiles are taken over the distances among at most this many rows.
SAMPLED_ROWS = 2_000
#: Shares of satisfied constraints that are the same but for rounding.
SAME = 1e-12


def distance_percentiles(
    rows: Any, percentiles: Sequence[float], rng: np.random.RandomState
) -> tuple[Array, bool]:
    """Percentiles of the distances between rows, and whether only distances above 0 were counted.

    Of many rows a random sample is taken. Where many rows are the same, so that a percentile is 0,
    distances of 0 do not count; where all are the same, the percentile is 1.
    """
    n = rows.shape[0]
    if n > SAMPLED_ROWS:
        rows = rows[np.sort(rng.choice(n, SAMPLED_ROWS, replace=False))]
    exact = rows.astype(np.float64)
    if isinstance(exact, np.ndarray):
        exact = exact - exact.mean(axis=0)
    distances = euclidean_distances(exact)[np.triu_indices(exact.shape[0], 1)]
    apart = distances[distances > 0]
    if len(apart) == 0:
        return np.ones(len(percentiles)), True
    values = np.percentile(distances, percentiles)
    if np.all(values > 0):
        return values, False
    return np.percentile(apart, percentiles), True


@dataclass(frozen=True)
class BandwidthScores:
    """How well candidates satisfy constraints.

    Attributes
    ----------
    best : int
        The candidate whose restarts satisfy the largest share of constraints on average. Of several
        the one whose restarts agree best, then the one in the middle.
    mean, spread : ndarray
        Mean and standard deviation of the share over the restarts, for each candidate.
    """

    best: int
    mean: Array
    spread: Array


def choose(constraints: Constraints, labels: Sequence[Sequence[Array]]) -> BandwidthScores:
    """Choose among candidates by the labels that their restarts found."""
    shares = [
        [constraint_satisfaction(constraints, of_start) for of_start in of_candidate]
        for of_candidate in labels
    ]
    mean = np.array([np.mean(values) for values in shares])
    spread = np.array([np.std(values) for values in shares])
    level = np.flatnonzero(mean >= mean.max() - SAME)
    steady = level[spread[level] <= spread[level].min() + SAME]
    return BandwidthScores(int(steady[(len(steady) - 1) // 2]), mean, spread)
