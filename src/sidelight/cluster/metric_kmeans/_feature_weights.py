"""Weights of features learned from pairs: prices of pairs and the weight step, by divergence.

Both add to the objective a prior that keeps the weights ``a`` near each other. Its factor κ is its
strength times a share of the divergence of all rows from their common center:

- I-divergence: everything is linear in a, with coefficients c_m; a Rayleigh prior
  ``κ Σ_m ( a_m²/2 - log a_m )`` gives the exact minimizer
  ``a_m = ( -c_m/κ + √(c_m²/κ² + 4) ) / 2``, between 0 and 1 for c_m > 0. κ is the mean over the
  features: what diverges as much as the average feature gets the weight 0.62.
- cosine: invariant to a common factor of the weights, and so is the prior
  ``-κ Σ_m log(a_m / ā)``; some steps along the gradient in log a, each of which lowers the
  objective. κ is a tenth of the divergence: a feature that all rows have in common makes all of
  them alike, and a weak prior would give it all the weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from sidelight._fit.moments import feature_ranges
from sidelight._fit.tiles import tiles
from sidelight._kernels.cluster.metric import add_rows, add_sparse_rows
from sidelight._typing import Array
from sidelight.cluster.metric_kmeans._divergences import (
    Cosine,
    DivergenceDistances,
    KullbackLeibler,
    entropies,
    entry_divergences,
    log_ratio,
    mean_divergences,
    weighted_squares,
)
from sidelight.engine import RowSource, Top
from sidelight.engine.inner import total_of

#: Share of the divergence of all rows that the prior of directions counts.
COSINE_SHARE = 0.1
#: Steps along the gradient per iteration, and tries in all to find their lengths.
GRADIENT_STEPS = 2
GRADIENT_TRIES = 8
#: No weight changes by more than this (in its logarithm) at once.
LONGEST = 2.0
#: A step is accepted when it achieves this share of what the gradient promises (Armijo).
ARMIJO = 1e-4


@dataclass(frozen=True)
class ViolationSums:
    """Labels, centers and violated pairs that weights are learned from.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,)
        Labels of the rows.
    sums, sizes : ndarray
        Sums (k, d) and numbers of rows by cluster.
    centers : ndarray of shape (k, d)
        Centers.
    must_link, cannot_link : ndarray
        Weights of the pairs that are violated, 0 for the others.
    """

    labels: Array
    sums: Array
    sizes: Array
    centers: Array
    must_link: Array
    cannot_link: Array


class FeatureWeightStep(Protocol):
    """Step of the feature weights: costs of pairs under given weights, and better weights."""

    #: Factor of the prior.
    kappa: float
    #: A large divergence between two rows.
    largest: float

    def prices(self, weights: Array) -> tuple[Array, Array]:
        """Return φ of the must-links and ``φ_max - φ`` of the cannot-links."""

    def prior(self, weights: Array) -> float:
        """Return the prior's part of the objective."""

    def learn(self, weights: Array, sums: ViolationSums) -> Array:
        """Return weights under which the objective is not larger."""


