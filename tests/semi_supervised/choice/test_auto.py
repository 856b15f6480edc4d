"""A classifier chosen by held-out labels: the plain one, unless another is clearly better."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.semi_supervised import AutoClassifier, HarmonicClassifier


def moons():
    X, y = make_moons(300, noise=0.1, random_state=0)
    return X, y, np.where(np.arange(300) % 10 == 0, y, -1)


@pytest.fixture(scope="module")
def bent():
    X, _, known = moons()
    return AutoClassifier(random_state=0).fit(X, known)


def logistic(X, known):
    rows = known >= 0
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(X[rows], known[rows])


def test_curved_classes_are_found_with_the_unlabeled_rows(bent):
    X, y, known = moons()
    assert (bent.chosen_, bent.uses_labels_only_) == ("harmonic", False)
    free = known < 0
    right = np.mean(bent.transduction_[free] == y[free])
    assert right > logistic(X, known).score(X[free], y[free]) + 0.05
    np.testing.assert_array_equal(
        bent.transduction_, HarmonicClassifier().fit(X, known).transduction_
    )


def test_the_chosen_one_is_the_furthest_ahead_of_those_a_standard_error_ahead(bent):
    table = pd.DataFrame(bent.cv_results_).set_index("candidate")
    assert table.index[0] == "logistic"
    clear = table[table["ahead"] > table["error"]]
    assert clear["ahead"].idxmax() == bent.chosen_ == "harmonic"
    n_labels = 30
    gained = n_labels * (table["accuracy"] - table["accuracy"]["logistic"])
    np.testing.assert_allclose(table["ahead"].dropna(), gained.dropna())
    assert bent.n_compared_ == len(table)
    assert "harmonic" not in bent.reason_
    assert bent.reason_.startswith("It finds 30 of 30 held-out labels")


def test_where_nothing_is_clearly_better_it_is_logistic_regression():
    X, y = make_blobs(150, n_features=4, centers=2, cluster_std=4.0, random_state=1)
    known = np.where(np.arange(150) % 6 == 0, y, -1)
    found = AutoClassifier(random_state=0).fit(X, known)
    assert (found.chosen_, found.uses_labels_only_, found.n_compared_) == ("logistic", True, 1)
    np.testing.assert_allclose(
        found.predict_proba(X), logistic(X, known).predict_proba(X), atol=1e-3
    )
    assert "by more than a standard error" in found.reason_


@pytest.mark.parametrize("seed", range(4))
def test_labels_at_random_choose_the_plain_one(seed):
    """Where classes say nothing about the rows, luck is not taken for a classifier."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3))
    known = np.where(np.arange(120) < 24, rng.integers(2, size=120), -1)
    found = AutoClassifier(random_state=seed).fit(X, known)
    ahead = np.nan_to_num(found.cv_results_["ahead"])
    error = np.nan_to_num(found.cv_results_["error"])
    assert (found.chosen_ == "logistic") == (not np.any(ahead[1:] > error[1:]))


def test_without_labels_to_hold_out_nothing_is_compared_and_it_says_why():
    X = np.array([[0.0], [1.0], [4.0], [5.0]])
    with pytest.warns(ConstraintWarning, match="Nothing was compared.*No label can be held out"):
        found = AutoClassifier().fit(X, ["a", None, None, "b"])
    assert found.chosen_ == "logistic"
    assert found.transduction_.tolist() == ["a", "a", "b", "b"]
    assert np.isnan(found.cv_results_["accuracy"]).all()


def test_two_labels_of_each_class_are_enough_to_compare():
    X, _, _ = moons()
    known = np.full(300, None, dtype=object)
    known[:40:10] = ["up", "up", "down", "down"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = AutoClassifier(random_state=0).fit(X, known)
    assert not np.isnan(found.cv_results_["accuracy"][0])


def test_without_unlabeled_rows_only_classifiers_of_labels_are_compared():
    X, y, _ = moons()
    found = AutoClassifier(random_state=0).fit(X, y)
    assert all(found.cv_results_["supervised"])
    assert found.cv_results_["candidate"] == ["logistic", "forest", "kernel-logistic"]
    assert found.score(X, y) > 0.98


def test_own_candidates():
    X, _, known = moons()
    own = {"graph": HarmonicClassifier(6), "trees": RandomForestClassifier(20, random_state=0)}
    found = AutoClassifier(own, random_state=0).fit(X, known)
    assert found.cv_results_["candidate"] == ["logistic", "graph", "trees"]
    assert found.cv_results_["supervised"] == [True, False, True]
    assert found.chosen_ == "graph"
    assert not hasattr(own["graph"], "classes_")
    with pytest.raises(SidelightError, match="always there: give yours another name"):
        AutoClassifier({"logistic": LogisticRegression()}).fit(X, known)
    with pytest.raises(SidelightError, match=r"'svm' must be .* LinearSVC has no predict_proba"):
        AutoClassifier({"svm": LinearSVC()}).fit(X, known)


def test_a_candidate_that_fails_is_left_out():
    X, _, known = moons()
    broken = {"many neighbors": HarmonicClassifier(graph="precomputed")}
    found = AutoClassifier(broken, random_state=0).fit(X, known)
    assert found.chosen_ == "logistic"
    assert np.isnan(found.cv_results_["accuracy"][1])


def test_the_unit_of_a_column_is_nothing_to_the_plain_one():
    X, y = make_blobs(100, n_features=3, centers=2, cluster_std=3.0, random_state=4)
    known = np.where(np.arange(100) % 4 == 0, y, -1)
    one = AutoClassifier({"trees": RandomForestClassifier(5)}, random_state=0).fit(X, known)
    units = AutoClassifier({"trees": RandomForestClassifier(5)}, random_state=0)
    units.fit(X * [1.0, 1e3, 1e-3], known)
    assert one.chosen_ == units.chosen_ == "logistic"
    np.testing.assert_allclose(
        one.predict_proba(X), units.predict_proba(X * [1.0, 1e3, 1e-3]), atol=1e-6
    )
