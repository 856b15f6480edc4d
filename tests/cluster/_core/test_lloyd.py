"""The Lloyd core against brute force, scikit-learn and its own promises."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import KMeans as ReferenceKMeans
from sklearn.datasets import make_blobs
from tests.strategies import ROWS

import sidelight
from sidelight._fit.moments import moments
from sidelight.cluster._core import _lloyd
from sidelight.cluster._core._distances import (
    center_distances,
    labeled_distances,
    nearest_centers,
)
from sidelight.cluster._core._lloyd import ConstrainedRows, Relabeled, lloyd
from sidelight.cluster._core._passes import BoundedPass
from sidelight.engine import _memory, as_rows, threads


def naive_lloyd(X, centers, weights, n_iter, held_rows=(), held_labels=()):
    """Lloyd's algorithm as the textbook has it, in float64; centres, labels, J per iteration."""
    X, centers = X.astype(float), centers.astype(float)
    steps = []
    for _ in range(n_iter):
        squared = ((X[:, None, :] - centers[None]) ** 2).sum(axis=2)
        labels = squared.argmin(axis=1)
        labels[list(held_rows)] = held_labels
        steps.append((centers, labels, (weights * squared[np.arange(len(X)), labels]).sum()))
        centers = np.array(
            [
                np.average(X[labels == h], axis=0, weights=weights[labels == h])
                if weights[labels == h].sum() > 0
                else centers[h]
                for h in range(len(centers))
            ]
        )
    return steps


@pytest.fixture(scope="module")
def blobs():
    X, _ = make_blobs(3000, n_features=6, centers=9, cluster_std=4.0, random_state=0)
    return X


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_step_is_the_textbook_step(blobs, kind, dtype, weighted):
    X, start = blobs.astype(dtype), blobs[:5].astype(dtype)
    weights = np.random.default_rng(0).uniform(0, 3, len(X)) if weighted else np.ones(len(X))
    steps = naive_lloyd(X, start, weights, 7)
    source = as_rows(kind(X))
    for t, (centers, labels, objective) in enumerate(steps):
        result = lloyd(
            source, start, sample_weight=weights if weighted else None, max_iter=t + 1, tol=0
        )
        np.testing.assert_allclose(result.history[t], objective, rtol=1e-5)
        assert result.n_iter == t + 1
        if t:
            before = lloyd(
                source, start, sample_weight=weights if weighted else None, max_iter=t, tol=0
            )
            np.testing.assert_allclose(before.centers, centers, rtol=1e-4, atol=1e-4)
            assert np.mean(before.labels == labels) > 0.998  # rounding may settle a tie
            assert before.centers.dtype == dtype


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_equals_scikit_learn_from_the_same_centres(blobs, kind):
    start = blobs[:12]
    ours = lloyd(as_rows(kind(blobs)), start, tol=0)
    theirs = ReferenceKMeans(12, init=start, n_init=1, tol=0).fit(kind(blobs))
    np.testing.assert_array_equal(ours.labels, theirs.labels_)
    np.testing.assert_allclose(ours.centers, theirs.cluster_centers_, rtol=1e-9, atol=1e-9)
    assert ours.inertia == pytest.approx(theirs.inertia_, rel=1e-10)
    assert ours.n_iter == theirs.n_iter_
    assert ours.converged


def test_weights_equal_repeated_rows(blobs):
    times = np.random.default_rng(0).integers(0, 4, len(blobs))
    start = blobs[:4]
    weighted = lloyd(as_rows(blobs), start, sample_weight=times.astype(float), tol=0)
    repeated = lloyd(as_rows(np.repeat(blobs, times, axis=0)), start, tol=0)
    np.testing.assert_allclose(weighted.centers, repeated.centers)
    np.testing.assert_array_equal(np.repeat(weighted.labels, times), repeated.labels)
    assert weighted.inertia == pytest.approx(repeated.inertia)


