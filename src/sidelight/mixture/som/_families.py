"""Components that maps need besides those of the mixtures.

* One variance for all nodes (Verbeek 2004, equations 4.8 to 4.11): with hard winners these are the
  centers of k-means.
* Subspaces through the origin (section 4.2.3), as the adaptive-subspace map has them.
* Pairs of nominal columns with a joint distribution (section 4.4); where one of a pair is missing,
  the marginal of the other counts, and the m-step shares it out by the conditional distribution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight.mixture._core import ExponentialFamily, Statistics
from sidelight.mixture.families._bernoulli import BernoulliComponents
from sidelight.mixture.families._categorical import CategoricalComponents
from sidelight.mixture.gaussian._components import STARVED, GaussianComponents
from sidelight.mixture.gaussian._low_rank import LowRankComponents
from sidelight.mixture.gaussian._low_rank_steps import of_scatter
from sidelight.mixture.gaussian._missing import Incomplete, IndependentFeatures


@dataclass(frozen=True)
class SharedSphericalComponents(GaussianComponents):
    """Spherical Gaussians that share one variance."""

    @property
    def n_parameters(self) -> int:
        """Free parameters: the means and one variance."""
        return int(self.means.size) + 1

    def m_step(self, statistics: Statistics) -> Self:
        """Means of the weighted rows, and the mean squared distance to them."""
        fed, means, scatter = self.scatters(statistics)
        totals = np.where(fed, statistics[0], 0.0)
        pooled = np.full(len(means), totals @ scatter / max(float(totals.sum()), STARVED))
        anywhere = np.full(len(means), bool(fed.any()))
        return replace(self, means=means, covariances=self.acceptable(pooled, anywhere))


@dataclass(frozen=True)
class SharedSphericalFeatures(IndependentFeatures):
    """The same for rows with missing values: the variance of all values that are there."""

    def m_step(self, statistics: Statistics) -> Self:
        """Means of the values that are there, and their mean squared distance to them."""
        made = super().m_step(statistics)
        d = self.inner.means.shape[1]
        known = statistics[1][:, 2 * d :].sum(axis=1)
        pooled = float(known @ made.inner.covariances) / max(float(known.sum()), STARVED)
        same = np.full(len(known), pooled)
        return replace(made, inner=replace(made.inner, covariances=same))


@dataclass(frozen=True)
class OriginSubspaces(LowRankComponents):
    """Probabilistic principal components without a mean: subspaces through the origin."""

    def m_step(self, statistics: Statistics) -> Self:
        """Subspaces of the second moments about 0."""
        fed, means, scatter = self.as_full.scatters(statistics)
        moments = scatter + means[:, :, None] * means[:, None, :]
        model = of_scatter(moments, self.n_factors, self.kind, self.least)
        return replace(
            self,
            loadings=np.where(fed[:, None, None], model.loadings, self.loadings),
            noise_variances=np.where(fed[:, None], model.noise, self.noise_variances),
        )


@dataclass(frozen=True)
class PairedCategoricalComponents(CategoricalComponents):
    """Joint probabilities of pairs of columns, and the marginals of each column of a pair.

    Features are indicators of the cells of all single columns and pairs, then of the values of the
    columns of pairs: of a row that lacks one of a pair, the value of the other is indicated there.

    Attributes
    ----------
    members : csr_array of shape (n_cells, n_marginals)
        1 where a cell has the value of a marginal.
    """

    members: Any = None

    def _natural(self) -> tuple[Array, Array]:
        logs = np.hstack((self.log_probabilities, np.log(self._marginals)))
        return np.ascontiguousarray(logs.T), np.zeros(self.n_components)

    @property
    def _marginals(self) -> Array:
        return np.asarray(np.exp(self.log_probabilities) @ self.members)

    def m_step(self, statistics: Statistics) -> Self:
        """Shares of the cells; a value without its partner counts by the conditional shares."""
        totals, counts = statistics
        n_cells = self.log_probabilities.shape[1]
        per_value = counts[:, n_cells:] / self._marginals
        shared_out = np.exp(self.log_probabilities) * (per_value @ self.members.T)
        return super().m_step((totals, counts[:, :n_cells] + shared_out))


def spherical(means: Array, variance: float, origin: Array) -> GaussianComponents:
    """Gaussians of one given variance."""
    variances = np.full(len(means), variance)
    return GaussianComponents(means=means, covariances=variances, kind="spherical", origin=origin)


def incomplete_nodes(components: Any, incomplete: Any) -> Any:
    """The same components for rows with missing values."""
    if isinstance(components, SharedSphericalComponents):
        return SharedSphericalFeatures(components)
    return incomplete(components)


def complete_nodes(components: Any) -> Any:
    """Components without the wrapping for missing values."""
    return components.inner if isinstance(components, Incomplete) else components


def is_linear(components: Any) -> bool:
    """Whether log-densities are linear in features that are the same for all components."""
    if isinstance(components, LowRankComponents):
        return components.by_matrices and not components.as_full.is_local
    if isinstance(components, IndependentFeatures):
        return not components.inner.is_local
    if isinstance(components, GaussianComponents):
        return not components.is_local
    return isinstance(components, ExponentialFamily)


def has_exact_m_step(components: Any) -> bool:
    """Whether the same winners always give the same parameters."""
    if isinstance(components, PairedCategoricalComponents):
        return not components.members.shape[1]
    return is_linear(components)


def natural_form(components: Any, features_are_sparse: bool) -> tuple[Array, Array]:
    """``η`` of shape (F, k) and ``a`` of shape (k,) of linear components."""
    if isinstance(components, LowRankComponents):
        return components.as_full.natural
    if isinstance(components, IndependentFeatures):
        return _natural_of_known(components)
    if isinstance(components, BernoulliComponents) and features_are_sparse:
        eta = components.natural[0][: components.log_yes.shape[1]]
        return eta, components.log_no.sum(axis=1)
    natural: tuple[Array, Array] = components.natural
    return natural


def _natural_of_known(components: IndependentFeatures) -> tuple[Array, Array]:
    """Of independent features some of which are missing: values, squares, which there are."""
    inner = components.inner
    variances = inner.covariances if inner.kind == "diag" else inner.covariances[:, None]
    variances = np.broadcast_to(variances, inner.means.shape)
    mu = inner.means - inner.origin
    of_known = -0.5 * (np.log(2 * np.pi * variances) + mu**2 / variances)
    eta = np.hstack((mu / variances, -0.5 / variances, of_known)).T
    return np.ascontiguousarray(eta), np.zeros(len(mu))


def add_by_winner(features: Any, winners: Array, weights: Array, n_nodes: int) -> Array:
    """``Σ_{n: r_n = r} w_n T(x_n)`` of every node ``r``, of shape (k, F)."""
    n = len(winners)
    indicator = sparse.csc_array((weights, winners, np.arange(n + 1)), shape=(n_nodes, n))
    sums = indicator @ features
    return sums.toarray() if sparse.issparse(sums) else np.asarray(sums)