class CountWeightStep:
    """Weights for the I-divergence."""

    def __init__(
        self,
        source: RowSource,
        points: Any,
        must_link: Array,
        cannot_link: Array,
        strength: float,
        divergence: KullbackLeibler,
    ) -> None:
        d = source.n_features
        origin = self._origin = divergence.origin
        self._must = mean_divergences(*(points[end] for end in must_link.T))
        self._cannot = mean_divergences(*(points[end] for end in cannot_link.T))

        def add(block: Any, positions: range) -> tuple[tuple[Array, Array, Top], tuple[()]]:
            own, total = np.zeros(d), np.zeros(d)
            lengths = np.empty(block.shape[0])
            for tile in tiles(len(lengths)):
                rows = block[tile].astype(np.float64)
                terms = entropies(rows) if origin is None else entry_divergences(rows, origin[None])
                own += np.asarray(terms.sum(axis=0)).ravel()
                total += np.asarray(divergence.offsets(rows).sum(axis=0)).ravel()
                lengths[tile] = np.asarray(rows.sum(axis=1)).ravel()
            return (own, total, Top(lengths, positions, 2)), ()

        positions = range(source.n_rows)
        (self._own, total, (longest, _)), _ = source.map_reduce(add, aligned=(positions,))
        ends = feature_ranges(source)
        # φ is convex: in a box it is largest between two opposite corners, feature by feature.
        self._room = mean_divergences(*(end.astype(np.float64) for end in ends))
        bound = float(self._room.sum())
        # Rows without a common word are Σ (x + z) log 2 apart.
        self.largest = min(float(longest.sum() * np.log(2)), bound)
        self._scale = self.largest / bound if bound > 0 else 1.0
        everything = total[None], np.array([source.n_rows])
        mean = divergence.center(*everything, np.ones(d), np.zeros((1, d)))
        self.kappa = strength * float(np.mean(self._coefficients(*everything, mean)))

    def _coefficients(self, sums: Array, sizes: Array, centers: Array) -> Array:
        """Divergence of the rows from their centers by feature; ``sums`` are of offsets."""
        if self._origin is None:
            return self._own - np.sum(sums * np.log(centers), axis=0) + sizes @ centers
        away = entry_divergences(np.broadcast_to(self._origin, centers.shape), centers)
        crossed = np.sum(sums * log_ratio(centers, self._origin), axis=0)
        slope: Array = self._own + sizes @ away - crossed
        return np.maximum(slope, 0)

    def prices(self, weights: Array) -> tuple[Array, Array]:
        """Return φ of the must-links and the scaled ``φ_max - φ`` of the cannot-links."""
        room = self._room @ weights - np.asarray(self._cannot @ weights).ravel()
        return np.asarray(self._must @ weights).ravel(), self._scale * np.maximum(room, 0)

    def prior(self, weights: Array) -> float:
        """Return ``κ Σ ( a²/2 - log a )``."""
        return self.kappa * float(np.sum(weights**2 / 2 - np.log(weights)))

    def learn(self, weights: Array, sums: ViolationSums) -> Array:
        """Return the exact minimizer."""
        slope = self._coefficients(sums.sums, sums.sizes, sums.centers)
        slope = slope + np.asarray(self._must.T @ sums.must_link).ravel()
        apart = sums.cannot_link * self._scale
        slope = slope + apart.sum() * self._room - np.asarray(self._cannot.T @ apart).ravel()
        return best_weights(slope / self.kappa)


def best_weights(slope: Array) -> Array:
    """Return the minimizer of ``c a + a²/2 - log a`` for every coefficient c."""
    root = np.sqrt(slope**2 + 4)
    # Of the two equal forms the one without cancellation.
    return np.where(slope > 0, 2 / (slope + root), (root - slope) / 2)


