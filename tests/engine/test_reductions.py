"""Minima, maxima and largest rows over blocks are those of the whole table, whatever the blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.remote import remote_map_reduce

from sidelight.engine import Maximum, Minimum, Top, _memory, as_rows, threads


@pytest.fixture(params=[1, 3])
def working(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Blocks of 64 rows, on one thread or on several."""
    monkeypatch.setattr(_memory, "TILE_ROWS", 64)
    monkeypatch.setattr(_memory, "MAX_BLOCK_TILES", 1)
    with threads(request.param):
        yield


def extremes(block: Any, positions: range) -> Any:
    first = block[:, 0]
    return (Minimum(block.min(axis=0)), Maximum(block.max(axis=0)), Top(first, positions, 7), 1), ()


def largest(values: np.ndarray, n: int) -> np.ndarray:
    """Positions of the largest values, by Python's own stable sort."""
    return np.array(sorted(range(len(values)), key=lambda i: -values[i])[:n])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_of_all_blocks(working, dtype):
    X = np.random.default_rng(0).normal(size=(1000, 3)).astype(dtype)
    (low, high, (values, rows), n_blocks), joined = as_rows(X).map_reduce(
        extremes, aligned=(range(1000),)
    )
    assert n_blocks == 16
    assert joined == ()
    np.testing.assert_array_equal(low, X.min(axis=0))
    np.testing.assert_array_equal(high, X.max(axis=0))
    np.testing.assert_array_equal(rows, largest(X[:, 0], 7))
    np.testing.assert_array_equal(values, X[rows, 0])
    assert low.dtype == high.dtype == values.dtype == dtype


def test_ties_go_to_the_earlier_row_across_blocks(working):
    X = np.tile([[2.0], [5.0], [5.0], [1.0]], (80, 1))
    (_, _, (values, rows), _), _ = as_rows(X).map_reduce(extremes, aligned=(range(320),))
    assert values.tolist() == [5.0] * 7
    assert rows.tolist() == [1, 2, 5, 6, 9, 10, 13]


def test_shipped_blocks_give_the_same(working):
    X = np.random.default_rng(1).integers(0, 9, size=(500, 2)).astype(float)
    here = as_rows(X).map_reduce(extremes, aligned=(range(500),))[0]
    there = remote_map_reduce(as_rows(X), extremes, aligned=(range(500),))[0]
    for one, other in zip((*here[:2], *here[2]), (*there[:2], *there[2]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_fewer_rows_than_asked_for(working):
    ((values, rows),), _ = as_rows(np.array([[3.0], [8.0]])).map_reduce(
        lambda block, positions: ((Top(block[:, 0], positions, 5),), ()), aligned=(range(2),)
    )
    assert values.tolist() == [8.0, 3.0]
    assert rows.tolist() == [1, 0]


@given(st.lists(st.lists(st.integers(0, 4), max_size=5), min_size=1, max_size=6), st.integers(1, 6))
def test_joining_is_associative_and_keeps_the_order(pieces, n):
    starts = np.cumsum([0, *map(len, pieces)])
    tops = [
        Top(np.array(piece, dtype=float), np.arange(start, start + len(piece)), n)
        for start, piece in zip(starts, pieces, strict=False)
    ]
    left = tops[0]
    for top in tops[1:]:
        left = left.join(top)
    right = tops[-1]
    for top in tops[-2::-1]:
        right = top.join(right)
    everything = np.array([value for piece in pieces for value in piece], dtype=float)
    np.testing.assert_array_equal(left.result()[1], largest(everything, n))
    np.testing.assert_array_equal(right.result()[1], largest(everything, n))


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=8))
def test_scalars_are_reduced_too(values):
    low, high = Minimum(values[0]), Maximum(values[0])
    for value in values[1:]:
        low, high = low.join(Minimum(value)), high.join(Maximum(value))
    assert low.result() == min(values)
    assert high.result() == max(values)
