"""Gaussian components by differences to their means: for tiny components, or many features.

Precise however small a component is beside the data, and without all products of features.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.spatial.distance import cdist

from sidelight._typing import Array

#: Rows without responsibility are left out when they are more than this share.
IDLE = 0.3


class Scales(Protocol):
    """Precision factors and the kind of covariances they belong to."""

    @property
    def kind(self) -> str: ...

    @property
    def precision_factors(self) -> Array: ...


def squared_distances(rows: Array, means: Array, scales: Scales) -> Array:
    """``(x - μ_s)ᵀ Σ_s⁻¹ (x - μ_s)`` of every row and component."""
    factors = scales.precision_factors
    if scales.kind == "tied":
        return cdist(whitened(rows.copy(), factors), means @ factors, "sqeuclidean")
    squares = np.empty((len(rows), len(means)))
    for s, mean in enumerate(means):
        offsets = rows - mean
        scaled = whitened(offsets, factors[s]) if scales.kind == "full" else offsets * factors[s]
        squares[:, s] = np.einsum("nd,nd->n", scaled, scaled)
    return squares


def whitened(rows: Array, factor: Array) -> Array:
    """``rows @ factor`` for an upper triangular factor, in the place of the rows."""
    product: Array = dtrmm(1.0, factor.T, rows.T, lower=1, overwrite_b=1)
    return product.T


def moments(rows: Array, resp: Array, means: Array, kind: str) -> tuple[Array, Array, Array]:
    """Sums of responsibilities, of differences to the means, and of their products."""
    k, d = means.shape
    first = np.empty((k, d))
    second = np.empty((k, *{"full": (d, d), "tied": (d, d), "diag": (d,)}.get(kind, (1,))))
    for s, mean in enumerate(means):
        weights, mine = _busy(resp[:, s], rows)
        offsets = mine - mean
        first[s] = weights @ offsets
        if kind in ("full", "tied"):
            second[s] = _products(weights, offsets)
        else:
            squares = weights @ (offsets * offsets)
            second[s] = squares if kind == "diag" else squares.sum()
    return resp.sum(axis=0), first, second


def weighted_products(offsets: Array, resp: Array) -> tuple[Array, Array]:
    """Sums of ``offsets`` of shape (k, n, d) and of their products, weighted for each component."""
    k, _, d = offsets.shape
    first, second = np.empty((k, d)), np.empty((k, d, d))
    for s in range(k):
        weights, mine = _busy(resp[:, s], offsets[s])
        first[s] = weights @ mine
        second[s] = _products(weights, mine)
    return first, second


def _busy(weights: Array, rows: Array) -> tuple[Array, Array]:
    """Leave rows without weight out where they are many."""
    busy = np.flatnonzero(weights)
    if len(busy) < (1 - IDLE) * len(rows):
        return weights[busy], rows[busy]
    return weights, rows


def _products(weights: Array, offsets: Array) -> Array:
    """``Σ_n w_n g_n g_nᵀ``: half the work of a product of two different matrices."""
    scaled = offsets * np.sqrt(weights)[:, None]
    return np.asarray(scaled.T @ scaled)
