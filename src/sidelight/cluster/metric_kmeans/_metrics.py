"""Metrics of clusters, one for all or one each: distances in them, passes over rows, far pairs.

``‖v‖²_A = v'Av`` with ``A`` positive definite, or ``Σ_d a_d v_d²`` for weights ``a``.

A violated cannot-link costs ``Dmax(A) - ‖x_i - x_j‖²_A`` with the largest distance
``Dmax(A) = max_pq ‖x_p - x_q‖²_A``. As a maximum over pairs, Dmax is convex but not linear in A:
the metric that minimizes the objective for the present farthest pair can be worse once the pair is
updated. A linear upper bound keeps the metric step exact:

- weights: ``Dmax(a) ≤ Σ_d a_d R_d²`` with the range ``R_d`` of every feature;
- matrices: ``Dmax(A) ≤ tr(A B)``, ``B = 4 r² Σ`` with the total covariance Σ and
  ``r² = max_i (x_i - m)'Σ⁻¹(x_i - m)``, because ``vv' ≤ (v'Σ⁻¹v) Σ`` and ``v'Σ⁻¹v ≤ (2r)²``.

``B - vv'`` is then positive semidefinite for the difference v of any two rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from sidelight._fit.moments import Moments
from sidelight._fit.tiles import EqualWeights, tiles
from sidelight._kernels.cluster.metric import add_sparse_squares, add_squares
from sidelight._typing import Array, FloatArray
from sidelight.cluster._core._distances import (
    CenterProducts,
    Scratch,
    dense,
    dense_rows,
    map_tiles,
    nearest_by_products,
    without_noise,
)
from sidelight.cluster._core._passes import one_pass, pass_arguments
from sidelight.engine import RowSource
from sidelight.engine.inner import largest_value, map_values, rows_where

#: Jumps to the farthest row of the farthest row.
JUMPS = 3
ROWS_AT_ONCE = 2000


@dataclass(frozen=True, eq=False)
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

    values: FloatArray
    log_det: FloatArray
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
    def inverse_of(cls, spread: Array, n_metrics: int, *, blur: Any = 0.0) -> Metrics:
        """Return the inverse of a covariance, or of variances, ``n_metrics`` times."""
        if spread.ndim == 1:
            one, log_det = 1 / spread, float(np.sum(np.log(spread)))
        else:
            # The inverse of the correlation does not depend on the units of the features.
            units = np.sqrt(np.diag(spread))
            inverse = np.linalg.inv(spread / np.outer(units, units))
            one = (inverse + inverse.T) / 2 / np.outer(units, units)
            log_det = float(np.linalg.slogdet(spread)[1])
        return cls(np.repeat(one[None], n_metrics, axis=0), np.full(n_metrics, -log_det), blur)

    @property
    def is_full(self) -> bool:
        """Matrices rather than weights."""
        return self.values.ndim == 3

    @property
    def is_shared(self) -> bool:
        """One for all clusters."""
        return len(self.values) == 1

    @property
    def rewards(self) -> FloatArray:
        """Reward of a row for belonging to each metric: ``log det A - tr(A blur)``."""
        return self.log_det - self.inner(self.blur)

    def inner(self, forms: Array) -> FloatArray:
        """Return ``tr(A_g S_g)`` of forms of the same shape, or of one form and all metrics."""
        return np.sum(self.values * forms, axis=tuple(range(1, self.values.ndim)))

    def apply(self, rows: Array, g: int) -> Array:
        """Return ``rows @ A_g``."""
        return rows @ self.values[g] if self.is_full else rows * self.values[g]

    def squared_norms(self, rows: Any) -> FloatArray:
        """Return ``‖v‖²_A`` of all rows in all metrics, shape (m, g)."""
        if not self.is_full:
            squares = rows.multiply(rows) if sparse.issparse(rows) else rows * rows
            return np.asarray(squares @ self.values.T)
        rows = dense(rows)
        norms = [np.einsum("ij,ij->i", rows @ matrix, rows) for matrix in self.values]
        return np.stack(norms, axis=1)

    def of_clusters(self, per_metric: Array, n_clusters: int) -> Array:
        """Repeat what there is one of per metric (the last axis) for all clusters."""
        shape = (*per_metric.shape[:-1], n_clusters)
        return np.broadcast_to(per_metric, shape) if self.is_shared else per_metric


class CenterSquares:
    """Squared distances of rows to centers in their metrics.

    What follows from centers and metrics alone, such as the factors of the matrices, is computed
    here, once for all blocks of rows.

    Parameters
    ----------
    centers : ndarray of shape (k, d)
        The centers.
    metrics : Metrics
        Metrics of the clusters, or of all of them.
    """

    def __init__(self, centers: Array, metrics: Metrics) -> None:
        self._centers = centers.astype(np.float64)
        self._middle = self._centers.mean(axis=0)
        self._is_full, self._is_shared = metrics.is_full, metrics.is_shared
        self._metrics = np.linalg.cholesky(metrics.values) if metrics.is_full else metrics.values

    def __call__(self, rows: Any) -> FloatArray:
        """Return ``‖x - μ_h‖²_{A_h}`` of all rows and centers, shape (m, k)."""
        return self._in_matrices(dense(rows)) if self._is_full else self._weighted(rows)

    def _weighted(self, rows: Any) -> FloatArray:
        centers, weights = self._centers, np.broadcast_to(self._metrics, self._centers.shape)
        if sparse.issparse(rows):
            rows, squares = rows.astype(np.float64), rows.multiply(rows)
        else:
            rows, centers = rows - self._middle, centers - self._middle
            squares = rows * rows
        center_norms = np.einsum("ij,ij,ij->i", centers, weights, centers)
        scale = np.asarray(squares @ weights.T) + center_norms
        return without_noise(scale - 2 * np.asarray(rows @ (weights * centers).T), scale)

    def _in_matrices(self, points: Array) -> FloatArray:
        if self._is_shared:
            factor = self._metrics[0]
            stretched = (points - self._middle) @ factor
            ends = (self._centers - self._middle) @ factor
            scale = np.einsum("ij,ij->i", stretched, stretched)[:, None] + np.sum(ends**2, axis=1)
            return without_noise(scale - 2 * stretched @ ends.T, scale)
        squared = np.empty((len(points), len(self._centers)))
        for h, (center, factor) in enumerate(zip(self._centers, self._metrics, strict=True)):
            stretched = (points - center) @ factor
            squared[:, h] = np.einsum("ij,ij->i", stretched, stretched)
        return squared


def squared_to_centers(rows: Any, centers: Array, metrics: Metrics) -> FloatArray:
    """Return ``‖x - μ_h‖²_{A_h}`` of all rows and centers, shape (m, k)."""
    return CenterSquares(centers, metrics)(rows)


class MetricProducts(CenterProducts):
    """Products of rows with centers for which the nearest has the least ``‖·‖²_A`` less reward.

    One metric for all needs no more than Euclidean distance does, a product with ``A μ_h``:
    ``‖x - μ_h‖²_A / 2 = ‖x‖²_A / 2 - x·Aμ_h + ‖μ_h‖²_A / 2``.
    """

    def __init__(self, centers: Array, metrics: Metrics, *, is_sparse: bool = False) -> None:
        super().__init__(centers, is_sparse=is_sparse)
        self._squares: CenterSquares | None = None
        k = len(centers)
        if not metrics.is_shared:
            self._squares = CenterSquares(centers, metrics)
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
        if self._squares is not None:
            products[:k] = -self._squares(tile).T / 2
            products[k:] = 0
        elif self._middle is None:
            products[:] = (tile @ self._images.T).T
        else:
            rows = np.subtract(tile, self._middle, out=scratch.rows[:m])
            np.matmul(self._images, rows.T, out=products)
        return products


class PairOffsets:
    """Differences of the rows of pairs, and what metrics see of them."""

    def __init__(self, points: Any, pairs: Array, *, full: bool) -> None:
        offsets = points[pairs[:, 0]] - points[pairs[:, 1]]
        self._full = full
        if full:
            self._offsets = dense(offsets)
        elif sparse.issparse(offsets):
            self._squares = offsets.multiply(offsets).tocsr()
        else:
            self._squares = offsets * offsets

    def squared(self, metrics: Metrics) -> FloatArray:
        """Return ``‖x_i - x_j‖²_A`` of all pairs in all metrics, shape (pairs, g)."""
        if self._full:
            return metrics.squared_norms(self._offsets)
        return np.asarray(self._squares @ metrics.values.T)

    def scatter(self, weights: FloatArray) -> FloatArray:
        """Return ``Σ_e w_eg v_e v_e'`` (or its diagonal) for weights of shape (pairs, g)."""
        if not self._full:
            return np.asarray(self._squares.T @ weights).T
        sums = []
        for weight in weights.T:
            counted = np.flatnonzero(weight)
            offsets = self._offsets[counted]
            sums.append(offsets.T @ (weight[counted, None] * offsets))
        return np.array(sums).reshape(weights.shape[1], *self._offsets.shape[1:] * 2)


