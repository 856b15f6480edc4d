"""k-means under conditions, against what is known of its result."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from tests.privacy.existential.generators import (
    all_valid,
    balanced,
    blobs,
    dispersion,
    squared,
    two_kinds,
)

from sidelight.cluster import KMeans, SizeConstrainedKMeans
from sidelight.constraints import Conditions
from sidelight.exceptions import InfeasibleConstraints, SidelightError
from sidelight.privacy import ExistentialKMeans

WAYS = [("transport", 1), ("flow", 1), ("lookahead", 1), ("lookahead", 2), ("random", 1)]


@pytest.mark.parametrize(("refine", "lookahead"), WAYS)
def test_conditions_that_never_bind_leave_k_means(refine, lookahead):
    X = blobs(150, 4, 1)
    start = X[[3, 50, 90, 140]]
    plain = KMeans(4, init=start, tol=0).fit(X)
    wanted = Conditions(n_samples=len(X)).at_least(1)
    model = ExistentialKMeans(4, init=start, pivot_moves=refine, max_path=lookahead, tol=0)
    model.fit(X, conditions=wanted)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_allclose(model.objective_, plain.objective_)
    labels = KMeans(4, init=start, max_iter=1, tol=0).fit(X).labels_
    slow = ExistentialKMeans(4, init=labels, pivot_moves=refine, max_path=lookahead, tol=0)
    np.testing.assert_array_equal(slow.fit(X, conditions=wanted).labels_, plain.labels_)


@pytest.mark.parametrize(("refine", "lookahead"), WAYS)
@pytest.mark.parametrize("seed", range(3))
def test_dispersion_never_rises_and_conditions_hold(refine, lookahead, seed):
    X, k = blobs(200, 5, seed), 5
    conditions, labels = two_kinds(len(X), k, seed)
    model = ExistentialKMeans(
        k, init=labels, pivot_moves=refine, max_path=lookahead, tol=0, random_state=0
    ).fit(X, conditions=conditions)
    assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[0])
    assert model.converged_
    assert conditions.unmet(model.labels_, k) == []
    np.testing.assert_array_equal(model.condition_counts_, conditions.counts(model.labels_, k))
    np.testing.assert_allclose(model.objective_, dispersion(X, model.labels_), rtol=1e-9)
    assert model.history_[0] <= dispersion(X, labels)
    nearest = squared(X, model.cluster_centers_)
    strictly = nearest.min(axis=1) < nearest[np.arange(len(X)), model.labels_] - 1e-9
    np.testing.assert_array_equal(model.not_nearest_, np.flatnonzero(strictly))


@pytest.mark.parametrize("wanted", [None, "empty", "zero"])
def test_nothing_asked_for_is_k_means(wanted):
    X = blobs(100, 4, 2)
    conditions = None if wanted is None else Conditions(n_samples=100)
    conditions = conditions.at_least(0) if wanted == "zero" else conditions
    model = ExistentialKMeans(4, random_state=3).fit(X, conditions=conditions)
    plain = KMeans(4, random_state=3).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_array_equal(model.history_, plain.history_)
    assert len(model.not_nearest_) == 0


def test_lower_bounds_on_sizes_are_those_of_size_constrained_k_means():
    X = blobs(90, 3, 5)
    start = X[[0, 1, 2]]
    free = KMeans(3, init=start, tol=0).fit(X).cluster_centers_
    sized = SizeConstrainedKMeans(3, min_size=25, init=free, tol=0).fit(X)
    wanted = Conditions(n_samples=90).at_least(25)
    model = ExistentialKMeans(3, init=start, tol=0).fit(X, conditions=wanted)
    np.testing.assert_array_equal(model.labels_, sized.labels_)
    np.testing.assert_allclose(model.objective_, sized.objective_)


@pytest.mark.parametrize("refine", ["random", "lookahead", "flow", "transport"])
def test_tight_sizes_stay(refine):
    X = blobs(100, 5, 4)
    wanted = Conditions(n_samples=100).at_least(20)
    labels = balanced(100, 5)
    model = ExistentialKMeans(5, init=labels, pivot_moves=refine, random_state=0)
    model.fit(X, conditions=wanted)
    np.testing.assert_array_equal(model.cluster_sizes_, np.full(5, 20))
    assert model.objective_ < dispersion(X, labels)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_no_valid_partition_of_few_rows_is_better_than_the_best_restart(seed):
    """Brute force; with many restarts transport finds the best partition nearly always."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(7, 2))
    conditions = Conditions({"kind": (rng.rand(7) < 0.7, 1)}).at_least(2)
    try:
        conditions.check_feasible(2)
    except InfeasibleConstraints:
        return
    best = min(dispersion(X, labels) for labels in all_valid(conditions, 2))
    for refine, lookahead in WAYS:
        model = ExistentialKMeans(2, pivot_moves=refine, max_path=lookahead, random_state=0)
        model.fit(X, conditions=conditions)
        assert model.objective_ >= best - 1e-9
        assert conditions.unmet(model.labels_, 2) == []


