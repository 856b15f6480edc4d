"""Gaussians that are changed one at a time, for component-wise EM."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sidelight._fit.buffers import buffers
from sidelight._fit.moments import relative_to
from sidelight._fit.tiles import tiles
from sidelight._typing import Array
from sidelight.mixture._core import WithMeans, mml
from sidelight.mixture.gaussian._components import GaussianComponents

Sums = tuple[Array, ...]

#: Rows that are worked on at a time.
TILE_ROWS = 2000

LOG_2PI = math.log(2 * math.pi)
TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class RevisableGaussians(WithMeans):
    """Means and covariances, and what densities need of them.

    Variances in no direction fall below ``floor``: the covariance with its eigenvalues raised to
    the floor is the most likely one under that bound, so that every change is still the best one.

    Attributes
    ----------
    means : ndarray of shape (k, d)
        Means.
    covariances : ndarray
        Of shape (k, d, d), (d, d), (k, d) or (k,) for full, tied, diagonal, spherical ones.
    kind : {"full", "tied", "diag", "spherical"}
        Kind of covariances.
    factors : ndarray
        Shaped like the covariances: ``F`` with ``F Fᵀ = Σ⁻¹``.
    normalizers : ndarray
        ``log |F|``, of shape (k,), or one number for a tied covariance.
    floor : float
        Least variance in any direction.
    origin : ndarray of shape (d,)
        Mean of the data.
    largest_square : float
        Largest squared distance of a row to the mean of the data.
    """

    means: Array
    covariances: Array
    kind: str
    factors: Array
    normalizers: Array
    floor: float
    origin: Array
    largest_square: float

    @property
    def support(self) -> float:
        """Rows that a component has to hold at least."""
        return parameters_of(self.kind, self.means.shape[1])[0] / 2

    @property
    def least_rows(self) -> float:
        """Rows without which a component is removed: fewer lie in a plane, or are one point."""
        return max(self.support, self.means.shape[1] + 1.0 if self.kind == "full" else 2.0)

    @property
    def structure(self) -> tuple[int, ...]:
        """Number of components."""
        return (self.n_components,)

    @property
    def has_common(self) -> bool:
        """Whether all components share one covariance."""
        return self.kind == "tied"

    def message_length(self, log_likelihood: float, weights: Array, n: float) -> float:
        """Message length of Figueiredo and Jain."""
        own, shared = parameters_of(self.kind, self.means.shape[1])
        return mml(log_likelihood, weights, own, n, shared=shared, constants=False)

    def copies(self, means: Array) -> RevisableGaussians:
        """Round Gaussians at these means, with a tenth of the variance of the only component."""
        return round_gaussians(
            means,
            np.ravel(self.covariances)[0] / 10,
            self.kind,
            floor=self.floor,
            origin=self.origin,
            largest_square=self.largest_square,
        )

    def gaussians(self) -> GaussianComponents:
        """Components that measure new rows."""
        return GaussianComponents(
            means=self.means,
            covariances=self.covariances,
            kind=self.kind,
            origin=self.origin,
            largest_square=self.largest_square,
        )

    # ------------------------------------------------------------------ densities

    def log_density(self, block: Array) -> Array:
        """Log-densities of all components, of shape (b, k)."""
        return np.stack([self.log_density_of(block, j) for j in range(len(self.means))], axis=1)

    def log_density_of(self, block: Array, component: int) -> Array:
        """Log-densities of one component."""
        tied = self.kind == "tied"
        factor = self.factors if tied else self.factors[component]
        constant = self.normalizers if tied else self.normalizers[component]
        out = np.empty(len(block))
        with buffers() as memory:
            for rows in tiles(len(block), TILE_ROWS):
                offsets = relative_to(block[rows], self.means[component], memory)
                scaled = memory.array("scaled", offsets.shape)
                if factor.ndim == 2:
                    np.matmul(offsets, factor, out=scaled)
                else:
                    np.multiply(offsets, factor, out=scaled)
                np.einsum("nd,nd->n", scaled, scaled, out=out[rows])
        out *= -0.5
        out += constant - 0.5 * LOG_2PI * self.means.shape[1]
        return out

    # ------------------------------------------------------------------ one component

    def statistics_of(self, block: Array, component: int, shares: Array) -> Sums:
        """Sum of the shares, of offsets from the mean, and of products of these."""
        # A covariance that is tied is found after the sweep.
        return _moments(block, shares, self.means[component], products=self.kind == "full")

    def revised(self, component: int, statistics: Sums) -> Self:
        """With mean and covariance of the rows of one component."""
        total, first, second = statistics
        if not total > TINY:
            return self
        shift = first / total
        means = self.means.copy()
        means[component] += shift
        if self.kind == "tied":
            return replace(self, means=means)
        covariance = _spread(second / total, shift, self.kind)
        covariance, factor, normalizer = _factored(covariance, self.floor, means.shape[1])
        return replace(
            self,
            means=means,
            covariances=_with_entry(self.covariances, component, covariance),
            factors=_with_entry(self.factors, component, factor),
            normalizers=_with_entry(self.normalizers, component, normalizer),
        )

    def without(self, component: int) -> Self:
        """With one component less."""
        means = np.delete(self.means, component, axis=0)
        if self.kind == "tied":
            return replace(self, means=means)
        return replace(
            self,
            means=means,
            covariances=np.delete(self.covariances, component, axis=0),
            factors=np.delete(self.factors, component, axis=0),
            normalizers=np.delete(self.normalizers, component),
        )

    # ------------------------------------------------------------------ a covariance for all

    def common_statistics(self, block: Array, shares: Array) -> Sums:
        """Sums of the shares, of offsets from the means, and of all their products."""
        of_components = [
            _moments(block, shares[:, j], self.means[j], products=True)
            for j in range(len(self.means))
        ]
        totals, first, second = zip(*of_components, strict=True)
        return np.array(totals), np.array(first), np.sum(second, axis=0)

    def with_common(self, statistics: Sums) -> Self:
        """With the means and the one covariance of the rows about them."""
        totals, first, second = statistics
        shift = first / np.maximum(totals, TINY)[:, None]
        scatter = (second - np.einsum("k,ki,kj->ij", totals, shift, shift)) / totals.sum()
        covariance, factor, normalizer = _factored(scatter, self.floor, len(scatter))
        return replace(
            self,
            means=self.means + shift,
            covariances=covariance,
            factors=factor,
            normalizers=np.asarray(normalizer),
        )


def round_gaussians(
    means: Array, variance: float, kind: str, *, floor: float, origin: Array, largest_square: float
) -> RevisableGaussians:
    """Gaussians of the same variance in all directions."""
    k, d = means.shape
    spread = 1 / math.sqrt(variance)
    shapes = {
        "full": np.repeat(np.eye(d)[None], k, axis=0),
        "tied": np.eye(d),
        "diag": np.ones((k, d)),
        "spherical": np.ones(k),
    }
    log_factor = d * math.log(spread)
    return RevisableGaussians(
        means=means,
        covariances=variance * shapes[kind],
        kind=kind,
        factors=spread * shapes[kind],
        normalizers=np.asarray(log_factor) if kind == "tied" else np.full(k, log_factor),
        floor=floor,
        origin=origin,
        largest_square=largest_square,
    )


def parameters_of(kind: str, d: int) -> tuple[int, int]:
    """Numbers of parameters of every Gaussian, and of all of them together."""
    matrix = d * (d + 1) // 2
    own = {"full": d + matrix, "tied": d, "diag": 2 * d, "spherical": d + 1}[kind]
    return own, matrix if kind == "tied" else 0


def _with_entry(values: Array, component: int, entry: Any) -> Array:
    changed = values.copy()
    changed[component] = entry
    return changed


def _moments(block: Array, shares: Array, mean: Array, *, products: bool) -> Sums:
    """Sum of the shares, of weighted offsets from the mean, and of their products or squares."""
    d = len(mean)
    first = np.zeros(d)
    second = np.zeros((d, d) if products else d)
    with buffers() as memory:
        for rows in tiles(len(block), TILE_ROWS):
            offsets = relative_to(block[rows], mean, memory)
            weighted = memory.array("weighted", offsets.shape)
            np.multiply(offsets, shares[rows, None], out=weighted)
            first += weighted.sum(axis=0)
            second += weighted.T @ offsets if products else np.einsum("nd,nd->d", weighted, offsets)
    return np.asarray(shares.sum()), first, second


def _spread(second: Array, shift: Array, kind: str) -> Array:
    """Covariance from moments about a mean that has moved by ``shift``."""
    if kind == "full":
        return np.asarray(second - np.outer(shift, shift))
    variances = second - shift**2
    return np.asarray(variances if kind == "diag" else variances.mean())


def _factored(covariance: Array, floor: float, d: int) -> tuple[Array, Array, float]:
    """Covariance with variances of at least ``floor``, its inverse factor, and ``log |F|``."""
    if covariance.ndim == 2:
        values, vectors = np.linalg.eigh(covariance)
        if values[0] < floor:
            values = np.maximum(values, floor)
            covariance = (vectors * values) @ vectors.T
        factor = vectors / np.sqrt(values)
        return covariance, factor, -0.5 * float(np.log(values).sum())
    covariance = np.maximum(covariance, floor)
    factor = 1 / np.sqrt(covariance)
    return covariance, factor, float(np.log(factor).sum()) * (d if covariance.ndim == 0 else 1)
