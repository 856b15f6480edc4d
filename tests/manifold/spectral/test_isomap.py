"""Isomap and its landmark version."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist, pdist
from sklearn import decomposition
from sklearn import manifold as theirs
from tests.manifold.spectral.sheets import assert_same_up_to_sign, explained, roll, strip

from sidelight import Constraints
from sidelight.evaluation import procrustes_align
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.graphs import distance_graph
from sidelight.manifold import ClassicalScaling, Isomap, LandmarkIsomap

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("n", "k"), [(300, 8), (700, 10)])
def test_isomap_is_that_of_scikit_learn(n: int, k: int) -> None:
    X, _ = roll(n)
    new = roll(40, seed=1)[0]
    model, peer = Isomap(n_neighbors=k).fit(X), theirs.Isomap(n_neighbors=k).fit(X)
    assert_same_up_to_sign(
        np.vstack([model.embedding_, model.transform(new)]),
        np.vstack([peer.embedding_, peer.transform(new)]),
    )
    np.testing.assert_allclose(model.geodesics_, peer.dist_matrix_, rtol=1e-12)


@pytest.mark.parametrize("n", [150, 1100])
def test_reconstruction_error_is_that_of_scikit_learn_and_of_the_definition(n: int) -> None:
    X, _ = roll(n)
    model = Isomap(n_neighbors=8).fit(X)
    peer = theirs.Isomap(n_neighbors=8).fit(X)
    assert model.reconstruction_error() == pytest.approx(peer.reconstruction_error(), rel=1e-6)
    B = -0.5 * model.geodesics_**2
    B = B - B.mean(axis=0) - B.mean(axis=1)[:, None] + B.mean()
    left = np.linalg.norm(B - model.embedding_ @ model.embedding_.T) / n
    assert model.reconstruction_error() == pytest.approx(left, rel=1e-9)
    more = Isomap(3, n_neighbors=8).fit(X)
    assert more.reconstruction_error() < model.reconstruction_error()
    flat = strip(n)[0]
    assert Isomap(n_neighbors=n - 1).fit(flat).reconstruction_error() < 1e-6


def test_radius_is_that_of_scikit_learn() -> None:
    rows, _ = strip(330)
    X, new = rows[:300], rows[300:]
    model = Isomap(radius=0.4).fit(X)
    peer = theirs.Isomap(n_neighbors=None, radius=0.4).fit(X)
    assert_same_up_to_sign(model.embedding_, peer.embedding_)
    assert_same_up_to_sign(
        np.vstack([model.embedding_, model.transform(new)]),
        np.vstack([peer.embedding_, peer.transform(new)]),
    )
    far = model.transform(X[:1] + 50)  # beyond the radius of all rows: joined with the nearest
    assert np.isfinite(far).all()


def test_too_many_rows_are_refused_at_once() -> None:
    with pytest.raises(SidelightError, match="LandmarkIsomap keeps"):
        Isomap().fit(np.arange(20_000.0)[:, None])


def test_complete_graph_is_classical_scaling_is_pca() -> None:
    X = RNG.normal(size=(60, 4)) * [4, 3, 2, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmbeddingWarning)
        places = Isomap(3, n_neighbors=59).fit_transform(X)
        landmarks = LandmarkIsomap(4, n_neighbors=59, n_landmarks=12, random_state=0)
        every = landmarks.fit_transform(X)
    assert_same_up_to_sign(places, ClassicalScaling(3).fit_transform(X))
    assert_same_up_to_sign(places, decomposition.PCA(3).fit_transform(X))
    np.testing.assert_allclose(pdist(every), pdist(X))  # exact from 12 rows


def test_geodesics_are_a_metric_above_the_distances() -> None:
    X, flat = strip(300)
    model = Isomap(n_neighbors=10).fit(X)
    G = model.geodesics_
    assert np.all(cdist(X, X) <= G + 1e-12)
    np.testing.assert_allclose(G, G.T, atol=1e-12)
    through = G[:, :40, None] + G[None, :40, :]
    assert np.all(G[:, None, :] <= through + 1e-12)
    aligned = procrustes_align(flat, model.embedding_, scaling=False)
    assert np.abs(aligned - flat).max() < 0.25
    np.testing.assert_allclose(model.graph_.toarray() > 0, model.graph_.T.toarray() > 0)


def test_residual_variance_shows_the_dimension() -> None:
    X, _ = roll(800)
    variances = Isomap(3).fit(X).residual_variances_
    assert variances[0] > 10 * variances[1]
    assert variances[1] < 0.002
    assert abs(variances[1] - variances[2]) < 0.1 * variances[1]


@pytest.mark.parametrize("method", [Isomap(), LandmarkIsomap(random_state=0)])
def test_precomputed_distances_and_graphs(method: Isomap) -> None:
    X, _ = roll(300)
    new = roll(10, seed=1)[0]
    wanted = method.fit(X)
    places, extended = wanted.embedding_, wanted.transform(new)
    method = type(method)(**{**method.get_params(), "metric": "precomputed"})
    method.fit(cdist(X, X))
    np.testing.assert_allclose(method.embedding_, places, atol=1e-8)
    np.testing.assert_allclose(method.transform(cdist(new, X)), extended, atol=1e-8)
    graph = distance_graph(X, n_neighbors=10)
    method.fit(graph)
    np.testing.assert_allclose(method.embedding_, places, atol=1e-8)
    nearest = np.sort(cdist(new, X), axis=1)[:, 9:10]
    joined = sparse.csr_array(np.where(cdist(new, X) <= nearest, cdist(new, X), 0))
    np.testing.assert_allclose(method.transform(joined), extended, atol=1e-8)
    with pytest.raises(SidelightError, match="New row 2 has no distance"):
        method.transform(sparse.csr_array((4, 300)) + _first_rows(joined, 2, 4))
    dense = type(method)(metric="precomputed").fit(cdist(X, X))
    with pytest.raises(SidelightError, match=r"new row 0 to row 5 of the fit is -1"):
        dense.transform(np.where(np.arange(300) == 5, -1.0, 1.0)[None])


def _first_rows(matrix: sparse.csr_array, n: int, height: int) -> sparse.csr_array:
    return sparse.vstack([matrix[:n], sparse.csr_array((height - n, matrix.shape[1]))]).tocsr()


def test_conformal_lengths() -> None:
    """Edges over the root of the mean distances of their ends to their neighbors."""
    X = RNG.normal(size=(60, 2)) ** 3
    model = Isomap(conformal=True, n_neighbors=5).fit(X)
    D = cdist(X, X)
    means = np.sort(D, axis=1)[:, 1:6].mean(axis=1)
    plain = distance_graph(X, n_neighbors=5).toarray()
    wanted = plain / np.sqrt(np.outer(means, means))
    np.testing.assert_allclose(model.graph_.toarray(), wanted)
    np.testing.assert_allclose(model.geodesics_, shortest_path(wanted), atol=1e-12)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)
    # A conformal map keeps what scales from place to place: a sheet that is stretched.
    rng = np.random.default_rng(2)
    flat = rng.uniform(size=(800, 2))
    stretched = np.exp(1.5 * flat[:, :1]) * np.column_stack(
        [np.cos(1.5 * flat[:, 1]), np.sin(1.5 * flat[:, 1])]
    )
    both = [Isomap(conformal=c).fit_transform(stretched) for c in (False, True)]
    assert explained(flat, both[1]) > explained(flat, both[0])
    assert explained(flat, both[1]) > 0.99


def test_landmarks_place_rows_as_their_geodesics_say() -> None:
    X, flat = roll(600)
    model = LandmarkIsomap(n_landmarks=60, random_state=0).fit(X)
    assert model.landmark_geodesics_.shape == (60, 600)
    np.testing.assert_allclose(
        model.landmark_geodesics_, Isomap().fit(X).geodesics_[model.landmarks_]
    )
    assert explained(flat, model.embedding_) > 0.98
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)
    everything = LandmarkIsomap(n_landmarks=600).fit(X)
    assert_same_up_to_sign(everything.embedding_, Isomap().fit(X).embedding_)


def test_published_landmarks_are_a_smaller_linear_image() -> None:
    """``B_ij = (x_i - mean of landmarks)(x_j - mean of all)`` for Euclidean geodesics."""
    X = RNG.normal(size=(400, 2)) * [2, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmbeddingWarning)
        method = {"n_neighbors": 399, "n_landmarks": 40, "random_state": 3}
        published = LandmarkIsomap(variant="published", **method).fit(X)
        isometric = LandmarkIsomap(**method).fit(X)
    landmarks = X[published.landmarks_]
    B = (landmarks - landmarks.mean(axis=0)) @ (X - X.mean(axis=0)).T
    singular = np.linalg.svd(B, compute_uv=False)[:2]
    np.testing.assert_allclose(published.eigenvalues_, singular)
    np.testing.assert_allclose(
        np.linalg.svd(published.embedding_, compute_uv=False), np.sqrt(singular)
    )
    assert explained(X, published.embedding_) > 1 - 1e-12  # linear
    ratio = pdist(published.embedding_).mean() / pdist(X).mean()
    assert ratio == pytest.approx((40 / 400) ** 0.25, rel=0.2)
    np.testing.assert_allclose(pdist(isometric.embedding_), pdist(X))
    np.testing.assert_allclose(published.transform(X), published.embedding_, atol=1e-9)
    new = RNG.normal(size=(5, 2))
    image = np.linalg.lstsq(X - X.mean(axis=0), published.embedding_, rcond=None)[0]
    # Neighbors of a new row are at distances that are Euclidean up to one detour.
    assert np.abs(published.transform(new) - (new - X.mean(axis=0)) @ image).max() < 0.05


def test_too_few_landmarks() -> None:
    with pytest.raises(SidelightError, match="2 landmarks cannot determine 2 dimensions"):
        LandmarkIsomap(n_landmarks=2).fit(roll(50)[0])


def test_cannot_links_between_sheets_repair_the_map_of_all_rows() -> None:
    """So many neighbors that the sheets of the roll touch; a few links keep them apart."""
    X, flat = roll(800)
    short = Isomap(n_neighbors=30).fit(X)
    graph = sparse.coo_array(short.graph_)
    across = np.flatnonzero(np.abs(flat[graph.row, 0] - flat[graph.col, 0]) > 3 * graph.data)
    chosen = np.random.default_rng(0).choice(across, 60, replace=False)
    links = np.column_stack([graph.row, graph.col])[chosen]
    known = Constraints(cannot_link=links, n_samples=800)
    repaired = Isomap(n_neighbors=30).fit(X, constraints=known)
    others = np.setdiff1d(np.arange(800), links)
    assert explained(flat[others], short.embedding_[others]) < 0.9
    assert explained(flat[others], repaired.embedding_[others]) > 0.99
    new, new_flat = roll(200, seed=5)
    assert explained(new_flat, repaired.transform(new)) > 0.98


def test_must_links_bring_rows_together() -> None:
    X, _ = strip(300)
    ends = np.argmin(X[:, 0]), np.argmax(X[:, 0])
    plain = Isomap().fit(X)
    light, heavy = (
        Isomap().fit(
            X, constraints=Constraints(must_link=[ends], must_link_weight=[w], n_samples=300)
        )
        for w in (1.0, 10.0)
    )
    length = cdist(X, X)[ends]
    assert light.geodesics_[ends] == pytest.approx(length / 10)
    assert heavy.geodesics_[ends] == pytest.approx(length / 91)
    assert plain.geodesics_[ends] >= length


@pytest.mark.parametrize("method", [Isomap(), LandmarkIsomap(n_landmarks=60, random_state=0)])
def test_anchors_turn_shift_and_scale_the_map(method: Isomap) -> None:
    X, flat = roll(600)
    wanted = 0.1 * flat @ np.array([[0.8, 0.6], [0.6, -0.8]]) + [3.0, -7.0]
    anchors = np.full((600, 2), np.nan)
    anchors[::25] = wanted[::25]
    model = method.fit(X, anchors=anchors)
    off = np.linalg.norm(model.embedding_ - wanted, axis=1)
    assert off.mean() < 0.03 * np.ptp(wanted, axis=0).max()
    free = type(method)(**method.get_params()).fit(X)
    ratio = pdist(model.embedding_) / pdist(free.embedding_)
    np.testing.assert_allclose(ratio, ratio[0])  # a similarity
    np.testing.assert_allclose(model.transform(X[:9]), model.embedding_[:9], atol=1e-8)


def test_parts_are_bridged_left_out_or_refused() -> None:
    X = np.vstack([strip(60)[0], strip(40, seed=1)[0] + 30])
    with pytest.warns(EmbeddingWarning, match="2 parts of 60 and 40 rows"):
        bridged = Isomap().fit(X)
    assert np.isfinite(bridged.embedding_).all()
    with pytest.warns(EmbeddingWarning, match="40 rows outside the largest have no coordinates"):
        largest = Isomap(disconnected="largest").fit(X)
    assert np.isnan(largest.embedding_[60:]).all()
    np.testing.assert_allclose(largest.embedding_[:60], Isomap().fit(X[:60]).embedding_)
    assert largest.geodesics_.shape == (60, 60)
    np.testing.assert_allclose(largest.transform(X[:60]), largest.embedding_[:60], atol=1e-9)
    with pytest.raises(SidelightError, match="2 parts of 60 and 40 rows"):
        Isomap(disconnected="raise").fit(X)
    anchors = np.full((100, 2), np.nan)
    anchors[50:62] = 1.0
    anchors[[0, 1]] = 0.0
    known = Constraints(must_link=[(0, 99), (3, 4)], n_samples=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmbeddingWarning)
        both = Isomap(disconnected="largest").fit(X, constraints=known, anchors=anchors)
        anchors[:60] = np.nan
        anchors[90:] = 2.0
        with pytest.raises(SidelightError, match="Only 0 anchors of the largest part"):
            Isomap(disconnected="largest").fit(X, anchors=anchors)
    assert np.isfinite(both.embedding_[:60]).all()
