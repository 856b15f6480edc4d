"""Transductive SVM: switching lowers the objective, balance holds, limits are ordinary SVMs."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from sidelight.exceptions import SidelightError
from sidelight.semi_supervised import TSVM
from sidelight.semi_supervised.margin import _features
from sidelight.semi_supervised.margin._squared_hinge import (
    Plane,
    at_origin,
    fit_squared_hinge,
    objective,
)
from sidelight.semi_supervised.margin._switching import (
    expected_share,
    first_pseudo_labels,
    pairs_to_switch,
    stage_costs,
    switch_labels,
)


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(120, n_features=3, centers=2, cluster_std=2.5, random_state=4)
    return X, y, np.where(np.arange(120) % 12 == 0, y, -1)


# ------------------------------------------------------------------ limits


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_without_unlabeled_rows_it_is_the_svm_of_its_loss(blobs, kernel):
    X, y, _ = blobs
    model = TSVM(C=0.3, kernel=kernel, gamma=0.05, tol=1e-10).fit(X, y)
    K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.05)
    peer = SVC(kernel="precomputed", C=1e9, tol=1e-9).fit(K + np.eye(120) / 0.6, y)
    expected = K[:, peer.support_] @ peer.dual_coef_[0] + peer.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_unlabeled_rows_without_cost_do_not_count(blobs, kernel):
    X, _, labels = blobs
    part = labels >= 0
    params = {"C": 0.3, "kernel": kernel, "gamma": 0.05, "tol": 1e-10}
    one = TSVM(C_unlabeled=0.0, **params).fit(X, labels)
    other = TSVM(**params).fit(X[part], labels[part])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-6)


def test_kernels_of_a_function_a_matrix_and_by_name_agree(blobs):
    X, _, labels = blobs
    new = X[:30] + 0.1
    by_name = TSVM(kernel="linear").fit(X, labels).decision_function(new)
    function = TSVM(kernel=lambda A, B: A @ B.T).fit(X, labels).decision_function(new)
    np.testing.assert_allclose(function, by_name, atol=1e-5)
    named = TSVM(kernel="rbf", gamma=0.05).fit(X, labels).decision_function(new)
    K, between = rbf_kernel(X, gamma=0.05), rbf_kernel(new, X, gamma=0.05)
    given_matrix = TSVM(kernel="precomputed").fit(K, labels)
    np.testing.assert_allclose(given_matrix.decision_function(between), named, atol=1e-6)
    thin = TSVM(kernel="precomputed").fit(sparse.csr_matrix(K), labels)
    np.testing.assert_allclose(thin.decision_function(sparse.csr_matrix(between)), named, atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_unit_of_the_rows_does_not_matter(blobs, kernel):
    X, _, labels = blobs
    one = TSVM(kernel=kernel).fit(X, labels)
    other = TSVM(kernel=kernel).fit(X * 1024, labels)
    np.testing.assert_allclose(
        other.decision_function(X * 1024), one.decision_function(X), atol=1e-6
    )
    assert other.objective_ * (1024**2 if kernel == "linear" else 1) == pytest.approx(
        one.objective_, rel=1e-6
    )


def test_swapping_the_classes_turns_the_signs(blobs):
    X, _, labels = blobs
    one = TSVM(class_shares=[0.6, 0.4]).fit(X, labels)
    other = TSVM(class_shares=[0.4, 0.6]).fit(X, np.where(labels < 0, -1, 1 - labels))
    np.testing.assert_allclose(other.decision_function(X), -one.decision_function(X), atol=1e-5)


# ------------------------------------------------------------------ use


def two_topics(n=600, d=300, seed=0):
    """Documents of two topics: words of either topic are more frequent in its documents."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    rates = 0.2 * np.exp(0.5 * rng.normal(size=(2, d)))
    X = sparse.csr_matrix(rng.poisson(rates[y]).astype(np.float64))
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).reshape(-1))
    return sparse.csr_matrix(sparse.diags(1 / np.maximum(lengths, 1)) @ X), y


def test_unlabeled_text_helps():
    X, y = two_topics()
    labels = np.where(np.arange(600) < 10, y, -1)
    free = labels < 0
    alone = TSVM(C_unlabeled=0.0).fit(X, labels).score(X[free], y[free])
    model = TSVM(class_shares=[0.5, 0.5]).fit(X, labels)
    assert model.score(X[free], y[free]) > alone + 0.1


