"""Information-theoretic co-clustering: the loss falls, and is what the measure says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.cluster.coclustering.tables import blocks
from tests.strategies import COUNT_TABLES

from sidelight.cluster import InformationCoclustering
from sidelight.evaluation import cocluster_information, cocluster_information_loss
from sidelight.exceptions import SidelightError


@settings(max_examples=60, deadline=None)
@given(COUNT_TABLES, st.integers(1, 3), st.integers(1, 3), st.integers(0, 5))
def test_loss_never_rises_and_is_that_of_the_measure(table, k, columns, seed) -> None:
    model = InformationCoclustering(k, n_column_clusters=columns, n_init=1, random_state=seed).fit(
        table
    )
    assert np.all(np.diff(model.history_) <= 1e-12)
    loss = cocluster_information_loss(table, model.labels_, model.column_labels_)
    assert model.objective_ == pytest.approx(loss, abs=1e-9)
    kept = cocluster_information(table, model.labels_, model.column_labels_)
    assert model.total_information_ - model.objective_ == pytest.approx(kept, abs=1e-9)
    empty = table.sum(axis=1) == 0
    np.testing.assert_array_equal(model.labels_ < 0, empty)


def test_blocks_lose_nothing() -> None:
    table, rows, columns = blocks()
    model = InformationCoclustering(3, random_state=0, n_init=20).fit(table)
    np.testing.assert_array_equal(model.labels_, rows)
    np.testing.assert_array_equal(model.column_labels_, columns)
    assert model.objective_ == pytest.approx(0, abs=1e-12)


def test_restarts_come_near_the_smallest_loss() -> None:
    table = np.random.default_rng(0).poisson(2, (5, 4))
    best = min(
        cocluster_information_loss(table, rows, columns)
        for rows in itertools.product(range(2), repeat=5)
        for columns in itertools.product(range(2), repeat=4)
    )
    model = InformationCoclustering(2, random_state=0, n_init=50).fit(table)
    assert best - 1e-12 <= model.objective_ <= 1.1 * best


def test_a_cluster_for_every_row_and_column_loses_nothing() -> None:
    table = np.random.default_rng(1).poisson(2, (4, 4)) + 1
    model = InformationCoclustering(4, random_state=0, n_init=20).fit(table)
    assert model.objective_ == pytest.approx(0, abs=1e-9)


def test_scale_and_sparsity_do_not_matter() -> None:
    table = np.random.default_rng(2).poisson(1, (30, 20)).astype(float)
    plain = InformationCoclustering(3, random_state=0).fit(table)
    for other in (1e-30 * table, sparse.csr_matrix(table), table.astype(np.float32)):
        model = InformationCoclustering(3, random_state=0).fit(other)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        assert model.objective_ == pytest.approx(plain.objective_)
    single = InformationCoclustering(3, random_state=0).fit(table.astype(np.float32))
    assert single.joint_.dtype == np.float32


def test_rows_of_the_fit_are_predicted_where_they_are() -> None:
    table = np.random.default_rng(2).poisson(1, (30, 20)).astype(float)
    model = InformationCoclustering(3, random_state=0, max_iter=500, tol=0).fit(table)
    agree = np.mean(model.predict(table) == model.labels_)
    assert agree == 1
    assert model.predict(np.zeros((1, 20))).tolist() == [-1]


def test_what_is_refused() -> None:
    with pytest.raises(SidelightError, match="Negative values"):
        InformationCoclustering(2).fit([[1.0, -1.0], [0.0, 1.0]])
    with pytest.raises(SidelightError, match="more than the 2 columns"):
        InformationCoclustering(1, n_column_clusters=3).fit(np.ones((4, 2)))
