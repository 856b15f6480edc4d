"""Confidences, bounds and steps of SemiBoost: checks 1 to 3 and 13 of the specification."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from tests.semi_supervised.boosting.data import bell, first_bound, objective, second_bound

from sidelight.semi_supervised.boosting._objective import (
    LONGEST_STEP,
    best_step,
    confidences,
    disagreement,
)
from sidelight.semi_supervised.boosting._similarity import DenseSimilarities


def true_confidences(H, a, b, S, C):
    """``p`` and ``q`` with their scale."""
    found = confidences(H, a, b, DenseSimilarities(S).products, C)
    scale = np.exp(found.log_scale)
    return found, found.p * scale, found.q * scale


def case(seed, n_l=4, n_u=7):
    """Random similarities, labels, values of the ensemble and weight."""
    rng = np.random.default_rng(seed)
    S = rng.uniform(size=(n_u, n_u))
    S = (S + S.T) / 2
    S_ul = rng.uniform(size=(n_u, n_l))
    y = np.where(np.arange(n_l) % 2, 1.0, -1.0)
    H = rng.normal(size=n_u)
    C = rng.uniform(0, 3)
    return S_ul, S, y, H, C, S_ul @ (y > 0), S_ul @ (y < 0), rng


@pytest.mark.parametrize("seed", range(5))
def test_confidences_add_up_to_the_objective(seed):
    S_ul, S, y, H, C, a, b, _ = case(seed)
    found, p, q = true_confidences(H, a, b, S, C)
    expected = objective(H, S_ul, S, y, C)
    assert np.sum(p + q) == pytest.approx(expected, rel=1e-12)
    assert found.objective == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_gradient_is_twice_the_difference_of_the_confidences(seed):
    S_ul, S, y, H, C, a, b, _ = case(seed)
    _, p, q = true_confidences(H, a, b, S, C)
    small = 1e-6
    for i, unit in enumerate(np.eye(len(H))):
        up = objective(H + small * unit, S_ul, S, y, C)
        down = objective(H - small * unit, S_ul, S, y, C)
        assert (up - down) / (2 * small) == pytest.approx(2 * (q[i] - p[i]), rel=1e-6, abs=1e-6)


@given(seed=st.integers(0, 10_000), alpha=st.floats(-2, 2))
@settings(max_examples=40, deadline=None)
def test_both_bounds_are_above_the_objective(seed, alpha):
    S_ul, S, y, H, C, a, b, rng = case(seed, n_u=5)
    h = rng.choice([-1.0, 1.0], size=len(H))
    _, p, q = true_confidences(H, a, b, S, C)
    new = objective(H + alpha * h, S_ul, S, y, C)
    one, other = first_bound(p, q, h, alpha), second_bound(p, q, h, alpha)
    assert new <= one * (1 + 1e-10)
    assert one <= other * (1 + 1e-10)
    assert first_bound(p, q, h, 0.0) == pytest.approx(objective(H, S_ul, S, y, C), rel=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_step_is_the_minimum_of_the_first_bound(seed):
    S_ul, S, y, H, C, a, b, rng = case(seed)
    h = rng.choice([-1.0, 1.0], size=len(H))
    found, p, q = true_confidences(H, a, b, S, C)
    error = disagreement(found, h)
    alpha = best_step(error)
    least = minimize_scalar(lambda t: first_bound(p, q, h, t), bounds=(-3, 3), method="bounded")
    F = objective(H, S_ul, S, y, C)
    assert alpha == pytest.approx(least.x, abs=1e-5)
    assert first_bound(p, q, h, alpha) == pytest.approx(F / np.cosh(2 * alpha), rel=1e-12)
    reached = 2 * F * np.sqrt(error * (1 - error))
    assert first_bound(p, q, h, alpha) == pytest.approx(reached, rel=1e-12)


def test_golden_numbers():
    labeled, unlabeled = np.array([0.0, 4.0]), np.array([0.5, 1.0, 3.0, 3.5])
    y, H = np.array([1.0, -1.0]), np.array([0.2, 0.1, 0.1, -0.3])
    S = bell(unlabeled[:, None], 1.0)
    S_ul = np.exp(-((unlabeled[:, None] - labeled) ** 2))
    found, p, q = true_confidences(H, S_ul[:, 0], S_ul[:, 1], S, 0.5)
    np.testing.assert_allclose(p, [0.948673, 0.771274, 0.385725, 0.541238], atol=5e-7)
    np.testing.assert_allclose(q, [0.465768, 0.431622, 0.994803, 0.808269], atol=5e-7)
    assert found.objective == pytest.approx(5.347371, abs=5e-7)
    gradient = [-0.965810, -0.679304, 1.218157, 0.534061]
    np.testing.assert_allclose(2 * (q - p), gradient, atol=1e-6)
    np.testing.assert_array_equal(np.sign(found.lead), [1, 1, -1, -1])
    for h, A, B, alpha, bound, new in (
        ([1, 1, -1, -1], 3.523019, 1.824353, 0.164523, 5.070396, 4.872397),
        ([1, 1, 1, -1], None, None, 0.045051, 5.325739, 5.314353),
    ):
        h = np.array(h, dtype=float)
        error = disagreement(found, h)
        if A is not None:
            assert error == pytest.approx(B / (A + B), abs=1e-6)
        assert best_step(error) == pytest.approx(alpha, abs=5e-7)
        assert first_bound(p, q, h, best_step(error)) == pytest.approx(bound, abs=5e-7)
        after = objective(H + best_step(error) * h, S_ul, S, y, 0.5)
        assert after == pytest.approx(new, abs=5e-7)


@pytest.mark.parametrize("size", [50.0, 300.0, 600.0])
def test_large_values_of_the_ensemble_do_not_overflow(size):
    _, S, _, H, C, a, b, _ = case(0)
    S = S + np.eye(len(S))
    H = size * H / np.abs(H).max()
    found = confidences(H, a, b, DenseSimilarities(S).products, C)
    assert np.isfinite([*found.p, *found.q, found.log_scale, found.objective]).all()
    assert max(found.p.max(), found.q.max()) == pytest.approx(1.0)
    # The row pushed farthest the wrong way has the largest of all confidences, that of its labels.
    exponents = np.concatenate([np.log(a) - 2 * H, np.log(b) + 2 * H])
    assert found.log_scale >= exponents.max() - 1e-9


def test_scale_of_similarities_changes_nothing_but_the_objective():
    _, S, _, H, C, a, b, _ = case(1)
    one = confidences(H, a, b, DenseSimilarities(S).products, C)
    other = confidences(H, 1e30 * a, 1e30 * b, DenseSimilarities(1e30 * S).products, C)
    np.testing.assert_allclose(other.p, one.p, rtol=1e-10)
    np.testing.assert_allclose(other.q, one.q, rtol=1e-10)
    assert other.objective == pytest.approx(1e30 * one.objective, rel=1e-10)


def test_first_pseudo_labels_are_the_votes_of_the_labeled_rows():
    _, S, _, H, _, a, b, _ = case(2)
    for C in (0.0, 0.1, 10.0):
        lead = confidences(0 * H, a, b, DenseSimilarities(S).products, C).lead
        np.testing.assert_array_equal(np.sign(lead), np.sign(a - b))


def test_rows_like_their_neighbors_and_far_from_labels_tie():
    n, none = 5, np.zeros(5)
    S = np.random.default_rng(0).uniform(size=(n, n))
    found = confidences(np.full(n, 0.7), none, none, DenseSimilarities((S + S.T) / 2).products, 1.0)
    np.testing.assert_array_equal(found.lead, none)


def test_steps_are_bounded():
    assert best_step(0.0) == LONGEST_STEP
    assert best_step(1.0) == -LONGEST_STEP
    assert best_step(0.5) == 0.0
    nothing = confidences(np.zeros(2), np.zeros(2), np.zeros(2), lambda v: 0 * v, 1.0)
    assert nothing.objective == 0.0
    assert disagreement(nothing, np.ones(2)) == 0.5
