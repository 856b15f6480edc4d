"""Query-time resolution: what is extracted, and how it agrees with a fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sidelight import Constraints
from sidelight.datasets import make_references
from sidelight.exceptions import SidelightError
from sidelight.relational import AttributeResolution, CollectiveResolution, ColumnComparison

WIDTH_2 = {"x0": ColumnComparison("number", scale=2.0)}


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    return np.array_equal(one[:, None] == one, other[:, None] == other)


def similar_and_together(
    X: np.ndarray, relations: object, least: float
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of references that look alike, and pairs that occur together."""
    similar = np.exp(-((X - X.T) ** 2) / 8) >= least
    together = (relations.incidence.astype(int) @ relations.incidence.astype(int).T).toarray() > 0
    return similar, together


@pytest.mark.filterwarnings("ignore:.* are in one hyper-edge")
@pytest.mark.parametrize("linkage", ["single", "average"])
@pytest.mark.parametrize("seed", range(3))
def test_all_levels_give_what_a_fit_gives(seed: int, linkage: str) -> None:
    X, relations, y = make_references(50, 15, 60, p_ambiguous=0.2, random_state=seed)
    known = Constraints.sample(y, 12, random_state=seed)
    model = CollectiveResolution(0.4, linkage=linkage, compare=WIDTH_2)
    whole = model.fit(X, relations=relations, constraints=known).labels_.copy()
    similar, together = similar_and_together(X, relations, 0.05)
    linked = sparse.coo_array(similar | together)
    must = known.closure().must_link_pairs()
    linked = linked + sparse.coo_array(
        (np.ones(len(must)), (must[:, 0], must[:, 1])), shape=linked.shape
    )
    parts = connected_components(linked, directed=False)[1]
    assert parts.max() > 0
    for row in (0, 7, 30):
        result = model.query(
            X, rows=row, levels=None, looks_like=0, relations=relations, constraints=known
        )
        assert row in result.rows
        np.testing.assert_array_equal(result.extracted, np.flatnonzero(parts == parts[row]))
        assert same_partition(result.labels, whole[result.rows])


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_levels_alternate_between_hyperedges_and_similarity(levels: int) -> None:
    X, relations, _ = make_references(60, 30, 60, random_state=1)
    similar, together = similar_and_together(X, relations, 0.7)
    inside = np.zeros(len(X), bool)
    inside[4] = True
    inside = similar[inside].any(axis=0)
    level = np.where(inside, 0, -1)
    for number in range(1, levels + 1):
        inside = inside | together[inside].any(axis=0)
        inside = inside | similar[inside].any(axis=0)
        level[inside & (level < 0)] = number
    result = CollectiveResolution(compare=WIDTH_2).query(
        X, rows=[4], levels=levels, relations=relations
    )
    np.testing.assert_array_equal(result.extracted, np.flatnonzero(level >= 0))
    np.testing.assert_array_equal(result.levels, level[level >= 0])
    np.testing.assert_array_equal(result.rows, np.flatnonzero(level == 0))


def test_recall_does_not_fall_with_the_level() -> None:
    recall = np.zeros((12, 4))
    for seed in range(12):
        X, relations, y = make_references(100, 50, 200, random_state=seed)
        model = CollectiveResolution(0.5, compare=WIDTH_2, isolated=0.0)
        for level in range(4):
            found = model.query(X, rows=[0], levels=level, relations=relations)
            true = y[found.rows][:, None] == y[found.rows]
            joined = found.labels[:, None] == found.labels
            recall[seed, level] = (np.triu(true & joined, 1).sum() + 1e-9) / (
                np.triu(true, 1).sum() + 1e-9
            )
    means = recall.mean(axis=0)
    assert np.all(np.diff(means) >= -1e-12)
    assert means[1] > means[0]


def test_level_0_decides_by_attributes() -> None:
    X, relations, _ = make_references(100, 50, 200, random_state=0)
    model = CollectiveResolution(compare=WIDTH_2, linkage="single")
    found = model.query(X, rows=[0], levels=0, relations=relations)
    plain = AttributeResolution(0.8, compare=WIDTH_2).fit(X, relations=relations)
    assert len(found.rows) > 5
    assert same_partition(found.labels, plain.labels_[found.rows])


def test_a_query_by_value_and_by_id() -> None:
    table = pd.DataFrame(
        {
            "name": ["W. Wang", "Ann Li", "Wei Wang", "Ann Li", "Bo Berg"],
            "year": [2001, 2001, 2002, 2002, 2002],
        },
        index=list("abcde"),
    )
    model = CollectiveResolution(compare={"name": "name"})
    papers = [1, 1, 2, 2, 2]
    by_value = model.query(table, value={"name": "W. Wang"}, relations=papers)
    assert by_value.rows.tolist() == [0, 2]
    assert by_value.extracted.tolist() == [0, 1, 2, 3, 4]
    by_id = model.query(table, rows=["c"], relations=papers)
    assert by_id.rows.tolist() == [0, 2]
    assert by_id.labels.tolist() == by_value.labels.tolist()
    both = model.query(table, value={"name": "Ann Li", "year": 2002}, levels=0)
    assert both.rows.tolist() == [1, 3]
    assert repr(both) == "<QueryResult: 2 references to 1 entity, 2 references extracted>"
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "Say which references"),
        ({"rows": [0], "value": {"name": "Ann Li"}}, "Say which references"),
        ({"rows": []}, "names no reference"),
        ({"rows": [9]}, "no reference 9"),
        ({"rows": [0], "levels": -1}, "levels"),
        ({"rows": [0], "looks_like": 2}, "looks_like"),
        ({"value": {}}, "must map columns to values"),
        ({"value": {"nme": "Ann Li"}}, "no column 'nme'; the columns are 'name'"),
        ({"value": {"name": "Cy"}}, "No reference has 'Cy' in the column 'name'"),
    ],
)
def test_bad_queries(params: dict, message: str) -> None:
    with pytest.raises(SidelightError, match=message):
        CollectiveResolution().query({"name": ["Ann Li", "Bo Berg"]}, **params)
