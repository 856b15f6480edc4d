"""KMeans: the estimator around the Lloyd core."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans as ReferenceKMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning

from sidelight import Constraints
from sidelight.cluster import KMeans


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(500, n_features=4, centers=6, cluster_std=3.0, random_state=0)


def test_equals_scikit_learn_from_the_same_centres(blobs):
    X, _ = blobs
    ours = KMeans(6, init=X[:6]).fit(X)
    theirs = ReferenceKMeans(6, init=X[:6], n_init=1).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X))
    np.testing.assert_array_equal(ours.predict(X + 0.5), theirs.predict(X + 0.5))
    assert ours.objective_ == pytest.approx(theirs.inertia_)
    assert ours.score(X) == pytest.approx(theirs.score(X))
    assert ours.n_iter_ == theirs.n_iter_


def test_as_good_as_scikit_learn_with_as_many_starts():
    X, _ = load_digits(return_X_y=True)
    ours = [KMeans(10, n_init=5, random_state=seed).fit(X).objective_ for seed in range(4)]
    theirs = [ReferenceKMeans(10, n_init=5, random_state=seed).fit(X).inertia_ for seed in range(4)]
    assert np.mean(ours) <= 1.003 * np.mean(theirs)


def test_more_starts_are_never_worse(blobs):
    X, _ = blobs
    one = KMeans(10, n_init=1, random_state=0).fit(X)
    many = KMeans(10, n_init=8, random_state=0).fit(X)
    assert many.objective_ <= one.objective_


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_the_same_seed_gives_the_same_result(blobs, init):
    X, _ = blobs
    runs = [KMeans(5, init=init, n_init=2, random_state=7).fit(X) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].cluster_centers_, runs[1].cluster_centers_)
    assert np.ptp(KMeans(5, init=init, random_state=8).fit(X).history_) > 0


def test_sample_weight_is_repetition(blobs):
    X, _ = blobs
    times = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = KMeans(6, random_state=0).fit(X, sample_weight=times)
    repeated = KMeans(6, random_state=0).fit(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_)
    assert weighted.score(X, sample_weight=times) == pytest.approx(-repeated.objective_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_precision_is_kept(blobs, dtype, kind):
    X = kind(blobs[0].astype(dtype))
    model = KMeans(3, random_state=0).fit(X)
    assert model.cluster_centers_.dtype == dtype
    assert model.transform(X).dtype == dtype
    assert model.labels_.dtype == np.int32
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_precision_may_differ_between_fit_and_predict(blobs):
    X, _ = blobs
    single = KMeans(3, random_state=0).fit(X.astype(np.float32))
    np.testing.assert_array_equal(single.predict(X), single.labels_)
    double = KMeans(3, random_state=0).fit(X)
    np.testing.assert_array_equal(double.predict(X.astype(np.float32)), double.labels_)


def test_constraints_are_counted_not_used(blobs):
    X, y = blobs
    known = Constraints.sample(y, 100, random_state=0)
    plain = KMeans(6, random_state=0).fit(X)
    told = KMeans(6, random_state=0).fit(X, constraints=known)
    np.testing.assert_array_equal(plain.labels_, told.labels_)
    assert plain.n_violations_ == 0
    assert told.n_violations_ == known.violations(told.labels_).n > 0


def test_y_is_ignored(blobs):
    X, y = blobs
    np.testing.assert_array_equal(
        KMeans(3, random_state=0).fit_predict(X), KMeans(3, random_state=0).fit_predict(X, y)
    )


def test_more_clusters_than_distinct_rows_warns():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 4, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\)"):
        model = KMeans(5, random_state=0).fit(X)
    assert model.objective_ == 0
    assert np.isfinite(model.cluster_centers_).all()


def test_feature_names_out(blobs):
    model = KMeans(3, random_state=0).fit(blobs[0])
    assert list(model.get_feature_names_out()) == ["kmeans0", "kmeans1", "kmeans2"]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"init": "best"}, "init must be"),
        ({"init": np.zeros((2, 4))}, "one center per cluster"),
        ({"init": np.full((3, 4), np.nan)}, "NaN"),
        ({"n_init": 0}, "n_init"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"n_clusters": 0}, "at least 1"),
    ],
)
def test_bad_parameters(blobs, params, message):
    with pytest.raises(ValueError, match=message):
        KMeans(**{"n_clusters": 3, **params}).fit(blobs[0])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "one weight per row"),
        (np.r_[np.ones(499), -1.0], "row 499 has -1"),
        (np.r_[np.nan, np.ones(499)], "row 0 has nan"),
        (np.zeros(500), "zero for every row"),
    ],
)
def test_bad_weights(blobs, weights, message):
    with pytest.raises(ValueError, match=message):
        KMeans(3).fit(blobs[0], sample_weight=weights)
