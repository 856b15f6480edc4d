"""Concepts of 0/1 tables: all of them, those of a size, those that satisfy what is known."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.cluster.coclustering.tables import (
    TOY,
    as_set,
    by_brute_force,
    d_miner,
    non_trivial,
)
from tests.strategies import BINARY_TABLES

from sidelight import Constraints
from sidelight.cluster import mine_concepts
from sidelight.cluster.coclustering import _mining
from sidelight.constraints import CrossLinks, Ordering
from sidelight.exceptions import SidelightError


def test_random_tables_against_brute_force() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        table = rng.random(rng.integers(1, 10, 2)) < rng.random()
        every = by_brute_force(table)
        assert every == d_miner(table)
        assert as_set(mine_concepts(table, min_rows=0, min_columns=0)) == every
        least = rng.integers(1, 4, 2).tolist()
        found = mine_concepts(table, min_rows=least[0], min_columns=least[1])
        assert as_set(found) == non_trivial(every, *least)


def test_printed_table() -> None:
    printed = {
        ((0, 2), (0, 2, 3)),
        ((0, 2, 3), (2, 3)),
        ((0, 2, 4), (0,)),
        ((1, 4, 5), (1, 4)),
        ((1, 4, 5, 6), (4,)),
        ((4,), (0, 1, 4)),
    }
    assert as_set(mine_concepts(TOY)) == printed
    assert len(mine_concepts(TOY, min_rows=0, min_columns=0)) == 8


def test_many_words_and_either_side_the_longer() -> None:
    rng = np.random.default_rng(1)
    table = rng.random((150, 9)) < 0.3
    wide = as_set(mine_concepts(table.T))
    assert as_set(mine_concepts(table)) == non_trivial(by_brute_force(table))
    assert wide == {(columns, rows) for rows, columns in as_set(mine_concepts(table))}


def test_deep_search_outgrows_its_first_stack() -> None:
    """All but one column each: every proper set of rows is a concept."""
    table = 1 - np.eye(13, dtype=int)
    assert len(mine_concepts(table)) == 2**13 - 2


def test_forms_of_a_table() -> None:
    expected = as_set(mine_concepts(TOY))
    for table in (TOY.tolist(), TOY.astype(bool), sparse.csr_matrix(TOY), pd.DataFrame(TOY)):
        assert as_set(mine_concepts(table)) == expected


def test_matrices_and_sizes_agree_with_the_sets() -> None:
    concepts = mine_concepts(TOY)
    rows, columns = concepts.rows().toarray(), concepts.columns().toarray()
    for place, (members, of_columns) in enumerate(concepts):
        np.testing.assert_array_equal(np.flatnonzero(rows[place]), members)
        np.testing.assert_array_equal(np.flatnonzero(columns[place]), of_columns)
    np.testing.assert_array_equal(concepts.row_sizes, rows.sum(axis=1))
    np.testing.assert_array_equal(concepts.column_sizes, columns.sum(axis=1))


# ------------------------------------------------------------------ what is known


def both_or_neither(members: tuple[int, ...], pair: tuple[int, int]) -> bool:
    return (pair[0] in members) == (pair[1] in members)


def not_both(members: tuple[int, ...], pair: tuple[int, int]) -> bool:
    return not (pair[0] in members and pair[1] in members)


@settings(max_examples=60, deadline=None)
@given(BINARY_TABLES, st.data())
def test_constraints_during_the_search_equal_a_filter_afterwards(table, data) -> None:
    n, d = table.shape
    apart = data.draw(st.lists(st.tuples(st.integers(0, d - 2), st.just(d - 1)), max_size=2))
    apart_rows = data.draw(st.lists(st.tuples(st.integers(0, n - 2), st.just(n - 1)), max_size=2))
    across = data.draw(st.tuples(st.integers(0, n - 1), st.integers(0, d - 1)))
    column_order = Ordering(
        data.draw(st.permutations(range(d))),
        max_gap=data.draw(st.integers(1, 4)),
        min_gap=data.draw(st.integers(0, 1)),
        circular=data.draw(st.booleans()),
    )
    row_order = Ordering(
        data.draw(st.permutations(range(n))), min_gap=data.draw(st.integers(0, 2)), circular=True
    )
    found = mine_concepts(
        table,
        constraints=Constraints(None, apart_rows or None, n_samples=n),
        column_constraints=Constraints(None, apart or None, n_samples=d),
        cross_constraints=CrossLinks(cannot_link=[across]),
        row_order=row_order,
        column_order=column_order,
    )
    assert as_set(found) == {
        (rows, columns)
        for rows, columns in non_trivial(by_brute_force(table))
        if all(not_both(rows, pair) for pair in apart_rows)
        and all(not_both(columns, pair) for pair in apart)
        and not (across[0] in rows and across[1] in columns)
        and row_order.admits(rows)
        and column_order.admits(columns)
    }


@settings(max_examples=60, deadline=None)
@given(BINARY_TABLES, st.data())
def test_must_links_leave_concepts_with_both_or_neither(table, data) -> None:
    n, d = table.shape
    rows = data.draw(st.tuples(st.integers(0, n - 2), st.just(n - 1)))
    columns = data.draw(st.tuples(st.integers(0, d - 2), st.just(d - 1)))
    across = data.draw(st.tuples(st.integers(0, n - 1), st.integers(0, d - 1)))
    found = mine_concepts(
        table,
        constraints=Constraints([rows], n_samples=n),
        column_constraints=Constraints([columns], n_samples=d),
        cross_constraints=CrossLinks(must_link=[across]),
    )
    assert as_set(found) == {
        one
        for one in non_trivial(by_brute_force(table))
        if both_or_neither(one[0], rows)
        and both_or_neither(one[1], columns)
        and (across[0] in one[0]) == (across[1] in one[1])
    }


def test_wide_gaps_keep_everything() -> None:
    everything = as_set(mine_concepts(TOY))
    loose = Ordering(range(7), max_gap=7, min_gap=0)
    assert as_set(mine_concepts(TOY, row_order=loose)) == everything


# ------------------------------------------------------------------ limits


def test_too_many_concepts_are_refused_with_advice() -> None:
    rng = np.random.default_rng(0)
    table = rng.random((60, 40)) < 0.4
    with pytest.raises(SidelightError, match=r"max_concepts=500") as caught:
        mine_concepts(table, max_concepts=500)
    advised = [int(n) for n in re.findall(r"min_(?:rows|columns)=(\d+)", str(caught.value))]
    assert len(advised) == 2
    whole = len(mine_concepts(table))
    assert 0 < len(mine_concepts(table, min_rows=advised[0])) < whole
    assert len(mine_concepts(table, max_concepts=whole)) == whole


def test_other_values_are_located() -> None:
    table = pd.DataFrame(TOY.copy(), index=list("abcdefg"), columns=list("vwxyz"))
    table.loc["c", "x"] = 3
    with pytest.raises(SidelightError, match="Row 'c', column 'x' holds 3"):
        mine_concepts(table)


@pytest.mark.parametrize("name", ["min_rows", "min_columns", "max_concepts"])
def test_bad_sizes(name: str) -> None:
    with pytest.raises(SidelightError, match=f"{name} must be a whole number"):
        mine_concepts(TOY, **{name: -1})


# --- what it is made of ---


# ------------------------------------------------------------------ limits


def test_memory_is_a_limit_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_mining, "MAX_BYTES", 16 * 100)
    table = np.random.default_rng(0).random((60, 40)) < 0.4
    with pytest.raises(SidelightError, match="the 100 that fit into"):
        mine_concepts(table)


def test_ctrl_c_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def interrupted(*args: object) -> tuple[int, int]:
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return one_chunk(*args)

    one_chunk = _mining.mine
    monkeypatch.setattr(_mining, "mine", interrupted)
    monkeypatch.setattr(_mining, "CHUNK", 64)
    with pytest.raises(KeyboardInterrupt):
        mine_concepts(np.random.default_rng(0).random((60, 40)) < 0.4)
    assert len(calls) == 2
