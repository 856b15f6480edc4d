"""Exact inference in fitted charts: coordinates from rows, rows from coordinates, views from views.

Given the views ``v`` that a row has, chart ``s`` has the posterior (Verbeek 2004, 5.2.2 and 5.3.3)

    p(s | x) ∝ π_s N(x; μ_s, B_s G_s B_sᵀ + Ψ_s),    p(g | x, s) = N(m_s(x), V_s⁻¹),
    V_s = G_s⁻¹ + Σ_v M_sv,    m_s(x) = κ_s + V_s⁻¹ r_s(x),

with ``|B_s G_s B_sᵀ + Ψ_s| = |Ψ_s| |G_s| |V_s|``. Everything else is the mean or the covariance of
a mixture over the charts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from sidelight._typing import Array
from sidelight.manifold.atlas._charts import LOG_2PI, Charts


class Posterior(NamedTuple):
    """Charts and coordinates given rows that have the same views.

    Attributes
    ----------
    log_joint : ndarray of shape (b, k)
        ``log π_s + log p(x | s)``.
    means : ndarray of shape (b, k, d)
        Mean ``m_s(x)`` of the coordinates given each chart.
    covariances, precisions : ndarray of shape (k, d, d)
        Covariance ``V_s⁻¹`` of the coordinates given each chart, and its inverse.
    """

    log_joint: Array
    means: Array
    covariances: Array
    precisions: Array

    @property
    def log_density(self) -> Array:
        """``log p(x)`` of every row."""
        return np.asarray(logsumexp(self.log_joint, axis=1))

    def responsibilities(self, allowed: Array | None = None) -> Array:
        """``p(s | x)``, over the ``allowed`` charts only."""
        joint = self.log_joint
        if allowed is not None:
            joint = np.where(allowed, joint, -np.inf)
        return np.asarray(softmax(joint, axis=1))

    def coordinates(self) -> Array:
        """``E[g | x]``."""
        return np.einsum("nk,nkd->nd", self.responsibilities(), self.means)

    def coordinate_covariances(self) -> Array:
        """Covariance of ``g`` given ``x``: within the charts and between them."""
        resp = self.responsibilities()
        offsets = self.means - np.einsum("nk,nkd->nd", resp, self.means)[:, None, :]
        within = np.einsum("nk,kij->nij", resp, self.covariances)
        return within + np.einsum("nk,nki,nkj->nij", resp, offsets, offsets)

    def disagreement(self) -> Array:
        """``Σ_s p(s | x) (m_s - ḡ)ᵀ V̄ (m_s - ḡ)`` for the mean precision ``V̄``."""
        resp = self.responsibilities()
        offsets = self.means - np.einsum("nk,nkd->nd", resp, self.means)[:, None, :]
        precisions = np.einsum("nk,kij->nij", resp, self.precisions)
        return np.einsum("nk,nki,nij,nkj->n", resp, offsets, precisions, offsets, optimize=True)


def posterior(charts: Charts, rows: Array, seen: Array) -> Posterior:
    """Posterior of rows that have the views for which ``seen`` of shape (V,) is true."""
    precisions = charts.spread_precisions.copy()
    shape = charts.offsets.shape
    pulls = np.zeros((len(rows), *shape))
    joint = np.tile(charts.log_priors + 0.5 * shape[1] * LOG_2PI, (len(rows), 1))
    for number in np.flatnonzero(seen):
        view, terms = charts.views[number], charts.terms[number]
        own = rows[:, view]
        precisions += terms.information
        pulls += (own @ terms.projections - terms.shifts.ravel()).reshape(len(rows), *shape)
        joint -= own**2 @ (0.5 * terms.precisions.T)
        joint += own @ terms.slopes
        joint -= 0.5 * (terms.squares + terms.log_determinants)
    covariances = np.linalg.inv(precisions)
    covariances = 0.5 * (covariances + np.swapaxes(covariances, 1, 2))
    offsets = np.einsum("kij,nkj->nki", covariances, pulls)
    joint -= 0.5 * np.linalg.slogdet(precisions)[1]
    joint += 0.5 * np.einsum("nkd,nkd->nk", offsets, pulls)
    return Posterior(joint, charts.offsets + offsets, covariances, precisions)


def chart_posterior_of_places(charts: Charts, places: Array) -> Array:
    """``p(s | g)`` of coordinates ``g``, of shape (b, k)."""
    offsets = places[:, None, :] - charts.offsets
    squares = np.einsum(
        "nki,kij,nkj->nk", offsets, charts.spread_precisions, offsets, optimize=True
    )
    return np.asarray(softmax(charts.log_priors - 0.5 * squares, axis=1))


def expected_rows(charts: Charts, view: slice, resp: Array, places: Array) -> Array:
    """``Σ_s p_s (μ_s + B_s (g_s - κ_s))`` in a view, for ``g`` of shape (b, k, d)."""
    weighted = (resp[:, :, None] * (places - charts.offsets)).reshape(len(resp), -1)
    loadings = charts.loadings[:, view].transpose(0, 2, 1).reshape(weighted.shape[1], -1)
    return np.asarray(resp @ charts.means[:, view] + weighted @ loadings)


def chart_rows(charts: Charts, view: slice, places: Array) -> Array:
    """``μ_s + B_s (g_s - κ_s)`` of every chart in a view, of shape (b, k, D)."""
    maps = np.swapaxes(charts.loadings[:, view], 1, 2)
    offsets = (places - charts.offsets).transpose(1, 0, 2)
    return np.asarray((offsets @ maps).transpose(1, 0, 2) + charts.means[:, view])


def chart_covariances(charts: Charts, view: slice, spreads: Array | None) -> Array:
    """``B_s C_s B_sᵀ + Ψ_s`` in a view for covariances ``C`` of the coordinates, (k, D, D)."""
    noise = charts.noise[:, view]
    covariances = np.zeros((*noise.shape, noise.shape[1]))
    if spreads is not None:
        loadings = charts.loadings[:, view]
        covariances += loadings @ spreads @ np.swapaxes(loadings, 1, 2)
    diagonal = np.arange(noise.shape[1])
    covariances[:, diagonal, diagonal] += noise
    return covariances


def mixture_covariances(resp: Array, means: Array, covariances: Array) -> Array:
    """Covariances of mixtures of (b, k, D) means and (k, D, D) covariances, weights (b, k)."""
    offsets = means - np.einsum("nk,nkj->nj", resp, means)[:, None, :]
    scaled = offsets * np.sqrt(resp)[:, :, None]
    between = np.swapaxes(scaled, 1, 2) @ scaled
    return np.asarray(np.tensordot(resp, covariances, axes=1) + between)
