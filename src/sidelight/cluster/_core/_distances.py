"""Distances between blocks of rows and a few centres, tile by tile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._fit.tiles import TILE_ROWS, tiles
from sidelight._kernels.cluster.lloyd import CENTERS_AT_ONCE, nearest
from sidelight._typing import Array, IntArray
from sidelight.engine import RowSource

#: With many centers tiles have fewer rows than usual, in steps of this many.
TILE_STEP = 200

#: Centres are far from the origin when their middle is this many times (squared) their spread away.
FAR = 64.0
PRODUCT_BYTES = 2**21


def is_far(centers: Array) -> bool:
    """Tell whether the centres are far from the origin, compared to how far they are apart."""
    middle = centers.mean(axis=0, dtype=np.float64)
    away = centers - middle
    return bool(np.vdot(middle, middle) * len(centers) > FAR * np.vdot(away, away))


class CenterProducts:
    """Products of tiles of rows with fixed centres: what the search for the nearest needs.

    ``argmin_h ‖x - c_h‖² = argmin_h ‖c_h - s‖²/2 - (x - s)·(c_h - s)`` for any shift ``s``. Far
    from the origin the products would lose the digits that tell centres apart, so dense rows are
    then shifted to the middle of the centres.
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
        """Largest distance of a centre from where rows are shifted to."""
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
        """Return the ``(k, m)`` products of the centres with ``m`` rows, in scratch memory."""
        if sparse.issparse(tile):
            return np.ascontiguousarray((tile @ self._columns).T)
        m = len(tile)
        if self._shift is not None:
            tile = np.subtract(tile, self._shift, out=scratch.rows[:m])
        out = scratch.products[: len(self._shifted) * m].reshape(-1, m)
        return np.matmul(self._shifted, tile.T, out=out)

    def nearest(self, block: Any, labels: Array) -> None:
        """Write the nearest centres of a block of rows into ``labels``."""
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


def nearest_centers(source: RowSource, centers: Array) -> Array:
    """Label every row with its nearest centre (int32)."""
    products = CenterProducts(centers, is_sparse=source.is_sparse)

    def label(block: Any) -> tuple[tuple[()], tuple[Array]]:
        labels = np.empty(block.shape[0], dtype=np.int32)
        products.nearest(block, labels)
        return (), (labels,)

    return source.map_reduce(label)[1][0]


def center_distances(source: RowSource, centers: Array) -> Array:
    """Return the distances of all rows to all centres, ``(n, k)``, in the type of the rows."""

    def measure(block: Any) -> tuple[tuple[()], tuple[Array]]:
        distances = np.empty((block.shape[0], len(centers)), dtype=source.dtype)
        for tile in tiles(len(distances)):
            np.sqrt(squared_center_distances(block[tile], centers), out=distances[tile])
        return (), (distances,)

    return source.map_reduce(measure)[1][0]


def squared_center_distances(rows: Any, centers: Array) -> Array:
    """Return ``‖x‖² - 2 x·c + ‖c‖²``, ``(m, k)`` in float64, from the middle of the centres."""
    if sparse.issparse(rows):
        rows, points = rows.astype(np.float64), centers.astype(np.float64)
        norms = sparse_norms(rows)
    else:
        middle = centers.mean(axis=0, dtype=np.float64)
        rows, points = rows - middle, centers - middle
        norms = np.einsum("ij,ij->i", rows, rows)
    scale = norms[:, None] + np.einsum("ij,ij->i", points, points)
    return without_noise(scale - 2 * (rows @ points.T), scale)


def labelled_distances(source: RowSource, centers: Array, labels: Array) -> Array:
    """Return ``‖x_i - c_{l_i}‖²`` of every row."""

    def cost(block: Any, labels: Array) -> tuple[tuple[()], tuple[Array]]:
        costs = np.empty(len(labels), dtype=source.dtype)
        for tile in tiles(len(labels)):
            costs[tile] = squared_distances(block[tile], centers[labels[tile]])
        return (), (costs,)

    return source.map_reduce(cost, aligned=(labels,))[1][0]


def squared_distances(rows: Any, points: Array) -> Array:
    """Return ``‖x_i - p_i‖²`` of rows and points, or of rows and one point.

    Dense rows are subtracted first: equal rows are at distance exactly 0.
    """
    if not sparse.issparse(rows):
        gaps = rows - points
        return np.einsum("ij,ij->i", gaps, gaps)
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
    """Take what is left of equal rows after ``scale - 2 x·c`` for what it is: rounding."""
    return np.where(squared > 8 * np.finfo(squared.dtype).eps * scale, squared, 0)


def dense_rows(source: RowSource, rows: npt.ArrayLike) -> Array:
    """Return a few rows as a dense array."""
    taken = source.take(rows)
    return taken.toarray() if source.is_sparse else taken


def distances_to(source: RowSource, point: Array) -> Array:
    """Return ``‖x_i - p‖²`` of every row."""

    def measure(block: Any) -> tuple[tuple[()], tuple[Array]]:
        squared = np.empty(block.shape[0], dtype=source.dtype)
        for tile in tiles(len(squared)):
            squared[tile] = squared_distances(block[tile], point)
        return (), (squared,)

    return source.map_reduce(measure)[1][0]


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
    if not np.any(free > 0):
        free = costs.copy()
    while len(chosen) < n and len(free):
        row = int(np.argmax(free))
        if free[row] <= 0:
            break
        chosen.append(row)
        free = np.minimum(free, measure(row))
        free[row] = 0
    return np.array(chosen, dtype=np.int64)
