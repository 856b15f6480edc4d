"""Regressions of the features on what is known, as a model of clusters."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression, PoissonRegressor
from tests.cluster.alternative.test_bottleneck import FEATURES, cells, counts, items_of, model_of

from sidelight._kernels.cluster.alternative.memberships import information_about_rows, soften
from sidelight.cluster.alternative._annealing import critical_temperature
from sidelight.cluster.alternative._glm import RegressionModel


def indicators(z):
    return (z[:, None] == np.arange(1, z.max() + 1)).astype(float)


@pytest.mark.parametrize("adjusted", [False, True])
@pytest.mark.parametrize("features", FEATURES)
def test_indicators_of_one_split_give_the_means_of_its_cells(features, adjusted):
    X, z = counts() + 0.5, cells(40)
    by_cells = model_of(X, z, features, adjusted=adjusted)
    by_design = RegressionModel(
        items_of(X, features), indicators(z), coordination=0.3, adjusted=adjusted
    )
    q = np.random.default_rng(0).dirichlet(np.ones(3), 40)
    tables = by_cells.fit(by_cells.sums(q[by_cells.order]))
    fitted = by_design.fit(by_design.sums(q))
    # The logarithmic link has a small ridge; least squares has none.
    close = 1e-10 if features == "gaussian" else 1e-3
    costs = np.empty((40, 3))
    costs[by_cells.order] = by_cells.costs(tables)
    np.testing.assert_allclose(by_design.costs(fitted), costs, atol=close * np.ptp(costs))
    assert fitted.energy == pytest.approx(tables.energy, rel=close)
    assert by_design.informations(by_design.sums(q)) == pytest.approx(
        by_cells.informations(by_cells.sums(q[by_cells.order])), rel=close
    )


def test_least_squares_are_those_of_scikit_learn():
    X, z = counts(), np.random.default_rng(1).standard_normal((40, 2))
    items = items_of(X, "gaussian")
    model = RegressionModel(items, z, coordination=0.0)
    q = np.random.default_rng(0).dirichlet(np.ones(3), 40)
    costs = model.costs(model.fit(model.sums(q)))
    for c in range(3):
        theirs = LinearRegression().fit(z, items.rows, sample_weight=q[:, c]).predict(z)
        expected = np.sum((items.rows - theirs) ** 2, axis=1) - np.sum(items.rows**2, axis=1)
        np.testing.assert_allclose(costs[:, c], expected, atol=1e-10)


def test_poisson_regression_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    z = rng.standard_normal((120, 2))
    X = rng.poisson(np.exp(0.5 + z @ rng.uniform(-0.5, 0.5, (2, 3)))).astype(float)
    model = RegressionModel(items_of(X, "poisson"), z, coordination=0.0)
    q = rng.dirichlet(np.ones(2), 120)
    regression = model.new_rows(model.sums(q))
    for c in range(2):
        for j in range(3):
            theirs = PoissonRegressor(alpha=0, tol=1e-8).fit(z, X[:, j], sample_weight=q[:, c])
            ours = regression.coefficients[c, :, j]
            np.testing.assert_allclose(ours, [theirs.intercept_, *theirs.coef_], atol=2e-3)


@pytest.mark.parametrize("adjusted", [False, True])
@pytest.mark.parametrize("features", FEATURES)
def test_free_energy_falls(features, adjusted):
    rng = np.random.default_rng(0)
    X, z = counts(60), rng.standard_normal((60, 2))
    model = RegressionModel(items_of(X, features), z, coordination=0.3, adjusted=adjusted)
    temperature = 0.3 * critical_temperature(model, np.random.RandomState(0))
    q = rng.dirichlet(np.ones(3), 60)
    energies, tables = [], None
    for _ in range(40):
        sums = model.sums(q)
        tables = model.fit(sums, tables)
        energies.append(tables.energy + temperature * information_about_rows(q, model.masses))
        new = np.empty_like(q)
        soften(model.costs(tables), np.log(sums.cluster_masses), temperature, q, new)
        q = new
    rises = np.diff(energies)
    # The ridge of counts is not in the energy.
    assert rises.max() <= (1e-12 if features == "gaussian" else 1e-4) * abs(energies[-1])
    assert energies[-1] < energies[0]


def test_energy_of_counts_is_the_least_over_coefficients():
    rng = np.random.default_rng(3)
    X, z = counts(50, 2), rng.standard_normal((50, 1))
    model = RegressionModel(items_of(X, "poisson"), z, coordination=0.0)
    q = rng.dirichlet(np.ones(2), 50)
    columns = np.column_stack((np.ones(50), z))

    def least(weights):
        def cost(b):
            predictors = columns @ b.reshape(2, 2)
            return float(weights @ np.sum(np.exp(predictors) - X * predictors, axis=1)) / 50

        return minimize(cost, np.zeros(4), tol=1e-12).fun

    expected = least(q[:, 0]) + least(q[:, 1]) - least(np.ones(50))
    assert model.fit(model.sums(q)).energy == pytest.approx(expected, rel=1e-3)


def test_features_that_never_occur_and_columns_that_repeat_each_other():
    X, z = counts(), np.random.default_rng(0).standard_normal((40, 1))
    X[:, 2] = 0
    for features in FEATURES:
        model = RegressionModel(
            items_of(X, features), np.hstack((z, z)), coordination=0.3, adjusted=True
        )
        q = np.random.default_rng(0).dirichlet(np.ones(3), 40)
        tables = model.fit(model.sums(q))
        assert np.isfinite(model.costs(tables)).all()
        assert np.isfinite(tables.energy)
