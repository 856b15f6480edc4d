"""Sums over a graph between all rows by way of some landmarks (Nyström), in two passes.

With similarities ``A`` between landmarks and ``B`` between rows and landmarks, ``W ≈ B A⁺ B'``
joins all rows, and ``D`` holds its row sums. What is linear in the rows needs ``Z'DZ`` and
``Z'WZ = (B'Z)' A⁺ (B'Z)`` alone, which are sums over the rows: neither ``W`` nor ``B`` is formed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from sidelight._fit.tiles import tiles
from sidelight._typing import Array
from sidelight.engine import RowSource

#: Eigenvalues of the landmarks below this share of the largest are rounding.
RANK_TOLERANCE = 1e-10

#: Share of the plain estimate of a degree that the approximate one must reach: far from the
#: landmarks it can even be negative.
MIN_DEGREE = 1e-3


@dataclass(frozen=True)
class LandmarkGraph:
    """Gaussian similarities ``exp(-d²/2σ²)`` to landmarks.

    Attributes
    ----------
    landmarks : ndarray of shape (m, d)
        The landmarks.
    sigma : float
        Width ``σ``.
    """

    landmarks: Array
    sigma: float

    def similarities(self, rows: Array) -> Array:
        """Similarities of rows to the landmarks."""
        squares = cdist(np.asarray(rows, dtype=np.float64), self.landmarks, "sqeuclidean")
        return np.asarray(np.exp(squares / (-2 * self.sigma**2)))

    def sums(self, source: RowSource, project: Callable[[Array], Array]) -> tuple[Array, Array]:
        """Return ``Z'DZ`` and ``Z'WZ`` for the coordinates ``Z`` that ``project`` gives rows."""
        values, vectors = np.linalg.eigh(self.similarities(self.landmarks))
        kept = values > RANK_TOLERANCE * values[-1]
        roots = vectors[:, kept] / np.sqrt(values[kept])

        def along(block: Any) -> tuple[tuple[Array, Array], tuple[()]]:
            totals: Any = (0.0, 0.0)
            for tile in tiles(block.shape[0]):
                b = self.similarities(block[tile])
                totals = (totals[0] + b.sum(axis=0), totals[1] + b.T @ project(block[tile]))
            return totals, ()

        (mass, moved), _ = source.map_reduce(along)
        to_degree = roots @ (roots.T @ mass)
        rows_per_landmark = source.n_rows / len(self.landmarks)

        def weighted(block: Any) -> tuple[tuple[Array], tuple[()]]:
            total: Any = 0.0
            for tile in tiles(block.shape[0]):
                b, z = self.similarities(block[tile]), project(block[tile])
                least = MIN_DEGREE * rows_per_landmark * b.sum(axis=1)
                total = total + (z * np.maximum(b @ to_degree, least)[:, None]).T @ z
            return (total,), ()

        (right,), _ = source.map_reduce(weighted)
        joined = roots.T @ moved
        return right, joined.T @ joined
