"""Micro-clusters that share their pivots among clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from tests.privacy.existential.generators import balanced, blobs, dispersion, squared, two_kinds

from sidelight.constraints import Conditions
from sidelight.engine import as_rows, open_rows
from sidelight.exceptions import SidelightError
from sidelight.privacy import ExistentialKMeans
from sidelight.privacy.existential._micro import (
    ConditionedShares,
    Features,
    fill_greedily,
    make_micro_clusters,
)
from sidelight.privacy.existential._requirements import requirements_of

REFINES = ["transport", "flow", "lookahead", "random"]


@pytest.mark.parametrize("refine", REFINES)
@pytest.mark.parametrize("lookahead", [1, 2])
def test_radius_0_is_the_method_on_rows(refine, lookahead):
    X, k = blobs(120, 4, 1), 4
    conditions, labels = two_kinds(len(X), k, 3)
    for init in ("k-means++", labels):
        options = {"pivot_moves": refine, "max_path": lookahead, "random_state": 0, "init": init}
        rows = ExistentialKMeans(k, **options).fit(X, conditions=conditions)
        micro = ExistentialKMeans(k, micro_radius=0, **options).fit(X, conditions=conditions)
        np.testing.assert_array_equal(micro.labels_, rows.labels_)
        np.testing.assert_allclose(micro.objective_, rows.objective_)
        assert micro.n_micro_clusters_ == len(X)


@pytest.mark.parametrize("refine", REFINES)
def test_rows_get_what_the_shares_say(refine):
    X, k = blobs(600, 4, 2), 4
    conditions = Conditions(n_samples=600).at_least(150)
    model = ExistentialKMeans(k, pivot_moves=refine, micro_radius=0.4, init=balanced(600, k))
    model.fit(X, conditions=conditions)
    np.testing.assert_array_equal(model.cluster_sizes_, np.full(k, 150))
    np.testing.assert_allclose(model.objective_, dispersion(X, model.labels_), rtol=1e-9)
    assert model.n_micro_clusters_ < 300


def test_smaller_radii_come_closer_to_the_rows():
    X = blobs(800, 5, 4)
    conditions = Conditions(n_samples=800).at_least(130)
    rows = ExistentialKMeans(5, random_state=0).fit(X, conditions=conditions)
    close = ExistentialKMeans(5, random_state=0, micro_radius=0.1).fit(X, conditions=conditions)
    assert close.objective_ <= 1.02 * rows.objective_


def test_the_number_of_micro_clusters_does_not_grow_with_the_rows(tmp_path):
    rng = np.random.RandomState(0)
    numbers = []
    for n in (2_000, 20_000):
        X = rng.uniform(size=(n, 2))
        np.save(tmp_path / "rows.npy", X)
        source = open_rows(tmp_path / "rows.npy", memory_budget=2**16)
        conditions = Conditions(n_samples=n).at_least(n // 5)
        model = ExistentialKMeans(4, micro_radius=0.05, n_init=1, random_state=0)
        model.fit(source, conditions=conditions)
        assert model.cluster_sizes_.min() >= n // 5
        numbers.append(model.n_micro_clusters_)
    assert numbers[1] <= 2 * numbers[0]


def test_micro_clusters_refuse_weights_and_sparse_rows():
    from scipy import sparse

    X = blobs(50, 2, 0)
    wanted = Conditions(n_samples=50).at_least(20)
    model = ExistentialKMeans(2, micro_radius=0.5)
    with pytest.raises(SidelightError, match="take no weights"):
        model.fit(X, conditions=wanted, sample_weight=np.arange(50))
    with pytest.raises(SidelightError, match="take no sparse rows"):
        model.fit(sparse.csr_matrix(X), conditions=wanted)


# --- what it is made of ---


@pytest.mark.parametrize("refine", REFINES)
@pytest.mark.parametrize("seed", range(3))
def test_shares_keep_their_sums_and_the_conditions(refine, seed):
    X, k = blobs(400, 4, seed), 4
    conditions, labels = two_kinds(len(X), k, seed)
    requirements = requirements_of(conditions, k)
    micro = make_micro_clusters(as_rows(X), requirements, 0.5)
    assert len(micro) < 200
    shares = ConditionedShares(micro, refine, 2, np.random.RandomState(0))
    share = shares.shares_of(labels)
    centers = np.array([X[labels == h].mean(axis=0) for h in range(k)])
    distances = squared(micro.means, centers)
    if refine == "transport":
        after, _ = shares._transported(distances, distances.argmin(axis=1), None)
    else:
        after = shares.moved(share, distances, distances.argmin(axis=1))
    cost = np.sum(share * distances[micro.items[0]])
    assert np.sum(after * distances[micro.items[0]]) < cost
    assert after.min() >= 0
    np.testing.assert_array_equal(after.sum(axis=1), micro.amounts)
    np.testing.assert_array_equal(share.sum(axis=1), micro.amounts)
    totals = requirements.has[micro.items[1]].T.astype(int) @ after
    assert np.all(totals >= requirements.need)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_greedy_rows_cost_at_least_the_optimal_ones(seed):
    rng = np.random.RandomState(seed)
    n, k = int(rng.randint(2, 12)), int(rng.randint(2, 4))
    share = rng.multinomial(n, np.full(k, 1 / k))[None]
    costs = rng.random_sample((n, k))
    labels = fill_greedily(costs, np.zeros(n, dtype=np.int64), share)
    np.testing.assert_array_equal(np.bincount(labels, minlength=k), share[0])
    slots = np.repeat(np.arange(k), share[0])
    rows, chosen = linear_sum_assignment(costs[:, slots])
    best = costs[rows, slots[chosen]].sum()
    assert costs[np.arange(n), labels].sum() >= best - 1e-12


def test_features_are_those_of_their_rows_and_within_the_radius():
    X = blobs(500, 4, 5)
    conditions = Conditions(n_samples=500).at_least(10)
    micro = make_micro_clusters(as_rows(X), requirements_of(conditions, 4), 0.6)
    np.testing.assert_array_equal(np.bincount(micro.number), micro.sizes)
    for m in range(len(micro)):
        rows = X[micro.number == m]
        np.testing.assert_allclose(micro.means[m], rows.mean(axis=0))
        scatter = np.sum((rows - rows.mean(axis=0)) ** 2)
        np.testing.assert_allclose(micro.scatters[m], scatter, atol=1e-12)
        assert scatter <= 0.36 * len(rows) + 1e-9


def test_features_of_blocks_add():
    X = blobs(300, 3, 6)
    parts = []
    for rows in np.array_split(X, 3):
        part = Features(0.5, 2)
        part.merge_or_append(np.ones(len(rows)), np.ascontiguousarray(rows), np.zeros(len(rows)))
        parts.append(part)
    joined = parts[0].join(parts[1]).join(parts[2]).result()
    assert joined.sizes.sum() == 300
    np.testing.assert_allclose(joined.sizes @ joined.means, X.sum(axis=0))
    total = joined.scatters.sum() + joined.sizes @ np.sum(joined.means**2, axis=1)
    np.testing.assert_allclose(total, np.sum(X**2))
    assert [len(went) for went in joined.went_to] == [
        len(joined.went_to[0]),
        *(len(part.sizes) for part in parts[1:]),
    ]
