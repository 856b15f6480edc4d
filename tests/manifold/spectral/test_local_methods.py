"""Locally linear embedding and Laplacian eigenmaps."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import linalg, sparse
from scipy.spatial.distance import cdist
from sklearn import manifold as theirs
from tests.manifold.spectral.sheets import assert_same_up_to_sign, explained, roll, strip

from sidelight import Constraints
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.graphs import distance_graph
from sidelight.manifold import LaplacianEigenmap, LocallyLinearEmbedding

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("n", "k", "reg"), [(200, 8, 1e-3), (700, 10, 1e-3), (200, 6, 0.1)])
def test_lle_is_that_of_scikit_learn(n: int, k: int, reg: float) -> None:
    X, _ = roll(n)
    new = roll(30, seed=1)[0]
    model = LocallyLinearEmbedding(n_neighbors=k, reg=reg).fit(X)
    peer = theirs.LocallyLinearEmbedding(n_neighbors=k, reg=reg, eigen_solver="dense").fit(X)
    both = np.vstack([model.embedding_, model.transform(new)])
    assert_same_up_to_sign(both, np.vstack([peer.embedding_, peer.transform(new)]), 1e-5)
    assert model.eigenvalues_.sum() == pytest.approx(peer.reconstruction_error_, rel=1e-4)


def test_lle_weights_and_constraints_of_the_problem() -> None:
    X, _ = roll(450)
    model = LocallyLinearEmbedding(n_neighbors=9).fit(X)
    W = model.reconstruction_weights_
    np.testing.assert_allclose(W.sum(axis=1), 1)
    assert np.all(np.diff(W.indptr) == 9)
    turned = X @ np.linalg.qr(RNG.normal(size=(3, 3)))[0] * 7 + 100
    again = LocallyLinearEmbedding(n_neighbors=9).fit(turned).reconstruction_weights_
    np.testing.assert_allclose(again.toarray(), W.toarray(), atol=1e-8)
    Z = model.embedding_
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(Z.T @ Z, np.eye(2), atol=1e-8)
    left = Z - W @ Z
    np.testing.assert_allclose(np.sum(left**2, axis=0), model.eigenvalues_, rtol=1e-5)
    plane, flat = strip(300)
    exact = LocallyLinearEmbedding(n_neighbors=9, reg=1e-12).fit(plane)
    np.testing.assert_allclose(exact.reconstruction_weights_ @ plane, plane, atol=1e-6)
    assert explained(flat, exact.embedding_) > 0.9999  # linear in an affine image of the rows


def test_lle_rebuilds_rows_from_the_map() -> None:
    X, _ = roll(700)
    model = LocallyLinearEmbedding(n_neighbors=10).fit(X)
    np.testing.assert_array_equal(model.inverse_transform(model.embedding_), X)
    between = (model.embedding_[:-1] + model.embedding_[1:]) / 2
    near = cdist(X[:-1], X[1:]).diagonal() < 3
    rebuilt = model.inverse_transform(between[near])
    assert np.median(np.linalg.norm(rebuilt - (X[:-1] + X[1:])[near] / 2, axis=1)) < 1.0
    with pytest.raises(ValueError, match="3 columns, but the map has 2"):
        model.inverse_transform(np.zeros((1, 3)))
    with pytest.raises(SidelightError, match=r"Z is sparse.*Z\.toarray\(\)"):
        model.inverse_transform(sparse.csr_array(between))
    with pytest.raises(SidelightError, match=r"no sparse rows: X\.toarray\(\)"):
        LocallyLinearEmbedding().fit(sparse.csr_array(X))


def test_lle_lists_listen_to_cannot_links() -> None:
    X, _ = roll(200)
    plain = LocallyLinearEmbedding(n_neighbors=6).fit(X).reconstruction_weights_
    near = plain.indices[plain.indptr[0]]
    known = Constraints(cannot_link=[(0, near)], n_samples=200)
    told = LocallyLinearEmbedding(n_neighbors=6).fit(X, constraints=known).reconstruction_weights_
    assert told[0, near] == told[near, 0] == 0
    np.testing.assert_allclose(told.sum(axis=1), 1)


def test_lle_minimizes_the_sum_with_its_must_links() -> None:
    X, _ = roll(200)
    plain = LocallyLinearEmbedding(n_neighbors=6).fit(X)
    links = np.array([[0, 150], [3, 90], [20, 21]])
    weights = np.array([1.0, 2.0, 0.5])
    known = Constraints(must_link=links, must_link_weight=weights, n_samples=200)
    told = LocallyLinearEmbedding(n_neighbors=6).fit(X, constraints=known)
    apart = np.eye(200) - plain.reconstruction_weights_.toarray()
    matrix = apart.T @ apart
    for (i, j), weight in zip(links, weights, strict=True):
        one = np.zeros(200)
        one[i], one[j] = 1.0, -1.0
        matrix += 10 * plain.eigenvalues_[-1] * weight * np.outer(one, one)
    values = np.linalg.eigvalsh(matrix)[1:3]
    np.testing.assert_allclose(told.eigenvalues_, values, rtol=1e-5)
    found = np.einsum("ic,ij,jc->c", told.embedding_, matrix, told.embedding_)
    np.testing.assert_allclose(found, values, rtol=1e-5)


def test_cannot_links_between_sheets_repair_lle() -> None:
    X, flat = roll(800)
    plain = LocallyLinearEmbedding(n_neighbors=30).fit(X)
    graph = sparse.coo_array(plain.reconstruction_weights_)
    gap = np.linalg.norm(X[graph.row] - X[graph.col], axis=1)
    across = np.flatnonzero(np.abs(flat[graph.row, 0] - flat[graph.col, 0]) > 3 * gap)
    links = np.column_stack([graph.row, graph.col])[
        np.random.default_rng(0).choice(across, 150, replace=False)
    ]
    known = Constraints(cannot_link=links, n_samples=800)
    told = LocallyLinearEmbedding(n_neighbors=30).fit(X, constraints=known)
    others = np.setdiff1d(np.arange(800), links)
    before = explained(flat[others, :1], plain.embedding_[others])
    after = explained(flat[others, :1], told.embedding_[others])
    assert after > before + 0.2


def test_rows_that_lost_all_their_neighbors_have_those_that_name_them() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.2], [4.0]])
    known = Constraints(cannot_link=[(0, 1)], n_samples=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmbeddingWarning)
        model = LocallyLinearEmbedding(1, n_neighbors=1).fit(X, constraints=known)
    assert np.isfinite(model.embedding_).all()
    np.testing.assert_allclose(model.reconstruction_weights_.sum(axis=1), 1)


@pytest.mark.parametrize("method", [LocallyLinearEmbedding, LaplacianEigenmap])
def test_anchors_are_held_and_the_rest_minimizes_the_same_sum(method: type) -> None:
    X, flat = roll(600)
    held = np.arange(600) % 5 == 0
    anchors = np.where(held[:, None], flat, np.nan)
    model = method(n_neighbors=10).fit(X, anchors=anchors)
    np.testing.assert_array_equal(model.embedding_[held], flat[held])
    if method is LocallyLinearEmbedding:
        apart = np.eye(600) - model.reconstruction_weights_.toarray()
        matrix = apart.T @ apart
    else:
        matrix = np.diag(model.graph_.sum(axis=1)) - model.graph_.toarray()
    gradient = (matrix @ model.embedding_)[~held]
    assert np.abs(gradient).max() < 1e-8 * np.abs(flat).max()
    assert explained(flat, model.embedding_) > 0.97
    new, new_flat = roll(100, seed=3)
    assert explained(new_flat, model.transform(new)) > 0.95
    assert np.isnan(model.eigenvalues_).all()


@pytest.mark.parametrize(("n", "weights"), [(200, "connectivity"), (700, "heat")])
def test_laplacian_eigenmap_is_that_of_scikit_learn(n: int, weights: str) -> None:
    X, _ = roll(n)
    model = LaplacianEigenmap(weights=weights).fit(X)
    peer = theirs.SpectralEmbedding(2, affinity="precomputed", random_state=0)
    wanted = peer.fit_transform(model.graph_.toarray())
    assert_same_up_to_sign(model.embedding_, wanted, 1e-6)


def test_smoothness_and_constraints_of_the_problem() -> None:
    X, _ = roll(450)
    model = LaplacianEigenmap(3, weights="heat", time=2.0).fit(X)
    W, Z = model.graph_.toarray(), model.embedding_
    edges = distance_graph(X, n_neighbors=10).toarray()
    np.testing.assert_allclose(W[edges > 0], np.exp(-(edges[edges > 0] ** 2) / 8))
    D = np.diag(W.sum(axis=1))
    np.testing.assert_allclose(Z.T @ D @ Z, np.eye(3), atol=1e-8)
    np.testing.assert_allclose(Z.T @ D.sum(axis=1), 0, atol=1e-8)
    smooth = [np.sum(W * (u[:, None] - u) ** 2) / 2 for u in Z.T]
    np.testing.assert_allclose(smooth, model.eigenvalues_, rtol=1e-7)
    wanted = linalg.eigh(D - W, D, eigvals_only=True)[1:4]
    np.testing.assert_allclose(model.eigenvalues_, wanted, rtol=1e-6)
    assert np.all((model.eigenvalues_ > 0) & (model.eigenvalues_ < 2))


@pytest.mark.parametrize("n", [60, 501])
def test_a_ring_gives_sines_and_cosines(n: int) -> None:
    t = 2 * np.pi * np.arange(n) / n
    ring = np.column_stack([np.cos(t), np.sin(t)])
    model = LaplacianEigenmap(n_neighbors=2).fit(ring)
    waves = ring / np.sqrt(n)  # of degree 2 and norm 1
    overlap = waves.T @ model.embedding_
    np.testing.assert_allclose(overlap @ overlap.T, np.eye(2) / 4, atol=1e-7)
    np.testing.assert_allclose(model.eigenvalues_, 1 - np.cos(2 * np.pi / n), rtol=1e-6)
    # The extension: the mean of the neighbors of a row between two others, over 1 - λ.
    between = (ring[:1] + ring[1:2]) / 2
    wanted = model.embedding_[:2].mean(axis=0) / np.cos(2 * np.pi / n)
    np.testing.assert_allclose(model.transform(between)[0], wanted, atol=1e-9)


def test_extension_reproduces_what_the_rows_say_of_each_other() -> None:
    """The mean of the neighbors of a row over ``1 - λ`` is the row itself: ``D⁻¹W u = (1-λ) u``."""
    X, _ = roll(450)
    model = LaplacianEigenmap().fit(X)
    W = model.graph_
    again = (W @ model.embedding_) / W.sum(axis=1)[:, None] / (1 - model.eigenvalues_)
    np.testing.assert_allclose(again, model.embedding_, atol=1e-9)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    new, _ = roll(100, seed=2)
    placed = model.transform(new)
    nearest = np.argmin(cdist(new, X), axis=1)
    off = np.linalg.norm(placed - model.embedding_[nearest], axis=1)
    assert np.median(off) < 0.03 * np.ptp(model.embedding_, axis=0).max()


def test_laplacian_weights_of_pairs() -> None:
    X, _ = roll(200)
    graph = distance_graph(X, n_neighbors=10)
    near, far = int(graph.indices[0]), int(np.argmax(cdist(X[:1], X)[0]))
    known = Constraints(
        must_link=[(0, far)], must_link_weight=[2.0], cannot_link=[(0, near)], n_samples=200
    )
    model = LaplacianEigenmap().fit(X, constraints=known)
    assert model.graph_[0, far] == model.graph_[far, 0] == pytest.approx(19)
    assert model.graph_[0, near] == 0
    assert np.count_nonzero(model.graph_.data != 1.0) == 2
    plain = LaplacianEigenmap().fit(X)
    scale = np.ptp(plain.embedding_, axis=0).max()
    assert (
        np.linalg.norm(model.embedding_[0] - model.embedding_[far])
        < np.linalg.norm(plain.embedding_[0] - plain.embedding_[far]) + 1e-9 * scale
    )


def test_precomputed_graph_of_the_laplacian() -> None:
    X, _ = roll(200)
    new = roll(5, seed=1)[0]
    plain = LaplacianEigenmap().fit(X)
    given = LaplacianEigenmap(metric="precomputed").fit(cdist(X, X))
    np.testing.assert_allclose(given.embedding_, plain.embedding_, atol=1e-9)
    np.testing.assert_allclose(given.transform(cdist(new, X)), plain.transform(new), atol=1e-9)
    stored = LaplacianEigenmap(metric="precomputed").fit(distance_graph(X, n_neighbors=10))
    np.testing.assert_allclose(stored.embedding_, plain.embedding_, atol=1e-9)


@pytest.mark.parametrize("method", [LocallyLinearEmbedding, LaplacianEigenmap])
def test_parts_are_joined_into_one_map(method: type) -> None:
    X = np.vstack([strip(60)[0], strip(40, seed=1)[0] + 30])
    with pytest.warns(EmbeddingWarning, match="2 parts of 60 and 40 rows"):
        bridged = method(radius=1.0).fit(X)
    assert np.isfinite(bridged.embedding_).all()
    assert np.isfinite(bridged.transform(X + 0.01)).all()
    with pytest.warns(EmbeddingWarning, match="parts of 60"):
        nearest = method().fit(X)
    # One smooth function tells the two parts apart.
    side = np.repeat([0.0, 1.0], [60, 40])
    assert explained(side[:, None], nearest.embedding_) > 0.8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmbeddingWarning)
        largest = method(disconnected="largest").fit(X)
    assert_same_up_to_sign(largest.embedding_[:60], method().fit(X[:60]).embedding_, 1e-5)
