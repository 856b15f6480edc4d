"""Charts and exact inference in them (Verbeek 2004, 5.2.2): local linear models that share one map.

A chart ``s`` is a Gaussian of the coordinates and a linear map from them to the rows,

    p(g | s) = N(g; κ_s, G_s),    p(x | g, s) = N(x; μ_s + B_s (g - κ_s), Ψ_s),

with diagonal ``Ψ_s``. The columns of a row are those of one or more views, each of which is seen or
not; a view that is not seen drops out of all sums, since ``Ψ_s`` is diagonal. With ``M_sv`` for
``B_sᵀ Ψ_s⁻¹ B_s`` over the columns of view ``v``, the coordinates of a row have the precision
``V_s = G_s⁻¹ + Σ_v M_sv`` given the views that are seen. No matrix of all pairs of columns is ever
formed.

Exact inference in fitted charts: coordinates from rows, rows from coordinates, views from views.

Given the views ``v`` that a row has, chart ``s`` has the posterior (Verbeek 2004, 5.2.2 and 5.3.3)

    p(s | x) ∝ π_s N(x; μ_s, B_s G_s B_sᵀ + Ψ_s),    p(g | x, s) = N(m_s(x), V_s⁻¹),
    V_s = G_s⁻¹ + Σ_v M_sv,    m_s(x) = κ_s + V_s⁻¹ r_s(x),

with ``|B_s G_s B_sᵀ + Ψ_s| = |Ψ_s| |G_s| |V_s|``. Everything else is the mean or the covariance of
a mixture over the charts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from scipy.special import logsumexp, softmax

from sidelight._typing import Array

LOG_2PI = math.log(2 * math.pi)


class ViewTerms(NamedTuple):
    """Products of the parameters of the charts in one view, as the e-step needs them.

    Attributes
    ----------
    precisions : ndarray of shape (k, D)
        ``1 / Ψ``.
    projections : ndarray of shape (D, k d)
        ``Ψ⁻¹ B`` of all charts side by side.
    shifts : ndarray of shape (k, d)
        ``Bᵀ Ψ⁻¹ μ``.
    information : ndarray of shape (k, d, d)
        ``M = Bᵀ Ψ⁻¹ B``.
    slopes : ndarray of shape (D, k)
        ``Ψ⁻¹ μ``.
    squares : ndarray of shape (k,)
        ``μᵀ Ψ⁻¹ μ``.
    log_determinants : ndarray of shape (k,)
        ``log |Ψ|``, with ``D log 2π``.
    """

    precisions: Array
    projections: Array
    shifts: Array
    information: Array
    slopes: Array
    squares: Array
    log_determinants: Array


@dataclass(frozen=True)
class Charts:
    """Parameters of all charts.

    Attributes
    ----------
    log_weights : ndarray of shape (k,)
        Logarithms of the mixing weights.
    offsets : ndarray of shape (k, d)
        Centers ``κ`` on the map.
    spreads : ndarray of shape (k, d, d)
        Covariances ``G`` of the coordinates.
    means : ndarray of shape (k, D)
        Rows ``μ`` at the centers.
    loadings : ndarray of shape (k, D, d)
        Linear maps ``B`` from coordinates to rows.
    noise : ndarray of shape (k, D)
        Diagonals of ``Ψ``.
    views : tuple of slice
        Columns of every view.
    """

    log_weights: Array
    offsets: Array
    spreads: Array
    means: Array
    loadings: Array
    noise: Array
    views: tuple[slice, ...]

    @property
    def n_charts(self) -> int:
        """Number of charts ``k``."""
        return len(self.log_weights)

    @property
    def n_coordinates(self) -> int:
        """Number of coordinates ``d``."""
        return int(self.offsets.shape[1])

    @cached_property
    def spread_precisions(self) -> Array:
        """``G⁻¹`` of every chart."""
        inverse = np.linalg.inv(self.spreads)
        return 0.5 * (inverse + np.swapaxes(inverse, 1, 2))

    @cached_property
    def log_priors(self) -> Array:
        """``log π_s - ½ log |G_s| - d/2 log 2π``: log-joint at the center of a chart."""
        log_determinants = np.linalg.slogdet(self.spreads)[1]
        return self.log_weights - 0.5 * (log_determinants + self.n_coordinates * LOG_2PI)

    @cached_property
    def terms(self) -> tuple[ViewTerms, ...]:
        """Products of the parameters, for every view."""
        return tuple(self._view_terms(view) for view in self.views)

    def _view_terms(self, view: slice) -> ViewTerms:
        means, loadings, noise = self.means[:, view], self.loadings[:, view], self.noise[:, view]
        k, n_columns, d = loadings.shape
        scaled = loadings / noise[:, :, None]
        return ViewTerms(
            precisions=1.0 / noise,
            projections=np.ascontiguousarray(scaled.transpose(1, 0, 2).reshape(n_columns, k * d)),
            shifts=np.einsum("kj,kjd->kd", means, scaled),
            information=np.swapaxes(loadings, 1, 2) @ scaled,
            slopes=np.ascontiguousarray((means / noise).T),
            squares=np.sum(means**2 / noise, axis=1),
            log_determinants=np.log(noise).sum(axis=1) + n_columns * LOG_2PI,
        )

    def kept(self, charts: Array) -> Self:
        """Some of the charts, whose weights add up to 1 again."""
        weights = self.log_weights[charts]
        return replace(
            self,
            log_weights=weights - np.logaddexp.reduce(weights),
            offsets=self.offsets[charts],
            spreads=self.spreads[charts],
            means=self.means[charts],
            loadings=self.loadings[charts],
            noise=self.noise[charts],
        )

    def in_units(
        self, center: Array, scale: Array, latent_center: Array, latent_scale: Array
    ) -> Self:
        """The same charts for rows ``center + scale x`` and coordinates likewise."""
        return replace(
            self,
            offsets=latent_center + latent_scale * self.offsets,
            spreads=self.spreads * np.multiply.outer(latent_scale, latent_scale),
            means=center + scale * self.means,
            loadings=self.loadings * (scale[:, None] / latent_scale),
            noise=self.noise * scale**2,
        )


class ChartPosterior(NamedTuple):
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


def posterior(charts: Charts, rows: Array, seen: Array) -> ChartPosterior:
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
    return ChartPosterior(joint, charts.offsets + offsets, covariances, precisions)


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
