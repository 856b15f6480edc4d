"""Gaussian mixtures as vectors of free numbers, for direct optimisation (Law 2006, 5.4.2, 5.5).

The mixing weights are ``α = softmax(β)``; a precision is ``Υ = F Fᵀ``, so that it is positive for
any factor ``F``; instead of a mean ``μ`` there is ``m = Fᵀ μ``. For centred rows ``y``

    log α_j p(y | j) = T(y)·η_j + b_j  (+ terms without j)

is linear in some features ``T`` of a row, and with the derivative ``c_ij`` of an objective by the
left side of row ``i``, all that its gradient needs are the sums ``Σ_i c_ij`` and
``Σ_i c_ij T(y_i)``. Each model says how ``η`` and ``b`` depend on its numbers, and gives the
gradient and products of the Hessian with any number ``p`` of directions from the sums. Objectives
are sums over rows; ``total`` is the weight of all rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from sidelight._typing import Array

LOG_TWO_PI = math.log(2 * math.pi)


class FactorModel(Protocol):
    """A mixture of Gaussians, described by a vector ``theta``."""

    @property
    def n_components(self) -> int:
        """Number of components ``k``."""

    @property
    def n_parameters(self) -> int:
        """Length of ``theta``."""

    @property
    def n_statistics(self) -> int:
        """Number of features ``T`` of a row."""

    @property
    def is_linear(self) -> bool:
        """Whether the features are the row itself."""

    def features(self, rows: Array) -> Array:
        """``T`` of centred rows."""

    def start(self, means: Array) -> Array:
        """Parameters with these means, unit precisions and equal weights."""

    def scores(self, theta: Array) -> tuple[Array, Array]:
        """``η`` of shape (n_statistics, k) and ``b`` of shape (k,)."""

    def constant(self, theta: Array, total: float) -> float:
        """What the objective has beside the scores of the rows."""

    def gradient(self, theta: Array, totals: Array, sums: Array, total: float) -> Array:
        """Gradient from ``Σ_i c_ij`` of shape (k,) and ``Σ_i c_ij T_i`` of shape (k, F)."""

    def scores_change(self, theta: Array, directions: Array) -> tuple[Array, Array]:
        """Derivatives of ``η``, of shape (F, p, k), and ``b``, of shape (p, k)."""

    def gradient_change(
        self,
        theta: Array,
        directions: Array,
        totals: Array,
        sums: Array,
        totals_change: Array,
        sums_change: Array,
        total: float,
    ) -> Array:
        """Hessian times the directions, of shape (p, n_parameters).

        The changes of the sums have the shapes (p, k) and (p, k, F).
        """

    def moments(self, theta: Array) -> tuple[Array, Array, Array]:
        """Logarithms of the weights, means ``μ`` and factors ``F`` (matrices or diagonals)."""

    def split(self, theta: Array) -> tuple[Array, Array, Array]:
        """``β``, ``m`` and the factor or factors."""

    def join(self, beta: Array, m: Array, factor: Array) -> Array:
        """Put the parts together again."""

    def own(self, theta: Array) -> Array:
        """What each component has of its own beside its weight, of shape (k, ...)."""

    def factor_of(self, theta: Array, component: int) -> Array:
        """``F`` of one component, of shape (d, rank)."""

    def replace(self, theta: Array, component: int, other: int, m: Array) -> Array:
        """Make ``component`` a copy of ``other`` with another ``m``."""


def log_softmax(beta: Array) -> Array:
    """``log α``."""
    shifted = beta - beta.max()
    return np.asarray(shifted - np.log(np.exp(shifted).sum()))


def softmax(beta: Array) -> Array:
    """``α``."""
    return np.exp(log_softmax(beta))


def weight_gradient(beta: Array, totals: Array, total: float) -> Array:
    """``∂J/∂β_l = C_l - n α_l`` (5.23)."""
    return np.asarray(totals - total * softmax(beta))


def weight_gradient_change(
    beta: Array, direction: Array, totals_change: Array, total: float
) -> Array:
    """Derivative of the above, for directions of shape (p, k)."""
    alpha = softmax(beta)
    return np.asarray(totals_change - total * alpha * (direction - direction @ alpha[:, None]))


def log_weight_change(beta: Array, direction: Array) -> Array:
    """Derivative of ``log α``."""
    return np.asarray(direction - direction @ softmax(beta)[:, None])


@dataclass(frozen=True)
class TiedModel:
    """One precision for all components, in ``rank`` directions.

    With ``rank = n_features`` the mixture with a common precision; with fewer, that of the rows
    projected by ``F`` (5.31), whose other directions are nobody's business. The rows are white:
    their scatter is ``total`` times the identity. So

        J = Σ_i log Σ_j exp(yᵀ F m_j + log α_j - ½ ‖m_j‖²)
            + n/2 [ log det FᵀF - ‖F‖² - rank log 2π ]

    has one product of the rows with a (d, k) matrix.
    """

    n_components: int
    n_features: int
    rank: int
    _places: tuple[Array, Array] = field(init=False, repr=False, compare=False)

    is_linear = True

    def __post_init__(self) -> None:
        d, r = self.n_features, self.rank
        square = r == d  # a triangular factor is unique but for signs
        places = np.tril_indices(d) if square else np.unravel_index(np.arange(d * r), (d, r))
        object.__setattr__(self, "_places", places)

    @property
    def n_parameters(self) -> int:
        """Weights, means and the factor."""
        return self.n_components * (1 + self.rank) + len(self._places[0])

    @property
    def n_statistics(self) -> int:
        """The row itself."""
        return self.n_features

    def features(self, rows: Array) -> Array:
        """Return the rows."""
        return rows

    def start(self, means: Array, factor: Array | None = None) -> Array:
        """Start from these means, and from a random projection when one is given."""
        matrix = np.eye(self.n_features, self.rank) if factor is None else factor
        return self.join(np.zeros(self.n_components), means @ matrix, matrix)

    def join(self, beta: Array, m: Array, factor: Array) -> Array:
        """Parameters as one vector (or a stack of them)."""
        shape = beta.shape[:-1]
        packed = factor[..., self._places[0], self._places[1]]
        return np.concatenate([beta, m.reshape(*shape, -1), packed], axis=-1)

    def split(self, theta: Array) -> tuple[Array, Array, Array]:
        """``β``, ``m`` of shape (k, rank) and ``F`` of shape (d, rank), or stacks of them."""
        k, r = self.n_components, self.rank
        shape = theta.shape[:-1]
        factor = np.zeros((*shape, self.n_features, r))
        factor[..., self._places[0], self._places[1]] = theta[..., k + k * r :]
        return theta[..., :k], theta[..., k : k + k * r].reshape(*shape, k, r), factor

    def scores(self, theta: Array) -> tuple[Array, Array]:
        """``η = F mᵀ`` and ``b = log α - ½ ‖m‖²``."""
        beta, m, factor = self.split(theta)
        return factor @ m.T, log_softmax(beta) - 0.5 * np.sum(m * m, axis=1)

    def constant(self, theta: Array, total: float) -> float:
        """Likelihood of the rows beside their scores."""
        factor = self.split(theta)[2]
        sign, log_det = np.linalg.slogdet(factor.T @ factor)
        if sign <= 0:
            return -np.inf
        return float(0.5 * total * (log_det - np.sum(factor * factor) - self.rank * LOG_TWO_PI))

    def gradient(self, theta: Array, totals: Array, sums: Array, total: float) -> Array:
        """Gradient, (5.32) and (5.33) in terms of ``m``."""
        beta, m, factor = self.split(theta)
        outward = factor @ np.linalg.inv(factor.T @ factor)
        return self.join(
            weight_gradient(beta, totals, total),
            sums @ factor - totals[:, None] * m,
            total * (outward - factor) + sums.T @ m,
        )

    def scores_change(self, theta: Array, directions: Array) -> tuple[Array, Array]:
        """Derivatives of the scores."""
        beta, m, factor = self.split(theta)
        dbeta, dm, dfactor = self.split(directions)
        eta = dfactor @ m.T + factor @ np.swapaxes(dm, 1, 2)
        offset = log_weight_change(beta, dbeta) - np.sum(m * dm, axis=2)
        return np.moveaxis(eta, 0, 1), offset

    def gradient_change(
        self,
        theta: Array,
        directions: Array,
        totals: Array,
        sums: Array,
        totals_change: Array,
        sums_change: Array,
        total: float,
    ) -> Array:
        """Hessian times the directions."""
        beta, m, factor = self.split(theta)
        dbeta, dm, dfactor = self.split(directions)
        inverse = np.linalg.inv(factor.T @ factor)
        gram_change = np.swapaxes(dfactor, 1, 2) @ factor
        gram_change = gram_change + np.swapaxes(gram_change, 1, 2)
        outward = (dfactor - factor @ inverse @ gram_change) @ inverse
        of_m = (
            sums_change @ factor
            + sums @ dfactor
            - totals_change[:, :, None] * m
            - totals[:, None] * dm
        )
        of_factor = total * (outward - dfactor)
        of_factor += np.swapaxes(sums_change, 1, 2) @ m + sums.T @ dm
        return self.join(weight_gradient_change(beta, dbeta, totals_change, total), of_m, of_factor)

    def moments(self, theta: Array) -> tuple[Array, Array, Array]:
        """Weights, means (of the projected rows when the rank is lower) and the factor."""
        beta, m, factor = self.split(theta)
        means = np.linalg.solve(factor.T, m.T).T if self.rank == self.n_features else m
        return log_softmax(beta), means, factor

    def own(self, theta: Array) -> Array:
        """Return the means ``m``."""
        return self.split(theta)[1]

    def factor_of(self, theta: Array, component: int) -> Array:
        """Return the common factor."""
        return self.split(theta)[2]

    def replace(self, theta: Array, component: int, other: int, m: Array) -> Array:
        """Move the mean of a component."""
        beta, means, factor = self.split(theta.copy())
        beta[component] = beta[other]
        means[component] = m
        return self.join(beta, means, factor)
