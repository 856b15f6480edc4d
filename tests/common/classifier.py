"""Checks of estimators that give every row a class, learned from the labels of some rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from tests.common.applies import applies_to, has
from tests.common.models import K, data_for, fitted, knowledge_for, make

from sidelight import Constraints, engine
from sidelight.catalog import Method
from sidelight.exceptions import (
    ConstraintWarning,
    InconsistentConstraints,
    SidelightError,
    UnusedKnowledge,
)


def labels_of(method: Method) -> np.ndarray:
    """Labels of the shared rows as the method is told them, -1 where it is not."""
    labels = data_for(method).known.labels
    assert labels is not None
    return labels


def two_classes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of two classes, their classes, and what is known of them."""
    X, y = make_blobs(80, n_features=3, centers=2, cluster_std=2.0, random_state=5)
    return X, y, np.where(np.arange(80) % 4 == 0, y, -1)


def assert_same_decisions(one: Any, other: Any, X: Any) -> None:
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


def check_fitted_attributes(method: Method) -> None:
    data, model = data_for(method), fitted(method)
    labels = labels_of(method)
    np.testing.assert_array_equal(model.classes_, np.arange(K))
    assert model.transduction_.shape == (len(data.X),)
    np.testing.assert_array_equal(model.transduction_[labels >= 0], labels[labels >= 0])
    assert set(np.unique(model.transduction_)) <= set(range(K))
    assert model.n_violations_ == data.known.violations(model.transduction_).n


def check_history(method: Method) -> None:
    """Where there is a search, ``history_`` leads to ``objective_``."""
    model = fitted(method)
    if not hasattr(model, "n_iter_"):
        return
    assert isinstance(model.n_iter_, int)
    assert isinstance(model.converged_, bool)
    if hasattr(model, "objective_"):
        assert isinstance(model.objective_, float)
        history = np.asarray(model.history_)
        assert np.isfinite(history).all()
        ends = (history.min(), history[-1])
        assert any(model.objective_ == pytest.approx(end, rel=1e-9) for end in ends)


def check_decision_function(method: Method) -> None:
    data, model = data_for(method), fitted(method)
    values = model.decision_function(data.X)
    assert values.shape == (len(data.X), K)
    assert np.isfinite(values).all()
    np.testing.assert_array_equal(model.predict(data.X), model.classes_[values.argmax(axis=1)])
    X, _, known = two_classes()
    two = make(method).fit(X, known)
    values = two.decision_function(X)
    assert values.shape == (len(X),)
    np.testing.assert_array_equal(two.predict(X), two.classes_[(values > 0).astype(int)])


@applies_to(has("predict_proba"))
def check_probabilities(method: Method) -> None:
    X, _, known = two_classes()
    models = ((fitted(method), data_for(method).X), (make(method).fit(X, known), X))
    for model, rows in models:
        p = model.predict_proba(rows)
        assert p.shape == (len(rows), len(model.classes_))
        assert p.min() >= 0
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-6)
        chosen = p[np.arange(len(rows)), np.searchsorted(model.classes_, model.predict(rows))]
        np.testing.assert_allclose(chosen, p.max(axis=1), rtol=1e-9, atol=1e-12)


def check_new_rows_one_by_one(method: Method) -> None:
    """The class of a new row does not depend on the rows that come with it."""
    data, model = data_for(method), fitted(method)
    new = data.X[:15] + 0.25
    together = model.decision_function(new)
    alone = np.vstack([model.decision_function(row[None]) for row in new])
    np.testing.assert_allclose(alone, together, rtol=1e-6, atol=1e-8 * np.abs(together).max())


def check_it_learns(method: Method) -> None:
    """Classes of rows that were not labeled, where the classes are far apart."""
    X, y = make_blobs(120, n_features=4, centers=3, cluster_std=1.0, random_state=2)
    X -= X.min()
    known = np.where(np.arange(120) % 8 == 0, y, -1)
    model = make(method).fit(X, known)
    unlabeled = known < 0
    assert np.mean(model.transduction_[unlabeled] == y[unlabeled]) > 0.9
    assert np.mean(model.predict(X[unlabeled]) == y[unlabeled]) > 0.9


def check_every_row_may_be_labeled(method: Method) -> None:
    X, y, _ = two_classes()
    model = make(method).fit(X, y)
    np.testing.assert_array_equal(model.transduction_, y)
    assert model.score(X, y) > 0.8


