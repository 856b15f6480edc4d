"""ASSEMBLE: AdaBoost with pseudo-margins."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import AdaBoostClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from tests.semi_supervised.boosting.data import two_blobs

from sidelight.exceptions import SidelightError
from sidelight.semi_supervised import AssembleClassifier


def iris(n_known=10):
    X, y = load_iris(return_X_y=True)
    return X, y, np.where(np.arange(150) % n_known == 0, y, -1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_unlabeled_rows_it_is_adaboost(n_classes):
    X, y = load_wine(return_X_y=True)
    X, y = X[y < n_classes, :3], y[y < n_classes]
    model = AssembleClassifier(n_estimators=12, random_state=0).fit(X, y)
    stump = DecisionTreeClassifier(max_depth=1)
    peer = AdaBoostClassifier(stump, n_estimators=12, random_state=0).fit(X, y)
    # Theirs weighs learners by twice as much.
    np.testing.assert_allclose(model.estimator_weights_, peer.estimator_weights_ / 2, rtol=1e-7)
    np.testing.assert_allclose(model.estimator_errors_, peer.estimator_errors_, rtol=1e-7)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))


def test_a_round_of_two_classes_by_hand():
    X, _, known = two_blobs(n=40, n_labeled=20, distance=0.3)
    labeled = known >= 0
    model = AssembleClassifier(n_estimators=3, labeled_share=0.8, random_state=0).fit(X, known)
    start = np.where(labeled, 0.8 / labeled.sum(), 0.2 / (~labeled).sum())
    nearest = KNeighborsClassifier(1).fit(X[labeled], known[labeled])
    y = 2.0 * np.where(labeled, known, nearest.predict(X)) - 1
    H = np.zeros(40)
    for trained, alpha, error, value in zip(
        model.estimators_,
        model.estimator_weights_,
        model.estimator_errors_,
        model.history_[1:],
        strict=True,
    ):
        D = start * np.exp(-y * H)
        D /= D.sum()
        h = 2.0 * trained.predict(X) - 1
        eps = D[h != y].sum()
        assert error == pytest.approx(eps)
        assert alpha == pytest.approx(np.log((1 - eps) / eps) / 2)
        H += alpha * h
        y = np.where(labeled, y, np.where(H > 0, 1.0, -1.0))
        pseudo = np.where(labeled, start * np.exp(-y * H), start * np.exp(-np.abs(H))).sum()
        assert value == pytest.approx(pseudo)
    np.testing.assert_allclose(model.decision_function(X), H)
    shares = H / model.estimator_weights_.sum()
    expected = 1 / (1 + np.exp(-model.sharpness_ * shares))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected)


@pytest.mark.parametrize("estimator", ["stump", "tree", "logistic"])
def test_objective_falls(estimator):
    X, _, known = iris()
    model = AssembleClassifier(estimator, random_state=0).fit(X, known)
    assert np.all(np.diff(model.history_) < 0)
    assert model.objective_ == model.history_[-1]


def test_weight_of_a_learner_makes_the_objective_least():
    X, _, known = iris()
    model = AssembleClassifier(n_estimators=1, random_state=0).fit(X, known)
    (error,), (alpha,), k = model.estimator_errors_, model.estimator_weights_, 3

    def value(w):
        return (1 - error) * np.exp(-2 * w * (1 - 1 / k)) + error * np.exp(2 * w / k)

    assert value(alpha) < min(value(alpha + 1e-4), value(alpha - 1e-4))


def test_stages_and_probabilities():
    X, y, known = iris()
    model = AssembleClassifier("tree", n_estimators=5, random_state=0).fit(X, known)
    values = list(model.staged_decision_function(X))
    assert len(values) == model.n_iter_
    np.testing.assert_array_equal(values[-1], model.decision_function(X))
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    p = model.predict_proba(X)
    np.testing.assert_array_equal(p.argmax(axis=1), model.decision_function(X).argmax(axis=1))
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize("estimator", ["stump", "tree"])
def test_probabilities_are_calibrated(estimator):
    """The log loss of rows without a label is below that of the shares of the classes.

    Twice the votes, where the expected loss is least, had .9 on breast cancer, far above.
    """
    X, y = load_breast_cancer(return_X_y=True)
    losses = []
    for seed in range(3):
        known = np.full(len(y), -1)
        drawn = np.random.default_rng(seed).permutation(len(y))[:40]
        known[drawn] = y[drawn]
        p = AssembleClassifier(estimator, random_state=0).fit(X, known).predict_proba(X)
        free = np.flatnonzero(known < 0)
        losses.append(-np.log(np.maximum(p[free, y[free]], 1e-12)).mean())
    assert np.mean(losses) < 0.35


def test_learners_without_weights_are_given_drawn_rows():
    X, y, known = iris(5)
    model = AssembleClassifier("neighbors", random_state=0).fit(X, known)
    again = AssembleClassifier("neighbors", random_state=0).fit(X, known)
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
    assert model.score(X, y) > 0.9


def test_a_learner_no_better_than_chance_ends_it():
    class Contrary(ClassifierMixin, BaseEstimator):
        def fit(self, X, y, sample_weight=None):
            self.classes_ = np.unique(y)
            self.tree_ = DecisionTreeClassifier().fit(X, y)
            return self

        def predict(self, X):
            return 1 - self.tree_.predict(X)

    X, _, known = two_blobs()
    model = AssembleClassifier(Contrary(), random_state=0).fit(X, known)
    assert model.n_iter_ == 1
    assert model.estimator_weights_ == [1.0]
    assert model.estimator_errors_ == [pytest.approx(1.0)]


def test_a_perfect_learner_ends_it():
    X, _, known = two_blobs()
    model = AssembleClassifier("tree", random_state=0).fit(X, known)
    assert model.n_iter_ == 1
    assert np.isfinite(model.decision_function(X)).all()


def test_bad_shares_are_refused():
    X, _, known = two_blobs()
    for beta in (0.0, 1.0, "all"):
        with pytest.raises(SidelightError, match="labeled_share must be"):
            AssembleClassifier(labeled_share=beta).fit(X, known)
