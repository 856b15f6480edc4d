"""Queries, datasets and text: read once, by streams, into a file that goes with the rows."""

from __future__ import annotations

import gc
import pickle
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sidelight.cluster import KMeans
from sidelight.engine import as_rows, open_rows
from sidelight.engine._files import FileRows
from sidelight.exceptions import SidelightError
from sidelight.io.inner import parts_of

X = np.random.default_rng(0).normal(size=(500, 2)) + 6 * (np.arange(500) % 2)[:, None]
TABLE = pa.table({"id": [f"r{i}" for i in range(500)], "a": X[:, 0], "b": X[:, 1]})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    pq.write_table(TABLE, tmp_path / "rows.parquet", row_group_size=60)
    return tmp_path / "rows.parquet"


QUERIES = {
    "polars": lambda path: pl.scan_parquet(path).filter(pl.col("a") > -100),
    "duckdb": lambda path: duckdb.sql(f"SELECT * FROM '{path}' WHERE a > -100"),
    "dataset": lambda path: ds.dataset(path),
    "filtered dataset": lambda path: ds.dataset(path).filter(ds.field("a") > -100),
    "dataset in memory": lambda path: ds.dataset(TABLE),
}


def read_all(source: Any) -> np.ndarray:
    rows: np.ndarray = source.map_reduce(lambda block: ((), (block,)))[1][0]
    return rows


@pytest.mark.parametrize("kind", QUERIES)
def test_a_query_is_its_rows(path: Path, kind: str) -> None:
    query = QUERIES[kind](path)
    rows = as_rows(query)
    assert rows.columns == ["a", "b"]
    np.testing.assert_array_equal(read_all(rows), X)
    np.testing.assert_array_equal(rows.ids, TABLE["id"].to_pylist())
    model = KMeans(2, random_state=0)
    memory = model.fit(X).labels_
    np.testing.assert_array_equal(model.fit_predict(query), memory)
    np.testing.assert_array_equal(model.predict(query), memory)


def files_of(rows: Any) -> list[Path]:
    return [rows._part.path]


@pytest.mark.parametrize("kind", ["polars", "duckdb", "filtered dataset"])
def test_the_file_of_a_query_goes_with_its_rows(path: Path, kind: str) -> None:
    rows = as_rows(QUERIES[kind](path))
    (copy,) = files_of(rows)
    assert copy.exists()
    assert copy != path
    path.unlink()  # the query has run
    np.testing.assert_array_equal(read_all(rows), X)
    missing = rows.with_missing()
    other = pickle.loads(pickle.dumps(rows))
    del rows, other
    gc.collect()
    np.testing.assert_array_equal(read_all(missing), X)
    del missing
    gc.collect()
    assert not copy.parent.exists()


def test_files_of_a_dataset_are_read_where_they_are(path: Path) -> None:
    assert files_of(as_rows(ds.dataset(path))) == [path]


def test_keys_of_folders_are_columns_of_a_dataset(tmp_path: Path) -> None:
    ds.write_dataset(
        TABLE.append_column("year", pa.array([2000 + i % 2 for i in range(500)])),
        tmp_path / "by",
        format="parquet",
        partitioning=ds.partitioning(pa.schema([("year", pa.int32())]), flavor="hive"),
    )
    with pytest.raises(SidelightError, match=r"cut by a key \('year=2000'\).*hive"):
        open_rows(tmp_path / "by")
    rows = open_rows(ds.dataset(tmp_path / "by", partitioning="hive"))
    assert rows.columns == ["a", "b", "year"]
    assert sorted(set(read_all(rows)[:, 2])) == [2000, 2001]
    with pytest.raises(SidelightError, match=r"has folders in it, such as 'by'.*pattern"):
        open_rows(tmp_path)
    assert len(open_rows(tmp_path / "**" / "*.parquet")) == 500


def test_a_query_that_fails_says_so(path: Path) -> None:
    with pytest.raises(SidelightError, match=r"The polars LazyFrame cannot be run: .*nowhere"):
        as_rows(pl.scan_parquet(path).select("nowhere"))
    relation = duckdb.sql("SELECT error('too bad') AS a")
    with pytest.raises(SidelightError, match=r"The DuckDB relation cannot be run: .*too bad"):
        as_rows(relation)


def test_decimals_are_numbers() -> None:
    rows = as_rows(duckdb.sql("SELECT 1.5 AS a, 2 AS b UNION ALL SELECT 2.25, 3"))
    np.testing.assert_array_equal(np.sort(read_all(rows), axis=0), [[1.5, 2], [2.25, 3]])


# --- text -----------------------------------------------------------------------------------------


def text(tmp_path: Path, content: str, name: str = "x.csv", encoding: str = "utf-8") -> Path:
    (tmp_path / name).write_bytes(content.encode(encoding))
    return tmp_path / name


@pytest.mark.parametrize(
    ("content", "name", "encoding"),
    [
        ("id,a,b\nx,1,2.5\ny,3,\n", "x.csv", "utf-8"),
        ("id\ta\tb\nx\t1\t2.5\ny\t3\t\n", "x.tsv", "utf-8"),
        ("id;a;b\nx;1;2,5\ny;3;\n", "x.csv", "utf-8"),
        ("id;a;b;\nx;1;2,5;\ny;3;;\n", "x.csv", "utf-8-sig"),
        ("sep=;\nid;a;b\nx;1;2.5\ny;3;NA\n", "x.csv", "utf-16"),
    ],
)
def test_text_is_read_as_tables_are(tmp_path: Path, content: str, name: str, encoding: str) -> None:
    rows = open_rows(text(tmp_path, content, name, encoding)).with_missing()
    assert rows.columns == ["a", "b"]
    assert rows.ids.tolist() == ["x", "y"]
    np.testing.assert_array_equal(read_all(rows), [[1, 2.5], [3, np.nan]])


def test_what_a_column_of_text_begins_with_holds_to_its_end(tmp_path: Path) -> None:
    lines = "".join(f"{i},{i % 7}\n" for i in range(300_000))
    path = text(tmp_path, f"a,b\n{lines}many,3\n")
    with pytest.raises(SidelightError, match=r"'a' of .*x\.csv begins with other .* than 'many'"):
        open_rows(path)
    rows = open_rows(text(tmp_path, f"a,b\n{lines}0.5,3\n"))  # a fraction is a number
    assert read_all(rows)[-1].tolist() == [0.5, 3]


def test_codes_stay_text_where_types_are_kept(tmp_path: Path) -> None:
    path = text(tmp_path, "zip,n,day\n01067,1,2020-01-02\n80331,2,2021-03-04\n")
    assert open_rows(path).columns == ["zip", "n"]
    (part,) = parts_of(path, keep_types=True)
    assert [str(kind) for kind in part.schema.types] == ["string", "double", "date32[day]"]


def test_streams_of_arrow_are_copied(tmp_path: Path) -> None:
    path = tmp_path / "x.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, TABLE.schema) as writer:
        writer.write_table(TABLE)
    rows = open_rows(path)
    assert isinstance(rows, FileRows)
    np.testing.assert_array_equal(read_all(rows), X)


def test_parts_come_in_batches_of_the_columns_asked_for(path: Path) -> None:
    (part,) = parts_of(path)
    assert part.n_rows == 500
    batches = list(part.batches(["b", "id"], rows=45))
    assert max(batch.num_rows for batch in batches) == 45
    assert pa.Table.from_batches(batches).equals(TABLE.select(["b", "id"]).combine_chunks())
    (second,) = part.batches(["b"], chunks=[1])
    np.testing.assert_array_equal(second.column(0), X[60:120, 1])
