"""E-step of a tile of rows: responsibilities, estimates of coordinates, sums for the m-step.

With ``r_ns = Σ_v B_sᵀ Ψ_s⁻¹ (x_n - μ_s)`` over the views that a row has, the negative expected
log-joint of the row, its coordinates and a chart is

    E_ns = ½ tr V_s (Σ_n + γ γᵀ) - γᵀ r_ns + ½ (x_n - μ_s)ᵀ Ψ_s⁻¹ (x_n - μ_s) + constants

for ``γ = g_n - κ_s`` (Verbeek 2004, 5.18). All of it is products of matrices: of the rows, their
squares, the coordinates and their second moments with parameters of the charts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sidelight._typing import Array
from sidelight.manifold.atlas._charts import LOG_2PI, Charts

#: Products of a tile of rows with all charts should stay in the cache.
TILE_BYTES = 2**20


class Sums(NamedTuple):
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
        """Sums over all rows, then :class:`Sums` of every view, weighted by ``resp``."""
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