def test_highway():
    """Three customers at one end, one at the other: two shops, one of them for a distant one."""
    X = np.array([[0.0], [1.0], [2.0], [10.0]])
    wanted = Conditions(n_samples=4).at_least(2)
    for refine, lookahead in WAYS:
        model = ExistentialKMeans(2, pivot_moves=refine, max_path=lookahead, random_state=0)
        model.fit(X, conditions=wanted)
        np.testing.assert_array_equal(np.sort(model.cluster_sizes_), [2, 2])
        np.testing.assert_array_equal(model.not_nearest_, [2])
        assert model.predict([[2.0]])[0] == model.labels_[0]


def test_several_conditions_and_numbers_for_each_cluster():
    X = blobs(80, 4, 6)
    rng = np.random.RandomState(0)
    smoker, young = rng.rand(80) < 0.4, rng.rand(80) < 0.3
    wanted = Conditions({"smoker": (smoker, [9, 2, 0, 5]), "young": (young, 4)}).at_least(12)
    model = ExistentialKMeans(4, random_state=0).fit(X, conditions=wanted)
    counts = model.condition_counts_
    assert np.all(counts >= wanted.least_in(4))
    assert "smoker" in repr(model.conditions_)


@pytest.mark.parametrize("refine", ["transport", "flow", "lookahead", "random"])
@pytest.mark.parametrize("radius", [None, 0.0])
@pytest.mark.parametrize(
    ("rows", "least", "pivots"),
    [
        ([3.75, 5.96, -0.16, -0.72, 3.19], [2, 0, 1], [1, 3, 4]),
        ([1.09, -4.32, -2.61, 2.85, -9.7, 3.8], [1, 2, 0, 1], [1, 3, 4, 5]),
        ([4.79, 0.89, 6.46, -0.88, -4.18, -4.64], [1, 0, 2, 0], [0, 1, 3, 4, 5]),
        ([-2.69, 5.63, -2.85, 3.11, 1.75], [1, 2, 0, 0], [0, 2, 3, 4]),
    ],
)
def test_no_cluster_is_empty_where_each_can_have_a_row(rows, least, pivots, radius, refine):
    X, k = np.array(rows)[:, None], len(least)
    wanted = Conditions(n_samples=len(X)).at_least(least, np.isin(range(len(X)), pivots))
    valid = [one for one in all_valid(wanted, k) if len(set(one.tolist())) == k]
    assert valid
    for seed in range(5):
        model = ExistentialKMeans(k, pivot_moves=refine, micro_radius=radius, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # none blames equal rows
            model.fit(X, conditions=wanted)
        assert any(np.array_equal(model.labels_, one) for one in valid)


def test_a_cluster_that_stays_empty_is_due_to_the_conditions():
    X = np.arange(4.0)[:, None]
    wanted = Conditions(n_samples=4).at_least([2, 2, 0])
    with pytest.warns(ConvergenceWarning, match="conditions need all rows in the other clusters"):
        ExistentialKMeans(3, random_state=0).fit(X, conditions=wanted)
    some = Conditions(n_samples=4).at_least([2, 1, 0])
    with pytest.raises(SidelightError, match="leaves cluster 2 empty"):
        ExistentialKMeans(3, init=np.array([0, 0, 1, 1])).fit(X, conditions=some)


def test_sparse_float32_and_disk_agree(tmp_path):
    from sidelight.engine import open_rows

    X = blobs(300, 4, 7).astype(np.float32)
    wanted = Conditions(n_samples=300).at_least(60)
    model = ExistentialKMeans(4, random_state=0).fit(X, conditions=wanted)
    assert model.cluster_centers_.dtype == np.float32
    np.save(tmp_path / "rows.npy", X)
    there = open_rows(tmp_path / "rows.npy", memory_budget=4096)
    disk = ExistentialKMeans(4, random_state=0).fit(there, conditions=wanted)
    np.testing.assert_array_equal(disk.labels_, model.labels_)
    rows = sparse.csr_matrix(X.astype(np.float64))
    thin = ExistentialKMeans(4, init=X[:4].astype(float)).fit(rows, conditions=wanted)
    dense = ExistentialKMeans(4, init=X[:4].astype(float)).fit(rows.toarray(), conditions=wanted)
    np.testing.assert_array_equal(thin.labels_, dense.labels_)


def test_weights_count_in_the_dispersion_and_not_in_the_conditions():
    rng = np.random.RandomState(0)
    X, weights = blobs(60, 3, 8), rng.randint(1, 4, 60)
    wanted = Conditions(n_samples=60).at_least(15)
    model = ExistentialKMeans(3, init=balanced(60, 3), tol=0).fit(
        X, conditions=wanted, sample_weight=weights
    )
    assert model.cluster_sizes_.min() >= 15
    centers = [
        np.average(X[model.labels_ == h], axis=0, weights=weights[model.labels_ == h])
        for h in range(3)
    ]
    np.testing.assert_allclose(model.cluster_centers_, centers)


def test_rows_are_found_by_their_index():
    table = pd.DataFrame(blobs(60, 3, 9), index=[f"r{i}" for i in range(60)])
    table.columns = ["a", "b"]
    wanted = Conditions.from_expressions(table, ["count(a > 0) >= 5", "count(*) >= 15"])
    shuffled = table.sample(frac=1, random_state=0)
    model = ExistentialKMeans(3, random_state=0).fit(shuffled, conditions=wanted)
    own = Conditions.from_expressions(shuffled, ["count(a > 0) >= 5", "count(*) >= 15"])
    assert own.unmet(model.labels_, 3) == []
    np.testing.assert_array_equal(model.conditions_.ids, shuffled.index)


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        (Conditions(n_samples=10).at_least(4), "at least 12 rows with it (there are 10)"),
        (Conditions({"x": (np.arange(10) < 2, 1)}), "3 clusters with at least 1 of 'x' each"),
        (Conditions({"x": (None, [1, 2])}, n_samples=10), "numbers for 2 clusters"),
        (Conditions(n_samples=9).at_least(1), "about 9 rows but X has 10"),
    ],
)
def test_impossible_conditions_are_refused_in_words(conditions, message):
    X = np.random.RandomState(0).normal(size=(10, 2))
    with pytest.raises(SidelightError, match=re.escape(message)):
        ExistentialKMeans(3).fit(X, conditions=conditions)


def test_what_is_no_condition_or_no_valid_start_is_refused():
    X = np.random.RandomState(0).normal(size=(10, 2))
    with pytest.raises(TypeError, match="from_expressions"):
        ExistentialKMeans(2).fit(X, conditions={"a": 3})
    wanted = Conditions(n_samples=10).at_least(4)
    with pytest.raises(SidelightError, match="cluster 1 has 1 of 'rows', and needs 4"):
        ExistentialKMeans(2, init=[0] * 9 + [1]).fit(X, conditions=wanted)
    with pytest.raises(SidelightError, match="clusters 0 to 1"):
        ExistentialKMeans(2, init=[0] * 9 + [2]).fit(X, conditions=wanted)
    with pytest.raises(SidelightError, match="each of the 10 rows"):
        ExistentialKMeans(2, init=[0, 1]).fit(X, conditions=wanted)
