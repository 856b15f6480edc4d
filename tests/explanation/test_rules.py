"""Rules mean what they say: read back as text, they match the rows that they count."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidelight.explanation import explain_clusters
from sidelight.explanation._conditions import LevelSet
from sidelight.explanation._format import round_moment, round_number, round_time
from sidelight.preparation import TypedColumn

from .conftest import category, noise_table, number
from .reader import holds, read_back, seconds_of


def check(explanation, columns, labels):
    names = np.array([str(label) for label in labels])
    for rule in explanation.rules:
        matching = read_back(rule.text, columns)
        np.testing.assert_array_equal(rule.matches(columns), matching, err_msg=rule.text)
        inside = names == rule.cluster
        assert rule.n_matching == matching.sum()
        assert rule.n_correct == (matching & inside).sum()
        assert rule.precision == pytest.approx((matching & inside).sum() / max(matching.sum(), 1))
        assert rule.coverage == pytest.approx((matching & inside).sum() / inside.sum())


def test_the_words_of_a_rule_match_what_it_counts(mixed):
    columns, labels = mixed
    found = explain_clusters(columns, labels)
    check(found, columns, labels)
    assert found.rules.fidelity > 0.8
    assert {rule.cluster for rule in found.rules} == {"0", "1", "2"}


@pytest.mark.parametrize("seed", range(12))
def test_the_words_of_rules_on_any_table(seed):
    """Clusters that are conditions on random columns, with a few rows in none."""
    rng = np.random.default_rng(seed)
    columns = noise_table(rng, 300)
    chosen = rng.choice(len(columns), 2, replace=False)
    scores = sum(_order(columns[place].values) for place in chosen)
    labels = np.digitize(scores, np.quantile(scores, [0.3, 0.6]))
    labels[rng.random(300) < 0.05] = -1
    found = explain_clusters(columns, labels)
    check(found, columns, labels)


def _order(values):
    _, codes = np.unique(values.astype(str), return_inverse=True)
    return codes / codes.max()


def test_a_planted_rule_is_found_in_round_numbers():
    rng = np.random.default_rng(0)
    n = 2000
    income, country = rng.lognormal(10.6, 0.5, n), rng.integers(0, 4, n)
    labels = np.where((income > 52_000) & np.isin(country, [0, 2]), "vip", "other")
    columns = [number("income", income), category("country", country, ("DE", "FR", "IT", "ES"))]
    found = explain_clusters(columns, labels)
    check(found, columns, labels)
    (vip,) = found.rules.of("vip")
    assert "(country is DE or IT)" in vip.text.split(" and ")
    bound = re.search(r"income > (\d\d,\d\d\d)", vip.text).group(1)  # no more digits than these
    assert float(bound.replace(",", "")) == pytest.approx(52_000, rel=0.002)
    assert vip.precision > 0.99
    assert vip.coverage > 0.99
    assert found.rules.fidelity > 0.99
    assert found.rules.sentence.startswith("These rules find the cluster of")


def test_clusters_without_a_rule_are_said_to_have_none():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 400)
    found = explain_clusters(noise_table(rng, 400), labels)
    assert found.rules.fidelity < 0.45
    assert re.match(
        "No short rules|Short rules describe these clusters poorly", found.rules.sentence
    )


def test_fidelity_is_that_of_rows_held_out():
    """A column of ids fits any cluster in hindsight, and none in advance."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 200)
    found = explain_clusters([number("id", rng.permutation(200))], labels)
    assert found.rules.fidelity < 0.62


def test_rules_do_not_depend_on_the_order_of_the_rows(mixed):
    columns, labels = mixed
    rows = np.random.default_rng(3).permutation(len(labels))
    shuffled = [TypedColumn(c.name, c.kind, c.values[rows], c.levels) for c in columns]
    first = explain_clusters(columns, labels).rules
    second = explain_clusters(shuffled, labels[rows]).rules
    assert [rule.text for rule in first] == [rule.text for rule in second]
    assert first.fidelity == second.fidelity


def test_small_trees_are_short(mixed):
    columns, labels = mixed
    rules = explain_clusters(columns, labels).rules
    assert len(rules) <= 2 * 3 + 2
    assert max(len(rule.conditions) for rule in rules) <= 4


def test_rules_hold_for_other_rows(mixed):
    """A time of day that counts from another hour in other rows is the same time of day."""
    columns, labels = mixed
    rules = explain_clusters(columns, labels).rules
    half = [TypedColumn(c.name, c.kind, c.values[::2], c.levels) for c in columns]
    noon = TypedColumn("visit", "time", np.full(300, 43_200.0))
    moved = [noon if c.name == "visit" else c for c in half]
    for rule in rules:
        np.testing.assert_array_equal(rule.matches(half), rule.matches(columns)[::2])
        np.testing.assert_array_equal(rule.matches(moved), read_back(rule.text, moved))


def test_very_many_columns_and_clusters_are_limited():
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 3, 300)
    columns = [number(f"n{j}", rng.normal(size=300) + (labels == j)) for j in range(80)]
    found = explain_clusters(columns, labels)
    assert found.rules.fidelity > found.rules.baseline
    check(found, columns, labels)
    many = explain_clusters(columns[:3], np.arange(300) // 5).rules
    assert len(many) == 0
    assert many.sentence == "There are 60 clusters: too many for short rules."


@given(
    st.floats(-1e9, 1e9, allow_nan=False),
    st.floats(1e-6, 1e6),
)
def test_round_numbers_part_the_same_rows(low, gap):
    high = low + gap
    if not low < high:
        return
    value, text = round_number(low, high)
    assert low <= value < high
    assert float(text.replace(",", "")) == value


@given(st.floats(-1e9, 4e9), st.floats(1e-3, 1e8))
def test_round_moments_part_the_same_rows(low, gap):
    high = low + gap
    moment, text = round_moment(low, high)
    assert low < moment <= high
    assert seconds_of(text, "date") == pytest.approx(moment, abs=1e-6)
    start = low % 80_000.0
    time, text = round_time(start, start + min(gap, 6000.0))
    assert start < time <= start + min(gap, 6000.0)
    assert seconds_of(text, "time") == pytest.approx(time % 86_400.0, abs=1e-6)


@given(st.lists(st.tuples(st.booleans(), st.integers(-1, 3)), max_size=4), st.data())
def test_sets_of_levels_are_sets(steps, data):
    """Splits intersect and leaves unite as sets of levels do, and the text names the set."""
    everything = frozenset(range(-1, 4))
    names = ("a", "b", "c", "d")
    column = TypedColumn("x", "category", np.arange(-1, 4, dtype=np.int32), names)

    def walk(steps):
        condition, levels = LevelSet("x", names), everything
        for only, level in steps:
            if level not in levels or levels == {level}:
                continue  # no tree splits off what is not there, or all there is
            condition = condition.only(level) if only else condition.without(level)
            levels = levels & {level} if only else levels - {level}
        return condition, levels

    first, levels = walk(steps)
    second, more = walk(
        data.draw(st.lists(st.tuples(st.booleans(), st.integers(-1, 3)), max_size=4))
    )
    assert set(column.values[first.holds(column)].tolist()) == levels
    both = first.united(second)
    assert set(column.values[both.holds(column)].tolist()) == levels | more
    if levels != everything:
        np.testing.assert_array_equal(holds(first.text(True), column), first.holds(column))
