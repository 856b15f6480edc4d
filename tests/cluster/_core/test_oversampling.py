"""k-means||: seeds that no cut of the rows changes, the probabilities of a round, hard cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import kstest
from sklearn.datasets import make_blobs
from tests.common.partitions import cut
from tests.engine.partitioned.test_equal_to_memory import Forgetful

from sidelight import Constraints
from sidelight._kernels.cluster.oversampling import uniforms
from sidelight.cluster import KMeans, PCKMeans, SeededKMeans, SphericalKMeans
from sidelight.cluster._core._distances import labeled_distances, nearest_centers
from sidelight.cluster._core._oversampling import CandidateRounds, _draw_candidates, kmeans_parallel
from sidelight.cluster._core._seeding import kmeans_plusplus
from sidelight.engine import _memory, as_rows, threads
from sidelight.engine.partitioned._local import LocalEngine
from sidelight.engine.partitioned._rows import PartitionedRows


def test_fits_from_it_are_as_good_as_from_one_row_after_the_other() -> None:
    X, _ = make_blobs(3000, n_features=4, centers=30, cluster_std=0.6, random_state=2)
    ours, theirs = (
        np.mean(
            [
                KMeans(30, init=init, n_init=1, random_state=seed).fit(X).objective_
                for seed in range(10)
            ]
        )
        for init in ("k-means||", "k-means++")
    )
    assert ours < 1.02 * theirs


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.UnusedKnowledge")
def test_very_many_rows_start_by_it_unless_another_start_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = make_blobs(300, centers=5, random_state=1)
    known = Constraints.from_labels(np.where(np.arange(300) < 4, y, -1))

    def starts(cls: Any, **setting: Any) -> np.ndarray:
        model = cls(8, n_init=1, max_iter=1, random_state=3, **setting)
        centers: np.ndarray = model.fit(X, constraints=known).cluster_centers_
        return centers

    for cls in (KMeans, SphericalKMeans, SeededKMeans, PCKMeans):
        few = starts(cls)
        monkeypatch.setattr("sidelight.cluster._core._starts.MANY_ROWS", 300)
        many = starts(cls)
        assert not np.array_equal(few, many)
        if cls is not PCKMeans:  # whose automatic choice begins with known rows
            np.testing.assert_array_equal(few, starts(cls, init="k-means++"))
            np.testing.assert_array_equal(many, starts(cls, init="k-means||"))
        monkeypatch.undo()


def test_directions_start_on_the_sphere() -> None:
    X = np.random.default_rng(0).normal(size=(200, 4))
    rows, _ = SphericalKMeans(5)._validate_fit(X, None, None)
    centers = SphericalKMeans(5, init="k-means||")._start(rows, np.random.RandomState(0), None)
    np.testing.assert_allclose(np.linalg.norm(centers, axis=1), 1)


# --- what it is made of ---


def state(seed: int) -> np.random.RandomState:
    return np.random.RandomState(seed)


def cost(X: np.ndarray, centers: np.ndarray) -> float:
    rows = as_rows(X)
    return float(labeled_distances(rows, centers, nearest_centers(rows, centers)).sum())


def test_as_good_a_start_as_one_row_after_the_other() -> None:
    X, _ = make_blobs(3000, n_features=4, centers=30, cluster_std=0.6, random_state=2)
    many = [cost(X, kmeans_parallel(as_rows(X), 30, state(seed))) for seed in range(10)]
    greedy = [cost(X, kmeans_plusplus(as_rows(X), 30, state(seed))) for seed in range(10)]
    assert np.mean(many) < np.mean(greedy)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_any_cut_gives_the_centers_of_memory(kind: Any, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.uniform(size=(400, 5)) < 0.6, rng.normal(size=(400, 5)), 0)
    weights = rng.integers(0, 3, 400).astype(float) if weighted else None
    here = kmeans_parallel(as_rows(kind(X)), 6, state(1), sample_weight=weights)
    for n_parts in (1, 2, 3, 7):
        parts = PartitionedRows(LocalEngine(cut(kind(X), n_parts)))
        there = kmeans_parallel(parts, 6, state(1), sample_weight=weights)
        np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-12)
    for seed in range(5):
        lost = PartitionedRows(Forgetful(cut(kind(X), 3), seed))
        there = kmeans_parallel(lost, 6, state(1), sample_weight=weights)
        np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-12)


def test_six_passes_for_any_number_of_clusters() -> None:
    X = np.random.default_rng(0).normal(size=(900, 3))
    for k in (3, 40):
        parts = PartitionedRows(LocalEngine(cut(X, 3)))
        kmeans_parallel(parts, k, state(0))
        assert parts.n_passes == 6


def test_threads_and_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(2000, 4)).astype(np.float32)
    whole = kmeans_parallel(as_rows(X), 7, state(0))
    assert whole.dtype == np.float32
    monkeypatch.setattr(_memory, "TILE_ROWS", 100)
    monkeypatch.setattr(_memory, "MAX_BLOCK_TILES", 1)
    for n in (1, 2, 3):
        with threads(n):
            np.testing.assert_allclose(kmeans_parallel(as_rows(X), 7, state(0)), whole, rtol=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fewer_distinct_rows_than_centers(kind: Any, dtype: Any) -> None:
    X = np.repeat(np.array([[1.0, 3.0], [2.0, 0.0]]), [30, 5], axis=0).astype(dtype)
    centers = kmeans_parallel(as_rows(kind(X)), 4, state(0))
    assert centers.shape == (4, 2)
    assert {tuple(center) for center in centers.tolist()} == {(1.0, 3.0), (2.0, 0.0)}
    one = kmeans_parallel(as_rows(kind(X[:9])), 2, state(0))
    np.testing.assert_array_equal(one, np.repeat(X[:1], 2, axis=0))


def test_one_cluster_starts_within_the_rows() -> None:
    X = np.random.default_rng(0).normal(size=(500, 2)) + 7
    (center,) = kmeans_parallel(as_rows(X), 1, state(0))
    assert np.all(center > X.min(axis=0))
    assert np.all(center < X.max(axis=0))


def test_rows_without_weight_are_no_candidates() -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    weights = np.where(np.arange(300) % 3 == 0, 2.0, 0.0)
    for seed in range(5):
        candidates, masses = _draw_candidates(as_rows(X), 8, state(seed), X[:0], weights)
        light = X[weights == 0]
        assert not (candidates[:, None] == light[None]).all(axis=-1).any()
        assert masses.sum() == weights.sum()


def test_given_centers_come_first_and_stay() -> None:
    X, _ = make_blobs(500, centers=[[0, 0], [9, 0], [0, 9]], cluster_std=0.3, random_state=0)
    given = np.array([[0.5, 0.5]])
    for seed in range(5):
        centers = kmeans_parallel(as_rows(X), 3, state(seed), given=given)
        np.testing.assert_array_equal(centers[0], given[0])
        assert sorted(np.round(centers[1:].max(axis=1)).tolist()) == [9, 9]
    many = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(kmeans_parallel(as_rows(X), 3, state(0), given=many), many[:3])


# ------------------------------------------------------------------ a round


def test_a_row_is_drawn_with_its_probability() -> None:
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(40, 2)), rng.uniform(0, 2, 40)
    first = X[:1]
    squared = ((X - first) ** 2).sum(axis=1)
    expected = np.minimum(1, 6 * weights * squared / (weights @ squared))
    assert (expected == 1).sum() < 3
    n, drawn = 4000, np.zeros(40)
    for key in range(n):
        drawn[CandidateRounds(as_rows(X), weights, 6).join(first, key)] += 1
    error = np.sqrt(expected * (1 - expected) / n)
    assert np.all(np.abs(drawn / n - expected) <= 4.5 * error + 1e-3)


def test_numbers_by_position_are_uniform_and_independent() -> None:
    out = np.empty((6, 50_000))
    for key, row in enumerate(out):
        uniforms(0, np.uint64(key), row)
    assert out.min() > 0
    assert out.max() < 1
    assert min(kstest(row, "uniform").pvalue for row in out) > 1e-4
    lagged = [np.corrcoef(row[:-lag], row[lag:])[0, 1] for row in out for lag in (1, 2, 64)]
    assert np.abs(lagged).max() < 5 / np.sqrt(50_000)
    assert np.abs(np.corrcoef(out) - np.eye(6)).max() < 5 / np.sqrt(50_000)
    bits = (out[:, :, None] * 2.0 ** np.arange(1, 21)).astype(np.int64) % 2
    assert np.abs(bits.mean(axis=(0, 1)) - 0.5).max() < 5 / np.sqrt(4 * 300_000)
    tail = np.empty(100)
    uniforms(777, np.uint64(2), tail)
    np.testing.assert_array_equal(tail, out[2, 777:877])