@given(X=ROWS, k=st.integers(1, 6), seed=st.integers(0, 100))
def test_objective_never_rises_and_the_result_is_consistent(X, k, seed):
    rng = np.random.default_rng(seed)
    k = min(k, len(X))
    result = lloyd(as_rows(X), X[rng.choice(len(X), k, replace=False)], tol=0)
    scale = max(1.0, float(np.sum(X**2)))
    assert np.all(np.diff(result.history) <= 1e-12 * scale)
    assert np.isfinite(result.centers).all()
    squared = ((X - result.centers[result.labels]) ** 2).sum()
    assert result.inertia == pytest.approx(squared, rel=1e-9, abs=1e-12 * scale)
    assert result.history[-1] == result.inertia
    np.testing.assert_array_equal(nearest_centers(as_rows(X), result.centers), result.labels)
    if result.converged:  # every centre is the mean of its rows
        for h in np.unique(result.labels):
            np.testing.assert_allclose(
                result.centers[h], X[result.labels == h].mean(axis=0), atol=1e-9 * scale
            )


@pytest.mark.parametrize("seed", range(3))
def test_no_partition_is_better_than_the_best_and_lloyd_finds_it(seed):
    X = np.random.default_rng(seed).normal(size=(8, 2))
    best = np.inf
    for labels in itertools.product(range(3), repeat=8):
        labels = np.array(labels)
        parts = [X[labels == h] for h in range(3)]
        best = min(best, sum(((p - p.mean(axis=0)) ** 2).sum() for p in parts if len(p)))
    found = [
        lloyd(as_rows(X), X[list(start)], tol=0).inertia
        for start in itertools.combinations(range(8), 3)
    ]
    assert min(found) == pytest.approx(best)
    assert np.all(np.array(found) >= best * (1 - 1e-12))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_threads_gives_the_same_bits(blobs, kind, dtype, monkeypatch):
    monkeypatch.setattr(_memory, "TILE_ROWS", 100)
    monkeypatch.setattr(_memory, "MAX_BLOCK_TILES", 1)
    source = as_rows(kind(blobs.astype(dtype)))
    assert len(source.blocks) == 30
    results = []
    for n in (1, 2, 3, 5):
        with threads(n):
            results.append(lloyd(source, blobs[:7], max_iter=15, tol=0))
    for other in results[1:]:
        np.testing.assert_array_equal(other.centers, results[0].centers)
        np.testing.assert_array_equal(other.labels, results[0].labels)
        np.testing.assert_array_equal(other.history, results[0].history)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 300.0])
@pytest.mark.parametrize("k", [1, 2, 30])
def test_bounds_change_nothing(dtype, offset, k, monkeypatch):
    rng = np.random.default_rng(k)
    X = rng.normal(size=(12, 5))[rng.integers(12, size=6000)] + 0.4 * rng.normal(size=(6000, 5))
    X = (X + offset).astype(dtype)
    held = Fixed(np.arange(0, 6000, 50), rng.integers(k, size=120))
    loop = {"constrained": held, "sample_weight": rng.random(6000), "max_iter": 40, "tol": 0}
    plain = lloyd(as_rows(X), X[:k], **loop)
    skipped = []

    class Counting(BoundedPass):
        def _label(self, rows, labels, lower, memory):
            bounds = lower.copy()
            super()._label(rows, labels, lower, memory)
            skipped.append(np.mean((lower <= bounds) & np.isfinite(bounds)))

    monkeypatch.setattr(_lloyd, "WORTH_BOUNDS", 0)
    monkeypatch.setattr(_lloyd, "MAX_CHANGED_SHARE", 0.3)
    monkeypatch.setattr(_lloyd, "BoundedPass", Counting)
    for n in (1, 3):
        with threads(n):
            bounded = lloyd(as_rows(X), X[:k], **loop)
        np.testing.assert_array_equal(bounded.labels, plain.labels)
        np.testing.assert_array_equal(bounded.history, plain.history)
    if k > 2:
        assert np.max(skipped) > 0.5  # most rows of some tile were not looked at again


def test_far_from_the_origin_single_precision_keeps_its_digits():
    rng = np.random.default_rng(0)
    means = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    truth = rng.integers(3, size=2000)
    X = (means[truth] + 0.05 * rng.normal(size=(2000, 2)) + 3000.0).astype(np.float32)
    result = lloyd(as_rows(X), X[[np.flatnonzero(truth == h)[0] for h in range(3)]], tol=0)
    np.testing.assert_array_equal(result.labels, truth)
    exact = ((X.astype(float) - result.centers[result.labels].astype(float)) ** 2).sum()
    assert result.inertia == pytest.approx(exact, rel=1e-4)