# ------------------------------------------------------------------------- passes over the rows


def metric_pass(
    source: RowSource,
    centers: Array,
    metrics: Metrics,
    constrained: Array,
    fixed: Array,
    before: Array | None,
) -> tuple[tuple[Array, ...], Array]:
    """Label the rows by ``argmin_h ‖x - μ_h‖²_{A_h} - reward_h`` and add up.

    Returns ``(offsets, sizes, n_changed[, scatters])`` and the labels: sums of the offsets
    ``x - μ`` by cluster, sizes, the number of labels that changed and, with a metric per cluster,
    the scatter of every cluster around its center. ``fixed`` are labels of the ``constrained``
    rows.
    """
    work = _MetricPass(source, centers, metrics)
    aligned = pass_arguments(source, constrained, fixed, EqualWeights(source), before)
    totals, (labels,) = source.map_reduce(work, aligned=aligned)
    return totals, labels


class _MetricPass:
    """The block function of :func:`metric_pass`."""

    again_from = (0,)

    def __init__(self, source: RowSource, centers: Array, metrics: Metrics) -> None:
        products = MetricProducts(centers, metrics, is_sparse=source.is_sparse)
        self._label = one_pass(source, centers, products=products)
        self._centers = centers
        self._is_shared, self._is_full = metrics.is_shared, metrics.is_full

    def __call__(self, block: Any, *aligned: Any) -> tuple[tuple[Any, ...], Any]:
        (offsets, sizes, _, n_changed), (labels,) = self._label(block, *aligned)
        if self._is_shared:
            return (offsets, sizes, n_changed), (labels,)
        scatters = _scatters(block, self._centers, labels, offsets, sizes, full=self._is_full)
        return (offsets, sizes, n_changed, scatters), (labels,)

    def rows_again(self, block: Any, fixed: Any) -> tuple[Array, ...]:
        """Return the labels of a block."""
        return self._label.rows_again(block, fixed)


