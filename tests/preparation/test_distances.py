"""What a column counts in a distance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.preparation.tables import mixed_table, partial_distances, squared_distances

from sidelight.preparation import TablePreparer

ORDERS = {"grade": ["low", "medium", "high"]}


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(20, 50))
def test_scaled_by_ranges_the_distances_are_gowers(seed: int, n: int) -> None:
    table = mixed_table(seed, n)
    X = TablePreparer(scale="range").fit_transform(table)
    parts = partial_distances(table, ORDERS)
    expected = sum(part**2 for part in parts.values())
    np.testing.assert_allclose(squared_distances(X), expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_standardized_categories_are_two_apart(seed: int) -> None:
    table = mixed_table(seed)
    X = TablePreparer().fit_transform(table)
    expected = np.zeros((len(table), len(table)))
    for name, part in partial_distances(table, {}).items():
        expected += 2 * part if name in ("member", "country") else 0
    for values in (
        table["age"],
        table["meters"],
        table["grade"].map({"low": 0, "medium": 1, "high": 2}),
    ):
        x = values.to_numpy(float) / values.to_numpy(float).std()
        expected += (x[:, None] - x[None, :]) ** 2
    np.testing.assert_allclose(squared_distances(X), expected, atol=1e-9)


def test_each_kind_counts_at_most_as_a_number_on_average() -> None:
    table = mixed_table(0, 400)
    preparer = TablePreparer()
    X = preparer.fit_transform(table)
    names = preparer.get_feature_names_out()
    for column in table.columns:
        mine = X[:, [name.split("=")[0] == column for name in names]]
        assert squared_distances(mine[:100]).mean() < 2.3


@pytest.mark.parametrize("column", ["age", "country", "member", "grade"])
def test_a_weight_multiplies_the_squared_distance(column: str) -> None:
    table = mixed_table(1)
    plain = squared_distances(TablePreparer().fit_transform(table))
    alone = squared_distances(TablePreparer().fit_transform(table[[column]]))
    heavy = squared_distances(TablePreparer(weights={column: 3.0}).fit_transform(table))
    np.testing.assert_allclose(heavy, plain + 2 * alone, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(factor=st.sampled_from([1e-160, 1e-6, 1e-3, 7.0, 1e5, 1e160]), seed=st.integers(0, 100))
def test_units_of_numbers_do_not_matter(factor: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = mixed_table(seed).assign(income=np.exp(rng.normal(8, 1.5, 60)))
    other = table.assign(meters=table["meters"] * factor, income=table["income"] * factor)
    one, two = TablePreparer(), TablePreparer()
    np.testing.assert_allclose(one.fit_transform(table), two.fit_transform(other), atol=1e-6)
    assert [plan.kind for plan in one.plan_] == [plan.kind for plan in two.plan_]


def test_numbers_far_from_zero_are_scaled_too() -> None:
    noise = np.random.default_rng(0).normal(size=50_000)
    X = TablePreparer().fit_transform(pd.DataFrame({"a": 1e15 + 1000 * noise}))
    assert np.isclose(X.std(), 1.0)
    np.testing.assert_allclose(X[:, 0], (noise - noise.mean()) / noise.std(), atol=1e-3)


def test_outliers_do_not_change_the_robust_scale() -> None:
    table = mixed_table(2)[["age", "country"]]
    wild = table.copy()
    wild.loc[0, "age"] = 1e6
    calm = TablePreparer(scale="robust").fit_transform(table)
    spoiled = TablePreparer(scale="robust").fit_transform(wild)
    assert np.abs(calm[1:] - spoiled[1:]).max() < 0.2
    assert TablePreparer().fit_transform(wild)[1:, 0].std() < 0.01


def test_robust_scale_of_a_column_that_is_mostly_the_same() -> None:
    table = pd.DataFrame({"a": [0.0] * 80 + list(range(1, 21)), "b": np.arange(100.0) ** 2})
    X = TablePreparer(scale="robust", kinds={"a": "number"}).fit_transform(table)
    assert np.isclose(X[:, 0].std(), 1.0)


def test_no_scale_leaves_numbers_alone() -> None:
    table = mixed_table(3)[["age", "meters"]]
    np.testing.assert_array_equal(
        TablePreparer(scale="none").fit_transform(table), table.to_numpy()
    )


def test_a_date_counts_as_one_number_whatever_its_parts() -> None:
    rng = np.random.default_rng(0)
    days = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 3 * 365, 3000), "D")
    hours = days + pd.to_timedelta(rng.integers(0, 86_400, 3000), "s")
    for dates, n_parts in ((days, 3), (hours, 4)):
        X = TablePreparer().fit_transform(pd.DataFrame({"when": dates, "x": rng.normal(size=3000)}))
        assert X.shape[1] == 2 * n_parts
        assert X[:, :-1].var(axis=0).sum() == pytest.approx(1.0, abs=0.02)


def test_the_turn_of_the_year_and_of_the_week_is_near() -> None:
    days = pd.date_range("2019-01-01", "2023-12-31", freq="D")
    preparer = TablePreparer()
    X = preparer.fit_transform(pd.DataFrame({"when": days, "x": np.arange(len(days)) ** 1.5}))
    names = preparer.get_feature_names_out().tolist()
    season = X[:, [names.index(f"when (season, {wave})") for wave in ("sin", "cos")]]
    week = X[:, [names.index(f"when (weekday, {wave})") for wave in ("sin", "cos")]]
    at = {str(day.date()): place for place, day in enumerate(days)}

    def apart(part: np.ndarray, one: str, other: str) -> float:
        return float(np.linalg.norm(part[at[one]] - part[at[other]]))

    assert apart(season, "2020-12-31", "2021-01-01") < 0.03
    assert apart(season, "2020-01-01", "2020-07-01") > 20 * apart(
        season, "2020-12-31", "2021-01-01"
    )
    # 2021-01-03 was a Sunday.
    assert apart(week, "2021-01-03", "2021-01-10") == pytest.approx(0.0, abs=1e-9)
    assert apart(week, "2021-01-03", "2021-01-04") == pytest.approx(
        apart(week, "2021-01-04", "2021-01-05")
    )


def test_texts_without_a_common_word_are_as_far_apart_as_categories() -> None:
    texts = ["late parcel torn box", "great taste fine cheese", "late parcel wet box"] * 8
    texts += ["great smell fine bread"] * 8
    X = TablePreparer(kinds={"note": "text"}).fit_transform(pd.DataFrame({"note": texts}))
    apart = squared_distances(X)
    assert apart[0, 1] == pytest.approx(2.0)
    assert 0 < apart[0, 2] < 2
    assert apart[0, 3] == pytest.approx(0.0, abs=1e-12)
