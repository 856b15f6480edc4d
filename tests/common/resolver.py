"""Checks of estimators that tell which references name the same entity."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.common.models import data_for, knowledge_for, make

from sidelight import Constraints, Relations, engine
from sidelight.catalog import Method
from sidelight.exceptions import SidelightError

NAMES = [
    *("Wei Wang", "Chao Chen", "Ali Ansari", "Wei Wang", "Ali Ansari", "Lin Li", "Chao Chen"),
    *("Wendy Wang", "W. Wang", "Ali Ansari", None, ""),
]
PAPERS = ["p1", "p1", "p1", "p2", "p2", "p3", "p3", "p3", "p4", "p4", "p4", None]
YEARS = [2001, 2001, 2001, 2002, 2002, 2003, 2003, 2003, 2004, 2004, 2004, 2005]


def table() -> pd.DataFrame:
    return pd.DataFrame({"name": NAMES, "year": YEARS}, index=[f"r{i}" for i in range(len(NAMES))])


@functools.cache
def resolved(method: Method) -> Any:
    return make(method).fit(table(), relations=Relations.from_groups(PAPERS))


def check_kinds_of_tables(method: Method) -> None:
    frame = table()
    for given in (pl.DataFrame({"name": NAMES, "year": YEARS}), frame.to_dict("list")):
        model = make(method).fit(given, relations=Relations.from_groups(PAPERS))
        np.testing.assert_array_equal(model.labels_, resolved(method).labels_)


def check_references_of_one_hyperedge_are_distinct(method: Method) -> None:
    labels = resolved(method).labels_
    for paper in set(PAPERS) - {None}:
        of_paper = [labels[i] for i, name in enumerate(PAPERS) if name == paper]
        assert len(set(of_paper)) == len(of_paper)


def check_equal_names_of_different_papers_are_found(method: Method) -> None:
    labels = resolved(method).labels_
    assert labels[2] == labels[4]


def check_hard_knowledge_holds(method: Method) -> None:
    y = np.random.default_rng(0).integers(0, 4, len(data_for(method).X))
    known = knowledge_for(method, y, n=50)
    model = make(method).fit(data_for(method).X, constraints=known)
    assert known.violations(model.labels_).n == 0
    apart = Constraints(cannot_link=[("r2", "r4")], ids=table().index)
    labels = make(method).fit(table(), constraints=apart).labels_
    assert labels[2] != labels[4]


def check_at_most_one_per_source(method: Method) -> None:
    sources = np.arange(len(NAMES)) % 3
    labels = make(method).fit(table(), sources=sources).labels_
    held = np.column_stack([labels, sources])
    assert len(np.unique(held, axis=0)) == len(held)


def check_references_of_the_fit_keep_their_entities(method: Method) -> None:
    model = resolved(method)
    found = model.assign(table(), relations=PAPERS)
    np.testing.assert_array_equal(found.labels, model.labels_)
    assert found.similarity.tolist() == [1.0] * len(NAMES)
    assert not any(found.also)


def check_later_references_get_entities(method: Method) -> None:
    model, n = resolved(method), len(NAMES)
    later = pd.DataFrame({"name": ["Lin Li", "Zoe Quist", "Zoe Quist"], "year": [2003, 1950, 1950]})
    before = model.labels_.copy()
    found = model.assign(later)
    assert found.labels.tolist() == [model.labels_[5], found.n_entities, found.n_entities]
    assert found.n_entities == before.max() + 1 <= n
    np.testing.assert_array_equal(model.labels_, before)
    # Numbers as in a matrix, and what the columns are.
    numbers = make(method).fit(data_for(method).X)
    assert len(numbers.assign(data_for(method).X[:5]).labels) == 5
    with pytest.raises(SidelightError, match="no column 'name', which the fit compared"):
        model.assign(later[["year"]])


def check_any_number_of_threads(method: Method) -> None:
    for n_threads in (1, 3):
        with engine.threads(n_threads):
            model = make(method).fit(table(), relations=Relations.from_groups(PAPERS))
        np.testing.assert_array_equal(model.labels_, resolved(method).labels_)


def check_order_of_references_does_not_matter(method: Method) -> None:
    order = np.random.default_rng(1).permutation(len(NAMES))
    shuffled = make(method).fit(
        table().iloc[order], relations=Relations.from_groups(PAPERS).restrict(order)
    )
    labels = resolved(method).labels_[order]
    np.testing.assert_array_equal(
        shuffled.labels_[:, None] == shuffled.labels_, labels[:, None] == labels
    )


def check_bad_references(method: Method) -> None:
    with pytest.raises(SidelightError, match="about 3 objects"):
        make(method).fit(table(), relations=Relations(hyperedges=[[0, 1]], n_samples=3))
    with pytest.raises(SidelightError, match="nme"):
        make(method, compare={"nme": "name"}).fit(table())
