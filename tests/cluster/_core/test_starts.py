"""D² sampling: its probabilities, its weights, given centres; and rows far from each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from sidelight.cluster import KMeans
from sidelight.cluster._core._distances import labeled_distances, nearest_centers
from sidelight.cluster._core._seeding import farthest_first, kmeans_plusplus, random_rows
from sidelight.engine import _memory, as_rows, threads


def state(seed):
    return np.random.RandomState(seed)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centres_are_different_rows(kind, dtype):
    X = np.random.default_rng(0).normal(size=(200, 3)).astype(dtype)
    centers = kmeans_plusplus(as_rows(kind(X)), 20, state(0))
    assert centers.dtype == dtype
    found = [np.flatnonzero((center == X).all(axis=1)) for center in centers]
    assert all(len(rows) == 1 for rows in found)
    assert len({int(rows[0]) for rows in found}) == 20


def test_separated_groups_get_a_centre_each():
    X, y = make_blobs(400, centers=8, cluster_std=0.05, random_state=1)
    for seed in range(10):
        centers = kmeans_plusplus(as_rows(X), 8, state(seed))
        groups = y[[int(np.flatnonzero((c == X).all(axis=1))[0]) for c in centers]]
        assert len(set(groups)) == 8


def test_given_centres_come_first_and_repel():
    X = np.array([[0.0], [0.0], [0.0], [10.0], [20.0]])
    for seed in range(20):
        centers = kmeans_plusplus(as_rows(X), 3, state(seed), given=np.array([[0.0]]))
        np.testing.assert_array_equal(centers[0], [0.0])
        assert sorted(centers[1:, 0]) == [10.0, 20.0]
    given = np.array([[1.0], [2.0]])
    np.testing.assert_array_equal(kmeans_plusplus(as_rows(X), 2, state(0), given=given), given)


def test_first_centre_is_drawn_by_weight():
    X = np.arange(4.0)[:, None]
    weights = np.array([0.0, 1.0, 3.0, 0.0])
    draws = [
        kmeans_plusplus(as_rows(X), 1, state(seed), sample_weight=weights)[0, 0]
        for seed in range(2000)
    ]
    assert set(draws) == {1.0, 2.0}
    assert np.mean(np.array(draws) == 2.0) == pytest.approx(0.75, abs=0.04)


def test_second_centre_is_drawn_by_squared_distance():
    # Two candidates are drawn with D² probabilities 1/5 and 4/5; the far row leaves less behind
    # (1 against 4), so the near one is chosen only if it is drawn twice.
    X = np.array([[0.0], [-1.0], [2.0]])
    second = [
        kmeans_plusplus(as_rows(X), 2, state(seed), given=np.array([[0.0]]))[1, 0]
        for seed in range(2000)
    ]
    assert np.mean(np.array(second) == -1.0) == pytest.approx(0.04, abs=0.015)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_heavy_row_is_a_repeated_row_and_order_does_not_matter(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    times = rng.integers(0, 4, 60)
    shuffled = rng.permutation(60)
    repeated = kmeans_plusplus(as_rows(kind(np.repeat(X, times, axis=0))), 6, state(3))
    weighted = kmeans_plusplus(
        as_rows(kind(X[shuffled])), 6, state(3), sample_weight=times[shuffled].astype(float)
    )
    np.testing.assert_array_equal(weighted, repeated)


def test_fewer_distinct_rows_than_centres():
    X = np.ones((5, 2))
    np.testing.assert_array_equal(kmeans_plusplus(as_rows(X), 3, state(0)), np.ones((3, 2)))


def test_threads_and_blocks_do_not_matter(monkeypatch):
    X = np.random.default_rng(0).normal(size=(2000, 4)).astype(np.float32)
    whole = kmeans_plusplus(as_rows(X), 7, state(0))
    monkeypatch.setattr(_memory, "TILE_ROWS", 100)
    monkeypatch.setattr(_memory, "MAX_BLOCK_TILES", 1)
    for n in (1, 2, 3, 5):
        with threads(n):
            np.testing.assert_array_equal(kmeans_plusplus(as_rows(X), 7, state(0)), whole)


def test_better_than_random_rows():
    X, _ = make_blobs(2000, centers=15, cluster_std=1.0, random_state=0)
    source = as_rows(X)

    def cost(centers):
        return labeled_distances(source, centers, nearest_centers(source, centers)).sum()

    plus = [cost(kmeans_plusplus(source, 15, state(seed))) for seed in range(10)]
    plain = [cost(random_rows(source, 15, state(seed))) for seed in range(10)]
    assert np.median(plus) < 0.7 * np.median(plain)


def test_random_rows_are_different_and_weighted():
    X = np.arange(10.0)[:, None]
    centers = random_rows(as_rows(X), 10, state(0))
    np.testing.assert_array_equal(np.sort(centers, axis=0), X)
    weights = np.where(np.arange(10) < 3, 1.0, 0.0)
    chosen = random_rows(as_rows(X), 3, state(0), sample_weight=weights)
    np.testing.assert_array_equal(np.sort(chosen, axis=0), X[:3])
    assert len(np.unique(random_rows(as_rows(X), 5, state(0), sample_weight=weights))) == 5


def test_farthest_first_takes_the_farthest_row_every_time() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    centers = farthest_first(as_rows(X), 6, np.random.RandomState(0))
    for h in range(1, 6):
        closest = ((X[:, None] - centers[None, :h]) ** 2).sum(axis=-1).min(axis=1)
        np.testing.assert_array_equal(centers[h], X[np.argmax(closest)])


def test_farthest_first_continues_given_centres_and_skips_rows_without_weight() -> None:
    X = np.array([[0.0], [1.0], [5.0], [100.0]])
    weights = np.array([1.0, 1.0, 1.0, 0.0])
    given = np.array([[-1.0]])
    centers = farthest_first(
        as_rows(X), 2, np.random.RandomState(0), given=given, sample_weight=weights
    )
    assert centers.ravel().tolist() == [-1.0, 5.0]


def test_farthest_first_of_sparse_rows_in_any_order() -> None:
    X = np.random.default_rng(1).integers(0, 3, size=(40, 6)).astype(float)
    dense = farthest_first(as_rows(X), 5, np.random.RandomState(3))
    thin = farthest_first(as_rows(sparse.csr_array(X)), 5, np.random.RandomState(3))
    other = farthest_first(as_rows(X[::-1].copy()), 5, np.random.RandomState(3))
    np.testing.assert_array_equal(dense, thin)
    np.testing.assert_array_equal(dense, other)
    model = KMeans(5, init="farthest-first", random_state=3, n_init=1).fit(X)
    assert model.objective_ <= ((X[:, None] - dense[None]) ** 2).sum(axis=-1).min(axis=1).sum()
