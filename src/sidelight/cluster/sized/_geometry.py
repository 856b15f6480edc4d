"""Costs of rows at centres and the best centres of clusters: squared distances and the 1-norm."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from sidelight._fit.tiles import EqualWeights, tiles
from sidelight._kernels.cluster.lloyd import add_gaps, add_sparse_rows
from sidelight._kernels.cluster.manhattan import (
    column_medians,
    dense_column_medians,
    manhattan,
    sparse_manhattan,
)
from sidelight._typing import Array
from sidelight.cluster._core._distances import (
    dense_rows,
    is_far,
    sparse_norms,
    squared_center_distances,
)
from sidelight.engine import RowSource


class Geometry(Protocol):
    """What a loop over assignments and centres needs to know about distances."""

    source: RowSource
    weights: Array | None

    def costs(self, centers: Array, outlier_cost: float | None = None) -> Array:
        """Cost of every row at every centre, up to a constant of the row.

        There is one column more for rows that are left out at a fixed cost. The array is written
        over by the next call.
        """

    def value(self, centers: Array, labels: Array) -> float:
        """Return ``Σ_i w_i cost(x_i, c_{l_i})`` over the rows with a label."""

    def move(self, centers: Array, labels: Array) -> Array:
        """Return the best centres, after ``value``; those of empty clusters stay."""

    def distances(self, points: Array) -> Array:
        """Return the cost of every row at every point, without the weights."""


class _Geometry:
    """Rows with weights, and one array of costs that is used again and again."""

    def __init__(self, source: RowSource, weights: Array | None) -> None:
        self.source = source
        self.weights = weights
        self._costs = np.empty((0, 0), dtype=source.dtype)

    def _room(self, n_columns: int) -> Array:
        if self._costs.shape[1] != n_columns:
            self._costs = np.empty((self.source.n_rows, n_columns), dtype=self.source.dtype)
        return self._costs

    def _weigh(self, costs: Array, rows: slice) -> None:
        if self.weights is not None:
            costs *= self.weights[rows, None].astype(costs.dtype, copy=False)


class Squares(_Geometry):
    """Squared distances and means."""

    def __init__(self, source: RowSource, weights: Array | None) -> None:
        super().__init__(source, weights)
        self._gaps: tuple[Array, Array] | None = None

    def costs(self, centers: Array, outlier_cost: float | None = None) -> Array:
        """Write ``w (‖c - s‖² - 2 (x - s)·(c - s))``, with ``s`` in the middle of the centres.

        Without ``‖x - s‖²`` the numbers are smaller and keep the digits that tell centres apart;
        the column of rows left out then costs ``w (c_out - ‖x - s‖²)``. Unless the middle is far
        away, or these rows left out are wanted, the rows need not be shifted themselves: their
        part of the product, ``2 s·(c - s)``, is added once for all.
        """
        k = len(centers)
        out = self._room(k if outlier_cost is None else k + 1)
        middle = np.zeros(centers.shape[1])
        if not self.source.is_sparse:
            middle = centers.mean(axis=0, dtype=np.float64).astype(centers.dtype)
        away = centers - middle.astype(centers.dtype)
        shift = outlier_cost is not None or is_far(centers)
        constants = np.einsum("ij,ij->i", away, away, dtype=np.float64)
        if not shift:
            constants += 2 * (away.astype(np.float64) @ middle)
        norms = constants.astype(out.dtype)
        factors = np.ascontiguousarray(-2 * away.T)

        def write(block: Any, positions: range) -> tuple[tuple[()], tuple[()]]:
            for tile in tiles(len(positions)):
                rows = block[tile]
                if shift and not self.source.is_sparse:
                    rows = rows - middle.astype(rows.dtype)
                here = slice(positions.start + tile.start, positions.start + tile.stop)
                costs = out[here]
                if costs.shape[1] == k and not self.source.is_sparse:
                    np.matmul(rows, factors, out=costs)
                else:
                    costs[:, :k] = rows @ factors
                costs[:, :k] += norms
                if outlier_cost is not None:
                    costs[:, k] = outlier_cost - _squared_norms(rows)
                self._weigh(costs, here)
            return (), ()

        self.source.map_reduce(write, aligned=(range(self.source.n_rows),))
        return out

    def value(self, centers: Array, labels: Array) -> float:
        """Add up the squared gaps, and the gaps for the next centres with them."""
        k = len(centers)
        weights = EqualWeights(self.source) if self.weights is None else self.weights

        def add_up(block: Any, weights: Array, labels: Array) -> tuple[tuple[Any, ...], tuple[()]]:
            inside = labels >= 0
            if not np.all(inside):
                block, weights, labels = block[inside], weights[inside], labels[inside]
            gaps, sizes, squares = np.zeros(centers.shape), np.zeros(k), np.zeros(1)
            if self.source.is_sparse:
                add_sparse_rows(
                    block.data, block.indices, block.indptr, weights, labels, gaps, sizes, squares
                )
                wide = centers.astype(np.float64)
                squares += sizes @ np.einsum("ij,ij->i", wide, wide) - 2 * np.sum(wide * gaps)
                return (gaps - sizes[:, None] * wide, sizes, squares), ()
            tile_gaps, tile_squares = np.empty_like(centers), np.empty_like(centers[0])
            for tile in tiles(len(labels)):
                add_gaps(
                    block[tile],
                    weights[tile],
                    centers,
                    labels[tile],
                    tile_gaps,
                    tile_squares,
                    gaps,
                    sizes,
                    squares,
                )
            return (gaps, sizes, squares), ()

        (gaps, sizes, squares), _ = self.source.map_reduce(add_up, aligned=(weights, labels))
        self._gaps = gaps, sizes
        return max(float(squares[0]), 0.0)

    def move(self, centers: Array, labels: Array) -> Array:
        """Move to the means, by the gaps that ``value`` found."""
        assert self._gaps is not None
        gaps, sizes = self._gaps
        filled = sizes > 0
        moved = centers.astype(np.float64)
        moved[filled] += gaps[filled] / sizes[filled, None]
        return moved.astype(centers.dtype)

    def distances(self, points: Array) -> Array:
        """Return squared distances."""

        def measure(block: Any) -> tuple[tuple[()], tuple[Array]]:
            squared = np.empty((block.shape[0], len(points)), dtype=self.source.dtype)
            for tile in tiles(len(squared)):
                squared[tile] = squared_center_distances(block[tile], points)
            return (), (squared,)

        return self.source.map_reduce(measure)[1][0]


class Manhattan(_Geometry):
    """Distances in the 1-norm and lower medians."""

    def costs(self, centers: Array, outlier_cost: float | None = None) -> Array:
        """Write ``w ‖x - c‖₁``."""
        k = len(centers)
        out = self._room(k if outlier_cost is None else k + 1)

        def write(block: Any, positions: range) -> tuple[tuple[()], tuple[()]]:
            here = slice(positions.start, positions.stop)
            self._measure(block, centers, out[here, :k])
            if outlier_cost is not None:
                out[here, k] = outlier_cost
            self._weigh(out[here], here)
            return (), ()

        self.source.map_reduce(write, aligned=(range(self.source.n_rows),))
        return out

    def _measure(self, block: Any, points: Array, out: Array) -> None:
        if self.source.is_sparse:
            norms = np.abs(points).sum(axis=1, dtype=np.float64)
            sparse_manhattan(block.data, block.indices, block.indptr, points, norms, out)
        else:
            manhattan(block, points, out)

    def value(self, centers: Array, labels: Array) -> float:
        """Add up the distances that ``costs`` left."""
        inside = np.flatnonzero(labels >= 0)
        return float(self._costs[inside, labels[inside]].sum(dtype=np.float64))

    def move(self, centers: Array, labels: Array) -> Array:
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
                column_medians(
                    columns.data,
                    columns.indices,
                    columns.indptr,
                    weights,
                    weights.sum(),
                    moved[h],
                )
            elif self.weights is None:
                middle = (len(members) - 1) // 2
                moved[h] = np.partition(rows, middle, axis=0)[middle]
            else:
                dense_column_medians(rows, weights, moved[h])
        return moved

    def distances(self, points: Array) -> Array:
        """Return distances in the 1-norm."""

        def measure(block: Any) -> tuple[tuple[()], tuple[Array]]:
            out = np.empty((block.shape[0], len(points)), dtype=self.source.dtype)
            self._measure(block, points, out)
            return (), (out,)

        return self.source.map_reduce(measure)[1][0]


def farthest_rows(
    geometry: Geometry, centers: Array, labels: Array, n: int, outlier_cost: float | None
) -> Array:
    """Return at most ``n`` rows far from their centres and from those before them.

    An empty cluster may move anywhere at no cost, so that the next assignment is no worse.
    """
    distances = geometry.distances(centers)[np.arange(len(labels)), np.maximum(labels, 0)]
    if outlier_cost is not None:
        distances[labels < 0] = outlier_cost
    if geometry.weights is not None:
        distances[geometry.weights == 0] = 0
    chosen: list[Array] = []
    while len(chosen) < n:
        row = int(np.argmax(distances))
        if distances[row] <= 0:
            break
        chosen.append(dense_rows(geometry.source, [row])[0])
        distances = np.minimum(distances, geometry.distances(chosen[-1][None])[:, 0])
    return np.array(chosen, dtype=centers.dtype).reshape(-1, centers.shape[1])


def _squared_norms(rows: Any) -> Array:
    return np.einsum("ij,ij->i", rows, rows) if isinstance(rows, np.ndarray) else sparse_norms(rows)
