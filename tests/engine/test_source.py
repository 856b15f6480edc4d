"""Blocks of rows: what map_reduce promises, whatever holds the rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from sidelight.engine import RowSource, _memory, as_rows, threads
from sidelight.engine._memory import memory_blocks
from sidelight.engine._source import equal_blocks
from sidelight.exceptions import SidelightError


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_memory, "TILE_ROWS", 64)
    monkeypatch.setattr(_memory, "MAX_BLOCK_TILES", 1)


def statistics(block, positions):
    """Sums that depend on the order of addition, and something per row."""
    dense = block.toarray() if sparse.issparse(block) else block
    first = dense.sum(axis=0, dtype=np.float32)
    return (first, len(positions)), (np.asarray(positions), dense.max(axis=1))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_map_reduce_adds_totals_and_joins_rows(small_blocks, kind, dtype):
    X = np.random.default_rng(0).normal(size=(1000, 3)).astype(dtype)
    source = as_rows(kind(X))
    assert source.shape == (1000, 3)
    assert source.dtype == dtype
    assert len(source.blocks) == 16
    (total, count), (positions, largest) = source.map_reduce(statistics, aligned=(range(1000),))
    np.testing.assert_allclose(total, X.sum(axis=0), rtol=1e-4)
    assert total.dtype == np.float64  # float totals are added in double precision
    assert count == 1000
    np.testing.assert_array_equal(positions, np.arange(1000))
    np.testing.assert_array_equal(largest, X.max(axis=1))
    assert largest.dtype == dtype


def test_totals_are_added_in_block_order(small_blocks):
    # 1e16 + 1 - 1e16 is 0 or 1, depending on the order.
    X = np.zeros((192, 1))
    X[0], X[64], X[128] = 1e16, 1.0, -1e16
    (total,), _ = as_rows(X).map_reduce(lambda block: ((block.sum(axis=0),), ()))
    assert total[0] == (1e16 + 1.0) - 1e16


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_any_number_of_threads_gives_the_same_bits(small_blocks, kind):
    X = np.random.default_rng(1).normal(size=(5000, 4)).astype(np.float32)
    source = as_rows(kind(X))
    results = []
    for n in (1, 2, 3, 5):
        with threads(n):
            (total, _), (_, largest) = source.map_reduce(statistics, aligned=(range(5000),))
        results.append((total, largest))
    for total, largest in results[1:]:
        np.testing.assert_array_equal(total, results[0][0])
        np.testing.assert_array_equal(largest, results[0][1])


def test_blocks_cover_the_rows_and_do_not_depend_on_threads():
    X = np.zeros((200_001, 5))
    with threads(1):
        one = as_rows(X).blocks
    with threads(7):
        seven = as_rows(X).blocks
    assert one == seven
    assert one[0][0] == 0
    assert one[-1][1] == 200_001
    assert all(a[1] == b[0] for a, b in itertools.pairwise(one))


@pytest.mark.parametrize(
    ("n_rows", "row_bytes", "rows", "n_blocks"),
    [
        (0, 8, 2000, 0),
        (1, 8, 2000, 1),
        (5000, 8, 6000, 1),
        (200_000, 16, 50_000, 4),  # as many as fit would be 4, evenly shared
        (1_000_000, 128, 32_000, 32),
        (20_000, 10**6, 2000, 10),  # a tile of wide rows is a block
    ],
)
def test_block_sizes_in_memory(n_rows, row_bytes, rows, n_blocks):
    blocks = memory_blocks(n_rows, row_bytes)
    assert len(blocks) == n_blocks
    assert blocks == equal_blocks(n_rows, rows)


def test_equal_blocks():
    assert equal_blocks(5, 2) == [(0, 2), (2, 4), (4, 5)]
    assert equal_blocks(0, 2) == []


def test_an_error_in_a_block_comes_out_and_ends_the_rest(small_blocks):
    visited = []

    def fail(block, positions):
        visited.append(positions.start)
        raise SidelightError("block trouble")

    with threads(2), pytest.raises(SidelightError, match="block trouble"):
        as_rows(np.zeros((64 * 1000, 1))).map_reduce(fail, aligned=(range(64_000),))
    assert len(visited) < 100


def test_nothing_is_copied_in_memory():
    X = np.zeros((10, 2))
    _, (pointers,) = as_rows(X).map_reduce(
        lambda block: ((), (np.full(len(block), np.shares_memory(block, X)),))
    )
    assert pointers.all()


def test_take_keeps_the_order_asked_for():
    X = np.arange(20.0).reshape(10, 2)
    np.testing.assert_array_equal(as_rows(X).take([7, 2, 7]), X[[7, 2, 7]])
    taken = as_rows(sparse.csr_matrix(X)).take([7, 2, 7])
    np.testing.assert_array_equal(taken.toarray(), X[[7, 2, 7]])


def test_whole_numbers_become_double_and_a_source_stays_itself():
    assert as_rows(np.ones((3, 2), dtype=np.int64)).dtype == np.float64
    assert as_rows(np.ones((3, 2), dtype=np.int8)).dtype == np.float32
    source = as_rows(np.ones((3, 2)))
    assert as_rows(source) is source
    assert isinstance(source, RowSource)
    assert len(source) == 3
    assert "3 rows, 2 features" in repr(source)


def test_rows_must_be_a_matrix():
    with pytest.raises(SidelightError, match="matrix"):
        as_rows(np.zeros(3))


def test_repeated_entries_of_a_sparse_row_are_one():
    X = sparse.csr_matrix((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])))
    (squares,), _ = as_rows(X).map_reduce(lambda block: ((block.power(2).sum(),), ()))
    assert squares == 3.0**2 + 5.0**2
    assert X.nnz == 3  # the matrix that was given is left alone
