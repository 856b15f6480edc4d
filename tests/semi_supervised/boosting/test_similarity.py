"""Similarities: all ways to the same ones agree, and those that make no sense are refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from tests.semi_supervised.boosting.data import bell, two_blobs

from sidelight import Constraints, engine
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.graphs import percentile_distance
from sidelight.semi_supervised import SemiBoostClassifier
from sidelight.semi_supervised.boosting import _similarity as similarities


def boost(**params):
    return SemiBoostClassifier(**{"random_state": 0, **params})


def assert_same_fit(one, other, X, rtol=1e-4):
    np.testing.assert_allclose(one.estimator_weights_, other.estimator_weights_, rtol=rtol)
    np.testing.assert_allclose(one.history_, other.history_, rtol=rtol)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=rtol)


@pytest.fixture
def data():
    return two_blobs(n=50, distance=1.5)


def test_all_ways_to_the_gaussian_agree(data):
    X, _, known = data
    S = bell(X, 0.8)
    plain = boost(similarity="rbf", sigma=0.8).fit(X, known)
    assert plain.sigma_ == 0.8
    others = (
        {"similarity": S},
        {"similarity": S.astype(np.float32)},
        {"similarity": sparse.csr_array(S)},
        {"similarity": sparse.csr_matrix(S)},
        {"similarity": lambda A, B: rbf_kernel(A, B, gamma=1 / 0.64)},
        {"similarity": lambda A, B: sparse.csr_array(rbf_kernel(A, B, gamma=1 / 0.64))},
        {"similarity": "knn", "sigma": 0.8, "n_neighbors": 49},
        {"similarity": "knn", "sigma": 0.8, "n_neighbors": 1000},
    )
    for params in others:
        assert_same_fit(boost(**params).fit(X, known), plain, X)
    thin = boost(similarity="rbf", sigma=0.8).fit(sparse.csr_array(X), known)
    assert_same_fit(thin, plain, sparse.csr_array(X).toarray())


def test_linear_similarities_are_never_formed_but_count(data):
    X, _, known = data
    X = X - X.min(axis=0)
    X /= X.max()  # objectives are in units of the largest value
    explicit = boost(similarity=X @ X.T).fit(X, known)
    largest = (X @ X.T).max()
    for rows in (X, sparse.csr_array(X)):
        model = boost(similarity="linear").fit(rows, known)
        np.testing.assert_allclose(model.estimator_weights_, explicit.estimator_weights_, rtol=1e-9)
        np.testing.assert_allclose(model.history_, explicit.history_ * largest, rtol=1e-9)
        np.testing.assert_array_equal(model.pseudo_labels_history_, explicit.pseudo_labels_history_)


def test_rows_as_similarities_are_the_features_too(data):
    X, y, known = data
    S = bell(X, 1.0)
    model = boost(similarity="precomputed").fit(S, known)
    same = boost(similarity=S).fit(S, known)
    assert_same_fit(model, same, S)
    new = np.exp(-((X[:5, None] - X[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(model.decision_function(new), model.decision_function(S[:5]))
    assert model.score(S, y) > 0.7
    with pytest.raises(SidelightError, match=r"square matrix.*\(50, 50\); got shape \(50, 2\)"):
        boost(similarity="precomputed").fit(X, known)


def test_width_is_a_percentile_of_the_distances(data):
    X, _, known = data
    for name in ("rbf", "knn"):
        model = boost(similarity=name, percentile=30.0).fit(X, known)
        assert model.sigma_ == pytest.approx(percentile_distance(X, 30))
        scaled = boost(similarity=name, percentile=30.0).fit(1e6 * X, known)
        np.testing.assert_allclose(scaled.estimator_weights_, model.estimator_weights_, rtol=1e-4)
    # Half of the rows are the same: the first percentile above 0 is taken.
    X = np.concatenate([np.zeros((60, 2)), np.random.default_rng(0).normal(size=(20, 2))])
    known = np.where(np.arange(80) % 19 == 0, np.arange(80) > 60, -1)
    assert boost(percentile=1.0).fit(X, known).sigma_ > 0


# ------------------------------------------------------------------ what is refused or told


def test_negative_and_missing_similarities_are_refused(data):
    X, _, known = data
    S = bell(X, 1.0)
    for kind in (np.asarray, sparse.csr_array):
        bad = S.copy()
        bad[3, 5] = bad[5, 3] = -0.25
        with pytest.raises(SidelightError, match=r"row 3 and row 5 is -0\.25; .* not negative"):
            boost(similarity=kind(bad)).fit(X, known)
    bad[3, 5] = np.inf
    with pytest.raises(SidelightError, match="row 3 and row 5 is inf"):
        boost(similarity=bad).fit(X, known)
    with pytest.raises(SidelightError, match="row 0 and row 0 is nan"):
        boost(similarity=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X, known)
    with pytest.raises(SidelightError, match=r"of shape \(50, 50\); got shape \(49, 49\)"):
        boost(similarity=S[:-1, :-1]).fit(X, known)
    named = Constraints.from_labels(known, ids=[f"apple {i}" for i in range(50)])
    with pytest.raises(SidelightError, match=r"apple 3.* and .*apple 5.* is inf"):
        boost(similarity=bad).fit(X, constraints=named)


def test_rows_with_negative_products_are_refused_by_name(data):
    X, _, known = data
    with pytest.raises(SidelightError, match=r"must not be negative.*similarity='rbf'"):
        boost(similarity="linear").fit(X - X.mean(axis=0), known)
    # Negative values whose products are not: allowed.
    boost(similarity="linear").fit(-np.abs(X), known)


def test_directed_similarities_are_made_symmetric_with_a_warning(data):
    X, _, known = data
    S = bell(X, 1.0) * np.random.default_rng(0).uniform(0.5, 1.0, (50, 50))
    mean = boost(similarity=(S + S.T) / 2).fit(X, known)
    for kind in (np.asarray, sparse.csr_array):
        with pytest.warns(ConstraintWarning, match="not symmetric.*mean over both directions"):
            model = boost(similarity=kind(S)).fit(X, known)
        np.testing.assert_allclose(model.estimator_weights_, mean.estimator_weights_, rtol=1e-9)


def test_rows_that_no_label_reaches_are_told(data):
    X, _, known = data
    with pytest.raises(SidelightError, match=r"No unlabeled row is similar.*increase sigma"):
        boost(similarity="rbf", sigma=1e-6).fit(X, known)
    with pytest.raises(SidelightError, match="No unlabeled row is similar"):
        boost(similarity=np.eye(50)).fit(X, known)
    far = np.concatenate([X, X[known < 0][:7] + 1e4])
    labels = np.concatenate([known, np.full(7, -1)])
    for params in ({"similarity": "rbf", "sigma": 1.0}, {"similarity": "knn", "n_neighbors": 3}):
        with pytest.warns(ConstraintWarning, match=r"^7 unlabeled rows of 51 \(such as .*reached"):
            model = boost(**params).fit(far, labels)
        assert not model.pseudo_labels_history_[0, -7:].any()
        assert np.isfinite(model.decision_function(far)).all()
    # A chain of similar rows is enough.
    chain = np.arange(12.0)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        boost(similarity="knn", n_neighbors=1, sigma=1.0).fit(chain, [0, *[-1] * 10, 1])


def test_labels_that_speak_equally_for_both_classes_leave_the_learner_alone():
    X = np.ones((12, 2))
    known = [0, 1, *[-1] * 10]
    with pytest.warns(ConstraintWarning, match="no use for the unlabeled rows"):
        model = boost(similarity="rbf").fit(X, known)
    assert model.stop_reason_ == "no unlabeled row leans to either class"
    assert len(model.estimators_) == 1


def test_learners_that_cannot_do_it_are_named(data):
    X, _, known = data
    with pytest.raises(SidelightError, match="KNeighborsClassifier takes no sample_weight"):
        boost(estimator=KNeighborsClassifier(), sampling="weight").fit(X, known)
    with pytest.raises(SidelightError, match=r"must be a classifier.*LinearRegression predicts"):
        boost(estimator=LinearRegression()).fit(X, known)

    class NoPredict(BaseEstimator):
        def fit(self, X, y):
            return self

    with pytest.raises(SidelightError, match="NoPredict has no predict"):
        boost(estimator=NoPredict()).fit(X, known)


def test_one_class_is_refused(data):
    X, _, known = data
    with pytest.raises(SidelightError, match="all labeled rows are of one class"):
        boost().fit(X, np.where(known == 1, 1, -1))


@pytest.mark.parametrize("scale", [1e60, 1e-60])
def test_learners_see_rows_in_their_range(data, scale):
    X, _, known = data
    plain = boost().fit(X, known)
    model = boost().fit(X * scale, known)
    assert np.mean(model.predict(X * scale) == plain.predict(X)) > 0.95


# --- what it is made of ---


def test_products_with_many_rows_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1600, 3))
    labels = np.where(np.arange(1600) < 10, np.arange(1600) % 2, -1)
    vectors = rng.uniform(size=(2, 1590))
    results = []
    for n_threads in (1, 3):
        with engine.threads(n_threads):
            found = similarities.gaussian(X, labels, 2, 1.0)
            results.append((found.joined.products(vectors), found.votes, found.joined.matrix))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
    products, votes, matrix = results[0]
    S = bell(X[10:], 1.0)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_allclose(matrix, S, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(products, vectors @ S, rtol=1e-5)
    to_labeled = np.exp(-((X[10:, None] - X[None, :10]) ** 2).sum(axis=2))
    np.testing.assert_allclose(votes[:, 1], to_labeled[:, labels[:10] == 1].sum(axis=1), rtol=1e-9)


# ------------------------------------------------------------------ what is refused or told


def test_too_many_rows_for_all_similarities_name_the_alternative(monkeypatch, data):
    X, _, known = data
    monkeypatch.setattr(similarities, "MAX_ROWS", 40)
    with pytest.raises(SidelightError, match=r"44 unlabeled rows take .*similarity='knn'"):
        boost(similarity="rbf").fit(X, known)
    boost(similarity="knn").fit(X, known)
