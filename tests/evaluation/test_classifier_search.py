"""Searches and cross-validation of classifiers: labels are held out with all that tells them."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier, is_clusterer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from tests.strategies import class_knowledge

from sidelight import Constraints
from sidelight.cluster import PCKMeans
from sidelight.evaluation import ConstraintSearchCV, cross_validated_labels
from sidelight.evaluation.classes._label_folds import label_folds
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.metric import RCA
from sidelight.semi_supervised import HarmonicClassifier, MinCutClassifier


def clouds(n: int = 120, n_classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return 6 * np.eye(n_classes, 4)[y] + rng.normal(size=(n, 4)), y


def some(y: np.ndarray, every: int = 6) -> np.ndarray:
    """Labels of a part of the rows, -1 elsewhere; ``every`` prime to the number of classes."""
    return np.where(np.arange(len(y)) % (every + 1) == 0, y, -1)


class Told(ClassifierMixin, BaseEstimator):
    """Answers with what it was told, through chains of must-links and the elimination of classes.

    Without anything to go by it says ``default``.
    """

    seen: list[tuple[Any, Constraints]] = []  # noqa: RUF012

    def __init__(self, default: int = 0, fails: bool = False):
        self.default = default
        self.fails = fails

    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Told:
        if self.fails:
            raise SidelightError("it fails")
        Told.seen.append((y, constraints))
        closure = constraints.closure()
        names = constraints.label_names
        label = closure.component_label.copy()
        for a, b in closure.conflicts:
            for one, other in ((a, b), (b, a)):
                if label[one] < 0 <= label[other] and len(names) == 2:
                    label[one] = 1 - label[other]
        found = label[closure.component]
        self.classes_ = names
        self._answer = names[np.where(found < 0, self.default, found)]
        return self

    def predict(self, X: Any) -> Any:
        return self._answer


class Reader(Told):
    """Reads the class of rows from the 17th on off ``X``, if it may."""

    def __init__(self, default: int = 0, fails: bool = False, reads: bool = False):
        super().__init__(default, fails)
        self.reads = reads

    def predict(self, X: Any) -> Any:
        answer = super().predict(X).copy()
        if self.reads:
            answer[16:] = self.classes_[X[16:, :2].argmax(axis=1)]
        return answer


# ------------------------------------------------------------------ folds


@settings(deadline=None, max_examples=60)
@given(class_knowledge(), st.integers(2, 6), st.integers(0, 1000))
def test_nothing_is_said_about_rows_whose_label_is_held_out(
    known: Constraints, n_splits: int, seed: int
) -> None:
    folds = label_folds(known, n_splits, np.random.RandomState(seed), tell=False)
    assert known.labels is not None
    times = np.zeros(known.n_samples, dtype=int)
    for fold in folds:
        train = fold.train
        assert train.labels is not None
        times[fold.rows] += 1
        assert np.all(train.labels[fold.rows] == -1)
        mentioned = np.unique(np.concatenate([train.must_link.ravel(), train.cannot_link.ravel()]))
        assert not np.isin(fold.rows, mentioned).any()
        closure = train.closure()
        own = closure.component[fold.rows]
        if train.groups is not None:
            members = np.bincount(train.groups + 1, minlength=1)
            assert np.all(members[train.groups[fold.rows] + 1][train.groups[fold.rows] >= 0] == 1)
        # In the closure each is alone, or, without any statement, with no one at all.
        assert np.all(closure.sizes[own] == 1)
        assert not np.isin(own, closure.conflicts).any()
        # Every class keeps a label, and no other label is lost.
        assert set(train.labels[train.labels >= 0]) == set(known.labels[known.labels >= 0])
        others = np.setdiff1d(np.arange(known.n_samples), fold.rows)
        np.testing.assert_array_equal(train.labels[others], known.labels[others])
        # What is held out is what is missing.
        assert train.n_pairs + fold.held_out.n_pairs == known.n_pairs
        assert fold.held_out.labels is None or np.all(fold.held_out.labels == -1)
    assert times.max() == 1
    assert np.all(times[known.labels < 0] == 0)
    atoms = np.arange(known.n_samples)
    if known.groups is not None:
        atoms = np.where(known.groups >= 0, known.n_samples + known.groups, atoms)
    for code in set(known.labels[known.labels >= 0]):
        rows = known.labels == code
        if len(np.unique(atoms[rows])) > 1:
            assert np.all(times[rows] == 1)  # the class was held out, every label once


@settings(deadline=None, max_examples=30)
@given(class_knowledge(), st.floats(0.05, 0.95), st.integers(0, 1000))
def test_a_share_of_the_labels_is_held_out_once(
    known: Constraints, share: float, seed: int
) -> None:
    (fold,) = label_folds(known, share, np.random.RandomState(seed), tell=False)
    assert known.labels is not None
    assert fold.train.labels is not None
    assert len(fold.rows) > 0
    assert set(fold.train.labels[fold.train.labels >= 0]) == set(known.labels[known.labels >= 0])


def test_folds_hold_out_every_class_in_equal_numbers_and_a_share_of_the_pairs() -> None:
    y = np.repeat([0, 1], [20, 60])
    labels = np.where(np.arange(80) % 2 == 0, y, -1)
    free = np.flatnonzero(labels < 0)
    pairs = free[:40].reshape(-1, 2)
    known = Constraints(pairs[y[pairs[:, 0]] == y[pairs[:, 1]]], labels=labels, n_samples=80)
    folds = label_folds(known, 5, np.random.RandomState(0))
    for fold in folds:
        np.testing.assert_array_equal(np.bincount(y[fold.rows]), [2, 6])
        assert fold.held_out.n_pairs == 4


def test_a_class_with_one_label_is_never_held_out_and_told() -> None:
    labels = np.array([0, 0, 0, 1, 2, 2, -1, -1])
    known = Constraints(labels=labels, groups=[-1, -1, -1, -1, 5, 5, -1, -1])
    with pytest.warns(ConstraintWarning, match=r"classes '1' and '2' have a single labeled row"):
        folds = label_folds(known, 5, np.random.RandomState(0))
    assert sorted(np.concatenate([fold.rows for fold in folds])) == [0, 1, 2]
    single = Constraints(labels=[0, 1, -1])
    with pytest.raises(SidelightError, match="No label can be held out"):
        label_folds(single, 2, np.random.RandomState(0), tell=False)


def test_a_group_of_two_classes_takes_none_of_them_away() -> None:
    """It contradicts itself; both classes keep a label whatever is held out."""
    known = Constraints(labels=[0, 1, 0, 0, 1, -1], groups=[3, 3, -1, -1, 3, -1])
    for seed in range(5):
        for fold in label_folds(known, 3, np.random.RandomState(seed), tell=False):
            assert fold.train.labels is not None
            assert set(fold.train.labels) >= {0, 1}


# ------------------------------------------------------------------ no leak


def tempting(seed: int = 0) -> tuple[np.ndarray, np.ndarray, Constraints]:
    """Noise, and pairs and groups that tell every label of two classes from any other."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], 30))
    order = np.arange(60)
    chain = np.column_stack([order[:-1], order[1:]])
    same = y[chain[:, 0]] == y[chain[:, 1]]
    groups = np.where(np.arange(60) % 10 < 3, y, -1)
    known = Constraints(chain[same], chain[~same], groups=groups, n_samples=60)
    return rng.normal(size=(60, 3)), y, known