def _scatters(
    block: Any, centers: Array, labels: Array, offsets: Array, sizes: Array, *, full: bool
) -> FloatArray:
    """Return the scatter of every cluster of a block around its center."""
    centers = centers.astype(np.float64)
    k, d = centers.shape
    if full:
        scatters = np.zeros((k, d, d))
        for tile in tiles(block.shape[0]):
            rows, label = dense(block[tile]), labels[tile]
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
        return scatters - 2 * centers * offsets - sizes[:, None] * centers**2
    add_squares(block, centers, labels, scatters)
    return scatters


@dataclass(frozen=True)
class MetricDistances:
    """Distances of new rows to fitted centers.

    Attributes
    ----------
    centers : ndarray of shape (k, d)
        The centers.
    metrics : Metrics
        Metrics of the clusters, or of all of them.
    """

    centers: Array
    metrics: Metrics

    @classmethod
    def fitted(cls, centers: Array, values: Array, rewards: Array) -> MetricDistances:
        """Make the distances of what an estimator keeps of its metrics."""
        return cls(centers, Metrics(values[None] if len(rewards) == 1 else values, rewards))

    def labels(self, source: RowSource) -> Array:
        """Label every row with ``argmin_h ‖x - μ_h‖²_{A_h} - reward_h`` (int32)."""
        products = MetricProducts(self.centers, self.metrics, is_sparse=source.is_sparse)
        return nearest_by_products(source, products)

    def all(self, source: RowSource) -> Array:
        """Return ``‖x - μ_h‖_{A_h}`` of all rows and centers in the type of the rows."""
        squares = CenterSquares(self.centers, self.metrics)
        return map_tiles(source, lambda rows: np.sqrt(squares(rows)), dtype=source.dtype)

    def costs(self, source: RowSource) -> Array:
        """Return ``‖x - μ_h‖²_{A_h} - reward_h`` of every row at its label (float64)."""
        labels = self.labels(source)
        costs = labeled_costs(source, self.centers, self.metrics, labels)
        rewards = self.metrics.of_clusters(self.metrics.rewards, len(self.centers))

        def subtract(costs: Array, labels: Array) -> tuple[tuple[()], tuple[Array]]:
            return (), (costs - rewards[labels],)

        return cast(Array, map_values(subtract, costs, labels)[1][0])


