"""Squared distances of rows to representatives, and the sums that move them, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._fit.tiles import EqualWeights, tiles
from sidelight._kernels.cluster.lloyd import CENTERS_AT_ONCE, add_offsets, add_sparse_rows, nearest
from sidelight._typing import Array
from sidelight.engine import RowSource
from sidelight.engine.inner import Concatenated


@dataclass(frozen=True)
class OffsetSums:
    """Sums of offsets ``x - μ`` and of weights by cluster, and of squared offsets."""

    offsets: Array
    sizes: Array
    squares: float

    def means(self, centers: Array) -> Array:
        """Return the means of the clusters; empty ones keep their center."""
        filled = self.sizes > 0
        moved = centers.astype(np.float64)
        moved[filled] += self.offsets[filled] / self.sizes[filled, None]
        return moved.astype(centers.dtype)


class WeightedRows:
    """Rows with weights, and their squared distances to representatives."""

    def __init__(self, source: RowSource, weights: Array | None) -> None:
        self.source = source
        self.weights = weights
        self._weights: Any = EqualWeights(source) if weights is None else weights

    def nearest(self, centers: Array, labels: Array | None = None) -> tuple[Array, Array]:
        """Return the nearest center of every row, and what the row gains by moving to it.

        Gains are 0 where there are no labels.
        """
        costs = _Costs(centers, self.source)
        own = np.broadcast_to(np.int32(-1), self.source.n_rows) if labels is None else labels
        dtype, has_labels = self.source.dtype, labels is not None

        def measure(block: Any, weights: Array, own: Array) -> tuple[tuple[()], tuple[Any, ...]]:
            found = np.empty(block.shape[0], dtype=np.int32)
            gain = np.zeros(block.shape[0], dtype=dtype)
            for tile in tiles(len(found)):
                saved = costs.nearest(block[tile], own[tile], found[tile])
                if has_labels:
                    gain[tile] = saved * weights[tile]
            return (), (found, gain)

        _, (found, gains) = self.source.map_reduce(measure, aligned=(self._weights, own))
        return found, gains

    def costs(self, centers: Array, chosen: Array, *, full: bool = False) -> Array:
        """Return the weighted cost of the chosen rows (a mask) at every center.

        Costs are squared distances; unless ``full``, but for a constant of the row.
        """
        costs, dtype = _Costs(centers, self.source), self.source.dtype

        def measure(
            block: Any, weights: Array, chosen: Array
        ) -> tuple[tuple[Concatenated], tuple[()]]:
            out = np.empty((int(chosen.sum()), len(centers)), dtype=dtype)
            place = 0
            for tile in tiles(len(chosen)):
                here = chosen[tile]
                rows = block[tile] if here.all() else block[tile][here]
                filled = slice(place, place + rows.shape[0])
                out[filled] = costs.of(rows, full) * weights[tile][here][:, None]
                place = filled.stop
            return (Concatenated([out]),), ()

        return self.source.map_reduce(measure, aligned=(self._weights, chosen))[0][0]

    def sums(self, centers: Array, labels: Array) -> OffsetSums:
        """Add up offsets from the centers, weights, and squared offsets."""

        def add_up(block: Any, weights: Array, labels: Array) -> tuple[tuple[Any, ...], tuple[()]]:
            return sums_of(block, weights, centers, labels), ()

        (offsets, sizes, squares), _ = self.source.map_reduce(
            add_up, aligned=(self._weights, labels)
        )
        return OffsetSums(offsets, sizes, max(float(squares[0]), 0.0))


def sums_of(block: Any, weights: Array, centers: Array, labels: Array) -> tuple[Array, ...]:
    """Sums over one block, in float64."""
    k = len(centers)
    offsets, sizes, squares = np.zeros(centers.shape), np.zeros(k), np.zeros(1)
    if sparse.issparse(block):
        add_sparse_rows(
            block.data, block.indices, block.indptr, weights, labels, offsets, sizes, squares
        )
        wide = centers.astype(np.float64)
        squares += sizes @ np.einsum("ij,ij->i", wide, wide) - 2 * np.sum(wide * offsets)
        return offsets - sizes[:, None] * wide, sizes, squares
    scratch = np.empty_like(centers), np.empty_like(centers[0])
    for tile in tiles(len(labels)):
        add_offsets(
            block[tile], weights[tile], centers, labels[tile], *scratch, offsets, sizes, squares
        )
    return offsets, sizes, squares


class _Costs:
    """``‖c - s‖² - 2 (x - s)·(c - s)`` of rows at centers, with ``s`` in their middle.

    Without ``‖x - s‖²`` the numbers are smaller and keep the digits that tell centers apart.
    """

    def __init__(self, centers: Array, source: RowSource) -> None:
        self._shift = None
        away = centers
        if not source.is_sparse:
            self._shift = centers.mean(axis=0, dtype=np.float64).astype(centers.dtype)
            away = centers - self._shift
        self._factors = np.ascontiguousarray(-2 * away.T)
        self._constants = np.einsum("ij,ij->i", away, away, dtype=np.float64).astype(centers.dtype)
        # The loop over rows compares several centers at once; infinitely far ones fill up.
        k, d = centers.shape
        padded = -(-k // CENTERS_AT_ONCE) * CENTERS_AT_ONCE
        self._away = np.zeros((padded, d), dtype=centers.dtype)
        self._away[:k] = away
        self._half_norms = np.full(padded, np.inf, dtype=centers.dtype)
        self._half_norms[:k] = self._constants / 2
        self._is_sparse = source.is_sparse

    def nearest(self, rows: Any, own: Array, labels: Array) -> Array:
        """Write the nearest centers into ``labels``; return how much farther the own ones are."""
        if self._is_sparse:
            products = np.ascontiguousarray((rows @ self._away.T).T)
        else:
            products = self._away @ (rows - self._shift).T
        best = np.empty(len(labels), dtype=products.dtype)
        nearest(products, self._half_norms, best, labels)
        mine = self._half_norms[own] - products[own, np.arange(len(own))]
        saved: Array = 2 * np.where(own == labels, 0, mine - best)
        return saved

    def of(self, rows: Any, full: bool = False) -> Array:
        """Return one number for every row and center; with ``‖x - s‖²`` if ``full``."""
        shifted = rows if self._shift is None else rows - self._shift
        values = np.asarray(shifted @ self._factors)
        values += self._constants
        if full:
            values += np.einsum("ij,ij->i", shifted, shifted)[:, None]
        return values