def test_sparse_rows_give_what_dense_ones_do():
    X, y = two_topics(150, 40)
    labels = np.where(np.arange(150) < 20, y, -1)
    for solver in ("direct", "cg"):
        one = TSVM(solver=solver, tol=1e-9).fit(X, labels)
        other = TSVM(solver="direct", tol=1e-9).fit(X.toarray(), labels)
        np.testing.assert_allclose(
            one.decision_function(X), other.decision_function(X.toarray()), atol=1e-6
        )


def test_more_classes_are_each_against_all_others():
    X, y = make_blobs(150, centers=3, cluster_std=1.0, random_state=1)
    labels = np.where(np.arange(150) % 10 == 0, y, -1)
    model = TSVM(class_shares=[1 / 3, 1 / 3, 1 / 3]).fit(X, labels)
    assert model.coef_.shape == (3, 2)
    assert model.score(X, y) > 0.95
    np.testing.assert_array_equal((model.pseudo_labels_ > 0).sum(axis=0), [45, 45, 45])
    second = TSVM(class_shares=[2 / 3, 1 / 3]).fit(X, np.where(labels < 0, -1, labels == 1))
    np.testing.assert_allclose(
        model.decision_function(X)[:, 1], second.decision_function(X), atol=1e-4
    )


def test_history_and_costs_go_together(blobs):
    X, _, labels = blobs
    model = TSVM().fit(X, labels)
    assert len(model.history_) == len(model.C_unlabeled_history_) == model.n_iter_
    assert model.C_unlabeled_history_[0] == 0
    assert model.C_unlabeled_history_[-1] == pytest.approx(model.C_unlabeled_)
    assert model.C_unlabeled_ * 110 == pytest.approx(model.C_ * 10)
    assert model.history_[-1] == model.objective_
    assert len(model.pseudo_labels_) == 110


def test_shares_that_make_no_sense(blobs):
    X, _, labels = blobs
    three = np.where(labels < 0, -1, np.arange(120) // 12 % 3)
    with pytest.raises(SidelightError, match="3 numbers above 0"):
        TSVM(class_shares=[0.5, 0.5]).fit(X, three)
    with pytest.raises(SidelightError, match="2 numbers above 0"):
        TSVM(class_shares=[0.5, 0.4]).fit(X, labels)
    with pytest.raises(SidelightError, match="2 numbers above 0"):
        TSVM(class_shares=[0.2, 0.2, 0.6]).fit(X, labels)


def test_a_search_that_is_cut_short_is_told(blobs):
    X, _, labels = blobs
    with pytest.warns(ConvergenceWarning, match="pairs left to switch"):
        model = TSVM(C_unlabeled=1.0, max_iter=1).fit(X, labels)
    assert not model.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert TSVM().fit(X, labels).converged_


def test_more_searches_never_end_higher(blobs):
    X, _, labels = blobs
    found = [TSVM(n_init=number).fit(X, labels).objective_ for number in (1, 3, 5, 8)]
    assert np.all(np.diff(found) <= 1e-9)


# --- what it is made of ---


def search(X, labels, **changed):
    signs = np.where(labels < 0, 0.0, 2.0 * labels - 1)
    params = {
        "cost": 0.5,
        "cost_unlabeled": 0.2,
        "positive_share": 0.4,
        "solver": "direct",
        "tol": 1e-8,
        "max_iter": 50,
    }
    return switch_labels(X - X.mean(axis=0), signs, **(params | changed))


# ------------------------------------------------------------------ switching


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(-3, 3), st.booleans()), min_size=2, max_size=30))
def test_no_switch_raises_the_objective(rows):
    values = np.array([value for value, _ in rows])
    signs = np.array([1.0 if positive else -1.0 for _, positive in rows])
    costs = np.full(len(rows), 0.3)
    plane = Plane(np.zeros(1), 0.0, values, 0.0)
    positive, negative = pairs_to_switch(values, signs)
    slacks = np.maximum(1 - signs * values, 0)
    assert np.all(slacks[positive] > 0)
    assert np.all(slacks[negative] > 0)
    assert np.all(slacks[positive] + slacks[negative] > 2)
    before = objective(plane, signs, costs)
    for one, other in zip(positive, negative, strict=True):
        assert (signs[one], signs[other]) == (1, -1)
        signs[one], signs[other] = -1.0, 1.0
        after = objective(plane, signs, costs)
        assert after < before
        before = after
    assert len(pairs_to_switch(values, signs)[0]) == 0  # all that could be gained was


