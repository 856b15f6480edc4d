"""What every learned distance does with poor rows and poor knowledge."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors

from sidelight import Constraints
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.metric import DCA, ITML, MMC, POLA, RCA, CannotLinkMetric

METRICS = {
    "RCA": RCA(),
    "DCA": DCA(),
    "DCA, as published": DCA(variant="published"),
    "MMC": MMC(),
    "MMC, diagonal": MMC(shape="diagonal"),
    "ITML": ITML(random_state=0),
    "POLA": POLA(random_state=0),
    "CannotLinkMetric": CannotLinkMetric(random_state=0),
}

every_metric = pytest.mark.parametrize("name", METRICS)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, Constraints.sample(y, 80, random_state=0)


@every_metric
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_metric_is_positive_semi_definite_and_finite(name, seed):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-3, 3)
    X = scale * rng.normal(size=(30, 4)) * rng.uniform(0.1, 3.0, size=4)
    known = Constraints.sample(rng.integers(3, size=30), 40, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        A = METRICS[name].fit(X, constraints=known).get_mahalanobis_matrix()
    assert np.isfinite(A).all()
    np.testing.assert_allclose(A, A.T, atol=1e-9 * np.abs(A).max())
    assert np.linalg.eigvalsh(A).min() >= -1e-9 * np.abs(A).max()
    assert np.abs(A).max() > 0


@every_metric
def test_a_feature_that_never_varies_changes_no_distance(name, iris):
    X, known = iris
    pairs = np.column_stack(np.triu_indices(20, 1))
    wider = np.column_stack([X, np.full(len(X), 7.0)])
    model = METRICS[name].fit(wider, constraints=known)
    assert np.isfinite(model.components_).all()
    distances = model.pair_distance(pairs, wider)
    moved = wider + np.array([0.0, 0.0, 0.0, 0.0, 3.0])
    np.testing.assert_allclose(model.pair_distance(pairs, moved), distances, rtol=1e-6, atol=1e-9)
    if name in ("ITML", "POLA", "CannotLinkMetric"):  # the others share out ridge or shrinkage
        plain = METRICS[name].fit(X, constraints=known).pair_distance(pairs, X)
        np.testing.assert_allclose(distances, plain, rtol=1e-5, atol=1e-9)


@every_metric
def test_a_feature_that_is_there_twice_does_no_harm(name, iris):
    X, known = iris
    twice = np.column_stack([X, X[:, 0]])
    mapped = METRICS[name].fit(twice, constraints=known).transform(twice)
    assert np.isfinite(mapped).all()


@every_metric
def test_the_metric_is_a_function_of_two_vectors(name, iris):
    X, known = iris
    model = METRICS[name].fit(X, constraints=known)
    distance = model.get_metric()
    (expected,) = model.pair_distance([(3, 77)], X)
    assert distance(X[3], X[77]) == pytest.approx(expected)
    assert distance(X[3], X[77], squared=True) == pytest.approx(expected**2)
    assert distance(X[3], X[3]) == 0.0
    for u, v, message in (
        (X[:4], X[4:8], r"u must be one vector, got an array of shape \(4, 4\).*pair_distance"),
        (X[0], X[:1], r"v must be one vector, got an array of shape \(1, 4\)"),
        (X[0], X[0, :3], "v has 3 numbers, but the rows of fit had 4"),
    ):
        with pytest.raises(ValueError, match=message):
            distance(u, v)
    tree = NearestNeighbors(n_neighbors=2, metric=distance).fit(X[:20])
    assert tree.kneighbors(X[:1])[0].shape == (1, 2)


@pytest.mark.parametrize("name", ["DCA", "MMC", "MMC, diagonal", "CannotLinkMetric"])
def test_cannot_links_are_needed(name, iris):
    X, known = iris
    together = Constraints(known.must_link, n_samples=150)
    with pytest.raises(SidelightError, match="RCA"):  # says what to use instead
        METRICS[name].fit(X, constraints=together)


@pytest.mark.parametrize("name", ["RCA", "ITML", "POLA"])
def test_must_links_are_enough(name, iris):
    X, known = iris
    together = Constraints(known.must_link, n_samples=150)
    assert np.isfinite(METRICS[name].fit(X, constraints=together).components_).all()


@pytest.mark.parametrize("cls", [RCA, DCA, CannotLinkMetric])
def test_more_components_than_features(cls, iris):
    X, known = iris
    with pytest.raises(ValueError, match="between 1 and the number of features, 4"):
        cls(n_components=5).fit(X, constraints=known)


def test_more_components_than_rank(iris):
    X, known = iris
    two = Constraints(known.must_link, known.cannot_link[:2], n_samples=150)
    with pytest.warns(ConstraintWarning, match="cannot-links span only 2;"):
        assert DCA(3).fit(X, constraints=two).components_.shape == (2, 4)
    cross = np.vstack([np.zeros(4), np.eye(4)[:2]])
    apart = Constraints(cannot_link=[(0, 1), (0, 2)], n_samples=3)
    with pytest.warns(ConstraintWarning, match="metric has only 2;"):
        model = CannotLinkMetric(n_components=3).fit(cross, constraints=apart)
    np.testing.assert_allclose(model.components_[2], 0.0, atol=1e-6)
    flat = np.column_stack([X, np.ones(150)])
    with pytest.warns(ConstraintWarning, match="rows vary in only 3;"):
        RCA(4).fit(flat[:, [0, 1, 2, 4, 4]], constraints=known)


def test_must_links_that_leave_directions_open():
    X = np.random.default_rng(0).normal(size=(12, 5))
    few = Constraints([(0, 1), (2, 3)], [(4, 5), (6, 7), (8, 9)], n_samples=12)
    with pytest.warns(ConstraintWarning, match="span 2 of 5 directions.*shrinkage=1e-06"):
        A = MMC(shrinkage=0).fit(X, constraints=few).get_mahalanobis_matrix()
    assert np.isfinite(A).all()
    MMC().fit(X, constraints=few)  # the default bounds them, and says nothing
    constant = np.column_stack([X[:, :2], np.ones(12)])
    many = Constraints([(0, 1), (2, 3), (4, 6)], [(4, 5), (8, 9)], n_samples=12)
    with pytest.warns(ConstraintWarning, match="nothing bounds the distance"):
        MMC(shape="diagonal", shrinkage=0).fit(constant, constraints=many)


@pytest.mark.parametrize("scale", [1e69, 1e-69])
def test_lengths_beyond_numbers(scale):
    X = np.random.default_rng(0).normal(size=(20, 3)) * scale
    known = Constraints(cannot_link=[(0, 1), (2, 3)], n_samples=20)
    with pytest.raises(SidelightError, match="Standardize the features first"):
        CannotLinkMetric().fit(X, constraints=known)
