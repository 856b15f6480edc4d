"""Classical scaling and kernel PCA: PCA in other words, and scikit-learn's results."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import decomposition
from sklearn.metrics.pairwise import chi2_kernel, rbf_kernel
from tests.manifold.spectral.sheets import assert_same_up_to_sign

from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.manifold import ClassicalScaling, KernelPCA

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 5)) * [5, 4, 3, 2, 1]
NEW = RNG.normal(size=(7, 5)) * [5, 4, 3, 2, 1]


@pytest.mark.parametrize("n", [80, 700])
def test_scaling_of_euclidean_distances_is_pca(n: int) -> None:
    rows = RNG.normal(size=(n, 5)) * [5, 4, 3, 2, 1] + 100
    model = ClassicalScaling(3).fit(rows)
    pca = decomposition.PCA(3).fit(rows)
    assert_same_up_to_sign(model.embedding_, pca.transform(rows))
    assert_same_up_to_sign(
        np.vstack([model.embedding_, model.transform(NEW + 100)]),
        np.vstack([pca.transform(rows), pca.transform(NEW + 100)]),
    )
    np.testing.assert_allclose(model.eigenvalues_, pca.explained_variance_ * (n - 1))


def test_distances_are_recovered_exactly() -> None:
    D = cdist(X, X)
    model = ClassicalScaling(5, metric="precomputed").fit(D)
    np.testing.assert_allclose(cdist(model.embedding_, model.embedding_), D, atol=1e-10)
    placed = model.transform(cdist(NEW, X))
    np.testing.assert_allclose(cdist(placed, model.embedding_), cdist(NEW, X), atol=1e-9)


def test_fewer_dimensions_than_asked_for_are_told_and_zero() -> None:
    """Four places at distance 1 or 2 around a circle: one eigenvalue of their matrix is below 0."""
    D = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]], dtype=float)
    with pytest.warns(EmbeddingWarning, match=r"in 2 dimensions only.*last 1 are 0"):
        model = ClassicalScaling(3, metric="precomputed").fit(D)
    assert np.all(model.embedding_[:, 2] == 0)
    assert model.eigenvalues_[2] == 0
    with pytest.warns(EmbeddingWarning, match="1 dimension only"):
        line = ClassicalScaling(2).fit(np.arange(6.0)[:, None])
    assert np.all(line.embedding_[:, 1] == 0)
    assert np.all(line.transform([[2.5]])[:, 1] == 0)


@pytest.mark.parametrize("n", [80, 500])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"kernel": "linear"}, {"kernel": "linear"}),
        ({"kernel": "rbf"}, {"kernel": "rbf"}),
        ({"kernel": "rbf", "gamma": 0.03}, {"kernel": "rbf", "gamma": 0.03}),
        (
            {"kernel": "polynomial", "degree": 3, "gamma": 0.02},
            {"kernel": "poly", "degree": 3, "gamma": 0.02},
        ),
        ({"kernel": "cosine"}, {"kernel": "cosine"}),
    ],
)
def test_kernel_pca_is_that_of_scikit_learn(n: int, ours: dict, theirs: dict) -> None:
    rows = np.random.default_rng(1).normal(size=(n, 5)) * [5, 4, 3, 2, 1]
    model = KernelPCA(3, alpha=0.1, **ours).fit(rows)
    peer = decomposition.KernelPCA(
        3, alpha=0.1, fit_inverse_transform=True, eigen_solver="dense", **theirs
    ).fit(rows)
    both = np.vstack([rows, NEW])
    assert_same_up_to_sign(model.transform(both), peer.transform(both), 1e-7)
    np.testing.assert_allclose(model.eigenvalues_, peer.eigenvalues_, rtol=1e-8)
    signs = np.sign(np.sum(model.embedding_ * peer.transform(rows), axis=0))
    places = RNG.normal(size=(4, 3))
    np.testing.assert_allclose(
        model.inverse_transform(places * signs), peer.inverse_transform(places), atol=1e-6
    )


def test_linear_kernel_is_pca_and_its_inverse_projects() -> None:
    model = KernelPCA(2, kernel="linear", alpha=1e-4).fit(X)
    pca = decomposition.PCA(2).fit(X)
    assert_same_up_to_sign(model.embedding_, pca.transform(X))
    centered = KernelPCA(2, kernel="linear", alpha=1e-4).fit(X - X.mean(axis=0))
    projected = pca.inverse_transform(pca.transform(X)) - X.mean(axis=0)
    np.testing.assert_allclose(
        centered.inverse_transform(centered.embedding_), projected, atol=1e-4
    )


def test_inverse_of_a_kernel_that_is_singular_but_for_rounding() -> None:
    model = KernelPCA(2, kernel="polynomial", degree=5, gamma=1.0, alpha=1e-20).fit(X)
    assert np.isfinite(model.inverse_transform(model.embedding_)).all()


def test_homogeneous_kernel_of_degree_two_is_pca_of_products() -> None:
    plane = X[:, :2]
    products = np.column_stack(
        [plane[:, 0] ** 2, np.sqrt(2) * plane[:, 0] * plane[:, 1], plane[:, 1] ** 2]
    )
    model = KernelPCA(3, kernel=lambda a, b: (a @ b) ** 2).fit(plane)
    assert_same_up_to_sign(model.embedding_, decomposition.PCA(3).fit_transform(products))


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    """Sum of the smaller values of two rows: a kernel of histograms."""
    return float(np.minimum(one, other).sum())


def test_kernel_that_is_a_function_is_that_of_scikit_learn() -> None:
    X, new = RNG.uniform(size=(60, 4)), RNG.uniform(size=(10, 4))
    model = KernelPCA(3, kernel=overlap).fit(X)
    peer = decomposition.KernelPCA(3, kernel=overlap).fit(X)
    both = np.vstack([model.embedding_, model.transform(new)])
    assert_same_up_to_sign(both, np.vstack([peer.transform(X), peer.transform(new)]))
    given = KernelPCA(3, kernel="precomputed").fit([[overlap(a, b) for b in X] for a in X])
    np.testing.assert_allclose(given.embedding_, model.embedding_, atol=1e-10)
    with pytest.raises(SidelightError, match="kernel between rows 0 and 0 is nan"):
        KernelPCA(kernel=lambda one, other: np.nan).fit(X)


def test_precomputed_kernel() -> None:
    wanted = KernelPCA(2, gamma=0.1).fit(X)
    model = KernelPCA(2, kernel="precomputed").fit(rbf_kernel(X, gamma=0.1))
    np.testing.assert_allclose(model.embedding_, wanted.embedding_, atol=1e-10)
    np.testing.assert_allclose(
        model.transform(rbf_kernel(NEW, X, gamma=0.1)), wanted.transform(NEW), atol=1e-10
    )
    with pytest.raises(SidelightError, match="cannot be recovered"):
        model.inverse_transform(model.embedding_)
    skewed = rbf_kernel(X, gamma=0.1)
    skewed[3, 4] += 1
    with pytest.raises(SidelightError, match="between rows 3 and 4"):
        KernelPCA(2, kernel="precomputed").fit(skewed)
    with pytest.raises(SidelightError, match="square matrix"):
        KernelPCA(2, kernel="precomputed").fit(skewed[:, :9])
    chi = chi2_kernel(np.abs(X))
    np.testing.assert_allclose(
        KernelPCA(2, kernel="precomputed").fit(chi).embedding_.mean(axis=0), 0, atol=1e-10
    )


def test_sparse_rows_and_wrong_input() -> None:
    thin = sparse.csr_array(np.where(X > 2, X, 0))
    for model in (KernelPCA(2), ClassicalScaling(2)):
        dense = model.fit(thin.toarray()).embedding_
        assert_same_up_to_sign(model.fit(thin).embedding_, dense, 1e-6)
    with pytest.raises(SidelightError, match="dense matrix"):
        ClassicalScaling(metric="precomputed").fit(sparse.csr_array(cdist(X, X)))
    with pytest.raises(SidelightError, match="All rows are the same"):
        ClassicalScaling().fit(np.ones((5, 2)))
    with pytest.raises(SidelightError, match="at least 2 rows"):
        KernelPCA().fit([[1.0, 2.0]])
    with pytest.raises(ValueError, match="3 columns, but the map has 2"):
        KernelPCA().fit(X).inverse_transform(np.zeros((1, 3)))
