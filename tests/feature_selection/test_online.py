"""Online selection: the potential, its golden numbers, streams, groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from sidelight import Constraints
from sidelight._kernels.online_selection import refresh_groups, show_pairs
from sidelight.exceptions import ConstraintWarning
from sidelight.feature_selection import OnlineConstraintSelector

GROUPS = np.array([0, 0, 1, 1])


def weights(dual, group, mu=1.0):
    """``∇Φ*``, by its definition."""
    norms = np.bincount(group, weights=dual**2)
    return softmax(norms / (2 * mu))[group] * dual


def stream(deltas, signs, dual, group, *, mu=1.0, step=0.5, threshold=1.0):
    """Show pairs with these squared differences; returns the number of mistakes."""
    rows = sparse.csr_array(np.vstack([np.zeros(len(dual)), np.sqrt(deltas)]))
    pairs = np.column_stack([np.arange(1, len(deltas) + 1), np.zeros(len(deltas), int)])
    k = int(group.max()) + 1
    return show_pairs(
        rows.data, rows.indices, rows.indptr, pairs, np.asarray(signs, float),
        np.arange(len(deltas)), 1.0, group, dual, np.zeros(k), np.zeros(k + 1), mu, step,
        threshold, 0.0,
    )  # fmt: skip


def test_golden_numbers_of_the_specification():
    dual = np.zeros(4)
    shown = [
        ([2, 1, 0, 1], -1, [0.622459, 0.311230, 0, 0.188770]),
        ([2, 0, 0, 2.5], 1, [0, 0.265605, 0, 0]),
        ([0, 1, 1, 2], -1, [0, 0.468791, 0.265605, 0.531209]),
    ]
    for delta, sign, expected in shown:
        assert stream(np.array([delta], float), [sign], dual, GROUPS) == 1
        np.testing.assert_allclose(weights(dual, GROUPS), expected, atol=1e-6)


def test_weights_are_the_gradient_of_the_dual_potential():
    rng = np.random.default_rng(0)
    theta, mu = rng.uniform(size=4), 0.7

    def potential(t):
        return mu * logsumexp(np.bincount(GROUPS, weights=t**2) / (2 * mu))

    h = 1e-6
    slopes = [(potential(theta + h * e) - potential(theta - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(weights(theta, GROUPS, mu), slopes, rtol=1e-7)
    # Fenchel: Φ(w) + Φ*(θ) = w·θ at w = ∇Φ*(θ), with Φ(w) = min_p Σ ‖w^g‖²/2p_g - μ H(p).
    w = weights(theta, GROUPS, mu)
    squares = np.bincount(GROUPS, weights=w**2)

    def primal(a):
        p = softmax(np.array([a[0], 0.0]))
        return float(np.sum(squares / (2 * p)) + mu * np.sum(p * np.log(p)))

    smallest = minimize(primal, [0.0]).fun
    assert smallest + potential(theta) == pytest.approx(w @ theta, rel=1e-6)


def test_one_group_is_projected_gradient_descent():
    rng = np.random.default_rng(1)
    deltas, signs = rng.uniform(size=(30, 4)), rng.choice([-1.0, 1.0], 30)
    group = np.zeros(4, dtype=np.int64)
    dual, w = np.zeros(4), np.zeros(4)
    stream(deltas, signs, dual, group, step=0.3, threshold=0.8)
    for delta, sign in zip(deltas, signs, strict=True):
        if sign * (0.8 - w @ delta) <= 0:
            w = np.maximum(0, w - 0.3 * sign * delta)
    np.testing.assert_allclose(weights(dual, group), w)


@pytest.mark.parametrize("group", [np.arange(6), np.array([0, 1, 1, 2, 0, 2])])
def test_incremental_sums_equal_a_plain_loop(group):
    rng = np.random.default_rng(2)
    deltas, signs = 3 * rng.uniform(size=(400, 6)), rng.choice([-1.0, 1.0], 400)
    dual, plain, mistakes = np.zeros(6), np.zeros(6), 0
    found = stream(deltas, signs, dual, group, step=0.4, threshold=1.0)
    for delta, sign in zip(deltas, signs, strict=True):
        if sign * (1.0 - weights(plain, group) @ delta) <= 0:
            plain = np.maximum(0, plain - 0.4 * sign * delta)
            mistakes += 1
    assert found == mistakes
    np.testing.assert_allclose(dual, plain, atol=1e-9)


def test_huge_exponents_stay_numbers():
    rng = np.random.default_rng(3)
    deltas = 100 * rng.uniform(size=(200, 4))
    dual = np.zeros(4)
    stream(deltas, rng.choice([-1.0, 1.0], 200), dual, GROUPS, mu=0.01, step=5.0)
    norms, powers = np.zeros(2), np.zeros(3)
    total = refresh_groups(dual, GROUPS, 0.01, norms, powers)
    assert np.isfinite(total)
    assert total >= 1
    np.testing.assert_allclose(powers[:2] / total, softmax(norms / 0.02))


@pytest.fixture(scope="module")
def counts():
    """300 rows of counts, 50 groups of 10 words, of which 5 depend on the class."""
    rng = np.random.default_rng(0)
    y, groups = rng.integers(0, 2, 300), np.repeat(np.arange(50), 10)
    rate = np.ones((2, 500))
    for g in range(5):
        rate[g % 2, groups == g], rate[1 - g % 2, groups == g] = 2.0, 0.3
    return rng.poisson(rate[y]).astype(float), y, groups


@pytest.mark.parametrize("norm", ["group", "l1"])
def test_relevant_words_are_found(counts, norm):
    X, y, groups = counts
    known = Constraints.sample(y, 300, random_state=0)
    model = OnlineConstraintSelector(50, norm=norm, groups=groups, random_state=0)
    model.fit(X, constraints=known)
    assert np.mean(groups[model.get_support()] < 5) > 0.8


def test_a_stream_in_parts_is_the_stream_and_sparse_is_dense(counts):
    X, y, _ = counts
    first = Constraints.sample(y, 50, random_state=0)
    second = Constraints.sample(y, 50, random_state=1)
    parts = OnlineConstraintSelector().partial_fit(X, constraints=first)
    parts.partial_fit(X, constraints=second)
    again = OnlineConstraintSelector().partial_fit(sparse.csr_array(X), constraints=first)
    again.partial_fit(sparse.csr_matrix(X), constraints=second)
    np.testing.assert_allclose(again.scores_, parts.scores_, rtol=1e-9, atol=1e-15)
    assert again.n_mistakes_ == parts.n_mistakes_
    gaps = (X[[3]] - X[[8]]) ** 2
    mapped = parts.weighted(X)
    assert np.sum((mapped[3] - mapped[8]) ** 2) == pytest.approx(
        (gaps @ parts.scores_ / parts.scale_)[0]
    )


def test_features_that_never_differ_or_only_within_get_no_weight(counts):
    X, y, _ = counts
    X = X[:, :40].copy()
    X[:, 7] = 1.0
    known = Constraints.sample(y, 200, random_state=0)
    X[:, 9] = 0.0
    apart = np.unique(known.cannot_link)
    within = np.setdiff1d(np.unique(known.must_link), apart)
    X[within, 9] = np.arange(len(within)) % 2
    model = OnlineConstraintSelector(random_state=0).fit(X, constraints=known)
    assert model.scores_[7] == 0
    assert model.scores_[9] == 0
    assert not model.get_support()[[7, 9]].any()


def test_bad_input(counts):
    X, y, _ = counts
    with pytest.raises(ValueError, match="needs groups"):
        OnlineConstraintSelector(norm="group").fit(X, y)
    with pytest.warns(ConstraintWarning, match="no two rows are known to be apart"):
        model = OnlineConstraintSelector().fit(X, constraints=Constraints([(0, 1)], n_samples=300))
    assert model.get_support().all()
