"""Published texts contain the values of their rows, and never mean two things."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.privacy.anonymizer.tables import classes
from tests.strategies import CITIES, mixed_tables

from sidelight.exceptions import SidelightError
from sidelight.privacy import Anonymizer, generalize
from sidelight.privacy.anonymizer._publish import read_dates, read_range, read_set


def test_forms() -> None:
    table = {
        "age": [20, 29, 40, 40, 1, 2],
        "temperature": [-5.5, -2.0, 3.25, 3.25, 0.0, 1.0],
        "born": pd.to_datetime(
            ["2024-02-29", "2024-01-31", "2024-03-01", "2024-03-01", "2020-01-01", "2024-12-31"]
        ),
        "city": ["Rome", "Pisa", "Bari", "Bari", "Bari", None],
        "member": [True, True, True, False, True, True],
    }
    published = generalize(pd.DataFrame(table, index=list("abcdef")), [7, 7, 3, 3, 4, 4])
    assert published.index.tolist() == list("abcdef")
    assert published.loc["a"].tolist() == [
        "20-29",
        "-5.50--2.00",
        "2024-01-31/2024-02-29",
        "{Pisa, Rome}",
        "True",
    ]
    assert published.loc["c"].tolist() == ["40", "3.25", "2024-03-01", "Bari", "*"]
    assert published.loc["f"].tolist()[3] == "{Bari, missing}"


def test_missing_values_are_a_value_of_their_own() -> None:
    X = pd.DataFrame(
        {"age": [20, 21, 22, None, None, None], "word": ["a", "a", "a", None, "", "?"]}
    )
    published = Anonymizer(3, random_state=0).fit(X).published_
    assert published.iloc[0].tolist() == ["20-22", "a"]
    assert published.iloc[5].tolist() == ["missing", "missing"]
    mixed = Anonymizer(6, random_state=0).fit(X)
    assert mixed.published_.iloc[0].tolist() == ["*", "*"]
    assert mixed.objective_ == 1.0


def test_kinds_of_tables() -> None:
    columns = {"age": [20, 21, 60, 61], "city": ["Rome", "Rome", "Bari", "Bari"]}
    wanted = [["20-21", "Rome"]] * 2 + [["60-61", "Bari"]] * 2
    model = Anonymizer(2, random_state=0)
    assert model.fit(pd.DataFrame(columns)).published_.to_numpy().tolist() == wanted
    assert [list(row) for row in model.fit(pl.DataFrame(columns)).published_.rows()] == wanted
    arrow = model.fit(pa.table(columns)).published_
    assert isinstance(arrow, pa.Table)
    assert arrow.to_pandas().to_numpy().tolist() == wanted
    assert model.fit(columns).published_["city"] == ["Rome", "Rome", "Bari", "Bari"]
    objects = pd.DataFrame(columns).to_numpy(object)
    assert model.fit(objects).published_.tolist() == wanted
    assert model.publish() is model.published_


def test_representatives() -> None:
    X = pd.DataFrame({"age": [20, 23, 60, 61], "city": ["Rome", "Pisa", "Bari", "Bari"]})
    model = Anonymizer(2, generalize="representatives", random_state=0).fit(X)
    assert model.published_["age"].tolist() == ["21.5", "21.5", "60.5", "60.5"]
    assert model.published_["city"].tolist() == ["Pisa", "Pisa", "Bari", "Bari"]
    assert model.objective_ > 0
    assert model.column_losses_ == {}  # what they stand for is not published
    assert list(model.loss_) == ["discernibility"]


def test_fewest_rows() -> None:
    X = np.arange(9.0)[:, None]
    for n in (5, 9):
        model = Anonymizer(5, random_state=0).fit(X[:n])
        assert model.cluster_sizes_.tolist() == [n]
    assert Anonymizer(5, random_state=0).fit(np.arange(10.0)[:, None]).cluster_sizes_.tolist() == [
        5,
        5,
    ]


def test_identifiers_are_refused_by_name() -> None:
    X = pd.DataFrame({"age": range(40), "name": [f"person {i}" for i in range(40)]})
    with pytest.raises(SidelightError, match=r"'name' has 40 different texts in 40 rows"):
        Anonymizer(2).fit(X)


def test_infinity_and_lists_are_refused_by_name() -> None:
    with pytest.raises(SidelightError, match="'x' holds infinity in row 1"):
        Anonymizer(1).fit(pd.DataFrame({"x": [1.0, np.inf]}))
    with pytest.raises(SidelightError, match="'x' holds lists"):
        Anonymizer(1).fit(pa.table({"x": [[1], [2]]}))


def test_column_names_with_separators_survive() -> None:
    X = pd.DataFrame({"a, b": [1, 2, 3, 4], "a": [1, 1, 2, 2], 7: [0, 0, 0, 0]})
    X.columns = X.columns.astype(str)
    assert list(Anonymizer(2, random_state=0).fit(X).published_.columns) == ["a, b", "a", "7"]


def test_new_rows_go_to_the_class_that_contains_them() -> None:
    X = pd.DataFrame({"age": [20, 25, 60, 65], "city": ["Rome", "Pisa", "Bari", "Lodi"]})
    model = Anonymizer(2, random_state=0).fit(X)
    new = pd.DataFrame({"age": [22, 64, 99, 30], "city": ["Pisa", "Bari", "Genoa", None]})
    a, b = model.labels_[[0, 2]]
    assert model.predict(new).tolist() == [a, b, b, a]
    with pytest.raises(ValueError, match="city"):
        model.predict(new[["age"]])


# --- what it is made of ---


def assert_contained(X: pd.DataFrame, published: pd.DataFrame) -> None:
    """Every published value leaves the value of its own row open."""
    for name in X:
        for value, text in zip(X[name].tolist(), published[name].tolist(), strict=True):
            if text == "*":
                continue
            if value is None or value != value:
                assert text == "missing" or None in read_set(text)
            elif isinstance(value, pd.Timestamp):
                low, high = read_dates(text)
                assert low <= np.datetime64(value) <= high
            elif isinstance(value, str | bool):
                assert str(value) in read_set(text)
            else:
                low, high = read_range(text)
                kind = X[name].dtype.type if low == high else float
                assert kind(low) <= value <= kind(high)


@settings(max_examples=40, deadline=None)
@given(mixed_tables(), st.integers(1, 6))
def test_ranges_and_sets_contain_the_value_of_the_row(X: pd.DataFrame, k: int) -> None:
    if len(X) >= k:
        assert_contained(X, Anonymizer(k, random_state=0).fit(X).published_)


@settings(deadline=None)
@given(st.floats(-1e307, 1e307), st.floats(0, 1), st.integers(0, 5))
def test_ranges_of_any_numbers_contain_them(number: float, step: float, n: int) -> None:
    numbers = [number, number * (1 + step), number / 3]
    X = pd.DataFrame({"x": numbers + [number] * n})
    assert_contained(X, generalize(X, np.zeros(len(X), int)))


def test_different_sets_are_written_differently() -> None:
    words = [*CITIES, "\\", "\\missing", "a}", "{a", ", ", "b, c", "\\*", "{}"]
    words = sorted({word.strip() for word in words})
    sets = [one for size in (1, 2, 3) for one in combinations([*words, None], size)]
    rows = [(label, word) for label, one in enumerate(sets) for word in one]
    table = pd.DataFrame({"word": [word for _, word in rows]})
    published = generalize(table, [label for label, _ in rows])
    texts = published["word"].groupby([label for label, _ in rows]).first().tolist()
    assert len(set(texts)) == len(sets)
    for one, text in zip(sets, texts, strict=True):
        assert set(read_set(text)) == set(one)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"x": np.ones(50), "y": ["a"] * 50}),
        pd.DataFrame({"x": np.arange(50), "y": [str(i % 25) for i in range(50)]}),
        pd.DataFrame({"x": [0] * 3000 + [1] * 3}),
        pd.DataFrame({"x": np.repeat([0, 1, 2], 3000), "y": ["a"] * 8998 + ["b", "c"]}),
        pd.DataFrame({"x": [-1.7e308, 1.7e308, 0.0, 5e-324, 1.0, -1.0] * 3}),
        pd.DataFrame({"x": [2**63 - 1, 2**63 - 2, -(2**63), 0, 2**53 + 1] * 3}),
        pd.DataFrame({"x": [None] * 20, "y": range(20)}),
    ],
    ids=["equal", "different", "rare", "ties", "extreme", "integers", "empty column"],
)
def test_pathological_tables(X: pd.DataFrame) -> None:
    for k in (3, 7):
        model = Anonymizer(k, random_state=0).fit(X)
        assert np.bincount(classes(model.published_)).min() >= k
        assert 0 <= model.objective_ <= 1
    numbers = X["x"].tolist() if X["x"].notna().all() else []
    for value, text in zip(numbers, model.published_["x"], strict=False):
        low, high = read_range(text)
        assert low <= float(value) <= high
