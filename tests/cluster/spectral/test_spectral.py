"""Spectral clustering: embeddings, splits, the number of clusters, constraints in the graph."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine, make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from tests.cluster.spectral.methods import METHODS

from sidelight import Constraints
from sidelight.cluster import (
    ContractedSpectralClustering,
    SignedSpectralClustering,
    SpectralClustering,
)
from sidelight.cluster.spectral._bipartition import CRITERIA, recursive_labels, split_costs
from sidelight.cluster.spectral._constraint_graph import constraint_graph, signed_laplacian
from sidelight.cluster.spectral._contracted import contract
from sidelight.cluster.spectral._labels import discretize
from sidelight.cluster.spectral._learning import edit
from sidelight.cluster.spectral._propagation import propagate
from sidelight.constraints import known_pairs
from sidelight.graphs import (
    cut_values,
    full_graph,
    laplacian,
    neighbor_graph,
    normalized_graph,
    smallest_eigenvectors,
    smooth_eigenvectors,
)


def chance(seed: int = 0) -> np.random.RandomState:
    return np.random.RandomState(seed)


def random_graph(seed: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(size=(n, n)), 1)
    return W + W.T


@pytest.fixture(scope="module")
def blocks() -> np.ndarray:
    return sparse.block_diag([random_graph(s, n) for s, n in ((1, 12), (2, 9), (3, 15))]).toarray()


# --- eigenvectors --------------------------------------------------------------------------------


def test_parts_of_a_graph_have_known_vectors():
    X = np.vstack([make_blobs(400, centers=[[c, c]], random_state=c)[0] for c in (0, 100, 200)])
    W = neighbor_graph(X, 8)
    values, vectors = smooth_eigenvectors(W, 5, random_state=chance())
    assert np.all(values[:3] == 0)
    assert values[3] > 0
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-8)
    np.testing.assert_allclose(laplacian(W) @ vectors, vectors * values, atol=1e-5)


@pytest.mark.parametrize("n", [300, 1500])
def test_sparse_and_dense_solvers_agree(n):
    X, _ = make_blobs(n, centers=4, n_features=3, cluster_std=2.0, random_state=0)
    W = neighbor_graph(X, 10)
    values, vectors = smooth_eigenvectors(W, 5, random_state=chance())
    L = laplacian(W).toarray()
    np.testing.assert_allclose(values, np.linalg.eigvalsh(L)[:5], atol=1e-7)
    np.testing.assert_allclose(L @ vectors, vectors * values, atol=1e-5)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-8)
    mixed, _ = smallest_eigenvectors(laplacian(W), 5, random_state=chance())
    np.testing.assert_allclose(mixed, values, atol=1e-7)


# --- labels --------------------------------------------------------------------------------------


def test_blocks_are_told_apart_exactly(blocks):
    truth = np.repeat([0, 1, 2], [12, 9, 15])
    for assign in ("kmeans", "rotation"):
        for scale in (1.0, 7.0):
            model = SpectralClustering(3, graph="precomputed", assign_labels=assign, random_state=0)
            labels = model.fit(blocks * scale).labels_
            assert adjusted_rand_score(truth, labels) == 1
            assert model.objective_ == pytest.approx(0.0, abs=1e-9)


def test_rings_and_moons_that_kmeans_cannot_part():
    X, y = make_circles(400, factor=0.4, noise=0.04, random_state=0)
    assert adjusted_rand_score(y, SpectralClustering(2, random_state=0).fit(X).labels_) == 1
    X, y = make_moons(400, noise=0.05, random_state=0)
    model = SpectralClustering(2, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.98
    np.testing.assert_array_equal(model.predict(X[:50]), model.labels_[:50])
    fresh, truth = make_moons(200, noise=0.05, random_state=1)
    assert adjusted_rand_score(truth, model.predict(fresh)) > 0.98


def test_the_width_of_least_distortion_is_chosen():
    X, y = make_circles(200, factor=0.3, noise=0.03, random_state=0)
    model = SpectralClustering(
        2, graph="full", weights="gaussian", sigma="distortion", random_state=0
    ).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert len(model.search_["sigma"]) >= 3
    assert model.sigma == "distortion"


def test_iris_of_the_lecture():
    X, y = load_iris(return_X_y=True)
    W = full_graph(X)  # σ is the 5th percentile of the distances
    as_published = {"rounding": "unit", "refine": False}
    model = SpectralClustering(3, graph="precomputed", random_state=0, **as_published)
    labels = model.fit(W).labels_
    best = max(np.mean(np.array(order)[labels] == y) for order in itertools.permutations(range(3)))
    assert best == pytest.approx(136 / 150)


# --- recursive cuts ------------------------------------------------------------------------------


def test_recursive_partition_of_the_estimator():
    X, y = make_blobs(200, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)
    model = SpectralClustering(3, partition="recursive", random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1


# --- constraints ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y, Constraints.sample(y, 89, random_state=1)


def test_without_constraints_it_is_plain_spectral_clustering(wine):
    X, _, known = wine
    plain = SpectralClustering(3, random_state=0).fit(X)
    for model in (
        *(method(3, random_state=0).fit(X) for method in METHODS.values()),
        SignedSpectralClustering(3, penalty=0.0, random_state=0).fit(X, constraints=known),
    ):
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        np.testing.assert_allclose(model.eigenvalues_, plain.eigenvalues_, atol=1e-9)


@pytest.mark.parametrize("cls", [SignedSpectralClustering, ContractedSpectralClustering])
def test_constraints_help(cls):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    plain = adjusted_rand_score(y, SpectralClustering(3, random_state=0).fit(X).labels_)
    told = []
    for seed in range(3):
        known = Constraints.sample(y, 75, random_state=seed)
        model = cls(3, random_state=0)
        told.append(adjusted_rand_score(y, model.fit(X, constraints=known).labels_))
    assert np.mean(told) > plain + 0.05


def test_contracted_rows_share_their_place_and_their_label(wine):
    X, _, known = wine
    model = ContractedSpectralClustering(3, random_state=0)
    model.fit(X, constraints=known)
    pairs = known.must_link
    np.testing.assert_allclose(
        model.embedding_[pairs[:, 0]], model.embedding_[pairs[:, 1]], atol=1e-10
    )
    assert len(known.violations(model.labels_).must_link) == 0


def test_moons_with_ten_constraints():
    X, y = make_moons(300, noise=0.15, random_state=3)
    plain = adjusted_rand_score(y, SpectralClustering(2, random_state=0).fit(X).labels_)
    told = [
        adjusted_rand_score(
            y,
            SignedSpectralClustering(2, random_state=0)
            .fit(X, constraints=Constraints.sample(y, 10, protocol="balanced", random_state=s))
            .labels_,
        )
        for s in range(5)
    ]
    assert np.mean(told) >= plain - 0.02


def test_new_rows_need_rows():
    W = random_graph(0, 20)
    model = SpectralClustering(2, graph="precomputed", random_state=0).fit(W)
    with pytest.raises(ValueError, match="New rows cannot be compared"):
        model.predict(W)


# --- landmarks -----------------------------------------------------------------------------------


def test_all_rows_as_landmarks_give_the_exact_embedding():
    X, y = make_blobs(120, centers=[[0, 0], [7, 0], [0, 7]], random_state=0)
    model = SpectralClustering(3, graph="landmarks", n_landmarks=120, sigma=1.0, random_state=0)
    model.fit(X)
    W = full_graph(X, sigma=1.0, loops=True)
    similar = normalized_graph(W).toarray()
    exact = np.sort(np.linalg.eigvalsh(similar))[::-1][:3]
    np.testing.assert_allclose(1 - model.eigenvalues_, exact, atol=1e-7)
    U = model.embedding_
    np.testing.assert_allclose(U.T @ U, np.eye(3), atol=1e-6)
    np.testing.assert_allclose(similar @ U, U * exact, atol=1e-5)
    assert adjusted_rand_score(y, model.labels_) == 1


def test_few_landmarks_stand_for_many_rows_old_and_new():
    X, y = make_blobs(6000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    model = SpectralClustering(3, graph="landmarks", random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.98
    np.testing.assert_array_equal(model.predict(X[:100]), model.labels_[:100])


@pytest.mark.parametrize("method", [SpectralClustering, SignedSpectralClustering])
def test_a_width_that_nothing_uses_is_told(method):
    X = np.random.default_rng(0).normal(size=(40, 2))
    plain = method(2, weights="local", random_state=0).fit(X)
    with pytest.warns(UserWarning, match=r"sigma=3.0 is not used.*weights='local'"):
        told = method(2, weights="local", sigma=3.0, random_state=0).fit(X)
    np.testing.assert_array_equal(told.labels_, plain.labels_)


# --- what it is made of ---


# --- labels --------------------------------------------------------------------------------------


def test_rotation_of_one_hot_rows_is_undone():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 100)
    turned = np.eye(4)[truth] @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    assert adjusted_rand_score(truth, discretize(turned, chance())[0]) == 1


# --- recursive cuts ------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", CRITERIA)
def test_sweep_costs_are_cut_values(objective):
    W = random_graph(5, 9)
    order = np.random.default_rng(0).permutation(9)
    name = {"cut": "cut", "ratio-cut": "ratio_cut", "normalized-cut": "normalized_cut"}
    costs = split_costs(sparse.csr_array(W), order, objective)
    for place in range(8):
        labels = np.zeros(9, int)
        labels[order[: place + 1]] = 1
        expected = getattr(cut_values(W, labels), name.get(objective, "min_max_cut"))
        assert costs[place] == pytest.approx(expected)


@pytest.mark.parametrize("objective", CRITERIA)
def test_recursive_cuts_part_blocks_and_never_beat_brute_force(blocks, objective):
    truth = np.repeat([0, 1, 2], [12, 9, 15])
    assert adjusted_rand_score(truth, recursive_labels(blocks, 3, objective, chance())[0]) == 1
    name = {"cut": "cut", "ratio-cut": "ratio_cut", "normalized-cut": "normalized_cut"}
    criterion = name.get(objective, "min_max_cut")
    for seed in range(4):
        W = random_graph(seed, 9)
        found = getattr(cut_values(W, recursive_labels(W, 2, objective, chance())[0]), criterion)
        best = min(
            getattr(cut_values(W, [(code >> bit) & 1 for bit in range(9)]), criterion)
            for code in range(1, 256)
        )
        assert found >= best - 1e-9


# --- constraints ---------------------------------------------------------------------------------


def test_signed_laplacian_is_its_quadratic_form(wine):
    _, _, known = wine
    Q = constraint_graph(known_pairs(known), 178)
    degree = np.asarray(abs(Q).sum(axis=1)).ravel()
    plain = np.diag(degree) - Q.toarray()
    u = np.random.default_rng(0).normal(size=178)
    together = np.sum((u[known.must_link[:, 0]] - u[known.must_link[:, 1]]) ** 2)
    apart = np.sum((u[known.cannot_link[:, 0]] + u[known.cannot_link[:, 1]]) ** 2)
    assert u @ plain @ u == pytest.approx(together + apart)
    spectrum = np.linalg.eigvalsh(signed_laplacian(Q).toarray())
    assert spectrum.min() >= -1e-9
    assert spectrum.max() <= 2 + 1e-9
    flip = np.ones(178)
    flip[7] = -1
    turned = sparse.csr_array(sparse.diags_array(flip) @ Q @ sparse.diags_array(flip))
    np.testing.assert_allclose(
        np.linalg.eigvalsh(signed_laplacian(turned).toarray()), spectrum, atol=1e-9
    )


def test_contraction_solves_the_projected_problem(wine):
    X, _, known = wine
    links = Constraints(known.must_link, n_samples=178)
    W = neighbor_graph(X, 10)
    small, member = contract(W, links.components())
    assert small.sum() == pytest.approx(W.sum())
    # Yu and Shi: the normalised graph between the vectors that are constant on components.
    degree = np.asarray(W.sum(axis=1)).ravel()
    basis = np.linalg.qr(np.sqrt(degree)[:, None] * member.toarray())[0]
    projected = basis.T @ normalized_graph(W).toarray() @ basis
    expected = np.sort(1 - np.linalg.eigvalsh(projected))[:4]
    values, _ = smooth_eigenvectors(small, 4, random_state=chance())
    np.testing.assert_allclose(values, expected, atol=1e-9)


def test_spread_constraints_by_their_dense_formula():
    X, y = make_moons(60, noise=0.1, random_state=0)
    known = Constraints.sample(y, 12, random_state=0)
    W = neighbor_graph(X, 6)
    pairs, alpha = known_pairs(known), 0.6
    spread = propagate(W, pairs, alpha).toarray()
    inverse = np.linalg.inv(np.eye(60) - alpha * normalized_graph(W).toarray())
    Z = np.sign(constraint_graph(pairs, 60).toarray())
    F = inverse @ Z @ inverse
    where = (W.toarray() > 0) | (Z != 0)
    F = np.where(where, F, 0.0) / np.abs(F[where]).max()
    F[np.abs(F) < 1e-3] = 0.0
    dense = W.toarray()
    expected = np.where(F >= 0, 1 - (1 - F) * (1 - dense), (1 + F) * dense)
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(spread, np.where(where, expected, 0.0), atol=1e-4)
    assert spread.min() >= 0
    assert spread.max() <= 1
    np.testing.assert_allclose(spread, spread.T)


def test_edited_graphs_say_what_was_stated(wine):
    X, _, known = wine
    W = edit(neighbor_graph(X, 10), known_pairs(known))
    assert np.all(W[known.must_link[:, 0], known.must_link[:, 1]] == 1)
    assert np.all(W[known.cannot_link[:, 0], known.cannot_link[:, 1]] == 0)
    assert abs(W - W.T).max() == 0
