"""Scatter of chunklets and of pairs, and the matrix algebra of linear methods."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight.constraints import Constraints, without_weights

#: Pairs whose differences are formed at a time.
PAIR_BLOCK = 4096

#: Eigenvalues below this share of the largest are rounding.
RANK_TOLERANCE = 1e-12


def chunklet_scatter(
    rows: Any, component: Array, weight: Array | None = None
) -> tuple[Array, float, int]:
    """``Σ_j w_j Σ_{i∈j} (x_i - m_j)(x_i - m_j)ᵀ`` over must-link components of two rows or more.

    Also returns the weight of the rows in such components, and the number of the components.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight._fit.scatter import chunklet_scatter
    >>> chunklet_scatter(np.array([[0.0], [2.0], [9.0]]), np.array([0, 0, 1]))
    (array([[2.]]), 2.0, 1)
    """
    sizes = np.bincount(component)
    inside = np.flatnonzero(sizes[component] >= 2)
    d = rows.shape[1]
    if not len(inside):
        return np.zeros((d, d)), 0.0, 0
    members = np.asarray(rows[inside], dtype=np.float64)
    members = centered(members)  # differences within chunklets do not change
    chunklet = np.unique(component[inside], return_inverse=True)[1]
    offsets = members - group_means(members, chunklet)[chunklet]
    w = np.ones(len(inside)) if weight is None else weight[component[inside]]
    scatter = (offsets * w[:, None]).T @ offsets
    return (scatter + scatter.T) / 2, float(w.sum()), int(chunklet.max()) + 1


def chunklet_weights(known: Constraints, component: Array) -> Array:
    """Mean weight of what makes every component: must-links by theirs, labels and groups by 1."""
    home = component[known.must_link[:, 0]]
    n = int(component.max()) + 1
    total, count = np.zeros(n), np.zeros(n)
    np.add.at(total, home, known.must_link_weight)
    np.add.at(count, home, 1.0)
    for codes in (known.labels, known.groups):
        if codes is not None:
            rows = np.flatnonzero(codes >= 0)
            shared = rows[np.bincount(codes[rows])[codes[rows]] >= 2]
            total[np.unique(component[shared])] += 1.0
            count[np.unique(component[shared])] += 1.0
    return np.where(count > 0, total / np.maximum(count, 1.0), 1.0)


def conflict_weights(known: Constraints) -> Array:
    """Mean weight of what keeps the components of each conflict apart: links, or classes by 1."""
    total, count = (
        stated.closure(on_contradiction="keep").conflict_weight
        for stated in (known, without_weights(known))
    )
    return np.asarray(total / count)


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


def centered(rows: Array) -> Array:
    """``x_i - mean`` in float64; exactly 0 in a column that never varies.

    The mean of equal numbers is not always this number, and the rest would pass for a direction.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight._fit.scatter import centered
    >>> centered(np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 6.0]]))
    array([[ 0., -2.],
           [ 0., -1.],
           [ 0.,  3.]])
    """
    offsets = np.asarray(rows, dtype=np.float64)
    offsets = offsets - offsets[0]
    return np.asarray(offsets - offsets.mean(axis=0))


def mean_diagonal(matrix: Array) -> float:
    """``tr(C) / d``."""
    return float(np.trace(matrix)) / len(matrix)


def shrunk(matrix: Array, shrinkage: float) -> Array:
    """``(1 - s) C + s tr(C)/d I``."""
    target = mean_diagonal(matrix) * np.eye(len(matrix))
    return np.asarray((1 - shrinkage) * matrix + shrinkage * target)


def oracle_shrinkage(matrix: Array, n_rows: float) -> float:
    """Oracle approximating shrinkage: share of the mean diagonal for a covariance of ``n_rows``.

    The oracle approximating shrinkage of Chen, Wiesel, Eldar and Hero (2010), equation 23; 1 where
    nothing speaks against a multiple of the identity.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight._fit.scatter import oracle_shrinkage
    >>> unequal = np.diag([4.0, 1.0, 0.1])
    >>> oracle_shrinkage(unequal, 2) > oracle_shrinkage(unequal, 50)
    True
    """
    d = len(matrix)
    trace, squares = float(np.trace(matrix)), float(np.sum(matrix**2))
    unequal = (n_rows + 1 - 2 / d) * (squares - trace**2 / d)
    equal = (1 - 2 / d) * squares + trace**2
    return 1.0 if unequal <= equal else equal / unequal


def shrunk_to_variances(matrix: Array, variances: Array, n_rows: float) -> Array:
    """Shrink a scatter within groups towards a multiple of the variances of all rows.

    With few rows in the groups what is left is a scaling of the features. Nothing depends on their
    units.
    """
    unit = np.sqrt(np.where(variances > 0, variances, 1.0))
    scaled = matrix / unit[:, None] / unit
    # However many rows there are, an inverse exists.
    share = max(oracle_shrinkage(scaled, n_rows), RANK_TOLERANCE)
    return shrunk(scaled, share) * unit[:, None] * unit


def regularized(matrix: Array, shrinkage: float, least: float = 1e-9) -> Array:
    """Shrunk matrix that has an inverse, whatever the units of the features.

    Every feature gets at least this share of its own spread on top; one without any, that of the
    mean.
    """
    spread = np.diagonal(matrix)
    spread = np.where(spread > 0, spread, mean_diagonal(matrix) or 1.0)
    return shrunk(matrix, shrinkage) + np.diag(least * spread)


def n_positive(eigenvalues: Array, tolerance: float = RANK_TOLERANCE) -> int:
    """Number of eigenvalues above 0, up to this share of the largest."""
    return int(np.count_nonzero(eigenvalues > tolerance * max(float(eigenvalues.max()), 1e-300)))


def scale_free_rank(scatter: Array, tolerance: float = RANK_TOLERANCE) -> int:
    """Number of directions that a scatter spans, whatever the units of the features.

    Eigenvalues are those of the correlations: a feature in other units has other eigenvalues in
    the scatter, but spans the same.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight._fit.scatter import scale_free_rank
    >>> scale_free_rank(np.diag([1.0, 1e16])), scale_free_rank(np.ones((2, 2)))
    (2, 1)
    """
    return len(spanned_directions(scatter, tolerance).values)


class Directions(NamedTuple):
    """Directions that a scatter ``D V Λ V' D`` spans, in units ``D`` of the features' deviations.

    ``vectors`` are the columns of ``V``, ``unit`` is 0 for features that never vary, and
    ``depends`` marks features that can be computed from others.
    """

    values: Array
    vectors: Array
    unit: Array
    depends: Array

    @property
    def inverse_root(self) -> Array:
        """``C`` with ``CC'`` the inverse of the scatter along the directions, and 0 beyond them."""
        unit = np.where(self.unit > 0, self.unit, 1.0)
        return np.asarray(self.vectors / np.sqrt(self.values) / unit[:, None])