class DirectionWeightStep:
    """Weights for the cosine."""

    def __init__(
        self, source: RowSource, points: Any, must_link: Array, cannot_link: Array, strength: float
    ) -> None:
        self._source, self._ends = source, (must_link, cannot_link)
        self._points = points
        self._squares = points.multiply(points) if sparse.issparse(points) else points * points
        self._must, self._cannot = (
            _products(*(points[end] for end in ends.T)) for ends in self._ends
        )

        def add(block: Any) -> tuple[tuple[Array, bool], tuple[()]]:
            total = np.asarray(block.sum(axis=0, dtype=np.float64)).ravel()
            return (total, bool(block.min() < 0)), ()

        (total, negative), _ = source.map_reduce(add)
        # Rows of a cosine of at least 0 are at most 1 apart.
        self.largest = 2.0 if negative else 1.0
        self.kappa = COSINE_SHARE * strength * _away_from(source, total)

    def prices(self, weights: Array) -> tuple[Array, Array]:
        """Return φ of the must-links and ``φ_max - φ`` of the cannot-links."""
        must, cannot = self._divergences(weights)
        return must, np.maximum(self.largest - cannot, 0)

    def _divergences(self, weights: Array) -> tuple[Array, Array]:
        """Return ``1 - cos`` of all pairs."""
        lengths = self._lengths(weights)
        must, cannot = (
            self._between(products, ends, weights, lengths)
            for products, ends in zip((self._must, self._cannot), self._ends, strict=True)
        )
        return must, cannot

    def _between(self, products: Any, ends: Array, weights: Array, lengths: Array) -> Array:
        if sparse.issparse(products):
            cosines = np.asarray(products @ weights).ravel() / np.prod(lengths[ends], axis=1)
            return np.maximum(1 - cosines, 0)
        found = np.empty(len(ends))
        for tile in tiles(len(ends)):
            one, other = (self._points[end] / lengths[end, None] for end in ends[tile].T)
            found[tile] = (one - other) ** 2 @ weights / 2
        return found

    def _lengths(self, weights: Array) -> Array:
        return np.sqrt(np.asarray(self._squares @ weights).ravel())

    def prior(self, weights: Array) -> float:
        """Return ``-κ Σ log(a / ā)``, which is not negative."""
        return -self.kappa * float(np.sum(np.log(weights / weights.mean())))

    def learn(self, weights: Array, sums: ViolationSums) -> Array:
        """Take some steps along the gradient in ``log a``; the mean weight stays 1."""
        value, slope = self.value_and_slope(weights, sums)
        length, n_steps = 1 / _steepest(slope), 0
        for _ in range(GRADIENT_TRIES):
            length = min(length, LONGEST / _steepest(slope))
            tried = weights * np.exp(-length * slope)
            tried /= tried.mean()
            found, next_slope = self.value_and_slope(tried, sums)
            if found <= value - ARMIJO * length * float(slope @ slope):
                weights, value, slope = tried, found, next_slope
                n_steps += 1
                if n_steps == GRADIENT_STEPS:
                    break
                length *= 2
            else:
                length /= 4
        return weights

    def value_and_slope(self, weights: Array, sums: ViolationSums) -> tuple[float, Array]:
        """Objective as a function of the weights (but for constants), and its slope in ``log a``.

        ``∂cos/∂a_m = x_m z_m / (‖x‖‖z‖) - ½ cos ( x_m²/‖x‖² + z_m²/‖z‖² )``, summed with -1 for
        rows and their centers and for violated must-links, +1 for violated cannot-links.
        """
        centers = sums.centers.astype(np.float64)
        units = centers / np.sqrt(weighted_squares(centers, weights))[:, None]
        images, squares, cosines, total = self._row_sums(weights, units, sums.labels)
        slope = -np.sum(images * units, axis=0) + squares / 2 + cosines @ units**2 / 2
        value = float(total)
        lengths = self._lengths(weights)
        for products, ends, factor, apart in zip(
            (self._must, self._cannot),
            self._ends,
            (-sums.must_link, sums.cannot_link),
            self._divergences(weights),
            strict=True,
        ):
            cos = 1 - apart
            value -= float(factor @ apart)
            slope += np.asarray(products.T @ (factor / np.prod(lengths[ends], axis=1))).ravel()
            at_node = sum(np.bincount(end, factor * cos, minlength=len(lengths)) for end in ends.T)
            slope -= np.asarray(self._squares.T @ (at_node / lengths**2)).ravel() / 2
        slope -= self.kappa * (1 / weights - 1 / weights.mean())
        return value + self.prior(weights), weights * slope

    def _row_sums(self, weights: Array, units: Array, labels: Array) -> tuple[Any, ...]:
        """``Σ x/‖x‖_A``, ``Σ cos x²/‖x‖²_A``, ``Σ cos`` by cluster, and ``Σ (1 - cos)``."""

        costs_of = Cosine().costs_at(units, weights)

        def add(block: Any, labels: Array) -> tuple[tuple[Any, ...], tuple[()]]:
            sums, squares = np.zeros(units.shape), np.zeros(units.shape[1])
            cosines, total = np.zeros(len(units)), 0.0
            for tile in tiles(block.shape[0]):
                rows, label = block[tile].astype(np.float64), labels[tile]
                shares = Cosine().shares(rows, weights)
                costs = costs_of(rows)[np.arange(len(label)), label]
                cos = 1 - costs
                total += float(costs.sum())
                add_weighted(rows, shares, label, sums)
                cosines += np.bincount(label, cos, minlength=len(units))
                second = rows.multiply(rows) if sparse.issparse(rows) else rows * rows
                squares += np.asarray(second.T @ (cos * shares**2)).ravel()
            return (sums, squares, cosines, total), ()

        return self._source.map_reduce(add, aligned=(labels,))[0]


def _away_from(source: RowSource, total: Array) -> float:
    """Return ``Σ (1 - cos)`` of rows of unit length and the direction of their sum."""
    length = float(np.linalg.norm(total))
    if length < source.n_rows / 2:
        return source.n_rows - length
    center = total[None] / length
    return total_of(DivergenceDistances(Cosine(), center, np.ones(len(total))).costs(source))


def _steepest(slope: Array) -> float:
    return max(float(np.max(np.abs(slope))), np.finfo(float).tiny)


def add_weighted(rows: Any, shares: Array, labels: Array, totals: Array) -> None:
    """Add dense or CSR rows, times their shares, to the totals of their clusters."""
    if sparse.issparse(rows):
        add_sparse_rows(rows.data, rows.indices, rows.indptr, shares, labels, totals)
    else:
        add_rows(rows, shares, labels, totals)


def _products(first: Any, second: Any) -> Any:
    return sparse.csr_array(first.multiply(second)) if sparse.issparse(first) else first * second
