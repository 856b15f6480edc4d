"""Global k-means: gains against brute force, published figures, the kd-tree, must-links."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import sidelight
from sidelight import Constraints, engine
from sidelight._kernels.cluster.insertion import exchange, removal_losses
from sidelight._progress import FitProgress
from sidelight.cluster import GlobalKMeans, KMeans
from sidelight.cluster.global_kmeans import _global as _global_kmeans
from sidelight.cluster.global_kmeans._insertion import (
    NearestRows,
    Points,
    candidate_gains,
    run_lloyd,
    trial_ends,
)
from sidelight.cluster.global_kmeans._kd_partition import kd_means, kd_partition
from sidelight.cluster.global_kmeans._trial_runs import MIN_TRIALS, number_of_trials
from sidelight.exceptions import SidelightError

# Errors on the raw iris data for k = 1..15, by Lloyd's algorithm until no label changes.
IRIS_FULL = [681.3706, 152.3480, 78.8514, 57.2285, 46.4462, 39.0400, 34.3058, 29.9904]


IRIS_FULL += [27.7876, 25.9659, 24.1493, 22.3942, 21.0349, 19.8024, 18.6026]


IRIS_FAST = [681.3706, 152.3480, 78.8557, 57.2560, 46.6954, 39.6035, 35.3853, 30.5008]


IRIS_FAST += [28.5780, 26.7524, 25.3811, 23.9485, 22.4823, 20.9731, 19.9829]


IRIS_TREE = [*IRIS_FAST[:10], 25.2135, 23.7472, 22.0517, 21.0661, 19.9780]


WINE_FULL = [2314.00, 1658.76, 1277.93, 1175.38, 1103.61]


WINE_FULL += [1039.27, 976.77, 927.57, 883.63, 842.52]


def squared(X: np.ndarray, points: np.ndarray) -> np.ndarray:
    return ((X[:, None].astype(float) - points[None]) ** 2).sum(axis=-1)


def error(X: np.ndarray, centers: np.ndarray, weights: Any = 1.0) -> float:
    return float(np.sum(weights * squared(X, centers).min(axis=1)))


@pytest.fixture(scope="module")
def iris() -> np.ndarray:
    return load_iris().data


# ------------------------------------------------------------------ published figures


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"method": "full"}, IRIS_FULL),
        ({"method": "fast", "n_trials": 1}, IRIS_FAST),
        ({"candidates": "kd-tree", "n_candidates": 30, "n_trials": 1}, IRIS_TREE),
    ],
    ids=["full", "fast", "kd-tree"],
)
def test_errors_on_iris(params: Any, expected: list[float], iris: np.ndarray) -> None:
    model = GlobalKMeans(15, **params).fit(iris)
    np.testing.assert_allclose(model.search_["objective"], expected, atol=5.1e-5)
    for k, centers in enumerate(model.search_["cluster_centers"], start=1):
        assert centers.shape == (k, 4)
        assert error(iris, centers) == pytest.approx(model.search_["objective"][k - 1], rel=1e-9)
    assert model.objective_ == model.search_["objective"][-1] == model.history_[-1]


def test_errors_on_standardised_wine() -> None:
    X = StandardScaler().fit_transform(load_wine().data)
    model = GlobalKMeans(10, method="full").fit(X)
    np.testing.assert_allclose(model.search_["objective"], WINE_FULL, atol=5.1e-3)


# ------------------------------------------------------------------ the search


def test_two_clusters_are_no_worse_than_any_start_at_the_mean_and_a_row() -> None:
    X = np.random.default_rng(2).normal(size=(40, 2))
    best = GlobalKMeans(2, method="full").fit(X).objective_
    for row in X:
        start = np.vstack([X.mean(axis=0), row])
        assert best <= KMeans(2, init=start, tol=0.0).fit(X).objective_ * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_two_clusters_of_few_points_against_all_partitions(seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(7, 2))
    errors = []
    for split in itertools.product([0, 1], repeat=7):
        parts = [X[np.array(split) == h] for h in range(2)]
        errors.append(sum(((p - p.mean(axis=0)) ** 2).sum() for p in parts if len(p)))
    model = GlobalKMeans(2, method="full").fit(X)
    assert model.objective_ >= min(errors) - 1e-12
    assert model.objective_ == pytest.approx(min(errors), rel=0.02)


def test_order_of_the_rows_does_not_matter() -> None:
    X = np.random.default_rng(3).normal(size=(120, 3))  # no ties
    shuffled = X[np.random.default_rng(4).permutation(120)]
    for params in ({"method": "full"}, {}, {"candidates": "kd-tree"}, {"n_trials": 1}):
        first, second = (GlobalKMeans(6, **params).fit(rows) for rows in (X, shuffled))
        np.testing.assert_allclose(first.search_["objective"], second.search_["objective"])


def test_trials_find_what_one_misses(iris: np.ndarray) -> None:
    full = np.array(IRIS_FULL)
    once = GlobalKMeans(15, n_trials=1).fit(iris).search_["objective"]
    assert np.max(once / full) > 1.05
    for params in ({}, {"candidates": "kd-tree"}, {"n_trials": 8}):
        assert np.max(GlobalKMeans(15, **params).fit(iris).search_["objective"] / full) < 1.001


def test_trials_reach_the_exhaustive_search_on_wine() -> None:
    X = StandardScaler().fit_transform(load_wine().data)
    path = GlobalKMeans(10).fit(X).search_["objective"]
    assert np.max(path / WINE_FULL) < 1.001


def test_candidates_of_the_user() -> None:
    X = np.array([[0.0], [1.0], [10.0], [11.0], [30.0]])
    model = GlobalKMeans(2, candidates=[[10.4]]).fit(X)
    assert sorted(model.cluster_centers_.ravel().tolist()) == [5.5, 30.0]
    assert GlobalKMeans(2, candidates=X).fit(X).objective_ == GlobalKMeans(2).fit(X).objective_


def test_nothing_is_left_to_chance_or_threads() -> None:
    X, _ = make_blobs(3000, n_features=4, centers=6, cluster_std=3.0, random_state=0)
    for params in ({}, {"candidates": "kd-tree", "method": "full"}, {"n_trials": 1}):
        fits = []
        for n_threads in (1, 3):
            with engine.threads(n_threads):
                model = GlobalKMeans(6, random_state=n_threads, **params)
                fits.append(model.fit(X.astype(np.float32)))
        one, other = fits
        np.testing.assert_array_equal(other.cluster_centers_, one.cluster_centers_)
        np.testing.assert_array_equal(other.search_["objective"], one.search_["objective"])


def test_small_and_large_paths_agree(monkeypatch: Any, iris: np.ndarray) -> None:
    small = GlobalKMeans(8).fit(iris)
    monkeypatch.setattr("sidelight.cluster.global_kmeans._global.WORTH_BLOCKS", 0)
    large = GlobalKMeans(8).fit(iris)
    np.testing.assert_allclose(small.search_["objective"], large.search_["objective"])


# ------------------------------------------------------------------ weights and must-links


@pytest.mark.parametrize("params", [{}, {"method": "full"}, {"candidates": "kd-tree"}])
def test_weights_are_repetitions(params: Any) -> None:
    rng = np.random.default_rng(5)
    X, weights = rng.normal(size=(60, 2)), rng.integers(0, 4, size=60)
    weighted = GlobalKMeans(4, **params).fit(X, sample_weight=weights)
    repeated = GlobalKMeans(4, **params).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.search_["objective"], repeated.search_["objective"])


def test_must_links_hold_at_their_exact_cost() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(50, 2))
    known = Constraints(must_link=rng.integers(50, size=(15, 2)), n_samples=50)
    model = GlobalKMeans(5).fit(X, constraints=known)
    assert model.n_violations_ == 0
    for h in range(5):
        np.testing.assert_allclose(model.cluster_centers_[h], X[model.labels_ == h].mean(axis=0))
    costs = ((X - model.cluster_centers_[model.labels_]) ** 2).sum()
    assert model.objective_ == pytest.approx(costs)
    total = ((X - X.mean(axis=0)) ** 2).sum()
    assert model.search_["objective"][0] == pytest.approx(total)
    assert np.all(np.diff(model.history_) <= 1e-9)


def test_groups_hold_and_one_big_group_changes_nothing_else() -> None:
    X = np.random.default_rng(7).normal(size=(30, 2))
    groups = np.where(np.arange(30) < 12, np.arange(30) % 3, -1)
    model = GlobalKMeans(4).fit(X, constraints=Constraints.from_groups(groups))
    for g in range(3):
        assert len(np.unique(model.labels_[groups == g])) == 1


def test_cannot_links_are_refused() -> None:
    X = np.zeros((4, 1))
    apart = Constraints(cannot_link=[("a", "c")], ids=list("abcd"))
    with pytest.raises(SidelightError, match=r"'a' and 'c' must be apart.*COPKMeans"):
        GlobalKMeans(2).fit(X, constraints=apart)
    classes = Constraints.from_labels([0, 1, -1, -1])
    with pytest.raises(SidelightError, match=r"different classes.*COPKMeans"):
        GlobalKMeans(2).fit(X, constraints=classes)


# ------------------------------------------------------------------ the kd-tree


def test_a_leaf_for_every_row_is_the_fast_search() -> None:
    X = np.random.default_rng(8).normal(size=(90, 3))
    tree = GlobalKMeans(8, candidates="kd-tree", n_candidates=90, n_trials=1).fit(X)
    fast = GlobalKMeans(8, n_trials=1).fit(X)
    np.testing.assert_array_equal(tree.labels_, fast.labels_)
    np.testing.assert_array_equal(tree.search_["objective"], fast.search_["objective"])


# ------------------------------------------------------------------ bad input and interruptions


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"method": "slow"}, "method must be"),
        ({"candidates": "some"}, "candidates must be"),
        ({"candidates": [[1.0]]}, "2 features each"),
        ({"candidates": [[1.0, np.nan]]}, "without NaN"),
        ({"n_candidates": 4}, "kd-tree"),
        ({"candidates": "kd-tree", "n_candidates": 0}, "of at least 1"),
        ({"n_trials": 0}, "n_trials"),
        ({"n_trials": "many"}, "n_trials"),
        ({"n_trials": 2, "method": "full"}, "every candidate"),
    ],
)
def test_wrong_parameters(params: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        GlobalKMeans(2, **params).fit(np.random.default_rng(0).normal(size=(9, 2)))


def test_too_many_pairs_are_refused_at_once() -> None:
    X = np.arange(300_000, dtype=np.float32)[:, None]
    with pytest.raises(SidelightError, match="candidates='kd-tree'"):
        GlobalKMeans(2).fit(X)


# --- what it is made of ---


# ------------------------------------------------------------------ gains


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 90), k=st.integers(1, 6), d=st.integers(1, 5))
def test_gain_is_the_drop_of_the_error(seed: int, n: int, k: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 1) + 1e3  # ties, and far from the origin
    weights = rng.integers(0, 4, size=n).astype(float)
    weights[0] = 1
    centers = X[rng.integers(n, size=k)] + rng.normal(size=(k, d)) * rng.integers(0, 2)
    candidates = np.vstack([X, rng.normal(size=(3, d)) + 1e3])
    gains = candidate_gains(Points.of(X, weights), centers, candidates)
    before = error(X, centers, weights)
    drops = [before - error(X, np.vstack([centers, p]), weights) for p in candidates]
    assert gains is not None
    np.testing.assert_allclose(gains, drops, atol=1e-7 * (1 + before))
    assert np.all(gains >= 0)


def test_a_candidate_that_improves_nobody_gains_nothing() -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [11.0, 0.0]])
    centers = np.array([[0.5, 0.0], [10.5, 0.0]])
    gains = candidate_gains(Points.of(X, None), centers, np.array([[5.5, 9.0], [0.5, 0.0], X[0]]))
    assert gains is not None
    assert gains.tolist() == [0.0, 0.0, 0.25]


def test_settled_gain_is_the_drop_after_one_move() -> None:
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(80, 3)), rng.uniform(0.5, 2, size=80)
    points = Points.of(X, weights)
    centers = run_lloyd(points, X[:4], 100, 0.0)[0]
    gains = candidate_gains(points, centers, X, settled=True)
    assert gains is not None
    for p, gain in zip(X, gains, strict=True):
        start = np.vstack([centers, p])
        labels = squared(X, start).argmin(axis=1)
        moved = np.array([np.average(X[labels == h], 0, weights[labels == h]) for h in range(5)])
        after = np.sum(weights * squared(X, moved)[np.arange(80), labels])
        assert gain == pytest.approx(error(X, centers, weights) - after, rel=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_error_ends_below_what_the_gain_promises(dtype: Any) -> None:
    X, _ = make_blobs(300, n_features=3, centers=9, cluster_std=2.0, random_state=1)
    X = X.astype(dtype)
    model = GlobalKMeans(9).fit(X)
    for centers, before, after in zip(
        model.search_["cluster_centers"],
        model.search_["objective"],
        model.search_["objective"][1:],
        strict=False,
    ):
        gains = candidate_gains(Points.of(X, None), centers, X)
        assert gains is not None
        assert after <= (before - gains.max()) * (1 + 1e-5)
    assert np.all(np.diff(model.search_["objective"]) < 0)


def test_settling_is_lloyds_algorithm() -> None:
    X = np.random.default_rng(1).normal(size=(150, 4))  # no ties, which may be broken differently
    points = Points.of(X, None)
    for seed in range(5):
        start = X[np.random.default_rng(seed).choice(150, 6, replace=False)]
        centers, found, n_iter = run_lloyd(points, start, 300, 0.0)
        model = KMeans(6, init=start, tol=0.0).fit(X)
        np.testing.assert_allclose(centers, model.cluster_centers_)
        assert found == pytest.approx(model.objective_)
        assert n_iter == model.n_iter_


# ------------------------------------------------------------------ the search


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_single_row_would_be_cheaper_elsewhere_after_trials(dtype: Any) -> None:
    """Neither a further centre nor one that moves leaves anything for a single row to gain."""
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 2)).astype(dtype), rng.integers(0, 3, size=60).astype(dtype)
    points = Points.of(X, weights)
    ends_of_lloyd = []
    for seed in range(6):
        start = X[np.random.default_rng(seed).choice(60, 7, replace=False)]
        lloyd, least, _ = run_lloyd(points, start[:-1], 300, 0.0)
        ends_of_lloyd.append(_is_content(X, weights, lloyd, least))
        clusters = NearestRows.around(points, lloyd)
        exchange(X, weights, clusters.means, clusters.sizes, clusters.labels, np.full(6, True), 99)
        for leaving in (-1, seed):
            exchanged = NearestRows.around(points, clusters.means.astype(dtype))
            found = trial_ends(
                points,
                exchanged,
                np.array([leaving, leaving]),
                start[-2:],
                max_iter=300,
                description="",
                verbose=0,
            )
            assert found is not None
            for centers, after in zip(*found, strict=True):
                assert len(centers) == (7 if leaving < 0 else 6)
                assert _is_content(X, weights, centers, after)
    assert not all(ends_of_lloyd), "Lloyd's algorithm should end where a row could still move"


def _is_content(X: np.ndarray, weights: np.ndarray, centers: np.ndarray, found: float) -> bool:
    """Whether moving any single row, with the means, is no better than the error found."""
    labels = squared(X, centers).argmin(axis=1)
    assert found == pytest.approx(_spread(X, labels, weights), rel=1e-5)
    rows, k = np.arange(len(X)), len(centers)
    moved = [_spread(X, np.where(rows == i, h, labels), weights) for i in rows for h in range(k)]
    return min(moved) >= found * (1 - 1e-6)


def _spread(X: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    total = 0.0
    for h in np.unique(labels):
        w = weights[labels == h].astype(float)
        if w.sum() > 0:
            rows = X[labels == h].astype(float)
            total += w @ ((rows - w @ rows / w.sum()) ** 2).sum(axis=1)
    return total


def test_losses_are_what_the_error_rises_by() -> None:
    rng = np.random.default_rng(1)
    X, weights, centers = rng.normal(size=(50, 3)), rng.uniform(size=50), rng.normal(size=(5, 3))
    losses = np.empty(5)
    removal_losses(X, weights, centers, losses)
    whole = error(X, centers, weights)
    rises = [error(X, np.delete(centers, h, axis=0), weights) - whole for h in range(5)]
    np.testing.assert_allclose(losses, rises)


def test_many_rows_have_one_trial_few_have_some() -> None:
    assert number_of_trials(20, 2) == MIN_TRIALS
    assert number_of_trials(900, 4) == 45
    assert number_of_trials(1_000_000, 8) == 1


# ------------------------------------------------------------------ the kd-tree


@pytest.mark.parametrize("n_leaves", [1, 2, 7, 64])
def test_leaves_partition_the_rows(n_leaves: int, iris: np.ndarray) -> None:
    leaves = kd_partition(Points.of(iris, None), n_leaves)
    assert len(leaves) == n_leaves
    assert sorted(np.concatenate(leaves).tolist()) == list(range(150))
    means = kd_means(Points.of(iris, None), n_leaves)
    np.testing.assert_allclose(means, [iris[leaf].mean(axis=0) for leaf in leaves])


def test_first_cut_is_across_the_first_principal_direction(iris: np.ndarray) -> None:
    centred = iris - iris.mean(axis=0)
    side = centred @ np.linalg.svd(centred)[2][0] >= 0
    leaves = kd_partition(Points.of(iris, None), 2)
    halves = {frozenset(np.flatnonzero(side)), frozenset(np.flatnonzero(~side))}
    assert {frozenset(leaf) for leaf in leaves} == halves


def test_rows_that_are_equal_stay_together() -> None:
    X = np.repeat([[0.1, 0.2], [3.0, 4.0]], 10, axis=0)
    assert [leaf.tolist() for leaf in kd_partition(Points.of(X, None), 9)] == [
        list(range(10)),
        list(range(10, 20)),
    ]


@pytest.mark.parametrize("d", [3, 40])
def test_rotations_change_nothing(d: int) -> None:
    rng = np.random.default_rng(9)
    X = rng.normal(size=(100, d)) * rng.uniform(0.5, 2, size=d)
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    before, after = (kd_partition(Points.of(Z, None), 16) for Z in (X, X @ rotation))
    assert [leaf.tolist() for leaf in before] == [leaf.tolist() for leaf in after]
    published = GlobalKMeans(5, candidates="kd-tree", n_trials=1)
    first, second = (clone(published).fit(Z) for Z in (X, X @ rotation))
    np.testing.assert_array_equal(first.labels_, second.labels_)


# ------------------------------------------------------------------ bad input and interruptions


def test_interruption_keeps_the_path_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(1500, 8))
    original, steps = FitProgress.step, itertools.count(1)

    def step(self: FitProgress, objective: float | None = None) -> None:
        original(self, objective)
        if next(steps) == 20:  # as if Ctrl-C came while candidates are tried
            raise KeyboardInterrupt

    monkeypatch.setattr(FitProgress, "step", step)
    model = GlobalKMeans(30, method="full")
    with (
        sidelight.progress(show=False, keep_best=True),
        pytest.warns(ConvergenceWarning, match="interrupted"),
    ):
        model.fit(X)
    assert 1 <= len(model.cluster_centers_) == len(model.search_["cluster_centers"]) < 30
    assert not model.converged_
    assert model.predict(X).shape == (1500,)


@pytest.mark.parametrize("keep_best", [True, False])
@pytest.mark.parametrize("params", [{}, {"n_trials": 1}, {"method": "full"}])
def test_interruption_between_two_searches_keeps_the_path_so_far(
    params: Any, keep_best: bool, iris: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = GlobalKMeans(8, **params).fit(iris)
    original, calls = _global_kmeans.run_lloyd, itertools.count(1)

    def run_lloyd(*args: Any) -> Any:
        if next(calls) == 5:  # as if Ctrl-C came after four clusters, before anything has begun
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(_global_kmeans, "run_lloyd", run_lloyd)
    model = GlobalKMeans(8, **params)
    keeping = sidelight.progress(show=False, keep_best=keep_best)
    if not keep_best:
        with keeping, pytest.raises(KeyboardInterrupt):
            model.fit(iris)
        return
    with keeping, pytest.warns(ConvergenceWarning, match="interrupted after 4"):
        model.fit(iris)
    np.testing.assert_array_equal(model.search_["objective"], whole.search_["objective"][:4])
    np.testing.assert_allclose(model.cluster_centers_, whole.search_["cluster_centers"][3])
    assert not model.converged_
    assert model.labels_.max() == 3
