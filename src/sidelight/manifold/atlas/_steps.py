"""The two steps of coordinated factor analysis in closed form (Verbeek 2004, 5.2.3 and 5.3.1).

Weights, centers and spreads of a chart are moments of the estimated coordinates. Its maps into the
views are weighted regressions of the rows on the coordinates with an intercept, where the
covariance of an estimate counts as scatter of the coordinates: with sums over the rows that have
the view, about their weighted means,

    B = S_xg (S_gg + ρ I)⁻¹,    μ = x̄ - B (ḡ - κ),    Ψ = diag(S_xx - B S_xgᵀ) / w.

Conformal charts restrict ``B = b O`` with ``OᵀO = I`` and ``G = v I``, ``Ψ = σ² I``: from the
singular value decomposition ``S_xg = U L Wᵀ`` follow ``O = U Wᵀ`` and
``b = tr L / tr(S_gg + ρ I)``.

E-step of a tile of rows: responsibilities, estimates of coordinates, sums for the m-step.

With ``r_ns = Σ_v B_sᵀ Ψ_s⁻¹ (x_n - μ_s)`` over the views that a row has, the negative expected
log-joint of the row, its coordinates and a chart is

    E_ns = ½ tr V_s (Σ_n + γ γᵀ) - γᵀ r_ns + ½ (x_n - μ_s)ᵀ Ψ_s⁻¹ (x_n - μ_s) + constants

for ``γ = g_n - κ_s`` (Verbeek 2004, 5.18). All of it is products of matrices: of the rows, their
squares, the coordinates and their second moments with parameters of the charts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sidelight._typing import Array
from sidelight.manifold.atlas._charts import LOG_2PI, Charts

#: Products of a tile of rows with all charts should stay in the cache.
TILE_BYTES = 2**20


class ViewSums(NamedTuple):
    """Sums over the rows that have a view, weighted by their responsibilities.

    Attributes
    ----------
    latent : ndarray of shape (k, 1 + d + d²)
        Of 1, of the coordinates and of their second moments ``Σ_n + g_n g_nᵀ``.
    rows, squares : ndarray of shape (k, D)
        Of the rows and their squares.
    cross : ndarray of shape (k, D, d)
        Of the products of rows and coordinates.
    """

    latent: Array
    rows: Array
    squares: Array
    cross: Array


def tiles(charts: Charts, n_rows: int) -> list[slice]:
    """Ranges of rows of a block whose products fit the cache together."""
    width = charts.n_charts * (charts.n_coordinates + 2) + 2 * charts.means.shape[1]
    size = int(np.clip(TILE_BYTES // (8 * width), 128, 4000))
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def with_moments(means: Array, covariances: Array) -> Array:
    """1, coordinates and their second moments, of shape (b, 1 + d + d²)."""
    b, d = means.shape
    moments = covariances + means[:, :, None] * means[:, None, :]
    return np.hstack((np.ones((b, 1)), means, moments.reshape(b, d * d)))


class Tile:
    """Some rows and their products with the charts.

    Parameters
    ----------
    charts : Charts
        Parameters.
    rows : ndarray of shape (b, D)
        Rows; any number stands where a view is not seen.
    seen : ndarray of bool, shape (b, V)
        Views that every row has.
    """

    def __init__(self, charts: Charts, rows: Array, seen: Array) -> None:
        self._charts = charts
        #: Positions of the rows that have a view (all: ``slice(None)``), and their columns.
        self._views: list[tuple[slice | Array, Array]] = []
        for number, view in enumerate(charts.views):
            there = seen[:, number]
            chosen = slice(None) if there.all() else np.flatnonzero(there)
            self._views.append((chosen, rows[chosen, view]))
        self._pulls: list[Array] = []

    def responsibilities(self, means: Array, covariances: Array) -> tuple[Array, Array]:
        """``q`` of shape (b, k), and what every row adds to the bound with it."""
        joint = self.log_joint(means, covariances)
        top = joint.max(axis=1)
        joint -= top[:, None]
        np.exp(joint, out=joint)
        mass = joint.sum(axis=1)
        joint /= mass[:, None]
        d = means.shape[1]
        entropies = 0.5 * np.linalg.slogdet(covariances)[1] + 0.5 * d * (1 + LOG_2PI)
        return joint, top + np.log(mass) + entropies

    def log_joint(self, means: Array, covariances: Array) -> Array:
        """``-E`` of every row and chart."""
        charts = self._charts
        features = with_moments(means, covariances)
        joint = features @ _quadratic(charts.spread_precisions, charts.offsets)
        joint += charts.log_priors
        self._pulls = []
        for (chosen, rows), terms in zip(self._views, charts.terms, strict=True):
            pulls = rows @ terms.projections
            pulls -= terms.shifts.ravel()
            pulls = pulls.reshape(len(rows), *charts.offsets.shape)
            self._pulls.append(pulls)
            # γᵀ r = gᵀ r - κᵀ r, of which the second is linear in the row.
            d = means.shape[1]
            centers = np.einsum(
                "jkd,kd->jk", terms.projections.reshape(-1, *charts.offsets.shape), charts.offsets
            )
            part = (rows**2) @ (-0.5 * terms.precisions.T)
            part += rows @ (terms.slopes - centers)
            part += np.einsum("kd,kd->k", terms.shifts, charts.offsets)
            part -= 0.5 * (terms.squares + terms.log_determinants)
            part += features[chosen] @ _quadratic(terms.information, charts.offsets)
            for axis in range(d):
                part += means[chosen, axis, None] * pulls[:, :, axis]
            joint[chosen] += part
        return joint

    def estimates(
        self, resp: Array, means: Array, covariances: Array, keep: Array
    ) -> tuple[Array, Array]:
        """Best estimates for responsibilities; rows to ``keep`` have those they had.

        ``Σ_n⁻¹ = Σ_s q_ns V_s`` and ``g_n = Σ_n Σ_s q_ns (V_s κ_s + r_ns)`` (Verbeek 2004, 5.23).
        """
        charts = self._charts
        b, d = means.shape
        inverse = charts.spread_precisions
        precisions = resp @ inverse.reshape(-1, d * d)
        pulled = resp @ np.einsum("kij,kj->ki", inverse, charts.offsets)
        for (chosen, _), terms, pulls in zip(self._views, charts.terms, self._pulls, strict=True):
            own = resp[chosen]
            precisions[chosen] += own @ terms.information.reshape(-1, d * d)
            pulled[chosen] += own @ np.einsum("kij,kj->ki", terms.information, charts.offsets)
            pulled[chosen] += np.einsum("nk,nkd->nd", own, pulls)
        new = np.linalg.inv(precisions.reshape(b, d, d))
        new = 0.5 * (new + np.swapaxes(new, 1, 2))
        places = np.einsum("nij,nj->ni", new, pulled)
        if keep.any():
            places[keep], new[keep] = means[keep], covariances[keep]
        return places, new

    def sums(self, resp: Array, means: Array, covariances: Array) -> tuple[Array, ...]:
        """Sums over all rows, then :class:`ViewSums` of every view, weighted by ``resp``."""
        d = means.shape[1]
        features = with_moments(means, covariances)
        found = [resp.T @ features]
        weighted = resp[:, :, None] * means[:, None, :]
        for chosen, rows in self._views:
            whole = isinstance(chosen, slice)
            own = resp if whole else resp[chosen]
            found.append(found[0].copy() if whole else own.T @ features[chosen])
            found += [own.T @ rows, own.T @ rows**2]
            k = resp.shape[1]
            cross = rows.T @ weighted[chosen].reshape(len(rows), k * d)
            found.append(cross.reshape(rows.shape[1], k, d).transpose(1, 0, 2))
        return tuple(found)


def _quadratic(matrices: Array, centers: Array) -> Array:
    """Coefficients of ``-½ tr A_s (Σ + (g - κ_s)(g - κ_s)ᵀ)`` in :func:`with_moments`."""
    k, d = centers.shape
    linear = np.einsum("kij,kj->ki", matrices, centers)
    constant = -0.5 * np.einsum("ki,ki->k", linear, centers)
    return np.hstack((constant[:, None], linear, -0.5 * matrices.reshape(k, d * d))).T


#: A chart, or a chart in a view, with less weight than this keeps its parameters.
STARVED = 1e-9

#: A mixing weight never falls below this, so that its logarithm is a number.
MIN_WEIGHT = 1e-300


@dataclass(frozen=True)
class ChartRules:
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


def blank_charts(k: int, d: int, rules: ChartRules) -> Charts:
    """Uninformative charts, which stay where an M-step has no rows."""
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


def m_step(charts: Charts, latent: Array, views: tuple[ViewSums, ...], rules: ChartRules) -> Charts:
    """Return the charts that maximize the bound; those without rows are unchanged."""
    totals, centers, spreads = _moments(latent, charts.n_coordinates)
    if rules.conformal:
        spreads = _multiples_of_identity(spreads)
    fed = totals > STARVED
    charts = replace(
        charts,
        log_weights=np.log(np.maximum(totals / totals.sum(), MIN_WEIGHT)),
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
    sums: ViewSums, centers: Array, floor: Array, rules: ChartRules
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
