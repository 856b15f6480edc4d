"""EM of global coordination: factor analyzers that agree on one coordinate of every row.

The model of a chart is ``p(g|s) = N(κ_s, Ω_s)``, ``p(y|g,s) = N(μ_s + W_s (g - κ_s), Ψ_s)``, which
is the factor analyzer ``y = μ_s + Λ_s z + noise`` with the link ``g = κ_s + A_s z``,
``Ω_s = A_s A_s'`` and ``Λ_s = W_s A_s`` (Law 2006, section 2.9.1; exact updates reconstructed).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.special import logsumexp, softmax

from sidelight._typing import Array

LOG_2PI = math.log(2 * math.pi)

#: Charts of fewer rows than this keep their parameters: they have nothing to learn from.
STARVED = 1e-6


@dataclass(frozen=True)
class LinkedCharts:
    """Parameters of all charts.

    Attributes
    ----------
    weights : ndarray of shape (k,)
        ``α``.
    offsets : ndarray of shape (k, d)
        ``κ``.
    spreads : ndarray of shape (k, d, d)
        ``Ω``.
    means : ndarray of shape (k, D)
        ``μ``.
    maps : ndarray of shape (k, D, d)
        ``W``.
    noise : ndarray of shape (k, D)
        ``Ψ``.
    """

    weights: Array
    offsets: Array
    spreads: Array
    means: Array
    maps: Array
    noise: Array

    @cached_property
    def projections(self) -> Array:
        """``W'Ψ⁻¹``, of shape (k, d, D)."""
        return np.ascontiguousarray(np.swapaxes(self.maps / self.noise[:, :, None], 1, 2))

    @cached_property
    def precisions(self) -> Array:
        """Precisions ``V⁻¹ = Ω⁻¹ + W'Ψ⁻¹W`` of ``p(g|s,y)``."""
        precisions = np.linalg.inv(self.spreads) + self.projections @ self.maps
        return np.asarray((precisions + np.swapaxes(precisions, 1, 2)) / 2)

    @cached_property
    def log_determinants(self) -> Array:
        """``log|Ψ| + log|Ω| - 2 log α`` of every chart."""
        with np.errstate(divide="ignore"):
            mass = np.log(self.weights)
        spread = np.linalg.slogdet(self.spreads)[1]
        return np.asarray(np.log(self.noise).sum(axis=1) + spread - 2 * mass)

    def pull(self, rows: Array) -> Array:
        """``W'Ψ⁻¹(y - μ)``, of shape (n, k, d)."""
        k, d, n_features = self.projections.shape
        flat = rows @ self.projections.reshape(k * d, n_features).T
        at_means = np.einsum("kdj,kj->kd", self.projections, self.means)
        return np.asarray(flat.reshape(len(rows), k, d) - at_means)

    def squares(self, rows: Array) -> Array:
        """``(y - μ)'Ψ⁻¹(y - μ)``, of shape (n, k)."""
        inverse = 1.0 / self.noise
        squares = rows**2 @ inverse.T - 2 * rows @ (self.means * inverse).T
        return np.asarray(np.maximum(squares + np.sum(self.means**2 * inverse, axis=1), 0.0))

    def posterior(self, rows: Array) -> tuple[Array, Array]:
        """``log α_s p(y|s)``, of shape (n, k), and the means of ``p(g|s,y)``, shape (n, k, d)."""
        pull = self.pull(rows)
        covariances = np.linalg.inv(self.precisions)
        shifts = np.einsum("kij,nkj->nki", covariances, pull)
        squares = self.squares(rows) - np.einsum("nki,nki->nk", pull, shifts)
        volume = self.log_determinants + np.linalg.slogdet(self.precisions)[1]
        joint = -0.5 * (np.maximum(squares, 0.0) + volume + rows.shape[1] * LOG_2PI)
        return joint, self.offsets + shifts

    def log_likelihood(self, rows: Array) -> Array:
        """``log p(y)`` of every row."""
        return np.asarray(logsumexp(self.posterior(rows)[0], axis=1))

    def place(self, rows: Array) -> Array:
        """``E[g|y] = Σ_s p(s|y) E[g|s,y]``."""
        joint, means = self.posterior(rows)
        return np.asarray(np.einsum("nk,nkd->nd", softmax(joint, axis=1), means))

    def rebuild(self, places: Array) -> Array:
        """``E[y|g] = Σ_s p(s|g) (μ_s + W_s (g - κ_s))``."""
        offsets = places[:, None, :] - self.offsets
        inverse = np.linalg.inv(self.spreads)
        squares = np.einsum("nki,kij,nkj->nk", offsets, inverse, offsets)
        with np.errstate(divide="ignore"):
            mass = np.log(self.weights)
        joint = mass - 0.5 * (squares + np.linalg.slogdet(self.spreads)[1])
        rows = self.means + np.einsum("kjd,nkd->nkj", self.maps, offsets)
        return np.asarray(np.einsum("nk,nkj->nj", softmax(joint, axis=1), rows))

    def moved(self, shift: Array, turn: Array) -> Self:
        """The same charts for the coordinates ``(g - shift) turn'``."""
        return type(self)(
            self.weights,
            (self.offsets - shift) @ turn.T,
            turn @ self.spreads @ turn.T,
            self.means,
            self.maps @ np.linalg.inv(turn),
            self.noise,
        )


@dataclass(frozen=True)
class CoordinateEstimates:
    """Estimates of the rows: ``q_i(s)`` and ``q_i(g) = N(ĝ_i, C_i)``, and the bound.

    Attributes
    ----------
    parameters : LinkedCharts
        Charts that the estimates were made with.
    resp : ndarray of shape (n, k)
        ``q_i(s)``.
    places : ndarray of shape (n, d)
        ``ĝ_i``.
    covariances : ndarray of shape (n, d, d)
        ``C_i``.
    objective : float
        ``-Φ`` per row.
    """

    parameters: LinkedCharts
    resp: Array
    places: Array
    covariances: Array
    objective: float


