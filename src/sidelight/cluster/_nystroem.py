"""Spectral embedding of very many rows from few landmarks (Fowlkes et al. 2004; Hamad, part 2).

With similarities ``A`` between landmarks and ``B`` between landmarks and all rows, the normalised
graph is approximated by ``B'A⁺B``; its leading eigenvectors need blocks of ``B`` one by one,
which are formed, used and forgotten. Memory is ``O(n k + m²)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.metrics import pairwise_distances

from sidelight.engine import RowSource

Array = npt.NDArray[Any]

#: Eigenvalues of the landmarks below this share of the largest are rounding.
RANK_TOLERANCE = 1e-10

#: Rows whose similarities to the landmarks are formed at a time.
TILE_ROWS = 4096


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
        strengths, turn = strengths[::-1][:k], turn[:, ::-1][:, :k]
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
        degree = np.maximum(b @ self._from_sums, 1e-300)
        return np.asarray((b / np.sqrt(degree)[:, None]) @ self._roots)

    def _tiles(self, block: Any) -> Any:
        for start in range(0, block.shape[0], TILE_ROWS):
            rows = block[start : start + TILE_ROWS]
            yield self.similarities(rows.toarray() if sparse.issparse(rows) else rows)
