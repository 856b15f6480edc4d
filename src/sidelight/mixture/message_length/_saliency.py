"""Components with one saliency per feature (Law 2006, section 4.3.2).

    p(y | j) = Π_l [ ρ_l N(y_l; μ_jl, σ²_jl) + (1 - ρ_l) N(y_l; μ_l, σ²_l) ]

A feature is relevant with probability ``ρ_l``; otherwise it comes from a density that
all components share. Features with ``ρ = 1`` are *sure*, those with ``0 < ρ < 1`` *mixed*.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from sidelight._fit.buffers import buffers
from sidelight._fit.tiles import tiles
from sidelight._kernels.mixture.saliency import (
    add_common_moments,
    add_log_mixed,
    add_moments,
    add_relevant_moments,
    add_squared_offsets,
)
from sidelight._typing import Array
from sidelight.mixture._core import WithMeans

Sums = tuple[Array, ...]

#: Rows that are worked on at a time: a tile of some twenty features fits the cache.
TILE_ROWS = 1000

#: Parameters of the density of one feature: its mean and its variance.
PER_FEATURE = 2

#: Responsibilities below this do not show in a sum.
NEGLIGIBLE = 1e-20

#: Number of features that always count for the support of a component, or all of fewer.
FEW_FEATURES = 10

LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True)
class SaliencyComponents(WithMeans):
    """Parameters of the components, of the common density, and the saliencies.

    Attributes
    ----------
    means, variances : ndarray of shape (k, d)
        Densities of the relevant features in every component.
    common_means, common_variances : ndarray of shape (d,)
        Densities of irrelevant features.
    saliencies : ndarray of shape (d,)
        ``ρ``.
    whole_means, whole_variances : ndarray of shape (d,)
        Moments of the data: what the common density is when a feature is never relevant.
    floor : ndarray of shape (d,)
        Variances do not fall below.
    learn : bool
        Whether the saliencies are learned.
    counted : {"auto", "all", "salient", "none"}
        Features that count for the support that a component needs; with none of them the mixing
        weights are those of plain EM.
    """

    means: Array
    variances: Array
    common_means: Array
    common_variances: Array
    saliencies: Array
    whole_means: Array
    whole_variances: Array
    floor: Array
    learn: bool = True
    counted: str = "all"

    # ------------------------------------------------------------------ what there is

    @property
    def n_statistics(self) -> int:
        """Numbers per row in :meth:`features`."""
        return self.means.shape[1]

    @cached_property
    def mixed(self) -> Array:
        """Features that may be relevant or not."""
        return np.flatnonzero((self.saliencies > 0) & (self.saliencies < 1))

    @cached_property
    def sure(self) -> Array:
        """Features that are always relevant."""
        return np.flatnonzero(self.saliencies >= 1)

    @cached_property
    def shared(self) -> Array:
        """Features that have a common density."""
        return np.flatnonzero(self.saliencies < 1)

    @property
    def n_salient(self) -> int:
        """Number of features with a positive saliency."""
        return len(self.mixed) + len(self.sure)

    @property
    def n_parameters(self) -> int:
        """Free parameters of all densities, and the saliencies between 0 and 1."""
        densities = self.n_components * self.n_salient + len(self.shared)
        return PER_FEATURE * densities + len(self.mixed)

    @property
    def support(self) -> float:
        """Rows that a component has to hold at least."""
        d, on = self.means.shape[1], self.n_salient
        few = max(on, min(d, FEW_FEATURES))
        counted = {"auto": few, "all": d, "salient": on, "none": 0}
        return PER_FEATURE / 2 * counted[self.counted]

    @property
    def least_rows(self) -> float:
        """Rows without which a component is removed: a variance takes two."""
        return max(self.support, 2.0)

    @property
    def structure(self) -> tuple[int, ...]:
        """Number of components, of mixed and of sure features."""
        return self.n_components, len(self.mixed), len(self.sure)

    @property
    def has_common(self) -> bool:
        """Whether there is a common density, or a saliency, to be found."""
        return len(self.mixed) > 0

    # ------------------------------------------------------------------ densities

    @cached_property
    def _inverses(self) -> Array:
        """Inverse standard deviations of the components."""
        return 1.0 / np.sqrt(self.variances)

    @cached_property
    def _common_inverses(self) -> Array:
        """Inverse standard deviations of the common density."""
        return 1.0 / np.sqrt(self.common_variances)

    @cached_property
    def _mixed_parameters(self) -> tuple[Array, Array, Array, Array, Array]:
        """Means, inverse deviations (k, f), the common ones (f,), and log-odds of relevance."""
        f = self.mixed
        rho = self.saliencies[f]
        inverses, common = self._inverses[:, f], self._common_inverses[f]
        offsets = np.log(rho) - np.log1p(-rho) + np.log(inverses) - np.log(common)
        return (
            np.ascontiguousarray(self.means[:, f]),
            np.ascontiguousarray(inverses),
            self.common_means[f],
            common,
            np.ascontiguousarray(offsets),
        )

    @cached_property
    def _constants(self) -> Array:
        """Terms that do not depend on the row: ``log`` of the factors of the densities, (k,)."""
        shared, sure = self.shared, self.sure
        common = np.log1p(-self.saliencies[shared]) + np.log(self._common_inverses[shared])
        own = np.log(self._inverses[:, sure]).sum(axis=1)
        return np.asarray(own + common.sum() - 0.5 * LOG_2PI * self.means.shape[1])

    def features(self, block: Any) -> Array:
        """The rows themselves."""
        return np.asarray(block)

    def log_density(self, block: Array) -> Array:
        """``log p(y | j)`` of every row and component."""
        out = np.empty((len(block), self.n_components))
        for rows, values in _tiles(block):
            parts = self._parts(values)
            for j in range(self.n_components):
                out[rows, j] = self._finish(parts, j)
        return out

    def log_density_of(self, block: Array, component: int) -> Array:
        """``log p(y | j)`` of every row, for one component."""
        out = np.empty(len(block))
        for rows, values in _tiles(block):
            out[rows] = self._finish(self._parts(values), component)
        return out

    def _parts(self, values: Array) -> tuple[Array, Array, Array]:
        """Values of the sure and of the mixed features, and logarithms of the common density."""
        common = np.zeros(values.shape[1])
        shared = self.shared
        add_squared_offsets(
            _pick(values, shared), self.common_means[shared], self._common_inverses[shared], common
        )
        return _pick(values, self.sure), _pick(values, self.mixed), common

    def _finish(self, parts: tuple[Array, Array, Array], j: int) -> Array:
        """Add what component ``j`` changes."""
        sure, mixed, common = parts
        out = common + self._constants[j]
        if len(sure):
            add_squared_offsets(sure, self.means[j, self.sure], self._inverses[j, self.sure], out)
        if len(mixed):
            means, inverses, common_means, common_inverses, offsets = self._mixed_parameters
            add_log_mixed(
                mixed,
                means[j],
                inverses[j],
                common_means,
                common_inverses,
                offsets[j],
                np.empty(len(out)),
                out,
            )
        return out

    # ------------------------------------------------------------------ one component

    def statistics_of(self, block: Array, component: int, shares: Array) -> Sums:
        """Weights of what is relevant to a component, offsets from its mean, and their squares."""
        kept = np.flatnonzero(shares > NEGLIGIBLE)
        if len(kept) >= 0.7 * len(shares):
            return self._sums_of(block, component, shares)
        with buffers() as memory:
            some = memory.array("kept", (len(kept), block.shape[1]), block.dtype)
            np.take(block, kept, axis=0, out=some, mode="clip")
            return self._sums_of(some, component, shares[kept])

    def _sums_of(self, block: Array, component: int, shares: Array) -> Sums:
        """Sums over all these rows."""
        d = self.means.shape[1]
        mass, first, second = np.zeros(d), np.zeros(d), np.zeros(d)
        sure, mixed = self.sure, self.mixed
        of_sure = np.zeros(len(sure)), np.zeros(len(sure))
        of_mixed = np.zeros(len(mixed)), np.zeros(len(mixed)), np.zeros(len(mixed))
        means, inverses, common_means, common_inverses, offsets = self._mixed_parameters
        j = component
        for rows, values in _tiles(block):
            add_moments(_pick(values, sure), self.means[j, sure], shares[rows], *of_sure)
            add_relevant_moments(
                _pick(values, mixed),
                means[j],
                inverses[j],
                common_means,
                common_inverses,
                offsets[j],
                shares[rows],
                *of_mixed,
            )
        mass[sure] = shares.sum()
        first[sure], second[sure] = of_sure
        mass[mixed], first[mixed], second[mixed] = of_mixed
        return mass, first, second

    def revised(self, component: int, statistics: Sums) -> Self:
        """With mean and variance of what is relevant to one component."""
        mean, variance = _moments(
            statistics, self.means[component], self.variances[component], self.floor
        )
        means, variances = self.means.copy(), self.variances.copy()
        means[component], variances[component] = mean, variance
        return replace(self, means=means, variances=variances)

    def copies(self, means: Array) -> Self:
        """Components at these means, with a tenth of the variances of the only component."""
        variances = np.maximum(self.variances / 10, self.floor)
        copies = replace(self, means=means, variances=np.repeat(variances, len(means), axis=0))
        return copies.with_saliencies(self.saliencies)

    def without(self, component: int) -> Self:
        """With one component less."""
        return replace(
            self,
            means=np.delete(self.means, component, axis=0),
            variances=np.delete(self.variances, component, axis=0),
        )

    # ------------------------------------------------------------------ what is shared

    def common_statistics(self, block: Array, shares: Array) -> Sums:
        """Sums of relevance ``U``, of its opposite ``V``, and the moments of what is irrelevant."""
        mixed = self.mixed
        sums = tuple(np.zeros(len(mixed)) for _ in range(4))
        for rows, values in _tiles(block):
            of_rows = np.ascontiguousarray(shares[rows].T)
            add_common_moments(
                _pick(values, mixed),
                *self._mixed_parameters,
                of_rows,
                of_rows.sum(axis=0),
                np.empty(of_rows.shape[1]),
                *sums,
            )
        return sums

    def with_common(self, statistics: Sums) -> Self:
        """With the common density of what is irrelevant, and the saliencies of least message."""
        relevant, *rest = statistics
        mixed = self.mixed
        means, variances = self.common_means.copy(), self.common_variances.copy()
        means[mixed], variances[mixed] = _moments(
            tuple(rest), means[mixed], variances[mixed], self.floor[mixed]
        )
        revised = replace(self, common_means=means, common_variances=variances)
        if not self.learn:
            return revised
        own = np.maximum(relevant - 0.5 * PER_FEATURE * self.n_components, 0.0)
        other = np.maximum(rest[0] - 0.5 * PER_FEATURE, 0.0)
        saliencies = self.saliencies.copy()
        fed = own + other > 0
        saliencies[mixed[fed]] = own[fed] / (own[fed] + other[fed])
        return revised.with_saliencies(saliencies)

    def with_saliencies(self, saliencies: Array) -> Self:
        """With these saliencies; densities that are no longer used become those of the data."""
        off = saliencies <= 0
        unused = off | (saliencies >= 1)
        return replace(
            self,
            saliencies=np.clip(saliencies, 0.0, 1.0),
            means=np.where(off, self.whole_means, self.means),
            variances=np.where(off, self.whole_variances, self.variances),
            common_means=np.where(unused, self.whole_means, self.common_means),
            common_variances=np.where(unused, self.whole_variances, self.common_variances),
        )

    def reopened(self, saliencies: Array) -> Self:
        """Components with these saliencies where theirs are 0; the next sweep separates them."""
        return replace(self, saliencies=np.where(self.saliencies > 0, self.saliencies, saliencies))

    def message_length(self, log_likelihood: float, weights: Array, n: float) -> float:
        """Message length (4.3.3); densities that no row comes from cost nothing."""
        k, log_n = self.n_components, math.log(n)
        on, rho = self.n_salient, self.saliencies
        half = PER_FEATURE / 2
        own = on * float(np.log(n * weights).sum()) + k * float(np.log(rho[rho > 0]).sum())
        common = len(self.shared) * log_n + float(np.log1p(-rho[self.mixed]).sum())
        return -log_likelihood + 0.5 * (k + len(self.mixed)) * log_n + half * (own + common)

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Array:
        """Draw rows: for every value flip a coin, then ask the component or the common density."""
        shape = (n, self.means.shape[1])
        relevant = rng.uniform(size=shape) < self.saliencies
        mean = np.where(relevant, self.means[component], self.common_means)
        variance = np.where(relevant, self.variances[component], self.common_variances)
        return np.asarray(mean + np.sqrt(variance) * rng.standard_normal(shape))


def _tiles(block: Array) -> Iterator[tuple[slice, Array]]:
    """Tiles of rows, one column per row, in float64; a tile is written over by the next."""
    with buffers() as memory:
        for rows in tiles(len(block), TILE_ROWS):
            tile = block[rows]
            values = memory.array("values", tile.shape[::-1])
            values[:] = tile.T
            yield rows, values


def _pick(values: Array, features: Array) -> Array:
    return values if len(features) == len(values) else values[features]


def _moments(statistics: Sums, means: Array, variances: Array, floor: Array) -> tuple[Array, Array]:
    """Means and variances from weights, offsets from the old means and their squares.

    Without any weight they stay what they were.
    """
    mass, first, second = statistics
    fed = mass > np.finfo(np.float64).tiny
    safe = np.where(fed, mass, 1.0)
    shift = first / safe
    variance = np.maximum(second / safe - shift**2, floor)
    return np.where(fed, means + shift, means), np.where(fed, variance, variances)
