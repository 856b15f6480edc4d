"""Mixed tables: groups are planted as told, kinds are those of the values, files hold them all."""

from __future__ import annotations

import csv
from datetime import date, datetime
from pathlib import Path

import numpy as np
import pytest
from experiments.recipes._planted_columns import RECIPES
from experiments.recipes.planted_tables import PlantedTable, make_mixed_table
from scipy.stats import chi2_contingency, f_oneway

from sidelight.exceptions import SidelightError

KINDS = {"number", "yes-no", "category", "ordered", "date", "time", "text", "constant"}


@pytest.fixture(scope="module", params=sorted(RECIPES))
def table(request: pytest.FixtureRequest) -> PlantedTable:
    return make_mixed_table(request.param, 1200, random_state=0)


def test_sizes_and_kinds(table: PlantedTable) -> None:
    assert {len(values) for values in table.columns.values()} == {table.n_samples} == {1200}
    assert set(np.unique(table.target)) == set(range(len(table.target_names)))
    assert list(table.kinds) == list(table.columns)
    assert set(table.kinds.values()) <= KINDS
    assert len(set(table.ids)) == 1200
    for name, kind in table.kinds.items():
        present = [value for value in table.columns[name] if value is not None]
        types = {type(value) for value in present}
        different = len(set(present))
        if kind == "number":
            assert types <= {int, float}
            assert not any(value != value for value in present)
        elif kind == "date":
            assert types <= {date, datetime}
        else:
            assert types == {str}
            assert "" not in present
        if kind == "yes-no":
            assert different == 2
        if kind == "constant":
            assert different == 1
        if kind == "ordered":
            assert set(present) == set(table.levels[name])


def test_groups_have_their_shares(table: PlantedTable) -> None:
    (recipe,) = (one for one in RECIPES.values() if one.groups == table.target_names)
    np.testing.assert_allclose(np.bincount(table.target) / 1200, recipe.shares, atol=1 / 1200)


def p_value(table: PlantedTable, name: str, split: np.ndarray) -> float:
    """Chance of a column that says as much about a split, if it said nothing."""
    present = np.array([value is not None for value in table.columns[name]])
    values = [value for value in table.columns[name] if value is not None]
    groups = split[present]
    if table.kinds[name] == "number":
        ranks = np.argsort(np.argsort(values))
        return float(f_oneway(*(ranks[groups == one] for one in np.unique(groups))).pvalue)
    _, codes = np.unique(values, return_inverse=True)
    counts = np.zeros((len(np.unique(groups)), codes.max() + 1))
    np.add.at(counts, (groups, codes), 1)
    return float(chi2_contingency(counts).pvalue)


def compared(table: PlantedTable) -> list[str]:
    return [n for n, kind in table.kinds.items() if kind in ("number", "category", "yes-no")]


def test_groups_show_in_several_columns_and_another_split_in_others(table: PlantedTable) -> None:
    def telling(split: np.ndarray) -> set[str]:
        return {name for name in compared(table) if p_value(table, name, split) < 1e-6}

    assert len(telling(table.target)) >= 3
    assert ("other split" in table.description) == (table.nuisance is not None)
    if table.nuisance is not None:
        assert len(telling(table.nuisance)) >= 2
        together = np.zeros((2, len(table.target_names)))
        np.add.at(together, (table.nuisance, table.target), 1)
        assert chi2_contingency(together).pvalue > 1e-3


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("census", "weight"),
        ("sensors", "pulse_counter"),
        ("loans", "town"),
        ("products", "in_stock"),
    ],
)
def test_columns_of_noise_say_nothing(kind: str, name: str) -> None:
    table = make_mixed_table(kind, 1200, random_state=0)
    assert p_value(table, name, table.target) > 1e-3


def test_rides_follow_the_week_and_the_hour() -> None:
    rides = make_mixed_table("events", 600, random_state=0)
    started = np.array(rides.columns["started"], dtype=object)
    to_work, at_night, sights = (started[rides.target == group] for group in range(3))
    assert max(moment.weekday() for moment in to_work) == 4
    assert {moment.weekday() for moment in at_night} == {4, 5, 6}
    assert np.mean([moment.hour >= 20 or moment.hour < 4 for moment in at_night]) > 0.9
    assert np.mean([5 <= moment.month <= 9 for moment in sights]) > 0.9


def test_amounts_are_skewed_and_capital_is_mostly_zero() -> None:
    from scipy.stats import skew

    income = [one for one in make_mixed_table(random_state=0).columns["income_eur"] if one]
    assert skew(income) > 1 > skew(np.log(income))
    gain = make_mixed_table("census", random_state=0).columns["capital_gain"]
    assert np.mean(np.array(gain) == 0) > 0.7


def test_file_holds_every_value(table: PlantedTable, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    table.write(path, truth_column="truth")
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == [*([table.id_column] if table.id_column else []), *table.columns, "truth"]
    read = dict(zip(header, zip(*rows, strict=True), strict=True))
    assert [table.target_names[one] for one in table.target] == list(read["truth"])
    if table.id_column is not None:
        assert read[table.id_column] == table.ids
    for name, values in table.columns.items():
        written = [table.missing_as if one is None else str(one) for one in values]
        assert list(read[name]) == written


def test_same_seed_same_table() -> None:
    one, same, other = (make_mixed_table("products", 60, random_state=seed) for seed in (3, 3, 4))
    assert one.columns == same.columns
    assert one.ids == same.ids
    assert one.columns != other.columns


def test_unknown_kind_is_told_with_those_there_are() -> None:
    with pytest.raises(SidelightError, match="one of customers, patients"):
        make_mixed_table("costumers")