def squared_to_point(source: RowSource, point: Array, metrics: Metrics, g: int) -> Array:
    """Return ``‖x - p‖²_{A_g}`` of every row (float64)."""
    return map_tiles(source, _to_point(point, metrics, g))


def _to_point(point: Array, metrics: Metrics, g: int) -> Callable[[Any], Array]:
    metric = Metrics(metrics.values[g : g + 1], metrics.log_det[g : g + 1])
    squares = CenterSquares(point[None], metric)
    return lambda rows: squares(rows)[:, 0]


def labeled_costs(source: RowSource, centers: Array, metrics: Metrics, labels: Array) -> Array:
    """Return ``‖x_i - μ_{l_i}‖²_{A_{l_i}}`` of every row (float64)."""

    squares = CenterSquares(centers, metrics)

    def measure(rows: Any, labels: Array) -> Array:
        return squares(rows)[np.arange(len(labels)), labels]

    return map_tiles(source, measure, labels)


# ------------------------------------------------------------------------- the largest distance


class MaxDistance(Protocol):
    """The largest distance ``Dmax`` under a metric, or a bound of it."""

    #: Whether it is linear in the metric.
    linear: bool
    #: Factor on the prices of cannot-links, so that weights keep their meaning.
    scale: float

    def at(self, metrics: Metrics) -> tuple[Array, Array]:
        """Return ``Dmax`` of every metric (g,), and forms B_g with ``Dmax = tr(A_g B_g)``."""


class Bound:
    """A linear upper bound."""

    linear = True

    def __init__(self, form: Array, scale: float) -> None:
        self._form = form
        self.scale = scale

    def at(self, metrics: Metrics) -> tuple[Array, Array]:
        """Return the bound at every metric and its form, which is always the same."""
        forms = np.broadcast_to(self._form, metrics.values.shape)
        return metrics.inner(forms), forms


