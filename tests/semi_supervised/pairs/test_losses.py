"""Losses, gradients, Hessians and Newton steps, against differences and dense algebra."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit
from tests.semi_supervised.pairs.problems import L, loss, problem

from sidelight.exceptions import SidelightError
from sidelight.semi_supervised.pairs._em import PairLoss, not_both_loss, only_one, same_loss
from sidelight.semi_supervised.pairs._logistic_machines import convex_targets
from sidelight.semi_supervised.pairs._newton import SoftTargets
from sidelight.semi_supervised.pairs._space import FeatureSpace, KernelSpace, conjugate_gradients
from sidelight.semi_supervised.pairs._terms import make_terms

NUMBERS = st.floats(-30, 30)


def differences(function, at, width=1e-5):
    """Central differences in every coordinate."""
    return np.array(
        [
            (function(at + width * e) - function(at - width * e)) / (2 * width)
            for e in np.eye(len(at))
        ]
    )


@given(NUMBERS, NUMBERS)
def test_nonconvex_losses_are_minus_log_probabilities(a, b):
    both, neither = expit(a) * expit(b), expit(-a) * expit(-b)
    assert same_loss(a, b) == pytest.approx(-np.log(both + neither), abs=1e-9)
    none_or_one = neither + expit(a) * expit(-b) + expit(-a) * expit(b)
    assert not_both_loss(a, b) == pytest.approx(-np.log(none_or_one), abs=1e-9)


@given(NUMBERS, NUMBERS)
def test_convex_loss_is_above_the_nonconvex_one(a, b):
    convex, half = L(a - b) + L(b - a), same_loss(a, b)
    assert half >= 0
    assert convex >= 2 * half - 1e-9
    assert not_both_loss(a, b) >= 0
    assert L(-a - b) >= not_both_loss(a, b) - 1e-9  # for one class against the rest, too


def test_the_two_losses_are_equal_only_at_zero():
    """The source says wherever a = -b; that holds at 0 only."""
    assert L(0) + L(0) == pytest.approx(2 * same_loss(0.0, 0.0))
    assert L(4) + L(-4) - 2 * same_loss(2.0, -2.0) == pytest.approx(0.915, abs=1e-3)


@given(NUMBERS, NUMBERS)
def test_nonconvex_loss_has_the_right_boundary(a, b):
    """It is above its value at 0 exactly where the signs differ."""
    if abs(a * b) > 1e-3:
        assert (same_loss(a, b) > same_loss(0.0, 0.0)) == (a * b < 0)


@given(NUMBERS, NUMBERS)
def test_e_step_by_all_combinations_of_labels(a, b):
    weight = {s: expit(s[0] * a) * expit(s[1] * b) for s in product((1, -1), repeat=2)}
    agree = {s: w for s, w in weight.items() if s[0] == s[1]}
    assert expit(a + b) == pytest.approx(agree[1, 1] / sum(agree.values()), abs=1e-9)
    comply = {s: w for s, w in weight.items() if s != (1, 1)}
    first, second = only_one(a, b)
    assert first == pytest.approx(comply[1, -1] / sum(comply.values()), abs=1e-9)
    assert second == pytest.approx(comply[-1, 1] / sum(comply.values()), abs=1e-9)


@pytest.mark.parametrize("against_rest", [False, True])
def test_losses_of_terms_are_the_sums_of_their_definition(against_rest):
    X, labels, known = problem(n_classes=3 if against_rest else 2, groups=True)
    terms = make_terms(labels, known)
    f = np.random.default_rng(1).normal(size=len(X))
    F = terms.averages @ f[terms.support]
    told = {"mu": 0.7, "code": 1, "against_rest": against_rest}
    targets = convex_targets(terms, 1, against_rest, 0.7, terms.n_terms)
    expected = loss(f, labels, known, kind="convex", **told)
    assert targets.loss(terms.design @ F) == pytest.approx(expected)
    nonconvex = PairLoss(terms, 1, against_rest, 0.7)
    assert nonconvex(F) == pytest.approx(loss(f, labels, known, kind="nonconvex", **told))


@pytest.mark.parametrize("against_rest", [False, True])
def test_slope_of_expected_labels_is_that_of_the_nonconvex_loss(against_rest):
    """The m-step touches the loss: equal gradients, and nowhere below it."""
    _, labels, known = problem(n_classes=3 if against_rest else 2, groups=True)
    terms = make_terms(labels, known)
    pair_loss = PairLoss(terms, 1, against_rest, 0.7)
    rng = np.random.default_rng(2)
    F = rng.normal(size=terms.n_points)
    np.testing.assert_allclose(pair_loss.slope(F), differences(pair_loss, F), atol=1e-8)
    targets = pair_loss.expected_labels(F)
    for _ in range(20):
        other = F + rng.normal(size=len(F))
        rise = targets.loss(other) - targets.loss(F)
        assert pair_loss(other) - pair_loss(F) <= rise + 1e-9


def test_derivatives_of_soft_targets():
    rng = np.random.default_rng(3)
    z = 3 * rng.normal(size=12)
    targets = SoftTargets(rng.uniform(size=12), rng.uniform(size=12))
    np.testing.assert_allclose(targets.slope(z), differences(targets.loss, z), atol=1e-9)
    bend = np.diag(differences(targets.slope, z))
    np.testing.assert_allclose(targets.curvature(z), bend, atol=1e-9)


def test_source_derivatives_with_the_signs_put_right():
    """Gradient and Hessian in α as corrected, against differences of the objective."""
    X, labels, known = problem()
    terms = make_terms(labels, known)
    rng = np.random.default_rng(4)
    rows = X[terms.support]
    K = np.exp(-0.3 * ((rows[:, None] - rows) ** 2).sum(axis=2))
    B, lam = terms.design, 0.05
    targets = convex_targets(terms, 1, False, 1.3, terms.n_terms)
    alpha = rng.normal(size=len(K))

    def value(a):
        return targets.loss(B @ K @ a) + lam * a @ K @ a

    def gradient(a):
        return K @ (B.T @ targets.slope(B @ K @ a) + 2 * lam * a)

    np.testing.assert_allclose(gradient(alpha), differences(value, alpha), atol=1e-7)
    W = np.diag(targets.curvature(B @ K @ alpha))
    hessian = K @ B.T @ W @ B @ K + 2 * lam * K
    np.testing.assert_allclose(hessian, differences(gradient, alpha), atol=1e-7)
    # The step in the stable form solves the system of the Hessian.
    slope = targets.slope(B @ K @ alpha)
    step = KernelSpace(K, B).step(alpha, slope, np.diag(W), lam)
    np.testing.assert_allclose(hessian @ step, -gradient(alpha), atol=1e-9)


@pytest.mark.parametrize("copies", [1, 2])
def test_steps_agree_in_every_space(copies):
    """Kernel between terms, between points, and explicit features; with equal points, too."""
    rng = np.random.default_rng(5)
    features = np.repeat(rng.normal(size=(12 // copies, 4)), copies, axis=0)
    B = sparse.csr_array(rng.integers(-1, 2, size=(9, 12)).astype(float))
    slope, curvature, lam = rng.normal(size=9), rng.uniform(0.1, 1, 9), 0.02
    K = features @ features.T
    alpha = B.T @ rng.normal(size=9)
    by_points = KernelSpace(K, B).step(alpha, slope, curvature, lam)
    w = FeatureSpace(features, B).step(features.T @ alpha, slope, curvature, lam)
    np.testing.assert_allclose(features.T @ by_points, w, atol=1e-10)
    a = np.linalg.lstsq(B.T.toarray(), alpha, rcond=None)[0]
    by_terms = KernelSpace((B @ K) @ B.T).step(a, slope, curvature, lam)
    np.testing.assert_allclose(features.T @ (B.T @ by_terms), w, atol=1e-8)
    thin = FeatureSpace(sparse.csr_array(features), B)
    np.testing.assert_allclose(thin.step(features.T @ alpha, slope, curvature, lam), w, atol=1e-10)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_conjugate_gradients_make_the_same_step(monkeypatch, kind):
    rng = np.random.default_rng(6)
    features, B = kind(rng.normal(size=(12, 7))), sparse.csr_array(np.eye(12)[:9])
    args = rng.normal(size=7), rng.normal(size=9), rng.uniform(0.1, 1, 9), 0.02
    exact = FeatureSpace(features, B).step(*args)
    monkeypatch.setattr("sidelight.semi_supervised.pairs._space.MAX_DENSE", 0)
    np.testing.assert_allclose(FeatureSpace(features, B).step(*args), exact, rtol=1e-7)


def test_conjugate_gradients_of_nothing():
    result = conjugate_gradients(lambda v: v, np.zeros(3), np.ones(3))
    np.testing.assert_array_equal(result, 0)


def test_kernels_that_are_none_are_refused():
    with pytest.raises(SidelightError, match="not positive semidefinite"):
        KernelSpace(np.diag([1.0, -1.0])).step(np.zeros(2), np.ones(2), np.ones(2), 0.01)
