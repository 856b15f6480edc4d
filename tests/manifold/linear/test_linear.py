"""Linear projections that listen: definitions, limits, and what they span."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from sidelight import Constraints
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.graphs import full_graph, laplacian, neighbor_graph, percentile_distance
from sidelight.manifold import ChunkletLDA, ConstrainedLPP, ConstrainedPCA
from sidelight.manifold.linear._constrained_lpp import _sides


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, y, Constraints.sample(y, 90, random_state=0)


def gaps(X, pairs):
    return X[pairs[:, 0]] - X[pairs[:, 1]]


def test_without_pairs_it_is_pca(wine):
    X, _, known = wine
    pca = PCA(4).fit(X)
    for model in (
        ConstrainedPCA(4).fit(X),
        ConstrainedPCA(4, penalty=0).fit(X, constraints=known),
    ):
        np.testing.assert_allclose(
            np.abs(np.sum(model.components_ * pca.components_, axis=1)), 1.0, atol=1e-9
        )
        np.testing.assert_allclose(
            model.eigenvalues_, pca.explained_variance_ * (len(X) - 1) / len(X)
        )


def test_eigenvalues_are_the_objective_by_its_definition(wine):
    X, _, known = wine
    alpha, beta = 0.7, 3.0
    model = ConstrainedPCA(3, penalty=(beta, alpha)).fit(X, constraints=known)
    n = len(X)

    def objective(w):
        z = X @ w
        every = np.sum((z[:, None] - z[None]) ** 2) / (2 * n**2)
        apart = np.mean((gaps(X, known.cannot_link) @ w) ** 2) / 2
        together = np.mean((gaps(X, known.must_link) @ w) ** 2) / 2
        return every + alpha * apart - beta * together

    for w, value in zip(model.components_, model.eigenvalues_, strict=True):
        assert objective(w) == pytest.approx(value)
    rng = np.random.default_rng(0)
    for w in rng.normal(size=(50, X.shape[1])):
        assert objective(w / np.linalg.norm(w)) <= model.eigenvalues_[0] + 1e-12
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-12)


def test_heavy_must_links_are_short_along_the_first_direction(wine):
    X, _, known = wine
    with pytest.warns(ConstraintWarning, match="reduced"):
        model = ConstrainedPCA(5, penalty=(1e9, 0)).fit(X, constraints=known)
    scatter = gaps(X, known.must_link).T @ gaps(X, known.must_link)
    spread = model.components_[0] @ scatter @ model.components_[0]
    assert spread <= np.trace(scatter) * 1e-6 + np.linalg.eigvalsh(scatter)[0] * 1.01


def test_more_features_than_rows_changes_nothing(wine):
    X, _, known = wine
    rows, few = X[:10], known[np.arange(10)]
    known10 = Constraints([(0, 1), (2, 3)], [(0, 5), (4, 7)], n_samples=10)
    assert few.n_samples == 10
    B = np.linalg.qr(np.random.default_rng(0).normal(size=(40, 13)))[0].T  # an isometry
    small = ConstrainedPCA(2).fit(rows, constraints=known10)
    wide = ConstrainedPCA(2).fit(rows @ B, constraints=known10)
    np.testing.assert_allclose(
        np.abs(small.transform(rows)), np.abs(wide.transform(rows @ B)), atol=1e-8
    )


def test_labels_help_like_pairs_do():
    X, y = load_iris(return_X_y=True)
    partial = np.where(np.arange(150) % 5 == 0, y, -1)
    by_labels = ConstrainedPCA(2, penalty=(0.5, 1.0)).fit(X, partial)
    known = np.flatnonzero(partial >= 0)
    i, j = np.triu_indices(len(known), 1)
    same = partial[known[i]] == partial[known[j]]
    pairs = np.column_stack([known[i], known[j]])
    by_pairs = ConstrainedPCA(2, penalty=(0.5, 1.0)).fit(
        X, constraints=Constraints(pairs[same], pairs[~same], n_samples=150)
    )
    np.testing.assert_allclose(by_labels.components_, by_pairs.components_, atol=1e-10)


def test_turned_rows_give_turned_directions(wine):
    X, _, known = wine
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(13, 13)))[0]
    for make in (ConstrainedPCA, ConstrainedLPP, lambda k: ChunkletLDA(k, shrinkage=0.1)):
        plain = make(3).fit(X, constraints=known).transform(X)
        turned = make(3).fit(X @ turn, constraints=known).transform(X @ turn)
        np.testing.assert_allclose(np.abs(turned), np.abs(plain), atol=1e-6)


def test_all_pairs_twice_change_nothing(wine):
    X, _, known = wine
    twice = Constraints(
        known.must_link,
        known.cannot_link,
        must_link_weight=np.full(len(known.must_link), 2.0),
        cannot_link_weight=np.full(len(known.cannot_link), 2.0),
        n_samples=len(X),
    )
    for make in (ConstrainedPCA, ConstrainedLPP):
        np.testing.assert_allclose(
            make(3).fit(X, constraints=twice).components_,
            make(3).fit(X, constraints=known).components_,
            atol=1e-9,
        )


@pytest.mark.parametrize("kind", ["must_link", "cannot_link"])
def test_one_kind_of_pairs_drops_the_other_term(wine, kind):
    X, _, known = wine
    pairs = getattr(known, kind)
    model = ConstrainedPCA(2, penalty=(0.3, 0.5)).fit(
        X, constraints=Constraints(**{kind: pairs}, n_samples=len(X))
    )
    factor = 0.5 if kind == "cannot_link" else -0.3
    T = np.cov(X, rowvar=False, bias=True)
    T = T + factor * gaps(X, pairs).T @ gaps(X, pairs) / (2 * len(pairs))
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(T)[::-1][:2])


def test_all_rows_as_landmarks_give_the_projection_of_the_full_graph(wine):
    X, _, _ = wine
    model = ConstrainedLPP(3, graph="landmarks", n_landmarks=len(X)).fit(X)
    W = full_graph(X, sigma=percentile_distance(X), loops=True)
    D = np.diag(W.sum(axis=1))
    Z = X - X.mean(axis=0)
    values = linalg.eigh(Z.T @ (D - W) @ Z, Z.T @ D @ Z, eigvals_only=True)[:3]
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-5)


def test_some_landmarks_stand_for_all_rows():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 2000)
    X = np.column_stack([rng.normal(0, 1, 4000), rng.normal(2.0 * y, 0.3)])
    known = Constraints.sample(y, 60, random_state=0)
    model = ConstrainedLPP(1, graph="landmarks", n_landmarks=100, random_state=0)
    (direction,) = model.fit(X, constraints=known).components_
    assert abs(direction[1]) > 0.95 * np.linalg.norm(direction)


def test_lpp_solves_its_eigenproblem(wine):
    X, _, known = wine
    model = ConstrainedLPP(3, penalty=0).fit(X, constraints=known)
    W = neighbor_graph(X, 10)
    D = np.diag(np.asarray(W.sum(axis=1)).ravel())
    L = laplacian(W, "unnormalized").toarray()
    Z = X - X.mean(axis=0)
    values = linalg.eigh(Z.T @ L @ Z, Z.T @ D @ Z, eigvals_only=True)[:3]
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-5)
    for w, value in zip(model.components_, values, strict=True):
        assert w @ Z.T @ L @ Z @ w / (w @ Z.T @ D @ Z @ w) == pytest.approx(value, rel=1e-5)
        assert w @ Z.T @ D @ Z @ w == pytest.approx(1.0, rel=1e-5)


def test_stronger_pairs_are_kept_better(wine):
    X, _, known = wine

    def ratio(penalty):
        Z = ConstrainedLPP(2, penalty=penalty).fit(X, constraints=known).transform(X)
        together = np.linalg.norm(gaps(Z, known.must_link), axis=1).mean()
        return together / np.linalg.norm(gaps(Z, known.cannot_link), axis=1).mean()

    assert ratio(1.0) < ratio(0.0)


def test_a_chunklet_per_class_spans_what_lda_spans():
    X, y = load_iris(return_X_y=True)
    model = ChunkletLDA(2, shrinkage=0).fit(X, y)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    assert linalg.subspace_angles(model.components_.T, lda.scalings_[:, :2]).max() < 1e-5
    within = np.zeros((2, 2))
    Z = model.transform(X)
    for c in range(3):
        centred = Z[y == c] - Z[y == c].mean(axis=0)
        within += centred.T @ centred / 150
    np.testing.assert_allclose(within, np.eye(2), atol=1e-6)


@pytest.mark.parametrize("make", [ConstrainedPCA, ConstrainedLPP, ChunkletLDA])
def test_more_components_than_the_rows_vary_in(make, wine):
    _, y, _ = wine
    rng = np.random.default_rng(0)
    X = rng.normal(size=(178, 2)) * [1.0, 1e-6] @ rng.normal(size=(2, 5))
    with pytest.warns(ConstraintWarning, match="vary in 2 directions only: n_components=4"):
        model = make(4).fit(X, y)
    assert model.components_.shape == (2, 5)
    assert list(model.get_feature_names_out()) == [f"{make.__name__.lower()}{j}" for j in (0, 1)]
    one = rng.normal(size=(178, 1))
    with pytest.warns(ConstraintWarning, match="vary in 1 direction only"):
        assert make(2).fit(one, y).transform(one).shape == (178, 1)


@pytest.mark.parametrize("make", [ConstrainedPCA, ConstrainedLPP, ChunkletLDA])
def test_features_that_do_not_vary_have_no_part(make, wine):
    X, _, known = wine
    plain = make(2).fit(X, constraints=known)
    flat = make(2).fit(np.column_stack([X, np.full(178, 3.0)]), constraints=known)
    np.testing.assert_allclose(flat.components_[:, :13], plain.components_, atol=1e-7)
    np.testing.assert_allclose(flat.components_[:, 13], 0.0, atol=1e-12)


def test_rows_without_neighbours_do_not_make_directions(wine):
    X, _, known = wine
    far = np.vstack([np.column_stack([X, np.zeros(178)]), [*np.zeros(13), 1e6]])
    pairs = Constraints(known.must_link, known.cannot_link, n_samples=179)
    with pytest.warns(ConstraintWarning, match="1 of 179 rows .the first is row 178."):
        model = ConstrainedLPP(2).fit(far, constraints=pairs)
    plain = ConstrainedLPP(2).fit(X, constraints=known)
    # The width of the similarities, a median over rows, is a little different.
    angles = linalg.subspace_angles(model.components_[:, :13].T, plain.components_.T)
    assert angles.max() < 0.01
    np.testing.assert_allclose(model.components_[:, 13], 0.0, atol=1e-12)
    named = Constraints([*map(tuple, known.must_link), (3, 178)], known.cannot_link, n_samples=179)
    with pytest.warns(ConstraintWarning, match="only pairs that name them"):
        assert np.isfinite(ConstrainedLPP(2).fit(far, constraints=named).transform(far)).all()


def test_parts_without_an_edge_between_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[30:, 1] += 100
    model = ConstrainedLPP(1).fit(X)
    assert model.eigenvalues_[0] < 0.01
    assert np.argmax(np.abs(model.components_ * X.std(axis=0))) == 1


def test_chunklets_of_rows_that_are_the_same():
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 3)), 2, axis=0)
    known = Constraints([(i, i + 1) for i in range(0, 20, 2)], n_samples=20)
    with pytest.warns(ConstraintWarning, match="No rows that differ"):
        model = ChunkletLDA(2).fit(X, constraints=known)
    assert model.eigenvalues_.max() < 100


def test_bad_parameters(wine):
    X, y, _ = wine
    for model, message in (
        (ConstrainedPCA(0), "at least 1"),
        (ConstrainedPCA(penalty=(-1, 1)), "penalty must be a finite number of at least 0"),
        (ConstrainedLPP(penalty=-1), "penalty must be"),
        (ConstrainedLPP(n_neighbors=0), "n_neighbors must be a whole number of at least 1"),
        (ChunkletLDA(shrinkage=1), "shrinkage must be a number of at least 0 and below 1"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
    with pytest.raises(TypeError, match="whole number"):
        ConstrainedPCA(1.5).fit(X, y)
    with pytest.raises(SidelightError, match="ConstrainedLPP takes no sparse rows"):
        ConstrainedLPP().fit(sparse.csr_array(X), y)


def test_nothing_to_learn_from():
    X = np.random.default_rng(0).normal(size=(20, 4))
    with pytest.warns(ConstraintWarning, match="PCA"):
        model = ChunkletLDA(2).fit(X)
    pca = PCA(2).fit(X)
    assert linalg.subspace_angles(model.components_.T, pca.components_.T).max() < 1e-9
    with pytest.raises(SidelightError, match="All rows are the same"):
        ConstrainedPCA().fit(np.ones((5, 3)))
    assert sparse.issparse(neighbor_graph(X, 3))


# --- what it is made of ---


def test_a_complete_graph_prefers_no_direction():
    # Equal weights and self-loops: X'LX = X'DX for centred rows. Without loops, as here, the
    # weights of a row add up to n - 1 and not n, so that all values are n / (n - 1).
    X = np.random.default_rng(0).normal(size=(12, 3))
    Z = X - X.mean(axis=0)
    W = sparse.csr_array(np.ones((12, 12)) - np.eye(12))
    left, right = _sides(Z, W)
    np.testing.assert_allclose(linalg.eigh(left, right, eigvals_only=True), 12 / 11, rtol=1e-6)
