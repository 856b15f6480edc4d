"""A pass at fixed centers and prices: rows to their cheapest clusters, and those in doubt in full.

A row goes where ``w_i ‖x_i - μ_h‖² + s_i p_h`` is least, which takes ``k`` prices and no memory but
the label. Which rows a small change of the prices could move is the band of this pass: their
clusters within reach are listed, with what each costs more than the best one. There are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sidelight._fit.tiles import TILE_ROWS, tiles
from sidelight._kernels.assignment.sized import label_and_count, list_candidates
from sidelight._kernels.cluster.lloyd import add_offsets
from sidelight._kernels.cluster.priced import cheapest_two
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.cluster._core._distances import (
    CenterProducts,
    offset_sums,
    squared_center_distances,
    squared_distances,
)

#: Margins may be wrong by this many units in the last place of the largest numbers they come from.
ROUNDING_UNITS = 64


class NearRows(NamedTuple):
    """Rows with the clusters that they may move to.

    Attributes
    ----------
    rows : ndarray of int, shape (r,)
        Their positions in the table, ascending.
    labels : ndarray of int32, shape (r,)
        Their cheapest clusters.
    sizes : ndarray of shape (r,)
        Their sizes.
    counts : ndarray of int, shape (r,)
        Number of clusters listed for each row.
    cluster : ndarray of int32
        Clusters within reach, row by row, the cheapest one among them.
    margin : ndarray of float64
        How much more each of them costs than the cheapest, per unit of size.
    """

    rows: IntArray
    labels: Array
    sizes: FloatArray
    counts: IntArray
    cluster: Array
    margin: FloatArray

    @classmethod
    def none(cls) -> NearRows:
        """Return no rows."""
        whole, number = np.empty(0, np.int64), np.empty(0)
        return cls(whole, whole.astype(np.int32), number, whole, whole.astype(np.int32), number)


@dataclass(frozen=True)
class Band:
    """Near rows of consecutive blocks; a total of :meth:`RowSource.map_reduce`."""

    pieces: tuple[NearRows, ...]

    def join(self, later: Band) -> Band:
        """Return the rows of both."""
        return Band(self.pieces + later.pieces)

    def result(self) -> NearRows:
        """Return the rows of all blocks."""
        if len(self.pieces) == 1:
            return self.pieces[0]
        return NearRows(*map(np.concatenate, zip(*self.pieces, strict=True)))


def list_near(
    costs: FloatArray,
    prices: FloatArray,
    reach: FloatArray,
    sizes: FloatArray,
    rows: IntArray,
    *,
    fewest: int = 2,
) -> tuple[Array, NearRows]:
    """Label rows, and list those with at least ``fewest`` clusters within reach of the best one.

    Parameters
    ----------
    costs : ndarray of shape (r, k)
        Costs of the rows per unit of size.
    prices, reach : ndarray of shape (k,)
        Prices, and how far each may still move.
    sizes, rows : ndarray of shape (r,)
        Sizes and positions of the rows.
    """
    n, all_sizes = len(costs), sizes
    labels, counts = np.empty(n, np.int32), np.empty(n, np.int64)
    numbers = np.arange(n)
    label_and_count(costs, prices, reach, numbers, labels, counts)
    may_move = np.flatnonzero(counts >= fewest)
    counts, sizes, rows = counts[may_move], sizes[may_move], rows[may_move]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    cluster = np.empty(indptr[-1], np.int32)
    margin, amount = np.empty(indptr[-1]), np.empty(indptr[-1])
    entries = indptr, cluster, margin, amount
    list_candidates(costs, prices, reach, may_move, all_sizes, labels, *entries)
    return labels, NearRows(rows, labels[may_move], sizes, counts, cluster, margin)


def unit_costs(
    rows: Any, weights: Array, sizes: Array, centers: Array, outlier_cost: float | None
) -> FloatArray:
    """Return ``w_i ‖x_i - μ_h‖² / s_i`` in float64, and a column for rows that are left out."""
    ratio = np.divide(weights, sizes, dtype=np.float64)
    costs = squared_center_distances(rows, centers) * ratio[:, None]
    if outlier_cost is not None:
        costs = np.column_stack([costs, outlier_cost * ratio])
    return np.ascontiguousarray(costs)


class PricedPass:
    """A pass over the rows, aligned with positions, weights, sizes and the labels before.

    Totals are the sums of weighted offsets ``x - μ`` and of weights by cluster, and of squared
    offsets; the sizes and numbers of rows by cluster, the weight of rows that are left out, the
    number of labels that are new, and the :class:`Band`. Rows that are items of their own count
    nowhere. Labels are row values; -1 is for rows that are left out.

    Parameters
    ----------
    centers : ndarray of shape (k, d)
        The centers.
    prices, reach : ndarray of shape (k,) or (k + 1,)
        Prices of the clusters, and how far each may still move; the last is for rows that are left
        out.
    outlier_cost : float or None
        Cost of leaving a row out.
    apart : ndarray of int
        Positions of the rows that are items of their own, ascending.
    is_sparse : bool
        Whether blocks are CSR matrices.
    """

    again_from = (0, 1, 2)

    def __init__(
        self,
        centers: Array,
        prices: FloatArray,
        reach: FloatArray,
        outlier_cost: float | None,
        apart: IntArray,
        is_sparse: bool,
    ) -> None:
        self._centers, self._prices, self._reach = centers, prices, reach
        self._outlier_cost, self._apart = outlier_cost, apart
        self._products = CenterProducts(centers, is_sparse=is_sparse)
        k = len(centers)
        self._half_prices = (prices[:k] / 2).astype(centers.dtype)
        scale = 2 * float(self._products.half_norms[:k].max()) + float(np.abs(prices).max())
        self._slack = ROUNDING_UNITS * float(np.finfo(centers.dtype).eps) * scale

    def __call__(
        self, block: Any, positions: range, weights: Array, sizes: Array, before: Array
    ) -> tuple[tuple[Any, ...], tuple[Array]]:
        labels, near = self._label(block, positions, weights, sizes)
        free, k = self._free(positions), len(self._centers)
        inside = free & (labels < k)
        offsets, mass, squares = self._sums(block, weights, np.where(inside, labels, -1))
        columns = len(self._prices)
        counted = labels[free]
        filled = np.bincount(counted, sizes[free], minlength=columns)
        counts = np.bincount(counted, minlength=columns)
        left_out = weights[free & (labels == k)].sum(dtype=np.float64)
        labels[labels == k] = -1
        changed = np.count_nonzero((labels != before) & free)
        return (offsets, mass, squares, filled, counts, left_out, changed, Band((near,))), (labels,)

    def rows_again(self, block: Any, *aligned: Any) -> tuple[Array]:
        """Return the labels of a block."""
        labels = self._label(block, *aligned)[0]
        labels[labels == len(self._centers)] = -1
        return (labels,)

    def _free(self, positions: range) -> Array:
        """Return which rows of a block are no items of their own."""
        free = np.ones(len(positions), dtype=bool)
        here = slice(*np.searchsorted(self._apart, (positions.start, positions.stop)))
        free[self._apart[here] - positions.start] = False
        return free

    def _label(
        self, block: Any, positions: range, weights: Array, sizes: Array
    ) -> tuple[Array, NearRows]:
        """Return labels, left out rows in the last column, and the rows within reach of others."""
        n, dtype = block.shape[0], self._centers.dtype
        labels, margins = np.empty(n, np.int32), np.empty(n, dtype)
        for tile in tiles(n, self._products.tile_rows):
            tile_sizes = sizes[tile].astype(dtype, copy=False)
            self._screen(block[tile], weights[tile], tile_sizes, labels[tile], margins[tile])
        with np.errstate(invalid="ignore"):  # an infinite reach of rows of size 0
            limit = sizes * (self._reach.max() + self._reach[labels]) + weights * self._slack
        in_doubt = np.flatnonzero((margins <= limit) & (sizes > 0) & self._free(positions))
        pieces = [NearRows.none()]
        for piece in tiles(len(in_doubt), TILE_ROWS):
            here = in_doubt[piece]
            s = sizes[here].astype(np.float64)
            costs = unit_costs(block[here], weights[here], s, self._centers, self._outlier_cost)
            exact, near = list_near(costs, self._prices, self._reach, s, here + positions.start)
            labels[here] = exact
            pieces.append(near)
        return labels, Band(tuple(pieces)).result()

    def _screen(
        self, rows: Any, weights: Array, sizes: Array, labels: Array, margins: Array
    ) -> None:
        """Label the rows of a tile in the precision of the rows, with what the next best costs."""
        products, m = self._products, rows.shape[0]
        scratch = products.scratch
        best = scratch.best[:m]
        cheapest_two(
            products.of(rows, scratch),
            products.half_norms,
            self._half_prices,
            weights,
            sizes,
            best,
            margins,
            labels,
        )
        np.subtract(margins, best, out=margins)
        margins *= 2
        if self._outlier_cost is None:
            return
        inside = weights * squared_distances(rows, self._centers[labels])
        inside += sizes * self._prices[labels]
        more = self._outlier_cost * weights + sizes * self._prices[-1] - inside
        np.minimum(np.where(more < 0, np.inf, margins), np.abs(more), out=margins)
        labels[more < 0] = len(self._centers)

    def _sums(self, block: Any, weights: Array, labels: Array) -> tuple[Array, Array, Array]:
        """Return the sums over the rows with a label of a block."""
        if not np.all(labels >= 0):
            weights = np.where(labels >= 0, weights, 0).astype(weights.dtype, copy=False)
            labels = np.maximum(labels, 0)
        centers = self._centers
        if not isinstance(block, np.ndarray):
            return offset_sums(block, weights, centers, labels)
        totals = np.zeros(centers.shape), np.zeros(len(centers)), np.zeros(1)
        scratch = np.empty_like(centers), np.empty_like(centers[0])
        for tile in tiles(len(labels)):
            add_offsets(block[tile], weights[tile], centers, labels[tile], *scratch, *totals)
        return totals