class FarthestPair:
    """The farthest pair, or one found by sweeps; never below the cannot-links themselves."""

    linear = False
    scale = 1.0

    def __init__(
        self, source: RowSource, mean: Array, points: Any, cannot_link: Array, *, exact: bool
    ) -> None:
        self._source = source
        self._mean = mean
        self._points = points
        self._cannot_link = cannot_link
        self._exact = exact
        # Asked for again and again at the same metrics, by several restarts at once.
        self._known: WeakKeyDictionary[Metrics, tuple[Array, Array]] = WeakKeyDictionary()

    def at(self, metrics: Metrics) -> tuple[Array, Array]:
        """Find a farthest pair for every metric."""
        found = self._known.get(metrics)
        if found is None:
            found = self._known[metrics] = self._find(metrics)
        return found

    def _find(self, metrics: Metrics) -> tuple[Array, Array]:
        found = [self._farthest(metrics, g) for g in range(len(metrics.values))]
        offsets = np.array(found)
        forms = offsets**2
        if metrics.is_full:
            forms = offsets[:, :, None] * offsets[:, None, :]
        return metrics.inner(forms), forms

    def _farthest(self, metrics: Metrics, g: int) -> Array:
        one, other = farthest_pair(self._source, self._mean, metrics, g, exact=self._exact)
        ends = dense_rows(self._source, [one, other]).astype(np.float64)
        offset = ends[0] - ends[1]
        pairs = PairOffsets(self._points, self._cannot_link, full=metrics.is_full)
        own = pairs.squared(metrics)[:, g]
        if len(own) and own.max() > metrics.squared_norms(offset[None])[0, g]:
            ends = dense(self._points[self._cannot_link[int(np.argmax(own))]])
            offset = ends[0] - ends[1]
        return offset


def farthest_pair(
    source: RowSource, mean: Array, metrics: Metrics, g: int, *, exact: bool
) -> tuple[int, int]:
    """Find two rows far apart: from the row farthest from the mean jump to its farthest, and on.

    For the exact pair only rows i count with ``r_i + max r ≥ D``, where r is the distance to the
    mean and D the distance that the jumps have reached.
    """
    radii = squared_to_point(source, mean, metrics, g)
    radius, one = largest_value(radii)
    other, reached = one, 0.0
    for _ in range(JUMPS):
        point = dense_rows(source, [one])[0].astype(np.float64)
        squared, farthest = largest_value(squared_to_point(source, point, metrics, g))
        if squared <= reached:
            break
        other, one, reached = one, farthest, squared
    if not exact:
        return one, other
    longest, enough = np.sqrt(radius), np.sqrt(reached) * (1 - 1e-9)
    candidates = rows_where(lambda radii: np.sqrt(radii) + longest >= enough, radii)
    return _exhaustive(source, candidates, metrics, g, (one, other), reached)


def _exhaustive(
    source: RowSource,
    candidates: Array,
    metrics: Metrics,
    g: int,
    best: tuple[int, int],
    reached: float,
) -> tuple[int, int]:
    """Compare all pairs of the candidates, a block at a time."""
    factor = np.linalg.cholesky(metrics.values[g]) if metrics.is_full else None
    rows = dense_rows(source, candidates).astype(np.float64)
    rows -= rows.mean(axis=0)
    rows = rows @ factor if factor is not None else rows * np.sqrt(metrics.values[g])
    norms = np.einsum("ij,ij->i", rows, rows)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        piece = slice(start, start + ROWS_AT_ONCE)
        squared = norms[piece, None] + norms[start:] - 2 * rows[piece] @ rows[start:].T
        place = int(np.argmax(squared))
        if squared.flat[place] > reached * (1 + 1e-12):
            i, j = np.unravel_index(place, squared.shape)
            best = int(candidates[start + i]), int(candidates[start + j])
            reached = float(squared.flat[place])
    return best


def bound_of_distances(source: RowSource, moments: Moments, ridge: Array, ranges: Array) -> Bound:
    """Make the linear bound; its scale takes it to the farthest pair in the metric of the rows.

    That metric is the inverse covariance or the inverse variances, in which units do not matter.
    """
    whitened = Metrics.inverse_of(moments.covariance + ridge, 1)
    if whitened.is_full:
        radius = largest_value(squared_to_point(source, moments.mean, whitened, 0))[0]
        form = 4 * radius * (moments.covariance + ridge)
    else:
        form = ranges**2
    one, other = farthest_pair(source, moments.mean, whitened, 0, exact=False)
    ends = dense_rows(source, [one, other]).astype(np.float64)
    largest = float(whitened.inner(form)[0])
    reached = float(whitened.squared_norms(ends[:1] - ends[1:])[0, 0])
    return Bound(form, reached / largest if largest > 0 else 1.0)
