"""Distances between blocks of rows and a few centres, tile by tile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._kernels.lloyd import nearest
from sidelight.engine import RowSource

Array = npt.NDArray[Any]

#: Rows that are worked on together, so that what belongs to them stays in the processor's cache.
TILE_ROWS = 2048
PRODUCT_BYTES = 2**19


def tiles(n_rows: int, size: int = TILE_ROWS) -> Iterator[slice]:
    """Cut a block into tiles."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


class CenterProducts:
    """Products of tiles of rows with fixed centres: what the search for the nearest needs.

    ``argmin_h ‖x - c_h‖² = argmin_h ‖c_h - s‖²/2 - (x - s)·(c_h - s)`` for any shift ``s``. Far
    from the origin the products would lose the digits that tell centres apart, so dense rows are
    then shifted to the middle of the centres.
    """

    def __init__(self, centers: Array, *, is_sparse: bool = False) -> None:
        self.centers = centers
        self.dtype = centers.dtype
        middle = centers.mean(axis=0, dtype=np.float64)
        spread = np.sum((centers - middle) ** 2) / len(centers)
        far = not is_sparse and np.sum(middle**2) > spread
        self._shift = middle.astype(self.dtype) if far else None
        shifted = centers if self._shift is None else centers - self._shift
        self._shifted = np.ascontiguousarray(shifted)
        self.half_norms = (np.sum(shifted.astype(np.float64) ** 2, axis=1) / 2).astype(self.dtype)
        fitting = PRODUCT_BYTES // (len(centers) * self.dtype.itemsize)
        self.tile_rows = min(max(fitting // 256 * 256, 256), TILE_ROWS)
        self._scratch = threading.local()

    def of(self, tile: Any) -> Array:
        """Return the ``(k, m)`` products of the centres with ``m`` rows (scratch space)."""
        if sparse.issparse(tile):
            return np.ascontiguousarray((tile @ self._shifted.T).T)
        if self._shift is not None:
            tile = np.subtract(tile, self._shift, out=self.scratch("rows", tile.shape))
        out = self.scratch("products", (len(self.centers), len(tile)))
        return np.matmul(self._shifted, tile.T, out=out)

    def nearest(self, tile: Any, labels: Array) -> None:
        """Write the nearest centres of the rows into ``labels``."""
        nearest(self.of(tile), self.half_norms, self.scratch("best", labels.shape), labels)

    def scratch(self, name: str, shape: tuple[int, ...]) -> Array:
        """Memory of this thread to be written over."""
        size = int(np.prod(shape))
        buffer = getattr(self._scratch, name, None)
        if buffer is None or buffer.size < size:
            buffer = np.empty(size, dtype=self.dtype)
            setattr(self._scratch, name, buffer)
        return buffer[:size].reshape(shape)


def nearest_centers(source: RowSource, centers: Array) -> Array:
    """Label every row with its nearest centre (int32)."""
    products = CenterProducts(centers, is_sparse=source.is_sparse)

    def label(block: Any) -> tuple[tuple[()], tuple[Array]]:
        labels = np.empty(block.shape[0], dtype=np.int32)
        for tile in tiles(len(labels), products.tile_rows):
            products.nearest(block[tile].astype(centers.dtype, copy=False), labels[tile])
        return (), (labels,)

    return source.map_reduce(label)[1][0]


def center_distances(source: RowSource, centers: Array) -> Array:
    """Return the distances of all rows to all centres, ``(n, k)``, in the type of the rows."""

    def measure(block: Any) -> tuple[tuple[()], tuple[Array]]:
        distances = np.empty((block.shape[0], len(centers)), dtype=source.dtype)
        for tile in tiles(len(distances)):
            for h, center in enumerate(centers):
                np.sqrt(squared_distances(block[tile], center), out=distances[tile, h])
        return (), (distances,)

    return source.map_reduce(measure)[1][0]


def labelled_costs(
    source: RowSource, centers: Array, labels: Array, sample_weight: Array | None = None
) -> Array:
    """Return ``w_i ‖x_i - c_{l_i}‖²`` of every row."""

    def cost(block: Any, labels: Array) -> tuple[tuple[()], tuple[Array]]:
        costs = np.empty(len(labels), dtype=source.dtype)
        for tile in tiles(len(labels)):
            costs[tile] = squared_distances(block[tile], centers[labels[tile]])
        return (), (costs,)

    costs = source.map_reduce(cost, aligned=(labels,))[1][0]
    return costs if sample_weight is None else costs * sample_weight


def squared_distances(rows: Any, points: Array) -> Array:
    """Return ``‖x_i - p_i‖²`` of rows and points, or of rows and one point.

    Dense rows are subtracted first: equal rows are at distance exactly 0.
    """
    if not sparse.issparse(rows):
        gaps = rows - points
        return np.einsum("ij,ij->i", gaps, gaps)
    norms = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    if points.ndim == 1:
        products = rows @ points
        point_norms = points @ points
    else:
        products = np.asarray(rows.multiply(points).sum(axis=1)).ravel()
        point_norms = np.einsum("ij,ij->i", points, points)
    squared = norms - 2 * products + point_norms
    # What is left of equal rows after the subtraction is rounding.
    noise = 8 * np.finfo(squared.dtype).eps * (norms + point_norms)
    return np.where(squared > noise, squared, 0)


def mean_variance(source: RowSource, near: Array) -> float:
    """Return the mean over the features of their variance; ``near`` is any point among the rows."""
    reference = np.zeros_like(near) if source.is_sparse else near

    def moments(block: Any) -> tuple[tuple[Array, Array], tuple[()]]:
        first, second = np.zeros(source.n_features), np.zeros(source.n_features)
        for tile in tiles(block.shape[0]):
            rows = block[tile]
            if sparse.issparse(rows):
                first += rows.sum(axis=0)
                second += rows.multiply(rows).sum(axis=0)
            else:
                gaps = rows - reference
                first += gaps.sum(axis=0)
                second += np.einsum("ij,ij->j", gaps, gaps)
        return (first, second), ()

    (first, second), _ = source.map_reduce(moments)
    return float(np.mean(second / source.n_rows - (first / source.n_rows) ** 2))
