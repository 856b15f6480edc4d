"""What is refused, and in which words; hyper-edges, ids, predict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sidelight import Constraints, Relations
from sidelight.exceptions import InfeasibleConstraints, SidelightError, UnusedKnowledge
from sidelight.relational import ConnectedKCenter, ConnectedKMeans, NetScan
from sidelight.relational.connected import _graph

X = np.array([0.0, 0.1, 5.0, 5.1, 9.0, 9.1])[:, None]


PATH = [(i, i + 1) for i in range(5)]


METHODS = [ConnectedKMeans, NetScan, ConnectedKCenter]


@pytest.mark.parametrize("method", METHODS)
def test_too_few_clusters_name_the_components(method: Any) -> None:
    ids = ["ann", "bob", "cid", "dan", "eve", "fay"]
    relations = Relations([("ann", "bob"), ("cid", "dan"), ("dan", "eve")], ids=ids)
    with pytest.raises(InfeasibleConstraints) as caught:
        method(2).fit(X, relations=relations)
    text = str(caught.value)
    assert "3 components" in text
    assert "3 rows with 'cid', 2 rows with 'ann' and 1 row with 'fay'" in text
    assert "at least 3 clusters" in text
    assert caught.value.sufficient_k == 3
    with pytest.raises(InfeasibleConstraints, match="3 components"):
        method((1, 2)).fit(X, relations=relations)
    assert len(method((1, 4)).fit(X, relations=relations).search_["n_clusters"]) == 2


def test_many_components_are_not_all_listed() -> None:
    with pytest.raises(InfeasibleConstraints, match=r"1 row with row 4 and 1 smaller ones"):
        NetScan(2).fit(X, relations=Relations(n_samples=6))


@pytest.mark.parametrize("method", METHODS)
def test_negative_scores_are_refused(method: Any) -> None:
    relations = Relations(PATH, [1, 1, -2.5, 1, 1], n_samples=6)
    with pytest.raises(SidelightError, match=r"row 2 - row 3 has the score -2.5"):
        method(2).fit(X, relations=relations)


def test_scores_of_zero_do_not_join() -> None:
    relations = Relations(PATH, [1, 1, 0, 1, 1], n_samples=6)
    with pytest.raises(InfeasibleConstraints, match="2 components"):
        NetScan(1).fit(X, relations=relations)


@pytest.mark.parametrize("method", METHODS)
def test_wrong_ranges(method: Any) -> None:
    for wrong in ((3, 2), (2, 7)):
        with pytest.raises(SidelightError, match=r"must be a range \(low, high\)"):
            method(wrong).fit(X)
    for wrong in ("many", (2,), (2, 3.5)):
        with pytest.raises(SidelightError, match="n_clusters must be"):
            method(wrong).fit(X)


@pytest.mark.parametrize("method", METHODS)
def test_rows_without_direction(method: Any) -> None:
    with pytest.raises(SidelightError, match="Row 0 is all zeros"):
        method(2, metric="cosine").fit(X)


@pytest.mark.parametrize("method", METHODS)
def test_constraints_are_told_to_be_unused(method: Any) -> None:
    known = Constraints([(0, 5)], n_samples=6)
    with pytest.warns(UnusedKnowledge, match="does not use must-links"):
        model = method(2, random_state=0).fit(X, constraints=known, relations=PATH)
    assert model.n_violations_ == 1


def test_rows_are_found_by_their_ids() -> None:
    names = list("fedcba")
    table = pd.DataFrame({"x": X[:, 0]}, index=names)
    relations = Relations([(names[i], names[j]) for i, j in PATH], ids=sorted(names))
    by_ids = ConnectedKMeans(3, random_state=0).fit(table, relations=relations)
    by_place = ConnectedKMeans(3, random_state=0).fit(X, relations=PATH)
    np.testing.assert_array_equal(by_ids.labels_, by_place.labels_)


@pytest.mark.parametrize("method", METHODS)
def test_new_rows_join_clusters_of_their_neighbors(method: Any) -> None:
    model = method(3, random_state=0).fit(X, relations=PATH)
    assert model.labels_.tolist() == [0, 0, 1, 1, 2, 2]
    new = np.array([[0.0], [0.0], [0.0], [9.0]])
    assert model.predict(new).tolist() == [0, 0, 0, 2]
    lists = [[], [3], [3, 5], [0, 3]]
    assert model.predict(new, neighbors=lists).tolist() == [0, 1, 1, 1]
    matrix = np.zeros((4, 6))
    matrix[[1, 2, 2, 3, 3], [3, 3, 5, 0, 3]] = 1
    for given in (matrix, sparse.csr_matrix(matrix), sparse.coo_array(matrix)):
        labels = model.predict(new, neighbors=given)
        assert labels.tolist() == [0, 1, 1, 1]
        assert labels.dtype == model.labels_.dtype
    for wrong in (matrix[:, :4], matrix[:3], [[1]]):
        with pytest.raises(SidelightError, match="a row for each of the 4 new rows"):
            model.predict(new, neighbors=wrong)
    for wrong in ([[9], [], [], []], [[0.5], [], [], []]):
        with pytest.raises(SidelightError, match="whole numbers from 0 to 5"):
            model.predict(new, neighbors=wrong)
    with pytest.raises(SidelightError, match="at least 0"):
        model.predict(new, neighbors=-matrix)


def test_neighbors_that_are_outliers_do_not_count() -> None:
    rows = np.array([0.0, 0.1, 0.2, 50.0])[:, None]
    model = NetScan(1, outlier_threshold="gap", centers="nodes", random_state=0).fit(
        rows, relations=PATH[:3]
    )
    assert model.labels_.tolist() == [0, 0, 0, -1]
    assert model.predict([[49.0]], neighbors=[[3]]).tolist() == [0]


# --- what it is made of ---


def test_hyperedges_join_their_members(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = Relations([(2, 3)], hyperedges={"a": [0, 1, 2], "b": [3, 4, 5]}, n_samples=6)
    edges = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)]
    for method in METHODS:
        one, other = (method(2, random_state=0).fit(X, relations=r) for r in (sets, edges))
        np.testing.assert_array_equal(one.labels_, other.labels_)
    monkeypatch.setattr(_graph, "MAX_PAIRS", 5)
    with pytest.raises(SidelightError, match="6 pairs of neighbors, more than 5; the largest, a"):
        NetScan(2).fit(X, relations=sets)
