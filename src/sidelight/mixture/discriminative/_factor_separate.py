"""Gaussian mixtures with a precision for each component, as vectors of free numbers.

See :mod:`sidelight.mixture.discriminative._factor_models` for the idea and the names.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sidelight._kernels.mixture.responsibilities import centred_products
from sidelight._typing import Array
from sidelight.mixture.discriminative._factor_models import (
    LOG_TWO_PI,
    log_softmax,
    log_weight_change,
    weight_gradient,
    weight_gradient_change,
)


@dataclass(frozen=True)
class FullModel:
    """A precision for each component; the features are the row and its products.

    ``ridge`` is the matrix ``R`` of the penalty ``-½ (n/k) Σ_j tr(R F_j F_jᵀ)``, which keeps the
    covariance of a component that holds few rows from collapsing.
    """

    n_components: int
    ridge: Array = field(repr=False)

    is_linear = False

    @property
    def n_features(self) -> int:
        """Number of features of the rows."""
        return len(self.ridge)

    @property
    def n_parameters(self) -> int:
        """Weights, means and triangular factors."""
        return self.n_components * (1 + self.n_statistics)

    @property
    def n_statistics(self) -> int:
        """The row and its products."""
        d = self.n_features
        return d + d * (d + 1) // 2

    def features(self, rows: Array) -> Array:
        """Rows and all products of two of their entries."""
        out = np.empty((len(rows), self.n_statistics))
        centred_products(np.ascontiguousarray(rows), np.zeros(self.n_features), out)
        return out

    def start(self, means: Array) -> Array:
        """Start from these means."""
        factors = np.repeat(np.eye(self.n_features)[None], self.n_components, axis=0)
        return self.join(np.zeros(self.n_components), means, factors)

    def join(self, beta: Array, m: Array, factors: Array) -> Array:
        """Parameters as one vector (or a stack of them)."""
        shape = beta.shape[:-1]
        low = np.tril_indices(self.n_features)
        packed = factors[..., low[0], low[1]]
        parts = [beta, m.reshape(*shape, -1), packed.reshape(*shape, -1)]
        return np.concatenate(parts, axis=-1)

    def split(self, theta: Array) -> tuple[Array, Array, Array]:
        """``β``, ``m`` of shape (k, d) and ``F`` of shape (k, d, d), or stacks of them."""
        k, d = self.n_components, self.n_features
        shape = theta.shape[:-1]
        low = np.tril_indices(d)
        factors = np.zeros((*shape, k, d, d))
        factors[..., low[0], low[1]] = theta[..., k + k * d :].reshape(*shape, k, -1)
        return theta[..., :k], theta[..., k : k + k * d].reshape(*shape, k, d), factors

    def _pack(self, linear: Array, precisions: Array) -> Array:
        """``η`` with the components last: ``νᵀ y - ½ yᵀ Υ y`` for the features of ``y``."""
        upper = np.triu_indices(self.n_features)
        scale = np.where(upper[0] == upper[1], -0.5, -1.0)
        quadratic = precisions[..., upper[0], upper[1]] * scale
        return np.moveaxis(np.concatenate([linear, quadratic], axis=-1), -1, 0)

    def _unpack(self, sums: Array) -> tuple[Array, Array]:
        """Sums of the rows and of their products, as matrices."""
        d = self.n_features
        upper = np.triu_indices(d)
        products = np.empty((*sums.shape[:-1], d, d))
        products[..., upper[0], upper[1]] = sums[..., d:]
        products[..., upper[1], upper[0]] = sums[..., d:]
        return sums[..., :d], products

    def scores(self, theta: Array) -> tuple[Array, Array]:
        """``η = (F m, F Fᵀ)`` and ``b = log α + log|det F| - ½ ‖m‖² - d/2 log 2π``."""
        beta, m, factors = self.split(theta)
        diagonal = np.abs(np.diagonal(factors, axis1=1, axis2=2))
        with np.errstate(divide="ignore"):
            log_det = np.log(diagonal).sum(axis=1)
        eta = self._pack(np.einsum("kab,kb->ka", factors, m), factors @ _turned(factors))
        offset = log_softmax(beta) + log_det - 0.5 * np.sum(m * m, axis=1)
        return eta, offset - 0.5 * self.n_features * LOG_TWO_PI

    def constant(self, theta: Array, total: float) -> float:
        """Ridge."""
        factors = self.split(theta)[2]
        penalty = np.sum(factors * (self.ridge @ factors))
        return float(-0.5 * total / self.n_components * penalty)

    def gradient(self, theta: Array, totals: Array, sums: Array, total: float) -> Array:
        """Gradient."""
        beta, m, factors = self.split(theta)
        rows, products = self._unpack(sums)
        upward = _turned(np.linalg.inv(factors))
        of_factors = totals[:, None, None] * upward - products @ factors
        of_factors += rows[:, :, None] * m[:, None, :]
        of_factors -= total / self.n_components * (self.ridge @ factors)
        of_m = np.einsum("kab,ka->kb", factors, rows) - totals[:, None] * m
        return self.join(weight_gradient(beta, totals, total), of_m, of_factors)

    def scores_change(self, theta: Array, directions: Array) -> tuple[Array, Array]:
        """Derivatives of the scores."""
        beta, m, factors = self.split(theta)
        dbeta, dm, dfactors = self.split(directions)
        linear = np.einsum("pkab,kb->pka", dfactors, m) + np.einsum("kab,pkb->pka", factors, dm)
        half = dfactors @ _turned(factors)
        log_det = np.einsum("kab,pkba->pk", np.linalg.inv(factors), dfactors)
        offset = log_weight_change(beta, dbeta) + log_det - np.sum(m * dm, axis=2)
        return self._pack(linear, half + _turned(half)), offset

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
        beta, m, factors = self.split(theta)
        dbeta, dm, dfactors = self.split(directions)
        rows, products = self._unpack(sums)
        rows_change, products_change = self._unpack(sums_change)
        upward = _turned(np.linalg.inv(factors))
        of_m = (
            np.einsum("pkab,ka->pkb", dfactors, rows)
            + np.einsum("kab,pka->pkb", factors, rows_change)
            - totals_change[:, :, None] * m
            - totals[:, None] * dm
        )
        of_factors = totals_change[:, :, None, None] * upward
        of_factors -= totals[:, None, None] * (upward @ _turned(dfactors) @ upward)
        of_factors -= products_change @ factors + products @ dfactors
        of_factors += rows_change[..., :, None] * m[:, None, :]
        of_factors += rows[:, :, None] * dm[..., None, :]
        of_factors -= total / self.n_components * (self.ridge @ dfactors)
        return self.join(
            weight_gradient_change(beta, dbeta, totals_change, total), of_m, of_factors
        )

    def moments(self, theta: Array) -> tuple[Array, Array, Array]:
        """Weights, means and factors."""
        beta, m, factors = self.split(theta)
        means = np.linalg.solve(_turned(factors), m[:, :, None])[:, :, 0]
        return log_softmax(beta), means, factors

    def own(self, theta: Array) -> Array:
        """Means ``m`` and factors, side by side."""
        _, m, factors = self.split(theta)
        return np.hstack((m, factors.reshape(len(m), -1)))

    def factor_of(self, theta: Array, component: int) -> Array:
        """Return the factor of the component."""
        return self.split(theta)[2][component]

    def replace(self, theta: Array, component: int, other: int, m: Array) -> Array:
        """Make a component a copy of another with another mean."""
        beta, means, factors = self.split(theta.copy())
        beta[component], factors[component] = beta[other], factors[other]
        means[component] = m
        return self.join(beta, means, factors)


@dataclass(frozen=True)
class DiagonalModel:
    """A diagonal precision for each component; the features are the row and its squares.

    ``ridge`` is the diagonal of ``R``, see :class:`FullModel`.
    """

    n_components: int
    ridge: Array = field(repr=False)

    is_linear = False

    @property
    def n_features(self) -> int:
        """Number of features of the rows."""
        return len(self.ridge)

    @property
    def n_parameters(self) -> int:
        """Weights, means and scales."""
        return self.n_components * (1 + 2 * self.n_features)

    @property
    def n_statistics(self) -> int:
        """The row and its squares."""
        return 2 * self.n_features

    def features(self, rows: Array) -> Array:
        """Rows and their squares."""
        return np.hstack((rows, rows * rows))

    def start(self, means: Array) -> Array:
        """Start from these means."""
        return self.join(np.zeros(self.n_components), means, np.ones_like(means))

    def join(self, beta: Array, m: Array, scales: Array) -> Array:
        """Parameters as one vector (or a stack of them)."""
        shape = (*beta.shape[:-1], -1)
        return np.concatenate([beta, m.reshape(shape), scales.reshape(shape)], axis=-1)

    def split(self, theta: Array) -> tuple[Array, Array, Array]:
        """``β``, ``m`` and ``f`` of shape (k, d), or stacks of them."""
        k, d = self.n_components, self.n_features
        both = theta[..., k:].reshape(*theta.shape[:-1], 2, k, d)
        return theta[..., :k], both[..., 0, :, :], both[..., 1, :, :]

    def scores(self, theta: Array) -> tuple[Array, Array]:
        """``η = (f m, -½ f²)`` and ``b = log α + Σ log|f| - ½ ‖m‖² - d/2 log 2π``."""
        beta, m, f = self.split(theta)
        with np.errstate(divide="ignore"):
            log_det = np.log(np.abs(f)).sum(axis=1)
        offset = log_softmax(beta) + log_det - 0.5 * np.sum(m * m, axis=1)
        return np.hstack((f * m, -0.5 * f * f)).T, offset - 0.5 * self.n_features * LOG_TWO_PI

    def constant(self, theta: Array, total: float) -> float:
        """Ridge."""
        f = self.split(theta)[2]
        return float(-0.5 * total / self.n_components * np.sum(self.ridge * f * f))

    def gradient(self, theta: Array, totals: Array, sums: Array, total: float) -> Array:
        """Gradient."""
        beta, m, f = self.split(theta)
        rows, squares = np.split(sums, 2, axis=1)
        pull = squares + total / self.n_components * self.ridge
        return self.join(
            weight_gradient(beta, totals, total),
            f * rows - totals[:, None] * m,
            totals[:, None] / f - f * pull + m * rows,
        )

    def scores_change(self, theta: Array, directions: Array) -> tuple[Array, Array]:
        """Derivatives of the scores."""
        beta, m, f = self.split(theta)
        dbeta, dm, df = self.split(directions)
        eta = np.concatenate([df * m + f * dm, -f * df], axis=2)
        offset = log_weight_change(beta, dbeta) + np.sum(df / f - m * dm, axis=2)
        return np.moveaxis(eta, 2, 0), offset

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
        beta, m, f = self.split(theta)
        dbeta, dm, df = self.split(directions)
        rows, squares = np.split(sums, 2, axis=1)
        rows_change, squares_change = np.split(sums_change, 2, axis=2)
        pull = squares + total / self.n_components * self.ridge
        count, count_change = totals[:, None], totals_change[:, :, None]
        return self.join(
            weight_gradient_change(beta, dbeta, totals_change, total),
            df * rows + f * rows_change - count_change * m - count * dm,
            count_change / f
            - count * df / (f * f)
            - df * pull
            - f * squares_change
            + dm * rows
            + m * rows_change,
        )

    def moments(self, theta: Array) -> tuple[Array, Array, Array]:
        """Weights, means and the diagonals of the factors."""
        beta, m, f = self.split(theta)
        return log_softmax(beta), m / f, f

    def own(self, theta: Array) -> Array:
        """Means ``m`` and factors, side by side."""
        _, m, factors = self.split(theta)
        return np.hstack((m, factors.reshape(len(m), -1)))

    def factor_of(self, theta: Array, component: int) -> Array:
        """Return the factor of the component."""
        return np.diag(self.split(theta)[2][component])

    def replace(self, theta: Array, component: int, other: int, m: Array) -> Array:
        """Make a component a copy of another with another mean."""
        beta, means, factors = self.split(theta.copy())
        beta[component], factors[component] = beta[other], factors[other]
        means[component] = m
        return self.join(beta, means, factors)


def _turned(matrices: Array) -> Array:
    return np.swapaxes(matrices, -1, -2)
