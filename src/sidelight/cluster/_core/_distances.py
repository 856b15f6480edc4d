"""Rows and a few centers: distances, nearest centers, and the sums that move the centers.

A pass (:class:`DensePass`, :class:`SparsePass`, :class:`BoundedPass`) is a block function of
:meth:`sidelight.engine.RowSource.map_reduce`, aligned with the labels of constrained rows, the
weights of the rows and their labels before (:func:`pass_arguments`). It gives the sums of the
offsets ``x - c`` by cluster, of weights, of squared offsets and of changed labels; and the labels.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._fit.few_rows import FewRows
from sidelight._fit.tiles import TILE_ROWS, tiles
from sidelight._kernels.cluster.bounds import find_doubtful, relabel
from sidelight._kernels.cluster.icm import costs_and_nearest
from sidelight._kernels.cluster.lloyd import CENTERS_AT_ONCE, add_offsets, add_sparse_rows, nearest
from sidelight._typing import Array, IntArray
from sidelight.engine import RowSource, as_rows
from sidelight.engine.inner import Concatenated, largest_value, smaller_values

#: With many centers tiles have fewer rows than usual, in steps of this many.
TILE_STEP = 200

#: Centers are far from the origin when their middle is this many times (squared) their spread away.
FAR = 64.0
PRODUCT_BYTES = 2**21

#: Multiplications above which points are measured in blocks, by threads.
WORTH_BLOCKS = 1_000_000


def is_far(centers: Array) -> bool:
    """Whether the centers are far from the origin, compared to how far they are apart."""
    middle = centers.mean(axis=0, dtype=np.float64)
    away = centers - middle
    return bool(np.vdot(middle, middle) * len(centers) > FAR * np.vdot(away, away))


class CenterProducts:
    """Products of tiles of rows with fixed centers: what the search for the nearest needs.

    ``argmin_h ‖x - c_h‖² = argmin_h ‖c_h - s‖²/2 - (x - s)·(c_h - s)`` for any shift ``s``. Far
    from the origin the products would lose the digits that tell centers apart, so dense rows are
    then shifted to the middle of the centers.
    """

    def __init__(self, centers: Array, *, is_sparse: bool = False) -> None:
        self.centers = centers
        self.dtype = centers.dtype
        self._shift = None
        if not is_sparse and is_far(centers):
            self._shift = centers.mean(axis=0, dtype=np.float64).astype(self.dtype)
        k, d = centers.shape
        padded = -(-k // CENTERS_AT_ONCE) * CENTERS_AT_ONCE
        self._shifted = np.zeros((padded, d), dtype=self.dtype)
        self._shifted[:k] = centers if self._shift is None else centers - self._shift
        self._columns = np.ascontiguousarray(self._shifted.T) if is_sparse else None
        self.half_norms = np.full(padded, np.inf, dtype=self.dtype)
        shifted = self._shifted[:k]
        self.half_norms[:k] = np.einsum("ij,ij->i", shifted, shifted, dtype=np.float64) / 2
        fitting = PRODUCT_BYTES // (padded * self.dtype.itemsize)
        self.tile_rows = min(max(fitting // TILE_STEP, 1) * TILE_STEP, TILE_ROWS)

    @property
    def radius(self) -> float:
        """Largest distance of a center from where rows are shifted to."""
        return float(np.sqrt(2 * self.half_norms[: len(self.centers)].max()))

    @property
    def scratch(self) -> Scratch:
        """Memory of this thread."""
        scratch: Scratch | None = getattr(_threads, "scratch", None)
        shape = (*self._shifted.shape, self.tile_rows, self.dtype)
        if scratch is None or scratch.shape != shape:
            scratch = _threads.scratch = Scratch(*shape)
        return scratch

    def of(self, tile: Any, scratch: Scratch) -> Array:
        """Return the ``(k, m)`` products of the centers with ``m`` rows, in scratch memory."""
        if sparse.issparse(tile):
            return np.ascontiguousarray((tile @ self._columns).T)
        m = len(tile)
        if self._shift is not None:
            tile = np.subtract(tile, self._shift, out=scratch.rows[:m])
        out = scratch.products[: len(self._shifted) * m].reshape(-1, m)
        return np.matmul(self._shifted, tile.T, out=out)

    def nearest(self, block: Any, labels: Array) -> None:
        """Write the nearest centers of a block of rows into ``labels``."""
        scratch = self.scratch
        for tile in tiles(len(labels), self.tile_rows):
            rows = block[tile].astype(self.dtype, copy=False)
            best = scratch.best[: rows.shape[0]]
            nearest(self.of(rows, scratch), self.half_norms, best, labels[tile])


class Scratch:
    """Memory that one thread writes over for every tile.

    It stays for the next pass of the thread: the system takes longer to give half a megabyte than
    a small table takes to fill it.
    """

    def __init__(self, k: int, d: int, tile_rows: int, dtype: np.dtype[Any]) -> None:
        self.shape = k, d, tile_rows, dtype
        self.products = np.empty(k * tile_rows, dtype=dtype)
        self.best = np.empty(tile_rows, dtype=dtype)

    @cached_property
    def rows(self) -> Array:
        """Room for the rows of a tile, where they have to be shifted."""
        _, d, tile_rows, dtype = self.shape
        return np.empty((tile_rows, d), dtype=dtype)


_threads = threading.local()


# ---------------------------------------------------------------------- one pass of Lloyd's loop

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
        sums = _BlockSums(centers)
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
        sums = _BlockSums(self.centers)
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


class _BlockSums:
    """Sums over a block in float64, and scratch memory for those over a tile."""

    def __init__(self, centers: Array) -> None:
        k = len(centers)
        self.totals = np.zeros(centers.shape), np.zeros(k), np.zeros(1)
        self.arrays = np.empty_like(centers), np.empty_like(centers[0]), *self.totals


def offset_sums(
    rows: Any, weights: Array, centers: Array, labels: Array
) -> tuple[Array, Array, Array]:
    """Return the sums of weighted offsets and of weights by cluster, and of squared offsets.

    Everything is added up in float64, CSR rows where they are not zero.
    """
    centers = centers.astype(np.float64)
    labels = labels.astype(np.int32, copy=False)
    if not sparse.issparse(rows):
        added = _BlockSums(centers)
        add_offsets(rows.astype(np.float64), weights, centers, labels, *added.arrays)
        return added.totals
    sums, sizes, squares = np.zeros(centers.shape), np.zeros(len(centers)), np.zeros(1)
    add_sparse_rows(rows.data, rows.indices, rows.indptr, weights, labels, sums, sizes, squares)
    # Σ w‖x - c‖² = Σ w‖x‖² - 2 Σ c·(w x) + Σ w‖c‖²
    squares += sizes @ np.einsum("ij,ij->i", centers, centers) - 2 * np.sum(centers * sums)
    return sums - sizes[:, None] * centers, sizes, squares


class _BoundsMemory:
    """Scratch memory for the doubtful rows of a tile."""

    def __init__(self, tile_rows: int, centers: Array) -> None:
        self.which = np.empty(tile_rows, dtype=np.int64)
        self.everything = np.arange(tile_rows)
        self.rows = np.empty((tile_rows, centers.shape[1]), dtype=centers.dtype)
        self.best, self.second = np.empty((2, tile_rows), dtype=centers.dtype)
        self.labels = np.empty(tile_rows, dtype=np.int32)


# ---------------------------------------------------------------------- distances of all rows


def nearest_centers(source: RowSource, centers: Array) -> Array:
    """Label every row with its nearest center (int32)."""
    return nearest_by_products(source, CenterProducts(centers, is_sparse=source.is_sparse))


def nearest_by_products(source: RowSource, products: CenterProducts) -> Array:
    """Label every row with the center that the products make the nearest (int32)."""

    def label(block: Any) -> tuple[tuple[()], tuple[Array]]:
        labels = np.empty(block.shape[0], dtype=np.int32)
        products.nearest(block, labels)
        return (), (labels,)

    return source.map_reduce(label)[1][0]


def map_tiles(
    source: RowSource,
    function: Callable[..., Array],
    *aligned: Any,
    dtype: npt.DTypeLike = np.float64,
) -> Array:
    """Return ``function(rows, *aligned)`` of all rows, tile by tile: a number or a row for each."""

    def work(block: Any, *slices: Array) -> tuple[tuple[()], tuple[Array]]:
        n, found = block.shape[0], np.empty(0, dtype=dtype)
        for tile in tiles(n):
            piece = function(block[tile], *(values[tile] for values in slices))
            if len(piece) == n:
                return (), (piece.astype(dtype, copy=False),)
            if tile.start == 0:
                found = np.empty((n, *piece.shape[1:]), dtype=dtype)
            found[tile] = piece
        return (), (found,)

    return source.map_reduce(work, aligned=aligned)[1][0]


def center_distances(source: RowSource, centers: Array) -> Array:
    """Return the distances of all rows to all centers, ``(n, k)``, in the type of the rows."""
    return map_tiles(
        source, lambda rows: np.sqrt(squared_center_distances(rows, centers)), dtype=source.dtype
    )


def squared_center_distances(rows: Any, centers: Array) -> Array:
    """Return ``‖x‖² - 2 x·c + ‖c‖²``, ``(m, k)`` in float64, from the middle of the centers."""
    if sparse.issparse(rows):
        rows, points = rows.astype(np.float64), centers.astype(np.float64)
        norms = sparse_norms(rows)
    else:
        middle = centers.mean(axis=0, dtype=np.float64)
        rows, points = rows - middle, centers - middle
        norms = np.einsum("ij,ij->i", rows, rows)
    scale = norms[:, None] + np.einsum("ij,ij->i", points, points)
    return without_noise(scale - 2 * (rows @ points.T), scale)


def labeled_distances(
    source: RowSource, centers: Array, labels: Array, *, dtype: npt.DTypeLike | None = None
) -> Array:
    """Return ``‖x_i - c_{l_i}‖²`` of every row, in the type of the rows or as ``dtype``."""
    return map_tiles(
        source,
        lambda rows, labels: squared_distances(rows, centers[labels]),
        labels,
        dtype=source.dtype if dtype is None else dtype,
    )


def squared_distances(rows: Any, points: Array) -> Array:
    """Return ``‖x_i - p_i‖²`` of rows and points, or of rows and one point.

    Dense rows are subtracted first: equal rows are at distance exactly 0.
    """
    if not sparse.issparse(rows):
        offsets = rows - points
        return np.einsum("ij,ij->i", offsets, offsets)
    if points.ndim == 1:
        products = rows @ points
        point_norms = points @ points
    else:
        products = np.asarray(rows.multiply(points).sum(axis=1)).ravel()
        point_norms = np.einsum("ij,ij->i", points, points)
    scale = sparse_norms(rows) + point_norms
    return without_noise(scale - 2 * products, scale)


def sparse_norms(rows: Any) -> Array:
    """Return the squared lengths of CSR rows."""
    return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()


def without_noise(squared: Array, scale: Array) -> Array:
    """Set squared distances within rounding error to zero."""
    return np.where(squared > 8 * np.finfo(squared.dtype).eps * scale, squared, 0)


def distances_to(source: RowSource, point: Array) -> Array:
    """Return ``‖x_i - p‖²`` of every row, in the type of the rows."""
    return map_tiles(source, lambda rows: squared_distances(rows, point), dtype=source.dtype)


def farthest_rows(
    costs: Array, n: int, measure: Callable[[int], Array], *, last: npt.ArrayLike = ()
) -> IntArray:
    """Choose rows for empty clusters: far from their centers and from the rows chosen before.

    An empty cluster may move anywhere at no cost, so that the next assignment is no worse.

    Parameters
    ----------
    costs : ndarray of shape (n_rows,)
        Cost of every row in its cluster; 0 for rows that may not be chosen.
    n : int
        Number of empty clusters; fewer rows are chosen when no other row costs anything.
    measure : callable
        ``measure(row)`` is the cost of all rows in a cluster with its center at this row.
    last : array of int, default=()
        Rows that constraints hold in their clusters: chosen only where no other row costs anything.
    """
    chosen: list[int] = []
    free = costs.copy()
    free[np.asarray(last, dtype=np.int64)] = 0
    if not len(free):
        return np.array(chosen, dtype=np.int64)
    largest, row = largest_value(free)
    if not largest > 0:
        free = costs.copy()
        largest, row = largest_value(free)
    while largest > 0:
        chosen.append(row)
        if len(chosen) == n:
            break
        free = smaller_values(free, measure(row))
        free[row] = 0
        largest, row = largest_value(free)
    return np.array(chosen, dtype=np.int64)


class PointCosts:
    """Costs of points, dense or CSR, at centers that move.

    Dense points are taken relative to their mean, so that data far from the origin keeps its
    digits.

    Parameters
    ----------
    points : ndarray or CSR of shape (n, d)
        The points.
    weights : ndarray of shape (n,), default=None
        Weights of the points; 1 by default.
    """

    def __init__(self, points: Any, weights: Array | None = None) -> None:
        self._shift: Any = 0.0
        if not sparse.issparse(points) and len(points):
            shift = points.mean(axis=0, dtype=np.float64).astype(points.dtype)
            points = points - shift
            self._shift = shift.astype(np.float64)  # what was subtracted, as rounded as it was
        self._points = points
        self._squares = squared_norms(points)
        self._weights = np.ones(len(self._squares)) if weights is None else weights

    def at(self, centers: Array, places: IntArray | None = None) -> tuple[Array, IntArray]:
        """Return ``w_i ‖x_i - μ_h‖²`` of points and centers, and the cheapest centers.

        ``places`` are those of the points; all by default.
        """
        relative = centers - self._shift
        squares = squared_norms(relative)
        directions = relative.T.astype(self._points.dtype)

        def measure(
            block: Any, norms: Array, weights: Array
        ) -> tuple[tuple[()], tuple[Array, ...]]:
            cost, nearest = block @ directions, np.empty(len(norms), dtype=np.int64)
            costs_and_nearest(cost, norms, squares, weights, nearest)
            return (), (cost, nearest)

        points, *aligned = self._points, self._squares, self._weights
        if places is not None:
            points, *aligned = points[places], *(piece[places] for piece in aligned)
        if len(aligned[0]) * centers.size < WORTH_BLOCKS:
            cost, nearest = measure(points, *aligned)[1]
        else:
            cost, nearest = as_rows(points).map_reduce(measure, aligned=aligned)[1]
        return cost, nearest

    def moved(
        self, centers: Array, places: IntArray, before: IntArray, after: IntArray
    ) -> tuple[Array, Array, Array]:
        """Return what is added to the sums of a pass when points change their clusters.

        These are the sums of offsets ``x - c`` and of weights by cluster, and of squared offsets.
        """
        points, weights = self._points[places], self._weights[places]
        relative = centers - self._shift
        gained = offset_sums(points, weights, relative, after)
        lost = offset_sums(points, -weights, relative, before)
        offsets, sizes, squares = (plus + minus for plus, minus in zip(gained, lost, strict=True))
        return offsets, sizes, squares

    def farthest(self, centers: Array, labels: Array, n: int) -> Array:
        """Return at most ``n`` points for empty clusters, see :func:`farthest_rows`."""
        if n == 0:
            return centers[:0]
        costs = self.at(centers)[0][np.arange(len(labels)), labels]
        return self._dense(
            farthest_rows(costs, n, lambda place: self.at(self._dense([place]))[0][:, 0])
        )

    def _dense(self, places: npt.ArrayLike) -> Array:
        return dense(self._points[np.asarray(places, dtype=np.int64)]) + self._shift


def squared_norms(points: Any) -> Array:
    """Return the squared lengths of dense or CSR rows, in float64."""
    if sparse.issparse(points):
        return np.asarray(points.multiply(points).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", points, points, dtype=np.float64)


def dense(points: Any) -> Array:
    """Return a few points as an array."""
    return np.asarray(points.toarray() if sparse.issparse(points) else points)


def dense_rows(source: RowSource, rows: npt.ArrayLike) -> Array:
    """Return a few rows as an array."""
    return dense(source.take(rows))
