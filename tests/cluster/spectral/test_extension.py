"""Spectral clustering: new rows, objectives, recursive splits, and input that is not nice."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine, make_blobs, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from tests.cluster.spectral.methods import METHODS

from sidelight import Constraints
from sidelight.cluster import SignedSpectralClustering, SpectralClustering
from sidelight.cluster.spectral._bipartition import labels_of_new, recursive_labels
from sidelight.cluster.spectral._nystroem import Landmarks
from sidelight.engine import as_rows, threads
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.graphs import cut_values, degrees, full_graph, neighbor_graph, similarity_graph


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(240, noise=0.07, random_state=0)
    return X, y, Constraints.sample(y, 20, random_state=0)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


# --- similarities of new rows --------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["gaussian", "cosine"])
def test_new_rows_are_compared_as_the_graph_compares_its_own(wine, weights):
    X, _ = wine
    old, new = X[:150], X[150:]
    similarity = similarity_graph(old, None, weights=weights, sigma=2.0)[1]
    both = full_graph(X, weights=weights, sigma=2.0)
    np.testing.assert_allclose(similarity.to(new).toarray(), both[150:, :150], atol=1e-7)


def test_local_and_fuzzy_scales_of_new_rows(wine):
    X, _ = wine
    old, new = X[:150], X[150:153]
    local = similarity_graph(old, 10, weights="local")[1].to(new).toarray()
    distances = np.linalg.norm(new[:, None] - old[None], axis=2)
    apart = np.linalg.norm(old[:, None] - old[None], axis=2)
    scales = np.sort(apart, axis=1)[:, 7]  # the row itself comes first
    own = np.sort(distances, axis=1)[:, 6]
    near = np.argsort(distances, axis=1)[:, :10]
    for row in range(3):
        d = distances[row, near[row]]
        expected = np.exp(-(d**2) / (own[row] * scales[near[row]]))
        np.testing.assert_allclose(local[row, near[row]], expected, atol=1e-9)
        assert np.count_nonzero(local[row]) == 10
    fuzzy = similarity_graph(old, 10, weights="fuzzy")[1].to(new).toarray()
    reach = np.sort(apart, axis=1)[:, 11]
    mine = np.sort(distances, axis=1)[:, 10]
    d = distances[0, near[0]]
    expected = (1 - d / mine[0] + np.clip(1 - d / reach[near[0]], 0, 1)) / 2
    np.testing.assert_allclose(fuzzy[0, near[0]], expected, atol=1e-9)


# --- extension -----------------------------------------------------------------------------------


def directions(vectors):
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)


@pytest.mark.parametrize("objective", ["normalized-cut", "ratio-cut"])
@pytest.mark.parametrize("graph", ["neighbors", "full"])
def test_old_rows_are_extended_to_where_they_are(wine, graph, objective):
    X, _ = wine
    W = similarity_graph(X, 10 if graph == "neighbors" else None, weights="local")[0]
    rounding = "plain" if objective == "ratio-cut" else "unit"
    model = SpectralClustering(
        3, graph=graph, objective=objective, rounding=rounding, refine=False, random_state=0
    ).fit(X)
    np.testing.assert_allclose(model._extension.place(W), model.embedding_, atol=1e-7)
    np.testing.assert_array_equal(model._assign_new(W), model.labels_)


def test_old_rows_are_extended_to_their_place_in_the_relaxed_cut(wine):
    X, _ = wine
    W = similarity_graph(X, 10, weights="local")[0]
    model = SpectralClustering(3, rounding="plain", refine=False, random_state=0).fit(X)
    places = model.embedding_ / np.sqrt(degrees(W))[:, None]
    np.testing.assert_allclose(model._extension.place(W), places, atol=1e-7)
    np.testing.assert_array_equal(model._assign_new(W), model.labels_)


FORMS = [(method, {}) for method in METHODS]


FORMS += [("grouped", {"smooth": True})]


FORMS += [
    (method, {"form": form})
    for method in ("signed", "contracted")
    for form in ("merged", "difference")
]


@pytest.mark.parametrize(("method", "form"), FORMS)
def test_rows_without_constraints_are_extended_to_where_they_are(moons, method, form):
    X, _, known = moons
    if method == "grouped":
        known = Constraints(known.must_link, n_samples=len(X))
    W = neighbor_graph(X, 10, weights="local")
    model = METHODS[method](2, **form, random_state=0)
    model.fit(X, constraints=known)
    free = np.setdiff1d(np.arange(len(X)), known.mentioned)
    placed = directions(model._extension.place(W))[free]
    if method == "flexible":
        np.testing.assert_allclose(model._extension.place(W)[free], model.embedding_[free])
    if method == "propagated":  # constraints changed edges around the rows, too
        assert np.mean(model._assign_new(W) == model.labels_) > 0.97
    else:
        np.testing.assert_allclose(placed, directions(model.embedding_)[free], atol=1e-6)
        np.testing.assert_array_equal(model._assign_new(W)[free], model.labels_[free])
    fresh, truth = make_moons(200, noise=0.07, random_state=7)
    if adjusted_rand_score(moons[1], model.labels_) > 0.9:
        assert adjusted_rand_score(truth, model.predict(fresh)) > 0.85


def test_a_row_that_is_like_no_other_joins_the_nearest(moons):
    X, _, _ = moons
    model = SpectralClustering(2, graph="full", weights="gaussian", sigma=0.1, random_state=0)
    model.fit(X)
    far = np.array([[1e3, 0.0], [-1e3, 0.0]])
    nearest = np.linalg.norm(X[None] - far[:, None], axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(far), model.labels_[nearest])


# --- objectives and splits -----------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["cut", "ratio-cut", "normalized-cut", "min-max-cut"])
@pytest.mark.parametrize("partition", ["direct", "recursive"])
def test_planted_cuts_are_the_brute_force_minimum(objective, partition):
    rng = np.random.default_rng(4)
    for size in (8, 10):
        truth = np.arange(size) >= size // 2
        W = np.where(truth[:, None] == truth[None], 1.0, 0.1) * rng.uniform(0.5, 1, (size, size))
        W = np.triu(W, 1) + np.triu(W, 1).T
        name = objective.replace("-", "_")
        best = min(
            getattr(cut_values(W, [(code >> bit) & 1 for bit in range(size)]), name)
            for code in range(1, 2 ** (size - 1))
        )
        model = SpectralClustering(
            2, graph="precomputed", objective=objective, partition=partition, random_state=0
        ).fit(W)
        assert model.objective_ == pytest.approx(best)


def test_min_max_cut_is_above_its_bound():
    rng = np.random.default_rng(0)
    for k in (2, 3):
        W = np.triu(rng.uniform(size=(9, 9)), 1)
        W = W + W.T
        model = SpectralClustering(k, graph="precomputed", objective="min-max-cut", random_state=0)
        total = model.fit(W).eigenvalues_.sum()
        for labels in (model.labels_, np.arange(9) % k):
            assert cut_values(W, labels).min_max_cut >= total / (1 - total / k) - 1e-9


def test_costly_splits_are_not_made():
    X, y = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    model = SpectralClustering(8, partition="recursive", max_cost=0.05, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert max(split.cost for split in model.splits_) <= 0.05


# --- width and number ----------------------------------------------------------------------------


def test_widths_can_be_given_and_lonely_ones_are_left_out():
    X, y = make_circles(200, factor=0.3, noise=0.03, random_state=0)
    model = SpectralClustering(
        2, graph="full", weights="gaussian", sigma=[1e-4, 0.1, 0.2, 50.0], random_state=0
    ).fit(X)
    assert np.isnan(model.search_["distortion"][0])
    assert model.sigma_ in (0.1, 0.2)
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    with pytest.raises(ValueError, match="only weights='gaussian' has"):
        SpectralClustering(2, sigma="distortion").fit(X)


# --- input that is not nice ----------------------------------------------------------------------


def test_lonely_rows_go_with_the_nearest_and_are_named():
    X, y = make_blobs(60, centers=[[0, 0], [6, 0]], random_state=0)
    X[7] = [300.0, 0.0]
    with pytest.warns(ConvergenceWarning, match="1 of 60 rows have no edge"):
        model = SpectralClustering(
            2, graph="full", weights="gaussian", sigma=1.0, random_state=0
        ).fit(X)
    rest = np.delete(np.arange(60), 7)
    assert adjusted_rand_score(y[rest], model.labels_[rest]) == 1
    assert model.labels_[7] == model.labels_[np.argmax(np.where(rest != 7, X[rest, 0], -1))]
    ids = [f"id{i}" for i in range(60)]
    known = Constraints([("id0", "id1")], ids=ids)
    W = full_graph(X, sigma=1.0)
    with pytest.warns(ConvergenceWarning, match="'id7'"):
        SignedSpectralClustering(2, graph="precomputed", random_state=0).fit(W, constraints=known)


@pytest.mark.parametrize("method", METHODS)
def test_more_parts_than_clusters_and_lonely_rows_with_constraints(method):
    sizes = (20, 30, 25, 10)
    blocks = [np.ones((s, s)) - np.eye(s) for s in sizes] + [np.zeros((2, 2))]
    W = sparse.block_diag(blocks, format="csr")
    known = Constraints([(0, 85), (3, 4)], [(0, 25)], n_samples=87)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = METHODS[method](2, graph="precomputed", random_state=0).fit(W, constraints=known)
    assert set(model.labels_) == {0, 1}
    if method in ("signed", "contracted", "grouped"):
        assert model.labels_[0] == model.labels_[85]
    with pytest.warns(ConvergenceWarning, match="4 parts"):
        SpectralClustering(2, graph="precomputed", random_state=0).fit(W)


def test_duplicates_and_more_clusters_than_distinct_rows():
    X = np.repeat([[0.0, 0.0], [5.0, 5.0], [9.0, 0.0]], 8, axis=0)
    for model in (
        SpectralClustering(5, random_state=0),
        SpectralClustering(5, partition="recursive", random_state=0),
        SignedSpectralClustering(5, random_state=0),
    ):
        with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(3\)"):
            labels = model.fit(X).labels_
        assert adjusted_rand_score(np.repeat([0, 1, 2], 8), labels) == 1
    labels = SpectralClustering(3, n_neighbors=7, random_state=0).fit(X).labels_
    assert adjusted_rand_score(np.repeat([0, 1, 2], 8), labels) == 1


def test_bad_similarities_are_named_by_id():
    ids = ["ann", "bob", "cid"]
    known = Constraints([("ann", "bob")], ids=ids)
    model = SignedSpectralClustering(2, graph="precomputed")
    W = np.array([[0, 1, 0.5], [1, 0, -0.2], [0.5, -0.2, 0]])
    with pytest.raises(SidelightError, match="'bob' and 'cid'"):
        model.fit(W, constraints=known)
    W = np.array([[0, 1, 0.5], [1, 0, 0.2], [0.5, 0.9, 0]])
    with pytest.raises(SidelightError, match=r"'(bob|cid)' and '(bob|cid)'"):
        model.fit(W, constraints=known)
    W[0, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(W, constraints=known)


@pytest.mark.parametrize("method", METHODS)
def test_contradictions_are_told_and_survived(moons, method):
    X, _, _ = moons
    known = Constraints([(0, 1), (1, 2)], [(0, 2)], n_samples=len(X))
    model = METHODS[method](2, random_state=0)
    with pytest.warns(ConstraintWarning) as told:  # grouping also says that it uses must-links only
        model.fit(X, constraints=known)
    assert any("contradict" in str(warning.message) for warning in told)
    assert model.n_violations_ >= 1
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("method", METHODS)
def test_any_number_of_threads_and_single_precision(moons, method):
    X, _, known = moons
    if method == "grouped":
        known = Constraints(known.must_link, n_samples=len(X))
    results = []
    for count, rows in ((1, X), (2, X), (2, X.astype(np.float32))):
        with threads(count):
            model = METHODS[method](2, random_state=0)
            results.append(model.fit(rows, constraints=known))
    np.testing.assert_array_equal(results[0].embedding_, results[1].embedding_)
    np.testing.assert_array_equal(results[0].labels_, results[1].labels_)
    assert results[2].embedding_.dtype == np.float32
    assert adjusted_rand_score(results[0].labels_, results[2].labels_) > 0.95


# --- what it is made of ---


# --- extension -----------------------------------------------------------------------------------


def test_landmarks_that_are_far_from_a_row_do_not_blow_up():
    X = np.vstack([make_blobs(300, centers=2, random_state=0)[0], [[40.0, 40.0], [-45.0, 9.0]]])
    model = SpectralClustering(2, graph="landmarks", n_landmarks=30, random_state=0).fit(X)
    assert np.isfinite(model.embedding_).all()
    places = Landmarks(X[:20].astype(float), 1.0)
    vectors = places.fit(as_rows(X), 3)[1]
    assert np.abs(vectors).max() <= 1 + 1e-6


# --- objectives and splits -----------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["ratio-cut", "normalized-cut"])
def test_splits_send_new_rows_where_the_old_ones_went(wine, objective):
    X, _ = wine
    W = neighbor_graph(X, 10, weights="local")
    labels, splits = recursive_labels(W, 4, objective, np.random.RandomState(0))
    np.testing.assert_array_equal(labels_of_new(W, splits), labels)
    assert [split.new for split in splits] == [1, 2, 3]
    X, y = make_blobs(300, centers=[[0, 0], [6, 0], [0, 6], [30, 30]], random_state=0)
    model = SpectralClustering(4, partition="recursive", objective=objective, random_state=0)
    assert adjusted_rand_score(y, model.fit(X).labels_) > 0.95
    assert np.mean(model.predict(X) == model.labels_) > 0.98