def check_labels_by_either_door(method: Method) -> None:
    """``y`` and labels of the constraints are the same knowledge."""
    X, _, known = two_classes()
    by_y = make(method).fit(X, known)
    by_constraints = make(method).fit(X, constraints=Constraints.from_labels(known))
    by_both = make(method).fit(X, known, constraints=Constraints.from_labels(known))
    assert_same_decisions(by_y, by_constraints, X)
    assert_same_decisions(by_y, by_both, X)
    with pytest.raises(InconsistentConstraints):
        make(method).fit(X, known, constraints=Constraints.from_labels(1 - np.abs(known)))


def check_classes_of_any_type_come_back(method: Method) -> None:
    X, _, known = two_classes()
    plain = make(method).fit(X, known)
    for first, second in (("no", "yes"), (False, True), (b"a", b"b"), ((1, "x"), (2, "y")), (3, 9)):
        names = np.empty(2, dtype=object)
        names[0], names[1] = first, second
        y = [None if code < 0 else names[code] for code in known]
        model = make(method).fit(X, y)
        assert model.classes_.tolist() == [first, second]
        assert_same_decisions(plain, model, X)
        assert model.predict(X).tolist() == [names[code] for code in plain.predict(X)]
        assert model.score(X, y) == plain.score(X, known)
    with_gaps = make(method).fit(X, np.where(known < 0, np.nan, known))
    assert_same_decisions(plain, with_gaps, X)
    nullable = make(method).fit(X, pd.Series(known, dtype="Int64").mask(known < 0))
    assert nullable.classes_.dtype.kind == "i"  # NumPy makes fractions of them, with NaN
    assert_same_decisions(plain, nullable, X)
    series = pd.Series(np.where(known < 0, "", np.array(["no", "yes"])[known]))
    assert make(method).fit(X, series).predict(X).dtype.kind == "U"


def check_score_leaves_unlabeled_rows_out(method: Method) -> None:
    X, y, known = two_classes()
    model = make(method).fit(X, known)
    right = model.predict(X) == y
    assert model.score(X, known) == pytest.approx(right[known >= 0].mean())
    assert model.score(X, y) == pytest.approx(right.mean())
    with pytest.raises(SidelightError, match="no row"):
        model.score(X, np.full(len(X), -1))


def check_labels_that_do_not_suffice(method: Method) -> None:
    X, y, known = two_classes()
    n, name = len(X), method.cls.__name__
    with pytest.raises(SidelightError, match="requires y to be passed"):
        make(method).fit(X)
    with pytest.raises(SidelightError, match=f"{name} has nothing to learn from.*no row is label"):
        make(method).fit(X, np.full(n, -1))
    with pytest.raises(SidelightError, match=r"one class, 1: .*at least two classes.*-1 means"):
        make(method).fit(X, np.where(y == 1, 1, -1))
    with pytest.raises(SidelightError, match="Pairs alone"):
        make(method).fit(X, constraints=Constraints([(0, 1)], n_samples=n))
    with pytest.raises(SidelightError, match=r"Unknown label type: .*1\.25 in row 0"):
        make(method).fit(X, known + 0.25)
    with pytest.raises(ValueError, match=rf"one label per row, shape \({n},\)"):
        make(method).fit(X, known[:-1])
    both = np.where(np.arange(n) % 8 == 0, np.nan, known)
    with pytest.warns(ConstraintWarning, match="by -1 and by missing values"):
        make(method).fit(X, both)


@applies_to(lambda method: "must-link" in method.cls._with_labels)
def check_must_links_and_groups_pass_labels_on(method: Method) -> None:
    X, y, known = two_classes()
    told = known.copy()
    free = np.flatnonzero(known < 0)[:6]
    anchors = [int(np.flatnonzero(known == y[row])[0]) for row in free]
    told[free] = y[free]
    links = Constraints(list(zip(free, anchors, strict=True)), n_samples=len(X))
    plain = make(method).fit(X, told)
    assert_same_decisions(plain, make(method).fit(X, known, constraints=links), X)
    groups = np.full(len(X), -1)
    groups[free[0]] = groups[anchors[0]] = 0
    told = known.copy()
    told[free[0]] = y[free[0]]
    grouped = make(method).fit(X, known, constraints=Constraints.from_groups(groups))
    assert_same_decisions(make(method).fit(X, told), grouped, X)


