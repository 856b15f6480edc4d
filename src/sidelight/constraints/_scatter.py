"""Scatter of chunklets, of pairs and of all rows: what linear methods learn from."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array

#: Pairs whose differences are formed at a time.
PAIR_BLOCK = 4096


def chunklet_scatter(rows: Array, component: Array) -> tuple[Array, int, int]:
    """``Σ_j Σ_{i∈j} (x_i - m_j)(x_i - m_j)ᵀ`` over components with at least two rows.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The rows.
    component : ndarray of int, shape (n,)
        Must-link component of every row, as ``Constraints.components`` gives it.

    Returns
    -------
    scatter : ndarray of shape (d, d)
        The scatter.
    n_rows : int
        Rows in such components.
    n_chunklets : int
        Their number.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.constraints import chunklet_scatter
    >>> chunklet_scatter(np.array([[0.0], [2.0], [9.0]]), np.array([0, 0, 1]))
    (array([[2.]]), 2, 1)
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


def pair_scatter(rows: Any, pairs: Array, weights: Array) -> Array:
    """``Σ_(i,j) w_ij (x_i - x_j)(x_i - x_j)ᵀ`` over pairs of rows, taken block by block.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
        The rows.
    pairs : ndarray of int, shape (m, 2)
        Positions.
    weights : ndarray of shape (m,)
        Weights of the pairs.

    Returns
    -------
    scatter : ndarray of shape (d, d)
        The scatter; ``O(m d²)`` time, ``O(d²)`` memory.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.constraints import pair_scatter
    >>> pair_scatter(np.array([[0.0], [2.0], [9.0]]), np.array([[0, 1], [1, 2]]), np.ones(2))
    array([[53.]])
    """
    d = rows.shape[1]
    total = np.zeros((d, d))
    for start in range(0, len(pairs), PAIR_BLOCK):
        block = pairs[start : start + PAIR_BLOCK]
        gaps = rows[block[:, 0]] - rows[block[:, 1]]
        gaps = gaps.toarray() if sparse.issparse(gaps) else gaps
        gaps = np.asarray(gaps, dtype=np.float64)
        total += (gaps * weights[start : start + PAIR_BLOCK, None]).T @ gaps
    return total


def total_covariance(rows: Array) -> Array:
    """Covariance of all rows (divided by their number).

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The rows.

    Returns
    -------
    covariance : ndarray of shape (d, d)
        The covariance.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.constraints import total_covariance
    >>> total_covariance(np.array([[0.0], [2.0]]))
    array([[1.]])
    """
    gaps = np.asarray(rows, dtype=np.float64)
    gaps = gaps - gaps.mean(axis=0)
    return gaps.T @ gaps / len(gaps)
