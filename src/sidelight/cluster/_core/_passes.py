"""Passes of Lloyd's loop over the rows.

A pass (:class:`DensePass`, :class:`SparsePass`, :class:`BoundedPass`) is a block function of
:meth:`sidelight.engine.RowSource.map_reduce`, aligned with the labels of constrained rows, the
weights of the rows and their labels before (:func:`pass_arguments`). It gives the sums of the
offsets ``x - c`` by cluster, of weights, of squared offsets and of changed labels; and the labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._fit.buffers import thread_buffers
from sidelight._fit.few_rows import FewRows
from sidelight._fit.tiles import tiles
from sidelight._kernels.cluster.bounds import find_doubtful, relabel
from sidelight._kernels.cluster.lloyd import add_offsets, nearest
from sidelight._typing import Array, IntArray
from sidelight.cluster._core._distances import BlockSums, CenterProducts, offset_sums
from sidelight.engine import RowSource
from sidelight.engine.inner import Concatenated

Totals = tuple[Any, ...]


#: Positions of the constrained rows of a block, counted from its start, and their labels (int32).
BlockLabels = tuple[IntArray, Array]


class _Pass:
    """A pass at fixed centers.

    Its labels follow from the rows, the centers and the labels of constrained rows alone: where
    they are lost, they are found again without those before.

    Parameters
    ----------
    centers : ndarray of shape (k, d)
        The centers.
    products : CenterProducts, default=None
        What decides which center is the nearest; squared Euclidean distance by default.
    """

    is_sparse = False
    again_from = (0,)

    def __init__(self, centers: Array, products: CenterProducts | None = None) -> None:
        self.centers = centers
        self.products = products or CenterProducts(centers, is_sparse=self.is_sparse)

    def rows_again(self, block: Any, fixed: BlockLabels) -> tuple[Array, ...]:
        """Return the labels of a block."""
        labels = np.empty(block.shape[0], dtype=np.int32)
        self.products.nearest(block, labels)
        constrained, given = fixed
        labels[constrained] = given
        return (labels,)


class DensePass(_Pass):
    """Rows in an array: a product with the centers, the nearest by it, then sums."""

    def __call__(
        self, block: Array, fixed: BlockLabels, weights: Array, before: Array
    ) -> tuple[Totals, tuple[Array]]:
        products, centers, scratch = self.products, self.centers, self.products.scratch
        labels = np.empty(len(block), dtype=np.int32)
        sums = BlockSums(centers)
        for tile in tiles(len(block), products.tile_rows):
            rows, tile_labels = block[tile], labels[tile]
            best = scratch.best[: len(rows)]
            nearest(products.of(rows, scratch), products.half_norms, best, tile_labels)
            _set_constrained(tile, fixed, labels)
            add_offsets(rows, weights[tile], centers, tile_labels, *sums.arrays)
        return (*sums.totals, np.count_nonzero(labels != before)), (labels,)


class SparsePass(_Pass):
    """CSR rows: added up where they are not zero, and the centers subtracted afterwards."""

    is_sparse = True

    def __call__(
        self, block: Any, fixed: BlockLabels, weights: Array, before: Array
    ) -> tuple[Totals, tuple[Array, ...]]:
        (labels,) = self.rows_again(block, fixed)
        sums = offset_sums(block, weights, self.centers, labels)
        return (*sums, np.count_nonzero(labels != before)), (labels,)


class BoundedPass(_Pass):
    """A dense pass that skips rows whose nearest center cannot have changed (Hamerly 2010).

    Every row carries a lower bound of its distance to all centers but its own (``-inf`` where
    nothing is known): aligned behind the labels, and returned behind them. The labels are those
    of :class:`DensePass`; bounds leave room for rounding.

    Parameters
    ----------
    moves : ndarray of shape (k,)
        How far every center has moved since the bounds were made.
    """

    #: Above this share of doubtful rows it is faster to look at the whole tile.
    MOSTLY = 0.8

    def __init__(self, centers: Array, moves: npt.NDArray[np.float64]) -> None:
        super().__init__(centers)
        k, d = centers.shape
        self._slack = float((16 + 4 * np.sqrt(d)) * np.finfo(centers.dtype).eps)
        others = np.where(np.arange(k) == np.argmax(moves), np.sort(moves)[-2:][0], moves.max())
        self._drop = (others * (1 + self._slack)).astype(centers.dtype)
        self._reach = 2 * self.products.radius

    def __call__(
        self, block: Array, fixed: BlockLabels, weights: Array, before: Array, bounds: Array
    ) -> tuple[Totals, tuple[Array, Array]]:
        labels, lower = before.copy(), bounds.copy()
        sums = BlockSums(self.centers)
        size = self.products.tile_rows
        memory = _BoundsMemory(size, self.centers)
        for tile in tiles(len(block), size):
            rows, tile_labels = block[tile], labels[tile]
            self._label(rows, tile_labels, lower[tile], memory)
            _set_constrained(tile, fixed, labels)
            add_offsets(rows, weights[tile], self.centers, tile_labels, *sums.arrays)
        return (*sums.totals, np.count_nonzero(labels != before)), (labels, lower)

    def rows_again(self, block: Any, fixed: BlockLabels) -> tuple[Array, ...]:
        """Return the labels of a block, and bounds as if nothing were known."""
        nothing = np.full(len(block), -np.inf, dtype=self.centers.dtype)
        return *super().rows_again(block, fixed), nothing

    def _label(self, rows: Array, labels: Array, lower: Array, memory: _BoundsMemory) -> None:
        products, centers = self.products, self.centers
        m = find_doubtful(rows, centers, labels, lower, self._drop, self._slack, memory.which)
        if m == 0:
            return
        if m > self.MOSTLY * len(rows):
            m, which, doubtful = len(rows), memory.everything[: len(rows)], rows
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


class LabelsOfFew:
    """A pass with the labels that it gives a few rows, as the last of its totals.

    It is aligned with these rows (:class:`FewRows`) before all else.
    """

    def __init__(self, one: _Pass) -> None:
        self._pass: Any = one
        self.again_from = tuple(place + 1 for place in one.again_from)

    def __call__(
        self, block: Any, few: BlockLabels, *aligned: Any
    ) -> tuple[Totals, tuple[Array, ...]]:
        totals, (labels, *rows) = self._pass(block, *aligned)
        return (*totals, Concatenated([labels[few[0]]])), (labels, *rows)

    def rows_again(self, block: Any, fixed: BlockLabels) -> tuple[Array, ...]:
        """Return the row values of the pass."""
        again: tuple[Array, ...] = self._pass.rows_again(block, fixed)
        return again


def _set_constrained(tile: slice, fixed: BlockLabels, labels: Array) -> None:
    """Label the constrained rows of a tile; all counted from the start of the block."""
    constrained, given = fixed
    if len(constrained):
        here = slice(*np.searchsorted(constrained, (tile.start, tile.stop)))
        labels[constrained[here]] = given[here]


def one_pass(
    source: RowSource, centers: Array, *, products: CenterProducts | None = None
) -> DensePass | SparsePass:
    """Return the pass for these rows, dense or CSR."""
    return (SparsePass if source.is_sparse else DensePass)(centers, products)


def pass_arguments(
    source: RowSource, constrained: Array, fixed: Array, weights: Any, before: Array | None
) -> tuple[Any, ...]:
    """Return what a pass is aligned with; labels before are -1 at first.

    Parameters
    ----------
    source : RowSource
        The rows.
    constrained : ndarray of int, shape (r,)
        Positions of the rows whose labels are given, ascending.
    fixed : ndarray of int, shape (r,)
        Labels of these rows; all other rows go to the nearest center.
    weights : ndarray or EqualWeights
        Weights of the rows.
    before : ndarray of int32, shape (n_rows,), or None
        Labels before.
    """
    labels = np.broadcast_to(np.int32(-1), source.n_rows) if before is None else before
    return FewRows(constrained, np.asarray(fixed, dtype=np.int32)), weights, labels


class _BoundsMemory:
    """Scratch memory for the doubtful rows of a tile."""

    def __init__(self, tile_rows: int, centers: Array) -> None:
        memory, dtype = thread_buffers(), centers.dtype
        self.which = memory.array("doubtful", tile_rows, np.int64)
        self.everything = np.arange(tile_rows)
        self.rows = memory.array("doubtful rows", (tile_rows, centers.shape[1]), dtype)
        self.best = memory.array("doubtful best", tile_rows, dtype)
        self.second = memory.array("doubtful second", tile_rows, dtype)
        self.labels = memory.array("doubtful labels", tile_rows, np.int32)
