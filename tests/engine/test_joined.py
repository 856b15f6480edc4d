"""Rows of several files: whatever the cut into files, a fit gives what it gives in memory."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight import Constraints
from sidelight.cluster import COPKMeans, KMeans, PCKMeans
from sidelight.engine import as_rows, open_rows, threads
from sidelight.exceptions import ConstraintWarning, SidelightError, UnknownIds
from sidelight.mixture import GaussianMixture

X = np.random.default_rng(0).normal(size=(300, 3)) + 5 * (np.arange(300) % 3)[:, None]
NAMES = ["a", "b", "c"]
SMALL = 16 * 20 * 2 * 24  # blocks of 20 rows


def write(path: Path, rows: np.ndarray, **more: object) -> Path:
    """Write rows in the format of the suffix, with more columns in front."""
    if path.suffix == ".npy":
        np.save(path, rows)
        return path
    table = pa.table({**more, **{name: rows[:, j] for j, name in enumerate(NAMES)}})
    if path.suffix == ".csv":
        pl.from_arrow(table).write_csv(path)  # type: ignore[union-attr]
    elif path.suffix == ".feather":
        feather.write_feather(table, path, chunksize=40)
    else:
        pq.write_table(table, path, row_group_size=40)
    return path


def cut(folder: Path, suffix: str, ends: list[int]) -> Path:
    """Write the rows into files that end at these rows."""
    for number, (start, stop) in enumerate(zip([0, *ends], [*ends, len(X)], strict=True), start=1):
        write(folder / f"part-{number}{suffix}", X[start:stop])
    return folder


def read_all(source: object) -> np.ndarray:
    return source.map_reduce(lambda block: ((), (block,)))[1][0]  # type: ignore[attr-defined]


@settings(max_examples=12, deadline=None)
@given(
    ends=st.lists(st.integers(0, 300), max_size=12).map(sorted),
    suffix=st.sampled_from([".parquet", ".feather", ".csv", ".npy"]),
)
def test_any_cut_into_files_gives_what_memory_gives(
    tmp_path_factory: pytest.TempPathFactory, ends: list[int], suffix: str
) -> None:
    folder = cut(tmp_path_factory.mktemp("rows"), suffix, ends)
    known = Constraints([(0, 3), (1, 4)], [(0, 1)], n_samples=300)
    rows = open_rows(folder, memory_budget=SMALL)
    np.testing.assert_array_equal(read_all(rows), X)
    np.testing.assert_array_equal(rows.largest(), np.abs(X).max(axis=0))
    some = np.random.default_rng(1).integers(0, 300, 40)
    np.testing.assert_array_equal(rows.take(some), X[some])
    for model in (PCKMeans(3, random_state=0), GaussianMixture(3, random_state=0)):
        given = {"constraints": known} if isinstance(model, PCKMeans) else {}
        memory = model.fit(X, **given)
        labels, objective = memory.labels_, memory.objective_
        disk = model.fit(folder, **given)
        np.testing.assert_array_equal(disk.labels_, labels)
        assert disk.objective_ == pytest.approx(objective)
        np.testing.assert_array_equal(disk.predict(folder), labels)


def test_a_pattern_and_a_list_are_the_rows_of_their_files(tmp_path: Path) -> None:
    cut(tmp_path, ".parquet", list(range(25, 300, 25)))  # part-10 comes after part-9
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part-1.parquet.crc").touch()
    (tmp_path / "README.md").touch()
    for rows in (tmp_path, str(tmp_path), f"{tmp_path}/part-*.parquet", f"{tmp_path}/part-[0-9]*"):
        np.testing.assert_array_equal(read_all(as_rows(rows)), X)
    last = [tmp_path / "part-12.parquet", str(tmp_path / "part-1.parquet")]
    np.testing.assert_array_equal(read_all(open_rows(last)), X[[*range(275, 300), *range(25)]])


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_do_not_matter(tmp_path: Path, n_threads: int) -> None:
    rows = open_rows(cut(tmp_path, ".parquet", [0, 100, 110]), memory_budget=SMALL)
    with threads(n_threads):
        np.testing.assert_array_equal(read_all(rows), X)
        np.testing.assert_array_equal(read_all(pickle.loads(pickle.dumps(rows))), X)


def test_taking_a_few_rows_opens_their_files_only(tmp_path: Path) -> None:
    rows = open_rows(cut(tmp_path, ".parquet", [100, 200]), memory_budget=SMALL)
    (tmp_path / "part-2.parquet").write_text("gone")
    np.testing.assert_array_equal(rows.take([250, 3]), X[[250, 3]])
    with pytest.raises(SidelightError, match=r"part-2\.parquet is damaged"):
        rows.take([150])
    with pytest.raises(IndexError, match="rows 0 to 299"):
        rows.take([300])


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".npy", ".csv"])
def test_a_damaged_file_is_named(tmp_path: Path, suffix: str) -> None:
    cut(tmp_path, suffix, [100])
    (tmp_path / f"part-2{suffix}").write_bytes(b"\x00\x01 no table")
    with pytest.raises(SidelightError, match=rf"part-2\{suffix}"):
        open_rows(tmp_path)


def test_files_without_rows_do_not_matter(tmp_path: Path) -> None:
    cut(tmp_path, ".parquet", [100])
    empty = pa.table({"a": pa.array([], pa.string()), "other": pa.array([], pa.null())})
    pq.write_table(empty, tmp_path / "part-0.parquet")
    (tmp_path / "part-3.csv").write_text("a,b,c\n")
    np.testing.assert_array_equal(read_all(open_rows(tmp_path)), X)
    with pytest.raises(SidelightError, match=r"part-0\.parquet and the other files have no rows"):
        open_rows([tmp_path / "part-0.parquet", tmp_path / "part-3.csv"])


Change = Callable[[pd.DataFrame], pd.DataFrame]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.drop(columns="b"), r"1\.parquet has the column 'b', which .*2\.parquet has n"),
        (lambda t: t.assign(d=1.0), r"2\.parquet has the column 'd', which .*1\.parquet has not"),
        (lambda t: t[["a", "c", "b"]], r"different orders \('b' and 'c' at the same place\)"),
        (lambda t: t.assign(b="x"), r"'b' holds numbers in .*1\.parquet and .*string in .*2\.parq"),
    ],
)
def test_files_with_other_columns_are_refused(tmp_path: Path, change: Change, words: str) -> None:
    frame = pd.DataFrame(X, columns=NAMES)
    frame.to_parquet(tmp_path / "1.parquet")
    change(frame).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(SidelightError, match=words):
        open_rows(tmp_path)
    np.testing.assert_array_equal(read_all(open_rows(tmp_path, ["a", "c"]))[300:], X[:, [0, 2]])


def test_single_and_double_precision_are_double(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", X.astype(np.float32))
    assert open_rows(tmp_path).dtype == np.float32
    write(tmp_path / "2.parquet", X)
    np.testing.assert_array_equal(read_all(open_rows(tmp_path)), [*X.astype(np.float32), *X])
    write(tmp_path / "1.npy", X.astype(np.float32))
    arrays = [tmp_path / "1.npy", write(tmp_path / "2.npy", X)]
    np.testing.assert_array_equal(read_all(open_rows(arrays)), [*X.astype(np.float32), *X])
    with pytest.raises(SidelightError, match=r"1\.parquet has names of columns, .*1\.npy has none"):
        open_rows(tmp_path)


def test_bad_values_are_named_by_file_row_and_column(tmp_path: Path) -> None:
    bad = X[200:].copy()
    bad[7, 1] = np.nan
    write(tmp_path / "1.parquet", X[:200])
    write(tmp_path / "2.parquet", bad)
    with pytest.raises(SidelightError, match=r"2\.parquet holds NaN .* in row 7, column 'b'"):
        KMeans(2).fit(tmp_path)
    GaussianMixture(2).fit(tmp_path)  # models missing values
    for number, rows in enumerate((X[:200], bad), start=1):
        names = [f"{number}-{i}" for i in range(len(rows))]
        write(tmp_path / f"{number}.parquet", rows, id=names)
    with pytest.raises(SidelightError, match=r"2\.parquet holds NaN .* in row '2-7', column 'b'"):
        KMeans(2).fit(tmp_path)


# --- ids ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("ids", [np.arange(1000, 1300), np.array([f"r{i}" for i in range(300)])])
def test_ids_of_all_files_name_the_rows(tmp_path: Path, suffix: str, ids: np.ndarray) -> None:
    ids = np.random.default_rng(0).permutation(ids)
    for number in range(3):
        part = slice(100 * number, 100 * number + 100)
        write(tmp_path / f"{number}{suffix}", X[part], customer_id=ids[part])
    rows = open_rows(tmp_path)
    assert rows.columns == NAMES
    np.testing.assert_array_equal(rows.ids, ids)
    known = Constraints([(ids[0], ids[299])], [(ids[1], ids[101])], ids=np.sort(ids))
    model = PCKMeans(3, random_state=0).fit(tmp_path, constraints=known)
    memory = PCKMeans(3, random_state=0).fit(pd.DataFrame(X, index=ids), constraints=known)
    np.testing.assert_array_equal(model.labels_, memory.labels_)
    with pytest.raises(UnknownIds, match="do not agree"):
        PCKMeans(3).fit(tmp_path, constraints=Constraints([("x", "y")], ids=["x", "y"]))
    with pytest.raises(SidelightError, match=r"different indexes.*X\.ids"):
        KMeans(3).fit(tmp_path, sample_weight=pd.Series(np.ones(300), index=np.sort(ids)))


def test_an_id_in_two_files_is_an_error_that_names_both(tmp_path: Path) -> None:
    for number in (1, 2):
        write(tmp_path / f"{number}.parquet", X, key=np.arange(300) + 299 * number)
    for kwargs in ({}, {"id_column": "key"}):
        with pytest.raises(SidelightError, match=r"id 598 occurs in .*1\.parquet and in .*2\.par"):
            open_rows(tmp_path, **kwargs)
    assert open_rows(tmp_path, columns=NAMES).ids is None


def test_an_index_without_a_name_that_counts_anew_in_every_file_is_nothing(tmp_path: Path) -> None:
    for number in (1, 2):
        frame = pd.DataFrame(X, columns=NAMES, index=np.arange(300))
        frame.to_csv(tmp_path / f"{number}.csv")
        frame.index.name = "__null_dask_index__"
        frame.to_parquet(tmp_path / f"{number}.parquet")
    for pattern in ("*.csv", "*.parquet"):
        rows = open_rows(f"{tmp_path}/{pattern}")
        assert rows.columns == NAMES
        assert rows.ids is None


def test_ids_may_be_whole_numbers_in_floats(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", X, order_id=np.arange(300) + 0.0)
    write(tmp_path / "2.parquet", X, order_id=np.arange(300) + 300)
    np.testing.assert_array_equal(open_rows(tmp_path).ids, np.arange(600))


def test_ids_can_be_given(tmp_path: Path) -> None:
    path = write(tmp_path / "x.npy", X)
    ids = np.random.default_rng(0).permutation(300)
    known = Constraints([(ids[0], ids[1])], ids=np.arange(300))
    model = COPKMeans(3, random_state=0).fit(open_rows(path, ids=ids), constraints=known)
    assert model.labels_[0] == model.labels_[1]
    assert COPKMeans(3, random_state=0).fit(path).labels_[0] != model.labels_[1]
    with pytest.raises(SidelightError, match="ids must name 300 rows"):
        open_rows(path, ids=ids[:5])
    with pytest.raises(SidelightError, match="id 1 occurs twice in ids"):
        open_rows(path, ids=np.ones(300, int))
    with pytest.raises(SidelightError, match="not both"):
        open_rows(write(tmp_path / "x.parquet", X), ids=ids, id_column="a")


def test_constraints_by_id_on_rows_without_ids_are_pointed_out(tmp_path: Path) -> None:
    path = write(tmp_path / "x.npy", X)
    known = Constraints([("r0", "r1")], ids=[f"r{i}" for i in range(300)])
    with pytest.warns(ConstraintWarning, match=r"X has none: the ids are taken in the order of"):
        PCKMeans(3, random_state=0).fit(path, constraints=known)
