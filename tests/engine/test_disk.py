"""Rows on disk: the same rows as in memory, few of them at a time."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sidelight.cluster import KMeans
from sidelight.engine import _memory, as_rows, memory, open_rows, threads
from sidelight.engine._disk import BLOCKS_IN_BUDGET
from sidelight.exceptions import SidelightError


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(1000, 3))


def write_parquet(path, X, row_group_size=137):
    table = pa.table({f"f{j}": X[:, j] for j in range(X.shape[1])})
    pq.write_table(table, path, row_group_size=row_group_size)
    return path


@pytest.fixture(params=["npy", "npy-fortran", "memmap", "parquet"])
def on_disk(request, X, tmp_path):
    """The same rows on disk, in blocks of at most 50 rows."""
    if request.param == "parquet":
        path = write_parquet(tmp_path / "rows.parquet", X)
        return open_rows(path, memory_budget=BLOCKS_IN_BUDGET * 50 * 2 * 24)
    order = np.asfortranarray if request.param == "npy-fortran" else np.ascontiguousarray
    np.save(tmp_path / "rows.npy", order(X))
    budget = BLOCKS_IN_BUDGET * 50 * 24
    if request.param == "memmap":
        return as_rows(np.load(tmp_path / "rows.npy", mmap_mode="r"), memory_budget=budget)
    return open_rows(tmp_path / "rows.npy", memory_budget=budget)


def read_all(source):
    return source.map_reduce(lambda block: ((), (block,)))[1][0]


def test_blocks_are_the_rows(on_disk, X):
    assert on_disk.shape == X.shape
    assert on_disk.dtype == X.dtype
    assert max(stop - start for start, stop in on_disk.blocks) <= 50
    np.testing.assert_array_equal(read_all(on_disk), X)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 5])
def test_threads_do_not_matter(on_disk, X, n_threads):
    with threads(n_threads):
        np.testing.assert_array_equal(read_all(on_disk), X)


def test_take(on_disk, X):
    rows = [999, 0, 500, 500, 136, 137]
    np.testing.assert_array_equal(on_disk.take(rows), X[rows])
    assert on_disk.take([]).shape == (0, 3)
    with pytest.raises(IndexError):
        on_disk.take([1000])


def test_the_fit_is_the_one_in_memory(on_disk, X, monkeypatch):
    start = X[:4]
    disk = KMeans(4, init=start).fit(on_disk)
    memory = KMeans(4, init=start).fit(X)
    np.testing.assert_array_equal(disk.labels_, memory.labels_)
    np.testing.assert_allclose(disk.cluster_centers_, memory.cluster_centers_)
    np.testing.assert_array_equal(disk.predict(on_disk), memory.predict(X))
    np.testing.assert_array_equal(disk.transform(on_disk), disk.transform(X))
    assert disk.score(on_disk) == pytest.approx(memory.score(X))


def test_equal_blocks_give_equal_bits(X, tmp_path, monkeypatch):
    np.save(tmp_path / "rows.npy", X)
    monkeypatch.setattr(_memory, "TILE_ROWS", 50)
    monkeypatch.setattr(_memory, "MAX_BLOCK_TILES", 1)
    disk = open_rows(tmp_path / "rows.npy", memory_budget=BLOCKS_IN_BUDGET * 50 * 24)
    memory = as_rows(X)
    assert disk.blocks == memory.blocks
    one, other = (KMeans(4, random_state=0).fit(rows) for rows in (disk, memory))
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    np.testing.assert_array_equal(one.history_, other.history_)


@pytest.mark.parametrize("kind", ["npy", "memmap", "parquet"])
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_missing_values_are_located(X, tmp_path, kind, bad):
    X[777, 1] = bad
    if kind == "parquet":
        source = open_rows(write_parquet(tmp_path / "x.parquet", X), memory_budget=10_000)
        column = "column 'f1'"
    else:
        np.save(tmp_path / "x.npy", X)
        path = tmp_path / "x.npy"
        source = as_rows(path if kind == "npy" else np.load(path, mmap_mode="r"))
        column = "column 1"
    with pytest.raises(SidelightError, match=f"NaN or infinity in row 777, {column}"):
        KMeans(2, init=X[:2]).fit(source)


def test_null_in_a_whole_number_column(tmp_path):
    table = pa.table({"a": pa.array([1, None, 3]), "b": pa.array([1.0, 2.0, 3.0])})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(SidelightError, match="row 1, column 'a'"):
        read_all(open_rows(tmp_path / "x.parquet"))


def test_parquet_columns(tmp_path):
    table = pa.table(
        {
            "name": ["x", "y"],
            "small": pa.array([1, 2], pa.int8()),
            "single": pa.array([0.5, 1.5], pa.float32()),
            "yes": [True, False],
            "double": [0.25, 0.75],
        }
    )
    path = tmp_path / "x.parquet"
    pq.write_table(table, path)
    every = open_rows(path)
    assert every.n_features == 4
    assert every.dtype == np.float64
    np.testing.assert_array_equal(read_all(every), [[1, 0.5, 1, 0.25], [2, 1.5, 0, 0.75]])
    some = open_rows(path, columns=["single", "small"])
    assert some.dtype == np.float32
    np.testing.assert_array_equal(read_all(some), [[0.5, 1], [1.5, 2]])
    with pytest.raises(SidelightError, match="no column 'color'"):
        open_rows(path, columns=["color"])
    with pytest.raises(SidelightError, match=r"'name'.*not numbers"):
        open_rows(path, columns=["name"])
    pq.write_table(table.select(["name"]), path)
    with pytest.raises(SidelightError, match="no numeric column"):
        open_rows(path)


def test_whole_numbers_in_npy(tmp_path):
    X = np.arange(30).reshape(10, 3)
    np.save(tmp_path / "x.npy", X)
    source = open_rows(tmp_path / "x.npy")
    assert source.dtype == np.float64
    np.testing.assert_array_equal(read_all(source), X)


def test_files_that_cannot_be_rows(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        open_rows(tmp_path / "nowhere.npy")
    (tmp_path / "x.txt").write_text("1 2")
    with pytest.raises(SidelightError, match=r"Parquet.*CSV.*\.npy files, not from \.txt"):
        open_rows(tmp_path / "x.txt")
    (tmp_path / "bad.npy").write_text("not numpy")
    with pytest.raises(SidelightError, match=r"bad\.npy is not a \.npy file"):
        open_rows(tmp_path / "bad.npy")
    (tmp_path / "bad.parquet").write_text("not parquet")
    with pytest.raises(SidelightError, match="is not a Parquet file"):
        open_rows(tmp_path / "bad.parquet")
    np.save(tmp_path / "flat.npy", np.zeros(3))
    with pytest.raises(SidelightError, match="must be a matrix"):
        open_rows(tmp_path / "flat.npy")
    np.save(tmp_path / "words.npy", np.array([["a", "b"]]))
    with pytest.raises(SidelightError, match="not numbers"):
        open_rows(tmp_path / "words.npy")
    np.save(tmp_path / "x.npy", np.zeros((3, 2)))
    with pytest.raises(SidelightError, match="named columns"):
        open_rows(tmp_path / "x.npy", columns=["a"])
    for budget in (0, "0 MB", "much", "-3"):
        with pytest.raises(SidelightError, match="memory_budget"):
            open_rows(tmp_path / "x.npy", memory_budget=budget)
    with pytest.raises(SidelightError, match="as_rows"):
        open_rows(np.zeros((3, 2)))


def test_budgets_are_sizes(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((1000, 10)))
    bytes_ = BLOCKS_IN_BUDGET * 80 * 100
    assert len(open_rows(tmp_path / "x.npy", memory_budget=bytes_).blocks) == 10
    for size in ("128000", "128kB", "0.128 MB", "125 KiB"):
        assert len(open_rows(tmp_path / "x.npy", memory_budget=size).blocks) == 10
        with memory(size):
            assert len(as_rows(tmp_path / "x.npy").blocks) == 10
    with memory("1TB"), memory("128kB"):
        assert len(as_rows(tmp_path / "x.npy", memory_budget="1GB").blocks) == 1
    assert len(as_rows(tmp_path / "x.npy").blocks) == 1


def test_a_row_wider_than_the_budget_is_a_block_of_its_own(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((3, 100)))
    assert len(open_rows(tmp_path / "x.npy", memory_budget=10).blocks) == 3


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_a_fit_stays_within_the_budget(tmp_path, kind):
    n, d, megabyte = 400_000, 32, 2**20  # 49 MB of float32
    X = np.random.default_rng(0).random((n, d), dtype=np.float32)
    start = X[:5].copy()
    if kind == "npy":
        np.save(tmp_path / "x.npy", X)
    else:  # one row group: larger than the budget by far
        write_parquet(tmp_path / "x.parquet", X, row_group_size=n)
    del X
    source = open_rows(tmp_path / f"x.{kind}", memory_budget=8 * megabyte)
    KMeans(5, init=start, max_iter=1).fit(source)  # compile before counting
    tracemalloc.start()
    try:
        KMeans(5, init=start, max_iter=2).fit(source)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    per_row = 3 * 4 * n  # labels now and before, and one comparison
    assert peak < 8 * megabyte + per_row
