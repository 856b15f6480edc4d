"""Checks of estimators that give other splits than the known ones."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.common.applies import applies_to, has
from tests.common.models import K, blobs, data_for, fitted, make

from sidelight import KnownSplits, engine
from sidelight.catalog import Method
from sidelight.evaluation import adjusted_rand_index
from sidelight.exceptions import ConstraintWarning, SidelightError


@functools.cache
def grid() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows in four blobs with the two ways to pair them, the first of which is clearer.

    Rows are counts of four words that all add up to the same, so that methods for shares of counts
    see the same two splits as methods for distances.
    """
    rng = np.random.default_rng(0)
    known, other = rng.integers(0, 2, (2, 240))
    first = rng.binomial(400, np.where(known, 0.75, 0.25))
    second = rng.binomial(400, np.where(other, 0.65, 0.35))
    X = np.column_stack([first, 400 - first, second, 400 - second]).astype(np.float64)
    X.setflags(write=False)
    return X, known, other


@functools.cache
def avoiding(method: Method) -> Any:
    X, known, _ = grid()
    return make(method, n_clusters=2).fit(X, known=known)


def check_the_known_split_is_avoided(method: Method) -> None:
    _, known, other = grid()
    assert adjusted_rand_index(other, avoiding(method).labels_) > 0.85
    assert abs(adjusted_rand_index(known, avoiding(method).labels_)) < 0.1


def check_without_known_splits_the_clearest_is_found(method: Method) -> None:
    X, known, _ = grid()
    for nothing in (None, KnownSplits(n_samples=len(X)), []):
        model = make(method, n_clusters=2).fit(X, known=nothing)
        assert adjusted_rand_index(known, model.labels_) > 0.85


def check_forms_of_the_same_split(method: Method) -> None:
    X, known, _ = grid()
    words = np.array(["left", "right"])[known]
    forms = (
        words,
        words.tolist(),
        [words],
        {"side": words},
        pd.Series(words),
        pl.Series("side", words),
        pd.DataFrame({"side": words}),
        known[:, None],
        KnownSplits(words),
    )
    for given in forms:
        model = make(method, n_clusters=2).fit(X, known=given)
        np.testing.assert_array_equal(model.labels_, avoiding(method).labels_)


def check_known_splits_are_found_by_id(method: Method) -> None:
    X, known, _ = grid()
    ids = [f"row {i}" for i in range(len(X))]
    order = np.random.default_rng(1).permutation(len(X))
    splits = KnownSplits(known[order], ids=np.array(ids)[order])
    model = make(method, n_clusters=2).fit(pd.DataFrame(X, index=ids), known=splits)
    np.testing.assert_array_equal(model.labels_, avoiding(method).labels_)


def check_several_splits_are_avoided_together(method: Method) -> None:
    X, known, other = grid()
    rng = np.random.default_rng(2)
    third = rng.integers(0, 2, len(X))
    counts = rng.binomial(400, np.where(third, 0.65, 0.35))
    rows = np.column_stack([X, counts, 400 - counts])
    model = make(method, n_clusters=2).fit(rows, known=[known, other])
    assert adjusted_rand_index(third, model.labels_) > 0.7
    for one in (known, other):
        assert abs(adjusted_rand_index(one, model.labels_)) < 0.1


def check_any_number_of_threads(method: Method) -> None:
    X, known, _ = grid()
    for n_threads in (1, 3):
        with engine.threads(n_threads):
            model = make(method, n_clusters=2).fit(X, known=known)
        np.testing.assert_array_equal(model.labels_, avoiding(method).labels_)
        np.testing.assert_array_equal(model.history_, avoiding(method).history_)


def check_fit_leaves_known_splits_alone(method: Method) -> None:
    X, known, _ = grid()
    before = known.copy()
    make(method, n_clusters=2).fit(X, known=known)
    np.testing.assert_array_equal(known, before)


def check_wrong_splits_are_refused_in_words(method: Method) -> None:
    X, known, _ = grid()
    n = len(X)
    wrong = {
        "about 239 rows": known[1:],
        "'side' is 'left' in all 240 rows": {"side": ["left"] * n},
        "'id' differs in all 240 rows: it is an id": {"id": [f"a{i}" for i in range(n)]},
        "'side' has to hold one label per row": {"side": "left"},
        "not the text": "side.csv",
        "140 classes for 240 rows": {"many": np.arange(n) % 140},
    }
    for words, given in wrong.items():
        with pytest.raises(SidelightError, match=words):
            make(method, n_clusters=2).fit(X, known=given)


def check_splits_of_one_and_of_equal_rows(method: Method) -> None:
    assert list(make(method, n_clusters=1).fit([[1.0, 2.0]]).labels_) == [0]
    with pytest.raises(SidelightError, match="in the only row"):
        make(method, n_clusters=1).fit([[1.0, 2.0]], known=["a"])
    X = np.repeat([[1.0, 5.0], [2.0, 5.0]], 20, axis=0)
    known = np.tile([0, 1], 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        two = make(method, n_clusters=2).fit(X, known=known)
        assert np.isfinite(make(method, n_clusters=3).fit(X, known=known).objective_)
        assert np.isfinite(make(method, n_clusters=2).fit(np.ones((40, 2)), known=known).objective_)
    assert len(np.unique(two.labels_[:20])) == len(np.unique(two.labels_[20:])) == 1
    assert two.labels_[0] != two.labels_[20]


def check_classes_of_few_rows(method: Method) -> None:
    X, known, other = grid()
    few = known.copy()
    few[:2], few[2] = 2, 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        model = make(method, n_clusters=2).fit(X, known=few)
    assert adjusted_rand_index(other, model.labels_) > 0.7


@applies_to(has("predict"))
def check_predict(method: Method) -> None:
    X, model = data_for(method).X, fitted(method)
    labels = model.predict(X)
    assert labels.shape == (len(X),)
    assert labels.dtype == model.labels_.dtype
    assert set(np.unique(labels)) <= set(range(K))
    np.testing.assert_array_equal(model.predict(X[:7]), labels[:7])


@applies_to(has("predict"))
def check_new_rows_need_no_known_class(method: Method) -> None:
    X, _, other = grid()
    assert adjusted_rand_index(other, avoiding(method).predict(X)) > 0.8


def check_wrong_numbers_of_clusters(method: Method) -> None:
    X, _ = blobs()
    with pytest.raises(ValueError, match=r"n_samples=3 should be >= n_clusters=4"):
        make(method).fit(X[:3])
    with pytest.raises(ValueError, match="at least 1"):
        make(method, n_clusters=0).fit(X)
