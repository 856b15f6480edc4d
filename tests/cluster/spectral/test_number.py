"""Number of clusters by the eigenvalues or the eigenvectors of a graph."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import check_grad
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from sidelight._kernels.cluster.alignment import alignment_cost, rotation_of, slopes_of_angles
from sidelight.cluster import SpectralClustering
from sidelight.cluster.spectral._number import align, aligned_number, eigengap
from sidelight.graphs import smooth_eigenvectors

TRUTH = np.repeat([0, 1, 2], [12, 9, 15])


def random_graph(seed: int, n: int) -> np.ndarray:
    W = np.triu(np.random.default_rng(seed).uniform(size=(n, n)), 1)
    return W + W.T


@pytest.fixture(scope="module")
def blocks() -> np.ndarray:
    return sparse.block_diag([random_graph(s, n) for s, n in ((1, 12), (2, 9), (3, 15))]).toarray()


def blobs(seed: int) -> tuple[np.ndarray, np.ndarray]:
    return make_blobs([60, 100, 140], centers=[[0, 0], [12, 0], [0, 12]], random_state=seed)


def many_blobs(seed: int) -> tuple[np.ndarray, np.ndarray]:
    return make_blobs(420, centers=10 * np.eye(7, 6), cluster_std=0.7, random_state=seed)


def rings(seed: int) -> tuple[np.ndarray, np.ndarray]:
    return make_circles(400, factor=0.4, noise=0.04, random_state=seed)


def moons(seed: int) -> tuple[np.ndarray, np.ndarray]:
    return make_moons(400, noise=0.05, random_state=seed)


def joined_blobs(seed: int) -> tuple[np.ndarray, np.ndarray]:
    return make_blobs(400, centers=[[0, 0], [6, 0], [0, 6], [6, 6]], random_state=seed)


APART = (blobs, many_blobs, rings, moons)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("choice", "data"),
    [
        *((choice, data) for choice in ("eigengap", "alignment") for data in APART),
        ("eigengap", joined_blobs),
    ],
)
def test_clusters_that_are_well_apart_are_counted(choice, data, seed):
    X, y = data(seed)
    labels = SpectralClustering(choice, random_state=0).fit(X).labels_
    assert adjusted_rand_score(y, labels) > 0.95


@pytest.mark.parametrize("choice", ["eigengap", "alignment"])
def test_the_number_of_clusters_is_found_in_a_full_graph(choice):
    X, y = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)
    model = SpectralClustering(choice, graph="full", weights="gaussian", sigma=1.0, random_state=0)
    assert adjusted_rand_score(y, model.fit(X).labels_) > 0.98


@pytest.mark.parametrize("objective", ["normalized-cut", "ratio-cut"])
@pytest.mark.parametrize("bridge", [0.0, 1e-14, 1e-9, 1e-4, 1e-2])
def test_parts_that_hardly_hang_together_count_as_parts(blocks, bridge, objective):
    W = 5.0 * blocks
    W[0, 12] = W[12, 0] = W[13, 22] = W[22, 13] = 5.0 * bridge
    model = SpectralClustering(
        "eigengap", graph="precomputed", objective=objective, random_state=0
    ).fit(W)
    assert adjusted_rand_score(TRUTH, model.labels_) == 1


def test_a_marked_gap_within_the_parts_counts_further():
    W = sparse.block_diag([random_graph(s, 15) for s in range(4)]).toarray()
    W[0, 15] = W[15, 0] = W[30, 45] = W[45, 30] = 1e-3  # two parts of two clusters each
    model = SpectralClustering("eigengap", graph="precomputed", random_state=0).fit(W)
    assert adjusted_rand_score(np.repeat(range(4), 15), model.labels_) == 1
    assert np.count_nonzero(model.spectrum_ == 0) == 2


def test_a_gap_that_is_not_marked_is_told():
    # Eigenvalues of a ring are pairs that rise like 1, 4, 9, ...
    ring = np.roll(np.eye(60), 1, axis=1)
    with pytest.warns(ConvergenceWarning, match="No gap"):
        SpectralClustering("eigengap", graph="precomputed", random_state=0).fit(ring + ring.T)


@pytest.mark.parametrize("choice", ["eigengap", "alignment"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_more_clusters_than_allowed(choice):
    X, _ = many_blobs(0)
    for most in (1, 2, 3):
        model = SpectralClustering(choice, max_clusters=most, random_state=0).fit(X)
        assert len(np.unique(model.labels_)) == model.embedding_.shape[1] <= most
    assert SpectralClustering(choice, random_state=0).fit(X[:1]).labels_ == [0]


# --- what it is made of ---


def chance(seed: int = 0) -> np.random.RandomState:
    return np.random.RandomState(seed)


def test_gaps_of_known_spectra():
    line = np.arange(8.0) ** 2  # eigenvalues of an even line; two lines have each twice
    assert eigengap(np.repeat(line, 2), 1e3)[0] == 2
    assert eigengap(np.array([0, 0.01, 0.012, 0.3, 0.35]))[0] == 3
    assert eigengap(np.array([0, 0.5, 0.55, 0.6, 0.62]))[0] == 1
    assert eigengap(np.zeros(5))[0] == 4  # no more than one fewer than there are eigenvalues
    assert eigengap(np.array([0.0, 0.3]))[0] == 1
    np.testing.assert_allclose(eigengap(np.array([0, 0.01, 0.2, 0.3])), (2, 20.0))


def test_alignment_is_perfect_on_blocks_and_finds_their_number(blocks):
    values, vectors = smooth_eigenvectors(blocks, 6, random_state=chance())
    assert eigengap(values) == (3, np.inf)
    k, qualities, aligned = aligned_number(vectors)
    assert k == 3
    assert qualities[1] == pytest.approx(1.0, abs=1e-3)
    assert adjusted_rand_score(TRUTH, np.argmax(aligned**2, axis=1)) == 1
    cost, turned = align(vectors[:, :3])
    assert cost == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_allclose(turned @ turned.T, vectors[:, :3] @ vectors[:, :3].T, atol=1e-9)


def test_alignment_gradient():
    rng = np.random.default_rng(0)
    A, R = rng.normal(size=(40, 3)), np.linalg.qr(rng.normal(size=(3, 3)))[0].ravel()
    gap = check_grad(
        lambda r: alignment_cost(A, r.reshape(3, 3))[0],
        lambda r: alignment_cost(A, r.reshape(3, 3))[1].ravel(),
        R,
    )
    assert gap < 1e-4
    assert 40 <= alignment_cost(A, R.reshape(3, 3))[0] <= 120


def test_gradient_by_the_angles_of_a_rotation():
    rng = np.random.default_rng(1)
    S, angles = rng.normal(size=(4, 4)), rng.uniform(0, 3, 6)

    def turned(at: np.ndarray) -> np.ndarray:
        rotation = np.empty((4, 4))
        rotation_of(at, rotation)
        return rotation

    def gradient(at: np.ndarray) -> np.ndarray:
        found = np.empty(6)
        slopes_of_angles(at, S, turned(at), found)
        return found

    np.testing.assert_allclose(turned(angles) @ turned(angles).T, np.eye(4), atol=1e-12)
    assert check_grad(lambda at: float(np.sum(S * turned(at))), gradient, angles) < 1e-6
