"""Balanced k-means: the sample, stable assignment, refinement, and minimum sizes that hold."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs
from tests.strategies import balanced_assignments

from sidelight import Constraints
from sidelight.assignment import assign_sized
from sidelight.cluster import BalancedKMeans, KMeans, SoftBalancedKMeans, SphericalKMeans
from sidelight.cluster.balanced._populate import populate, refine
from sidelight.cluster.balanced._sample_size import sample_size
from sidelight.exceptions import ConstraintWarning, SidelightError

# ------------------------------------------------------------------ the estimator


@pytest.fixture(scope="module")
def uneven():
    return make_blobs([200, 60, 25, 15], n_features=3, cluster_std=2.0, random_state=0)


@pytest.mark.parametrize("assignment", ["stable", "flow"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("balance", [0.0, 0.5, 0.9, 1.0])
def test_the_minimum_always_holds(uneven, assignment, metric, balance):
    X, _ = uneven
    for seed, size in enumerate((None, 20, 150)):
        model = BalancedKMeans(
            6,
            balance=balance,
            assignment=assignment,
            metric=metric,
            sample_size=size,
            n_init=2,
            random_state=seed,
        ).fit(X)
        assert model.min_size_ == int(balance * 50)
        assert model.cluster_sizes_.min() >= model.min_size_
        assert model.cluster_sizes_.sum() == len(X)
        assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[0])


def test_strict_balance_with_the_gap_of_the_chapter():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(85, 2)), rng.normal(size=(15, 2)) + 20]
    model = BalancedKMeans(2, min_size=50, sample_size=80, random_state=0).fit(X)
    assert list(model.cluster_sizes_) == [50, 50]


@pytest.mark.parametrize(("metric", "plain"), [("euclidean", KMeans), ("cosine", SphericalKMeans)])
def test_without_a_minimum_it_is_plain_kmeans(uneven, metric, plain):
    X, _ = uneven
    ours = BalancedKMeans(5, balance=0, metric=metric, init=X[:5], tol=0).fit(X)
    theirs = plain(5, init=X[:5], tol=0).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.objective_ == pytest.approx(theirs.objective_)
    assert ours.n_sampled_ == len(X)


def test_flow_is_no_dearer_at_the_same_start(uneven):
    X, _ = uneven
    stable, flow = (
        BalancedKMeans(6, balance=1, assignment=a, n_init=8, random_state=0).fit(X).objective_
        for a in ("stable", "flow")
    )
    assert flow <= stable * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_equal_sizes_by_default_are_as_cheap_as_the_best_of_all_partitions(seed):
    X = np.random.default_rng(seed).exponential(size=(9, 2)) ** 2
    model = BalancedKMeans(3, balance=1, n_init=60, random_state=0).fit(X)

    def spread(rows):
        return ((X[rows] - X[rows].mean(axis=0)) ** 2).sum()

    best = min(
        spread([0, *pair]) + spread(list(second)) + spread(sorted(rest - set(second)))
        for pair in itertools.combinations(range(1, 9), 2)
        for rest in [set(range(1, 9)) - set(pair)]
        for second in itertools.combinations(sorted(rest), 3)
    )
    assert model.objective_ == pytest.approx(best)


def test_objective_belongs_to_labels_and_centres():
    X = load_digits().data[:600]
    model = BalancedKMeans(10, balance=1.0, n_init=1, random_state=0).fit(X)
    gaps = X - model.cluster_centers_[model.labels_]
    assert model.objective_ == pytest.approx(np.sum(gaps**2))
    cosine = BalancedKMeans(10, balance=1.0, metric="cosine", n_init=1, random_state=0).fit(X)
    Z = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert cosine.objective_ == pytest.approx(
        np.sum(1 - np.sum(Z * cosine.cluster_centers_[cosine.labels_], axis=1))
    )
    np.testing.assert_allclose(np.linalg.norm(cosine.cluster_centers_, axis=1), 1)


@pytest.mark.parametrize("assignment", ["stable", "flow"])
def test_sparse_equals_dense(uneven, assignment):
    X, _ = uneven
    params = {"balance": 1.0, "n_init": 1, "assignment": assignment, "random_state": 0}
    dense = BalancedKMeans(4, **params).fit(X)
    thin = BalancedKMeans(4, **params).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(dense.labels_, thin.labels_)


@pytest.mark.parametrize("assignment", ["stable", "flow"])
def test_new_rows_without_and_with_balance(uneven, assignment):
    X, _ = uneven
    model = BalancedKMeans(4, balance=1.0, assignment=assignment, random_state=0).fit(X)
    new = np.random.default_rng(0).normal(size=(40, 3))
    nearest = np.argmin(model.transform(new), axis=1)
    np.testing.assert_array_equal(model.predict(new), nearest)
    assert list(np.bincount(model.predict_sized(new))) == [10, 10, 10, 10]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"min_size": 101}, "add up to 303, more than the 300 rows: ask for at most 100"),
        ({"min_size": [1, 2, 3]}, "min_size must be a finite number"),
        ({"min_size": -1}, "min_size must be a finite number of at least 0"),
        ({"balance": 1.2}, "balance must be a number of at least 0 and at most 1"),
        ({"balance": "much"}, "balance must be a number of at least 0 and at most 1"),
        ({"sample_size": 2}, "sample_size must be at least n_clusters"),
        ({"confidence": 0}, "confidence"),
        ({"metric": "manhattan"}, "metric"),
        ({"assignment": "greedy"}, "assignment"),
        ({"init": "perturb"}, "init must be"),
    ],
)
def test_bad_parameters(uneven, params, message):
    with pytest.raises(ValueError, match=message):
        BalancedKMeans(3, **params).fit(uneven[0])


BOTH = pytest.mark.parametrize("method", [BalancedKMeans, SoftBalancedKMeans])


@BOTH
def test_zero_rows_matter_for_directions_only(uneven, method):
    X = uneven[0].copy()
    X[7] = 0
    method(3, n_init=1, random_state=0).fit(X)
    with pytest.raises(SidelightError, match="Row 7 is all zeros"):
        method(3, metric="cosine").fit(X)


@BOTH
def test_constraints_are_counted_not_used(uneven, method):
    X, y = uneven
    known = Constraints.sample(y, 100, random_state=0)
    with pytest.warns(ConstraintWarning, match="SizeConstrainedKMeans uses sizes and pairs"):
        model = method(4, random_state=0).fit(X, constraints=known)
    assert model.n_violations_ == known.violations(model.labels_).n > 0


# --- what it is made of ---


# ------------------------------------------------------------------ how many rows to sample


CONFIDENCES = [1 - 10.0**-d for d in range(1, 6)]


def test_table_8_1():
    assert [sample_size(10, 50, confidence=c, method="bound") for c in CONFIDENCES] == [
        1160,
        1200,
        1239,
        1277,
        1315,
    ]


def test_binomial_sample_sizes():
    assert [sample_size(10, 50, confidence=c) for c in CONFIDENCES] == [670, 735, 791, 842, 890]


def test_the_probability_to_miss_by_simulation():
    shares = np.array([0.4, 0.3, 0.2, 0.1])  # the smallest holds one row in ten
    n = sample_size(4, 5, 10, confidence=0.9)
    drawn = np.random.default_rng(0).multinomial(n, shares, size=20_000)
    assert np.mean(drawn.min(axis=1) < 5) <= 0.1
    fewer = np.random.default_rng(1).multinomial(n // 2, shares, size=20_000)
    assert np.mean(fewer.min(axis=1) < 5) > 0.1


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 30), st.integers(1, 60), st.floats(1, 10), st.sampled_from([0.5, 0.9, 0.9999])
)
def test_sample_size_is_the_smallest_that_will_do(k, s, ratio, confidence):
    from scipy.stats import binom

    n = sample_size(k, s, k * ratio, confidence=confidence)
    miss = 1 - confidence
    assert k * binom.cdf(s - 1, n, 1 / (k * ratio)) <= miss
    assert n == s or k * binom.cdf(s - 1, n - 1, 1 / (k * ratio)) > miss
    assert sample_size(k, s, k * ratio, confidence=confidence, method="bound") >= s * k * ratio - 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"spread": 3.0}, "spread must be at least n_clusters"),
        ({"confidence": 1.0}, "confidence"),
        ({"method": "guess"}, "method"),
        ({"per_cluster": 0}, "at least 1"),
    ],
)
def test_bad_sample_sizes(arguments, message):
    with pytest.raises(ValueError, match=message):
        sample_size(**{"n_clusters": 10, "per_cluster": 5, **arguments})


# ------------------------------------------------------------------ populate


@settings(max_examples=60, deadline=None)
@given(balanced_assignments())
def test_every_cluster_gets_its_minimum(problem):
    costs, labels, m = problem
    found = populate(costs, labels, m)
    sizes = np.bincount(found, minlength=costs.shape[1])
    assert sizes.min() >= m
    n_free = np.count_nonzero(labels < 0)
    before = np.bincount(labels[labels >= 0], minlength=costs.shape[1])
    if np.maximum(m - before, 0).sum() <= n_free:  # nothing had to be set free
        np.testing.assert_array_equal(found[labels >= 0], labels[labels >= 0])


@settings(max_examples=60, deadline=None)
@given(balanced_assignments())
def test_no_row_and_cluster_would_rather_have_each_other(problem):
    costs, labels, m = problem
    n, k = costs.shape
    labels = np.where(labels >= 0, -1, labels)  # all rows are free
    found = populate(costs, labels, m)
    for h in range(k):
        holds = np.flatnonzero(found == h)
        wanting = np.flatnonzero(costs[:, h] < costs[np.arange(n), found])
        if len(holds) < m or len(wanting) == 0:
            assert len(holds) >= m
            continue
        # The quota of h is filled by its m nearest rows; all of them are nearer than who wants in.
        quota = np.sort(costs[holds, h])[:m]
        assert m == 0 or costs[wanting, h].min() >= quota.max()
        assert m > 0  # without quotas nobody is left wanting


@settings(max_examples=100, deadline=None)
@given(balanced_assignments(), st.integers(0, 10**6))
def test_the_order_of_the_rows_does_not_matter(problem, seed):
    costs, labels, m = problem
    order = np.random.default_rng(seed).permutation(len(costs))
    np.testing.assert_array_equal(
        populate(costs, labels, m)[order], populate(costs[order], labels[order], m)
    )


def test_without_a_minimum_rows_go_to_the_nearest():
    costs = np.random.default_rng(0).random((50, 4))
    found = populate(costs, np.full(50, -1), 0)
    np.testing.assert_array_equal(found, np.argmin(costs, axis=1))


def test_a_sample_that_leaves_too_few_rows_gives_some_back():
    # N = 100, k = 2, m = 50: the sample of 80 split 70 to 10 leaves 20 rows for 40 places.
    rng = np.random.default_rng(0)
    costs = rng.random((100, 2))
    labels = np.r_[np.zeros(70), np.ones(10), np.full(20, -1)].astype(int)
    found = populate(costs, labels, 50)
    assert list(np.bincount(found)) == [50, 50]
    released = np.flatnonzero(found[:70] == 1)
    assert len(released) == 20
    np.testing.assert_array_equal(released, np.sort(np.argsort(-costs[:70, 0])[:20]))


# ------------------------------------------------------------------ refine


@settings(max_examples=60, deadline=None)
@given(balanced_assignments())
def test_refining_lowers_the_cost_and_keeps_the_minimum(problem):
    costs, labels, m = problem
    n, k = costs.shape
    start = populate(costs, labels, m)
    found = start.copy()
    moves = refine(costs, found, m)
    cost = costs[np.arange(n), found].sum()
    assert np.bincount(found, minlength=k).min() >= m
    assert cost <= costs[np.arange(n), start].sum() + 1e-12
    assert (moves == 0) == np.array_equal(found, start)
    assert refine(costs, found.copy(), m) == 0
    best = assign_sized(costs, np.full(k, m), np.full(k, n)).cost
    assert cost >= best - 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_nothing_that_refining_looks_for_is_left(seed):
    rng = np.random.default_rng(seed)
    costs = rng.random((60, 5))
    found = rng.permutation(np.arange(60) % 5).astype(np.int32)
    refine(costs, found, 12)
    wants = np.zeros((5, 5), dtype=bool)
    for i, own in enumerate(found):
        wants[own] |= costs[i] < costs[i, own]
    reach = wants.copy()  # a cycle of wishes would put a cluster into its own reach
    for _ in range(5):
        reach = reach | (reach.astype(int) @ wants.astype(int) > 0)
    assert not np.diag(reach).any()


@pytest.mark.parametrize(("n", "k", "m"), [(8, 2, 4), (8, 2, 3), (7, 3, 2), (6, 3, 2)])
def test_never_better_than_brute_force_and_flow_equals_it(n, k, m):
    for seed in range(10):
        costs = np.random.default_rng(seed).random((n, k))
        best = min(
            costs[np.arange(n), labels].sum()
            for labels in itertools.product(range(k), repeat=n)
            if np.bincount(labels, minlength=k).min() >= m
        )
        found = populate(costs, np.full(n, -1), m)
        refine(costs, found, m)
        assert costs[np.arange(n), found].sum() >= best - 1e-12
        flow = assign_sized(costs, np.full(k, m), np.full(k, n)).cost
        assert flow == pytest.approx(best)


def test_two_clusters_exchange_until_it_is_the_optimum():
    # Half of the rows are nearer to each centre: from the wrong way round all can gain.
    x = np.linspace(0, 1, 40)
    costs = np.stack([x**2, (1 - x) ** 2], axis=1)
    labels = (np.arange(40) < 20).astype(np.int32)
    refine(costs, labels, 20)
    np.testing.assert_array_equal(labels, np.arange(40) >= 20)


# ------------------------------------------------------------------ the estimator


def test_the_sample_has_the_promised_size():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    model = BalancedKMeans(5, balance=0.8, n_init=1, random_state=0).fit(X)
    assert model.n_sampled_ == sample_size(5, 50, 20_000 / 3200, confidence=0.99) < 1000
    assert model.cluster_sizes_.min() >= 3200
