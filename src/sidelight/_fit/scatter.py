"""Scatter of chunklets, of pairs and of all rows, from which linear methods learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array

#: Pairs whose differences are formed at a time.
PAIR_BLOCK = 4096


def chunklet_scatter(rows: Array, component: Array) -> tuple[Array, int, int]:
    """Return ``Σ_j Σ_{i∈j} (x_i - m_j)(x_i - m_j)ᵀ`` over components with at least two rows.

    ``component`` is the must-link component of every row; the second and third results are the
    number of rows in such components, and of these components.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight._fit.scatter import chunklet_scatter
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
    offsets = members - means[chunklet]
    return offsets.T @ offsets, len(inside), len(counts)


def pair_scatter(rows: Any, pairs: Array, weights: Array) -> Array:
    """Return ``Σ_(i,j) w_ij (x_i - x_j)(x_i - x_j)ᵀ``, in ``O(m d²)`` time and ``O(d²)`` memory.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight._fit.scatter import pair_scatter
    >>> pair_scatter(np.array([[0.0], [2.0], [9.0]]), np.array([[0, 1], [1, 2]]), np.ones(2))
    array([[53.]])
    """
    d = rows.shape[1]
    total = np.zeros((d, d))
    for start in range(0, len(pairs), PAIR_BLOCK):
        block = pairs[start : start + PAIR_BLOCK]
        offsets = rows[block[:, 0]] - rows[block[:, 1]]
        offsets = offsets.toarray() if sparse.issparse(offsets) else offsets
        offsets = np.asarray(offsets, dtype=np.float64)
        total += (offsets * weights[start : start + PAIR_BLOCK, None]).T @ offsets
    return total


def total_covariance(rows: Array) -> Array:
    """Return the covariance of all rows, divided by their number."""
    offsets = np.asarray(rows, dtype=np.float64)
    offsets = offsets - offsets.mean(axis=0)
    return offsets.T @ offsets / len(offsets)
