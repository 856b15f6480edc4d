"""Gaussian components for rows with missing values (Verbeek 2004, section 4.2.2).

A missing value is hidden like the component of its row. The e-step measures a row by the marginal
density of what it has; the m-step takes what it lacks by its mean given the rest, and adds the
covariance given the rest:

    x̂_ns = E[x | x_o, s],   μ_s = Σ_n q_ns x̂_ns / N_s,
    Σ_s = Σ_n q_ns [ (x̂_ns - μ_s)(x̂_ns - μ_s)ᵀ + Cov(x | x_o, s) ] / N_s.

Where features are independent given the component, missing ones are simply left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from sidelight._fit.buffers import Buffers
from sidelight._kernels.mixture.missing import add_conditional_covariances, complete_rows
from sidelight._typing import Array
from sidelight.mixture._core import InBuffers, Statistics, in_buffers, prepared
from sidelight.mixture.gaussian._components import STARVED, GaussianComponents, upper_triangle
from sidelight.mixture.gaussian._local import weighted_products, whitened
from sidelight.mixture.gaussian._low_rank import LowRankComponents
from sidelight.mixture.gaussian._missing_rows import Patterns, patterns_of


def incomplete(components: Any) -> Any:
    """The same components, for rows with missing values."""
    if isinstance(components, LowRankComponents):
        return CorrelatedFeatures(replace(components, by_matrices=True))
    if components.kind in ("full", "tied"):
        return CorrelatedFeatures(components)
    return IndependentFeatures(components)


@dataclass(frozen=True)
class MissingAwareComponents(InBuffers):
    """Components that measure rows with and without missing values, the latter the fast way."""

    plain: Any
    shared: MissingAwareComponents | None = None

    def in_buffers(self, memory: Buffers) -> Self:
        """Return components of which those for complete rows work in buffers."""
        return replace(self, plain=in_buffers(self.plain, memory), shared=self)

    def prepare(self) -> None:
        """Prepare the components for complete rows; the others may never be needed."""
        prepared(self.plain)

    @property
    def n_statistics(self) -> int:
        """Numbers per row that are held at a time."""
        return int(self.plain.n_statistics)

    @cached_property
    def _incomplete(self) -> Any:
        return incomplete(self.plain)

    def pick(self, block: Any) -> Any:
        """Components for these rows."""
        return (self.shared or self)._incomplete if np.isnan(block).any() else self.plain

    def features(self, block: Any) -> tuple[Any, Any]:
        """Components for these rows, and the statistics that these take."""
        components = self.pick(block)
        return components, components.features(block)

    def log_density(self, features: tuple[Any, Any]) -> Array:
        """``log p(x_o | s)`` of what every row has."""
        components, own = features
        density: Array = components.log_density(own)
        return density


@dataclass(frozen=True)
class Incomplete(InBuffers):
    """Components that measure rows with missing values; ``inner`` has their parameters."""

    inner: Any

    def prepare(self) -> None:
        """Prepare the components for complete rows."""
        prepared(self.inner)

    @property
    def n_components(self) -> int:
        """Number of components."""
        return int(self.inner.n_components)

    @property
    def n_parameters(self) -> int:
        """Free parameters of all components."""
        return int(self.inner.n_parameters)

    @property
    def log_prior(self) -> float:
        """No prior."""
        return 0.0

    @property
    def means(self) -> Array:
        """Means of the components."""
        means: Array = self.inner.means
        return means

    @property
    def covariances(self) -> Array:
        """Covariances of the components."""
        covariances: Array = self.inner.covariances
        return covariances

    @property
    def kind(self) -> str:
        """Kind of covariances."""
        return str(self.inner.kind)

    @property
    def n_first_steps(self) -> int:
        """Number of m-steps on rough clusters."""
        return int(getattr(self.inner, "n_first_steps", 1))

    def with_parameters(self, **changes: Any) -> Self:
        """The same components with other means or covariances."""
        return replace(self, inner=self.inner.with_parameters(**changes))

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Array:
        """Draw complete rows from one component."""
        rows: Array = self.inner.sample(component, n, rng)
        return rows


@dataclass(frozen=True)
class CompletedTile:
    """Rows of a tile: those that are complete, and the others completed for every component.

    Attributes
    ----------
    is_complete : ndarray of bool, shape (b,)
        Rows without missing values.
    features : object
        Statistics of these.
    offsets : ndarray of shape (k, b', D)
        The other rows less the means, what is missing by its conditional mean.
    log_determinants : ndarray of shape (p, k)
        ``log|P_hh|`` of every pattern.
    patterns : Patterns or None
        Patterns of the other rows; None if there are none.
    """

    is_complete: Array
    features: Any
    offsets: Array
    log_determinants: Array
    patterns: Patterns | None


@dataclass(frozen=True)
class CorrelatedFeatures(Incomplete):
    """Components with full, tied or low-rank covariances."""

    @cached_property
    def _gaussians(self) -> GaussianComponents:
        if isinstance(self.inner, LowRankComponents):
            return self.inner.as_full
        gaussians: GaussianComponents = self.inner
        return gaussians

    def in_buffers(self, memory: Buffers) -> Self:
        """Return the same components, which measure complete rows in buffers, too."""
        bound = super().in_buffers(memory)
        bound.__dict__["_gaussians"] = self._gaussians.in_buffers(memory)
        return bound

    def prepare(self) -> None:
        """Prepare the components for complete rows, and the precisions for the others."""
        self._gaussians.prepare()
        for name in ("_precisions", "precision_factors", "log_normalizers"):
            getattr(self if name == "_precisions" else self._gaussians, name)

    @property
    def n_statistics(self) -> int:
        """Fewer numbers per row than there are: larger tiles have more rows of each pattern."""
        return max(self._gaussians.n_statistics // 4, 1)

    def features(self, block: Any) -> CompletedTile:
        """Statistics of the complete rows, and the others completed."""
        missing = np.isnan(block)
        is_complete = np.asarray(~missing.any(axis=1))
        features = self._gaussians.features(block[is_complete])
        k, d = self._gaussians.means.shape
        holes = block[~is_complete] - self._gaussians.origin
        offsets = self.memory.array("completed", (k, len(holes), d))
        if not len(holes):
            return CompletedTile(is_complete, features, offsets, np.empty((0, k)), None)
        patterns = patterns_of(missing[~is_complete])
        log_determinants = np.empty((len(patterns.missing), k))
        complete_rows(
            holes,
            patterns.order,
            patterns.starts,
            self._gaussians.means - self._gaussians.origin,
            self._precisions,
            offsets,
            log_determinants,
        )
        return CompletedTile(is_complete, features, offsets, log_determinants, patterns)

    @cached_property
    def _precisions(self) -> Array:
        """Precisions of shape (k, D, D), or (1, D, D) for tied ones."""
        precisions: Array = self._gaussians.precisions
        return precisions if precisions.ndim == 3 else precisions[None]

    def log_density(self, features: CompletedTile) -> Array:
        """``log p(x_o | s)`` of what every row has.

        ``|Σ_oo| = |Σ| |P_hh|``, and the squared distance of what there is to the mean is that of
        the completed row.
        """
        gaussians = self._gaussians
        shape = len(features.is_complete), self.n_components
        log_density = self.memory.array("all densities", shape)
        log_density[features.is_complete] = gaussians.log_density(features.features)
        if features.patterns is None:
            return log_density
        patterns = features.patterns
        lost = 0.5 * math.log(2 * math.pi) * patterns.missing.sum(axis=1)[:, None]
        of_patterns = gaussians.log_normalizers + lost - 0.5 * features.log_determinants
        of_rows = of_patterns[patterns.of_row]
        for s, offsets in enumerate(features.offsets):
            factor = gaussians.precision_factors
            scaled = whitened(offsets.copy(), factor[s] if factor.ndim == 3 else factor)
            of_rows[:, s] -= 0.5 * np.einsum("nd,nd->n", scaled, scaled)
        log_density[~features.is_complete] = of_rows
        return log_density

    def statistics(self, features: CompletedTile, resp: Array) -> Statistics:
        """Expected sums: all responsibilities, those of rows with any value, and their moments."""
        gaussians = self._gaussians
        counted, *sums = gaussians.statistics(features.features, resp[features.is_complete])
        if features.patterns is None:
            return resp.sum(axis=0), counted, *sums
        patterns = features.patterns
        nothing = np.asarray(patterns.missing.all(axis=1))
        of_rows = np.where(nothing[patterns.of_row, None], 0.0, resp[~features.is_complete])
        first, second = weighted_products(features.offsets, of_rows)
        add_conditional_covariances(
            patterns.missing, patterns.sums(of_rows), self._precisions, second
        )
        totals = of_rows.sum(axis=0)
        more = self._as_statistics(totals, first, second)
        sums = [of_complete + of_others for of_complete, of_others in zip(sums, more, strict=True)]
        return resp.sum(axis=0), counted + totals, *sums

    def _as_statistics(self, totals: Array, first: Array, second: Array) -> list[Array]:
        """Moments about the means, as the statistics of the Gaussians have them."""
        gaussians = self._gaussians
        if gaussians.is_local:
            return [first, second]
        mu = gaussians.means - gaussians.origin
        crossed = mu[:, :, None] * first[:, None, :]
        second = second + crossed + np.swapaxes(crossed, 1, 2)
        second += totals[:, None, None] * mu[:, :, None] * mu[:, None, :]
        first = first + totals[:, None] * mu
        upper = upper_triangle(mu.shape[1])
        if gaussians.kind == "tied":
            return [first, second.sum(axis=0)[upper]]
        return [np.hstack((first, second[:, upper[0], upper[1]]))]

    def m_step(self, statistics: Statistics) -> Self:
        """Means and covariances of the completed rows; empty rows count for the weights only."""
        return replace(self, inner=self.inner.m_step(statistics[1:]))

    def expected_rows(self, features: CompletedTile, resp: Array) -> Array:
        """``E[x | x_o]`` of the rows that lack values; only the mean of the others."""
        expected: Array = resp @ self._gaussians.means
        lacking = ~features.is_complete
        expected[lacking] += np.einsum("nk,knd->nd", resp[lacking], features.offsets)
        return expected

    def latent(self, block: Any) -> Array:
        """Posterior means of the latent coordinates given what there is, of shape (b, k, d)."""
        features = self.features(block)
        offsets = np.asarray(block, dtype=np.float64)[:, None, :] - self._gaussians.means
        offsets[~features.is_complete] = np.swapaxes(features.offsets, 0, 1)
        return np.asarray(np.einsum("kdj,nkj->nkd", self.inner.lemma.mean_map, offsets))


@dataclass(frozen=True)
class IndependentFeatures(Incomplete):
    """Components with diagonal or spherical covariances: sums over the values that are there.

    The statistics of a row are its values about the origin and their squares, 0 where missing,
    and which values there are.
    """

    @property
    def n_statistics(self) -> int:
        """Numbers per row in :meth:`features`."""
        return 3 * int(self.inner.means.shape[1])

    @cached_property
    def _variances(self) -> Array:
        """Variances of shape (k, D)."""
        inner = self.inner
        variances = inner.covariances if inner.kind == "diag" else inner.covariances[:, None]
        return np.broadcast_to(variances, inner.means.shape)

    def features(self, block: Any) -> Array:
        """Values about the origin and their squares, 0 where missing, and which there are."""
        n, d = block.shape
        features = self.memory.array("features", (n, 3 * d))
        centered, squares, known = features[:, :d], features[:, d : 2 * d], features[:, 2 * d :]
        np.subtract(block, self.inner.origin, out=centered)
        known[:] = ~np.isnan(centered)
        np.nan_to_num(centered, copy=False, nan=0.0)
        np.multiply(centered, centered, out=squares)
        return features

    def log_density(self, features: Array) -> Array:
        """``log p(x_o | s)`` of what every row has."""
        variances = self._variances
        mu = self.inner.means - self.inner.origin
        logs = -0.5 * np.log(2 * math.pi * variances)
        if not self.inner.is_local:
            of_known = logs - 0.5 * mu**2 / variances
            eta = np.hstack((mu / variances, -0.5 / variances, of_known))
            densities = self.memory.array("densities", (len(features), len(eta)))
            return np.matmul(features, eta.T, out=densities)
        d = mu.shape[1]
        known = features[:, 2 * d :]
        log_density = known @ logs.T
        for s in range(self.n_components):
            offsets = (features[:, :d] - mu[s]) * known
            log_density[:, s] -= 0.5 * (offsets**2 @ (1.0 / variances[s]))
        return np.asarray(log_density)

    def statistics(self, features: Array, resp: Array) -> Statistics:
        """Sums of responsibilities, and of the statistics weighted by them."""
        sums = self.memory.array("sums", (resp.shape[1], features.shape[1]))
        np.matmul(resp.T, features, out=sums)
        if self.inner.is_local:  # about the means, lest they cancel
            d = self.inner.means.shape[1]
            for s, mean in enumerate(self.inner.means - self.inner.origin):
                offsets = (features[:, :d] - mean) * features[:, 2 * d :]
                sums[s, :d] = resp[:, s] @ offsets
                sums[s, d : 2 * d] = resp[:, s] @ offsets**2
        return resp.sum(axis=0), sums

    def m_step(self, statistics: Statistics) -> Self:
        """Means and variances of the values that are there; what has none keeps its own."""
        inner = self.inner
        d = inner.means.shape[1]
        sums = statistics[1]
        known = sums[:, 2 * d :]
        fed = known > STARVED
        safe = np.maximum(known, STARVED)
        first, second = sums[:, :d] / safe, sums[:, d : 2 * d] / safe
        center = inner.means if inner.is_local else inner.origin
        means = np.where(fed, center + first, inner.means)
        variances = np.where(fed, np.maximum(second - first**2, 0.0), 0.0)
        if inner.kind == "diag":
            scatter = np.where(fed, variances + inner.reg_covar, inner.covariances)
        else:
            of_all = np.sum(variances * known, axis=1) / np.maximum(known.sum(axis=1), STARVED)
            scatter = of_all + inner.reg_covar
        kept = inner.acceptable(scatter, fed.any(axis=1))
        return replace(self, inner=replace(inner, means=means, covariances=kept))

    def expected_rows(self, features: Array, resp: Array) -> Array:
        """``E[x | x_o]`` where values are missing."""
        return np.asarray(resp @ self.inner.means)