def test_labels_that_only_pairs_and_groups_tell_are_not_found() -> None:
    """The estimator knows all that follows from what it is told: it must be as good as chance."""
    X, y, pairs = tempting()
    labels = np.where(np.arange(60) % 3 == 0, y, -1)
    told_all = Told().fit(X, constraints=pairs | Constraints(labels=labels))
    np.testing.assert_array_equal(told_all.predict(X), y)
    for default in (0, 1):
        found = cross_validated_labels(
            Told(default), X, labels, constraints=pairs, random_state=default
        )
        np.testing.assert_array_equal(found[found >= 0], default)
        search = ConstraintSearchCV(Told(), {"default": [default]}, random_state=0)
        search.fit(X, labels, constraints=pairs)
        # Of what is held out it finds nothing but the default.
        held = found >= 0
        share = search.cv_results_["mean_test_accuracy"][0]
        assert share == pytest.approx(np.mean(labels[held] == default), abs=0.15)


def test_noise_is_classified_by_chance() -> None:
    right = []
    for seed in range(6):
        X, y, pairs = tempting(seed)
        labels = np.where(np.arange(60) % 3 == 0, y, -1)
        found = _quietly(HarmonicClassifier(), X, labels, pairs)
        held = found >= 0
        right.append(np.mean(found[held] == labels[held]))
    assert abs(np.mean(right) - 0.5) < 0.15


def _quietly(model: Any, X: Any, labels: Any, known: Constraints) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)  # cannot-links are not used
        return cross_validated_labels(model, X, labels, constraints=known, random_state=0)


# ------------------------------------------------------------------ the search