@applies_to(lambda method: "cannot-link" in method.cls._with_labels)
def check_cannot_links_pass_labels_on_where_one_class_is_left(method: Method) -> None:
    """Of two classes a row that is kept apart from one is of the other, also along a chain."""
    X, y, known = two_classes()
    free = np.flatnonzero(known < 0)[:6]
    anchors = [int(np.flatnonzero(known == 1 - y[row])[0]) for row in free]
    last = int(np.flatnonzero((known < 0) & (y != y[free[0]]))[-1])
    links = [*zip(free, anchors, strict=True), (last, free[0])]
    told = known.copy()
    told[free], told[last] = y[free], y[last]
    plain = make(method).fit(X, told)
    apart = make(method).fit(X, known, constraints=Constraints(None, links, n_samples=len(X)))
    assert_same_decisions(plain, apart, X)
    # A pair without a label says nothing, and is told.
    idle = [tuple(np.flatnonzero((known < 0) & ~np.isin(np.arange(80), [*free, last]))[:2])]
    with pytest.warns(UnusedKnowledge, match="1 of 8 cannot-links"):
        make(method).fit(X, known, constraints=Constraints(None, links + idle, n_samples=len(X)))


def check_contradictions_are_told(method: Method) -> None:
    """A chain between two classes, and a pair that is both: a warning, and a finite result."""
    X, _, known = two_classes()
    ends = [int(np.flatnonzero(known == code)[0]) for code in (0, 1)]
    links = Constraints([ends], n_samples=len(X))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = make(method).fit(X, known, constraints=links)
    assert any("contradict themselves" in str(one.message) for one in told)
    assert np.isfinite(model.decision_function(X)).all()


def check_precision_is_kept(method: Method) -> None:
    data = data_for(method)
    single = make(method).fit(data.X.astype(np.float32), constraints=data.known)
    for dtype, model in ((np.float32, single), (np.float64, fitted(method))):
        values = model.decision_function(data.X.astype(dtype))
        assert values.dtype == dtype
        assert np.isfinite(values).all()
    assert np.mean(single.predict(data.X) == fitted(method).predict(data.X)) > 0.9


def check_any_number_of_threads(method: Method) -> None:
    data = data_for(method)
    for n_threads in (1, 3):
        with engine.threads(n_threads):
            model = make(method).fit(data.X, constraints=data.known)
            assert_same_decisions(model, fitted(method), data.X)


@applies_to(lambda method: method.tags.sparse)
def check_sparse_equals_dense(method: Method) -> None:
    data = data_for(method)
    thinned = np.where(np.random.default_rng(0).uniform(size=data.X.shape) < 0.4, 0.0, data.X)
    # Logistic regression, its default, stops where the rounding of its sums makes it stop.
    params = {"estimator": "tree", "random_state": 0} if method.name == "self-training" else {}
    with warnings.catch_warnings():
        # Without half of their values the rows of a class may be found among others.
        for said in (".*labeled rows are of class.*", "The cut gives class .*"):
            warnings.filterwarnings("ignore", said, ConstraintWarning)
        plain = make(method, **params).fit(thinned, constraints=data.known)
        dense = plain.decision_function(thinned)
        kinds = (sparse.csr_matrix, sparse.csr_array)
        models = [
            make(method, **params).fit(kind(thinned), constraints=data.known) for kind in kinds
        ]
    for kind, thin in zip(kinds, models, strict=True):
        values = thin.decision_function(kind(thinned))
        np.testing.assert_allclose(values, dense, rtol=1e-4, atol=1e-5 * np.abs(dense).max())


def check_metadata_routing_carries_constraints(method: Method) -> None:
    data = data_for(method)
    with sklearn.config_context(enable_metadata_routing=True):
        step = make(method).set_fit_request(constraints=True)
        pipeline = make_pipeline(MinMaxScaler((1, 2)), step)
        pipeline.fit(data.X, labels_of(method), constraints=data.known)
    scaled = MinMaxScaler((1, 2)).fit_transform(data.X)
    direct = make(method).fit(scaled, constraints=data.known)
    np.testing.assert_array_equal(pipeline.predict(data.X), direct.predict(scaled))


def check_constant_features_and_duplicated_rows(method: Method) -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 3)), 2, axis=0)
    X[:, 1] = 4.0
    y = np.repeat(np.arange(20) % 2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(method).fit(np.abs(X), constraints=knowledge_for(method, y, n=40))
        same = make(method).fit(np.ones((12, 2)), [0, 1, *[-1] * 10])
    assert np.isfinite(model.decision_function(np.abs(X))).all()
    assert np.isfinite(same.decision_function(np.ones((3, 2)))).all()


def check_summary_counts_classes(method: Method) -> None:
    model = fitted(method)
    lines = model.summary().split("\n")
    assert f"{len(model.transduction_)} rows" in lines[1]
    counts = np.bincount(model.transduction_)
    assert lines[3] == f"{K} classes: " + ", ".join(f"{c} {n}" for c, n in enumerate(counts)) + "."