def test_the_pair_that_is_switched_is_the_worst():
    values = np.array([-2.0, 0.5, 0.9, 3.0])
    positive, negative = pairs_to_switch(values, np.array([1.0, 1.0, -1.0, -1.0]))
    assert (positive[0], negative[0]) == (0, 3)


def test_objective_falls_while_the_cost_stays():
    X, y = two_topics(400, 100)
    labels = np.where(np.arange(400) < 20, y, -1)
    found = search(X.toarray(), labels)
    same_cost = np.diff(found.cost_history) == 0
    assert sum(found.swaps) > 10
    assert same_cost.sum() > 5
    assert np.all(np.diff(found.history)[same_cost] <= 1e-9)
    assert found.converged
    assert len(pairs_to_switch(found.plane.values[labels < 0], found.signs[labels < 0])[0]) == 0


def tiny(seed):
    """Fourteen rows, four labeled, and costs."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 14)
    y[:2] = 0, 1
    X = rng.normal(size=(14, 2)) + 1.2 * y[:, None]
    costs = [(1.0, 1.0), (0.5, 0.2), (5.0, 2.0)][seed % 3]
    return X, np.where(np.arange(14) < 4, y, -1), *costs


def least_of_all_labelings(X, labels, C, C_unlabeled, n_positive):
    costs = np.where(labels >= 0, C, C_unlabeled)
    free = np.flatnonzero(labels < 0)
    found = []
    for chosen in combinations(free, n_positive):
        signs = np.where(labels >= 0, 2.0 * labels - 1, -1.0)
        signs[list(chosen)] = 1.0
        rows = X - X.mean(axis=0)
        plane = fit_squared_hinge(rows, signs, costs, at_origin(rows), "direct", 1e-8)
        found.append(plane.objective)
    return min(found)


@pytest.mark.parametrize("seed", range(25))
def test_the_optimum_of_tiny_problems_is_found(seed):
    X, labels, C, C_unlabeled = tiny(seed)
    model = TSVM(C, C_unlabeled, class_shares=[0.7, 0.3], tol=1e-8).fit(X, labels)
    least = least_of_all_labelings(X, labels, C, C_unlabeled, 3)
    assert model.objective_ == pytest.approx(least, rel=1e-5)


def test_share_of_positive_pseudo_labels_stays(blobs):
    X, _, labels = blobs
    for share in (0.2, 0.4, 0.7):
        signs = search(X, labels, positive_share=share).signs[labels < 0]
        assert np.sum(signs > 0) == round(share * len(signs))


def test_costs_double_up_to_the_last():
    costs = stage_costs(0.01, 1.0)
    assert costs[-1] == 1.0
    assert costs[0] <= 0.01 < costs[1]
    np.testing.assert_allclose(np.diff(np.log2(costs)), 1)
    assert stage_costs(5.0, 1.0) == [1.0]


def test_first_pseudo_labels_are_the_largest_values():
    np.testing.assert_array_equal(first_pseudo_labels(np.array([0.1, 3, -1, 2]), 2), [-1, 1, -1, 1])


def test_expected_share():
    assert expected_share(np.array([5.0, 5.0, -5.0, -9.0])) == 0.5
    assert expected_share(np.full(7, 0.2)) == pytest.approx(0.6)  # only the bias is known


# ------------------------------------------------------------------ use


def test_kernels_that_make_no_sense(blobs, monkeypatch):
    X, _, labels = blobs
    with pytest.raises(SidelightError, match="not positive semi-definite"):
        TSVM(kernel="precomputed").fit(-np.eye(120) + 0.5, labels)
    with pytest.raises(SidelightError, match="square matrix"):
        TSVM(kernel="precomputed").fit(X, labels)
    with pytest.raises(SidelightError, match="finite numbers of shape"):
        TSVM(kernel=lambda A, B: np.zeros(3)).fit(X, labels)
    monkeypatch.setattr(_features, "MAX_ROWS", 100)
    with pytest.raises(SidelightError, match=r"120 by 120 numbers.*kernel=linear"):
        TSVM(kernel="rbf").fit(X, labels)
    TSVM(kernel="linear").fit(X, labels)
