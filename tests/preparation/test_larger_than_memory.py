"""Tables in parts: the same preparer as in memory, whatever the cut, and the same features."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.processes import Piece, ProcessEngine
from tests.preparation.tables import TablePart, cut, everything, mixed_table

from sidelight.cluster import KMeans
from sidelight.engine import threads
from sidelight.engine.partitioned._local import LocalEngine
from sidelight.engine.partitioned._rows import PartitionedRows
from sidelight.exceptions import ConstraintWarning, PreparationWarning, SidelightError
from sidelight.preparation import TablePreparer, _reading, prepared_rows
from sidelight.preparation.streams import _features, _forest, _levels, _quantiles
from sidelight.preparation.streams._rows import prepare_part

SCALES = ("standard", "robust", "range", "none")


def facts(preparer: TablePreparer) -> list[dict[str, Any]]:
    """Everything that was fitted, but what scikit-learn keeps of texts."""
    parts = [vars(part).copy() for part in preparer._parts]
    for part in parts:
        part["words"] = getattr(part.pop("vectorizer", None), "vocabulary_", None)
        part["directions"] = getattr(part.pop("directions", None), "components_", 0)
        part["directions"] = np.asarray(part["directions"]).tolist()
    return [{"marks": preparer._shared_marks}, *map(vars, preparer.plan_), *parts]


def outcome(preparer: TablePreparer, X: Any) -> Any:
    """What a fit gives, or the sentence why it gives nothing."""
    try:
        return facts(preparer.fit(X))
    except SidelightError as error:
        return str(error)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 100),
    n=st.integers(2, 300),
    scale=st.sampled_from(SCALES),
    missing=st.sampled_from(["fill", "keep"]),
    data=st.data(),
)
def test_any_cut_gives_the_preparer_of_the_table_in_memory(
    seed: int, n: int, scale: Any, missing: Any, data: Any
) -> None:
    table = everything(seed, n)
    names = data.draw(st.lists(st.sampled_from(table.column_names), min_size=4, unique=True))
    table = table.select(names)
    places = data.draw(st.lists(st.integers(0, n), max_size=5))
    preparer = TablePreparer(scale=scale, missing=missing)
    expected = outcome(preparer, table)
    if isinstance(expected, str):
        assert outcome(preparer, cut(table, places)) == expected
        return
    X = preparer.transform(table)
    assert facts(preparer.fit(cut(table, places))) == expected
    np.testing.assert_array_equal(preparer.transform(cut(table, places)), X)
    np.testing.assert_array_equal(preparer.fit_transform(cut(table, places)), X)


@pytest.mark.parametrize(
    "kinds",
    [
        {"number": "category", "few": "number", "grade": "category", "amount": "text"},
        {"skewed": "log", "amount": "log", "flag": "number", "prose": "category"},
        {"few": "yes-no", "zip": "category", "shop_no": "ordered", "city": "aside"},
        {"rank": "category", "size": ["S", "M", "L"], "day": "date", "written_clock": "time"},
        {"day": "category", "written_day": "date", "each_once": "number", "nearly_numbers": "log"},
    ],
)
def test_what_the_user_says_counts_as_in_memory(kinds: dict[str, Any]) -> None:
    table = everything(3, 120)
    preparer = TablePreparer(kinds=kinds, weights={"far": 2.0, "day": 0.0}, drop=["member"])
    expected = facts(preparer.fit(table))
    assert facts(preparer.fit(cut(table, [0, 31, 32, 90]))) == expected


@pytest.mark.parametrize("scale", SCALES)
def test_many_blocks_and_any_number_of_workers_give_the_same(
    scale: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_forest, "BLOCK_ROWS", 16)
    monkeypatch.setattr(_reading, "SAMPLE", 60)  # some rows show the shape of a distribution
    monkeypatch.setattr(_reading, "MANY_ROWS", 100)  # and whether texts differ
    table = everything(1, 400)
    expected = facts(TablePreparer(scale=scale).fit(table))
    for places in ([], [5, 16, 17, 160, 161, 399], list(range(0, 400, 13))):
        assert facts(TablePreparer(scale=scale).fit(cut(table, places))) == expected


def test_gaps_in_the_same_places_of_other_blocks_are_other_gaps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_forest, "BLOCK_ROWS", 16)
    columns = np.random.default_rng(0).normal(size=(3, 64))
    for column, place in zip(columns, (3, 19, 3), strict=True):
        column[place] = np.nan
    arrays = [pa.array(column, from_pandas=True) for column in columns]
    table = pa.table(dict(zip("abc", arrays, strict=True)))
    preparer = TablePreparer().fit(cut(table, [40]))
    assert [plan.marked_by for plan in preparer.plan_] == ["", "", "a"]


def test_beyond_the_limits_the_cut_still_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in (
        (_forest, "BLOCK_ROWS", 16),
        (_quantiles, "MAX_VALUES", 32),
        (_quantiles, "KEPT", 16),
        (_levels, "MAX_LEVELS", 12),
        (_levels, "HASHES", 8),
        (_features, "TEXT_ROWS", 50),
    ):
        monkeypatch.setattr(module, name, value)
    table = everything(1, 400)
    preparer = TablePreparer(scale="robust")
    expected = facts(preparer.fit(cut(table, [])))
    assert expected != facts(preparer.fit(table))  # the limits are reached
    for places in ([5, 16, 17, 160, 161, 399], list(range(0, 400, 13))):
        assert facts(preparer.fit(cut(table, places))) == expected


def test_partitions_in_other_processes_give_the_same() -> None:
    table = everything(2, 150)
    expected = facts(TablePreparer().fit(table))
    pieces = [Piece(part) for part in cut(table, [0, 40, 41, 110])]
    engine = ProcessEngine(pieces)
    try:
        assert facts(TablePreparer().fit(engine)) == expected
    finally:
        engine.close()


def test_every_form_of_a_table_on_disk(tmp_path: Path) -> None:
    table = everything(4, 90)
    table = table.drop_columns(["rank", "size", "took", "empty", "clock"])
    expected = TablePreparer().fit_transform(table)
    for number, part in enumerate(cut(table, [30, 31])):
        pq.write_table(part.table, tmp_path / f"{number}.parquet")
    files = [str(path) for path in sorted(tmp_path.glob("*.parquet"))]
    frame = pl.scan_parquet(files)
    for X in (tmp_path, str(tmp_path / "*.parquet"), files, frame):
        preparer = TablePreparer().fit(X)
        np.testing.assert_array_equal(preparer.transform(X), expected)
        np.testing.assert_array_equal(prepared_rows(X, preparer).to_memory(), expected)


def test_text_files_are_read_as_in_memory(tmp_path: Path) -> None:
    table = everything(4, 90).select(["number", "grade", "amount", "written_day", "prose"])
    frame = table.to_pandas()
    frame.to_csv(tmp_path / "whole.csv", index=False)
    (tmp_path / "parts").mkdir()
    for number in range(3):
        some = frame.iloc[30 * number : 30 * number + 30]
        some.to_csv(tmp_path / "parts" / f"{number}.csv", index=False)
    expected = TablePreparer().fit_transform(tmp_path / "whole.csv")
    X = TablePreparer().fit_transform(tmp_path / "parts")
    np.testing.assert_allclose(X, expected, atol=1e-12)


def test_a_fit_reads_prepared_rows_block_by_block() -> None:
    table = everything(5, 300)
    preparer = TablePreparer(missing="fill").fit(table)
    X = preparer.transform(table)
    row_bytes = 2 * 8 * X.shape[1]
    parts = cut(table, [100, 130], rows=60)
    rows = prepared_rows(parts, preparer, memory_budget=16 * 20 * row_bytes)
    assert max(stop - start for start, stop in rows.blocks) <= 20
    assert rows.shape == X.shape
    labels = KMeans(3, random_state=0).fit(X).labels_
    for n in (1, 2):
        with threads(n):
            np.testing.assert_array_equal(KMeans(3, random_state=0).fit(rows).labels_, labels)
    some = np.array([299, 3, 131, 3])
    np.testing.assert_array_equal(rows.take(some), X[some])


def test_parts_are_prepared_where_they_are() -> None:
    table = everything(5, 200).append_column("id", pa.array(np.arange(200)[::-1]))
    parts = cut(table, [0, 60, 130])
    preparer = TablePreparer().fit(parts)
    partitions = [prepare_part(part, preparer, id_column="id") for part in parts]
    engine = LocalEngine(cloudpickle.loads(cloudpickle.dumps(partitions)))
    rows = PartitionedRows(engine)
    np.testing.assert_array_equal(rows.to_memory(), preparer.transform(table))
    assert rows.ids is not None
    assert rows.ids.tolist() == list(range(200))[::-1]
    names = preparer.get_feature_names_out()
    assert rows.columns == names.tolist()


def test_columns_of_ids_name_the_rows() -> None:
    table = mixed_table(0)
    table["customer_id"] = [f"c{i}" for i in range(60)]
    parts = cut(pa.Table.from_pandas(table, preserve_index=False), [25])
    preparer = TablePreparer().fit(parts)
    rows = prepared_rows(parts, preparer)
    assert rows.ids is not None
    assert rows.ids.tolist() == table["customer_id"].tolist()
    assert not any("customer_id" in name for name in preparer.get_feature_names_out())
    twice = cut(pa.Table.from_pandas(table.assign(customer_id="c1"), preserve_index=False), [25])
    with pytest.warns(ConstraintWarning, match="'customer_id' of part 0 is called like"):
        assert prepared_rows(twice, preparer).ids is None


def parts_of(**tables: dict[str, Any]) -> list[TablePart]:
    return [TablePart(pa.table(columns), f"{name}.parquet") for name, columns in tables.items()]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["x", "y"], "'a' holds numbers in one.parquet and texts in two.parquet"),
        ([True, False], "'a' holds numbers in one.parquet and true or false in two.parquet"),
        (
            pd.to_datetime(["2020-01-01", "2021-01-01"]),
            "'a' holds numbers in one.parquet and dates in two.parquet",
        ),
    ],
)
def test_a_column_of_two_kinds_is_named_with_both_files(values: Any, message: str) -> None:
    parts = parts_of(one={"a": [1.0, 2.0], "b": [1, 2]}, two={"a": values, "b": [3, 4]})
    with pytest.raises(SidelightError, match=message):
        TablePreparer().fit(parts)
    assert TablePreparer(drop=["a"]).fit(parts).n_features_out_ == 1


@pytest.mark.parametrize("lacking", ["one", "two"])
def test_a_missing_column_is_named_with_both_files(lacking: str) -> None:
    columns = {name: {"a": [1.0, 2.0], "b": [1, 2]} for name in ("one", "two")}
    del columns[lacking]["b"]
    other = "one" if lacking == "two" else "two"
    with pytest.raises(
        SidelightError, match=f"{lacking}.parquet has no column 'b', which {other}.parquet has"
    ):
        TablePreparer().fit(parts_of(**columns))


def test_types_of_one_kind_are_joined() -> None:
    letters = pa.array(["x", "z", "y"]).dictionary_encode()
    parts = parts_of(
        one={"a": [1, 2, 7], "d": pa.array([1, 99, 400], pa.date32()), "c": ["x", "y", "x"]},
        two={"a": [1.5, 2.5, 4.0], "d": pa.nulls(3), "c": letters},
    )
    whole = pa.table(
        {
            "a": [1.0, 2.0, 7.0, 1.5, 2.5, 4.0],
            "d": pa.array([1, 99, 400, None, None, None], pa.date32()),
            "c": ["x", "y", "x", "x", "z", "y"],
        }
    )
    assert facts(TablePreparer().fit(parts)) == facts(TablePreparer().fit(whole))


def test_errors_name_the_file_and_its_row() -> None:
    parts = parts_of(one={"a": [1.0, 2.0, 3.0]}, two={"a": [4.0, np.inf, 5.0]})
    with pytest.raises(SidelightError, match=r"'a'.*infinite number.*row 1 of two\.parquet"):
        TablePreparer().fit(parts)
    texts = parts_of(one={"a": ["1", "2"]}, two={"a": ["n/a", "soon"]})
    with pytest.raises(SidelightError, match=r"'a' should hold numbers.*'soon' in row 1 of two"):
        TablePreparer(kinds={"a": "number"}).fit(texts)
    preparer = TablePreparer().fit(parts_of(one={"a": [1.0, 2.0, 3.0]}, two={"a": [4.0, 5.0]}))
    with pytest.raises(SidelightError, match=r"two\.parquet has no column 'a'.*fitted to"):
        preparer.transform(parts_of(one={"a": [1.0]}, two={"b": [1.0]}))
    with pytest.raises(SidelightError, match=r"'a' should hold numbers.*'x' in row 0 of two"):
        preparer.transform(parts_of(one={"a": [1.0]}, two={"a": ["x"]}))


def test_new_values_are_told_once_with_their_file() -> None:
    preparer = TablePreparer().fit(mixed_table(0))
    later = pa.Table.from_pandas(mixed_table(0, 30).assign(country="Chad"), preserve_index=False)
    rows = prepared_rows([TablePart(later, "later.parquet", rows=30)], preparer)
    with pytest.warns(PreparationWarning, match=r"'Chad', first in row 0 of later\.parquet"):
        rows.map_reduce(lambda block: ((), ()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows.map_reduce(lambda block: ((), ()))


def test_unreadable_values_of_the_fit_are_gaps_in_every_block() -> None:
    table = pa.table({"a": [str(i) for i in range(99)] + ["soon"], "b": [1, 2] * 50})
    preparer = TablePreparer().fit(table)
    X = preparer.transform(table)
    for parts in (cut(table, [98]), cut(table, [99])):
        np.testing.assert_array_equal(preparer.transform(parts), X)


def test_empty_parts_and_tables() -> None:
    table = everything(0, 50)
    assert facts(TablePreparer().fit(cut(table, [0, 0, 20, 20]))) == facts(
        TablePreparer().fit(table)
    )
    with pytest.raises(SidelightError, match="no rows"):
        TablePreparer().fit(cut(table.slice(0, 0), []))
    with pytest.raises(SidelightError, match="One row"):
        TablePreparer().fit(cut(table.slice(0, 1), []))
