"""Costs of rows at centers and the best centers of clusters: squared distances and the 1-norm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np

from sidelight._fit.tiles import EqualWeights, tiles
from sidelight._kernels.cluster.lloyd import add_offsets, add_sparse_rows
from sidelight._kernels.cluster.manhattan import (
    column_medians,
    dense_column_medians,
    manhattan,
    sparse_manhattan,
)
from sidelight._typing import Array
from sidelight.cluster._core._distances import (
    dense_rows,
    farthest_rows,
    is_far,
    labeled_distances,
    sparse_norms,
    squared_center_distances,
)
from sidelight.engine import RowSource

Statistics: TypeAlias = Any


class SizedGeometry(Protocol):
    """Costs of rows at centers, and the best centers of clusters; nothing in it changes."""

    source: RowSource
    weights: Array | None

    def costs(self, centers: Array, outlier_cost: float | None = None) -> Array:
        """Return the weighted cost of every row at every center, up to a constant of the row.

        There is one column more for rows that are left out at a fixed cost.
        """

    def statistics(self, centers: Array, labels: Array, costs: Array) -> tuple[float, Statistics]:
        """Return ``Σ_i w_i cost(x_i, c_{l_i})`` of the rows with a label, and sums for ``update``.

        ``costs`` are those at these centers.
        """

    def update(self, centers: Array, labels: Array, statistics: Statistics) -> Array:
        """Return the best centers for the labels; those of empty clusters stay."""

    def distances(self, points: Array) -> Array:
        """Return the cost of every row at every point, without the weights."""

    def labeled_distances(self, points: Array, labels: Array) -> Array:
        """Return the cost of every row at the point of its label, without the weights."""


class _Geometry:
    """Rows with weights."""

    def __init__(self, source: RowSource, weights: Array | None) -> None:
        self.source = source
        self.weights = weights

    @property
    def _weights(self) -> Any:
        return EqualWeights(self.source) if self.weights is None else self.weights

    @property
    def _weigh(self) -> Callable[[Array, Array], None]:
        """What multiplies costs by the weights of their rows, in place."""
        return _leave_alone if self.weights is None else _multiply_rows


def _multiply_rows(costs: Array, weights: Array) -> None:
    costs *= weights[:, None].astype(costs.dtype, copy=False)


def _leave_alone(costs: Array, weights: Array) -> None:
    pass


class Squares(_Geometry):
    """Squared distances and means."""

    def costs(self, centers: Array, outlier_cost: float | None = None) -> Array:
        """Return ``w (‖c - s‖² - 2 (x - s)·(c - s))``, with ``s`` in the middle of the centers.

        Without ``‖x - s‖²`` the numbers are smaller and keep the digits that tell centers apart;
        the column of rows left out then costs ``w (c_out - ‖x - s‖²)``. Unless the middle is far
        away, or there is such a column, the rows need not be shifted themselves: their part of the
        product, ``2 s·(c - s)``, is added once for all.
        """
        k, d = centers.shape
        middle = np.zeros(d)
        if not self.source.is_sparse:
            middle = centers.mean(axis=0, dtype=np.float64).astype(centers.dtype)
        away = centers - middle.astype(centers.dtype)
        shift = outlier_cost is not None or is_far(centers)
        constants = np.einsum("ij,ij->i", away, away, dtype=np.float64)
        if not shift:
            constants += 2 * (away.astype(np.float64) @ middle)
        norms = constants.astype(self.source.dtype)
        factors = np.ascontiguousarray(-2 * away.T)
        n_columns = k if outlier_cost is None else k + 1
        dtype, is_sparse, weigh = self.source.dtype, self.source.is_sparse, self._weigh

        def measure(block: Any, weights: Array) -> tuple[tuple[()], tuple[Array]]:
            out = np.empty((block.shape[0], n_columns), dtype=dtype)
            for tile in tiles(len(out)):
                rows, costs = block[tile], out[tile]
                if shift and not is_sparse:
                    rows = rows - middle.astype(rows.dtype)
                if n_columns == k and not is_sparse:
                    np.matmul(rows, factors, out=costs)
                else:
                    costs[:, :k] = rows @ factors
                costs[:, :k] += norms
                if outlier_cost is not None:
                    costs[:, k] = outlier_cost - _squared_norms(rows)
                weigh(costs, weights[tile])
            return (), (out,)

        return self.source.map_reduce(measure, aligned=(self._weights,))[1][0]

    def statistics(self, centers: Array, labels: Array, costs: Array) -> tuple[float, Statistics]:
        """Add up the squared offsets from the centers, the offsets themselves and the weights."""
        k, is_sparse = len(centers), self.source.is_sparse

        def add_up(block: Any, weights: Array, labels: Array) -> tuple[tuple[Any, ...], tuple[()]]:
            inside = labels >= 0
            if not np.all(inside):
                block, weights, labels = block[inside], weights[inside], labels[inside]
            offsets, sizes, squares = np.zeros(centers.shape), np.zeros(k), np.zeros(1)
            totals = offsets, sizes, squares
            if is_sparse:
                add_sparse_rows(block.data, block.indices, block.indptr, weights, labels, *totals)
                wide = centers.astype(np.float64)
                squares += sizes @ np.einsum("ij,ij->i", wide, wide) - 2 * np.sum(wide * offsets)
                return (offsets - sizes[:, None] * wide, sizes, squares), ()
            scratch = np.empty_like(centers), np.empty_like(centers[0])
            for tile in tiles(len(labels)):
                add_offsets(block[tile], weights[tile], centers, labels[tile], *scratch, *totals)
            return totals, ()

        totals, _ = self.source.map_reduce(add_up, aligned=(self._weights, labels))
        offsets, sizes, squares = totals
        return max(float(squares[0]), 0.0), (offsets, sizes)

    def update(self, centers: Array, labels: Array, statistics: Statistics) -> Array:
        """Move to the means."""
        offsets, sizes = statistics
        filled = sizes > 0
        moved = centers.astype(np.float64)
        moved[filled] += offsets[filled] / sizes[filled, None]
        return moved.astype(centers.dtype)

    def distances(self, points: Array) -> Array:
        """Return squared distances."""
        dtype = self.source.dtype

        def measure(block: Any) -> tuple[tuple[()], tuple[Array]]:
            squared = np.empty((block.shape[0], len(points)), dtype=dtype)
            for tile in tiles(len(squared)):
                squared[tile] = squared_center_distances(block[tile], points)
            return (), (squared,)

        return self.source.map_reduce(measure)[1][0]

    def labeled_distances(self, points: Array, labels: Array) -> Array:
        """Return squared distances of rows to the points of their labels."""
        return labeled_distances(self.source, points, labels)


class Manhattan(_Geometry):
    """Distances in the 1-norm and lower medians."""

    def costs(self, centers: Array, outlier_cost: float | None = None) -> Array:
        """Return ``w ‖x - c‖₁``."""
        k, dtype, weigh = len(centers), self.source.dtype, self._weigh

        def measure(block: Any, weights: Array) -> tuple[tuple[()], tuple[Array]]:
            n_columns = k if outlier_cost is None else k + 1
            out = np.empty((block.shape[0], n_columns), dtype=dtype)
            _measure_manhattan(block, centers, out[:, :k])
            if outlier_cost is not None:
                out[:, k] = outlier_cost
            weigh(out, weights)
            return (), (out,)

        return self.source.map_reduce(measure, aligned=(self._weights,))[1][0]

    def labeled_distances(self, points: Array, labels: Array) -> Array:
        """Return distances in the 1-norm of rows to the points of their labels."""
        return self.distances(points)[np.arange(len(labels)), labels]

    def statistics(self, centers: Array, labels: Array, costs: Array) -> tuple[float, Statistics]:
        """Add up the distances; medians need no sums."""
        inside = np.flatnonzero(labels >= 0)
        return float(costs[inside, labels[inside]].sum(dtype=np.float64)), None

    def update(self, centers: Array, labels: Array, statistics: Statistics) -> Array:
        """Move to the lower medians, one cluster in memory at a time."""
        moved = centers.copy()
        for h in range(len(centers)):
            members = np.flatnonzero(labels == h)
            if self.weights is not None:
                members = members[self.weights[members] > 0]
            if len(members) == 0:
                continue
            rows = self.source.take(members)
            weights = np.ones(len(members)) if self.weights is None else self.weights[members]
            weights = weights.astype(np.float64)
            if self.source.is_sparse:
                columns = rows.tocsc()
                entries = columns.data, columns.indices, columns.indptr
                column_medians(*entries, weights, weights.sum(), moved[h])
            elif self.weights is None:
                middle = (len(members) - 1) // 2
                moved[h] = np.partition(rows, middle, axis=0)[middle]
            else:
                dense_column_medians(rows, weights, moved[h])
        return moved

    def distances(self, points: Array) -> Array:
        """Return distances in the 1-norm."""
        dtype = self.source.dtype

        def measure(block: Any) -> tuple[tuple[()], tuple[Array]]:
            out = np.empty((block.shape[0], len(points)), dtype=dtype)
            _measure_manhattan(block, points, out)
            return (), (out,)

        return self.source.map_reduce(measure)[1][0]


def _measure_manhattan(block: Any, points: Array, out: Array) -> None:
    if isinstance(block, np.ndarray):
        manhattan(block, points, out)
        return
    norms = np.abs(points).sum(axis=1, dtype=np.float64)
    sparse_manhattan(block.data, block.indices, block.indptr, points, norms, out)


def reseed_empty(
    geometry: SizedGeometry,
    centers: Array,
    labels: Array,
    counts: Array,
    outlier_cost: float | None,
) -> Array:
    """Return the centers with a row far from all of them for every cluster without rows."""
    empty = np.flatnonzero(counts == 0)
    if len(empty) == 0:
        return centers
    labels = np.asarray(labels)
    costs = np.array(geometry.labeled_distances(centers, np.maximum(labels, 0)))
    if outlier_cost is not None:
        costs[labels < 0] = outlier_cost
    if geometry.weights is not None:
        costs[geometry.weights == 0] = 0

    def measure(row: int) -> Array:
        return geometry.distances(dense_rows(geometry.source, [row]))[:, 0]

    chosen = farthest_rows(costs, len(empty), measure)
    filled = centers.copy()
    filled[empty[: len(chosen)]] = dense_rows(geometry.source, chosen)
    return filled


def _squared_norms(rows: Any) -> Array:
    return np.einsum("ij,ij->i", rows, rows) if isinstance(rows, np.ndarray) else sparse_norms(rows)
