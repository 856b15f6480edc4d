"""What several columns say, and what gaps in the same rows say, counts once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.preparation.tables import (
    flights,
    mixed_table,
    patients,
    penguins,
    squared_distances,
)

from sidelight.preparation import TablePreparer
from sidelight.preparation._redundant import Aspect, find_likeness


def plans(table, **options):
    preparer = TablePreparer(**options).fit(table)
    return preparer, {plan.name: plan for plan in preparer.plan_}


def weight_of(preparer, table, *names):
    """Total variance of the features of some columns: what they count in a mean distance."""
    X = preparer.transform(table)
    own = [any(f == n or f.startswith((f"{n} ", f"{n}=")) for n in names)
           for f in preparer.get_feature_names_out()]  # fmt: skip
    return X[:, own].var(axis=0).sum()


def test_the_hour_of_a_departure_counts_once():
    table = flights()
    preparer, found = plans(table)
    hours = [found["hour"].weight, found["sched_dep_time"].weight]
    assert hours == pytest.approx([3 / 7, 3 / 7])  # and a seventh in the timestamp
    assert "says the same as sched_dep_time and time_hour (hour)" in found["hour"].how
    assert "its hour says the same as sched_dep_time and hour" in found["time_hour"].how
    total = weight_of(preparer, table, "hour", "sched_dep_time", "month", "time_hour")
    assert total == pytest.approx(1.0 + 1.0 + 1 / 3, rel=0.05)  # an hour, a date, a weekday
    assert "nearly as sched_dep_time" in found["dep_time"].how  # and is not the same
    assert found["dep_time"].weight == 1.0
    assert "day of the month" in found["day"].how
    assert found["year"].how == "always the same (2013)"


def test_flight_numbers_are_no_quantity():
    _, found = plans(flights())
    assert found["flight"].kind == "aside"
    assert "different codes, by its name; flight=category counts them" in found["flight"].how
    assert found["tailnum"].kind == "aside"
    table = pd.DataFrame(
        {"flights": np.random.default_rng(0).normal(size=50), "minimum": range(50)}
    )
    _, found = plans(table.assign(minimum=table["minimum"] ** 1.5))
    assert {plan.kind for plan in found.values()} == {"number"}


def test_units_and_codes_of_a_thing_count_once():
    rng = np.random.default_rng(0)
    kilos = rng.normal(70, 10, 300)
    country = rng.integers(0, 4, 300)
    table = pd.DataFrame(
        {
            "kg": kilos.round(1),
            "lb": (kilos.round(1) / 0.4536).round(),
            "land": np.array(["DE", "FR", "IT", "ES"])[country],
            "country": np.array(["Germany", "France", "Italy", "Spain"])[country],
            "height": rng.normal(170, 10, 300),
        }
    )
    once = table[["kg", "land", "height"]]
    X = TablePreparer().fit_transform(table)
    expected = squared_distances(TablePreparer().fit_transform(once))
    np.testing.assert_allclose(squared_distances(X), expected, atol=0.4)
    _, found = plans(table)
    assert [found[name].weight for name in table] == pytest.approx([0.5, 0.5, 0.5, 0.5, 1.0])


def test_weights_of_the_user_stay():
    table = flights()
    _, found = plans(table, weights={"hour": 1.0})
    assert found["hour"].weight == 1.0
    assert found["sched_dep_time"].weight == pytest.approx(3 / 4)  # with that of the timestamp


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_columns_that_have_nothing_to_do_with_each_other_count_each(seed):
    preparer, found = plans(mixed_table(seed, 40, gaps=0.2))
    assert all(plan.weight == 1.0 for plan in found.values() if plan.used)
    assert not any("same" in plan.how for plan in found.values())
    assert sum("(missing)" in name for name in preparer.get_feature_names_out()) == 5


def test_a_single_row_that_differs_is_no_likeness():
    rng = np.random.default_rng(1)
    one = np.zeros(60)
    one[7] = 1.0
    table = pd.DataFrame({"a": one, "b": 3 * one, "x": rng.normal(size=60)})
    _, found = plans(table)
    assert all(plan.weight == 1.0 for plan in found.values())


def test_gaps_in_the_same_rows_are_marked_once():
    table = patients(panels=5, tests=9)
    preparer, found = plans(table)
    names = preparer.get_feature_names_out().tolist()
    assert len(names) == 47 + 5
    marks = [name for name in names if name.endswith("(missing)")]
    assert marks == [f"panel {panel} test 0 (missing)" for panel in range(5)]
    assert found["panel 1 test 4"].marked_by == "panel 1 test 0"
    X = preparer.transform(table)
    taken = table["panel 1 test 0"].notna()
    np.testing.assert_array_equal(X[:, names.index(marks[1])] == 0.0, taken)
    # In new rows with some of the gaps the mark is their share.
    one = table[taken].head(1).copy()
    one["panel 1 test 3"] = np.nan
    assert preparer.transform(one)[0, names.index(marks[1])] == pytest.approx(1 / 9)


def test_gaps_of_a_category_in_the_same_rows_are_the_mark():
    table = penguins()
    table.loc[[3, 271], "island"] = None
    preparer, found = plans(table)
    assert [n for n in preparer.get_feature_names_out() if "(missing)" in n] == [
        "island (missing)",
        "sex (missing)",
    ]
    assert found["body_mass_g"].marked_by == "island"
    again = TablePreparer().fit_transform(table)
    np.testing.assert_array_equal(again, preparer.transform(table))


def test_arrays_are_features_that_their_owner_made():
    x = np.random.default_rng(2).normal(size=(50, 1))
    X = TablePreparer().fit_transform(np.hstack([x, 2 * x]))
    np.testing.assert_allclose(X.var(axis=0), 1.0)


@pytest.mark.parametrize(
    ("dates", "parts"),
    [
        (pd.to_datetime([f"{year}-01-01" for year in range(1990, 2020)] * 4), "trend"),
        (pd.to_datetime([f"{year}-12-31" for year in range(1990, 2020)] * 4), "trend"),
        (pd.date_range("2010-01-01", periods=120, freq="MS"), "trend, season"),
        (pd.date_range("2010-01-31", periods=120, freq="ME"), "trend, season"),
        (pd.date_range("2010-01-03", periods=120, freq="W"), "trend, season"),
        (pd.date_range("2010-01-03", periods=800, freq="D"), "trend, season, weekday"),
        (pd.date_range("2010-01-03 12:00", periods=120, freq="D"), "trend, weekday"),
        (pd.date_range("2010-01-03", periods=240, freq="7h"), "trend, weekday, hour"),
    ],
)
def test_dates_show_the_cycles_that_they_are_fine_enough_for(dates, parts):
    table = pd.DataFrame({"since": dates, "x": np.arange(len(dates)) % 7 * 1.5})
    _, found = plans(table)
    assert found["since"].how.split(": ", 1)[1].split(";")[0] == parts


@pytest.mark.parametrize(
    ("counts", "kind", "how"),
    [
        ({"US": 990}, "category", "1 level, 10 rare ones joined"),
        ({"US": 950, "CA": 3}, "category", "1 level, 48 rare ones joined"),
        ({"US": 994}, "aside", "nearly always US (994 of 1,000 rows)"),
        ({}, "aside", "all different (1,000 of 1,000)"),
        ({f"s{k}": 8 for k in range(100)}, "aside", "300 different values, none of them in 1%"),
    ],
)
def test_what_is_said_of_frequent_levels_can_be_counted(counts, kind, how):
    values = [level for level, n in counts.items() for _ in range(n)]
    values += [f"rare{k}" for k in range(1000 - len(values))]
    table = pd.DataFrame({"c": values, "x": np.random.default_rng(0).normal(size=1000)})
    _, found = plans(table)
    assert found["c"].kind == kind
    assert found["c"].how.startswith(how)


# --- by private names -------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**20), n=st.integers(20, 60))
def test_the_same_order_is_that_of_all_pairs_of_rows(seed, n):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n).round(1)
    values = [x, np.exp(x), -np.floor(3 * x), x + 0.2 * rng.normal(size=n), rng.normal(size=n)]
    values = [np.where(rng.random(n) < 0.1, np.nan, v) for v in values]
    aspects = [Aspect(f"c{place}", "", v, 1.0) for place, v in enumerate(values)]
    for place, found in enumerate(find_likeness(aspects)):
        same = {one.column for one in found.same}
        for other, v in enumerate(values):
            if other == place:
                continue
            known = ~np.isnan(values[place]) & ~np.isnan(v)
            first, second = values[place][known], v[known]
            ranks = [pd.Series(one).rank().to_numpy() for one in (first, second)]
            r = np.corrcoef(*ranks)[0, 1]
            signs = np.sign(first[:, None] - first) * np.sign(second[:, None] - second)
            if known.sum() >= 20 and abs(abs(r) - 0.95) > 0.02:
                alike = abs(r) >= 0.95 and (signs * np.sign(r)).min() >= 0
                assert (f"c{other}" in same) == alike
        assert found.share == pytest.approx(1 / (1 + len(same)))
