"""Measures of clusters of rows and columns, by their identities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from tests.strategies import coclustered_tables

from sidelight.constraints import Ordering
from sidelight.evaluation import (
    cocluster_information,
    cocluster_information_loss,
    goodman_kruskal_tau,
    jump_number,
)
from sidelight.exceptions import SidelightError
from sidelight.preparation import discretize

labels = st.lists(st.integers(0, 3), min_size=1, max_size=20)


@given(labels)
def test_jumps_are_holes_of_clusters(label) -> None:
    holes = 0
    for cluster in set(label):
        places = [place for place, own in enumerate(label) if own == cluster]
        holes += sum(after - before > 1 for before, after in itertools.pairwise(places))
    assert jump_number(label) == holes
    assert (holes == 0) == (
        sum(a != b for a, b in itertools.pairwise(label)) + 1 == len(set(label))
    )


@given(labels, st.integers(0, 20))
def test_jumps_in_a_circle_do_not_depend_on_its_beginning(label, shift) -> None:
    order = Ordering(range(len(label)), circular=True)
    assert jump_number(label, order) == jump_number(np.roll(label, shift), order)
    assert jump_number(label, order) <= jump_number(label)


def test_jumps_by_scores_and_with_elements_in_no_cluster() -> None:
    assert jump_number([0, 1, 0, 1], order=[1, 3, 2, 4]) == 0
    assert jump_number([0, -1, 0, 1]) == 1
    assert jump_number([-1, 0, 0, -1]) == 0
    with pytest.raises(SidelightError, match="3 elements"):
        jump_number([0, 1], order=[1, 2, 3])


@given(coclustered_tables())
def test_transposition_and_bounds(case) -> None:
    table, rows, columns = case
    for score in (goodman_kruskal_tau, cocluster_information, cocluster_information_loss):
        value = score(table, rows, columns)
        assert score(table.T, columns, rows) == pytest.approx(value)
        assert score(sparse.csr_matrix(table), rows, columns) == pytest.approx(value)
        assert score(7.5 * table, rows, columns) == pytest.approx(value)
        assert value >= -1e-12
    assert goodman_kruskal_tau(table, rows, columns) <= 1 + 1e-12


@given(coclustered_tables())
def test_coarser_clusters_lose_more(case) -> None:
    table, rows, columns = case
    merged = [min(row, 1) for row in rows]
    fine = cocluster_information_loss(table, rows, columns)
    assert cocluster_information_loss(table, merged, columns) >= fine - 1e-12
    alone = list(range(len(rows))), list(range(len(columns)))
    assert cocluster_information_loss(table, *alone) == pytest.approx(0)
    whole = cocluster_information(table, *alone)
    kept = cocluster_information(table, rows, columns)
    assert fine == pytest.approx(whole - kept)


def test_diagonal_and_independence() -> None:
    assert goodman_kruskal_tau(np.diag([1, 2, 3]), [0, 1, 2], [0, 1, 2]) == pytest.approx(1)
    independent = np.outer([1, 2, 3], [2, 5])
    assert goodman_kruskal_tau(independent, [0, 1, 2], [0, 1]) == pytest.approx(0)
    assert cocluster_information(independent, [0, 1, 2], [0, 1]) == pytest.approx(0)
    assert cocluster_information(np.eye(4), range(4), range(4)) == pytest.approx(2)


def test_elements_in_no_cluster_are_left_out() -> None:
    table = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]])
    assert goodman_kruskal_tau(table, [0, 1, -1], [0, 1, -1]) == pytest.approx(1)
    assert cocluster_information_loss(table, [0, 1, -1], [0, 1, -1]) == pytest.approx(0)


def test_what_is_refused() -> None:
    with pytest.raises(SidelightError, match="one for each"):
        goodman_kruskal_tau(np.eye(3), [0, 1], [0, 1, 2])
    with pytest.raises(SidelightError, match="negative"):
        cocluster_information(-np.eye(2), [0, 1], [0, 1])


@given(hnp.arrays(np.float64, (6, 4), elements=st.floats(0, 9)), st.floats(0.05, 0.95))
def test_two_rules_of_a_share_of_the_maximum(X, share) -> None:
    above, within = (discretize(X, share, rule=rule) for rule in ("above", "within"))
    np.testing.assert_array_equal(above, share * X.max(axis=0) < X)
    np.testing.assert_array_equal(within, (1 - share) * X.max(axis=0) < X)
    assert np.all(above >= within) if share <= 0.5 else np.all(above <= within)
    np.testing.assert_array_equal(discretize(X.T, share, by="rows"), above.T)
