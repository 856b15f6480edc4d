"""The long format in memory and on disk."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import constraints_to_write

from sidelight import Constraints
from sidelight.constraints.exchange import _files
from sidelight.exceptions import (
    ConstraintFileError,
    InconsistentConstraints,
    SidelightError,
    UnknownIds,
)

ENDINGS = ("csv", "csv.gz", "json", "parquet")


@settings(max_examples=150)
@given(constraints_to_write(), st.sampled_from(ENDINGS))
def test_reading_gives_back_what_was_written(known, ending):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"known.{ending}"
        known.write(path)
        assert Constraints.read(path, ids=known.ids, n_samples=known.n_samples) == known
        assert [p.name for p in Path(folder).iterdir()] == [path.name]


@pytest.mark.parametrize("odd", ["\r", "\n", "a\r\nb", '"', ",", " x", "\u2028"])
def test_odd_characters_in_ids_survive_a_file(odd, tmp_path):
    known = Constraints(cannot_link=[("0", odd)], ids=["0", odd])
    for ending in ENDINGS:
        path = tmp_path / f"known.{ending}"
        known.write(path)
        assert Constraints.read(path, ids=known.ids) == known


@given(constraints_to_write())
def test_tables_in_memory_give_back_what_they_were_made_from(known):
    table = known.to_table()
    rows = {"ids": known.ids, "n_samples": known.n_samples}
    assert Constraints.from_table(table, **rows) == known
    assert Constraints.from_table(table.to_pandas(), **rows) == known
    assert Constraints.from_table(pl.from_arrow(table), **rows) == known
    assert Constraints.from_table(table.to_pydict(), **rows) == known


def test_the_csv_file_is_what_the_manual_says(tmp_path):
    known = Constraints(
        [("ann", "bob")],
        [("bob", "cid")],
        ids=["ann", "bob", "cid"],
        cannot_link_weight=[0.5],
        labels=["cat", "", ""],
        groups=[-1, 7, 7],
    )
    known.write(tmp_path / "known.csv")
    assert (tmp_path / "known.csv").read_text() == (
        "i,j,kind,weight\n"
        "ann,bob,must-link,1\n"
        "bob,cid,cannot-link,0.5\n"
        "ann,cat,label,\n"
        "bob,7,group,\n"
        "cid,7,group,\n"
    )
    known.write(tmp_path / "known.json")
    entries = json.loads((tmp_path / "known.json").read_text())
    assert entries[1] == {"i": "bob", "j": "cid", "kind": "cannot-link", "weight": 0.5}
    assert entries[2] == {"i": "ann", "j": "cat", "kind": "label"}
    known.write(tmp_path / "known.csv.gz")
    unpacked = gzip.decompress((tmp_path / "known.csv.gz").read_bytes())
    assert unpacked == (tmp_path / "known.csv").read_bytes()


@pytest.mark.parametrize(
    ("must", "cannot"),
    [
        ("must-link", "cannot-link"),
        ("must_link", "Cannot_Link"),
        ("ML", "CL"),
        ("same", " different "),
        (1, -1),
        (1.0, -1.0),
        ("+1", "-1"),
    ],
)
def test_kinds_have_many_names(must, cannot):
    table = {"i": [0, 1], "j": [1, 2], "kind": [must, cannot]}
    assert Constraints.from_table(table, n_samples=3) == Constraints(
        [(0, 1)], [(1, 2)], n_samples=3
    )


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_of_many_makers(make):
    table = make({"i": ["a", "b"], "j": ["b", "c"], "kind": ["ML", "CL"], "weight": [2.0, None]})
    known = Constraints.from_table(table, ids="abc")
    assert known == Constraints([("a", "b")], [("b", "c")], ids="abc", must_link_weight=[2.0])


def test_ids_are_matched_by_what_they_look_like_in_a_file():
    table = {"i": ["10", "20"], "j": [" 20", "30 "], "kind": ["ML", "CL"]}
    numbers = {"i": [10, 20], "j": [20.0, 30.0], "kind": ["ML", "CL"]}
    for given_table in (table, numbers):
        for ids in ([10, 20, 30], ["10", "20", "30"]):
            known = Constraints.from_table(given_table, ids=ids)
            assert known.must_link.tolist() == [[0, 1]]
            assert known.cannot_link.tolist() == [[1, 2]]


def test_merged_pairs_and_ignored_columns_are_noted():
    table = {"i": [0, 1], "j": [1, 0], "kind": ["ML", "ML"], "who": ["me", "you"]}
    assert Constraints.from_table(table, n_samples=2).notes == (
        "The column 'who' was ignored.",
        "1 repeated must-link was merged (largest weight kept).",
    )


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("i,j,kind\na,b,ML\n\nb,c,foo\n", 4, "the kind 'foo' is not known"),
        ('i,j,kind\n"a","b",ML\n"two\nlines",c,foo\n', 3, "the kind 'foo' is not known"),
        ("i,j,kind\na,b,\n", 2, "the kind '' is not known"),
        ("i,j,kind\na,b,ML\na,b\n", 3, "2 fields where the header has 3"),
        ("i,j,kind,weight\na,b,ML,1\na,c,CL,much\n", 3, "the weight 'much' is not a number"),
        ("i,j,kind,weight\na,b,ML,0\n", 2, "the weight 0 is not a positive finite number"),
        ("i,j,kind,weight\na,b,ML,inf\n", 2, "the weight inf is not a positive finite number"),
        ("i,j,kind,weight\na,x,label,2\n", 2, "labels and groups have no weight"),
        ("i,j,kind\na,x,label\nb,y,label\na,y,label\n", 2, "'a' has the label 'x' here and 'y'"),
        ("i,j,kind\na,,group\n", 2, "the group of this row is missing"),
        ('i,j,kind\na,"b,ML\n', 2, "a quotation mark is not closed"),
        ("i,j\na,b\n", None, "kind missing among 'i', 'j'"),
        ("i;j;kind\na;b;ML\nq;b;foo\n", 3, "the kind 'foo' is not known"),
        ("i:j:kind\na:b:ML\n", None, "missing among 'i:j:kind'"),
    ],
)
def test_malformed_csv_names_file_line_and_trouble(tmp_path, text, line, message):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    with pytest.raises(ConstraintFileError) as caught:
        Constraints.read(path, ids="abc")
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert caught.value.line == line
    assert caught.value.path == path
    if line is not None:
        assert f"line {line}" in str(caught.value)


def test_unknown_ids_in_a_file_are_named_with_their_line(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("i,j,kind\na,b,ML\na,zoe,CL\n")
    with pytest.raises(UnknownIds, match="line 3: the id 'zoe' does not occur") as caught:
        Constraints.read(path, ids="abc")
    assert caught.value.ids == ("zoe",)
    path.write_text("i,j,kind\n0,1,ML\n0,x,CL\n")
    with pytest.raises(UnknownIds, match="line 3: the id 'x' is not a position from 0 to 2"):
        Constraints.read(path, n_samples=3)
    path.write_text("i,j,kind\n0,3,ML\n")
    with pytest.raises(UnknownIds, match="line 2: the id '3' is not a position"):
        Constraints.read(path, n_samples=3)
    path.write_text("i,j,kind\nx,1,ML\n")  # not a number is not the id -1
    with pytest.raises(UnknownIds, match="'x'"):
        Constraints.read(path, ids=[-1, 1, 0])


def test_a_self_contradiction_in_a_file_names_the_file(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("i,j,kind\na,a,CL\n")
    with pytest.raises(InconsistentConstraints, match=r"pairs\.csv: cannot-link 'a' - 'a'"):
        Constraints.read(path, ids="abc")


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ('[{"i": 0, "j": 1, "kind": "ML"},\n{"i": 0 "j": 1}]', 2, "this is not JSON"),
        ('{"i": 0}', None, "a list of objects"),
        ('[{"i": 0, "j": 1, "kind": "ML"}, {"i": 0, "j": 1}]', None, "entry 2: this is not an"),
        ('[{"i": 0, "j": 1, "kind": "no"}]', None, "entry 1: the kind 'no' is not known"),
    ],
)
def test_malformed_json_is_explained(tmp_path, content, line, message):
    path = tmp_path / "pairs.json"
    path.write_text(content)
    with pytest.raises(ConstraintFileError, match=message) as caught:
        Constraints.read(path, n_samples=3)
    assert caught.value.line == line


def test_malformed_parquet_is_explained(tmp_path):
    path = tmp_path / "pairs.parquet"
    path.write_text("not at all")
    with pytest.raises(ConstraintFileError, match="not a Parquet file"):
        Constraints.read(path, n_samples=3)
    pq.write_table(pa.table({"i": [0, 1], "j": [1, 9], "kind": ["ML", "CL"]}), path)
    with pytest.raises(UnknownIds, match="row 1: the id 9 is not a position"):
        Constraints.read(path, n_samples=3)


def test_files_that_cannot_be_read_at_all(tmp_path):
    with pytest.raises(ConstraintFileError, match="There is no file"):
        Constraints.read(tmp_path / "none.csv", n_samples=2)
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ConstraintFileError, match="empty"):
        Constraints.read(tmp_path / "empty.csv", n_samples=2)
    with pytest.raises(ConstraintFileError, match=r"\.csv, \.csv\.gz, \.tsv, \.json or \.parquet"):
        Constraints.read(tmp_path / "pairs.txt", n_samples=2)
    (tmp_path / "bytes.csv").write_bytes(b"i,j,kind\na\0,b,ML\n")
    with pytest.raises(ConstraintFileError, match="not text"):
        Constraints.read(tmp_path / "bytes.csv", n_samples=2)
    (tmp_path / "mixed.csv").write_bytes("i,j,kind\näöü,é,ML\n".encode() + b"\xe4,b,ML\n")
    with pytest.raises(ConstraintFileError, match=r"Line 3 of .* is not UTF-8"):
        Constraints.read(tmp_path / "mixed.csv", n_samples=2)
    (tmp_path / "half.csv.gz").write_bytes(gzip.compress(b"i,j,kind\n" * 100)[:30])
    with pytest.raises(ConstraintFileError, match="gzip"):
        Constraints.read(tmp_path / "half.csv.gz", n_samples=2)


def test_a_table_must_be_one():
    with pytest.raises(SidelightError, match="not int"):
        Constraints.from_table(3, n_samples=2)
    with pytest.raises(SidelightError, match="different lengths"):
        Constraints.from_table({"i": [0], "j": [1, 2], "kind": ["ML"]}, n_samples=3)
    with pytest.raises(SidelightError, match="Row 0 of the table: the kind 'no'"):
        Constraints.from_table({"i": [0], "j": [1], "kind": ["no"]}, n_samples=2)
    with pytest.raises(SidelightError, match="pass n_samples="):
        Constraints.from_table({"i": [0], "j": [1], "kind": ["ML"]})


def test_ids_that_look_alike_are_not_written(tmp_path):
    known = Constraints([(1, "1")], ids=[1, "1", ("a",)])
    with pytest.raises(SidelightError, match="look the same"):
        known.write(tmp_path / "known.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch, error):
    path = tmp_path / "known.csv"
    known = Constraints([(0, 1)], n_samples=2)
    known.write(path)
    before = path.read_bytes()

    def fail(known, temporary, **_):
        temporary.write_text("half")
        raise error

    monkeypatch.setattr(_files, "_write_csv", fail)
    with pytest.raises(type(error)):
        known.write(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_many_pairs_are_read_back_quickly(tmp_path):
    rng = np.random.default_rng(0)
    known = Constraints(rng.integers(10**6, size=(20_000, 2)), n_samples=10**6)
    known.write(tmp_path / "known.csv")
    assert Constraints.read(tmp_path / "known.csv", n_samples=10**6) == known
