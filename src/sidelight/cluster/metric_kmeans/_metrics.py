"""Metrics of clusters: one for all or one each, full matrices or one weight per feature.

``‖v‖²_A = v'Av`` with ``A`` positive definite, or ``Σ_d a_d v_d²`` for weights ``a``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._typing import Array
from sidelight.cluster._core._distances import CenterProducts, Scratch, without_noise


@dataclass(frozen=True)
class Metrics:
    """One metric for all clusters or one for each.

    Attributes
    ----------
    values : ndarray of shape (g, d, d) or (g, d)
        Matrices or weights; ``g`` is 1 or the number of clusters.
    log_det : ndarray of shape (g,)
        Logarithms of their determinants.
    blur : ndarray of shape (d, d) or (d,), or 0
        Covariance by which every row is blurred: it adds ``tr(A blur)`` to its squared distances.
    """

    values: npt.NDArray[np.float64]
    log_det: npt.NDArray[np.float64]
    blur: Any = 0.0

    @classmethod
    def multiple_of_identity(
        cls, factor: float, n_features: int, n_metrics: int, *, full: bool, blur: Any = 0.0
    ) -> Metrics:
        """Return ``factor`` times the identity, ``n_metrics`` times."""
        one = np.eye(n_features) if full else np.ones(n_features)
        log_det = np.full(n_metrics, n_features * np.log(factor))
        return cls(np.repeat(factor * one[None], n_metrics, axis=0), log_det, blur)

    @classmethod
    def fitted(cls, values: Array, rewards: Array) -> Metrics:
        """Make metrics of what an estimator keeps of them."""
        return cls(values[None] if len(rewards) == 1 else values, rewards)

    @property
    def is_full(self) -> bool:
        """Matrices rather than weights."""
        return self.values.ndim == 3

    @property
    def is_shared(self) -> bool:
        """One for all clusters."""
        return len(self.values) == 1

    @property
    def rewards(self) -> npt.NDArray[np.float64]:
        """What a row saves by belonging to a metric: ``log det A - tr(A blur)``."""
        return self.log_det - self.inner(self.blur)

    def inner(self, forms: Array) -> npt.NDArray[np.float64]:
        """Return ``tr(A_g S_g)`` of forms of the same shape, or of one form and all metrics."""
        return np.sum(self.values * forms, axis=tuple(range(1, self.values.ndim)))

    def apply(self, rows: Array, g: int) -> Array:
        """Return ``rows @ A_g``."""
        return rows @ self.values[g] if self.is_full else rows * self.values[g]

    def squared_norms(self, rows: Any) -> npt.NDArray[np.float64]:
        """Return ``‖v‖²_A`` of all rows in all metrics, shape (m, g)."""
        if not self.is_full:
            squares = rows.multiply(rows) if sparse.issparse(rows) else rows * rows
            return np.asarray(squares @ self.values.T)
        rows = rows.toarray() if sparse.issparse(rows) else rows
        norms = [np.einsum("ij,ij->i", rows @ matrix, rows) for matrix in self.values]
        return np.stack(norms, axis=1)

    def of_clusters(self, per_metric: Array, n_clusters: int) -> Array:
        """Repeat what there is one of per metric (the last axis) for all clusters."""
        shape = (*per_metric.shape[:-1], n_clusters)
        return np.broadcast_to(per_metric, shape) if self.is_shared else per_metric


def squared_to_centers(rows: Any, centers: Array, metrics: Metrics) -> npt.NDArray[np.float64]:
    """Return ``‖x - μ_h‖²_{A_h}`` of all rows and centres, shape (m, k)."""
    centers = centers.astype(np.float64)
    if metrics.is_full:
        return _squared_full(rows, centers, metrics)
    weights = np.broadcast_to(metrics.values, centers.shape)
    if sparse.issparse(rows):
        rows, squares = rows.astype(np.float64), rows.multiply(rows)
    else:
        middle = centers.mean(axis=0)
        rows, centers = rows - middle, centers - middle
        squares = rows * rows
    center_norms = np.einsum("ij,ij,ij->i", centers, weights, centers)
    scale = np.asarray(squares @ weights.T) + center_norms
    return without_noise(scale - 2 * np.asarray(rows @ (weights * centers).T), scale)


def _squared_full(rows: Any, centers: Array, metrics: Metrics) -> npt.NDArray[np.float64]:
    dense = rows.toarray() if sparse.issparse(rows) else rows
    squared = np.empty((len(dense), len(centers)))
    if metrics.is_shared:
        middle = centers.mean(axis=0)
        factor = np.linalg.cholesky(metrics.values[0])
        stretched, ends = (dense - middle) @ factor, (centers - middle) @ factor
        scale = np.einsum("ij,ij->i", stretched, stretched)[:, None] + np.sum(ends**2, axis=1)
        return without_noise(scale - 2 * stretched @ ends.T, scale)
    for h, (center, matrix) in enumerate(zip(centers, metrics.values, strict=True)):
        stretched = (dense - center) @ np.linalg.cholesky(matrix)
        squared[:, h] = np.einsum("ij,ij->i", stretched, stretched)
    return squared


class MetricProducts(CenterProducts):
    """Products of rows with centres for which the nearest has the least ``‖·‖²_A`` less reward.

    One metric for all needs no more than Euclidean distance does, a product with ``A μ_h``:
    ``‖x - μ_h‖²_A / 2 = ‖x‖²_A / 2 - x·Aμ_h + ‖μ_h‖²_A / 2``.
    """

    def __init__(self, centers: Array, metrics: Metrics, *, is_sparse: bool = False) -> None:
        super().__init__(centers, is_sparse=is_sparse)
        self._metrics = metrics
        k = len(centers)
        if not metrics.is_shared:
            self.half_norms[:k] = -metrics.rewards / 2
            return
        points = centers.astype(np.float64)
        # A metric may magnify an offset: dense rows are always shifted to the middle.
        self._middle = None if is_sparse else points.mean(axis=0).astype(self.dtype)
        if self._middle is not None:
            points = points - self._middle
        images = metrics.apply(points, 0)
        self.half_norms[:k] = np.einsum("ij,ij->i", images, points) / 2
        self._images = np.zeros((len(self.half_norms), points.shape[1]), dtype=self.dtype)
        self._images[:k] = images

    def of(self, tile: Any, scratch: Scratch) -> Array:
        """Return what to subtract from ``half_norms``, ``(k, m)``."""
        m, k = tile.shape[0], len(self.centers)
        products = scratch.products[: len(self.half_norms) * m].reshape(-1, m)
        if not self._metrics.is_shared:
            products[:k] = -squared_to_centers(tile, self.centers, self._metrics).T / 2
            products[k:] = 0
        elif self._middle is None:
            products[:] = (tile @ self._images.T).T
        else:
            rows = np.subtract(tile, self._middle, out=scratch.rows[:m])
            np.matmul(self._images, rows.T, out=products)
        return products


class PairGaps:
    """Differences of the rows of pairs, and what metrics see of them."""

    def __init__(self, points: Any, pairs: Array, *, full: bool) -> None:
        gaps = points[pairs[:, 0]] - points[pairs[:, 1]]
        self._full = full
        if full:
            self._gaps = gaps.toarray() if sparse.issparse(gaps) else gaps
        else:
            self._squares = gaps.multiply(gaps).tocsr() if sparse.issparse(gaps) else gaps * gaps

    def squared(self, metrics: Metrics) -> npt.NDArray[np.float64]:
        """Return ``‖x_i - x_j‖²_A`` of all pairs in all metrics, shape (pairs, g)."""
        if self._full:
            return metrics.squared_norms(self._gaps)
        return np.asarray(self._squares @ metrics.values.T)

    def scatter(self, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return ``Σ_e w_eg v_e v_e'`` (or its diagonal) for weights of shape (pairs, g)."""
        if not self._full:
            return np.asarray(self._squares.T @ weights).T
        sums = []
        for weight in weights.T:
            counted = np.flatnonzero(weight)
            gaps = self._gaps[counted]
            sums.append(gaps.T @ (weight[counted, None] * gaps))
        return np.array(sums).reshape(weights.shape[1], *self._gaps.shape[1:] * 2)
