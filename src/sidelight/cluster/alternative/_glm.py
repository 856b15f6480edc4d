"""Clusters whose features are a regression on what is known, coordinated by clusters of all rows.

The cost of row ``i`` in cluster ``c`` is ``d(t_i, μ_c(z_i)) + λ d(t_i, ·)``: ``μ_c(z)`` is a
generalized linear model of the features on ``[1, z]`` with the memberships as weights, by weighted
least squares (Gaussian, identity link) or by Newton steps (counts, logarithmic link). Constrained
Clustering, figure 11.6, with ``P(f|x)`` as the weight of a feature. Indicators of the classes of
one known split make it the model with a mean for every cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.cluster.alternative._annealing import Moves
from sidelight.cluster.alternative._bottleneck_cells import CellModel, Sums
from sidelight.cluster.alternative._bottleneck_common import (
    Common,
    adjusted_common,
    common_effects,
    effect_offsets,
)
from sidelight.cluster.alternative._bottleneck_features import Family, Items

#: Share of the mean square of the design that keeps equations regular that repeat each other.
RIDGE = 1e-9

#: Newton steps for every change of the memberships; the next continues where the last ended.
NEWTON_STEPS = 2
FIRST_NEWTON_STEPS = 15

#: Times that a Newton step is halved until the likelihood does not fall.
HALVINGS = 8

#: Linear predictors of counts stay within this of the logarithm of the overall mean.
WIDEST = 30.0
WIDEST_STEP = 5.0

#: Numbers of a block of fitted means.
BLOCK = 2_000_000


class RegressionSums(NamedTuple):
    """Statistics of memberships, linear in them.

    Attributes
    ----------
    overall : Sums
        Sums over all rows, of one cell.
    weights : ndarray of shape (n_designs, n_clusters)
        Masses of the rows of every different row of the design.
    products : ndarray of shape (n_clusters, n_columns, n_features)
        Products of the columns of the design with the features.
    """

    overall: Sums
    weights: FloatArray
    products: FloatArray

    @property
    def cluster_masses(self) -> FloatArray:
        """``Q(c)``."""
        return self.overall.cluster_masses


def with_constant(design: FloatArray) -> FloatArray:
    """Put a constant column before those of a design."""
    return np.column_stack((np.ones(len(design)), design))


@dataclass(frozen=True)
class Regression:
    """Means of the features that follow from what is known about a row.

    Attributes
    ----------
    coefficients : ndarray of shape (n_clusters, n_columns, n_features)
        Of the constant column and of those of the design.
    overall : ndarray of shape (n_features,)
        Mean of all rows.
    counts : bool
        Whether the link is logarithmic.
    """

    coefficients: FloatArray
    overall: FloatArray
    counts: bool

    def costs(self, rows: Any, columns: FloatArray) -> FloatArray:
        """Cost of rows in every cluster, up to a constant of the row."""
        return self.offsets(columns) - self.products(rows, columns)

    def products(self, rows: Any, columns: FloatArray) -> FloatArray:
        """Products of rows with the natural parameters of their means."""
        k, n_columns, n_features = self.coefficients.shape
        projected = np.asarray(rows @ self.coefficients.reshape(-1, n_features).T)
        fits: FloatArray = np.einsum("ikp,ip->ik", projected.reshape(-1, k, n_columns), columns)
        return fits if self.counts else 2.0 * fits

    def offsets(self, columns: FloatArray) -> FloatArray:
        """Sum over the features of the squares of the means, or of the means of counts."""
        offsets = np.zeros((len(columns), len(self.coefficients)))
        for c, slopes in enumerate(self.coefficients):
            if not self.counts:
                offsets[:, c] = np.einsum("ip,pq,iq->i", columns, slopes @ slopes.T, columns)
                continue
            for block in _blocks(len(columns), slopes.shape[1]):
                offsets[:, c] += means_of_counts(
                    columns, slopes[:, block], self.overall[block]
                ).sum(axis=1)
        return offsets


@dataclass(frozen=True)
class RegressionBaseline:
    """Means by the regression of all rows, for some rows of the design with their constant.

    Attributes
    ----------
    regression : Regression
        Of one cluster, all rows.
    columns : ndarray of shape (n_designs, n_columns)
        Rows of the design.
    """

    regression: Regression
    columns: FloatArray

    def expected(self, weights: FloatArray) -> FloatArray:
        """``Σ_z w_zc μ_z``."""
        slopes = self.regression.coefficients[0]
        if not self.regression.counts:
            return slopes.T @ (self.columns.T @ weights)
        expected = np.empty((slopes.shape[1], weights.shape[1]))
        for block, means in self._means():
            expected[block] = means.T @ weights
        return expected

    def against(self, effects: FloatArray) -> FloatArray:
        """``μ_z · r_c``."""
        if not self.regression.counts:
            return self.columns @ (self.regression.coefficients[0] @ effects)
        products = np.zeros((len(self.columns), effects.shape[1]))
        for block, means in self._means():
            products += means @ effects[block]
        return products

    def at(self, columns: FloatArray) -> RegressionBaseline:
        """The same regression for other rows of the design."""
        return RegressionBaseline(self.regression, columns)

    def _means(self) -> Iterator[tuple[slice, FloatArray]]:
        slopes, overall = self.regression.coefficients[0], self.regression.overall
        for block in _blocks(len(self.columns), slopes.shape[1]):
            yield block, means_of_counts(self.columns, slopes[:, block], overall[block])


def means_of_counts(columns: FloatArray, slopes: FloatArray, overall: FloatArray) -> FloatArray:
    """Means by the logarithmic link, within bounds that keep them finite."""
    center = np.log(np.maximum(overall, 1e-300))
    predictors = columns @ slopes - center
    means: FloatArray = np.exp(np.clip(predictors, -WIDEST, WIDEST) + center)
    return means


@dataclass(frozen=True)
class RegressionTables:
    """Regression of every cluster, the costs without the product with a row, and the energy."""

    regression: Regression
    factors: FloatArray
    offsets: FloatArray
    energy: float


@dataclass(frozen=True)
class RegressionCosts:
    """Costs of new rows by the regressions of a fit.

    Attributes
    ----------
    regression : Regression
        Of every cluster.
    factors : ndarray of shape (n_features, n_clusters)
        Factors of the features in the coordinating term, weighted.
    effects : ndarray of shape (n_features, n_clusters) or None
        Effects of the clusters beside what is known; None where the term is not adjusted for it.
    baseline : RegressionBaseline
        What is known alone, which the effects come on top of.
    fixed : ndarray of shape (1, n_clusters)
        Weighted costs beside the factors of a term that is not adjusted.
    family : Gaussian or CountEntropy
        Cost of a row in a cluster.
    coordination : float
        Weight of the coordinating term.
    unseen : ndarray of bool, shape (n_features, n_clusters)
        Features that no row of a cluster has.
    """

    regression: Regression
    factors: FloatArray
    effects: FloatArray | None
    baseline: RegressionBaseline
    fixed: FloatArray
    family: Family
    coordination: float
    unseen: Array

    def __call__(self, rows: Any, columns: FloatArray) -> FloatArray:
        """Cost of every row in every cluster, up to a constant of the row."""
        offsets = self.fixed
        if self.effects is not None:
            common = effect_offsets(self.family, self.effects, self.baseline.at(columns))
            offsets = self.coordination * common
        within = self.regression.costs(rows, columns)
        costs: FloatArray = within + offsets - np.asarray(rows @ self.factors)
        return costs

    def has_unseen(self, rows: Any, columns: FloatArray, labels: IntArray) -> Array:
        """Whether a row has a feature that its cluster never has."""
        found = np.asarray(rows @ self.unseen.astype(np.float64))
        return np.asarray(found[np.arange(len(labels)), labels] > 0)


class RegressionModel:
    """Costs of rows in clusters whose means follow a regression on what is known.

    Parameters
    ----------
    items : Items
        Rows with their masses.
    design : ndarray of shape (n_samples, n_columns)
        What is known, without the constant column.
    coordination : float
        ``λ``.
    adjusted : bool
        Whether the coordinating term is adjusted for what is known.
    """

    monotone = True
    moves_rows: Moves = "none"

    def __init__(
        self, items: Items, design: FloatArray, *, coordination: float, adjusted: bool = False
    ) -> None:
        self.adjusted = adjusted
        self.family = items.family
        self.coordination = coordination
        self.rows: Any = items.rows
        self.plain = CellModel(items, np.zeros(items.n, dtype=np.int64), coordination=0.0)
        whole = with_constant(design)
        self.designs, which = np.unique(whole, axis=0, return_inverse=True)
        self._which: IntArray = which.reshape(-1)
        self._columns = whole
        self._overall = np.asarray(items.rows.T @ items.masses)
        alone = self.sums(np.ones((items.n, 1)))
        regression, _, self._one_cluster = self._fit_conditional(alone, None, settle=True)
        self.baseline = RegressionBaseline(regression, self.designs)

    @property
    def order(self) -> IntArray:
        """Position of every row of the model among the rows given."""
        return np.arange(len(self._which))

    @property
    def masses(self) -> FloatArray:
        """``p(x)``."""
        return self.plain.masses

    def sums(self, memberships: FloatArray) -> RegressionSums:
        """Statistics of the memberships."""
        n, k = memberships.shape
        weighted = self.masses[:, None] * memberships
        spread = (self._columns[:, None, :] * weighted[:, :, None]).reshape(n, -1)
        products = np.asarray(self.rows.T @ spread).T.reshape(k, self._columns.shape[1], -1)
        weights = np.zeros((len(self.designs), k))
        np.add.at(weights, self._which, weighted)
        # The first column of the design is constant: its products are the plain sums.
        overall = Sums(products[:, 0].T[None], weights.sum(axis=0)[None])
        return RegressionSums(overall, weights, products)

    def overall_means(self, sums: RegressionSums) -> FloatArray:
        """Mean of every cluster; that of all rows where it is empty."""
        return self.plain.overall_means(sums.overall)

    def fit(self, sums: RegressionSums, before: RegressionTables | None = None) -> RegressionTables:
        """Regression of every cluster; not worse than the one before."""
        start = None if before is None else before.regression.coefficients
        regression, offsets, cost = self._fit_conditional(sums, start, settle=before is None)
        common = self.common(sums)
        energy = cost - self._one_cluster - self.coordination * common.information
        factors = self.coordination * common.factors
        offsets = offsets + self.coordination * common.offsets
        return RegressionTables(regression, factors, offsets, energy)

    def common(self, sums: RegressionSums) -> Common:
        """The coordinating term."""
        if not self.adjusted:
            return self.plain.common(sums.overall)
        features = sums.overall.features[0]
        return adjusted_common(self.family, features, sums.weights, self.baseline)

    def costs(self, tables: RegressionTables) -> FloatArray:
        """Cost of every row in every cluster, up to a constant of the row."""
        within = tables.regression.products(self.rows, self._columns)
        return tables.offsets[self._which] - within - np.asarray(self.rows @ tables.factors)

    def informations(self, sums: RegressionSums) -> tuple[float, float]:
        """``I(C;F|Z)`` and ``I(C;F)``, in the units of the features."""
        _, _, cost = self._fit_conditional(sums, None, settle=True)
        return self._one_cluster - cost, self.plain.informations(sums.overall)[1]

    def costs_of_new_rows(self, sums: RegressionSums) -> RegressionCosts:
        """Costs of rows that were not in the fit, and of its own by what is known about them."""
        common, weight = self.common(sums), self.coordination
        effects = None
        if self.adjusted:
            features = sums.overall.features[0]
            effects = common_effects(self.family, features, sums.weights, self.baseline)
        return RegressionCosts(
            self.new_rows(sums),
            weight * common.factors,
            effects,
            self.baseline.at(self.designs[:0]),
            weight * common.offsets[:1],
            self.family,
            weight,
            sums.overall.features[0] == 0,
        )

    def new_rows(self, sums: RegressionSums) -> Regression:
        """The regression of every cluster, for rows that were not in the fit."""
        return self._fit_conditional(sums, None, settle=True)[0]

    def _fit_conditional(
        self, sums: RegressionSums, start: FloatArray | None, *, settle: bool
    ) -> tuple[Regression, FloatArray, float]:
        """Regression of every cluster, its offsets by design, and the cost of all rows in it."""
        if self.family.counts:
            steps = FIRST_NEWTON_STEPS if settle else NEWTON_STEPS
            coefficients, factor = self._fit_counts(sums, start, steps), 1.0
        else:
            coefficients, factor = self._fit_squares(sums), 2.0
        regression = Regression(coefficients, self._overall, self.family.counts)
        offsets = regression.offsets(self.designs)
        cost = np.sum(sums.weights * offsets) - factor * np.sum(sums.products * coefficients)
        return regression, offsets, float(cost)

    def _fit_squares(self, sums: RegressionSums) -> FloatArray:
        """Weighted least squares; a column that repeats others gets the shortest coefficients."""
        coefficients = np.empty_like(sums.products)
        for c, weights in enumerate(sums.weights.T):
            gram = (self.designs * weights[:, None]).T @ self.designs
            coefficients[c] = np.linalg.pinv(gram, rcond=RIDGE, hermitian=True) @ sums.products[c]
        return coefficients

    def _fit_counts(self, sums: RegressionSums, start: FloatArray | None, steps: int) -> FloatArray:
        """Newton steps for the logarithmic link, features in blocks."""
        coefficients = np.zeros_like(sums.products) if start is None else start.copy()
        if start is None:
            means = self.overall_means(sums).T
            coefficients[:, 0] = np.log(np.maximum(means, 1e-12 * self._overall + 1e-300))
        for c, weights in enumerate(sums.weights.T):
            for block in _blocks(len(self.designs), coefficients.shape[2]):
                problem = _LogRegression(
                    self.designs, weights, sums.products[c][:, block], self._overall[block]
                )
                coefficients[c][:, block] = problem.descend(coefficients[c][:, block], steps)
        return coefficients


class _LogRegression:
    """Regression of some features of one cluster with the logarithmic link."""

    def __init__(
        self, designs: FloatArray, weights: FloatArray, products: FloatArray, overall: FloatArray
    ) -> None:
        self._designs, self._weights = designs, weights
        self._products, self._overall = products, overall
        self._squares = designs[:, :, None] * designs[:, None, :]
        mass = max(float(weights.sum()), 1e-300)
        # In the units of the second derivatives, so that no class without a count runs away.
        self._ridge = 1e-4 * mass * overall + 1e-300

    def _energies(self, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
        means = means_of_counts(self._designs, slopes, self._overall)
        energies = self._weights @ means - np.sum(self._products * slopes, axis=0)
        return energies + self._ridge / 2 * np.sum(slopes[1:] ** 2, axis=0), means

    def descend(self, slopes: FloatArray, steps: int) -> FloatArray:
        """Take Newton steps that never raise the energy of a feature."""
        energies, means = self._energies(slopes)
        for _ in range(steps):
            step = self._newton(slopes, means)
            for _ in range(HALVINGS):
                tried = slopes - step
                lower, at_tried = self._energies(tried)
                rises = ~(lower <= energies)
                if not rises.any():
                    break
                step[:, rises] /= 2
            step[:, rises] = 0.0
            slopes = slopes - step
            energies[~rises] = lower[~rises]
            means[:, ~rises] = at_tried[:, ~rises]
        return slopes

    def _newton(self, slopes: FloatArray, means: FloatArray) -> FloatArray:
        weighted = self._weights[:, None] * means
        gradient = self._designs.T @ weighted - self._products
        gradient[1:] += self._ridge * slopes[1:]
        size = len(slopes)
        hessian = np.tensordot(weighted, self._squares, axes=(0, 0))
        ridge = np.repeat(self._ridge[:, None], size, axis=1)
        ridge[:, 0] = 1e-9 * self._ridge
        hessian[:, np.arange(size), np.arange(size)] += ridge + 1e-300
        step = np.linalg.solve(hessian, gradient.T[:, :, None])[:, :, 0].T
        return np.clip(step, -WIDEST_STEP, WIDEST_STEP).astype(np.float64)


def _blocks(height: int, n_features: int) -> Iterator[slice]:
    width = max(BLOCK // max(height, 1), 1)
    for low in range(0, n_features, width):
        yield slice(low, min(low + width, n_features))
