"""Kernels, landmarks, rows of unknown class, and input that cannot be used."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from tests.semi_supervised.pairs.problems import problem

from sidelight import Constraints
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.semi_supervised import PairwiseLogisticRegression, PairwiseSVC

BOTH = pytest.mark.parametrize("cls", [PairwiseLogisticRegression, PairwiseSVC])


@BOTH
def test_a_matrix_and_a_function_are_the_kernel_by_name(cls):
    X, labels, known = problem(3, groups=True)
    plain = cls(gamma=0.4).fit(X, labels, constraints=known)
    expected = plain.decision_function(X[:7])
    K = rbf_kernel(X, gamma=0.4)
    by_matrix = cls(kernel="precomputed").fit(K, labels, constraints=known)
    np.testing.assert_allclose(by_matrix.decision_function(K[:7]), expected, atol=1e-5)
    by_function = cls(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.4))
    by_function.fit(X, labels, constraints=known)
    np.testing.assert_allclose(by_function.decision_function(X[:7]), expected, atol=1e-5)
    for strategy in ("min", "max", "com"):
        pairs, _ = plain.suggest_pairs(X, strategy)
        np.testing.assert_array_equal(by_function.suggest_pairs(X, strategy)[0], pairs)
        np.testing.assert_array_equal(by_matrix.suggest_pairs(K, strategy)[0], pairs)


@BOTH
def test_as_many_landmarks_as_rows_are_the_kernel_itself(cls):
    X, labels, known = problem(3, groups=True)
    for kernel in ("rbf", laplacian_kernel):
        exact = cls(kernel=kernel, tol=1e-10).fit(X, labels, constraints=known)
        model = cls(kernel=kernel, tol=1e-10, n_components=40).fit(X, labels, constraints=known)
        np.testing.assert_array_equal(model.support_, np.arange(40))
        np.testing.assert_allclose(
            model.decision_function(X), exact.decision_function(X), atol=1e-3
        )


@BOTH
def test_few_landmarks(cls):
    X, labels, known = problem()
    K = rbf_kernel(X, gamma=0.4)
    model = cls(gamma=0.4, n_components=10, random_state=0).fit(X, labels, constraints=known)
    assert len(model.support_) == 10
    other = cls(kernel="precomputed", n_components=10, random_state=0)
    other.fit(K, labels, constraints=known)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(K), atol=1e-5)
    # The features of landmarks are those of the kernel K(x, Z) K(Z, Z)^-1 K(Z, x).
    Z = model.support_
    low_rank = K[:, Z] @ np.linalg.solve(K[np.ix_(Z, Z)], K[Z])
    exact = cls(kernel="precomputed", alpha=0.01).fit(
        (low_rank + low_rank.T) / 2, labels, constraints=known
    )
    np.testing.assert_allclose(
        model.decision_function(X), exact.decision_function(low_rank), atol=1e-4
    )


@BOTH
def test_only_rows_that_something_is_said_about_make_up_the_function(cls):
    X, labels, known = problem()
    model = cls().fit(X, labels, constraints=known)
    named = np.unique(
        [*np.flatnonzero(labels >= 0), *known.must_link.flat, *known.cannot_link.flat]
    )
    np.testing.assert_array_equal(model.support_, named)
    assert model.dual_coef_.shape == (1, len(named))
    model.set_params(kernel="linear").fit(X, labels, constraints=known)
    assert model.coef_.shape == (1, 3)
    assert not hasattr(model, "support_")


@BOTH
def test_rows_that_no_class_claims_are_rejected(cls):
    X, labels, known = problem(3)
    plain = cls().fit(X, labels, constraints=known)
    model = cls(reject=0.0).fit(X, labels, constraints=known)
    values = plain.decision_function(X)
    unclaimed = values.max(axis=1) < 0
    assert unclaimed.any()
    assert not unclaimed.all()
    expected = np.where(unclaimed, -1, plain.predict(X))
    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal(model.transduction_, np.where(labels >= 0, labels, expected))
    assert model.n_violations_ == known.violations(model.transduction_).n + 0
    assert model.transduction_.dtype == plain.transduction_.dtype
    assert set(plain.predict(X)) <= {0, 1, 2}


@BOTH
def test_unknown_is_written_as_unlabeled_rows_are(cls):
    X, labels, known = problem(3)
    words = np.where(labels < 0, "", np.array(["ape", "bee", "cow"])[labels])
    model = cls(reject=0.0).fit(X, words, constraints=known)
    predicted = model.predict(X)
    plain = cls().fit(X, words, constraints=known).predict(X)
    assert {None} < set(predicted.tolist()) <= {None, "ape", "bee", "cow"}
    assert all(one is None or one == other for one, other in zip(predicted, plain, strict=True))
    assert predicted.dtype == object
    assert model.score(X, plain) < 1
    floats = cls(reject=0.0).fit(X, np.where(labels < 0, np.nan, labels), constraints=known)
    assert floats.predict(X).dtype == np.float64
    assert -1 in floats.predict(X)
    kept = cls(reject=0.0).fit(X, words, constraints=known).predict(X[labels >= 0][:1])
    assert kept.tolist() == ["ape"]


@BOTH
def test_two_classes_are_rejected_by_the_size_of_their_value(cls):
    X, labels, known = problem()
    plain = cls().fit(X, labels, constraints=known)
    f = plain.decision_function(X)
    np.testing.assert_array_equal(
        cls(reject=0.0).fit(X, labels, constraints=known).predict(X), plain.predict(X)
    )
    limit = float(np.median(np.abs(f)))
    model = cls(reject=limit).fit(X, labels, constraints=known)
    np.testing.assert_array_equal(
        model.predict(X), np.where(np.abs(f) < limit, -1, plain.predict(X))
    )


@BOTH
def test_labels_are_not_passed_on(cls):
    """A must-link is a term of the loss, which a label is not."""
    X, labels, _ = problem()
    known = Constraints([(0, 30)], n_samples=40)
    told = labels.copy()
    told[30] = labels[0]
    linked = cls(penalty=0.1).fit(X, labels, constraints=known).decision_function(X)
    assert np.abs(linked - cls().fit(X, told).decision_function(X)).max() > 1e-3


@BOTH
def test_contradictions_are_told_and_lived_with(cls):
    X, labels, _ = problem()
    known = Constraints([(20, 21), (21, 22)], [(20, 22)], n_samples=40)
    with pytest.warns(ConstraintWarning, match="contradict themselves: row 20 and row 22"):
        model = cls().fit(X, labels, constraints=known)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.n_violations_ >= 1


@BOTH
def test_models_can_be_stored_and_searched(cls):
    X, labels, known = problem(3, n=60, n_labels=30)
    model = cls().fit(X, labels, constraints=known)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.suggest_pairs(X)[0], model.suggest_pairs(X)[0])
    search = GridSearchCV(cls(), {"alpha": [0.01, 1.0]}, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X[labels >= 0], labels[labels >= 0])
    assert search.best_score_ > 0.5


@BOTH
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "linear", "n_components": 5}, "linear kernel.*needs none"),
        ({"kernel": "precomputed"}, "square matrix"),
        ({"kernel": lambda A, B: np.ones(3)}, "kernel function must return"),
        ({"kernel": lambda A, B: -rbf_kernel(A, B)}, "not positive semidefinite"),
        ({"penalty": 0.0}, "penalty must be"),
        ({"alpha": "none"}, "alpha must be"),
        ({"reject": -1.0}, "reject must be"),
        ({"kernel": "poly"}, "kernel must be"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(cls, settings, message):
    X, labels, known = problem()
    with pytest.raises((SidelightError, ValueError), match=message):
        cls(**settings).fit(X, labels, constraints=known)


@BOTH
def test_kernels_that_would_not_fit_are_refused(cls, monkeypatch):
    monkeypatch.setattr("sidelight.semi_supervised.pairs._geometry.MAX_NAMED", 20)
    X, labels, known = problem(n_pairs=30)
    with pytest.raises(SidelightError, match=r"name \d+ rows.*n_components=500.*linear kernel"):
        cls().fit(X, labels, constraints=known)
    cls(n_components=10).fit(X, labels, constraints=known)
    cls(kernel="linear").fit(X, labels, constraints=known)


def test_a_sparse_kernel_matrix_is_refused():
    X, labels, known = problem()
    K = sparse.csr_matrix(rbf_kernel(X))
    with pytest.raises(SidelightError, match="dense matrix only"):
        PairwiseSVC(kernel="precomputed").fit(K, labels, constraints=known)


@BOTH
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize(
    "settings",
    [{"alpha": 1e-100}, {"alpha": 1e100}, {"penalty": 1e100}, {"gamma": 1e100}],
    ids=str,
)
def test_numbers_at_the_end_of_the_range_end_in_numbers(cls, kernel, settings):
    X, labels, known = problem(3, groups=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        model = cls(kernel=kernel, max_iter=50, **settings).fit(X, labels, constraints=known)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.objective_)
