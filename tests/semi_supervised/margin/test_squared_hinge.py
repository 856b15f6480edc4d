"""The linear machine with squared hinge loss: derivatives, other solvers of the same problem."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC, LinearSVC

from sidelight.semi_supervised.margin._squared_hinge import (
    Plane,
    _cg_step,
    _direct_step,
    at_origin,
    fit_squared_hinge,
    gradient,
    objective,
)


def problem(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) + 0.5
    signs = np.where(rows[:, 0] + rng.normal(size=n) > 0.5, 1.0, -1.0)
    return rows, signs, rng.uniform(0.1, 2.0, size=n)


def plane_at(rows, point):
    return Plane(point[:-1], point[-1], rows @ point[:-1] + point[-1], np.nan)


def value_at(rows, point, signs, costs):
    return objective(plane_at(rows, point), signs, costs)


def slope_at(rows, point, signs, costs):
    return np.append(*gradient(rows, plane_at(rows, point), signs, costs))


def test_gradient_by_finite_differences():
    rows, signs, costs = problem()
    point = np.random.default_rng(1).normal(size=5)
    steps = 1e-6 * np.eye(5)
    expected = [
        (value_at(rows, point + e, signs, costs) - value_at(rows, point - e, signs, costs)) / 2e-6
        for e in steps
    ]
    np.testing.assert_allclose(slope_at(rows, point, signs, costs), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("solver", ["direct", "cg", "cg-sparse", "direct-sparse"])
def test_step_solves_the_hessian_of_finite_differences(solver):
    rows, signs, costs = problem()
    point = 0.3 * np.random.default_rng(2).normal(size=5)
    steps = 1e-6 * np.eye(5)
    hessian = np.array(
        [
            (slope_at(rows, point + e, signs, costs) - slope_at(rows, point - e, signs, costs))
            / 2e-6
            for e in steps
        ]
    )
    slope = slope_at(rows, point, signs, costs)
    active = 2 * costs * (signs * (rows @ point[:-1] + point[-1]) < 1)
    given = sparse.csr_matrix(rows) if solver.endswith("sparse") else rows
    if solver.startswith("direct"):
        step = _direct_step(given, active, slope[:-1], slope[-1])
    else:
        step = _cg_step(given, active, slope[:-1], slope[-1], 1e-10)
    np.testing.assert_allclose(hessian @ np.append(*step), -slope, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("solver", ["direct", "cg"])
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_it_is_the_svm_of_a_kernel_with_a_ridge(solver, scale):
    """Squared slacks are hard margins for the kernel ``K + diag(1 / 2c)``; the bias is free."""
    rows, signs, costs = problem()
    costs = scale * costs
    found = fit_squared_hinge(rows, signs, costs, at_origin(rows), solver, 1e-10)
    assert found.converged
    K = rows @ rows.T
    peer = SVC(kernel="precomputed", C=1e9, tol=1e-9).fit(K + np.diag(1 / (2 * costs)), signs)
    values = K[:, peer.support_] @ peer.dual_coef_[0] + peer.intercept_[0]
    np.testing.assert_allclose(found.values, values, atol=1e-4)  # SVC keeps K in float32


def test_it_is_linear_svc_but_for_the_penalty_on_the_bias():
    rows, signs, _ = problem()
    found = fit_squared_hinge(rows, signs, np.full(60, 0.7), at_origin(rows), "direct", 1e-10)
    # A large constant column makes the penalty on its weight small.
    peer = LinearSVC(C=0.7, intercept_scaling=1e4, tol=1e-12, max_iter=100_000).fit(rows, signs)
    np.testing.assert_allclose(found.values, peer.decision_function(rows), atol=1e-4)


def test_any_start_leads_to_the_same_plane():
    rows, signs, costs = problem()
    cold = fit_squared_hinge(rows, signs, costs, at_origin(rows), "direct", 1e-10)
    start = plane_at(rows, 5 * np.random.default_rng(3).normal(size=5))
    warm = fit_squared_hinge(rows, signs, costs, start, "cg", 1e-10)
    np.testing.assert_allclose(warm.values, cold.values, atol=1e-7)


def test_rows_without_cost_do_not_count():
    rows, signs, costs = problem()
    costs[40:] = 0
    whole = fit_squared_hinge(rows, signs, costs, at_origin(rows), "direct", 1e-10)
    part = fit_squared_hinge(
        rows[:40], signs[:40], costs[:40], at_origin(rows[:40]), "direct", 1e-10
    )
    np.testing.assert_allclose(whole.normal, part.normal, atol=1e-9)
