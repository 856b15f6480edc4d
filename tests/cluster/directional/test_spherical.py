"""Spherical k-means: directions, unit centres, and rows that are normalised as they are read."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sidelight import Constraints
from sidelight._fit.views import UnitRows, row_lengths
from sidelight.cluster import SphericalKMeans
from sidelight.cluster.directional._directions import onto_sphere
from sidelight.engine import as_rows
from sidelight.exceptions import ConstraintWarning, SidelightError


@pytest.fixture(scope="module")
def directions():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 300)
    X = rng.normal(size=(5, 8))[y] + 0.4 * rng.normal(size=(300, 8))
    return X * rng.uniform(0.1, 10, size=(300, 1)), y


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def reference(X, centers, n_iter):
    """k-means on unit vectors with renormalised centres, written out."""
    Z, centers = unit(X), unit(centers)
    costs = []
    for _ in range(n_iter):
        labels = np.argmin(((Z[:, None] - centers) ** 2).sum(axis=2), axis=1)
        costs.append(np.sum(1 - np.sum(Z * centers[labels], axis=1)))
        means = np.array([Z[labels == h].mean(axis=0) for h in range(len(centers))])
        centers = unit(means)
    return labels, centers, np.array(costs)


def test_is_kmeans_on_unit_vectors_with_renormalised_centres(directions):
    X, _ = directions
    model = SphericalKMeans(5, init=X[:5], tol=0).fit(X)
    labels, centers, costs = reference(X, X[:5], model.n_iter_)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-12)
    np.testing.assert_allclose(model.history_, costs)


def test_the_mean_cosine_never_falls_and_belongs_to_the_objective(directions):
    X, _ = directions
    for seed in range(5):
        model = SphericalKMeans(7, n_init=1, init="random", random_state=seed).fit(X)
        assert np.all(np.diff(model.history_) <= 1e-10)
        cosines = np.sum(unit(X) * model.cluster_centers_[model.labels_], axis=1)
        assert model.mean_cosine_ == pytest.approx(cosines.mean())
        assert model.objective_ == pytest.approx(np.sum(1 - cosines))
        np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1)


def test_the_best_of_all_partitions_is_found_on_few_rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(8, 3))
    Z = unit(X)
    best = min(
        sum(
            np.sum(np.array(labels) == h) - np.linalg.norm(Z[np.array(labels) == h].sum(axis=0))
            for h in range(2)
        )
        for labels in itertools.product(range(2), repeat=8)
    )
    model = SphericalKMeans(2, n_init=40, tol=0, random_state=0).fit(X)
    assert model.objective_ == pytest.approx(best)


def test_lengths_of_rows_do_not_matter(directions):
    X, _ = directions
    factors = 2.0 ** np.random.default_rng(1).integers(-30, 30, size=(len(X), 1))
    plain = SphericalKMeans(5, random_state=0).fit(X)
    scaled = SphericalKMeans(5, random_state=0).fit(X * factors)
    np.testing.assert_array_equal(plain.labels_, scaled.labels_)
    assert plain.objective_ == scaled.objective_


def test_sample_weight_is_repetition(directions):
    X, _ = directions
    times = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = SphericalKMeans(5, random_state=0).fit(X, sample_weight=times)
    repeated = SphericalKMeans(5, random_state=0).fit(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_)
    assert weighted.mean_cosine_ == pytest.approx(repeated.mean_cosine_)


def test_transform_predict_and_score(directions):
    X, _ = directions
    model = SphericalKMeans(5, random_state=0).fit(X)
    distances = 1 - unit(X) @ model.cluster_centers_.T
    np.testing.assert_allclose(model.transform(X), distances, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.argmin(distances, axis=1))
    assert model.score(X) == pytest.approx(-distances.min(axis=1).sum())


def test_perturbed_mean_start(directions):
    # The start of the chapter: small random steps from the mean direction (section 8.3.2).
    X, _ = directions
    steps = unit(np.random.RandomState(0).standard_normal((50, X.shape[1]))).reshape(10, 5, -1)
    starts = unit(X).mean(axis=0) / np.linalg.norm(unit(X).mean(axis=0)) + 0.1 * steps
    models = [SphericalKMeans(5, init=start).fit(X) for start in starts]
    model = min(models, key=lambda model: model.objective_)
    best = SphericalKMeans(5, n_init=10, random_state=0).fit(X)
    assert model.objective_ <= 1.2 * best.objective_
    assert len(np.unique(model.labels_)) == 5
    with pytest.raises(ValueError, match="init must be"):
        SphericalKMeans(5, init="perturb").fit(X)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_zero_rows_are_named(directions, kind):
    X = directions[0].copy()
    X[[17, 40]] = 0
    with pytest.raises(SidelightError, match=r"^Row 17.* is all zeros \(and so are 1 more\).*drop"):
        SphericalKMeans(3).fit(kind(X))
    names = [f"doc{i}" for i in range(len(X))]
    with pytest.raises(SidelightError, match="'doc17'"):
        SphericalKMeans(3).fit(kind(X), constraints=Constraints(ids=names))
    model = SphericalKMeans(3, random_state=0).fit(directions[0])
    with pytest.raises(SidelightError, match="Row 17"):
        model.predict(kind(X))
    with pytest.raises(SidelightError, match="Center 1 of init"):
        SphericalKMeans(2, init=[[1.0] * 8, [0.0] * 8]).fit(directions[0])


def test_constraints_are_counted_not_used(directions):
    X, y = directions
    known = Constraints.sample(y, 100, random_state=0)
    plain = SphericalKMeans(3, random_state=0).fit(X)
    with pytest.warns(ConstraintWarning, match="does not use must-links.*HMRFKMeans"):
        told = SphericalKMeans(3, random_state=0).fit(X, constraints=known)
    np.testing.assert_array_equal(plain.labels_, told.labels_)
    assert told.n_violations_ == known.violations(told.labels_).n > 0


# --- what it is made of ---


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_stay_sparse_and_give_the_same(directions, dtype):
    X = np.where(np.abs(directions[0]) > 1, directions[0], 0).astype(dtype)
    X = X[np.any(X != 0, axis=1)]
    source = UnitRows(as_rows(sparse.csr_array(X)))
    block = source.take(np.arange(5))
    assert sparse.issparse(block)
    np.testing.assert_allclose(block.toarray(), unit(X)[:5], rtol=1e-6)
    dense = SphericalKMeans(4, init=X[:4]).fit(X)
    thin = SphericalKMeans(4, init=X[:4]).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(thin.labels_, dense.labels_)
    assert thin.cluster_centers_.dtype == dtype


def test_rows_that_cancel_leave_the_centre_where_it_was():
    before = np.array([[0.0, 1.0], [1.0, 0.0]])
    moved = onto_sphere(np.array([[1e-17, 0.0], [0.0, 3.0]]), before)
    np.testing.assert_array_equal(moved, [[0.0, 1.0], [0.0, 1.0]])
    model = SphericalKMeans(1, init=[[0.0, 1.0]]).fit([[1.0, 0.0], [-1.0, 0.0]])
    assert model.mean_cosine_ == pytest.approx(0)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([-200, -150, 0, 150, 200]))
def test_lengths_beyond_the_range_of_squares(seed, power):
    X = np.random.default_rng(seed).normal(size=(6, 4))
    np.testing.assert_allclose(
        row_lengths(X * 10.0**power), np.linalg.norm(X, axis=1) * 10.0**power, rtol=1e-12
    )
