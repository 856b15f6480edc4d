"""Where k-means starts: D² sampling, random rows, and the neighbourhoods of what is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight.cluster._distances import squared_distances, tiles
from sidelight.cluster._lloyd import dense_rows
from sidelight.engine import RowSource

Array = npt.NDArray[Any]


def kmeans_plusplus(
    source: RowSource,
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    given: Array | None = None,
    sample_weight: Array | None = None,
) -> Array:
    """Choose centres by greedy D² sampling (Arthur and Vassilvitskii 2007), after those given.

    Every next centre is the best of ``2 + log k`` rows that are drawn with probability
    proportional to ``w_i min_h ‖x_i - c_h‖²``: the one that leaves the smallest sum of these.

    Parameters
    ----------
    source : RowSource
        The rows.
    n_clusters : int
        Number of centres, given ones included.
    random_state : numpy.random.RandomState
        Source of chance.
    given : ndarray of shape (n_given, n_features), default=None
        Centres that are known already; they come first in the result.
    sample_weight : ndarray of shape (n_rows,), default=None
        Weights of the rows.

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
        Centres in the element type of the rows.
    """
    centers = np.empty((n_clusters, source.n_features), dtype=source.dtype)
    weights = np.ones(source.n_rows) if sample_weight is None else np.asarray(sample_weight, float)
    n_known = 0 if given is None else len(given)
    if given is not None:
        centers[:n_known] = given
    elif n_clusters:
        centers[0] = dense_rows(source, _draw(weights, 1, random_state))[0]
        n_known = 1
    if n_known >= n_clusters:
        return centers
    closest = np.full(source.n_rows, np.inf, dtype=source.dtype)
    for center in centers[:n_known]:
        closest = _closest_with(source, closest, center)
    n_candidates = 2 + int(np.log(n_clusters))
    for h in range(n_known, n_clusters):
        candidates = dense_rows(source, _draw(closest * weights, n_candidates, random_state))
        (potentials,), _ = source.map_reduce(
            lambda block, closest, weights, candidates=candidates: (
                (_potentials(block, closest, weights, candidates),),
                (),
            ),
            aligned=(closest, weights),
        )
        centers[h] = candidates[np.argmin(potentials)]
        closest = _closest_with(source, closest, centers[h])
    return centers


def random_rows(
    source: RowSource,
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    sample_weight: Array | None = None,
) -> Array:
    """Choose different rows as centres, with probabilities proportional to the weights."""
    p = None if sample_weight is None else sample_weight / np.sum(sample_weight)
    enough = p is None or np.count_nonzero(p) >= n_clusters
    chosen = random_state.choice(source.n_rows, n_clusters, replace=False, p=p if enough else None)
    return dense_rows(source, chosen)


def _closest_with(source: RowSource, closest: Array, center: Array) -> Array:
    """Squared distances to the nearest centre, now that there is one more."""

    def update(block: Any, closest: Array) -> tuple[tuple[()], tuple[Array]]:
        updated = np.empty_like(closest)
        for tile in tiles(len(closest)):
            np.minimum(closest[tile], squared_distances(block[tile], center), out=updated[tile])
        return (), (updated,)

    return source.map_reduce(update, aligned=(closest,))[1][0]


def _potentials(block: Any, closest: Array, weights: Array, candidates: Array) -> Array:
    """What would be left of the sum of squared distances with each of the candidates."""
    left = np.zeros(len(candidates))
    for tile in tiles(len(closest)):
        rows = block[tile]
        for c, candidate in enumerate(candidates):
            reduced = np.minimum(closest[tile], squared_distances(rows, candidate))
            left[c] += reduced @ weights[tile]
    return left


def _draw(mass: Array, n: int, random_state: np.random.RandomState) -> Array:
    """Draw positions with probability proportional to ``mass``; evenly where it is all zero."""
    cumulative = np.cumsum(mass, dtype=np.float64)
    if cumulative[-1] <= 0:
        return random_state.randint(len(mass), size=n)
    drawn = np.searchsorted(cumulative, random_state.uniform(size=n) * cumulative[-1], side="right")
    return np.minimum(drawn, len(mass) - 1)