def test_tight_clusters_far_apart_have_an_exact_inertia():
    rng = np.random.default_rng(1)
    X = np.repeat([[-1e6], [1e6]], 500, axis=0) + 1e-3 * rng.normal(size=(1000, 1))
    result = lloyd(as_rows(X), X[[0, -1]], tol=0)
    by_hand = sum(((part - part.mean()) ** 2).sum() for part in (X[:500], X[500:]))
    assert result.inertia == pytest.approx(by_hand, rel=1e-5)


def test_many_rows_in_single_precision_do_not_drift():
    X = (np.random.default_rng(0).random((300_000, 2)) + 10).astype(np.float32)
    result = lloyd(as_rows(X), X[:1], max_iter=2, tol=0)
    np.testing.assert_allclose(result.centers[0], X.mean(axis=0, dtype=float), rtol=2e-7)
    exact = ((X - X.mean(axis=0, dtype=float)) ** 2).sum()
    assert result.inertia == pytest.approx(exact, rel=1e-5)


class Fixed(ConstrainedRows):
    """Rows that keep a label, at a cost."""

    def __init__(self, rows, labels, penalty=0.0, fail_at=None):
        self.rows, self.labels, self.penalty = np.asarray(rows), np.asarray(labels), penalty
        self.fail_at, self.calls = fail_at, 0

    def relabel(self, centers, nearest=None):
        self.calls += 1
        if self.calls == self.fail_at:
            raise KeyboardInterrupt
        return Relabeled(self.labels, self.penalty)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_held_rows_keep_their_label_and_count_in_the_sums(blobs, kind, monkeypatch):
    monkeypatch.setattr(_memory, "TILE_ROWS", 128)
    monkeypatch.setattr(_memory, "MAX_BLOCK_TILES", 1)
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(len(blobs), 400, replace=False))
    labels = rng.integers(5, size=400)
    start = blobs[:5]
    steps = naive_lloyd(blobs, start, np.ones(len(blobs)), 6, rows, labels)
    result = lloyd(
        as_rows(kind(blobs)), start, constrained=Fixed(rows, labels, penalty=2.5), max_iter=5, tol=0
    )
    np.testing.assert_array_equal(result.labels[rows], labels)
    np.testing.assert_allclose(result.centers, steps[5][0])
    np.testing.assert_array_equal(result.labels, steps[5][1])
    np.testing.assert_allclose(result.history, [2.5 + step[2] for step in steps])
    assert result.penalty == 2.5
    assert result.objective == pytest.approx(result.inertia + 2.5)
    free = np.setdiff1d(np.arange(len(blobs)), rows)
    nearest = nearest_centers(as_rows(kind(blobs)), result.centers)
    np.testing.assert_array_equal(nearest[free], result.labels[free])


def test_all_rows_held():
    X = np.arange(12.0).reshape(6, 2)
    result = lloyd(as_rows(X), X[:2], constrained=Fixed(np.arange(6), [0, 0, 1, 1, 0, 0]))
    np.testing.assert_allclose(result.centers, [X[[0, 1, 4, 5]].mean(0), X[2:4].mean(0)])
    assert result.converged


def test_an_interruption_keeps_a_consistent_state(blobs):
    held = Fixed([0], [0], fail_at=4)
    with (
        sidelight.progress(show=False, keep_best=True),
        pytest.warns(UserWarning, match="interrupted after 3 iterations"),
    ):
        result = lloyd(as_rows(blobs), blobs[:8], constrained=held, tol=0)
    assert result.interrupted
    assert not result.converged
    assert result.n_iter == len(result.history) == 3
    free = np.arange(1, len(blobs))
    nearest = nearest_centers(as_rows(blobs), result.centers)
    np.testing.assert_array_equal(nearest[free], result.labels[free])


