"""What columns are recognized as, and how that is overruled."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sidelight.exceptions import InvalidParameter, SidelightError
from sidelight.preparation import TablePreparer

N = 200
RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=N)


def plan(values: Any, name: str = "column", **options: Any) -> Any:
    table = pd.DataFrame({name: values, "beside": NORMAL[: len(values)]})
    return TablePreparer(**options).fit(table).plan_[0]


def some(*words: str) -> list[str]:
    return np.random.default_rng(1).choice(words, N).tolist()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (NORMAL, "number"),
        (RNG.integers(0, 40, N), "number"),
        ([f"{v:.3f}" for v in NORMAL], "number"),
        ([f"{v:.2f}".replace(".", ",") for v in 100 * NORMAL], "number"),
        ([f"{v:,.0f} €" for v in 1e6 * np.abs(NORMAL)], "number"),
        (RNG.integers(0, 2, N), "yes-no"),
        (RNG.random(N) < 0.5, "yes-no"),
        (some("yes", "no"), "yes-no"),
        (some("Y", "N"), "yes-no"),
        (some("red", "blue"), "category"),
        (some("red", "blue", "green"), "category"),
        (some("low", "medium", "high"), "ordered"),
        (some("18-24", "25-34", "35-64", "65+"), "ordered"),
        (pd.Categorical(some("b", "a", "c"), categories=["c", "a", "b"], ordered=True), "ordered"),
        (pd.Categorical(some("b", "a", "c")), "category"),
        (pd.date_range("2020-01-01", periods=N), "date"),
        ([str(day.date()) for day in pd.date_range("2020-01-01", periods=N)], "date"),
        ([day.strftime("%d.%m.%Y") for day in pd.date_range("2020-01-01", periods=N)], "date"),
        ([f"{h:02d}:{m:02d}" for h in range(24) for m in range(0, 60, 6)][:N], "time"),
        ([f"the {word} dog saw {i} cats" for i, word in enumerate(some("big", "old"))], "text"),
        ([f"C{i:05d}" for i in range(N)], "aside"),
        ([7.0] * N, "aside"),
        (["same"] * N, "aside"),
        ([None] * N, "aside"),
        (np.arange(1, N + 1), "aside"),
        ([None] * (N - 3) + [1.0, 2.0, 3.0], "aside"),
        ([[1, 2]] * N, "aside"),
    ],
)  # fmt: skip
def test_kinds_are_recognized(values: Any, kind: str) -> None:
    values = values[:N] if not isinstance(values, pd.Categorical) else values
    assert plan(values).kind == kind


def test_order_of_levels() -> None:
    assert plan(some("high", "low", "medium")).levels == ("low", "medium", "high")
    assert plan(some("XL", "S", "M")).levels == ("S", "M", "XL")
    categorical = pd.Categorical(some("b", "a", "c"), categories=["c", "a", "b"], ordered=True)
    assert plan(categorical).levels == ("c", "a", "b")
    given = plan(some("x", "y", "z"), kinds={"column": "ordered:z<x<y"})
    assert given.levels == ("z", "x", "y")
    assert plan(some("x", "y", "z"), kinds={"column": ["y", "z", "x"]}).levels == ("y", "z", "x")


def test_skewed_numbers_go_through_a_logarithm_unless_told_otherwise() -> None:
    income = np.exp(RNG.normal(8, 1.5, N))
    assert plan(income).log_scale > 0
    assert plan(-income).log_scale == 0
    assert plan(income, kinds={"column": "number"}).log_scale == 0
    assert plan(np.abs(NORMAL), kinds={"column": "log"}).log_scale > 0
    X = TablePreparer().fit_transform(pd.DataFrame({"income": income}))
    scale = np.quantile(income, 0.25)
    log = np.log1p(income / scale)
    np.testing.assert_allclose(X[:, 0], (log - log.mean()) / log.std())


def test_codes_are_categories_and_ids_are_set_aside_by_their_names() -> None:
    codes = RNG.choice([80331, 10115, 20095], N)
    assert plan(codes).kind == "number"
    assert plan(codes, "zip").kind == "category"
    assert plan(codes, "store_id").kind == "category"
    many = RNG.permutation(10_000)[:N]
    assert plan(many).kind == "number"
    assert plan(many, "customer_id").kind == "aside"
    assert plan(["01067", "80331", "20095"] * 60).kind == "category"


def test_many_codes_are_set_aside_unless_asked_for() -> None:
    codes = RNG.choice(np.arange(10_000, 10_040), N)
    found = plan(codes, "zip")
    assert found.kind == "aside"
    assert "zip=category counts them" in found.how
    assert plan(codes, "zip", kinds={"zip": "category"}).kind == "category"
    assert plan([f"0{code}" for code in codes], "plz").kind == "aside"


def test_a_mark_or_nothing_is_a_category() -> None:
    found = plan(["x", None] * 100)
    assert (found.kind, found.levels, found.n_missing) == ("category", ("x",), 100)


def test_missing_words_are_gaps() -> None:
    assert plan(["?", "NA", "", "red"] * 25 + ["blue"] * 100).n_missing == 75
    assert plan(["?", "n/a", "3", "4"] * 25 + ["5"] * 100).n_missing == 50


def test_none_is_an_answer() -> None:
    found = plan(some("none", "mild", "moderate", "severe"))
    assert (found.kind, found.n_missing) == ("ordered", 0)
    assert found.levels == ("none", "mild", "moderate", "severe")


def test_every_column_is_accounted_for() -> None:
    table = pd.DataFrame({"a": NORMAL, "b": some("x", "y", "z"), "c": [1] * N, "d": [None] * N})
    preparer = TablePreparer(drop=["a"]).fit(table)
    assert [row[0] for row in preparer.plan_table()] == ["b", "a", "c", "d"]
    reasons = {name: (use, how) for name, use, how in preparer.plan_table()}
    assert reasons["a"] == ("set aside", "as asked for")
    assert reasons["c"] == ("set aside", "always the same (1)")
    assert reasons["d"] == ("set aside", "empty")


def test_weight_zero_sets_aside() -> None:
    assert plan(NORMAL, weights={"column": 0}).how == "weight 0"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kinds": {"colum": "number"}}, "no column 'colum'; did you mean 'column'"),
        ({"weights": {"nothing": 2}}, "no column 'nothing'"),
        ({"drop": ["nothing"]}, "no column 'nothing'"),
        ({"kinds": {"column": "colour"}}, "A column is one of number, log, yes-no"),
        (
            {"kinds": {"column": "number"}},
            "'column' should hold numbers, but holds 'green' in row 0",
        ),
        ({"kinds": {"column": "date"}}, "'column' should hold dates, but holds 'green'"),
        ({"kinds": {"column": "yes-no"}}, "has 3 different values .* not two"),
        ({"kinds": {"column": "ordered"}}, "order of the values of column 'column' is not known"),
        ({"kinds": {"column": "ordered:red<blue"}}, "has 'green', which its order"),
        ({"weights": {"column": -1}}, "at least 0, got -1"),
        ({"scale": "huge"}, "scale must be one of standard, robust, range, none"),
        ({"missing": "drop"}, "missing must be 'fill' or 'keep'"),
    ],
)
def test_what_cannot_be_is_said(options: dict[str, Any], words: str) -> None:
    with pytest.raises((SidelightError, InvalidParameter), match=words):
        plan(["green", "red", "blue"] * 60, **options)


def test_infinite_numbers_are_named() -> None:
    table = pd.DataFrame({"x": [1.0, np.inf, 2.0], "y": [1, 2, 4]}, index=["a", "b", "c"])
    with pytest.raises(SidelightError, match="'x' has 1 infinite number, the first in row 'b'"):
        TablePreparer().fit(table)


def test_a_table_of_nothing_to_learn_from() -> None:
    with pytest.raises(SidelightError, match="No column of the table is left"):
        TablePreparer().fit(pd.DataFrame({"a": [1, 1, 1], "b": [None] * 3}))
    with pytest.raises(SidelightError, match="no rows"):
        TablePreparer().fit(pd.DataFrame({"a": []}))
    with pytest.raises(SidelightError, match="Several columns are called 'a'"):
        TablePreparer().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_objects_of_several_types_are_read_as_text() -> None:
    values = [1, "two", 3.0, None, datetime.date(2020, 1, 1)] * 40
    assert plan(values).kind == "category"


def test_levels_of_few_rows_are_not_rare() -> None:
    found = plan(["DE", "FR", "DE", "IT"])
    assert (found.kind, found.levels, found.how) == ("category", ("DE", "FR", "IT"), "3 levels")
    assert plan(["DE", "FR", "IT"]).kind == "category"
    assert plan([f"city {i}" for i in range(11)]).kind == "aside"  # all different
    often = plan(["a"] * 20 + ["b"] * 15 + ["c", "d", "e"])  # where others are common, one row is
    assert (often.levels, often.joined) == (("a", "b"), True)


def test_rare_levels_are_joined_and_most_levels_are_bounded() -> None:
    many = [f"l{i % 80}" for i in range(8000)]
    preparer = TablePreparer().fit(pd.DataFrame({"c": many}))
    assert preparer.plan_[0].how == "30 levels, 50 rare ones joined"
    assert preparer.transform(pd.DataFrame({"c": many})).sum(axis=1) == pytest.approx(1.0)


def test_many_names_are_set_aside_and_many_texts_are_not() -> None:
    n = 30_000
    names = [f"A{i:07d}" for i in range(n)]
    words = np.random.default_rng(0).choice(["late", "box", "fine", "b2b", "slow"], (n, 3))
    texts = [f"{' '.join(row)} {name}" for row, name in zip(words.tolist(), names, strict=True)]
    table = pd.DataFrame({"name": names, "note": texts, "x": np.arange(n) ** 0.5})
    preparer = TablePreparer().fit(table)
    kinds = {one.name: one.kind for one in preparer.plan_}
    assert kinds == {"name": "aside", "note": "text", "x": "number"}
    assert "note: b2b" in preparer.get_feature_names_out()
