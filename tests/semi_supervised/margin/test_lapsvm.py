"""Laplacian SVM: its dual, limits that are ordinary SVMs, and two ways to the same solution."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.graphs import laplacian, neighbor_graph
from sidelight.semi_supervised import LapSVM
from sidelight.semi_supervised.margin import _features, _manifold
from sidelight.semi_supervised.margin._hinge import solve_hinge
from sidelight.semi_supervised.margin._manifold import (
    dense_problem,
    laplacian_product,
    primal_problem,
    solve_by_cg,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = (X[:, 0] + 0.4 * rng.normal(size=90) > 0).astype(int)
    return X, y, np.where(np.arange(90) % 5 == 0, y, -1)


# ------------------------------------------------------------------ limits


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("solver", ["dense", "primal"])
def test_without_intrinsic_penalty_it_is_the_svm(rows, kernel, solver):
    X, _, labels = rows
    part = labels >= 0
    model = LapSVM(0.05, 0.0, kernel=kernel, gamma=0.3, solver=solver, tol=1e-9).fit(X, labels)
    C = 1 / (2 * 0.05 * part.sum())
    peer = SVC(C=C, kernel=kernel, gamma=0.3, tol=1e-9).fit(X[part], labels[part])
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-5)


def test_without_intercept_it_is_the_svm_through_the_origin(rows):
    X, _, labels = rows
    part = labels >= 0
    model = LapSVM(0.05, 0.0, kernel="linear", fit_intercept=False, tol=1e-9).fit(X, labels)
    C = 1 / (2 * 0.05 * part.sum())
    peer = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=10**6)
    peer.fit(X[part], labels[part])
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-6)
    assert model.intercept_ == 0


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_both_solvers_give_the_same(rows, kernel, intercept, normalized):
    X, _, labels = rows
    params = {
        "gamma_A": 0.02,
        "gamma_I": 60.0,
        "kernel": kernel,
        "gamma": 0.3,
        "normalized": normalized,
        "fit_intercept": intercept,
        "tol": 1e-9,
    }
    dense = LapSVM(solver="dense", **params).fit(X, labels)
    primal = LapSVM(solver="primal", **params).fit(X, labels)  # all rows are landmarks
    new = X + 0.3
    np.testing.assert_allclose(
        primal.decision_function(new), dense.decision_function(new), atol=1e-6
    )
    np.testing.assert_allclose(primal.dual_variables_, dense.dual_variables_, atol=1e-6)
    assert primal.objective_ == pytest.approx(dense.objective_, rel=1e-8)


# ------------------------------------------------------------------ the objective


def objective_of(model, X, labels, K, weights="local"):
    """The published objective, from the expansion of ``f``."""
    L = laplacian(neighbor_graph(X, model.n_neighbors, weights=weights), "unnormalized")
    alpha, part = model.dual_coef_[0], labels >= 0
    f = K @ alpha
    slacks = np.maximum(1 - (2 * labels[part] - 1) * (f[part] + model.intercept_[0]), 0)
    return (
        slacks.mean()
        + model.gamma_A_ * alpha @ K @ alpha
        + model.gamma_I_ / len(X) ** 2 * f @ (L @ f)
    )


def test_objective_is_the_published_one_and_nothing_near_is_lower(rows):
    X, _, labels = rows
    K = rbf_kernel(X, gamma=0.3)
    model = LapSVM(0.02, 60.0, gamma=0.3, solver="dense", tol=1e-9).fit(X, labels)
    least = objective_of(model, X, labels, K)
    assert model.objective_ == pytest.approx(least, rel=1e-9)
    assert model.gap_ < 1e-9
    rng = np.random.default_rng(0)
    alpha, bias = model.dual_coef_.copy(), model.intercept_.copy()
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(20):
            model.dual_coef_ = alpha + size * rng.normal(size=alpha.shape) * np.abs(alpha).mean()
            model.intercept_ = bias + 0.1 * size * rng.normal()
            assert objective_of(model, X, labels, K) > least - 1e-12


def test_default_penalties(rows):
    X, _, labels = rows
    model = LapSVM(kernel="linear").fit(X, labels)
    L = laplacian(neighbor_graph(X, 5, weights="local"), "unnormalized")
    assert model.gamma_A_ == pytest.approx(1e-3 * X.var(axis=0).sum())
    assert model.gamma_I_ == pytest.approx(0.4 * 90**2 / L.trace())
    larger = LapSVM(kernel="linear").fit(1000 * X, labels)
    np.testing.assert_allclose(
        larger.decision_function(1000 * X), model.decision_function(X), atol=1e-5
    )


# ------------------------------------------------------------------ use


def test_two_moons_with_four_labels():
    X, y = make_moons(300, noise=0.05, random_state=0)
    labels = np.full(300, -1)
    for moon in (0, 1):
        labels[np.flatnonzero(y == moon)[:2]] = moon
    alone = LapSVM(gamma_I=0.0, gamma=5.0).fit(X, labels).score(X, y)
    model = LapSVM(gamma_I=1000.0, gamma=5.0).fit(X, labels)
    assert alone < 0.95
    assert model.score(X, y) > 0.99
    few = LapSVM(gamma_I=1000.0, gamma=5.0, solver="primal", n_components=80, random_state=0)
    assert few.fit(X, labels).score(X, y) > 0.98
    assert few.dual_coef_.shape == (1, 80)
    assert set(np.flatnonzero(labels >= 0)) <= set(few.support_)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sparse_rows_give_what_dense_ones_do(rows, kernel):
    X, _, labels = rows
    thin = np.where(X > 0.5, X, 0)
    for solver in ("dense", "primal"):
        model = LapSVM(kernel=kernel, solver=solver, n_components=30, random_state=0, tol=1e-9)
        dense = model.fit(thin, labels).decision_function(thin)
        other = model.fit(sparse.csr_matrix(thin), labels)
        np.testing.assert_allclose(
            other.decision_function(sparse.csr_matrix(thin)), dense, atol=1e-6
        )


def test_more_classes_are_each_against_all_others():
    X, y = make_blobs(120, centers=3, cluster_std=1.0, random_state=1)
    labels = np.where(np.arange(120) % 6 == 0, y, -1)
    model = LapSVM(tol=1e-9).fit(X, labels)
    assert model.score(X, y) > 0.95
    for code in range(3):
        two = LapSVM(tol=1e-9).fit(X, np.where(labels < 0, -1, labels == code))
        np.testing.assert_allclose(
            model.decision_function(X)[:, code], two.decision_function(X), atol=1e-6
        )
    assert model.dual_variables_.shape == (3, 20)


def test_a_given_matrix_gives_what_its_kernel_does(rows):
    X, _, labels = rows
    new = X[:20] + 0.1
    named = LapSVM(kernel="linear", solver="dense", tol=1e-9).fit(X, labels)
    for solver in ("dense", "primal"):
        matrix = LapSVM(kernel="precomputed", solver=solver, tol=1e-9).fit(X @ X.T, labels)
        np.testing.assert_allclose(
            matrix.decision_function(new @ X.T), named.decision_function(new), atol=1e-6
        )


def test_parts_without_labels_are_told():
    X, y = make_blobs(60, centers=[[0, 0], [10, 0], [0, 50]], cluster_std=0.5, random_state=0)
    labels = np.full(60, -1)
    labels[np.flatnonzero(y == 0)[:2]], labels[np.flatnonzero(y == 1)[:2]] = 0, 1
    with pytest.warns(ConstraintWarning, match=r"20 unlabeled rows \(the first is .*1 part of"):
        model = LapSVM(n_neighbors=3).fit(X, labels)
    assert model.n_cut_off_ == 20
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert LapSVM(gamma_I=0.0, n_neighbors=3).fit(X, labels).n_cut_off_ == 0


def test_a_search_that_is_cut_short_is_told(rows):
    X, _, _ = rows
    rng = np.random.default_rng(0)
    with pytest.warns(ConvergenceWarning, match="before the optimum"):
        model = LapSVM(1e-9, 0.0, kernel="linear", max_iter=1).fit(
            np.repeat(X, 10, axis=0), rng.integers(2, size=900)
        )
    assert not model.converged_
    assert model.gap_ > 0


def test_shares_move_the_bias():
    X, y = make_blobs(150, centers=3, cluster_std=3.0, random_state=1)
    labels = np.where(np.arange(150) % 5 == 0, y, -1)
    free = labels < 0
    plain = LapSVM().fit(X, labels)
    np.testing.assert_allclose(
        plain.class_shares_, np.bincount(plain.transduction_[free], minlength=3) / free.sum()
    )
    two = np.where(free, -1, labels == 2)
    for share in (0.1, 0.4):
        model = LapSVM(class_shares=[1 - share, share]).fit(X, two)
        assert np.mean(model.transduction_[free] == 1) == pytest.approx(share, abs=0.01)
        moved = model.decision_function(X) - LapSVM().fit(X, two).decision_function(X)
        np.testing.assert_allclose(moved, moved[0], atol=1e-9)


# --- what it is made of ---


# ------------------------------------------------------------------ the dual


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 25),
    st.integers(1, 6),
    st.sampled_from([0.01, 0.3, 10.0, 1000.0]),
    st.booleans(),
    st.integers(0, 1000),
)
def test_conditions_of_the_optimum(n, d, cost, intercept, seed):
    rng = np.random.default_rng(seed)
    z = np.round(rng.normal(size=(n, d)), 1)  # rows that are the same, or depend on each other
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    found = solve_hinge(z, y, cost, intercept=intercept, tol=1e-8, max_iter=10_000)
    assert found.converged
    assert found.beta.min() >= 0
    assert found.beta.max() <= cost * (1 + 1e-12)
    if intercept:
        assert abs(found.beta @ y) <= 1e-7 * max(cost, 1)
    gaps = y * (z @ ((found.beta * y) @ z) + found.bias) - 1
    inside = (found.beta > 1e-6 * cost) & (found.beta < cost * (1 - 1e-6))
    assert np.all(np.abs(gaps[inside]) < 1e-6)
    assert np.all(gaps[found.beta <= 1e-9 * cost] > -1e-6)
    assert np.all(gaps[found.beta >= cost * (1 - 1e-9)] < 1e-6)
    assert found.gap <= 1e-6 * max(found.objective, 1)


@pytest.mark.parametrize("cost", [0.05, 1.0, 20.0])
def test_it_is_svc(rows, cost):
    X, y, _ = rows
    found = solve_hinge(X, 2.0 * y - 1, cost, intercept=True, tol=1e-9, max_iter=10_000)
    peer = SVC(C=cost, kernel="linear", tol=1e-9).fit(X, y)
    np.testing.assert_allclose((found.beta * (2 * y - 1)) @ X, peer.coef_[0], atol=1e-5)
    assert found.bias == pytest.approx(peer.intercept_[0], abs=1e-5)


# ------------------------------------------------------------------ limits


def test_conjugate_gradients_solve_what_the_factor_does(rows, monkeypatch):
    X, _, labels = rows
    L = laplacian(neighbor_graph(X, 5), "unnormalized")
    labeled = np.flatnonzero(labels >= 0)
    direct = primal_problem(X, L, labeled, 0.02, 0.01)
    dense = dense_problem(X @ X.T, L, labeled, 0.02, 0.01)
    monkeypatch.setattr(_manifold, "DIRECT_COLUMNS", 2)
    by_cg = primal_problem(sparse.csr_matrix(X), L, labeled, 0.02, 0.01)
    weights = np.random.default_rng(0).normal(size=(len(labeled), 3))
    gram = direct.rows @ direct.rows.T
    np.testing.assert_allclose(by_cg.rows @ by_cg.rows.T, gram, atol=1e-8 * np.abs(gram).max())
    np.testing.assert_allclose(dense.rows @ dense.rows.T, gram, atol=1e-8 * np.abs(gram).max())
    np.testing.assert_allclose(by_cg.expand(weights), direct.expand(weights), rtol=1e-7)
    np.testing.assert_allclose(X.T @ dense.expand(weights), direct.expand(weights), rtol=1e-7)


def test_products_with_the_laplacian(rows):
    X, _, _ = rows
    L = laplacian(neighbor_graph(X, 5), "unnormalized")
    wide = np.hstack([X] * 20)  # several blocks of columns
    expected = wide.T @ L.toarray() @ wide
    np.testing.assert_allclose(laplacian_product(wide, L), expected, atol=1e-9)
    np.testing.assert_allclose(laplacian_product(sparse.csr_matrix(wide), L), expected, atol=1e-9)
    right = np.random.default_rng(0).normal(size=(4, 70))
    A = 2 * 0.1 * np.eye(4) + 2 * 0.3 * X.T @ L.toarray() @ X
    np.testing.assert_allclose(
        solve_by_cg(X, L, right, 0.1, 0.3), np.linalg.solve(A, right), rtol=1e-8
    )


# ------------------------------------------------------------------ use


def test_what_is_too_much_is_refused(rows, monkeypatch):
    X, _, labels = rows
    monkeypatch.setattr(_features, "MAX_ROWS", 50)
    with pytest.raises(SidelightError, match=r"90 by 90 numbers.*solver=primal"):
        LapSVM(solver="dense").fit(X, labels)
    LapSVM(solver="primal", n_components=20, random_state=0).fit(X, labels)
    monkeypatch.setattr(_manifold, "DIRECT_COLUMNS", 2)
    monkeypatch.setattr(_manifold, "MAX_LABELED", 10)
    with pytest.raises(SidelightError, match="18; at most 10 are taken"):
        LapSVM(kernel="linear").fit(X, labels)
