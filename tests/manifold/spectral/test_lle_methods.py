"""Other sums than that of locally linear embedding: modified weights, Hessians, tangent spaces."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import manifold as theirs
from tests.manifold.spectral.sheets import assert_same_up_to_sign, explained, roll, strip

from sidelight import Constraints
from sidelight.exceptions import SidelightError
from sidelight.manifold import LocallyLinearEmbedding

METHODS = ["modified", "hessian", "ltsa"]


@pytest.mark.parametrize("method", ["modified", "ltsa"])
@pytest.mark.parametrize(("n", "k"), [(250, 12), (600, 12)])
def test_methods_are_those_of_scikit_learn(method: str, n: int, k: int) -> None:
    X, new = roll(n)[0], roll(30, seed=1)[0]
    model = LocallyLinearEmbedding(n_neighbors=k, method=method).fit(X)
    peer = theirs.LocallyLinearEmbedding(n_neighbors=k, method=method, eigen_solver="dense").fit(X)
    both = np.vstack([model.embedding_, model.transform(new)])
    assert_same_up_to_sign(both, np.vstack([peer.embedding_, peer.transform(new)]), 1e-5)
    assert model.eigenvalues_.sum() == pytest.approx(peer.reconstruction_error_, rel=1e-4)


def test_hessians_are_those_of_scikit_learn_where_nothing_else_is_left() -> None:
    """It takes all that is not linear for second derivatives; of six neighbors that is all."""
    X = roll(300)[0]
    model = LocallyLinearEmbedding(n_neighbors=6, method="hessian").fit(X)
    peer = theirs.LocallyLinearEmbedding(n_neighbors=6, method="hessian", eigen_solver="dense")
    assert model.eigenvalues_.sum() == pytest.approx(peer.fit(X).reconstruction_error_, rel=1e-4)
    more = LocallyLinearEmbedding(n_neighbors=12, method="hessian").fit(X)
    tangent = LocallyLinearEmbedding(n_neighbors=12, method="ltsa").fit(X)
    assert more.eigenvalues_.sum() < 0.9 * tangent.eigenvalues_.sum()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [300, 700])
def test_flat_sheets_are_found_exactly(method: str, n: int) -> None:
    """Linear functions are null vectors: of dense and of sparse solvers, and on grids."""
    X, flat = strip(n)
    reg = 1e-9 if method == "modified" else 1e-3
    model = LocallyLinearEmbedding(n_neighbors=10, method=method, reg=reg).fit(X)
    assert explained(flat, model.embedding_) > 1 - 1e-9
    assert np.all(np.abs(model.eigenvalues_) < 1e-10)
    side = int(np.sqrt(n))
    grid = np.array([[i, j, 0.0] for i in range(side) for j in range(side)])
    on_grid = LocallyLinearEmbedding(n_neighbors=9, method=method, reg=reg).fit(grid)
    assert explained(grid[:, :2], on_grid.embedding_) > 1 - 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_curved_sheet_without_the_bend_of_regularization(method: str) -> None:
    X, flat = roll(900)
    plain = LocallyLinearEmbedding(n_neighbors=10).fit(X)
    model = LocallyLinearEmbedding(n_neighbors=10, method=method).fit(X)
    assert explained(flat, model.embedding_) > 0.98 > explained(flat, plain.embedding_)


def test_sums_over_neighborhoods_by_their_definitions() -> None:
    X = roll(60)[0]
    d, k = 2, 8
    tangents, hessians = np.zeros((60, 60)), np.zeros((60, 60))
    for i in range(60):
        near = np.argsort(np.linalg.norm(X - X[i], axis=1), kind="stable")[1 : k + 1]
        u = np.linalg.svd(X[near] - X[near].mean(axis=0))[0][:, :d]
        linear = np.column_stack([np.ones(k), u])
        off = np.eye(k) - linear @ np.linalg.pinv(linear)
        tangents[np.ix_(near, near)] += off
        products = np.column_stack([u[:, 0] ** 2, u[:, 0] * u[:, 1], u[:, 1] ** 2])
        left = off @ products
        hessians[np.ix_(near, near)] += left @ np.linalg.pinv(left.T @ left) @ left.T
    for method, form in (("ltsa", tangents), ("hessian", hessians)):
        model = LocallyLinearEmbedding(n_neighbors=k, method=method).fit(X)
        Z = model.embedding_
        np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(form)[1:3], atol=1e-10)
        np.testing.assert_allclose(np.diag(Z.T @ form @ Z), model.eigenvalues_, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_known_counts_in_all_sums(method: str) -> None:
    X, flat = roll(300)
    anchors = np.full((300, 2), np.nan)
    anchors[::6] = flat[::6]
    model = LocallyLinearEmbedding(n_neighbors=10, method=method)
    held = model.fit(X, anchors=anchors).embedding_
    np.testing.assert_array_equal(held[::6], flat[::6])
    assert explained(flat, held) > 0.98
    free = model.fit(X).embedding_
    one, other = 0, int(np.argmax(np.linalg.norm(free - free[0], axis=1)))
    pair = Constraints([(one, other)], n_samples=300)
    told = model.fit(X, constraints=pair).embedding_
    assert np.linalg.norm(told[one] - told[other]) < np.linalg.norm(free[one] - free[other])
    apart = Constraints(None, [(0, 1), (5, 9)], n_samples=300)
    assert np.isfinite(model.fit(X, constraints=apart).embedding_).all()


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.EmbeddingWarning")
@pytest.mark.parametrize(
    ("method", "k", "words"),
    [("hessian", 5, "needs 6 neighbors"), ("ltsa", 3, "needs 4 neigh"), ("modified", 2, "needs 3")],
)
def test_too_few_neighbors_are_told(method: str, k: int, words: str) -> None:
    X = roll(100)[0]
    with pytest.raises(SidelightError, match=words):
        LocallyLinearEmbedding(n_neighbors=k, method=method).fit(X)
    with pytest.raises(SidelightError, match="have 1 column only"):
        LocallyLinearEmbedding(n_neighbors=10, method=method).fit(X[:, :1])
