"""Checks of estimators that make categories of documents."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.common.models import K, counts_about, data_for, fitted, make

from sidelight import Constraints, engine
from sidelight.catalog import Method
from sidelight.exceptions import SidelightError


def labeled(method: Method) -> tuple[np.ndarray, np.ndarray]:
    data = data_for(method)
    return data.X, data.y


def fit_all(method: Method, **params: Any) -> Any:
    """The method fitted to documents that all have a class."""
    X, y = labeled(method)
    return make(method, **params).fit(X, y)


def check_a_class_for_every_document_is_what_it_takes(method: Method) -> None:
    X, y = labeled(method)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = make(method).fit(X, y)
    by_constraints = make(method).fit(X, constraints=Constraints.from_labels(y))
    np.testing.assert_array_equal(model.labels_, by_constraints.labels_)
    assert np.mean(model.class_category_[y] == model.labels_) > 0.9


def check_what_became_of_classes(method: Method) -> None:
    X, y = labeled(method)
    model = fit_all(method)
    n = len(model.category_names_)
    assert model.seeds_.shape == (n, X.shape[1])
    np.testing.assert_array_equal(model.classes_, np.arange(K))
    assert set(model.class_category_) <= {-1, *range(n)}
    assert len(set(model.category_names_)) == n
    for category in range(n):
        counted = np.bincount(y[model.labels_ == category], minlength=K)
        np.testing.assert_array_equal(model.constituents_[category], counted)
    placed = model.labels_ >= 0
    moved = placed & (model.class_category_[y] != model.labels_)
    np.testing.assert_array_equal(model.moved_, np.flatnonzero(moved))
    np.testing.assert_array_equal(model.outliers_, np.flatnonzero(~placed))
    assert set(model.killed_) == set(model.classes_[model.class_category_ < 0])
    assert all(len(group) > 1 for group in model.merged_)


def check_predict_of_the_same_documents_agrees(method: Method) -> None:
    for model in (fitted(method), fit_all(method)):
        np.testing.assert_array_equal(model.predict(data_for(method).X), model.labels_)


def check_new_documents_one_by_one(method: Method) -> None:
    X, model = data_for(method).X[:12], fitted(method)
    alone = np.concatenate([model.predict(row[None]) for row in X])
    np.testing.assert_array_equal(alone, model.predict(X))


def check_documents_without_a_class_get_a_category(method: Method) -> None:
    """They are in the fit, but make no seed: half of the classes are enough to place the rest."""
    X, y = labeled(method)
    model = make(method).fit(X, np.where(np.arange(len(y)) % 2, y, -1))
    assert np.mean(model.class_category_[y] == model.labels_) > 0.9
    assert model.constituents_.sum() == np.count_nonzero(model.labels_[1::2] >= 0)


def check_classes_of_any_type_come_back(method: Method) -> None:
    X, y = labeled(method)
    for names in (("a", "b", "c", "d"), (False, True, False, True), (b"a", b"b", b"c", b"d")):
        given = [names[code] for code in y]
        model = make(method).fit(X, given)
        assert model.classes_.tolist() == sorted(set(names))
    series = pd.Series(np.array(["", "p", "q", "r"])[y])
    assert make(method).fit(X, series).classes_.tolist() == ["p", "q", "r"]


def check_labels_that_do_not_suffice(method: Method) -> None:
    X, y = labeled(method)
    with pytest.raises(SidelightError, match="requires y to be passed"):
        make(method).fit(X)
    with pytest.raises(SidelightError, match="no row is labeled"):
        make(method).fit(X, np.full(len(X), -1))
    with pytest.raises(SidelightError, match=r"one class, 1: .*at least two classes"):
        make(method).fit(X, np.where(y == 1, 1, -1))
    with pytest.raises(SidelightError, match=r"Unknown label type: .*0\.25|1\.25|2\.25|3\.25"):
        make(method).fit(X, y + 0.25)


def check_sparse_equals_dense(method: Method) -> None:
    X, y = labeled(method)
    dense = fit_all(method)
    for kind in (sparse.csr_matrix, sparse.csr_array):
        thin = make(method).fit(kind(X), y)
        np.testing.assert_array_equal(thin.labels_, dense.labels_)
        np.testing.assert_array_equal(thin.predict(kind(X)), dense.labels_)


def check_precision_is_kept(method: Method) -> None:
    X, y = labeled(method)
    model = make(method).fit(X.astype(np.float32), y)
    assert model.seeds_.dtype == np.float32
    assert np.mean(model.labels_ == fit_all(method).labels_) > 0.95


def check_any_number_of_threads(method: Method) -> None:
    for n_threads in (1, 3):
        with engine.threads(n_threads):
            model = fit_all(method)
        np.testing.assert_array_equal(model.labels_, fit_all(method).labels_)
        np.testing.assert_array_equal(model.history_, fit_all(method).history_)


def check_order_of_documents_does_not_matter(method: Method) -> None:
    X, y = labeled(method)
    order = np.random.default_rng(1).permutation(len(X))
    model = make(method).fit(X[order], y[order])
    np.testing.assert_array_equal(model.labels_, fit_all(method).labels_[order])


def check_negative_counts_are_refused(method: Method) -> None:
    X, y = labeled(method)
    wrong = X.copy()
    wrong[3, 4] = -1.0
    for given in (wrong, sparse.csr_array(wrong)):
        with pytest.raises(SidelightError, match="Negative values"):
            make(method).fit(given, y)
        with pytest.raises(SidelightError, match="Negative values"):
            fitted(method).predict(given)


def check_documents_without_words_are_outliers(method: Method) -> None:
    y = data_for(method).y
    X = counts_about(y)
    X[[5, 9]] = 0.0
    model = make(method).fit(X, y)
    assert model.labels_[5] == model.labels_[9] == -1
    assert list(model.predict(np.zeros((2, X.shape[1])))) == [-1, -1]
    with pytest.raises(SidelightError, match="No labeled document has a word"):
        make(method).fit(np.zeros_like(X), y)


def check_ranked_categories(method: Method) -> None:
    X, model = data_for(method).X, fitted(method)
    ranking = model.rank(X, 2)
    np.testing.assert_array_equal(ranking.nearest, model.predict(X))
    assert ranking.categories.shape == (len(X), min(2, len(model.category_names_)))
    with pytest.raises(ValueError, match="at least 1"):
        model.rank(X, 0)
    with pytest.raises(TypeError, match="whole number"):
        model.rank(X, 1.5)
