"""Rows that come later: the same features, or a clear sentence."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from tests.preparation.tables import mixed_table

from sidelight.exceptions import PreparationWarning, SidelightError
from sidelight.preparation import TablePreparer


def everything(seed: int = 0, n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = mixed_table(seed, n, gaps=0.1)
    words = ["late", "parcel", "torn", "box", "great", "taste", "fine", "cheese", "slow", "quick"]
    return table.assign(
        income=np.exp(rng.normal(8, 1.5, n)),
        joined=pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 2000, n), "D"),
        note=[" ".join(rng.choice(words, 6)) for _ in range(n)],
    )


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 50), data=st.data())
def test_the_same_rows_get_the_same_features(seed: int, data: Any) -> None:
    table = everything(seed)
    preparer = TablePreparer().fit(table)
    X = preparer.transform(table)
    np.testing.assert_array_equal(X, TablePreparer().fit_transform(table))
    rows = data.draw(st.lists(st.integers(0, len(table) - 1), min_size=1, max_size=20))
    columns = data.draw(st.permutations(list(table.columns)))
    np.testing.assert_allclose(preparer.transform(table.iloc[rows][columns]), X[rows], atol=1e-12)


def test_every_form_of_a_table_gives_the_same_features(tmp_path: Path) -> None:
    table = everything(1)
    expected = TablePreparer().fit_transform(table)
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    pq.write_table(arrow, tmp_path / "table.parquet")
    table.to_csv(tmp_path / "table.csv", index=False)
    for other in (arrow, pl.from_arrow(arrow), tmp_path / "table.parquet", tmp_path / "table.csv"):
        np.testing.assert_allclose(TablePreparer().fit_transform(other), expected, atol=1e-9)


def test_kept_by_skops(tmp_path: Path) -> None:
    table = everything(2)
    preparer = TablePreparer(weights={"age": 2.0}, kinds={"country": "category"}).fit(table)
    file = tmp_path / "preparer.skops"
    skops.io.dump(preparer, file)
    untrusted = skops.io.get_untrusted_types(file=file)
    assert all(name.startswith("sidelight.preparation.") for name in untrusted)
    again = skops.io.load(file, trusted=untrusted)
    np.testing.assert_array_equal(again.transform(table), preparer.transform(table))
    assert again.plan_table() == preparer.plan_table()


def test_unseen_categories_are_told_with_the_row() -> None:
    table = mixed_table(0)
    preparer = TablePreparer().fit(table)
    later = table.head(5).copy()
    later.loc[3, "country"] = "Chad"
    later.index = [f"c{i}" for i in range(5)]
    with pytest.warns(PreparationWarning, match=r"'country'.*'Chad'.*row 'c3'.*count as missing"):
        X = preparer.transform(later)
    levels = [name.startswith("country=") for name in preparer.get_feature_names_out()]
    assert not X[3, levels].any()
    assert X[2, levels].sum() == 1.0


def test_unseen_categories_are_like_the_rare_ones_where_these_are_joined() -> None:
    values = ["a"] * 150 + ["b"] * 145 + ["r1", "r2", "r3", "r4", "r5"]
    table = pd.DataFrame({"c": values})
    preparer = TablePreparer().fit(table)
    assert preparer.plan_[0].how == "2 levels, 5 rare ones joined"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X = preparer.transform(pd.DataFrame({"c": ["r1", "zzz", "a"]}))
    np.testing.assert_array_equal(X[0], X[1])
    assert not np.array_equal(X[0], X[2])


def test_new_columns_are_told() -> None:
    table = mixed_table(0)
    preparer = TablePreparer().fit(table)
    with pytest.warns(PreparationWarning, match="not fitted to are not used: 'extra'"):
        X = preparer.transform(table.assign(extra=1.0))
    np.testing.assert_array_equal(X, preparer.transform(table))


def test_missing_columns_are_named() -> None:
    preparer = TablePreparer().fit(mixed_table(0))
    with pytest.raises(SidelightError, match=r"no column 'age', 'grade'.*fitted to"):
        preparer.transform(mixed_table(0).drop(columns=["age", "grade"]))


def test_columns_that_were_set_aside_need_not_come_again() -> None:
    table = mixed_table(0).assign(always=1, code=[f"x{i}" for i in range(60)])
    preparer = TablePreparer().fit(table)
    X = preparer.transform(table.drop(columns=["always", "code"]))
    np.testing.assert_array_equal(X, preparer.transform(table))


def test_changed_types_are_told_with_the_row() -> None:
    table = mixed_table(0)
    preparer = TablePreparer().fit(table)
    words = table.assign(age=["young"] * len(table))
    words.index = [f"c{i}" for i in range(len(table))]
    with pytest.raises(
        SidelightError, match=r"'age' should hold numbers, but holds 'young' in row"
    ):
        preparer.transform(words)
    dated = TablePreparer().fit(everything(0))
    with pytest.raises(SidelightError, match=r"'joined' should hold dates"):
        dated.transform(everything(0).assign(joined="soon"))


def test_numbers_as_text_are_read_as_they_were_at_the_fit() -> None:
    written = [f"{value / 10:.1f}".replace(".", ",") for value in range(11, 71)]
    preparer = TablePreparer().fit(pd.DataFrame({"x": written}))
    plain = TablePreparer().fit(pd.DataFrame({"x": [float(v.replace(",", ".")) for v in written]}))
    rows = pd.DataFrame({"x": ["1,234", "2,500"]})  # alone, these could be thousands
    expected = plain.transform(pd.DataFrame({"x": [1.234, 2.5]}))
    np.testing.assert_allclose(preparer.transform(rows), expected)


def test_gaps_that_come_later_do_not_break() -> None:
    table = mixed_table(0)
    preparer = TablePreparer().fit(table)
    later = table.head(3).copy()
    later.loc[1] = None
    X = preparer.transform(later)
    assert np.isfinite(X).all()
    kept = TablePreparer(missing="keep").fit(table)
    assert np.isnan(kept.transform(later)[1]).all()


def test_gaps_are_filled_and_marked_or_kept() -> None:
    table = mixed_table(5, gaps=0.2)
    filled = TablePreparer()
    X = filled.fit_transform(table)
    assert np.isfinite(X).all()
    names = filled.get_feature_names_out().tolist()
    missing = table["age"].isna().to_numpy()
    np.testing.assert_array_equal(X[:, names.index("age (missing)")] > 0, missing)
    np.testing.assert_allclose(X[missing, names.index("age")], 0.0, atol=1e-12)
    kept = TablePreparer(missing="keep")
    X = kept.fit_transform(table)
    names = kept.get_feature_names_out().tolist()
    np.testing.assert_array_equal(np.isnan(X[:, names.index("age")]), missing)
    countries = [name.startswith("country=") for name in names]
    assert np.isnan(X[table["country"].isna().to_numpy()][:, countries]).all()
    assert "age (missing)" not in names


def test_clones_and_parameters() -> None:
    preparer = TablePreparer(kinds={"a": "log"}, scale="range", drop=["b"])
    assert clone(preparer).get_params() == preparer.get_params()
