"""Scatter of chunklets, of pairs and of all rows, and the matrix algebra of linear methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array

#: Pairs whose differences are formed at a time.
PAIR_BLOCK = 4096

#: Eigenvalues below this share of the largest are rounding.
RANK_TOLERANCE = 1e-12


def chunklet_scatter(rows: Array, component: Array) -> tuple[Array, int, int]:
    """``Σ_j Σ_{i∈j} (x_i - m_j)(x_i - m_j)ᵀ`` over must-link components with at least two rows.

    Also returns the number of rows in such components, and of the components.

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
    offsets = members - group_means(members, chunklet)[chunklet]
    return offsets.T @ offsets, len(inside), int(chunklet.max()) + 1


def group_means(rows: Array, group: Array) -> Array:
    """Mean of the rows of every group."""
    sums = np.column_stack([np.bincount(group, weights=column) for column in rows.T])
    return np.asarray(sums / np.bincount(group)[:, None])


def pair_differences(rows: Any, pairs: Array) -> Array:
    """``x_i - x_j`` of every pair, dense, in float64."""
    differences = rows[pairs[:, 0]] - rows[pairs[:, 1]]
    dense = differences.toarray() if sparse.issparse(differences) else differences
    return np.asarray(dense, dtype=np.float64)


def pair_scatter(rows: Any, pairs: Array, weights: Array) -> Array:
    """``Σ_(i,j) w_ij (x_i - x_j)(x_i - x_j)ᵀ`` over pairs of rows, in ``O(d²)`` memory.

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
        differences = pair_differences(rows, pairs[start : start + PAIR_BLOCK])
        total += (differences * weights[start : start + PAIR_BLOCK, None]).T @ differences
    return total


def total_covariance(rows: Array) -> Array:
    """Covariance of all rows, divided by their number.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight._fit.scatter import total_covariance
    >>> total_covariance(np.array([[0.0], [2.0]]))
    array([[1.]])
    """
    offsets = np.asarray(rows, dtype=np.float64)
    offsets = offsets - offsets.mean(axis=0)
    return offsets.T @ offsets / len(offsets)


def mean_diagonal(matrix: Array) -> float:
    """``tr(C) / d``."""
    return float(np.trace(matrix)) / len(matrix)


def shrunk(matrix: Array, shrinkage: float) -> Array:
    """``(1 - s) C + s tr(C)/d I``."""
    target = mean_diagonal(matrix) * np.eye(len(matrix))
    return np.asarray((1 - shrinkage) * matrix + shrinkage * target)


def n_positive(eigenvalues: Array, tolerance: float = RANK_TOLERANCE) -> int:
    """Number of eigenvalues above 0, up to this share of the largest."""
    return int(np.count_nonzero(eigenvalues > tolerance * max(float(eigenvalues.max()), 1e-300)))


def root(A: Array) -> Array:
    """``W`` with ``W'W = A``, the symmetric root where ``A`` is positive definite."""
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    kept = slice(len(values) - n_positive(values), None)
    if kept.start == 0:
        return np.asarray((vectors * np.sqrt(values)) @ vectors.T)
    return np.asarray((vectors[:, kept] * np.sqrt(values[kept])).T[::-1])


def leading_root(A: Array, n_components: int | None) -> Array:
    """``W`` with ``W'W = A``, or its ``n_components`` leading directions alone."""
    if n_components is None:
        return root(A)
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    leading = np.argsort(-values, kind="stable")[:n_components]
    return steady_signs((vectors[:, leading] * np.sqrt(np.maximum(values[leading], 0.0))).T)


def steady_signs(components: Array) -> Array:
    """Turn directions so that their largest entry is positive: the same result everywhere."""
    largest = np.argmax(np.abs(components), axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return np.asarray(components * np.where(signs == 0, 1.0, signs)[:, None])
