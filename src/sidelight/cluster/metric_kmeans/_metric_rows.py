"""Passes over the rows that metric learning needs: labels and scatter, moments, far rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._fit.tiles import EqualWeights, tiles
from sidelight._kernels.cluster.metric import add_sparse_squares, add_squares
from sidelight._typing import Array
from sidelight.cluster._core._distances import dense_rows
from sidelight.cluster._core._passes import DensePass, SparsePass
from sidelight.cluster.metric_kmeans._metrics import MetricProducts, Metrics, squared_to_centers
from sidelight.engine import RowSource


class Moments:
    """Mean and total scatter of the rows: ``Σ (x - m)(x - m)'``, or its diagonal."""

    def __init__(self, source: RowSource, *, full: bool) -> None:
        near = np.zeros(source.n_features)
        if not source.is_sparse:
            near = dense_rows(source, [0])[0].astype(np.float64)

        def add(block: Any) -> tuple[tuple[Array, Array], tuple[()]]:
            first = np.zeros(source.n_features)
            second = np.zeros((source.n_features,) * (2 if full else 1))
            for tile in tiles(block.shape[0]):
                rows = block[tile].astype(np.float64)
                if sparse.issparse(rows):
                    squares = rows.T @ rows if full else rows.multiply(rows).sum(axis=0)
                    second += squares.toarray() if full else np.asarray(squares).ravel()
                else:
                    rows -= near
                    second += rows.T @ rows if full else np.einsum("ij,ij->j", rows, rows)
                first += np.asarray(rows.sum(axis=0)).ravel()
            return (first, second), ()

        (first, second), _ = source.map_reduce(add)
        shift = first / source.n_rows
        self.n_rows = source.n_rows
        self.mean = near + shift
        outer = np.outer(shift, shift) if full else shift**2
        self.scatter = second - source.n_rows * outer
        variances = np.maximum(np.diag(self.scatter) if full else self.scatter, 0) / source.n_rows
        # What is left of rows that are all the same is rounding.
        rounding = 64 * np.finfo(np.float64).eps * (np.abs(near) + np.abs(shift)) ** 2
        self.mean_variance = float(np.mean(np.where(variances > rounding, variances, 0.0)))


class MetricPass:
    """Label a block of rows by ``argmin_h ‖x - μ_h‖²_{A_h} - reward_h`` and add up.

    Gives the sums of gaps by cluster, the sizes, the number of labels that changed and, with a
    metric per cluster, the scatter of every cluster around its centre; and the labels.
    """

    def __init__(self, source: RowSource, held: Array) -> None:
        self._source = source
        self._held = held
        self._weights = EqualWeights(source)
        self._unlabelled = np.broadcast_to(np.int32(-1), source.n_rows)

    def __call__(
        self, centers: Array, metrics: Metrics, held_labels: Array, before: Array | None
    ) -> tuple[tuple[Array, ...], Array]:
        """Return ``(gaps, sizes, n_changed[, scatters])`` and the labels."""
        is_sparse = self._source.is_sparse
        label = (SparsePass if is_sparse else DensePass)(
            centers, self._held, held_labels.astype(np.int32)
        )
        label.products = MetricProducts(centers, metrics, is_sparse=is_sparse)

        def work(block: Any, positions: range, *aligned: Array) -> tuple[tuple[Any, ...], Any]:
            (gaps, sizes, _, n_changed), (labels,) = label(block, positions, *aligned)
            if metrics.is_shared:
                return (gaps, sizes, n_changed), (labels,)
            scatters = _scatters(block, centers, labels, gaps, sizes, full=metrics.is_full)
            return (gaps, sizes, n_changed, scatters), (labels,)

        aligned = (
            range(self._source.n_rows),
            self._weights,
            self._unlabelled if before is None else before,
        )
        totals, (labels,) = self._source.map_reduce(work, aligned=aligned)
        return totals, labels


