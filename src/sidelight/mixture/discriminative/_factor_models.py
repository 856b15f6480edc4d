"""Gaussian mixtures as vectors of free numbers, for direct optimization (Law 2006, 5.4.2, 5.5).

The mixing weights are ``α = softmax(β)``; a precision is ``Υ = F Fᵀ``, so that it is positive for
any factor ``F``; instead of a mean ``μ`` there is ``m = Fᵀ μ``. For centered rows ``y``

    log α_j p(y | j) = T(y)·η_j + b_j  (+ terms without j)

is linear in some features ``T`` of a row, and with the derivative ``c_ij`` of an objective by the
left side of row ``i``, all that its gradient needs are the sums ``Σ_i c_ij`` and
``Σ_i c_ij T(y_i)``. Each model defines how ``η`` and ``b`` depend on its numbers, and gives the
gradient and products of the Hessian with any number ``p`` of directions from the sums. Objectives
are sums over rows of the weight ``n``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sidelight._fit.buffers import NEW_ARRAYS, Buffers, NewArrays
from sidelight._kernels.mixture.responsibilities import centred_products
from sidelight._typing import Array

LOG_TWO_PI = math.log(2 * math.pi)


class FactorSums(NamedTuple):
    """Sums over the rows, or stacks of their changes.

    Attributes
    ----------
    totals : ndarray of shape (k,)
        ``Σ_i c_ij``.
    features : ndarray of shape (k, F)
        ``Σ_i c_ij T_i``.
    """

    totals: Array
    features: Array


class FactorModel(ABC):
    """A mixture of Gaussians, described by a vector ``theta`` of ``β``, ``m`` and factors.

    Attributes
    ----------
    n_components : int
        Number of components ``k``.
    n_features : int
        Number of features ``d`` of the rows.
    rank : int
        Number of columns of a factor.
    total : float
        Weight ``n`` of all rows.
    is_linear : bool
        Whether all components share one factor; then the features ``T`` are the row itself.
    """

    n_components: int
    n_features: int
    rank: int
    total: float
    is_linear = False

    @property
    @abstractmethod
    def free(self) -> Array:
        """Mask of the entries of the factors that are parameters, shaped like the factors."""

    @property
    @abstractmethod
    def n_statistics(self) -> int:
        """Number of features ``T`` of a row."""

    @abstractmethod
    def features(self, rows: Array, memory: Buffers | NewArrays = NEW_ARRAYS) -> Array:
        """``T`` of centered rows, written into ``memory`` unless they are the rows themselves."""

    @abstractmethod
    def scores(self, theta: Array) -> tuple[Array, Array]:
        """``η`` of shape (n_statistics, k) and ``b`` of shape (k,)."""

    @abstractmethod
    def constant(self, theta: Array) -> float:
        """Return the terms of the objective besides the scores of the rows."""

    @abstractmethod
    def gradient(self, theta: Array, at: FactorSums) -> Array:
        """Gradient of the objective."""

    @abstractmethod
    def scores_change(self, theta: Array, directions: Array) -> tuple[Array, Array]:
        """Derivatives of ``η``, of shape (F, p, k), and ``b``, of shape (p, k)."""

    @abstractmethod
    def gradient_change(
        self, theta: Array, directions: Array, at: FactorSums, change: FactorSums
    ) -> Array:
        """Hessian times the directions, of shape (p, n_parameters).

        The changes of the sums have the shapes (p, k) and (p, k, F).
        """

    @abstractmethod
    def moments(self, theta: Array) -> tuple[Array, Array, Array]:
        """Logarithms of the weights, means ``μ`` and factors ``F`` (matrices or diagonals).

        The means are those of the projected rows, ``m``, where the rank is below ``n_features``.
        """

    @abstractmethod
    def factor_of(self, theta: Array, component: int) -> Array:
        """``F`` of one component, of shape (d, rank)."""

    @cached_property
    def n_parameters(self) -> int:
        """Length of ``theta``."""
        return self.n_components * (1 + self.rank) + int(np.count_nonzero(self.free))

    def join(self, beta: Array, m: Array, factors: Array) -> Array:
        """Parameters as one vector (or a stack of them)."""
        return np.concatenate(
            [beta, m.reshape(*beta.shape[:-1], -1), factors[..., self.free]], axis=-1
        )

    def split(self, theta: Array) -> tuple[Array, Array, Array]:
        """``β``, ``m`` of shape (k, rank) and the factor or factors, or stacks of them."""
        k, r = self.n_components, self.rank
        shape = theta.shape[:-1]
        factors = np.zeros((*shape, *self.free.shape))
        factors[..., self.free] = theta[..., k + k * r :]
        return theta[..., :k], theta[..., k : k + k * r].reshape(*shape, k, r), factors

    def own(self, theta: Array) -> Array:
        """Parameters that each component has for itself besides its weight, of shape (k, ...)."""
        _, m, factors = self.split(theta)
        return m if self.is_linear else np.hstack((m, factors.reshape(len(m), -1)))

    def replace(self, theta: Array, component: int, other: int, m: Array) -> Array:
        """Make ``component`` a copy of ``other`` with another ``m``."""
        beta, means, factors = self.split(theta.copy())
        beta[component], means[component] = beta[other], m
        if not self.is_linear:
            factors[component] = factors[other]
        return self.join(beta, means, factors)


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
class TiedModel(FactorModel):
    """One precision for all components, in ``rank`` directions.

    With ``rank = n_features`` the mixture with a common precision; with fewer, that of the rows
    projected by ``F`` (5.31), whose other directions do not count. The rows are white:
    their scatter is ``total`` times the identity. So

        J = Σ_i log Σ_j exp(yᵀ F m_j + log α_j - ½ ‖m_j‖²)
            + n/2 [ log det FᵀF - ‖F‖² - rank log 2π ]

    has one product of the rows with a (d, k) matrix.
    """

    n_components: int
    n_features: int
    rank: int
    total: float

    is_linear = True

    @cached_property
    def free(self) -> Array:
        """All entries; those of a triangle when it is square, which is unique but for signs."""
        entries = np.ones((self.n_features, self.rank), dtype=bool)
        return np.tril(entries) if self.rank == self.n_features else entries

    @property
    def n_statistics(self) -> int:
        return self.n_features

    def features(self, rows: Array, memory: Buffers | NewArrays = NEW_ARRAYS) -> Array:
        return rows

    def start(self, means: Array, factor: Array | None = None) -> Array:
        """Parameters with these means, this factor or unit precisions, and equal weights."""
        matrix = np.eye(self.n_features, self.rank) if factor is None else factor
        return self.join(np.zeros(self.n_components), means @ matrix, matrix)

    def scores(self, theta: Array) -> tuple[Array, Array]:
        """``η = F mᵀ`` and ``b = log α - ½ ‖m‖²``."""
        beta, m, factor = self.split(theta)
        return factor @ m.T, log_softmax(beta) - 0.5 * np.sum(m * m, axis=1)

    def constant(self, theta: Array) -> float:
        """Part of the likelihood that does not depend on the scores."""
        factor = self.split(theta)[2]
        sign, log_det = np.linalg.slogdet(factor.T @ factor)
        if sign <= 0:
            return -np.inf
        inside = log_det - np.sum(factor * factor) - self.rank * LOG_TWO_PI
        return float(0.5 * self.total * inside)

    def gradient(self, theta: Array, at: FactorSums) -> Array:
        """Gradient, (5.32) and (5.33) in terms of ``m``."""
        beta, m, factor = self.split(theta)
        outward = factor @ np.linalg.inv(factor.T @ factor)
        return self.join(
            weight_gradient(beta, at.totals, self.total),
            at.features @ factor - at.totals[:, None] * m,
            self.total * (outward - factor) + at.features.T @ m,
        )

    def scores_change(self, theta: Array, directions: Array) -> tuple[Array, Array]:
        beta, m, factor = self.split(theta)
        dbeta, dm, dfactor = self.split(directions)
        eta = dfactor @ m.T + factor @ np.swapaxes(dm, 1, 2)
        offset = log_weight_change(beta, dbeta) - np.sum(m * dm, axis=2)
        return np.moveaxis(eta, 0, 1), offset

    def gradient_change(
        self, theta: Array, directions: Array, at: FactorSums, change: FactorSums
    ) -> Array:
        beta, m, factor = self.split(theta)
        dbeta, dm, dfactor = self.split(directions)
        inverse = np.linalg.inv(factor.T @ factor)
        gram_change = np.swapaxes(dfactor, 1, 2) @ factor
        gram_change = gram_change + np.swapaxes(gram_change, 1, 2)
        outward = (dfactor - factor @ inverse @ gram_change) @ inverse
        of_m = (
            change.features @ factor
            + at.features @ dfactor
            - change.totals[:, :, None] * m
            - at.totals[:, None] * dm
        )
        of_factor = self.total * (outward - dfactor)
        of_factor += np.swapaxes(change.features, 1, 2) @ m + at.features.T @ dm
        of_beta = weight_gradient_change(beta, dbeta, change.totals, self.total)
        return self.join(of_beta, of_m, of_factor)

    def moments(self, theta: Array) -> tuple[Array, Array, Array]:
        beta, m, factor = self.split(theta)
        means = np.linalg.solve(factor.T, m.T).T if self.rank == self.n_features else m
        return log_softmax(beta), means, factor

    def factor_of(self, theta: Array, component: int) -> Array:
        return self.split(theta)[2]


@dataclass(frozen=True)
class _SeparateModel(FactorModel):
    """A precision for each component.

    ``ridge`` is the matrix ``R`` (or its diagonal) of the penalty ``-½ (n/k) Σ_j tr(R F_j F_jᵀ)``,
    which keeps the covariance of a component that holds few rows from collapsing. Subclasses say
    how matrices, or diagonals of them, are multiplied; all other algebra is the same.
    """

    n_components: int
    ridge: Array = field(repr=False)
    total: float

    @property
    def n_features(self) -> int:  # type: ignore[override]
        return len(self.ridge)

    @property
    def rank(self) -> int:  # type: ignore[override]
        return len(self.ridge)

    @abstractmethod
    def _times(self, left: Array, right: Array) -> Array:
        """``M F``."""

    @abstractmethod
    def _turned(self, matrices: Array) -> Array:
        """``Mᵀ``."""

    @abstractmethod
    def _applied(self, left: Array, right: Array) -> Array:
        """``M v``."""

    @abstractmethod
    def _outer(self, left: Array, right: Array) -> Array:
        """``u vᵀ``, or its diagonal."""

    @abstractmethod
    def _inverse(self, factors: Array) -> Array:
        """``F⁻¹``."""

    @abstractmethod
    def _log_det(self, factors: Array) -> Array:
        """``log |det F|`` of every component."""

    @abstractmethod
    def _pack(self, linear: Array, precisions: Array) -> Array:
        """``η`` with the components last: ``νᵀ y - ½ yᵀ Υ y`` for the features of ``y``."""

    @abstractmethod
    def _unpack(self, sums: Array) -> tuple[Array, Array]:
        """Sums of the rows, and of their products as matrices or diagonals."""

    def start(self, means: Array) -> Array:
        """Parameters with these means, unit precisions and equal weights."""
        factors = np.zeros(self.free.shape)
        factors[...] = np.eye(self.n_features) if factors.ndim == 3 else 1.0
        return self.join(np.zeros(self.n_components), means, factors)

    def scores(self, theta: Array) -> tuple[Array, Array]:
        """``η = (F m, F Fᵀ)`` and ``b = log α + log|det F| - ½ ‖m‖² - d/2 log 2π``."""
        beta, m, factors = self.split(theta)
        with np.errstate(divide="ignore"):
            log_det = self._log_det(factors)
        eta = self._pack(self._applied(factors, m), self._times(factors, self._turned(factors)))
        offset = log_softmax(beta) + log_det - 0.5 * np.sum(m * m, axis=1)
        return eta, offset - 0.5 * self.n_features * LOG_TWO_PI

    def constant(self, theta: Array) -> float:
        """Ridge."""
        factors = self.split(theta)[2]
        penalty = np.sum(factors * self._times(self.ridge, factors))
        return float(-0.5 * self.total / self.n_components * penalty)

    def gradient(self, theta: Array, at: FactorSums) -> Array:
        beta, m, factors = self.split(theta)
        rows, products = self._unpack(at.features)
        of_factors = self._scaled(at.totals, self._turned(self._inverse(factors)))
        of_factors -= self._times(products, factors)
        of_factors += self._outer(rows, m)
        of_factors -= self.total / self.n_components * self._times(self.ridge, factors)
        of_m = self._applied(self._turned(factors), rows) - at.totals[:, None] * m
        return self.join(weight_gradient(beta, at.totals, self.total), of_m, of_factors)

    def scores_change(self, theta: Array, directions: Array) -> tuple[Array, Array]:
        beta, m, factors = self.split(theta)
        dbeta, dm, dfactors = self.split(directions)
        linear = self._applied(dfactors, m) + self._applied(factors, dm)
        half = self._times(dfactors, self._turned(factors))
        upward = self._turned(self._inverse(factors))
        log_det = np.sum(upward * dfactors, axis=tuple(range(2, dfactors.ndim)))
        offset = log_weight_change(beta, dbeta) + log_det - np.sum(m * dm, axis=2)
        return self._pack(linear, half + self._turned(half)), offset

    def gradient_change(
        self, theta: Array, directions: Array, at: FactorSums, change: FactorSums
    ) -> Array:
        beta, m, factors = self.split(theta)
        dbeta, dm, dfactors = self.split(directions)
        rows, products = self._unpack(at.features)
        rows_change, products_change = self._unpack(change.features)
        upward = self._turned(self._inverse(factors))
        of_m = (
            self._applied(self._turned(dfactors), rows)
            + self._applied(self._turned(factors), rows_change)
            - change.totals[:, :, None] * m
            - at.totals[:, None] * dm
        )
        turn = self._times(self._times(upward, self._turned(dfactors)), upward)
        of_factors = self._scaled(change.totals, upward) - self._scaled(at.totals, turn)
        of_factors -= self._times(products_change, factors) + self._times(products, dfactors)
        of_factors += self._outer(rows_change, m) + self._outer(rows, dm)
        of_factors -= self.total / self.n_components * self._times(self.ridge, dfactors)
        of_beta = weight_gradient_change(beta, dbeta, change.totals, self.total)
        return self.join(of_beta, of_m, of_factors)

    def moments(self, theta: Array) -> tuple[Array, Array, Array]:
        beta, m, factors = self.split(theta)
        return log_softmax(beta), self._applied(self._turned(self._inverse(factors)), m), factors

    def _scaled(self, totals: Array, matrices: Array) -> Array:
        """Matrices times a number for every component."""
        return totals.reshape(*totals.shape, *[1] * (self.free.ndim - 1)) * matrices


class FullModel(_SeparateModel):
    """A precision for each component; the features are the row and its products."""

    @cached_property
    def free(self) -> Array:
        """Triangles of the factors."""
        d = self.n_features
        return np.broadcast_to(np.tri(d, dtype=bool), (self.n_components, d, d))

    @property
    def n_statistics(self) -> int:
        """The row and its products."""
        d = self.n_features
        return d + d * (d + 1) // 2

    def features(self, rows: Array, memory: Buffers | NewArrays = NEW_ARRAYS) -> Array:
        """Rows and all products of two of their entries."""
        out = memory.array("features", (len(rows), self.n_statistics))
        centred_products(np.ascontiguousarray(rows), np.zeros(self.n_features), out)
        return out

    def factor_of(self, theta: Array, component: int) -> Array:
        return self.split(theta)[2][component]

    def _times(self, left: Array, right: Array) -> Array:
        return left @ right

    def _turned(self, matrices: Array) -> Array:
        return np.swapaxes(matrices, -1, -2)

    def _applied(self, left: Array, right: Array) -> Array:
        return np.einsum("...ab,...b->...a", left, right)

    def _outer(self, left: Array, right: Array) -> Array:
        return left[..., :, None] * right[..., None, :]

    def _inverse(self, factors: Array) -> Array:
        return np.linalg.inv(factors)

    def _log_det(self, factors: Array) -> Array:
        return np.log(np.abs(np.diagonal(factors, axis1=1, axis2=2))).sum(axis=1)

    def _pack(self, linear: Array, precisions: Array) -> Array:
        upper = np.triu_indices(self.n_features)
        scale = np.where(upper[0] == upper[1], -0.5, -1.0)
        quadratic = precisions[..., upper[0], upper[1]] * scale
        return np.moveaxis(np.concatenate([linear, quadratic], axis=-1), -1, 0)

    def _unpack(self, sums: Array) -> tuple[Array, Array]:
        d = self.n_features
        upper = np.triu_indices(d)
        products = np.empty((*sums.shape[:-1], d, d))
        products[..., upper[0], upper[1]] = sums[..., d:]
        products[..., upper[1], upper[0]] = sums[..., d:]
        return sums[..., :d], products


class DiagonalModel(_SeparateModel):
    """A diagonal precision for each component; the features are the row and its squares."""

    @cached_property
    def free(self) -> Array:
        """All entries of the diagonals."""
        return np.ones((self.n_components, self.n_features), dtype=bool)

    @property
    def n_statistics(self) -> int:
        """The row and its squares."""
        return 2 * self.n_features

    def features(self, rows: Array, memory: Buffers | NewArrays = NEW_ARRAYS) -> Array:
        """Rows and their squares."""
        d = self.n_features
        out = memory.array("features", (len(rows), 2 * d))
        out[:, :d] = rows
        np.multiply(rows, rows, out=out[:, d:])
        return out

    def factor_of(self, theta: Array, component: int) -> Array:
        return np.diag(self.split(theta)[2][component])

    def _times(self, left: Array, right: Array) -> Array:
        return left * right

    _applied = _outer = _times

    def _turned(self, matrices: Array) -> Array:
        return matrices

    def _inverse(self, factors: Array) -> Array:
        return 1 / factors

    def _log_det(self, factors: Array) -> Array:
        return np.log(np.abs(factors)).sum(axis=1)

    def _pack(self, linear: Array, precisions: Array) -> Array:
        return np.moveaxis(np.concatenate([linear, -0.5 * precisions], axis=-1), -1, 0)

    def _unpack(self, sums: Array) -> tuple[Array, Array]:
        return sums[..., : self.n_features], sums[..., self.n_features :]
