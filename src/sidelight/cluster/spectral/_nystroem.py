"""Spectral embedding of very many rows from few landmarks (Fowlkes et al. 2004; Hamad, part 2).

With similarities ``A`` between landmarks and ``B`` between landmarks and all rows, the normalized
graph is approximated by ``B'A⁺B``; its leading eigenvectors need blocks of ``B`` one by one,
which are formed, used and forgotten. Memory is ``O(n k + m²)``. :class:`Extension` places new rows
in the embedding of a sparse graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances

from sidelight._fit.scatter import fix_signs
from sidelight._typing import Array
from sidelight.engine import RowSource
from sidelight.graphs import degrees
from sidelight.graphs.inner import inverse_root

#: Eigenvalues of the landmarks below this share of the largest are rounding.
RANK_TOLERANCE = 1e-10

#: Share of the plain estimate of a degree that the approximate one must reach.
MIN_DEGREE = 1e-3

#: Factors ``μ`` below this say that a vector lives on constrained rows; it has no extension.
MIN_FACTOR = 1e-3

#: Rows whose similarities to the landmarks are formed at a time.
TILE_ROWS = 4096


@dataclass(frozen=True)
class Extension:
    """Places of new rows, by the equation that the eigenvectors satisfy at the old ones.

    For a normalized graph ``u_c(x) = (1/μ_c) Σ_j w(x, x_j) / sqrt(d(x) d_j) u_c(j)``; for
    eigenvectors of ``D - W`` it is ``u_c(x) = Σ_j w(x, x_j) u_c(j) / (d(x) - λ_c)``. An old row
    that no constraint mentions is put exactly where it is.

    Attributes
    ----------
    basis : ndarray of shape (n, k)
        ``u_c(j) / (μ_c sqrt(d_j))``, or ``u_c(j)`` for ``D - W``.
    eigenvalues : ndarray of shape (k,) or None
        ``λ`` of ``D - W``; None for a normalized graph.
    walk : bool
        Places are those of ``D^{-1/2} u`` instead of ``u``, for a normalized graph.
    """

    basis: Array
    eigenvalues: Array | None = None
    walk: bool = False

    @classmethod
    def normalized(cls, vectors: Array, factors: Array, degree: Array) -> Extension:
        """Extension of eigenvectors of ``D^{-1/2} W D^{-1/2}`` with ``μ`` and degrees ``d``."""
        safe = np.where(factors > MIN_FACTOR, factors, np.inf)
        return cls(inverse_root(degree)[:, None] * vectors / safe)

    def place(self, b: Any) -> Array:
        """Places of rows with these similarities to the old ones."""
        degree, sums = degrees(b), np.asarray(b @ self.basis)
        if self.eigenvalues is None:
            return inverse_root(degree)[:, None] ** (2 if self.walk else 1) * sums
        factors = degree[:, None] - self.eigenvalues
        return np.asarray(
            sums / np.maximum(factors, np.maximum(MIN_FACTOR * degree, 1e-300)[:, None])
        )


class Landmarks:
    """Similarities to landmarks, and the embedding that follows from them."""

    def __init__(self, landmarks: Any, sigma: float) -> None:
        self.landmarks = landmarks
        self.sigma = sigma
        self._A = self.similarities(landmarks)

    def similarities(self, rows: Any) -> Array:
        """``exp(-d²/2σ²)`` of rows to the landmarks."""
        distances = pairwise_distances(rows, self.landmarks)
        return np.asarray(np.exp(-(distances**2) / (2 * self.sigma**2)))

    def fit(self, source: RowSource, k: int) -> tuple[Array, Array]:
        """Eigenvalues ``λ`` of ``I - D^{-1/2}WD^{-1/2}`` and the embedding of all rows."""
        values, vectors = np.linalg.eigh(self._A)
        kept = values > RANK_TOLERANCE * values[-1]
        roots = vectors[:, kept] / np.sqrt(values[kept])
        inverse = roots @ roots.T
        self._rows_per_landmark = source.n_rows / len(self._A)
        (sums,), _ = source.map_reduce(
            lambda block: ((sum(b.sum(axis=0) for b in self._tiles(block)),), ())
        )
        self._from_sums = inverse @ sums  # A⁺B1: the degree of a row is its similarities times it
        # In coordinates of the landmarks' eigenvectors rows are b'U Λ^{-1/2}: W ≈ their products.
        self._roots = roots

        def scatter(block: Any) -> tuple[tuple[Array], tuple[()]]:
            total = np.zeros((roots.shape[1],) * 2)
            for b in self._tiles(block):
                places = self._places(b)
                total += places.T @ places
            return (total,), ()

        (products,), _ = source.map_reduce(scatter)
        strengths, turn = np.linalg.eigh(products)
        strengths, turn = strengths[::-1][:k], fix_signs(turn[:, ::-1][:, :k].T).T
        self._turn = turn / np.sqrt(np.maximum(strengths, 1e-300))
        embedding = source.map_reduce(lambda block: ((), (self.embed(block),)))[1][0]
        return np.clip(1.0 - strengths, 0.0, 2.0), embedding

    def graph(self) -> Array:
        """Similarities between the landmarks, without loops."""
        graph = self._A.copy()
        np.fill_diagonal(graph, 0.0)
        return graph

    def embed(self, rows: Any) -> Array:
        """Place of rows, old or new, in the embedding."""
        return np.concatenate([self._places(b) @ self._turn for b in self._tiles(rows)])

    def _places(self, b: Array) -> Array:
        # The approximate degree can even be negative far from the landmarks.
        plain = b.sum(axis=1) * self._rows_per_landmark
        degree = np.maximum(b @ self._from_sums, np.maximum(MIN_DEGREE * plain, 1e-300))
        return np.asarray((b / np.sqrt(degree)[:, None]) @ self._roots)

    def _tiles(self, block: Any) -> Any:
        for start in range(0, block.shape[0], TILE_ROWS):
            rows = block[start : start + TILE_ROWS]
            yield self.similarities(rows.toarray() if sparse.issparse(rows) else rows)
