"""One pass of Lloyd's algorithm over a block of rows: label them, add up what moves the centres.

Passes are functions for :meth:`sidelight.engine.RowSource.map_reduce`, aligned with the positions
of the rows, their weights and their labels before. They give the sums of the gaps ``x - c`` by
cluster, of weights, of squared gaps and of changed labels; and the labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._fit.tiles import tiles
from sidelight._kernels.cluster.bounds import find_doubtful, relabel
from sidelight._kernels.cluster.lloyd import add_gaps, add_sparse_rows, nearest
from sidelight._typing import Array
from sidelight.cluster._core._distances import CenterProducts

Totals = tuple[Any, ...]


class _Pass:
    """What the passes share: the centres, and the rows that are labelled by someone else."""

    is_sparse = False

    def __init__(self, centers: Array, held: Array, held_labels: Array) -> None:
        self.centers = centers
        self.products = CenterProducts(centers, is_sparse=self.is_sparse)
        self._held = held
        self._held_labels = held_labels

    def _held_in(self, positions: range) -> tuple[Array, Array]:
        """Held rows of a block, counted from its start, and their labels."""
        if len(self._held) == 0:
            return self._held, self._held_labels
        here = slice(*np.searchsorted(self._held, (positions.start, positions.stop)))
        return self._held[here] - positions.start, self._held_labels[here]


class DensePass(_Pass):
    """Rows in an array: a product with the centres, the nearest by it, then sums."""

    def __call__(
        self, block: Array, positions: range, weights: Array, before: Array
    ) -> tuple[Totals, tuple[Array]]:
        products, centers, scratch = self.products, self.centers, self.products.scratch
        held, held_labels = self._held_in(positions)
        labels = np.empty(len(block), dtype=np.int32)
        sums = _Sums(centers)
        for tile in tiles(len(block), products.tile_rows):
            rows, tile_labels = block[tile], labels[tile]
            best = scratch.best[: len(rows)]
            nearest(products.of(rows, scratch), products.half_norms, best, tile_labels)
            _set_held(tile, held, held_labels, labels)
            add_gaps(rows, weights[tile], centers, tile_labels, *sums.arrays)
        return (*sums.totals, np.count_nonzero(labels != before)), (labels,)


class SparsePass(_Pass):
    """CSR rows: added up where they are not zero, and the centres subtracted afterwards."""

    is_sparse = True

    def __call__(
        self, block: Any, positions: range, weights: Array, before: Array
    ) -> tuple[Totals, tuple[Array]]:
        labels = np.empty(block.shape[0], dtype=np.int32)
        self.products.nearest(block, labels)
        held, held_labels = self._held_in(positions)
        labels[held] = held_labels
        centers = self.centers.astype(np.float64)
        sums, sizes, squares = np.zeros(centers.shape), np.zeros(len(centers)), np.zeros(1)
        add_sparse_rows(
            block.data, block.indices, block.indptr, weights, labels, sums, sizes, squares
        )
        # Σ w‖x - c‖² = Σ w‖x‖² - 2 Σ c·(w x) + Σ w‖c‖²
        squares += sizes @ np.einsum("ij,ij->i", centers, centers) - 2 * np.sum(centers * sums)
        gaps = sums - sizes[:, None] * centers
        return (gaps, sizes, squares, np.count_nonzero(labels != before)), (labels,)


class BoundedPass(_Pass):
    """A dense pass that skips rows whose nearest centre cannot have changed (Hamerly 2010).

    Every row carries a lower bound of its distance to all centres but its own (``-inf`` where
    nothing is known): aligned behind the labels, and given anew behind them. The labels are those
    of :class:`DensePass`; bounds leave room for rounding.

    Parameters
    ----------
    moves : ndarray of shape (k,)
        How far every centre has moved since the bounds were made.
    """

    #: Above this share of doubtful rows it is faster to look at the whole tile.
    MOSTLY = 0.8

    def __init__(
        self, centers: Array, held: Array, held_labels: Array, moves: npt.NDArray[np.float64]
    ) -> None:
        super().__init__(centers, held, held_labels)
        k, d = centers.shape
        self._slack = float((16 + 4 * np.sqrt(d)) * np.finfo(centers.dtype).eps)
        others = np.where(np.arange(k) == np.argmax(moves), np.sort(moves)[-2:][0], moves.max())
        self._drop = (others * (1 + self._slack)).astype(centers.dtype)
        self._reach = 2 * self.products.radius
        self._everything = np.arange(self.products.tile_rows)

    def __call__(
        self, block: Array, positions: range, weights: Array, before: Array, bounds: Array
    ) -> tuple[Totals, tuple[Array, Array]]:
        held, held_labels = self._held_in(positions)
        labels, lower = before.copy(), bounds.copy()
        sums = _Sums(self.centers)
        size = self.products.tile_rows
        memory = _BoundsMemory(size, self.centers)
        for tile in tiles(len(block), size):
            rows, tile_labels = block[tile], labels[tile]
            self._label(rows, tile_labels, lower[tile], memory)
            _set_held(tile, held, held_labels, labels)
            add_gaps(rows, weights[tile], self.centers, tile_labels, *sums.arrays)
        return (*sums.totals, np.count_nonzero(labels != before)), (labels, lower)

    def _label(self, rows: Array, labels: Array, lower: Array, memory: _BoundsMemory) -> None:
        products, centers = self.products, self.centers
        m = find_doubtful(rows, centers, labels, lower, self._drop, self._slack, memory.which)
        if m == 0:
            return
        if m > self.MOSTLY * len(rows):
            m, which, doubtful = len(rows), self._everything[: len(rows)], rows
        else:
            which = memory.which[:m]
            doubtful = np.take(rows, which, axis=0, out=memory.rows[:m])
        relabel(
            doubtful,
            which,
            centers,
            products.of(doubtful, products.scratch),
            products.half_norms,
            self._reach,
            self._slack,
            memory.best[:m],
            memory.second[:m],
            memory.labels[:m],
            labels,
            lower,
        )


def _set_held(tile: slice, held: Array, held_labels: Array, labels: Array) -> None:
    """Label the held rows of a tile as told; all counted from the start of the block."""
    if len(held):
        here = slice(*np.searchsorted(held, (tile.start, tile.stop)))
        labels[held[here]] = held_labels[here]


class _Sums:
    """Sums over a block in float64, and scratch memory for those over a tile."""

    def __init__(self, centers: Array) -> None:
        k = len(centers)
        self.totals = np.zeros(centers.shape), np.zeros(k), np.zeros(1)
        self.arrays = np.empty_like(centers), np.empty_like(centers[0]), *self.totals


class _BoundsMemory:
    """Scratch memory for the doubtful rows of a tile."""

    def __init__(self, tile_rows: int, centers: Array) -> None:
        self.which = np.empty(tile_rows, dtype=np.int64)
        self.rows = np.empty((tile_rows, centers.shape[1]), dtype=centers.dtype)
        self.best, self.second = np.empty((2, tile_rows), dtype=centers.dtype)
        self.labels = np.empty(tile_rows, dtype=np.int32)