def test_search_chooses_the_accurate_candidate_and_delegates() -> None:
    X, y = clouds()
    known = some(y)
    search = ConstraintSearchCV(
        HarmonicClassifier(), {"n_neighbors": [100, 8], "class_shares": ["labels"]}, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.fit(X, known)
    assert search.best_params_["n_neighbors"] == 8
    results = search.cv_results_
    np.testing.assert_array_equal(results["mean_test_accuracy"], results["mean_test_score"])
    assert results["mean_test_accuracy"][1] == search.best_score_ > 0.9
    assert results["mean_test_accuracy"][0] < search.best_score_
    assert np.isnan(results["mean_test_must_link"]).all()
    assert "mean_n_clusters" not in results
    np.testing.assert_array_equal(search.classes_, [0, 1, 2])
    best = search.best_estimator_
    np.testing.assert_array_equal(search.transduction_, best.transduction_)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))
    np.testing.assert_array_equal(search.predict_proba(X), best.predict_proba(X))
    np.testing.assert_array_equal(search.decision_function(X), best.decision_function(X))
    assert search.score(X, y) == best.score(X, y) > 0.9
    assert search.n_features_in_ == 4
    assert not hasattr(search, "labels_")
    assert not hasattr(search, "fit_predict")
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


def test_search_says_what_it_is() -> None:
    classes = ConstraintSearchCV(HarmonicClassifier(), {})
    assert is_classifier(classes)
    assert not is_clusterer(classes)
    assert is_classifier(
        ConstraintSearchCV(make_pipeline(StandardScaler(), MinCutClassifier()), {})
    )
    clusters = ConstraintSearchCV(PCKMeans(), {})
    assert is_clusterer(clusters)
    assert hasattr(clusters, "fit_predict")
    assert not hasattr(clusters, "predict_proba")
    assert clone(classes).estimator is not classes.estimator


def test_scores_are_those_of_the_folds_counted_by_hand() -> None:
    X, y = clouds(60)
    known = some(y, 4)
    Told.seen.clear()
    search = ConstraintSearchCV(Told(default=1), {}, constraints_cv=4, refit=False, random_state=3)
    search.fit(X, known)
    assert len(Told.seen) == 4
    for split, (target, train) in enumerate(Told.seen):
        held = (known >= 0) & (train.labels < 0)
        np.testing.assert_array_equal(target, np.where(held, -1, known))
        expected = np.mean(known[held] == 1)
        assert search.cv_results_[f"split{split}_test_score"][0] == pytest.approx(expected)
    with pytest.raises(AttributeError, match="refit=False"):
        search.predict(X)


def test_pairs_that_are_held_out_are_scored_beside_and_break_ties() -> None:
    X, y = clouds(80, 2)
    labels = np.where(np.arange(80) < 16, y, -1)
    free = np.random.default_rng(1).permutation(np.arange(20, 80)).reshape(-1, 2)
    known = Constraints(
        free[y[free[:, 0]] == y[free[:, 1]]], free[y[free[:, 0]] != y[free[:, 1]]], n_samples=80
    )
    search = ConstraintSearchCV(Told(), {"default": [0, 1]}, random_state=0)
    search.fit(X, labels, constraints=known)
    # One class for all that is not known: cannot-links are broken, and the first one is taken.
    np.testing.assert_array_equal(search.cv_results_["mean_test_cannot_link"], [0, 0])
    np.testing.assert_array_equal(search.cv_results_["mean_test_must_link"], [1, 1])
    assert search.best_index_ == 0
    search = ConstraintSearchCV(Reader(), {"reads": [False, True]}, random_state=0)
    search.fit(X, labels, constraints=known)
    assert search.cv_results_["mean_test_score"].tolist() == [0.5, 0.5]
    np.testing.assert_array_equal(search.cv_results_["mean_test_cannot_link"], [0, 1])
    assert search.best_params_ == {"reads": True}


def test_names_of_classes_come_back_as_they_were_written() -> None:
    X, y = clouds(60)
    known = some(y, 4)
    names = {
        "words": np.array(["ash", "elm", "oak"]),
        "whole": np.array([7, 9, 12]),
        "float": np.array([1.0, 2.0, 3.0]),
    }
    for written in names.values():
        given = [None if code < 0 else written[code] for code in known]
        search = ConstraintSearchCV(HarmonicClassifier(5), {}, random_state=0).fit(X, given)
        assert search.classes_.tolist() == written.tolist()
        found = cross_validated_labels(HarmonicClassifier(5), X, given, random_state=0)
        held = known >= 0
        assert np.mean(found[held] == written[known[held]]) > 0.9
    words = np.array(["ash", "elm", "oak"], dtype=object)
    series = pd.Series(np.where(known < 0, None, words[known]), index=[f"r{i}" for i in range(60)])
    frame = pd.DataFrame(X, index=series.index).add_prefix("x")
    found = cross_validated_labels(HarmonicClassifier(5), frame, series, random_state=0)
    assert all(value is None for value in found[known < 0])
    assert set(found[known >= 0]) == {"ash", "elm", "oak"}


