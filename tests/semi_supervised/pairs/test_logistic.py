"""Pairwise logistic regression against other solvers, and in its limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from tests.semi_supervised.pairs.problems import L, objective, problem, values_of

from sidelight import Constraints
from sidelight.semi_supervised import PairwiseLogisticRegression

LAM = 0.05
EXACT = {"alpha": LAM, "gamma": 0.4, "tol": 1e-13}


def fit(X, labels, known=None, loss="convex", **others):
    return PairwiseLogisticRegression(loss, **{**EXACT, **others}).fit(X, labels, constraints=known)


def pseudo_examples(features, labels, known, mu):
    """Weights of bias-free logistic regression on labeled rows and on differences of pairs."""
    labeled = labels >= 0
    plus = features[known.must_link[:, 0]] - features[known.must_link[:, 1]]
    minus = features[known.cannot_link[:, 0]] + features[known.cannot_link[:, 1]]
    pairs = np.vstack([plus, minus])
    weight = mu * np.concatenate([known.must_link_weight, known.cannot_link_weight])
    rows = np.vstack([features[labeled], pairs, pairs])
    signs = np.concatenate([labels[labeled], np.ones(len(pairs)), np.zeros(len(pairs))])
    weights = np.concatenate([np.ones(labeled.sum()), weight, weight])
    model = LogisticRegression(
        C=1 / (2 * LAM), fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=1000
    )
    return model.fit(rows, signs, sample_weight=weights).coef_[0]


@pytest.mark.parametrize("n_pairs", [14, 60])
def test_linear_kernel_is_logistic_regression_on_pseudo_examples(n_pairs):
    X, labels, known = problem(n_pairs=n_pairs)
    w = pseudo_examples(X, labels, known, 1.7)
    model = fit(X, labels, known, kernel="linear", penalty=1.7)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-8)
    np.testing.assert_allclose(model.decision_function(X), X @ w, atol=1e-8)


@pytest.mark.parametrize("n_pairs", [14, 60])
def test_gaussian_kernel_is_the_same_on_features_of_its_matrix(n_pairs):
    """60 pairs of 40 rows: more terms than points, which takes the other form of the step."""
    X, labels, known = problem(n_pairs=n_pairs)
    values, vectors = np.linalg.eigh(rbf_kernel(X, gamma=0.4))
    features = vectors * np.sqrt(np.maximum(values, 0))
    w = pseudo_examples(features, labels, known, 1.7)
    model = fit(X, labels, known, penalty=1.7)
    np.testing.assert_allclose(model.decision_function(X), features @ w, atol=1e-8)


def test_linear_features_and_linear_kernel_agree():
    """The Newton step in features, and in the kernel between terms where features are many."""
    rng = np.random.default_rng(0)
    X, labels, known = problem()
    wide = np.hstack([X, 0.1 * rng.normal(size=(40, 60))])
    by_kernel = fit(wide, labels, known, kernel="linear")
    by_matrix = fit(wide @ wide.T, labels, known, kernel="precomputed")
    w = pseudo_examples(wide, labels, known, 1.0)
    np.testing.assert_allclose(by_kernel.coef_[0], w, atol=1e-8)
    expected = by_kernel.decision_function(wide)
    np.testing.assert_allclose(by_matrix.decision_function(wide @ wide.T), expected, atol=1e-8)


@pytest.mark.parametrize("loss", ["convex", "nonconvex"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("groups", [False, True])
def test_objective_is_that_of_the_definition(loss, n_classes, groups):
    X, labels, known = problem(n_classes, groups=groups)
    for kernel in ("rbf", "linear"):
        model = fit(X, labels, known, loss, kernel=kernel, penalty=0.6)
        expected = objective(model, X, labels, known, kind=loss, gamma=0.4)
        assert model.objective_ == pytest.approx(expected, rel=1e-9)
        assert np.all(np.diff(model.history_) <= 1e-12 * model.history_[0])
        assert model.converged_
        assert model.history_[-1] == model.objective_
        assert model.n_iter_ == len(model.history_) - 1


@pytest.mark.parametrize("loss", ["convex", "nonconvex"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_end_is_a_stationary_point_of_the_direct_objective(loss, n_classes):
    """Differences of the objective along directions that no solver knew of vanish."""
    X, labels, known = problem(n_classes, groups=True)
    model = fit(X, labels, known, loss, kernel="linear", tol=1e-16, max_iter=5000)
    rng = np.random.default_rng(0)
    for _ in range(5):
        direction = rng.normal(size=model.coef_.shape)
        ends = []
        for width in (1e-4, -1e-4):
            model.coef_[...] += width * direction
            ends.append(objective(model, X, labels, known, kind=loss))
            model.coef_[...] -= width * direction
        assert abs(ends[0] - ends[1]) / 2e-4 < 1e-6


def test_em_ends_where_descent_from_the_same_start_does():
    X, labels, known = problem(n_pairs=8, seed=3)
    model = fit(X, labels, known, "nonconvex", kernel="linear", penalty=0.8)
    starts = [
        fit(X, labels, kernel="linear").coef_[0],
        fit(X, labels, known, kernel="linear", penalty=0.8).coef_[0],
    ]

    def value(w):
        clone = fit(X, labels, kernel="linear")
        clone.coef_[...] = w
        clone.penalty_ = 0.8
        return objective(clone, X, labels, known, kind="nonconvex")

    ends = [optimize.minimize(value, w, method="BFGS", options={"gtol": 1e-7}) for w in starts]
    best = min(ends, key=lambda end: end.fun)
    assert model.objective_ == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(model.coef_[0], best.x, atol=1e-4)


@pytest.mark.parametrize("loss", ["convex", "nonconvex"])
def test_without_pairs_it_is_kernel_logistic_regression(loss):
    X, labels, _ = problem()
    labeled = labels >= 0
    K = rbf_kernel(X[labeled], gamma=0.4)
    values, vectors = np.linalg.eigh(K)
    features = vectors * np.sqrt(np.maximum(values, 0))
    other = LogisticRegression(C=1 / (2 * LAM), fit_intercept=False, solver="newton-cholesky")
    other.set_params(tol=1e-12).fit(features, labels[labeled])
    model = fit(X, labels, loss=loss)
    expected = other.decision_function(features)
    np.testing.assert_allclose(model.decision_function(X[labeled]), expected, atol=1e-8)
    nearly = fit(X, labels, problem()[2], loss, penalty=1e-12)
    np.testing.assert_allclose(model.decision_function(X), nearly.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("loss", ["convex", "nonconvex"])
def test_the_order_of_a_pair_does_not_matter(loss):
    X, labels, known = problem()
    order = np.random.default_rng(0).permutation(len(X))
    place = np.argsort(order)
    turned = Constraints(
        place[known.must_link[:, ::-1]],
        place[known.cannot_link[:, ::-1]],
        must_link_weight=known.must_link_weight,
        cannot_link_weight=known.cannot_link_weight,
        n_samples=len(X),
    )
    one = fit(X, labels, known, loss).decision_function(X)
    other = fit(X[order], labels[order], turned, loss).decision_function(X)
    np.testing.assert_allclose(one, other, atol=1e-7)


@pytest.mark.parametrize("loss", ["convex", "nonconvex"])
def test_other_names_of_the_two_classes_turn_the_sign(loss):
    X, labels, known = problem()
    turned = np.where(labels < 0, -1, 1 - labels)
    one, other = fit(X, labels, known, loss), fit(X, turned, known, loss)
    np.testing.assert_allclose(one.decision_function(X), -other.decision_function(X), atol=1e-7)


def test_a_row_of_one_pair_may_change_its_sign_with_the_pair():
    """With a linear kernel, (x_j, c) and (-x_j, -c) are the same statement."""
    X, labels, _ = problem()
    known = Constraints([(9, 20), (10, 11)], [(12, 13)], n_samples=40)
    turned = Constraints([(10, 11)], [(12, 13), (9, 20)], n_samples=40)
    other = X.copy()
    other[20] *= -1
    w = fit(X, labels, known, kernel="linear").coef_
    np.testing.assert_allclose(w, fit(other, labels, turned, kernel="linear").coef_, atol=1e-9)


def test_large_penalties_tie_the_values_of_pairs():
    X, labels, _ = problem()
    known = Constraints([(0, 21), (22, 23)], [(1, 24), (25, 26)], n_samples=40)
    loose = fit(X, labels, known, penalty=1.0).decision_function(X)
    f = fit(X, labels, known, penalty=1e7).decision_function(X)
    gaps = [f[0] - f[21], f[22] - f[23], f[1] + f[24], f[25] + f[26]]
    assert np.abs(gaps).max() < 1e-5
    assert abs(loose[0] - loose[21]) > 1e-2


def test_pairs_of_whole_weight_are_repeated_pairs():
    X, labels, known = problem(weights=False)
    double = Constraints(
        known.must_link,
        known.cannot_link,
        must_link_weight=2.0,
        cannot_link_weight=2.0,
        n_samples=40,
    )
    # A copy of every row, unlabeled, with the same pairs: each pair is there twice.
    twice = Constraints(
        np.vstack([known.must_link, known.must_link + 40]),
        np.vstack([known.cannot_link, known.cannot_link + 40]),
        n_samples=80,
    )
    for loss in ("convex", "nonconvex"):
        one = fit(X, labels, double, loss)
        other = fit(np.vstack([X, X]), np.append(labels, np.full(40, -1)), twice, loss)
        np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-6)
        assert one.objective_ == pytest.approx(other.objective_, rel=1e-9)


def test_a_pair_of_no_weight_is_as_good_as_absent():
    X, labels, known = problem(weights=False)
    weight = np.ones(len(known.must_link))
    weight[0] = 1e-13
    faint = Constraints(known.must_link, known.cannot_link, must_link_weight=weight, n_samples=40)
    without = Constraints(known.must_link[1:], known.cannot_link, n_samples=40)
    one, other = fit(X, labels, faint), fit(X, labels, without)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-8)


def test_rows_of_a_group_are_tied_to_their_mean():
    """A group of two at a distance d costs 2 L''(d/2), once by a group and once by hand."""
    X, labels, _ = problem()
    groups = np.full(40, -1)
    groups[[30, 31]] = 0
    model = fit(X, labels, Constraints.from_groups(groups), kernel="linear")

    def value(w):
        f = X @ w
        half = (f[30] - f[31]) / 2
        signs = np.where(labels == 1, 1, -1)[labels >= 0]
        return L(signs * f[labels >= 0]).sum() + 2 * (L(half) + L(-half)) + LAM * w @ w

    end = optimize.minimize(value, np.zeros(3), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(model.coef_[0], end.x, atol=1e-5)
    assert model.objective_ == pytest.approx(end.fun, rel=1e-9)


@pytest.mark.parametrize("loss", ["convex", "nonconvex"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_centroid_is_the_mean_in_the_space_of_the_kernel(loss, kernel):
    """With a linear kernel the centroid of a group could be a row itself."""
    X, labels, known = problem(groups=True)
    members = np.flatnonzero(known.groups == 0)
    model = fit(X, labels, known, loss, kernel=kernel)
    if kernel == "rbf":  # explicit features give the same as the kernel
        values, vectors = np.linalg.eigh(rbf_kernel(X, gamma=0.4))
        features = vectors * np.sqrt(np.maximum(values, 0))
        other = fit(features, labels, known, loss, kernel="linear")
        expected = other.decision_function(features)
    else:
        groups = np.where(known.groups == 0, -1, known.groups)
        pairs = np.column_stack([members, np.full(len(members), 40)])
        weight = np.append(known.must_link_weight, np.ones(len(members)))
        by_row = Constraints(
            np.vstack([known.must_link, pairs]),
            known.cannot_link,
            must_link_weight=weight,
            cannot_link_weight=known.cannot_link_weight,
            groups=np.append(groups, -1),
            n_samples=41,
        )
        with_row = np.vstack([X, X[members].mean(axis=0)])
        other = fit(with_row, np.append(labels, -1), by_row, loss, kernel=kernel)
        expected = other.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-6)


def test_groups_of_one_row_say_nothing():
    X, labels, _ = problem()
    groups = np.where(np.arange(40) == 20, 0, -1)
    alone = fit(X, labels, Constraints.from_groups(groups))
    np.testing.assert_array_equal(alone.support_, fit(X, labels).support_)
    np.testing.assert_array_equal(alone.dual_coef_, fit(X, labels).dual_coef_)


def test_equal_rows_do_no_harm():
    X, labels, known = problem()
    X[20:] = X[20]
    model = fit(X, labels, known)
    assert model.converged_
    assert model.objective_ == pytest.approx(
        objective(model, X, labels, known, kind="convex", gamma=0.4), rel=1e-9
    )


@pytest.mark.parametrize("loss", ["convex", "nonconvex"])
def test_probabilities(loss):
    X, labels, known = problem()
    model = fit(X, labels, known, loss)
    p, f = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_allclose(p[:, 1], expit(f))
    X, labels, known = problem(3)
    model = fit(X, labels, known, loss)
    sigma = expit(model.decision_function(X))
    np.testing.assert_allclose(
        model.predict_proba(X), sigma / sigma.sum(axis=1, keepdims=True), rtol=1e-9
    )


def test_classes_by_the_coding_matrix_are_the_largest_values():
    """``argmin_r Σ_s L(m_rs f_s)`` with the code of one against the rest is ``argmax_r f_r``."""
    X, labels, known = problem(4, n_labels=12)
    model = fit(X, labels, known)
    values = values_of(model, X)
    code = 2 * np.eye(4) - 1
    costs = L(code[None] * values[:, None, :]).sum(axis=2)
    np.testing.assert_array_equal(model.predict(X), model.classes_[costs.argmin(axis=1)])


def test_each_class_against_the_rest_is_a_machine_of_its_own():
    """Cannot-links of other classes are satisfied by rows that are both of the rest."""
    X, labels, _ = problem(3)
    known = Constraints([(20, 21)], [(22, 23)], n_samples=40)
    model = fit(X, labels, known, kernel="linear")
    for code in range(3):

        def value(w, code=code):
            f = X @ w
            signs = np.where(labels == code, 1, -1)[labels >= 0]
            pairs = L(f[20] - f[21]) + L(f[21] - f[20]) + L(-f[22] - f[23])
            return L(signs * f[labels >= 0]).sum() + pairs + LAM * w @ w

        end = optimize.minimize(value, np.zeros(3), method="BFGS", options={"gtol": 1e-8})
        np.testing.assert_allclose(model.coef_[code], end.x, atol=1e-5)


def test_regularization_by_default_knows_no_unit():
    X, labels, known = problem()
    for kernel in ("linear", "rbf"):
        one = PairwiseLogisticRegression(kernel=kernel).fit(X, labels, constraints=known)
        other = PairwiseLogisticRegression(kernel=kernel).fit(1e6 * X, labels, constraints=known)
        np.testing.assert_allclose(
            one.decision_function(X), other.decision_function(1e6 * X), rtol=1e-6, atol=1e-9
        )
    assert one.alpha_ == 0.01


def test_penalty_by_default():
    X, labels, known = problem(3, n_pairs=60, weights=False)
    assert PairwiseLogisticRegression().fit(X, labels, constraints=known).penalty_ == 1
    limited = PairwiseLogisticRegression("nonconvex").fit(X, labels, constraints=known)
    assert limited.penalty_ == pytest.approx(8 / 60)
    X, labels, known = problem(2, n_pairs=60, weights=False)
    two = PairwiseLogisticRegression("nonconvex").fit(X, labels, constraints=known)
    assert two.penalty_ == 1


@pytest.mark.parametrize("loss", ["convex", "nonconvex"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_rows_are_dense_rows(loss, kernel):
    X, labels, known = problem(3, groups=True)
    X[np.abs(X) < 0.5] = 0
    dense = fit(X, labels, known, loss, kernel=kernel).decision_function(X)
    thin = fit(sparse.csr_matrix(X), labels, known, loss, kernel=kernel)
    np.testing.assert_allclose(thin.decision_function(sparse.csr_array(X)), dense, atol=1e-8)


def test_many_sparse_features_by_conjugate_gradients(monkeypatch):
    X, labels, known = problem(groups=True)
    exact = fit(X, labels, known, kernel="linear").coef_
    for module in ("_space", "_geometry"):
        monkeypatch.setattr(f"sidelight.semi_supervised.pairs.{module}.MAX_DENSE", 1)
    for rows in (X, sparse.csr_matrix(X)):
        coef = fit(rows, labels, known, kernel="linear").coef_
        np.testing.assert_allclose(coef, exact, atol=1e-8)


def test_stopping_before_the_optimum_is_told():
    X, labels, known = problem()
    with pytest.warns(UserWarning, match=r"stopped after 1 steps \(max_iter=1\) before the opt"):
        model = fit(X, labels, known, max_iter=1)
    assert not model.converged_
