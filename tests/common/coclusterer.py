"""Checks of estimators that cluster rows and columns."""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from tests.common.applies import applies_to, has, knows
from tests.common.models import K, data_for, fitted, make

from sidelight import Constraints, engine
from sidelight.catalog import Method
from sidelight.constraints import Ordering
from sidelight.datasets import make_purchases
from sidelight.exceptions import SidelightError


@functools.cache
def planted() -> Any:
    """Customers and products in three groups, with little noise."""
    return make_purchases(45, 12, density=0.85, noise=0.02, random_state=4)


@functools.cache
def found(method: Method) -> Any:
    return make(method, n_clusters=3, n_init=10).fit(planted().X.astype(np.float64))


def assert_same_sides(one: Any, rows: Any, columns: Any) -> None:
    """Assert that the clusters of both sides are these, whatever their numbers."""
    assert adjusted_rand_score(one.labels_, rows) == 1.0
    assert adjusted_rand_score(one.column_labels_, columns) == 1.0


def takes_columns(method: Method) -> bool:
    return "column_constraints" in inspect.signature(method.cls.fit).parameters


def check_both_sides_have_clusters(method: Method) -> None:
    X, model = data_for(method).X, fitted(method)
    assert model.column_labels_.shape == (X.shape[1],)
    assert model.column_labels_.dtype == np.int32
    for labels in (model.labels_, model.column_labels_):
        assert labels.min() >= -1
        assert labels.max() < K


def check_planted_clusters_of_both_sides(method: Method) -> None:
    bought = planted()
    assert_same_sides(found(method), bought.target, bought.column_target)


def check_permuted_rows_and_columns(method: Method) -> None:
    bought, rng = planted(), np.random.default_rng(0)
    rows, columns = (rng.permutation(n) for n in bought.X.shape)
    model = make(method, n_clusters=3, n_init=10).fit(bought.X[rows][:, columns].astype(np.float64))
    assert_same_sides(model, found(method).labels_[rows], found(method).column_labels_[columns])


def check_transposed_tables_swap_the_sides(method: Method) -> None:
    model = make(method, n_clusters=3, n_init=10).fit(planted().X.T.astype(np.float64))
    assert_same_sides(model, found(method).column_labels_, found(method).labels_)


def check_any_number_of_threads(method: Method) -> None:
    data = data_for(method)
    for n_threads in (1, 3):
        with engine.threads(n_threads):
            model = make(method).fit(data.X, constraints=data.known)
        np.testing.assert_array_equal(model.labels_, fitted(method).labels_)
        np.testing.assert_array_equal(model.column_labels_, fitted(method).column_labels_)
        np.testing.assert_array_equal(model.history_, fitted(method).history_)


@applies_to(lambda method: method.tags.sparse)
def check_sparse_tables_give_the_same(method: Method) -> None:
    data = data_for(method)
    model = make(method).fit(sparse.csr_matrix(data.X), constraints=data.known)
    np.testing.assert_array_equal(model.labels_, fitted(method).labels_)
    np.testing.assert_array_equal(model.column_labels_, fitted(method).column_labels_)


@applies_to(knows("must-link"))
def check_must_linked_rows_are_together(method: Method) -> None:
    i, j = data_for(method).known.must_link.T
    labels = fitted(method).labels_
    np.testing.assert_array_equal(labels[i], labels[j])


@applies_to(knows("cannot-link"))
def check_rows_to_keep_apart_are_apart(method: Method) -> None:
    i, j = data_for(method).known.cannot_link.T
    labels = fitted(method).labels_
    assert not ((labels[i] == labels[j]) & (labels[i] >= 0)).any()


@applies_to(takes_columns)
def check_columns_by_name(method: Method) -> None:
    """Pairs of columns hold, whether they are named or counted."""
    bought = planted()
    table = pd.DataFrame(bought.X.astype(np.float64), columns=bought.columns)
    place = [np.flatnonzero(bought.column_target == group)[:2] for group in range(2)]
    together, apart = (0, 1), (place[0][0], place[0][1])
    known = Constraints([together], [apart], n_samples=len(bought.columns))
    named = Constraints(
        [tuple(bought.columns[list(together)])],
        [tuple(bought.columns[list(apart)])],
        ids=bought.columns,
    )
    by_place = make(method, n_clusters=4).fit(table.to_numpy(), column_constraints=known)
    by_name = make(method, n_clusters=4).fit(table, column_constraints=named)
    labels = by_name.column_labels_
    np.testing.assert_array_equal(labels, by_place.column_labels_)
    assert labels[together[0]] == labels[together[1]]
    assert labels[apart[0]] != labels[apart[1]]


@applies_to(takes_columns)
def check_constraints_about_other_columns(method: Method) -> None:
    known = Constraints([(0, 1)], n_samples=3)
    with pytest.raises(SidelightError, match="3"):
        make(method).fit(data_for(method).X, column_constraints=known)


@applies_to(knows("order"))
def check_orders_of_other_lengths(method: Method) -> None:
    for side in ("row_order", "column_order"):
        with pytest.raises(SidelightError, match="7"):
            make(method).fit(data_for(method).X, **{side: Ordering(range(7), max_gap=0)})


@applies_to(knows("order"))
def check_runs_of_ordered_columns(method: Method) -> None:
    weeks = make_purchases(45, 12, over="weeks", density=0.9, noise=0.0, random_state=2)
    order = Ordering(range(12), max_gap=1)
    model = make(method, n_clusters=3, n_init=10).fit(
        weeks.X.astype(np.float64), column_order=order
    )
    assert_same_sides(model, weeks.target, weeks.column_target)


@applies_to(has("predict"))
def check_predict(method: Method) -> None:
    model, X = found(method), planted().X.astype(np.float64)
    labels = model.predict(X)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, model.labels_)
    np.testing.assert_array_equal(model.predict(X[:7]), labels[:7])


def check_negative_values_are_refused(method: Method) -> None:
    X = planted().X.astype(np.float64)
    X[3, 2] = -1.0
    with pytest.raises(ValueError, match=r"[Rr]ow 3, column 2|[Nn]egative"):
        make(method, n_clusters=3, n_init=10).fit(X)


def check_wrong_numbers_of_clusters(method: Method) -> None:
    X = data_for(method).X
    with pytest.raises(ValueError, match=r"n_samples=3 should be >= n_clusters=4"):
        make(method).fit(X[:3])
    with pytest.raises(ValueError, match="at least 1"):
        make(method, n_clusters=0).fit(X)


def check_single_row_all_ones_and_all_zeros(method: Method) -> None:
    one = make(method, n_clusters=1).fit([[1.0, 0.0, 1.0]])
    assert one.labels_.tolist() == [0]
    assert one.column_labels_.tolist() == [0, -1, 0]
    full = make(method, n_clusters=1).fit(np.ones((5, 4)))
    assert set(full.labels_) == set(full.column_labels_) == {0}
    with warnings.catch_warnings(action="ignore"):  # a table of zeros has no cluster
        empty = make(method, n_clusters=1).fit(np.zeros((5, 4)))
    assert set(empty.labels_) == set(empty.column_labels_) == {-1}
    assert np.isfinite(empty.objective_)
