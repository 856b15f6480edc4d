"""Learned distances as classifiers of pairs: thresholds against brute force, and scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import fbeta_score, recall_score
from sklearn.model_selection import GridSearchCV, cross_val_score

from sidelight import Constraints
from sidelight.exceptions import ConstraintWarning, SidelightError, UnusedKnowledge
from sidelight.metric import DCA, ITML, MMC, POLA, RCA, CannotLinkMetric, PairClassifier

LEARNERS = {
    "DCA": DCA(),
    "ITML": ITML(random_state=0),
    "MMC": MMC(),
    "POLA": POLA(random_state=0),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    X = X / X.std(axis=0)
    i, j = np.random.default_rng(0).integers(len(X), size=(2, 300))
    i, j = i[i != j], j[i != j]
    return X, np.column_stack([i, j]), np.where(y[i] == y[j], 1, -1)


@pytest.fixture(scope="module")
def line():
    """A distance on a line: the coordinates of rows are their distances to row 0."""
    model = ITML(bounds=(1e3, 2e3)).fit(np.arange(4.0)[:, None])
    np.testing.assert_allclose(model.components_, 1.0)
    return model


def scores(same, accepted, strategy, beta, min_rate):
    """Score and tie-break of one way to accept pairs, by scikit-learn; None if not allowed."""
    truth, found = np.where(same, 1, -1), np.where(accepted, 1, -1)
    tpr, tnr = recall_score(truth, found), recall_score(truth, found, pos_label=-1)
    if strategy == "accuracy":
        return np.mean(truth == found)
    if strategy == "f_beta":
        return fbeta_score(truth, found, beta=beta, zero_division=0)
    wanted, other = (tpr, tnr) if strategy == "max_tpr" else (tnr, tpr)
    return wanted if other >= min_rate else None


@settings(max_examples=30, deadline=None)
@given(
    places=st.lists(st.integers(0, 6), min_size=2, max_size=9),
    data=st.data(),
    strategy=st.sampled_from(["accuracy", "f_beta", "max_tpr", "max_tnr"]),
    beta=st.sampled_from([0.3, 1.0, 3.0]),
    min_rate=st.sampled_from([0.0, 0.4, 0.5, 1.0]),
)
def test_no_threshold_is_better_than_the_calibrated_one(
    line, places, data, strategy, beta, min_rate
):
    same = np.array(data.draw(st.lists(st.booleans(), min_size=len(places), max_size=len(places))))
    assume(same.any() and not same.all())
    pairs = np.array([[[0.0], [float(place)]] for place in places])
    line.calibrate_threshold(
        pairs, np.where(same, 1, -1), strategy=strategy, beta=beta, min_rate=min_rate
    )
    found = scores(same, line.predict_pairs(pairs) == 1, strategy, beta, min_rate)
    best = max(
        score
        for t in np.arange(-0.5, 7)
        if (score := scores(same, np.array(places) <= t, strategy, beta, min_rate)) is not None
    )
    assert found == pytest.approx(best)


def test_the_threshold_lies_in_the_middle_of_the_gap(line):
    pairs = np.array([[[0.0], [p]] for p in (1.0, 2.0, 5.0)])
    assert line.calibrate_threshold(pairs, [1, 1, -1]).threshold_ == 3.5
    assert line.calibrate_threshold(pairs, [-1, -1, 1], strategy="f_beta").threshold_ == 5.0
    assert line.calibrate_threshold(pairs, [-1, -1, 1]).threshold_ == 0.5  # none is accepted


@every_learner
def test_a_fit_sets_the_threshold_that_is_right_for_most_of_its_pairs(name, wine):
    X, pairs, y = wine
    known = Constraints(pairs[y == 1], pairs[y == -1], n_samples=len(X))
    model = clone(LEARNERS[name]).fit(X, constraints=known)
    right = np.mean(model.predict_pairs(pairs, X) == y)
    direct = model.predict_pairs(X[pairs])
    np.testing.assert_array_equal(direct, model.predict_pairs(pairs, X))
    distances = model.pair_distance(pairs, X)
    best = max(np.mean(np.where(distances <= t, 1, -1) == y) for t in distances)
    if name != "POLA":  # which learns its threshold with the metric
        assert right == pytest.approx(best)
    assert right > 0.8
    assert np.all(model.set_threshold(0.0).predict_pairs(pairs, X) == -1)
    assert np.all(model.set_threshold(np.inf).predict_pairs(pairs, X) == 1)


def test_labels_set_a_threshold_too_and_weights_count():
    X, y = load_iris(return_X_y=True)
    few = np.where(np.arange(150) % 10 == 0, y, -1)
    for learner in (RCA(), CannotLinkMetric(random_state=0)):
        model = learner.fit(X, few)
        i, j = np.triu_indices(150, 1)
        assert (
            np.mean(
                model.predict_pairs(np.column_stack([i, j]), X) == np.where(y[i] == y[j], 1, -1)
            )
            > 0.8
        )
    line = np.array([[0.0], [1.0], [2.0], [0.0]])
    for heavy, wanted in (([9.0, 1.0], [1, 1]), ([0.1, 0.1], [-1, -1])):
        known = Constraints([(0, 2), (1, 2)], [(0, 1), (3, 1)], must_link_weight=heavy, n_samples=4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstraintWarning)
            model = DCA(shrinkage=0.5).fit(line, constraints=known)
        assert model.predict_pairs([(0, 2), (0, 1)], line).tolist() == wanted


def test_without_pairs_of_both_kinds_there_is_no_threshold(wine):
    X, pairs, y = wine
    known = Constraints(pairs[y == 1], n_samples=len(X))
    model = ITML(random_state=0).fit(
        X, constraints=known | Constraints(None, pairs[y == -1], n_samples=len(X))
    )
    assert model.threshold_ > 0
    model.fit(X, constraints=known)
    with pytest.raises(SidelightError, match=r"has no threshold.*calibrate_threshold"):
        model.predict_pairs(pairs, X)
    assert model.calibrate_threshold(pairs, y, X).predict_pairs(pairs, X).shape == y.shape
    with pytest.warns(UnusedKnowledge, match="does not use cannot-links"):
        both = RCA().fit(
            X, constraints=Constraints(pairs[y == 1], pairs[y == -1], n_samples=len(X))
        )
    assert not hasattr(both, "threshold_")  # what is not used sets no threshold either


def test_calibration_refuses_what_it_cannot_use(wine, line):
    pairs = np.array([[[0.0], [1.0]], [[0.0], [2.0]]])
    for y, arguments, message in (
        ([1, -1], {"strategy": "best"}, "strategy must be one of accuracy, f_beta"),
        ([1, -1], {"strategy": "max_tpr"}, "needs min_rate, the least rate of true negatives"),
        ([1, -1], {"strategy": "max_tnr", "min_rate": 2}, "least rate of true positives"),
        ([1, -1], {"strategy": "f_beta", "beta": -1.0}, "beta must be a number above 0"),
        ([1, 1], {}, "pairs of both kinds, and all of these belong together"),
        ([0, 1], {}, "1 for pairs that belong together and -1"),
        ([1], {}, r"one label per pair, shape \(2,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            line.calibrate_threshold(pairs, y, **arguments)
    with pytest.raises(ValueError, match="threshold must be a number, got 'far'"):
        line.set_threshold("far")
    X, places, _ = wine
    model = ITML().fit(X)
    for given_pairs, rows, message in (
        (places, None, "shape"),
        (X[places], X, r"\(n_pairs, 2\), positions"),
        ([(0, 500)], X, "positions 0 to 500, but the rows are 0 to 177"),
        ([(0.5, 1.0)], X, "whole numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            model.pair_distance(given_pairs, rows)


@every_learner
def test_pair_classifiers_work_with_the_tools_of_scikit_learn(name, wine):
    X, pairs, y = wine
    by_position = PairClassifier(LEARNERS[name], rows=X)
    by_rows = PairClassifier(LEARNERS[name])
    scored = cross_val_score(by_position, pairs, y, cv=3)
    assert scored.mean() > 0.75
    np.testing.assert_allclose(cross_val_score(by_position, pairs, y, cv=3), scored)
    ranked = cross_val_score(by_position, pairs, y, cv=3, scoring="roc_auc")
    assert ranked.mean() > 0.85
    model = by_rows.fit(X[pairs], y)
    margins = model.decision_function(X[pairs])
    np.testing.assert_array_equal(model.predict(X[pairs]), np.where(margins >= 0, 1, -1))
    assert model.score(X[pairs], y) == np.mean(model.predict(X[pairs]) == y)
    assert model.set_threshold(-1.0).predict(X[pairs]).max() == -1
    assert model.calibrate_threshold(X[pairs], y).score(X[pairs], y) > 0.8


def test_parameters_of_the_learner_are_searched(wine):
    X, pairs, y = wine
    search = GridSearchCV(
        PairClassifier(ITML(random_state=0), rows=X), {"estimator__penalty": [0.1, 1.0]}, cv=3
    )
    search.fit(pairs, y)
    assert search.best_estimator_.estimator_.penalty_ == search.best_params_["estimator__penalty"]
    strict = PairClassifier(ITML(random_state=0), rows=X, strategy="max_tpr", min_rate=1.0)
    found = strict.fit(pairs, y).predict(pairs)
    assert np.all(found[y == -1] == -1)
    with pytest.raises(ValueError, match="needs min_rate"):
        PairClassifier(ITML(), rows=X, strategy="max_tpr").fit(pairs, y)
