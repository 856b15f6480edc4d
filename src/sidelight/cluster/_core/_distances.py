"""Rows and a few centers: distances, nearest centers, and the sums that move the centers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._fit.buffers import thread_buffers
from sidelight._fit.tiles import TILE_ROWS, tiles
from sidelight._kernels.cluster.icm import costs_and_nearest
from sidelight._kernels.cluster.lloyd import CENTERS_AT_ONCE, add_offsets, add_sparse_rows, nearest
from sidelight._typing import Array, IntArray
from sidelight.engine import RowSource, as_rows
from sidelight.engine.inner import largest_value, smaller_values

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
        k, d = self._shifted.shape
        return Scratch(k, d, self.tile_rows, self.dtype)

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
    """Memory that one thread writes over for every tile."""

    def __init__(self, k: int, d: int, tile_rows: int, dtype: np.dtype[Any]) -> None:
        self._shape = tile_rows, d
        self._memory = thread_buffers()
        self.products = self._memory.array("products with centers", k * tile_rows, dtype)
        self.best = self._memory.array("best products", tile_rows, dtype)

    @property
    def rows(self) -> Array:
        """Room for the rows of a tile, where they have to be shifted."""
        return self._memory.array("shifted rows", self._shape, self.products.dtype)


# ---------------------------------------------------------------------- sums that move the centers


class BlockSums:
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
        added = BlockSums(centers)
        add_offsets(rows.astype(np.float64), weights, centers, labels, *added.arrays)
        return added.totals
    sums, sizes, squares = np.zeros(centers.shape), np.zeros(len(centers)), np.zeros(1)
    add_sparse_rows(rows.data, rows.indices, rows.indptr, weights, labels, sums, sizes, squares)
    # Σ w‖x - c‖² = Σ w‖x‖² - 2 Σ c·(w x) + Σ w‖c‖²
    squares += sizes @ np.einsum("ij,ij->i", centers, centers) - 2 * np.sum(centers * sums)
    return sums - sizes[:, None] * centers, sizes, squares


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