def e_step(rows: Array, charts: LinkedCharts, resp: Array) -> CoordinateEstimates:
    """Best ``q_i(g)`` for the responsibilities, then the best responsibilities for it."""
    k, d = charts.offsets.shape
    pull = charts.pull(rows)
    precisions = (resp @ charts.precisions.reshape(k, d * d)).reshape(-1, d, d)
    covariances = np.linalg.inv(precisions)
    origins = np.einsum("kij,kj->ki", charts.precisions, charts.offsets)
    aims = resp @ origins + np.einsum("nk,nki->ni", resp, pull)
    places = np.einsum("nij,nj->ni", covariances, aims)
    energy = energies(rows, charts, places, covariances, pull)
    log_det = np.linalg.slogdet(covariances)[1]
    per_row = logsumexp(-energy, axis=1) + 0.5 * log_det + 0.5 * d * (1 + LOG_2PI)
    resp = softmax(-energy, axis=1)
    return CoordinateEstimates(charts, resp, places, covariances, -float(np.mean(per_row)))


def energies(
    rows: Array, charts: LinkedCharts, places: Array, covariances: Array, pull: Array
) -> Array:
    """``-E_q log p(y, g, s)`` under ``q_i(g)``, of shape (n, k)."""
    k, d = charts.offsets.shape
    # In products of matrices: (g - κ)'V⁻¹(g - κ) + tr(C V⁻¹), then the part that rows pull.
    moments = covariances + places[:, :, None] * places[:, None, :]
    origins = np.einsum("kij,kj->ki", charts.precisions, charts.offsets)
    energy = moments.reshape(-1, d * d) @ charts.precisions.reshape(k, d * d).T
    energy += np.sum(origins * charts.offsets, axis=1) - 2 * places @ origins.T
    energy += charts.squares(rows)
    for i in range(d):
        energy -= 2 * pull[:, :, i] * (places[:, i, None] - charts.offsets[:, i])
    energy += charts.log_determinants + (rows.shape[1] + d) * LOG_2PI
    return np.asarray(0.5 * energy)


def bound(rows: Array, now: CoordinateEstimates, charts: LinkedCharts) -> float:
    """``Φ`` per row of estimates under other charts, as after an m-step."""
    energy = energies(rows, charts, now.places, now.covariances, charts.pull(rows))
    safe = np.where(now.resp > 0, now.resp, 1.0)
    inner = np.where(now.resp > 0, now.resp * (-np.log(safe) - energy), 0.0).sum(axis=1)
    d = now.places.shape[1]
    log_det = np.linalg.slogdet(now.covariances)[1]
    return float(np.mean(inner + 0.5 * log_det + 0.5 * d * (1 + LOG_2PI)))


def m_step(rows: Array, now: CoordinateEstimates, least: Array, *, isotropic: bool) -> LinkedCharts:
    """Charts that maximize ``Φ`` for the estimates of the rows.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
        The rows.
    now : CoordinateEstimates
        Estimates.
    least : ndarray of shape (D,)
        Bound below the noise variances.
    isotropic : bool
        Whether all features of a chart have the same noise.
    """
    resp, places = now.resp, now.places
    n, d = places.shape
    k = resp.shape[1]
    mass = resp.sum(axis=0)
    fed = mass > STARVED
    safe = np.where(fed, mass, 1.0)
    offsets = resp.T @ places / safe[:, None]
    means = resp.T @ rows / safe[:, None]
    inner = now.covariances + places[:, :, None] * places[:, None, :]
    spreads = (resp.T @ inner.reshape(n, d * d)).reshape(k, d, d) / safe[:, None, None]
    spreads -= offsets[:, :, None] * offsets[:, None, :]
    weighted = (resp[:, :, None] * places[:, None, :]).reshape(n, k * d)
    cross = (rows.T @ weighted).reshape(-1, k, d).transpose(1, 0, 2) / safe[:, None, None]
    cross -= means[:, :, None] * offsets[:, None, :]
    spreads = np.where(fed[:, None, None], (spreads + np.swapaxes(spreads, 1, 2)) / 2, np.eye(d))
    maps = np.swapaxes(np.linalg.solve(spreads, np.swapaxes(cross, 1, 2)), 1, 2)
    noise = resp.T @ rows**2 / safe[:, None] - means**2 - np.sum(maps * cross, axis=2)
    if isotropic:
        noise = np.repeat(noise.mean(axis=1, keepdims=True), rows.shape[1], axis=1)
    noise = np.maximum(noise, least)
    if fed.all():
        return LinkedCharts(mass / n, offsets, spreads, means, maps, noise)
    old = now.parameters
    return LinkedCharts(
        mass / n,
        np.where(fed[:, None], offsets, old.offsets),
        np.where(fed[:, None, None], spreads, old.spreads),
        np.where(fed[:, None], means, old.means),
        np.where(fed[:, None, None], maps, old.maps),
        np.where(fed[:, None], noise, old.noise),
    )


def blank_charts(k: int, n_features: int, d: int) -> LinkedCharts:
    """Charts that stand for those without rows in the first m-step."""
    return LinkedCharts(
        np.full(k, 1.0 / k),
        np.zeros((k, d)),
        np.tile(np.eye(d), (k, 1, 1)),
        np.zeros((k, n_features)),
        np.zeros((k, n_features, d)),
        np.ones((k, n_features)),
    )
