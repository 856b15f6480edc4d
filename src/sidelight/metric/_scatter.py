"""Scatter of chunklets and of all rows: sums that add up over blocks of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def chunklet_scatter(rows: Array, component: Array) -> tuple[Array, int, int]:
    """``Σ_j Σ_{i∈j} (x_i - m_j)(x_i - m_j)ᵀ`` over components with at least two rows.

    Returns
    -------
    scatter : ndarray of shape (d, d)
    n_rows : int
        Rows in such components.
    n_chunklets : int
        Their number.
    """
    sizes = np.bincount(component)
    inside = np.flatnonzero(sizes[component] >= 2)
    d = rows.shape[1]
    if not len(inside):
        return np.zeros((d, d)), 0, 0
    members = np.asarray(rows[inside], dtype=np.float64)
    members = members - members.mean(axis=0)  # differences within chunklets do not change
    chunklet = np.unique(component[inside], return_inverse=True)[1]
    counts = np.bincount(chunklet)
    means = np.empty((len(counts), d))
    for feature in range(d):
        means[:, feature] = np.bincount(chunklet, weights=members[:, feature])
    means /= counts[:, None]
    gaps = members - means[chunklet]
    return gaps.T @ gaps, len(inside), len(counts)


def total_covariance(rows: Array) -> Array:
    """Covariance of all rows (divided by their number)."""
    gaps = np.asarray(rows, dtype=np.float64)
    gaps = gaps - gaps.mean(axis=0)
    return gaps.T @ gaps / len(gaps)
