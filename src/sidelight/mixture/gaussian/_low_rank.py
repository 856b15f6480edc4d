"""Gaussian components whose covariances are of low rank plus noise (Verbeek 2004, 3.1.4).

With few features they are Gaussians with full covariances that have an m-step of their own, which
is exact where there is an exact one. With many features matrices of all pairs of features are not
formed: the lemmas of :mod:`sidelight.mixture.gaussian._low_rank_steps` make a row cost ``O(D d)``
per component, and an m-step is one EM step on the latent coordinates (a generalized m-step: it
never lowers the likelihood).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from sidelight._fit.buffers import Buffers, buffers
from sidelight._fit.moments import relative_to
from sidelight._fit.tiles import EqualWeights, tiles
from sidelight._typing import Array
from sidelight.engine import RowSource
from sidelight.mixture._core import InBuffers, Statistics, WithMeans, column_sums, data_moments
from sidelight.mixture.gaussian._components import (
    CANCELLATION,
    MAX_FEATURES,
    STARVED,
    GaussianComponents,
)
from sidelight.mixture.gaussian._low_rank_steps import (
    Lemma,
    LowRank,
    canonical,
    dense,
    em_step,
    lemma,
    of_scatter,
)

LOW_RANK_TYPES = ("factor", "ppca", "subspace")

#: Noise of a feature never falls below this share of the variance of the feature.
MIN_NOISE = 1e-6

#: Passes over the rows that find the leading directions of all of them.
PASSES = 4

#: m-steps on rough clusters where one is not exact.
FIRST_STEPS = 4

#: Covariances are also kept as matrices up to this many features.
MAX_MATRIX_FEATURES = 200


@dataclass(frozen=True)
class LowRankComponents(WithMeans, InBuffers):
    """Means, loadings and noise of all components.

    Attributes
    ----------
    means : ndarray of shape (k, D)
        Means.
    loadings : ndarray of shape (k, D, d)
        Factor loadings ``Λ``.
    noise_variances : ndarray of shape (k, D)
        Diagonals of ``Ψ``.
    kind : {"factor", "ppca", "subspace"}
        What is free: all of it, one noise variance, also one length of all loadings.
    origin : ndarray of shape (D,)
        Statistics are taken about this point: the mean of the data.
    least : ndarray of shape (D,)
        Noise variances do not fall below this.
    by_matrices : bool
        Whether matrices of all pairs of features are formed.
    reg_covar, noise, largest_square : float
        As in :class:`GaussianComponents`.
    """

    means: Array
    loadings: Array
    noise_variances: Array
    kind: str
    origin: Array
    least: Array
    by_matrices: bool
    reg_covar: float = 0.0
    noise: float = 0.0
    largest_square: float = 0.0

    def in_buffers(self, memory: Buffers) -> Self:
        """Return the same components, those with matrices in buffers as well."""
        bound = super().in_buffers(memory)
        if self.by_matrices:
            bound.__dict__["as_full"] = self.as_full.in_buffers(memory)
        return bound

    def prepare(self) -> None:
        """Compute what densities need."""
        if self.by_matrices:
            self.as_full.prepare()
        else:
            for name in ("mean_map", "log_normalizers", "_projection", "_diagonal_part"):
                getattr(self, name)

    @property
    def n_factors(self) -> int:
        """Number of factors ``d``."""
        return int(self.loadings.shape[2])

    @property
    def n_parameters(self) -> int:
        """Free parameters of means, loadings and noise; a rotation of the factors is not free."""
        k, n_features = self.means.shape
        d = self.n_factors
        if self.kind == "subspace":
            of_covariance = 2 + d * (n_features - d) if d else 1
        else:
            noise = n_features if self.kind == "factor" else 1
            of_covariance = noise + n_features * d - d * (d - 1) // 2
        return k * (n_features + of_covariance)

    @property
    def n_statistics(self) -> int:
        """Numbers per row in :meth:`features`."""
        if self.by_matrices:
            return self.as_full.n_statistics
        k, n_features = self.means.shape
        return 2 * n_features + k * self.n_factors

    @property
    def log_prior(self) -> float:
        """No prior."""
        return 0.0

    @property
    def n_first_steps(self) -> int:
        """Number of m-steps on rough clusters: several where one is not exact."""
        return 1 if self.by_matrices else FIRST_STEPS

    @property
    def model(self) -> LowRank:
        """Loadings and noise."""
        return LowRank(self.loadings, self.noise_variances)

    @cached_property
    def lemma(self) -> Lemma:
        """Terms of the determinant and inverse lemmas, in place of factors of the covariances."""
        return lemma(self.model)

    @cached_property
    def mean_map(self) -> Array:
        """Maps from rows to the means of their latent coordinates, of shape (k, d, D)."""
        return self.lemma.mean_map

    @cached_property
    def as_full(self) -> GaussianComponents:
        """The same components with their covariances as matrices."""
        return GaussianComponents(
            means=self.means,
            covariances=dense(self.model),
            kind="full",
            origin=self.origin,
            reg_covar=self.reg_covar,
            noise=self.noise,
            largest_square=self.largest_square,
        )

    @cached_property
    def is_local(self) -> bool:
        """Whether differences to the means are taken, since squares would cancel."""
        return self.largest_square / float(np.min(self.noise_variances)) > CANCELLATION

    @cached_property
    def log_normalizers(self) -> Array:
        """Log-densities at the means."""
        n_features = self.means.shape[1]
        traces = np.sum(1.0 / self.noise_variances, axis=1) - np.sum(
            self.lemma.half**2, axis=(1, 2)
        )
        return -0.5 * (
            n_features * math.log(2 * math.pi) + self.lemma.log_determinants + self.noise * traces
        )

    @cached_property
    def _projection(self) -> tuple[Array, Array]:
        """``R`` of all components side by side, of shape (D, k d), and their ``R μ``."""
        halves = np.ascontiguousarray(np.concatenate(list(self.lemma.half)).T)
        shifts = np.einsum("kdj,kj->kd", self.lemma.half, self.means - self.origin)
        return halves, shifts.ravel()

    @cached_property
    def _diagonal_part(self) -> tuple[Array, Array]:
        """Coefficients of rows and squares, of shape (2 D, k), and the constant of the density."""
        mu = self.means - self.origin
        precisions = 1.0 / self.noise_variances
        eta = np.ascontiguousarray(np.hstack((precisions * mu, -0.5 * precisions)).T)
        return eta, self.log_normalizers - 0.5 * np.sum(precisions * mu**2, axis=1)

    def features(self, block: Any) -> Array:
        """Rows about the origin, their squares and, for every component, ``R (x - μ)``."""
        if self.by_matrices:
            return self.as_full.features(block)
        if self.is_local:
            centered = self.memory.array("features", block.shape)
            return np.subtract(block, self.origin, out=centered)
        halves, shifts = self._projection
        n, n_features = block.shape
        features = self.memory.array("features", (n, 2 * n_features + len(shifts)))
        centered = features[:, :n_features]
        np.subtract(block, self.origin, out=centered)
        np.multiply(centered, centered, out=features[:, n_features : 2 * n_features])
        images = np.matmul(centered, halves, out=self.memory.array("images", (n, len(shifts))))
        np.subtract(images, shifts, out=features[:, 2 * n_features :])
        return features

    def log_density(self, features: Array) -> Array:
        """``log p(x_n | s)`` of every row and component."""
        if self.by_matrices:
            return self.as_full.log_density(features)
        if self.is_local:
            return self._local_log_density(features)
        k, n_features = self.means.shape
        eta, constant = self._diagonal_part
        log_density = self.memory.array("densities", (len(features), k))
        np.matmul(features[:, : 2 * n_features], eta, out=log_density)
        log_density += constant
        halves = features[:, 2 * n_features :].reshape(len(features), k, self.n_factors)
        squares = self.memory.array("squares", log_density.shape)
        np.einsum("nkd,nkd->nk", halves, halves, out=squares)
        squares *= 0.5
        log_density += squares
        return log_density

    def _local_log_density(self, rows: Array) -> Array:
        """By residuals, which do not cancel: ``|x - μ - Λ z|²_Ψ + |z|²`` for latent means ``z``."""
        squares = np.empty((len(rows), self.n_components))
        for s, mean in enumerate(self.means - self.origin):
            offsets = rows - mean
            latent = offsets @ self.mean_map[s].T
            offsets -= latent @ self.loadings[s].T
            squares[:, s] = offsets**2 @ (1.0 / self.noise_variances[s])
            squares[:, s] += np.einsum("nd,nd->n", latent, latent)
        return self.log_normalizers - 0.5 * squares

    def statistics(self, features: Array, resp: Array) -> Statistics:
        """Sums of responsibilities and, weighted by them, of the rows, squares and cross products.

        The cross products are those of the rows and their ``R (x - μ)``. Sums are about the
        origin, or about the means where components are small.
        """
        if self.by_matrices:
            return self.as_full.statistics(features, resp)
        k, n_features = self.means.shape
        if self.is_local:
            return self._local_statistics(features, resp)
        sums = (features[:, : 2 * n_features].T @ resp).T
        halves = features[:, 2 * n_features :].reshape(len(features), k, self.n_factors)
        weighted = self.memory.array("weighted", halves.shape)
        np.multiply(halves, resp[:, :, None], out=weighted)
        weighted = weighted.reshape(len(halves), k * self.n_factors)
        cross = (features[:, :n_features].T @ weighted).reshape(n_features, k, self.n_factors)
        return column_sums(resp), sums, np.ascontiguousarray(np.swapaxes(cross, 0, 1))

    def _local_statistics(self, rows: Array, resp: Array) -> Statistics:
        k, n_features = self.means.shape
        sums = np.empty((k, 2 * n_features))
        cross = np.empty((k, n_features, self.n_factors))
        for s, mean in enumerate(self.means - self.origin):
            offsets = rows - mean
            weighted = offsets * resp[:, s, None]
            sums[s, :n_features] = weighted.sum(axis=0)
            sums[s, n_features:] = np.einsum("nj,nj->j", weighted, offsets)
            cross[s] = weighted.T @ (offsets @ self.lemma.half[s].T)
        return resp.sum(axis=0), sums, cross

    def m_step(self, statistics: Statistics) -> Self:
        """Components of higher expected likelihood; a starved component keeps its parameters."""
        if self.by_matrices:
            fed, means, scatter = self.as_full.scatters(statistics)
            model = of_scatter(scatter, self.n_factors, self.kind, self.least, self.noise_variances)
        else:
            fed, means, model = self._em_step(statistics)
        return replace(
            self,
            means=means,
            loadings=np.where(fed[:, None, None], model.loadings, self.loadings),
            noise_variances=np.where(fed[:, None], model.noise, self.noise_variances),
        )

    def _em_step(self, statistics: Statistics) -> tuple[Array, Array, LowRank]:
        """Which components have rows, their means, and loadings and noise after an EM step."""
        totals, sums, cross = statistics
        n_features = self.means.shape[1]
        fed = totals > STARVED
        safe = np.maximum(totals, STARVED)
        first = sums[:, :n_features] / safe[:, None]
        center = self.means if self.is_local else self.origin
        means = np.where(fed[:, None], center + first, self.means)
        # Scatter about the new means; the products R (x - μ) were taken about the old ones.
        half = self.lemma.half
        shifts = np.einsum("kdj,kj->kd", half, means - self.means)
        added = self.reg_covar + self.noise
        diagonal = np.maximum(sums[:, n_features:] / safe[:, None] - first**2, 0.0) + added
        cross = cross / safe[:, None, None] - first[:, :, None] * shifts[:, None, :]
        cross += added * np.swapaxes(half, 1, 2)
        # B = L⁻ᵀ R, so S Bᵀ = S Rᵀ L⁻¹.
        root_transposed = np.swapaxes(self.lemma.root, 1, 2)
        to_latent = np.linalg.solve(root_transposed, np.swapaxes(cross, 1, 2))
        cross = np.swapaxes(to_latent, 1, 2)
        model = em_step(self.model, self.mean_map, cross, diagonal, self.kind, self.least)
        return fed, means, model

    def latent(self, rows: Array) -> Array:
        """Posterior means of the latent coordinates, of shape (n, k, d)."""
        offsets = rows[:, None, :] - self.means
        return np.asarray(np.einsum("kdj,nkj->nkd", self.mean_map, offsets))

    def with_parameters(self, **changes: Any) -> Self:
        """The same components with other means."""
        return replace(self, **changes)

    def attributes(self, dtype: np.dtype[Any]) -> dict[str, Any]:
        """Fitted attributes; covariances as matrices only up to some number of features."""
        noise = self.noise_variances if self.kind == "factor" else self.noise_variances[:, 0]
        values = {"means_": self.means, "loadings_": self.loadings, "noise_variances_": noise}
        if self.means.shape[1] <= MAX_MATRIX_FEATURES:
            values["covariances_"] = self.as_full.covariances
        return {name: value.astype(dtype) for name, value in values.items()}

    def canonical(self) -> Self:
        """The same covariances, with factors ordered by the variance that they explain."""
        if self.kind == "subspace":  # all directions explain the same
            return self
        return replace(self, loadings=canonical(self.model).loadings)

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Array:
        """Draw rows from one component: latent coordinates, then noise."""
        n_features = self.means.shape[1]
        latent = rng.standard_normal((n, self.n_factors))
        noise = rng.standard_normal((n, n_features)) * np.sqrt(self.noise_variances[component])
        return self.means[component] + latent @ self.loadings[component].T + noise


def low_rank_of_rows(
    source: RowSource,
    k: int,
    kind: str,
    n_factors: int,
    *,
    reg_covar: float,
    noise: float = 0.0,
    sample_weight: Array | None = None,
) -> LowRankComponents:
    """``k`` copies of the component of all rows: which the first m-step starts from."""
    added = reg_covar + noise
    if source.n_features <= MAX_FEATURES:
        mean, scatter, largest = data_moments(source, sample_weight, reg_covar=reg_covar)
        return low_rank_of_moments(
            mean, scatter, k, kind, n_factors, reg_covar, noise, largest_square=largest
        )
    mean, variances, largest = data_moments(source, sample_weight, full=False, reg_covar=reg_covar)
    variances = variances + added
    least = least_noise(variances, reg_covar)
    directions, values = _leading_directions(source, mean, n_factors, sample_weight)
    rest = (variances.sum() - values.sum() - n_factors * added) / (len(mean) - n_factors)
    rest = max(float(rest), float(least.mean()))
    loadings = directions * np.sqrt(np.maximum(values + added - rest, 0.0))
    if kind == "subspace" and n_factors:
        loadings = directions * math.sqrt(max(float(values.mean()) + added - rest, 0.0))
    own = np.maximum(variances - np.sum(loadings**2, axis=1), least)
    noise_variances = own if kind == "factor" else np.full(len(mean), rest)
    return _copies(
        LowRank(loadings[None], noise_variances[None]),
        mean,
        k,
        kind=kind,
        least=least,
        by_matrices=False,
        reg_covar=reg_covar,
        noise=noise,
        largest_square=largest,
    )


def low_rank_of_moments(
    mean: Array,
    scatter: Array,
    k: int,
    kind: str,
    n_factors: int,
    reg_covar: float,
    noise: float = 0.0,
    *,
    largest_square: float = 0.0,
) -> LowRankComponents:
    """``k`` copies of the component of the rows with these moments, by matrices."""
    scatter = scatter + (reg_covar + noise) * np.eye(len(mean))
    least = least_noise(np.diagonal(scatter), reg_covar)
    model = of_scatter(scatter[None], n_factors, kind, least)
    return _copies(
        model,
        mean,
        k,
        kind=kind,
        least=least,
        by_matrices=True,
        reg_covar=reg_covar,
        noise=noise,
        largest_square=largest_square,
    )


def _copies(model: LowRank, mean: Array, k: int, **settings: Any) -> LowRankComponents:
    return LowRankComponents(
        means=np.repeat(mean[None], k, axis=0),
        loadings=np.repeat(model.loadings, k, axis=0),
        noise_variances=np.repeat(model.noise, k, axis=0),
        origin=mean,
        **settings,
    )


def least_noise(variances: Array, reg_covar: float) -> Array:
    """Bound below the noise: a small share of the variance, a typical one for constant features."""
    typical = float(variances.mean()) or 1.0
    known = np.where(variances > 0, variances, typical)
    return np.maximum(MIN_NOISE * known, reg_covar)


def _leading_directions(
    source: RowSource, mean: Array, n: int, sample_weight: Array | None
) -> tuple[Array, Array]:
    """Directions of largest variance and the variances along them, by subspace iteration."""
    weights: Any = EqualWeights(source) if sample_weight is None else sample_weight
    total = source.n_rows if sample_weight is None else float(sample_weight.sum(dtype=np.float64))
    width = min(n + 5, len(mean))  # a few more directions make the first ones converge
    directions = np.linalg.qr(np.random.RandomState(0).standard_normal((len(mean), width)))[0]

    def times_scatter(block: Any, w: Array) -> tuple[tuple[Array], tuple[()]]:
        product = np.zeros(directions.shape)
        with buffers() as memory:
            for tile in tiles(len(block)):
                offsets = relative_to(block[tile], mean, memory)
                product += offsets.T @ ((offsets @ directions) * w[tile, None])
        return (product,), ()

    values = np.zeros(width)
    for _ in range(PASSES):
        images = source.map_reduce(times_scatter, aligned=(weights,))[0][0] / total
        values, turn = np.linalg.eigh(directions.T @ images)
        directions = np.linalg.qr(images @ turn[:, ::-1])[0]
    return directions[:, :n], values[::-1][:n]