def _scatters(
    block: Any, centers: Array, labels: Array, gaps: Array, sizes: Array, *, full: bool
) -> npt.NDArray[np.float64]:
    """Return the scatter of every cluster of a block around its centre."""
    centers = centers.astype(np.float64)
    k, d = centers.shape
    if full:
        scatters = np.zeros((k, d, d))
        for tile in tiles(block.shape[0]):
            rows, label = block[tile], labels[tile]
            rows = rows.toarray() if sparse.issparse(rows) else rows
            order = np.argsort(label, kind="stable")
            edges = np.searchsorted(label[order], np.arange(k + 1))
            for h in np.flatnonzero(np.diff(edges)):
                away = rows[order[edges[h] : edges[h + 1]]] - centers[h]
                scatters[h] += away.T @ away
        return scatters
    scatters = np.zeros((k, d))
    if sparse.issparse(block):
        add_sparse_squares(
            block.data.astype(np.float64), block.indices, block.indptr, labels, scatters
        )
        # Σ (x - μ)² = Σ x² - 2 μ Σ (x - μ) - n μ²
        return scatters - 2 * centers * gaps - sizes[:, None] * centers**2
    add_squares(block, centers, labels, scatters)
    return scatters


def label_by_metric(source: RowSource, centers: Array, metrics: Metrics) -> Array:
    """Label every row with ``argmin_h ‖x - μ_h‖²_{A_h} - reward_h`` (int32)."""
    products = MetricProducts(centers, metrics, is_sparse=source.is_sparse)

    def label(block: Any) -> tuple[tuple[()], tuple[Array]]:
        labels = np.empty(block.shape[0], dtype=np.int32)
        products.nearest(block, labels)
        return (), (labels,)

    return source.map_reduce(label)[1][0]


def metric_distances(source: RowSource, centers: Array, metrics: Metrics) -> Array:
    """Return ``‖x - μ_h‖_{A_h}`` of all rows and centres in the type of the rows."""

    def measure(block: Any) -> tuple[tuple[()], tuple[Array]]:
        distances = np.empty((block.shape[0], len(centers)), dtype=source.dtype)
        for tile in tiles(len(distances)):
            distances[tile] = np.sqrt(squared_to_centers(block[tile], centers, metrics))
        return (), (distances,)

    return source.map_reduce(measure)[1][0]


def squared_to_point(source: RowSource, point: Array, metrics: Metrics, g: int) -> Array:
    """Return ``‖x - p‖²_{A_g}`` of every row (float64)."""
    metric = Metrics(metrics.values[g : g + 1], metrics.log_det[g : g + 1])

    def measure(block: Any) -> tuple[tuple[()], tuple[Array]]:
        squared = np.empty(block.shape[0])
        for tile in tiles(len(squared)):
            squared[tile] = squared_to_centers(block[tile], point[None], metric)[:, 0]
        return (), (squared,)

    return source.map_reduce(measure)[1][0]


def labelled_costs(source: RowSource, centers: Array, metrics: Metrics, labels: Array) -> Array:
    """Return ``‖x_i - μ_{l_i}‖²_{A_{l_i}}`` of every row (float64)."""

    def measure(block: Any, labels: Array) -> tuple[tuple[()], tuple[Array]]:
        costs = np.empty(len(labels))
        for tile in tiles(len(labels)):
            squared = squared_to_centers(block[tile], centers, metrics)
            costs[tile] = squared[np.arange(len(squared)), labels[tile]]
        return (), (costs,)

    return source.map_reduce(measure, aligned=(labels,))[1][0]


def ranges(source: RowSource) -> Array:
    """Return the range ``max - min`` of every feature."""
    extremes: list[tuple[Array, Array]] = []  # appended to by several threads; order is no matter

    def look(block: Any) -> tuple[tuple[()], tuple[()]]:
        low, high = block.min(axis=0), block.max(axis=0)
        if sparse.issparse(block):
            low, high = low.toarray().ravel(), high.toarray().ravel()
        extremes.append((low, high))
        return (), ()

    source.map_reduce(look)
    lows, highs = zip(*extremes, strict=True)
    return np.max(highs, axis=0).astype(np.float64) - np.min(lows, axis=0)
