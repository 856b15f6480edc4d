"""Collections that are still to be computed are refused at every door, and not pulled."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.common import not_in_memory

from sidelight import Constraints, jobs
from sidelight.active import Answers, MinMax
from sidelight.cluster import KMeans, mine_concepts
from sidelight.constraints import Correspondences
from sidelight.engine import as_rows
from sidelight.exceptions import SidelightError
from sidelight.manifold import CoordinatedViews
from sidelight.preparation import TablePreparer, discretize
from sidelight.semi_supervised import HarmonicClassifier

X = np.random.default_rng(0).normal(size=(40, 3))
NUMBERS = np.arange(40) % 2

LINKED = Correspondences([(i, i) for i in range(30)], [40, 40])

DOORS = {
    "TablePreparer": (TablePreparer().fit, X),
    "a job": (lambda rows: jobs.run("cluster", data=rows), X),
    "views": (lambda rows: Correspondences([(0, 1)], [40, 40]).stack([X, rows]), X),
    "quality": (lambda rows: Constraints([(0, 1)], n_samples=40).quality(rows), X),
    "questions": (lambda rows: MinMax().start(rows, Answers(40)), X),
    "discretize": (discretize, X),
    "mine_concepts": (mine_concepts, (X > 0).astype(int)),
    "a view": (lambda rows: CoordinatedViews(1).fit([X, rows], correspondences=LINKED), X),
    "labels": (Constraints.from_labels, NUMBERS),
    "ids": (lambda ids: Constraints([(0, 1)], ids=ids), np.arange(40)),
    "y": (lambda y: HarmonicClassifier().fit(X, y), NUMBERS),
    "sample_weight": (lambda w: KMeans(2).fit(X, sample_weight=w), np.ones(40)),
}


@pytest.mark.parametrize("door", DOORS)
def test_dask_collections_are_not_pulled_into_memory(door):
    call, values = DOORS[door]
    lazy = not_in_memory.Array(values)
    with pytest.raises(TypeError, match=r"Dask collection \(dask\.array.*\.compute\(\)"):
        call(lazy)
    assert not lazy.pulled


@pytest.mark.parametrize("door", list(DOORS)[2:7])
def test_queries_of_polars_are_to_be_collected(door):
    call, values = DOORS[door]
    with pytest.raises(TypeError, match=r"LazyFrame.*\.collect\(\)"):
        call(pl.DataFrame(values).lazy())


def test_what_looks_like_dask_and_is_not_is_named():
    for lazy in (not_in_memory.Array(X), not_in_memory.Array(NUMBERS)):
        with pytest.raises(SidelightError, match=r"Rows are a dask\.array of two dimensions or a"):
            as_rows(lazy)
        assert not lazy.pulled


def test_what_has_no_graph_is_in_memory():
    class Plain(not_in_memory.Array):  # as xarray's, which have the protocol but no graph
        def __dask_graph__(self):
            return None

    model = KMeans(2, random_state=0).fit(Plain(X))
    np.testing.assert_array_equal(model.labels_, KMeans(2, random_state=0).fit(X).labels_)