def test_labels_of_constraints_count_like_y() -> None:
    X, y = clouds(60)
    known = some(y, 4)
    by_y = cross_validated_labels(HarmonicClassifier(5), X, known, random_state=0)
    by_constraints = cross_validated_labels(
        HarmonicClassifier(5), X, constraints=Constraints(labels=known), random_state=0
    )
    np.testing.assert_array_equal(by_y, by_constraints)


def test_pipelines_are_given_labels_and_constraints() -> None:
    X, y = clouds(90)
    known = some(y)
    links = Constraints([(30, 33), (31, 34)], n_samples=90)
    for routing in (False, True):
        with sklearn.config_context(enable_metadata_routing=routing):
            pipeline = make_pipeline(RCA(), HarmonicClassifier(6))
            search = ConstraintSearchCV(
                pipeline, {"harmonicclassifier__n_neighbors": [5, 7]}, random_state=0
            ).fit(X, known, constraints=links)
            assert search.best_score_ > 0.9
            np.testing.assert_array_equal(search.classes_, [0, 1, 2])
    scaled = make_pipeline(StandardScaler(), HarmonicClassifier(6))
    found = cross_validated_labels(scaled, X, known, random_state=0)
    assert np.mean(found[known >= 0] == y[known >= 0]) > 0.9


def test_classifiers_of_scikit_learn_that_know_unlabeled_rows() -> None:
    X, y = clouds(90)
    known = some(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (
            LabelSpreading(kernel="knn", n_neighbors=5),
            SelfTrainingClassifier(LogisticRegression()),
            make_pipeline(StandardScaler(), LabelSpreading(kernel="knn", n_neighbors=5)),
        ):
            search = ConstraintSearchCV(model, {}, constraints_cv=3, random_state=0).fit(X, known)
            assert search.best_score_ > 0.8
            found = cross_validated_labels(model, X, known, random_state=0)
            assert set(found[known < 0]) == {-1}
    with pytest.raises(SidelightError, match="LogisticRegression knows no unlabeled rows"):
        ConstraintSearchCV(LogisticRegression(), {}).fit(X, known)
    words = np.where(known < 0, "", np.array(["a", "b", "c"])[known])
    with pytest.raises(SidelightError, match="LabelSpreading marks unlabeled rows by -1"):
        ConstraintSearchCV(LabelSpreading(), {}).fit(X, words)


def test_rows_on_several_processors_give_the_same_scores() -> None:
    X, y = clouds(60)
    grid = {"n_neighbors": [4, 8]}
    one, two = (
        ConstraintSearchCV(HarmonicClassifier(), grid, n_jobs=n, random_state=0).fit(X, some(y, 4))
        for n in (1, 2)
    )
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_candidates_that_fail_are_told_apart() -> None:
    X, y = clouds(60)
    search = ConstraintSearchCV(Told(), {"fails": [True, False]}, random_state=0).fit(X, some(y, 4))
    assert search.best_params_ == {"fails": False}
    assert search.cv_results_["error"].tolist() == ["it fails", None]
    assert np.isnan(search.cv_results_["mean_test_accuracy"][0])


def test_probabilities_of_held_out_rows() -> None:
    X, y = clouds(90)
    known = some(y)
    p = cross_validated_labels(
        HarmonicClassifier(6), X, known, method="predict_proba", random_state=0
    )
    held = known >= 0
    np.testing.assert_allclose(p[held].sum(axis=1), 1)
    assert np.isnan(p[~held]).all()
    labels = cross_validated_labels(HarmonicClassifier(6), X, known, random_state=0)
    np.testing.assert_array_equal(p[held].argmax(axis=1), labels[held])


def test_bad_input_is_told() -> None:
    X, y = clouds(30)
    with pytest.raises(SidelightError, match="no row is labeled"):
        ConstraintSearchCV(HarmonicClassifier(), {}).fit(
            X, constraints=Constraints([(0, 3)], n_samples=30)
        )
    with pytest.raises(SidelightError, match="No row is labeled"):
        cross_validated_labels(HarmonicClassifier(), X)
    with pytest.raises(SidelightError, match="needs a classifier; PCKMeans is none"):
        cross_validated_labels(PCKMeans(), X, y)
    with pytest.raises(SidelightError, match="n_splits must be at least 2, got 1"):
        cross_validated_labels(HarmonicClassifier(), X, y, n_splits=1)
    with pytest.raises(SidelightError, match="method must be 'predict' or"):
        cross_validated_labels(HarmonicClassifier(), X, y, method="score")
    with pytest.raises(SidelightError, match="whose scores cannot be compared"):
        ConstraintSearchCV(
            make_pipeline(StandardScaler(), HarmonicClassifier()),
            {"harmonicclassifier": [HarmonicClassifier(), PCKMeans()]},
        ).fit(X, y)
