"""Gaussian components by differences to their means: for tiny components, or many features.

Precise however small a component is beside the data, and without all products of features.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.spatial.distance import cdist

from sidelight._fit.buffers import NEW_ARRAYS, Buffers, NewArrays
from sidelight._typing import Array

Memory: TypeAlias = Buffers | NewArrays

#: Rows without responsibility are left out when they are more than this share.
IDLE = 0.3


class Scales(Protocol):
    """Precision factors and the kind of covariances they belong to."""

    @property
    def kind(self) -> str: ...

    @property
    def precision_factors(self) -> Array: ...


def squared_distances(rows: Array, means: Array, scales: Scales, memory: Memory) -> Array:
    """``(x - μ_s)ᵀ Σ_s⁻¹ (x - μ_s)`` of every row and component."""
    factors = scales.precision_factors
    squares = memory.array("densities", (len(rows), len(means)))
    offsets = memory.array("offsets", rows.shape)
    if scales.kind == "tied":
        offsets[:] = rows
        return cdist(whitened(offsets, factors), means @ factors, "sqeuclidean", out=squares)
    for s, mean in enumerate(means):
        np.subtract(rows, mean, out=offsets)
        if scales.kind == "full":
            scaled = whitened(offsets, factors[s])
        else:
            scaled = np.multiply(offsets, factors[s], out=offsets)
        np.einsum("nd,nd->n", scaled, scaled, out=squares[:, s])
    return squares


def whitened(rows: Array, factor: Array) -> Array:
    """``rows @ factor`` for an upper triangular factor, in the place of the rows."""
    product: Array = dtrmm(1.0, factor.T, rows.T, lower=1, overwrite_b=1)
    return product.T


def moments(
    rows: Array, resp: Array, means: Array, kind: str, memory: Memory
) -> tuple[Array, Array, Array]:
    """Sums of responsibilities, of differences to the means, and of their products."""
    k, d = means.shape
    first = memory.array("first", (k, d))
    second = memory.array(
        "second", (k, *{"full": (d, d), "tied": (d, d), "diag": (d,)}.get(kind, (1,)))
    )
    for s, mean in enumerate(means):
        weights, mine = _busy(resp[:, s], rows, memory)
        offsets = np.subtract(mine, mean, out=memory.array("offsets", mine.shape))
        first[s] = weights @ offsets
        if kind in ("full", "tied"):
            offsets *= np.sqrt(weights)[:, None]  # half the work of a product of two matrices
            np.matmul(offsets.T, offsets, out=second[s])
        else:
            squares = weights @ np.multiply(offsets, offsets, out=offsets)
            second[s] = squares if kind == "diag" else squares.sum()
    return resp.sum(axis=0), first, second


def weighted_products(offsets: Array, resp: Array) -> tuple[Array, Array]:
    """Sums of ``offsets`` of shape (k, n, d) and of their products, weighted for each component."""
    k, _, d = offsets.shape
    first, second = np.empty((k, d)), np.empty((k, d, d))
    for s in range(k):
        weights, mine = _busy(resp[:, s], offsets[s], NEW_ARRAYS)
        first[s] = weights @ mine
        second[s] = _products(weights, mine)
    return first, second


def _busy(weights: Array, rows: Array, memory: Memory) -> tuple[Array, Array]:
    """Leave rows without weight out where they are many."""
    busy = np.flatnonzero(weights)
    if len(busy) < (1 - IDLE) * len(rows):
        kept = memory.array("busy", (len(busy), rows.shape[1]))
        return weights[busy], np.take(rows, busy, axis=0, out=kept, mode="clip")
    return weights, rows


def _products(weights: Array, offsets: Array) -> Array:
    """``Σ_n w_n g_n g_nᵀ``: half the work of a product of two different matrices."""
    scaled = offsets * np.sqrt(weights)[:, None]
    return np.asarray(scaled.T @ scaled)
