"""Laplacian eigenmaps of similarities: of all rows, given as a matrix, or by a function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import manifold as theirs
from sklearn.metrics.pairwise import rbf_kernel
from tests.manifold.spectral.sheets import assert_same_up_to_sign, roll

from sidelight import Constraints
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.manifold import LaplacianEigenmap

GAMMA = 0.02


def rbf(one: Any, other: Any) -> Any:
    return rbf_kernel(one, other, gamma=GAMMA)


def as_given(X: np.ndarray, kind: str) -> tuple[LaplacianEigenmap, Any]:
    """A model of one and the same similarities, and what it is fitted to."""
    if kind == "full":
        return LaplacianEigenmap(graph="full", weights="heat", time=1 / (4 * GAMMA)), X
    if kind == "function":
        return LaplacianEigenmap(graph=rbf), X
    K = rbf(X, X)
    return LaplacianEigenmap(graph="precomputed"), sparse.csr_array(K) if kind == "sparse" else K


@pytest.mark.parametrize("n", [150, 500])
@pytest.mark.parametrize("kind", ["full", "function", "matrix", "sparse"])
def test_similarities_give_the_map_of_scikit_learn(kind: str, n: int) -> None:
    X, new = roll(n)[0], roll(10, seed=1)[0]
    model, given = as_given(X, kind)
    found = model.fit(given).embedding_
    peer = theirs.SpectralEmbedding(affinity="rbf", gamma=GAMMA, random_state=0).fit(X)
    wanted = (
        peer.embedding_ * np.linalg.norm(found, axis=0) / np.linalg.norm(peer.embedding_, axis=0)
    )
    assert_same_up_to_sign(found, wanted, 1e-5)
    W = rbf(X, X)
    np.fill_diagonal(W, 0.0)
    D = np.diag(W.sum(axis=1))
    for c, value in enumerate(model.eigenvalues_):
        np.testing.assert_allclose((D - W) @ found[:, c], value * D @ found[:, c], atol=1e-9)
    S = rbf(new, X)
    extended = S @ found / S.sum(axis=1)[:, None] / (1 - model.eigenvalues_)
    asked = new if kind in ("full", "function") else S
    np.testing.assert_allclose(model.transform(asked), extended, rtol=1e-8, atol=1e-12)
    if kind in ("full", "function"):
        np.testing.assert_array_equal(model.transform(X[:20]), found[:20])


def test_one_way_of_a_sparse_matrix_counts_both_ways() -> None:
    X = roll(120)[0]
    W = sparse.csr_array(np.where(cdist(X, X) < 9, rbf(X, X), 0.0))
    both = LaplacianEigenmap(graph="precomputed").fit(W).embedding_
    one = LaplacianEigenmap(graph="precomputed").fit(sparse.csr_array(sparse.triu(W))).embedding_
    np.testing.assert_allclose(one, both, atol=1e-12)


def test_pairs_multiply_and_cut_given_similarities() -> None:
    W = np.array([[0, 4, 1, 0.0], [4, 0, 2, 1], [1, 2, 0, 3], [0, 1, 3, 0]])
    model = LaplacianEigenmap(1, graph="precomputed")
    told = model.fit(W, constraints=Constraints([(0, 1)], n_samples=4)).graph_.toarray()
    assert told[0, 1] == pytest.approx(40)
    assert told[2, 3] == pytest.approx(3)
    apart = model.fit(W, constraints=Constraints(None, [(0, 2)], n_samples=4)).graph_.toarray()
    assert apart[0, 2] == 0
    assert apart[0, 1] == pytest.approx(4)


def test_parts_without_similarities_between_them() -> None:
    W = np.kron(np.eye(2), np.ones((5, 5)))
    W = W[:8, :8]
    with pytest.raises(SidelightError, match="2 parts between which there are none"):
        LaplacianEigenmap(1, graph="precomputed").fit(W)
    with pytest.warns(EmbeddingWarning, match="no coordinates"):
        model = LaplacianEigenmap(1, graph="precomputed", disconnected="largest").fit(W)
    assert np.isnan(model.embedding_[5:]).all()
    with pytest.raises(SidelightError, match="New row 0 is similar to no row"):
        model.transform(W[6:])


@pytest.mark.parametrize(
    ("params", "X", "words"),
    [
        ({"graph": "full"}, np.eye(4), "use weights=heat"),
        ({"graph": "precomputed", "metric": "precomputed"}, np.eye(4), "set one of them"),
        ({"graph": "precomputed"}, np.ones((4, 3)), "4 x 4 numbers"),
        ({"graph": "precomputed"}, -np.ones((4, 4)), "not negative"),
        ({"graph": lambda one, other: np.ones(3)}, np.eye(4), "4 x 4 numbers"),
    ],
)
def test_what_cannot_be_is_told(params: dict[str, Any], X: np.ndarray, words: str) -> None:
    with pytest.raises(SidelightError, match=words):
        LaplacianEigenmap(1, **params).fit(X)


def test_what_is_not_used_is_told() -> None:
    W = rbf(*2 * (roll(30)[0],))
    with pytest.warns(EmbeddingWarning, match="radius=3.0 is not used"):
        LaplacianEigenmap(1, graph="precomputed", radius=3.0).fit(W)
    with pytest.warns(EmbeddingWarning, match="weights=heat is not used"):
        LaplacianEigenmap(1, graph="precomputed", weights="heat").fit(W)
