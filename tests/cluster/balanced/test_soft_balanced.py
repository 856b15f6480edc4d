"""Soft-balanced k-means: memberships with exact sums, their limits, and the alternation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog, minimize
from sklearn.datasets import make_blobs

from sidelight.cluster import SoftBalancedKMeans
from sidelight.cluster.balanced import _sinkhorn
from sidelight.cluster.balanced._sinkhorn import balance, memberships


def equal(k):
    return np.full(k, 1 / k)


def objective(P, costs, shares, T, weights=1.0):
    terms = P * costs + T * P * np.log(np.maximum(P, 1e-300) / shares)
    return float(np.sum(np.reshape(weights, (-1, 1)) * terms))


# ------------------------------------------------------------------ the estimator


@pytest.fixture(scope="module")
def uneven():
    return make_blobs([120, 60, 25, 15], n_features=3, cluster_std=2.0, random_state=0)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("temperature", [1.0, 0.1, 0.01, 0.001])
def test_sums_are_exact_and_the_objective_never_rises(uneven, metric, temperature):
    X, _ = uneven
    model = SoftBalancedKMeans(
        5, temperature=temperature, metric=metric, n_init=2, tol=1e-8, random_state=0
    ).fit(X)
    np.testing.assert_allclose(model.memberships_.sum(axis=0), len(X) / 5, rtol=1e-8)
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1)
    assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[0])
    np.testing.assert_array_equal(model.labels_, np.argmax(model.memberships_, axis=1))
    scale = 1.0 if metric == "cosine" else np.sum(X.var(axis=0))
    assert model.temperature_ == pytest.approx(scale * temperature)
    distances = model.transform(X) if metric == "cosine" else model.transform(X) ** 2
    expected = objective(model.memberships_, distances, equal(5), model.temperature_)
    assert model.objective_ == pytest.approx(expected, rel=1e-6)
    assert model.inertia_ == pytest.approx(np.sum(model.memberships_ * distances))


def test_centres_are_means_by_membership(uneven):
    X, _ = uneven
    model = SoftBalancedKMeans(4, temperature=0.1, tol=1e-14, random_state=0).fit(X)
    P = model.memberships_
    np.testing.assert_allclose(model.cluster_centers_, P.T @ X / P.sum(axis=0)[:, None], atol=1e-5)


def test_target_sizes_of_any_kind(uneven):
    X, _ = uneven
    for sizes in ([120, 60, 25, 15], [0.5, 0.3, 0.1, 0.1], [8, 4, 2, 1]):
        model = SoftBalancedKMeans(4, target_sizes=sizes, n_init=1, random_state=0).fit(X)
        np.testing.assert_allclose(
            model.memberships_.sum(axis=0), len(X) * np.array(sizes) / np.sum(sizes), rtol=1e-8
        )


def test_sample_weight_is_repetition(uneven):
    X, _ = uneven
    times = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = SoftBalancedKMeans(4, random_state=0).fit(X, sample_weight=times)
    repeated = SoftBalancedKMeans(4, random_state=0).fit(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, rtol=1e-6)
    np.testing.assert_allclose(times @ weighted.memberships_, times.sum() / 4, rtol=1e-8)


def test_units_do_not_matter(uneven):
    X, _ = uneven
    plain = SoftBalancedKMeans(4, random_state=0).fit(X)
    scaled = SoftBalancedKMeans(4, random_state=0).fit(1024 * X)
    np.testing.assert_allclose(plain.memberships_, scaled.memberships_, atol=1e-8)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_equals_dense(uneven, metric):
    X, _ = uneven
    params = {"metric": metric, "init": X[[0, 130, 190, 215]]}
    dense = SoftBalancedKMeans(4, **params).fit(X)
    thin = SoftBalancedKMeans(4, **params).fit(sparse.csr_array(X))
    np.testing.assert_allclose(dense.cluster_centers_, thin.cluster_centers_, atol=1e-9)
    np.testing.assert_allclose(dense.memberships_, thin.memberships_, atol=1e-7)


def test_new_rows_without_and_with_multipliers(uneven):
    X, _ = uneven
    model = SoftBalancedKMeans(4, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), np.argmin(model.transform(X), axis=1))
    np.testing.assert_array_equal(model.predict_sized(X), model.labels_)
    assert np.any(model.predict(X) != model.labels_)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"temperature": 0.0}, "temperature must be a finite number above 0"),
        ({"start_temperature": -1.0}, "must be a finite number above 0"),
        ({"target_sizes": [1, 2]}, "for each of the 3 clusters"),
        ({"target_sizes": [1, 0, 2]}, "above 0"),
        ({"metric": "manhattan"}, "metric"),
    ],
)
def test_bad_parameters(uneven, params, message):
    with pytest.raises(ValueError, match=message):
        SoftBalancedKMeans(3, **params).fit(uneven[0])


# --- what it is made of ---


def sinkhorn(costs, shares, T, rounds=20_000):
    """The textbook iteration on the kernel, with row and column scalings."""
    K = np.exp(-(costs - costs.min(axis=1, keepdims=True)) / T)
    v = np.ones(costs.shape[1])
    for _ in range(rounds):
        u = 1 / (K @ v)
        v = len(costs) * shares / (K.T @ u)
    return u[:, None] * K * v


# ------------------------------------------------------------------ the memberships


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.integers(6, 50),
    st.sampled_from([10.0, 1.0, 0.1, 0.01, 0.001]),
)
def test_rows_and_columns_add_up(seed, k, n, T):
    rng = np.random.default_rng(seed)
    costs, shares, weights = rng.random((n, k)), rng.dirichlet(np.ones(k)) + 0.05, rng.random(n)
    shares /= shares.sum()
    found = balance(costs, shares, T, weights=weights)
    P = memberships(costs, found.multipliers, shares, T)
    assert found.balanced
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_allclose(weights @ P, weights.sum() * shares, rtol=1e-8)
    assert found.value == pytest.approx(objective(P, costs, shares, T, weights), rel=1e-6)
    assert shares @ found.multipliers == pytest.approx(0, abs=1e-9 * (1 + T))


@pytest.mark.parametrize("T", [0.3, 0.1])
def test_same_plan_as_the_textbook_iteration(T):
    rng = np.random.default_rng(0)
    costs, shares = rng.random((30, 4)), np.array([0.4, 0.3, 0.2, 0.1])
    found = balance(costs, shares, T)
    P = memberships(costs, found.multipliers, shares, T)
    np.testing.assert_allclose(P, sinkhorn(costs, shares, T), atol=1e-7)


def test_the_printed_iteration_stands_still_at_the_multipliers():
    # (8.18): log β_y = T log(N/K) - T log Σ_x exp(log p(x|y)/T) / Σ_y' exp((log β_y' + ...)/T)
    rng = np.random.default_rng(1)
    costs, T = rng.random((20, 3)), 0.2
    b = balance(costs, equal(3), T).multipliers
    total = np.exp((b - costs) / T).sum(axis=1, keepdims=True)
    again = T * np.log(20 / 3) - T * np.log(np.sum(np.exp(-costs / T) / total, axis=0))
    np.testing.assert_allclose(again, b, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_cold_memberships_are_the_cheapest_balanced_assignment(seed):
    rng = np.random.default_rng(seed)
    n, k = 12, 3
    costs = rng.random((n, k))
    rows = np.kron(np.eye(n), np.ones(k))
    columns = np.kron(np.ones(n), np.eye(k))
    best = linprog(
        costs.ravel(), A_eq=np.r_[rows, columns], b_eq=np.r_[np.ones(n), np.full(k, n / k)]
    )
    T = 1e-4
    found = balance(costs, equal(k), T)
    P = memberships(costs, found.multipliers, equal(k), T)
    np.testing.assert_allclose(P.ravel(), best.x, atol=1e-3)
    assert np.sum(P * costs) == pytest.approx(best.fun, abs=1e-3)


def test_hot_memberships_are_all_equal():
    costs = np.random.default_rng(0).random((30, 4))
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    found = balance(costs, shares, 1e7)
    P = memberships(costs, found.multipliers, shares, 1e7)
    np.testing.assert_allclose(P, np.tile(shares, (30, 1)), atol=1e-6)


def test_multipliers_vanish_where_balance_costs_nothing():
    # Three rows in cyclic positions: every cluster gets the same without being helped.
    costs = np.array([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0], [1.0, 2.0, 0.0]])
    found = balance(costs, equal(3), 0.5)
    np.testing.assert_allclose(found.multipliers, 0, atol=1e-9)


def test_a_general_solver_finds_no_better_memberships():
    rng = np.random.default_rng(2)
    n, k, T = 10, 3, 0.2
    costs, shares = rng.random((n, k)), np.array([0.5, 0.3, 0.2])
    found = balance(costs, shares, T)
    P = memberships(costs, found.multipliers, shares, T)
    ours = objective(P, costs, shares, T)
    constraints = [
        {"type": "eq", "fun": lambda p: p.reshape(n, k).sum(axis=1) - 1},
        {"type": "eq", "fun": lambda p: p.reshape(n, k).sum(axis=0)[:-1] - n * shares[:-1]},
    ]
    general = minimize(
        lambda p: objective(p.reshape(n, k), costs, shares, T),
        np.tile(shares, n),
        bounds=[(1e-9, 1)] * (n * k),
        constraints=constraints,
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert ours == pytest.approx(general.fun, rel=1e-5)
    assert ours <= general.fun + 1e-7


def test_no_allowed_change_lowers_the_objective():
    # Karush-Kuhn-Tucker by finite differences: rectangles keep all row and column sums.
    rng = np.random.default_rng(3)
    costs, T = rng.random((9, 3)), 0.3
    P = memberships(costs, balance(costs, equal(3), T).multipliers, equal(3), T)
    step = 1e-6
    for _ in range(100):
        i, j = rng.choice(9, 2, replace=False)
        a, b = rng.choice(3, 2, replace=False)
        change = np.zeros_like(P)
        change[i, a] = change[j, b] = step
        change[i, b] = change[j, a] = -step
        up, down = (objective(P + s * change, costs, equal(3), T) for s in (1, -1))
        assert up - down == pytest.approx(0, abs=1e-11)
        assert up + down >= 2 * objective(P, costs, equal(3), T) - 1e-12


def test_groups_far_apart_are_balanced_from_nowhere():
    # Eight clusters on two groups of rows: between the groups the dual is all but straight.
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0], [1.0]], 15, axis=0) + 0.01 * rng.normal(size=(30, 1))
    costs = (X - np.r_[X[:5], X[-3:]].T) ** 2
    for T in (0.1, 0.01, 0.001):
        found = balance(costs, equal(8), T)
        assert found.balanced
        np.testing.assert_allclose(found.sums, 30 / 8, rtol=1e-8)


def test_failure_to_balance_is_told(monkeypatch):
    monkeypatch.setattr(_sinkhorn, "MAX_ROUNDS", 0)
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.warns(UserWarning, match="sums of the memberships are off by"):
        model = SoftBalancedKMeans(4, n_init=1, random_state=0).fit(X)
    assert not model.converged_
