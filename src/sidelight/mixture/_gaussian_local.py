"""Gaussian components by differences to their means: for components tiny beside the data.

Slower than products about a common origin, and precise however small a component is.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Scales(Protocol):
    """Precision factors and the kind of covariances they belong to."""

    @property
    def kind(self) -> str: ...

    @property
    def precision_factors(self) -> Array: ...


def squared_distances(rows: Array, means: Array, scales: Scales) -> Array:
    """``(x - μ_s)ᵀ Σ_s⁻¹ (x - μ_s)`` of every row and component."""
    squares = np.empty((len(rows), len(means)))
    for s, mean in enumerate(means):
        factor = scales.precision_factors
        if scales.kind in ("full", "tied"):
            scaled = (rows - mean) @ (factor[s] if scales.kind == "full" else factor)
        else:
            scaled = (rows - mean) * factor[s]
        squares[:, s] = np.einsum("nd,nd->n", scaled, scaled)
    return squares


def moments(rows: Array, resp: Array, means: Array, kind: str) -> tuple[Array, Array, Array]:
    """Sums of responsibilities, of differences to the means, and of their products."""
    k, d = means.shape
    first = np.empty((k, d))
    second = np.empty((k, *{"full": (d, d), "tied": (d, d), "diag": (d,)}.get(kind, (1,))))
    for s, mean in enumerate(means):
        gaps = rows - mean
        weighted = gaps * resp[:, s, None]
        first[s] = weighted.sum(axis=0)
        if kind in ("full", "tied"):
            second[s] = weighted.T @ gaps
        else:
            squares = np.einsum("nd,nd->d", weighted, gaps)
            second[s] = squares if kind == "diag" else squares.sum()
    return resp.sum(axis=0), first, second
