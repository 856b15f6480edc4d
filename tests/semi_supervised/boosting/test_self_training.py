"""Self-training: rounds of pseudo-labels, as scikit-learn's, with constraints."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn import semi_supervised as peer
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from sidelight import Constraints
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.semi_supervised import SelfTrainingClassifier

OLDER = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8)


def iris(every: int = 10) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return X, y, np.where(np.arange(150) % every == 0, y, -1)


@pytest.mark.parametrize(
    "rule",
    [{"threshold": 0.8}, {"threshold": 0.95, "max_iter": 50}, {"criterion": "k_best", "k_best": 4}],
)
@pytest.mark.filterwarnings("ignore:No prediction")
@pytest.mark.parametrize("learner", [LogisticRegression(max_iter=500), GaussianNB()])
def test_without_constraints_it_is_that_of_scikit_learn(learner, rule) -> None:
    X, _, known = iris()
    if "k_best" in rule and isinstance(learner, GaussianNB) and OLDER:
        pytest.skip("older releases order rows that are equally certain in another way")
    ours = SelfTrainingClassifier(learner, **rule).fit(X, known)
    theirs = peer.SelfTrainingClassifier(learner, **rule).fit(X, known)
    np.testing.assert_array_equal(ours.labeled_iter_, theirs.labeled_iter_)
    pseudo = theirs.transduction_ >= 0
    np.testing.assert_array_equal(ours.transduction_[pseudo], theirs.transduction_[pseudo])
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))
    if ours.n_iter_ < ours.max_iter:  # else theirs says no more than that
        reasons = {
            "all_labeled": "all rows are labeled",
            "no_change": "no unlabeled row is certain enough",
        }
        assert ours.stop_reason_ == reasons[theirs.termination_condition_]


def test_pairs_pass_labels_on_before_the_first_round() -> None:
    X, y, known = iris(30)
    free = np.flatnonzero(known < 0)[:20]
    anchors = [int(np.flatnonzero(known == y[row])[0]) for row in free]
    links = Constraints(list(zip(free, anchors, strict=True)), n_samples=150)
    told = known.copy()
    told[free] = y[free]
    one = SelfTrainingClassifier().fit(X, known, constraints=links)
    other = SelfTrainingClassifier().fit(X, told)
    np.testing.assert_array_equal(one.labeled_iter_, other.labeled_iter_)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert one.n_violations_ == 0


def test_a_threshold_that_nothing_reaches_is_told() -> None:
    X, _, known = iris()
    with pytest.warns(ConstraintWarning, match="more certain than threshold=1.0.*alone"):
        model = SelfTrainingClassifier(threshold=1.0).fit(X, known)
    labeled = known >= 0
    alone = LogisticRegression(max_iter=1000).fit(X[labeled], known[labeled])
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X))
    assert model.n_iter_ == 1
    assert model.converged_


def test_a_learner_without_probabilities_is_refused() -> None:
    X, _, known = iris()
    with pytest.raises(SidelightError, match="LinearSVC has no predict_proba: wrap it in"):
        SelfTrainingClassifier(LinearSVC()).fit(X, known)
