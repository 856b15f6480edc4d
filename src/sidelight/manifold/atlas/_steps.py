"""The m-step of the charts in closed form (Verbeek 2004, 5.2.3 and 5.3.1).

Weights, centers and spreads of a chart are moments of the estimated coordinates. Its maps into the
views are weighted regressions of the rows on the coordinates with an intercept, where the
covariance of an estimate counts as scatter of the coordinates: with sums over the rows that have
the view, about their weighted means,

    B = S_xg (S_gg + ρ I)⁻¹,    μ = x̄ - B (ḡ - κ),    Ψ = diag(S_xx - B S_xgᵀ) / w.

Conformal charts restrict ``B = b O`` with ``OᵀO = I`` and ``G = v I``, ``Ψ = σ² I``: from the
singular value decomposition ``S_xg = U L Wᵀ`` follow ``O = U Wᵀ`` and
``b = tr L / tr(S_gg + ρ I)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sidelight._typing import Array
from sidelight.manifold.atlas._charts import Charts
from sidelight.manifold.atlas._tile import Sums

#: A chart, or a chart in a view, with less weight than this keeps its parameters.
STARVED = 1e-9

#: A mixing weight never falls below this, so that its logarithm is a number.
LEAST_WEIGHT = 1e-300


@dataclass(frozen=True)
class Rules:
    """Restrictions of the charts.

    Attributes
    ----------
    views : tuple of slice
        Columns of every view.
    isotropic : bool
        Whether all columns of a view share one noise variance.
    conformal : bool
        Whether charts are scaled rigid maps; their noise is isotropic.
    floor : ndarray of shape (D,)
        Noise variances do not fall below this.
    ridge : float
        ``ρ``.
    """

    views: tuple[slice, ...]
    isotropic: bool
    conformal: bool
    floor: Array
    ridge: float


def blank_charts(k: int, d: int, rules: Rules) -> Charts:
    """Charts that say nothing: where an m-step finds no rows, they stay."""
    n_columns = len(rules.floor)
    return Charts(
        log_weights=np.full(k, -np.log(k)),
        offsets=np.zeros((k, d)),
        spreads=np.repeat(np.eye(d)[None], k, axis=0),
        means=np.zeros((k, n_columns)),
        loadings=np.zeros((k, n_columns, d)),
        noise=np.ones((k, n_columns)),
        views=rules.views,
    )


def penalty(charts: Charts, ridge: float) -> float:
    """``ρ/2 Σ_s tr B_sᵀ Ψ_s⁻¹ B_s``, which the ridge takes from the bound."""
    return 0.5 * ridge * float(np.sum(charts.loadings**2 / charts.noise[:, :, None]))


def m_step(charts: Charts, latent: Array, views: tuple[Sums, ...], rules: Rules) -> Charts:
    """Return the charts of the largest bound; those without rows stay as they are."""
    totals, centers, spreads = _moments(latent, charts.n_coordinates)
    if rules.conformal:
        spreads = _multiples_of_identity(spreads)
    fed = totals > STARVED
    charts = replace(
        charts,
        log_weights=np.log(np.maximum(totals / totals.sum(), LEAST_WEIGHT)),
        offsets=np.where(fed[:, None], centers, charts.offsets),
        spreads=np.where(fed[:, None, None], spreads, charts.spreads),
    )
    means, loadings, noise = charts.means.copy(), charts.loadings.copy(), charts.noise.copy()
    for view, sums in zip(rules.views, views, strict=True):
        there = sums.latent[:, 0] > STARVED
        found = _regression(sums, charts.offsets, rules.floor[view], rules)
        means[there, view], loadings[there, view], noise[there, view] = (
            part[there] for part in found
        )
    return replace(charts, means=means, loadings=loadings, noise=noise)


def _moments(latent: Array, d: int) -> tuple[Array, Array, Array]:
    """Weights, means and covariances of the coordinates."""
    totals = latent[:, 0]
    safe = np.maximum(totals, STARVED)[:, None]
    means = latent[:, 1 : d + 1] / safe
    moments = (latent[:, d + 1 :] / safe).reshape(-1, d, d)
    return totals, means, moments - means[:, :, None] * means[:, None, :]


def _multiples_of_identity(matrices: Array) -> Array:
    d = matrices.shape[1]
    return np.multiply.outer(np.trace(matrices, axis1=1, axis2=2) / d, np.eye(d))


def _regression(
    sums: Sums, centers: Array, floor: Array, rules: Rules
) -> tuple[Array, Array, Array]:
    """Rows at the centers, loadings and noise of all charts in one view."""
    d = centers.shape[1]
    totals, latent_means, spreads = _moments(sums.latent, d)
    safe = np.maximum(totals, STARVED)[:, None]
    row_means = sums.rows / safe
    scatter = np.maximum(sums.squares / safe - row_means**2, 0.0)
    cross = sums.cross / safe[:, :, None] - row_means[:, :, None] * latent_means[:, None, :]
    spreads = spreads + rules.ridge * np.eye(d) / safe[:, :, None]
    if rules.conformal:
        left, lengths, right = np.linalg.svd(cross, full_matrices=False)
        factors = lengths.sum(axis=1) / np.trace(spreads, axis1=1, axis2=2)
        loadings = factors[:, None, None] * (left @ right)
    else:
        loadings = np.swapaxes(np.linalg.solve(spreads, np.swapaxes(cross, 1, 2)), 1, 2)
    noise = scatter - np.sum(loadings * cross, axis=2)
    if rules.isotropic or rules.conformal:
        noise = np.repeat(noise.mean(axis=1, keepdims=True), noise.shape[1], axis=1)
        floor = np.full_like(floor, floor.mean())
    means = row_means - np.einsum("kjd,kd->kj", loadings, latent_means - centers)
    return means, loadings, np.maximum(noise, floor)