def test_an_interruption_without_being_asked_to_keep_anything_is_raised(blobs):
    with pytest.raises(KeyboardInterrupt):
        lloyd(as_rows(blobs), blobs[:8], constrained=Fixed([0], [0], fail_at=4), tol=0)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_empty_clusters_get_the_farthest_rows(kind):
    X = np.array([[0.0], [0.1], [0.2], [5.0], [9.0]])
    start = np.array([[0.1], [100.0], [200.0]])  # nobody is nearest to the last two
    result = lloyd(as_rows(kind(X)), start, tol=0)
    assert result.inertia == pytest.approx(0.02)
    np.testing.assert_array_equal(result.labels, [0, 0, 0, 2, 1])
    assert np.all(np.diff(result.history) <= 0)


def test_two_empty_clusters_never_get_equal_rows():
    X = np.array([[0.0], [0.1], [9.0], [9.0], [9.0], [4.0]])
    start = np.array([[0.05], [100.0], [200.0]])
    result = lloyd(as_rows(X), start, tol=0)
    np.testing.assert_array_equal(result.labels, [0, 0, 1, 1, 1, 2])


def test_more_clusters_than_distinct_rows():
    X = np.repeat([[1.0, 2.0], [3.0, 4.0]], 5, axis=0)
    result = lloyd(as_rows(X), np.zeros((4, 2)))
    assert result.inertia == 0
    assert len(np.unique(result.labels)) == 2
    assert np.isfinite(result.centers).all()


def test_rows_of_weight_zero_do_not_move_a_centre():
    X = np.array([[0.0], [1.0], [10.0], [50.0]])
    result = lloyd(
        as_rows(X), np.array([[0.0], [10.0]]), sample_weight=np.array([1.0, 1.0, 1.0, 0.0])
    )
    np.testing.assert_allclose(result.centers, [[0.5], [10.0]])
    assert result.labels[3] == 1


def test_tolerance_stops_early_and_the_labels_belong_to_the_centres(blobs):
    exact = lloyd(as_rows(blobs), blobs[:9], tol=0)
    early = lloyd(as_rows(blobs), blobs[:9], tol=1e-2)
    assert early.n_iter < exact.n_iter
    assert early.converged
    np.testing.assert_array_equal(nearest_centers(as_rows(blobs), early.centers), early.labels)
    stopped = lloyd(as_rows(blobs), blobs[:9], tol=0, max_iter=2)
    assert not stopped.converged
    np.testing.assert_array_equal(nearest_centers(as_rows(blobs), stopped.centers), stopped.labels)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8, 9, 700])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_nearest_centres_for_any_number_of_them(k, kind):
    rng = np.random.default_rng(k)
    X, centers = rng.normal(size=(3000, 3)), rng.normal(size=(k, 3))
    squared = ((X[:, None] - centers[None]) ** 2).sum(axis=2)
    labels = nearest_centers(as_rows(kind(X)), centers)
    np.testing.assert_array_equal(labels, squared.argmin(axis=1))
    assert labels.dtype == np.int32


def test_of_equal_centres_the_first_is_the_nearest():
    labels = nearest_centers(as_rows(np.ones((3, 2))), np.ones((6, 2)))
    np.testing.assert_array_equal(labels, [0, 0, 0])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances(blobs, kind, dtype):
    X, centers = blobs.astype(dtype), blobs[:4].astype(dtype)
    expected = np.sqrt(((X[:, None].astype(float) - centers[None]) ** 2).sum(axis=2))
    distances = center_distances(as_rows(kind(X)), centers)
    assert distances.dtype == dtype
    np.testing.assert_allclose(distances, expected, rtol=1e-6)
    assert np.all(np.diag(distances[:4]) == 0)
    labels = expected.argmin(axis=1)
    squared = labeled_distances(as_rows(kind(X)), centers, labels)
    np.testing.assert_allclose(squared, expected.min(axis=1) ** 2, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_mean_variance(blobs, kind):
    weights = np.random.default_rng(0).integers(0, 4, len(blobs)).astype(float)
    source = as_rows(kind(blobs))
    assert moments(source).mean_variance == pytest.approx(blobs.var(axis=0).mean())
    repeated = np.repeat(blobs, weights.astype(int), axis=0)
    assert moments(source, weights).mean_variance == pytest.approx(repeated.var(axis=0).mean())
