"""Relevant component analysis: whitening within chunklets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from sidelight import Constraints
from sidelight._fit.scatter import chunklet_scatter, oracle_shrinkage, shrunk
from sidelight.cluster import KMeans
from sidelight.evaluation import adjusted_rand_index
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.metric import DCA, RCA


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X, y, Constraints.sample(y, 150, random_state=0)


def test_distances_do_not_depend_on_a_linear_map_of_the_rows(wine):
    X, _, known = wine
    B = np.random.default_rng(0).normal(size=(13, 13)) + 3 * np.eye(13)
    X = X / X.std(axis=0)
    pairs = np.random.default_rng(1).integers(0, len(X), size=(200, 2))
    one = RCA(shrinkage=0).fit(X, constraints=known).pair_distance(pairs, X)
    other = RCA(shrinkage=0).fit(X @ B, constraints=known).pair_distance(pairs, X @ B)
    np.testing.assert_allclose(one, other, rtol=1e-7)


def test_classes_as_chunklets_span_what_lda_spans():
    X, y = load_iris(return_X_y=True)
    reduced = RCA(2, shrinkage=0).fit(X, y)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    angles = linalg.subspace_angles(reduced.components_.T, lda.scalings_[:, :2])
    assert angles.max() < 1e-7


def test_the_metric_is_one_thing_seen_from_many_sides(wine):
    X, _, known = wine
    model = RCA().fit(X, constraints=known)
    distance, A = model.get_metric(), model.get_mahalanobis_matrix()
    gap = X[3] - X[90]
    assert np.linalg.eigvalsh(A).min() > 0
    expected = np.sqrt(gap @ A @ gap)
    assert distance(X[3], X[90]) == pytest.approx(expected)
    assert model.pair_distance(X[None, [3, 90]])[0] == pytest.approx(expected)
    assert model.pair_score([(3, 90)], X)[0] == pytest.approx(-expected)
    K = model.kernel(X[[3, 90]])
    assert np.sqrt(K[0, 0] + K[1, 1] - 2 * K[0, 1]) == pytest.approx(expected)


def test_too_few_chunklets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 6))
    few = Constraints(must_link=[(0, 1), (2, 3)], n_samples=20)
    with pytest.raises(SidelightError, match="span 2 of 6 directions"):
        RCA(shrinkage=0).fit(X, constraints=few)
    with pytest.warns(ConstraintWarning, match=r"at most 2 of 6 directions.*shrinkage=0\.05"):
        model = RCA(shrinkage=0.05).fit(X, constraints=few)
    assert np.isfinite(model.components_).all()
    # Where nothing is known all directions count alike.
    spanned = np.array([X[0] - X[1], X[2] - X[3]])
    free = linalg.null_space(spanned)
    inside = free.T @ model.get_mahalanobis_matrix() @ free
    np.testing.assert_allclose(inside, inside[0, 0] * np.eye(4), atol=1e-10)
    with pytest.warns(ConstraintWarning, match="Euclidean"):
        model = RCA().fit(X, constraints=Constraints(n_samples=20))
    np.testing.assert_array_equal(model.components_, np.eye(6))


@pytest.mark.parametrize("kept", [None, 4])
@pytest.mark.parametrize("scale", [1e7, 1e-7, 1e10])
def test_units_of_a_feature_change_no_distance(wine, kept, scale):
    X, _, known = wine
    units = np.where(np.arange(13) == 5, scale, 1.0)
    pairs = np.random.default_rng(1).integers(0, len(X), size=(200, 2))
    plain = RCA(kept, shrinkage=0).fit(X, constraints=known).pair_distance(pairs, X)
    other = RCA(kept, shrinkage=0).fit(X * units, constraints=known)
    np.testing.assert_allclose(other.pair_distance(pairs, X * units), plain, rtol=1e-5)


def test_features_that_say_the_same_are_refused_in_any_units(wine):
    X, _, known = wine
    twice = np.column_stack([X, 1e7 * X[:, 2] + 1e7 * X[:, 3]])
    with pytest.raises(SidelightError, match="span 13 of 14 directions"):
        RCA(shrinkage=0).fit(twice, constraints=known)


def test_the_weight_of_a_must_link_is_its_chunklet_given_as_often(wine):
    X, _, _ = wine
    links = np.arange(80).reshape(40, 2)
    weight = np.where(np.arange(40) < 10, 2.0, 1.0)
    heavy = Constraints(links, must_link_weight=weight, n_samples=len(X))
    again = Constraints(np.vstack([links, links[:10] + len(X)]), n_samples=len(X) + 20)
    one = RCA(shrinkage=0.05).fit(X, constraints=heavy).get_mahalanobis_matrix()
    doubled = np.vstack([X, X[:20]])
    other = RCA(shrinkage=0.05).fit(doubled, constraints=again).get_mahalanobis_matrix()
    np.testing.assert_allclose(one, other, rtol=1e-7)


@pytest.mark.parametrize("cls", [RCA, DCA])
def test_by_default_units_of_features_do_not_matter(wine, cls):
    X, _, known = wine
    units = np.logspace(-6, 6, X.shape[1])
    pairs = known.cannot_link[:20]
    one = cls().fit(X, constraints=known).pair_distance(pairs, X)
    other = cls().fit(X * units, constraints=known).pair_distance(pairs, X * units)
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_few_must_links_do_little_more_than_standardize():
    X, y = load_wine(return_X_y=True)
    few = Constraints(np.argsort(y, kind="stable")[:12].reshape(6, 2), n_samples=len(y))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    mapped = RCA().fit(X, constraints=few).transform(X)
    # k-means on raw rows sees one feature; on standardized ones it finds the classes.
    found = KMeans(3, random_state=0).fit(mapped).labels_
    plain = KMeans(3, random_state=0).fit(Z).labels_
    assert adjusted_rand_index(y, found) > adjusted_rand_index(y, plain) - 0.1


# --- what it is made of ---


def within(rows: np.ndarray, component: np.ndarray) -> np.ndarray:
    scatter, n, _ = chunklet_scatter(rows, component)
    return scatter / n


def test_scatter_is_the_definition(wine):
    X, _, known = wine
    component = known.components()
    expected = np.zeros((13, 13))
    n = chunklets = 0
    for c in np.unique(component):
        members = X[component == c]
        if len(members) >= 2:
            gaps = members - members.mean(axis=0)
            expected += gaps.T @ gaps
            n, chunklets = n + len(members), chunklets + 1
    scatter, rows, count = chunklet_scatter(X, component)
    np.testing.assert_allclose(scatter, expected, rtol=1e-9, atol=1e-7)
    assert (rows, count) == (n, chunklets)


@pytest.mark.parametrize("kept", [None, 4])
def test_within_chunklets_the_covariance_becomes_the_identity(wine, kept):
    X, _, known = wine
    mapped = RCA(kept, shrinkage=0).fit(X, constraints=known).transform(X)
    size = mapped.shape[1]
    np.testing.assert_allclose(within(mapped, known.components()), np.eye(size), atol=1e-8)


def test_all_dimensions_kept_are_the_plain_distances(wine):
    X, _, known = wine
    plain = RCA(shrinkage=0).fit(X, constraints=known).get_mahalanobis_matrix()
    kept = RCA(13, shrinkage=0).fit(X, constraints=known).get_mahalanobis_matrix()
    np.testing.assert_allclose(plain, np.linalg.inv(within(X, known.components())), rtol=1e-6)
    np.testing.assert_allclose(kept, plain)


@pytest.mark.parametrize("n_rows", [4, 10, 40])
def test_shrinkage_by_default_is_close_to_the_best_there_is(n_rows):
    rng = np.random.default_rng(0)
    true = np.diag([4.0, 2.0, 1.0, 0.5, 0.2])
    shares, ours, errors = np.linspace(0, 1, 21), [], []
    for _ in range(400):
        rows = rng.normal(size=(n_rows, 5)) * np.sqrt(np.diagonal(true))
        found = rows.T @ rows / n_rows
        errors.append([np.sum((shrunk(found, share) - true) ** 2) for share in shares])
        ours.append(np.sum((shrunk(found, oracle_shrinkage(found, n_rows)) - true) ** 2))
    errors = np.mean(errors, axis=0)
    assert np.mean(ours) < 1.2 * errors.min()
    assert np.mean(ours) < errors[0]