def spanned_directions(scatter: Array, tolerance: float = RANK_TOLERANCE) -> Directions:
    """Eigenvectors of the correlations, without those of eigenvalue 0 up to this share.

    The one place that decides about the rank of a scatter: neither the units of the features nor
    their order counts.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight._fit.scatter import spanned_directions
    >>> spanned_directions(np.array([[1.0, 1e9, 0.0], [1e9, 1e18, 0.0], [0.0, 0.0, 1.0]])).depends
    array([ True,  True, False])
    """
    unit = np.sqrt(np.maximum(np.diagonal(scatter), 0.0))
    varies = unit > 0
    scaled = np.where(varies, unit, 1.0)
    values, vectors = np.linalg.eigh(scatter / scaled[:, None] / scaled)
    kept = values > tolerance * max(float(values.max()), 1e-300)
    # A feature that never varies is an axis of its own, and takes no part in what depends.
    parts = np.sqrt(np.sum(vectors[:, ~kept] ** 2, axis=1))
    along = vectors[:, kept] * varies[:, None]
    return Directions(values[kept], along, unit, varies & (parts > np.sqrt(tolerance)))


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
    return fix_signs((vectors[:, leading] * np.sqrt(np.maximum(values[leading], 0.0))).T)


def fix_signs(components: Array) -> Array:
    """Turn directions so that their largest entry is positive: the same result everywhere."""
    largest = np.argmax(np.abs(components), axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return np.asarray(components * np.where(signs == 0, 1.0, signs)[:, None])
