"""Selectors on input that leaves little to choose: a sound answer that is said, or an error."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from sidelight import Constraints
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.feature_selection import (
    ConstraintScore,
    FisherScore,
    ForwardConstraintSelector,
    GiniScore,
    LaplacianScore,
    OnlineConstraintSelector,
    VarianceScore,
)

SELECTORS = [
    VarianceScore(),
    FisherScore(),
    LaplacianScore(),
    ConstraintScore(),
    ConstraintScore(criterion="difference"),
    ConstraintScore(criterion="laplacian*constraint"),
    ConstraintScore(criterion="locality"),
    GiniScore(),
    OnlineConstraintSelector(random_state=0),
    ForwardConstraintSelector(),
]
every_selector = pytest.mark.parametrize("selector", SELECTORS, ids=repr)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = np.abs(rng.normal(size=(30, 5)))
    X[:, 1] += 2 * y
    return X, y


@every_selector
def test_features_that_do_not_vary_are_never_preferred(selector, rows):
    X, y = rows
    flat = np.column_stack([np.full(30, 7.0), X, np.zeros(30)])
    model = clone(selector).set_params(n_features_to_select=3).fit(flat, y)
    first, last = model.ranking_[[0, 6]]
    if isinstance(selector, GiniScore):  # a word that is everywhere has a score, the worst
        assert last == 7
    else:
        assert {first, last} == {6, 7}
    assert not model.get_support()[[0, 6]].any()


@every_selector
def test_one_feature_is_kept(selector, rows):
    X, y = rows
    model = clone(selector).fit(X[:, [1]], y)
    assert model.transform(X[:, [1]]).shape == (30, 1)
    assert list(model.ranking_) == [1]


@every_selector
def test_names_of_columns_come_out_again(selector, rows):
    X, y = rows
    names = ["width", "height", "width of the stem", "a", "ß"]
    table = pd.DataFrame(X, columns=names, index=[f"row {i}" for i in range(30)])
    model = clone(selector).set_output(transform="pandas").fit(table, y)
    chosen = [name for name, kept in zip(names, model.get_support(), strict=True) if kept]
    result = model.transform(table)
    assert list(result.columns) == chosen == list(model.get_feature_names_out())
    assert list(result.index) == list(table.index)
    pd.testing.assert_frame_equal(result, table[chosen])
    with pytest.raises(ValueError, match="feature names"):
        model.transform(table.rename(columns={"a": "b"}))


@every_selector
def test_sparse_stays_sparse_and_comes_back(selector, rows):
    X, y = rows
    thin = sparse.csr_array(np.where(X > 0.3, X, 0.0))
    model = clone(selector).fit(thin, y)
    assert sparse.issparse(model.transform(thin))
    full = model.inverse_transform(model.transform(thin.toarray()))
    np.testing.assert_array_equal(full, thin.toarray() * model.get_support())


@pytest.mark.parametrize(
    "selector", [FisherScore(), LaplacianScore(), *SELECTORS[3:7]], ids=lambda s: repr(s)
)
def test_nothing_varies(selector, rows):
    with pytest.warns(ConstraintWarning, match="no score for any feature"):
        model = clone(selector).fit(np.ones((30, 4)), rows[1])
    assert list(model.get_support()) == [True, True, False, False]


def test_difference_of_a_feature_that_does_not_vary(rows):
    X, y = rows
    known = Constraints.sample(y, 40, random_state=0)
    X = np.column_stack([X[:, 2], np.ones(30)])
    model = ConstraintScore(1, criterion="difference").fit(X, constraints=known)
    assert model.scores_[0] > 0  # worse than 0, which a feature that is the same everywhere has
    assert list(model.get_support()) == [True, False]


def test_no_must_links(rows):
    X, _ = rows
    known = Constraints(cannot_link=[(0, 11), (2, 23), (5, 15)], n_samples=30)
    with pytest.warns(ConstraintWarning, match="variance of all rows stands in"):
        model = ConstraintScore().fit(X, constraints=known)
    gaps = X[known.cannot_link[:, 0]] - X[known.cannot_link[:, 1]]
    np.testing.assert_allclose(model.scores_, X.var(axis=0) / np.sum(gaps**2, axis=0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = ConstraintScore(criterion="difference").fit(X, constraints=known)
    np.testing.assert_allclose(plain.scores_, -0.1 * np.sum(gaps**2, axis=0))


@pytest.mark.parametrize("rows_as", [np.asarray, sparse.csr_array])
def test_rows_that_nothing_joins_do_not_count_for_laplacian_scores(rows, rows_as):
    X, _ = rows
    far = np.vstack([np.column_stack([X, np.zeros(30)]), [0, 0, 0, 0, 0, 1e9]])
    inside = LaplacianScore(3).fit(X)
    model = LaplacianScore(3, n_neighbors=5).fit(rows_as(far))
    np.testing.assert_allclose(model.scores_[:5], inside.scores_, rtol=0.2)
    assert np.isnan(model.scores_[5])
    assert model.ranking_[5] == 6


def test_two_parts_without_an_edge_between_them():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40, 3))
    X[20:, 0] += 50
    model = LaplacianScore(1).fit(X)
    assert model.get_support()[0]
    assert np.all((model.scores_ >= 0) & (model.scores_ <= 2))


def test_nothing_differs_between_rows_known_to_be_apart(rows):
    X, _ = rows
    X[11] = X[0]
    known = Constraints([(1, 2)], [(0, 11)], n_samples=30)
    for method in ("ratio", "difference", "locality"):
        with pytest.warns(ConstraintWarning, match="No feature tells the rows apart"):
            ConstraintScore(criterion=method).fit(X, constraints=known)


def test_no_edge_at_all(rows):
    X, _ = rows
    every = np.column_stack(np.triu_indices(4, 1))
    with pytest.raises(SidelightError, match=r"no two of the rows \(n_samples=4\) are joined"):
        LaplacianScore().fit(X[:4], constraints=Constraints(cannot_link=every, n_samples=4))


def test_bad_parameters(rows):
    X, y = rows
    with pytest.raises(ValueError, match="penalty must be a finite number of at least 0"):
        ConstraintScore(penalty=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="min_df must be a whole number of at least 1"):
        GiniScore(min_df=0).fit(X, y)
    with pytest.raises(ValueError, match="n_neighbors must be a whole number of at least 1"):
        LaplacianScore(n_neighbors=0).fit(X)
    with pytest.raises(ValueError, match="a number above 0 and at most 1"):
        VarianceScore(1.5).fit(X)
    with pytest.raises(TypeError, match="at most 1 or None"):
        VarianceScore("all").fit(X)
    with pytest.raises(SidelightError, match="Negative values"):
        GiniScore().fit(-X, y)
    with pytest.warns(ConstraintWarning, match="none varies, or occurs"):
        GiniScore(min_df=31).fit(X, y)
