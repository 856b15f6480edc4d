"""Ranges, parts of dates and words: what is named, and that its figures can be counted again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight.explanation import brief, explain_clusters
from sidelight.explanation._ranges import best_ranges, count_ranges
from sidelight.explanation._ranks import sort_values
from sidelight.explanation._words import function_words, words_of
from sidelight.explanation.inner import shown
from sidelight.preparation import TypedColumn

from .conftest import DAY, category, noise_table, number, text
from .reader import check_percent, check_trait, read_back

YEAR = 365.25 * DAY
START = 1_577_836_800.0  # 2020-01-01, a Wednesday


def test_a_cluster_in_the_middle_is_told_by_its_range():
    """Its median is that of the others: no shift sets it apart."""
    rng = np.random.default_rng(0)
    x = rng.permutation(np.arange(300.0))
    labels = ((x >= 120) & (x < 180)).astype(int)
    found = explain_clusters([number("x", x), number("noise", rng.normal(size=300))], labels)
    (trait,) = found.clusters[1].traits
    assert trait.about == "range"
    assert (
        trait.text == "more often 119.5 < x ≤ 179.5 (100% against 0%, only here)"
        or (read_back(trait.level, [number("x", x)]) == (labels == 1)).all()
    )
    assert found.clusters[0].traits[0].what.startswith("less often ")
    assert brief(found)[1].startswith("1: more often ")
    assert found.rules.of("1")[0].precision == 1.0


def test_a_shift_is_told_as_one():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 400)
    found = explain_clusters([number("x", rng.normal(2.0 * labels))], labels)
    assert [trait.what for trait in found.clusters[1].traits] == ["higher x"]


@pytest.mark.parametrize("seed", range(5))
def test_no_rule_of_one_column_contradicts_the_traits(seed):
    """Where a range of a column is a cluster, the column is among its traits."""
    rng = np.random.default_rng(seed)
    n = 200
    columns = noise_table(rng, n)
    edges = np.sort(rng.choice(np.arange(20, 180), 2, replace=False))
    order = np.argsort(np.argsort(columns[0].values))
    labels = ((order >= edges[0]) & (order < edges[1] + 12)).astype(int)
    found = explain_clusters(columns, labels)
    for rule in found.rules:
        if len(rule.conditions) == 1 and min(rule.precision, rule.coverage) > 0.95:
            profile = found.clusters[int(rule.cluster)]
            assert "normal" in {trait.column for trait in profile.traits}


def test_columns_that_only_together_tell_clusters_apart_are_a_rule():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 600))
    labels = ((x > 0) == (y > 0)).astype(int)
    found = explain_clusters([number("x", x), number("y", y)], labels)
    assert all(profile.traits == () for profile in found.clusters)
    assert brief(found)[1] == "1: no single value or range sets it apart beyond chance"
    for profile, sentence in zip(found.clusters, found.sentences(), strict=True):
        good = any(min(r.precision, r.coverage) >= 0.5 for r in found.rules.of(profile.name))
        assert (" A rule describes " in sentence) == good


def test_ranges_of_levels_in_order_are_named():
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 2, 500)
    size = np.where(labels == 1, rng.integers(2, 5, 500), rng.choice([0, 1, 5, 6], 500))
    column = category("size", size, ("a", "b", "c", "d", "e", "f", "g"), "ordered")
    first = explain_clusters([column], labels).clusters[1].traits[0]
    assert first.text == "more often size is c to e (100% against 0%, only here)"


def test_a_range_of_one_number_is_that_number():
    rng = np.random.default_rng(9)
    labels = rng.integers(0, 2, 300)
    legs = number("legs", np.where(labels == 1, 2.0, rng.choice([0.0, 4.0], 300)))
    profile = explain_clusters([legs], labels).clusters[1]
    assert profile.traits[0].text == "more often legs = 2 (100% against 0%, only here)"


def dates(rng, n, accept):
    """Days of four years that ``accept`` takes."""
    days = START + DAY * rng.integers(0, 4 * 365, 40 * n)
    stamps = days.astype("datetime64[s]").astype("datetime64[D]")
    return days[accept(stamps)][:n]


def test_a_season_and_a_weekday_are_told():
    rng = np.random.default_rng(5)
    weekend = dates(rng, 150, lambda d: (d.astype(np.int64) + 3) % 7 >= 5)
    winter = dates(rng, 150, lambda d: np.isin(d.astype("datetime64[M]").astype(int) % 12, [0, 11]))
    other = dates(rng, 300, lambda d: d.astype(np.int64) > 0)
    column = TypedColumn("joined", "date", np.concatenate([weekend, winter, other]))
    labels = np.repeat([0, 1, 2], [150, 150, 300])
    found = explain_clusters([column], labels)
    first, second = (shown(profile.traits, 2) for profile in found.clusters[:2])
    assert {trait.what for trait in first} == {
        "more often joined (weekday) = Saturday",
        "more often joined (weekday) = Sunday",
    }
    assert {trait.what for trait in second} == {
        "more often joined (month) = December",
        "more often joined (month) = January",
    }
    assert any("joined (weekday) is Saturday or Sunday" in rule.text for rule in found.rules)
    for rule in found.rules:
        np.testing.assert_array_equal(rule.matches([column]), read_back(rule.text, [column]))


def test_a_stretch_of_time_and_a_time_of_day_are_told():
    rng = np.random.default_rng(6)
    moments = START + rng.uniform(0, 3 * YEAR, 600)
    spring = (moments > START + 1.4 * YEAR) & (moments < START + 1.7 * YEAR)
    at_noon = abs(moments % DAY - 12 * 3600) < 3600
    labels = np.where(spring, 1, np.where(at_noon, 2, 0))
    column = TypedColumn("seen", "date", moments)
    _, stretch, noon = explain_clusters([column], labels).clusters
    assert stretch.traits[0].what.startswith("more often seen from 2021-0")
    assert noon.traits[0].what.startswith("more often seen (time of day) from 1")
    assert noon.traits[0].inside > 0.9


def test_dates_of_years_and_months_have_no_weekday():
    rng = np.random.default_rng(7)
    years = (rng.integers(2000, 2020, 200) - 1970).astype("datetime64[Y]")
    months = rng.integers(400, 600, 200).astype("datetime64[M]")
    labels = rng.integers(0, 2, 200)
    for values in (years, months):
        seconds = values.astype("datetime64[s]").astype(np.float64)
        found = explain_clusters([TypedColumn("since", "date", seconds)], labels)
        assert not any("weekday" in rule.text for rule in found.rules)


def test_words_that_hold_sentences_together_are_not_traits():
    rng = np.random.default_rng(8)
    labels = rng.integers(0, 2, 300)
    notes = [
        "the parcel was torn and not here" if label else f"thanks fast delivery {word}"
        for label, word in zip(labels, rng.choice(["great", "fine"], 300), strict=True)
    ]
    found = explain_clusters([text("note", notes)], labels)
    assert {trait.level for trait in found.clusters[1].traits if trait.effect > 0} == {
        "parcel",
        "torn",
    }
    for rule in found.rules:
        assert not {"the", "was", "and"} & words_of(rule.text)


def test_lifts_of_what_is_only_here_are_words():
    labels = np.repeat([0, 1], 200)
    codes = np.where(labels == 1, np.arange(400) % 3, 3 + np.arange(400) % 2)
    found = explain_clusters([category("land", codes, "ABCDE")], labels)
    for trait in found.clusters[1].traits:
        assert np.isnan(trait.lift)
        assert trait.lift_text == ("only here" if trait.level in "ABC" else "never here")
        assert trait.text.endswith(f", {trait.lift_text})")


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    n=st.integers(30, 150),
    k=st.integers(2, 4),
    how=st.sampled_from(["low", "middle", "random"]),
)
def test_all_figures_can_be_counted_again(seed, n, k, how):
    """Sizes, shares, medians and lifts, from the table and the words alone."""
    rng = np.random.default_rng(seed)
    columns = noise_table(rng, n)
    cause = columns[int(rng.integers(len(columns)))].values
    _, codes = np.unique(cause.astype(str), return_inverse=True)
    score = codes + rng.normal(size=n) * 0.05 * codes.max()
    score = np.abs(score - np.median(score)) if how == "middle" else score
    score = rng.normal(size=n) if how == "random" else score
    labels = np.digitize(score, np.quantile(score, np.arange(1, k) / k))
    labels[rng.random(n) < 0.05] = -1
    found = explain_clusters(columns, labels)
    for profile in found.clusters:
        inside = labels == int(profile.name)
        assert profile.size == inside.sum()
        rows, share = profile.sentence().split(": ", 1)[1].split(").")[0].split(" rows (")
        assert int(rows) == inside.sum()
        check_percent(inside.mean(), share)
        for trait in profile.traits:
            check_trait(trait.text, columns, inside)
    for rule in found.rules:
        rows = read_back(rule.text, columns)
        right, covered = (labels[rows] == int(rule.cluster)).sum(), labels == int(rule.cluster)
        assert rule.n_matching == rows.sum()
        assert rule.n_correct == right
        assert rule.coverage == pytest.approx(right / covered.sum())


# --- by private names -------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(st.integers(0, 8), min_size=4, max_size=25),
    codes=st.lists(st.integers(-1, 2), min_size=25, max_size=25),
)
def test_the_best_range_is_that_of_all_ranges(values, codes):
    values, codes = np.array(values, float), np.array(codes[: len(values)], np.int16)
    column = sort_values(values, codes, 3)
    ranges, shares = best_ranges(column)
    distinct = np.unique(values)
    for cluster in range(3):
        inside = codes == cluster
        if not 0 < inside.sum() < len(values) or len(distinct) < 3:
            assert (ranges[cluster] == -1).all()
            continue
        all_of_them = [
            ((values[inside] >= a) & (values[inside] <= b)).mean()
            - ((values[~inside] >= a) & (values[~inside] <= b)).mean()
            for place, a in enumerate(distinct)
            for b in distinct[place:]
        ]
        assert len(all_of_them) == count_ranges(len(distinct)) + 1
        for side, best in enumerate((max(all_of_them), min(all_of_them))):
            first, last = ranges[cluster, side]
            if first < 0:
                assert best == pytest.approx(0.0, abs=1e-12)
                continue
            there = (values >= distinct[first]) & (values <= distinct[last])
            assert shares.found[cluster, side] == (there & inside).sum()
            assert shares.level[cluster, side] == there.sum()
            apart = there[inside].mean() - there[~inside].mean()
            assert apart == pytest.approx(best, abs=1e-12)


def test_the_languages_of_texts_are_found():
    from collections import Counter

    german = Counter(words_of("die Lieferung war nicht vollständig und der Kunde ist im Recht"))
    english = Counter({"the": 90, "and": 60, "of": 50, "in": 40, "war": 6, "die": 3, "hat": 2})
    english.update({f"thing{number}": 2 for number in range(100)})
    assert {"die", "war", "nicht"} <= function_words(german)
    assert not {"die", "war", "hat"} & function_words(english)
    assert not {"the", "und"} & function_words(Counter(["parcel", "torn"]))
