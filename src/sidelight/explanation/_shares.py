"""Levels of a cluster against those of the other rows: shares, lift and effect.

With the share ``p`` of a level in the cluster and ``q`` in the other rows the effect is
``√(p (1 - q)) - √(q (1 - p))``, the sine of half of Cohen's h: +1 where all rows of the cluster and
no others have the level, ``p - q`` around one half, and more than that for rare levels, where 8%
against 1% says more than 52% against 45%. ``h`` has the variance ``1/m + 1/(n - m)`` at any share.

The lift is ``p / q``; where one of the shares is 0 there is none, and words say so: "only here".
Its interval combines Wilson's intervals of both shares (Donner and Zou, 2012).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.explanation._chance import chance_of_count
from sidelight.explanation._ranks import Z


@dataclass(frozen=True)
class Shares:
    """Levels of a column, compared for every cluster with the other rows.

    Attributes
    ----------
    found : ndarray of shape (k, n_levels)
        Rows of a cluster that have a level.
    sizes : ndarray of shape (k,)
        Rows of a cluster whose level is known.
    level : ndarray of shape (n_levels,), or (k, n_levels) where clusters have their own levels
        Rows that have a level, in any cluster or none.
    n_rows : int
        Rows whose level is known.
    """

    found: IntArray
    sizes: IntArray
    level: IntArray
    n_rows: int

    @property
    def share(self) -> FloatArray:
        """Share of a level in a cluster; NaN where nothing is known."""
        return _divided(self.found, self.sizes[:, None])

    @property
    def rest_share(self) -> FloatArray:
        """Share of a level in the rows outside of a cluster; NaN where nothing is known."""
        return _divided(self.level - self.found, self.n_rows - self.sizes[:, None])

    def effect(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Effect with its interval, each of shape (k, n_levels)."""
        m, r = self.sizes[:, None], self.n_rows - self.sizes[:, None]
        own, rest = self.found, self.level - self.found
        estimate = np.sin(_angle(own, m) - _angle(rest, r))
        # Anscombe's correction keeps the angles of 0 and 1, and so the interval, off the ends.
        middle = _angle(own + 0.375, m + 0.75) - _angle(rest + 0.375, r + 0.75)
        with np.errstate(divide="ignore"):
            half = Z / 2.0 * np.sqrt(1.0 / m + 1.0 / r)
        low, high = (
            np.sin(np.clip(middle + side * half, -np.pi / 2.0, np.pi / 2.0)) for side in (-1, 1)
        )
        return estimate, np.minimum(low, estimate), np.maximum(high, estimate)

    def lift(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Lift with its interval, each of shape (k, n_levels); NaN where a share is 0."""
        m, r = self.sizes[:, None], self.n_rows - self.sizes[:, None]
        own, rest = self.found, self.level - self.found
        p, q = self.share, self.rest_share
        lift = np.where((own > 0) & (rest > 0), _divided(p, q), np.nan)
        (p_low, p_high), (q_low, q_high) = _wilson(own, m), _wilson(rest, r)
        low = _ratio_limit(p, q, p_low, q_high, -1.0)
        high = _ratio_limit(p, q, p_high, q_low, 1.0)
        return lift, np.minimum(low, lift), np.maximum(high, lift)

    def chances(self, tested: Array) -> FloatArray:
        """Probability of each difference under chance; 1 where it is not tested."""
        chances = np.ones(self.found.shape)
        clusters, levels = np.nonzero(tested)
        chances[clusters, levels] = chance_of_count(
            self.found[clusters, levels],
            np.broadcast_to(self.level, self.found.shape)[clusters, levels],
            self.sizes[clusters],
            np.full(len(clusters), self.n_rows),
        )
        return chances


def count_levels(levels: IntArray, codes: IntArray, k: int, n_levels: int) -> Shares:
    """Count the levels of all rows and of every cluster.

    Parameters
    ----------
    levels : ndarray of shape (n_rows,)
        Level of every row; -1 where missing, and ``n_levels`` or more for one that is not compared.
    codes : ndarray of shape (n_rows,)
        Cluster of every row, from 0 to k - 1; -1 for rows that are compared with only.
    k, n_levels : int
        Number of clusters and of compared levels.
    """
    known = levels >= 0
    compared = np.minimum(levels, n_levels)
    cells = (np.where(codes >= 0, codes, k).astype(np.int64) * (n_levels + 1) + compared)[known]
    counts = np.bincount(cells, minlength=(k + 1) * (n_levels + 1)).reshape(k + 1, n_levels + 1)
    return Shares(
        found=counts[:k, :n_levels],
        sizes=counts[:k].sum(axis=1),
        level=counts[:, :n_levels].sum(axis=0),
        n_rows=int(counts.sum()),
    )


def _angle(found: Array, size: Array) -> FloatArray:
    """Half of the angle of Cohen's h: the arc sine of the root of a share."""
    return np.arcsin(np.sqrt(np.clip(_divided(found, size), 0.0, 1.0)))


def _wilson(found: Array, size: Array) -> tuple[FloatArray, FloatArray]:
    """Wilson's interval of a share."""
    share, spread = _divided(found, size), Z**2 / np.maximum(size, 1)
    half = np.sqrt(spread * (share * (1.0 - share) + spread / 4.0))
    middle = share + spread / 2.0
    return (
        np.maximum((middle - half) / (1.0 + spread), 0.0),
        np.minimum((middle + half) / (1.0 + spread), 1.0),
    )


def _ratio_limit(
    p: FloatArray, q: FloatArray, p_limit: FloatArray, q_limit: FloatArray, side: float
) -> FloatArray:
    """Limit of ``p / q`` from limits of both (Donner and Zou, 2012)."""
    both = q_limit * (2.0 * q - q_limit)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum((p * q) ** 2 - p_limit * (2.0 * p - p_limit) * both, 0.0))
        limit: FloatArray = (p * q + side * root) / both
    return np.where(both == 0.0, np.inf if side > 0.0 else 0.0, limit)


def _divided(a: Array, b: Array | int) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.true_divide(a, b)
