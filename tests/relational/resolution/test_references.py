"""References from all kinds of tables."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sidelight import Constraints
from sidelight.exceptions import SidelightError
from sidelight.relational import AttributeResolution
from sidelight.relational.resolution._references import has_texts, read_table

NAMES = ["Wei Wang", "W. Wang", None, "Ann Li", "  "]


YEARS = [1999, 2000, 1999, None, 2001]


def test_names_of_columns_and_rows_are_kept() -> None:
    frame = pd.DataFrame({"name": NAMES, "year": YEARS}, index=list("abcde"))
    model = AttributeResolution().fit(frame)
    assert list(model.feature_names_in_) == ["name", "year"]
    assert model.n_features_in_ == 2
    model.fit({"who": NAMES})
    assert list(model.feature_names_in_) == ["who"]
    model.fit(np.ones((3, 2)))
    assert not hasattr(model, "feature_names_in_")
    apart = Constraints(cannot_link=[("a", "b")], ids=list("edcba"))
    labels = AttributeResolution(0.1).fit(frame, constraints=apart).labels_
    assert labels[0] != labels[1]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"a": ["x", "y"], "b": ["x"]}, "same number of rows"),
        ({}, "0 columns"),
        ({"a": []}, "0 sample"),
        ({"a": ["x", "y"], "b": [1.0, np.inf]}, "'b' holds infinity in row 1"),
        ({"a": ["x", "y"], "b": 3}, "'b' holds no values"),
        (pd.DataFrame([["x", "y"]], columns=["a", "a"]), "names a column twice"),
        ([["x", "y"], ["z"]], "same number of values"),
        (["x", "y"], "single column of texts"),
        (np.array(["x", "y"]), "single column of texts"),
        (pd.Series(["x", "y"]), "single column of texts"),
        ("people.csv", "'people.csv', a text; if it names a file, open it"),
    ],
)
def test_bad_tables(table: object, words: str) -> None:
    with pytest.raises((SidelightError, TypeError), match=words):
        AttributeResolution().fit(table)


def test_infinite_numbers_of_an_array_are_located() -> None:
    X = np.ones((5, 2))
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match=r"(?s)infinity.*row 3, column 1"):
        AttributeResolution().fit(X)


# --- what it is made of ---


DATES = [datetime.date(2024, 5, 31), None, datetime.date(1970, 1, 2), None, None]


def tables() -> list[object]:
    columns = {"name": NAMES, "year": YEARS, "born": DATES}
    return [columns, pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)]


@pytest.mark.parametrize("table", tables(), ids=["dict", "pandas", "polars", "arrow"])
def test_all_tables_read_the_same(table: object) -> None:
    assert has_texts(table)
    references = read_table(table)
    assert references.n == 5
    name, year, born = references.columns.values()
    assert (name.kind, year.kind, born.kind) == ("text", "number", "date")
    assert name.values.tolist() == ["Ann Li", "W. Wang", "Wei Wang"]
    assert name.codes.tolist() == [2, 1, -1, 0, -1]  # blank is missing
    np.testing.assert_array_equal(year.numbers(), [1999, 2000, 1999, np.nan, 2001])
    assert born.numbers()[2] == 1.0  # days since 1970
    assert np.isnan(born.numbers()[1])


def test_columns_of_other_types() -> None:
    table = {
        "flag": [True, None, False],
        "words": [["data", "mining"], None, ["graphs"]],
        "category": pd.Series(["a", "b", "a"], dtype="category"),
        "mixed": [1, "x", None],
    }
    columns = read_table(table).columns
    assert columns["flag"].values.tolist() == ["False", "True"]
    assert columns["words"].values.tolist() == ["data mining", "graphs"]
    assert columns["category"].codes.tolist() == [0, 1, 0]
    assert columns["mixed"].values.tolist() == ["1", "x"]


def test_rows_of_words_are_a_table() -> None:
    rows = [["Wei Wang", 1.0], ["Ann Li", 2.0]]
    for given in (rows, np.array(rows, dtype=object), np.array(rows)):
        assert list(read_table(given).columns) == ["x0", "x1"]
    assert not has_texts([[1.0, 2.0]])
    assert not has_texts(np.ones((3, 2), dtype=object))


def test_a_single_line_describes_a_reference() -> None:
    references = read_table({"name": NAMES, "year": YEARS})
    assert references.describe(0) == "name=Wei Wang, year=1999"
    assert references.describe(3) == "name=Ann Li"
