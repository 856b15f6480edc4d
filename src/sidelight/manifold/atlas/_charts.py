"""Charts: local linear models of rows and of their coordinates on one map (Verbeek 2004, 5.2.2).

A chart ``s`` is a Gaussian of the coordinates and a linear map from them to the rows,

    p(g | s) = N(g; κ_s, G_s),    p(x | g, s) = N(x; μ_s + B_s (g - κ_s), Ψ_s),

with diagonal ``Ψ_s``. The columns of a row are those of one or more views, each of which is seen or
not; a view that is not seen drops out of all sums, since ``Ψ_s`` is diagonal. With ``M_sv`` for
``B_sᵀ Ψ_s⁻¹ B_s`` over the columns of view ``v``, the coordinates of a row have the precision
``V_s = G_s⁻¹ + Σ_v M_sv`` given the views that are seen. No matrix of all pairs of columns is ever
formed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

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
