"""Planted differences are named in their order, noise is not."""

from __future__ import annotations

import numpy as np
import pytest

from sidelight.explanation import explain_clusters
from sidelight.explanation._traits import SMALLEST_EFFECT
from sidelight.explanation.inner import shown
from sidelight.preparation import TypedColumn

from .conftest import category, noise_table, number, text


def named(explanation):
    return {p.name: [(t.column, t.level) for t in p.traits] for p in explanation.clusters}


def test_nothing_is_named_in_pure_noise():
    """In 200 tables with clusters of all sizes, at most one in twenty may show a trait."""
    rng = np.random.default_rng(0)
    false = 0
    for _ in range(200):
        n, k = int(rng.integers(40, 300)), int(rng.integers(2, 9))
        labels = rng.choice(k, n, p=rng.dirichlet(np.ones(k)))
        false += any(named(explain_clusters(noise_table(rng, n), labels)).values())
    assert false <= 10


def test_noise_stays_unnamed_beside_what_was_planted():
    rng = np.random.default_rng(1)
    false = 0
    for _ in range(60):
        labels = rng.integers(0, 4, 160)
        planted = number("planted", labels + 0.1 * rng.normal(size=160))
        found = explain_clusters([planted, *noise_table(rng, 160)], labels)
        columns = {column for own in named(found).values() for column, _ in own}
        assert "planted" in columns
        false += columns != {"planted"}
    assert false <= 6


def test_many_rows_do_not_make_a_small_difference_a_trait():
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 40_000)
    small = number("small", rng.normal(0.15 * labels, 1.0))  # delta 0.08, far from chance
    large = number("large", rng.normal(0.5 * labels, 1.0))  # delta 0.28
    found = explain_clusters([small, large], labels)
    assert named(found) == {"0": [("large", "")], "1": [("large", "")]}
    (trait,) = found.clusters[1].traits
    assert trait.low <= 0.276 <= trait.high
    assert SMALLEST_EFFECT == 0.15


def test_planted_differences_are_ranked_by_their_size():
    rng = np.random.default_rng(13)
    n = 3000
    labels = rng.integers(0, 3, n)
    own = labels == 1
    columns = [
        number("third", rng.lognormal(0.8 * own, 1.0)),
        category("fourth", rng.random(n) < np.where(own, 0.5, 0.2), ("no", "yes"), "yes-no"),
        number("first", rng.normal(3.0 * own, 1.0)),
        number("noise", rng.normal(size=n)),
        number("second", -rng.lognormal(1.5 * own, 1.0)),
    ]
    traits = explain_clusters(columns, labels).clusters[1].traits
    assert [trait.column for trait in traits] == ["first", "second", "third", "fourth"]
    assert [trait.what.split()[0] for trait in traits] == ["higher", "lower", "higher", "more"]
    truths = [0.966, -0.711, 0.428, np.sin(np.arcsin(0.5**0.5) - np.arcsin(0.2**0.5))]
    for trait, truth in zip(traits, truths, strict=True):
        assert trait.low <= truth <= trait.high
    assert traits[3].lift_low <= 2.5 <= traits[3].lift_high
    assert traits[3].text.startswith("more often fourth = yes (")


def test_a_question_with_two_answers_is_asked_once():
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 2, 400)
    said = category("member", rng.random(400) < 0.2 + 0.6 * labels, ("no", "yes"), "yes-no")
    assert named(explain_clusters([said], labels)) == {
        "0": [("member", "no")],
        "1": [("member", "yes")],
    }


def test_missing_values_are_a_trait_and_not_a_value():
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 500)
    values = rng.normal(size=500)
    values[rng.random(500) < np.where(labels == 1, 0.6, 0.1)] = np.nan
    found = explain_clusters([number("income", values)], labels)
    assert [trait.about for trait in found.clusters[1].traits] == ["missing"]
    (trait,) = found.clusters[1].traits
    assert trait.what == "more often without income"
    assert trait.inside == np.mean(np.isnan(values[labels == 1]))
    assert found.clusters[0].traits[0].what == "less often without income"


def test_words_are_told_by_the_texts_they_are_in():
    rng = np.random.default_rng(6)
    labels = rng.integers(0, 2, 300)
    texts = [
        ("refund please" if rng.random() < 0.7 else "thanks") if label else "thanks a lot"
        for label in labels
    ]
    found = explain_clusters([text("note", texts)], labels)
    traits = {trait.level: trait for trait in found.clusters[1].traits}
    refund = sum("refund" in one for one in np.array(texts)[labels == 1]) / np.sum(labels == 1)
    assert traits["refund"].inside == pytest.approx(refund)
    assert traits["refund"].rest == 0.0
    assert traits["refund"].what == "more often “refund” in note"
    # "refund" and "please" come together, and say the same.
    told = [trait.level for trait in shown(found.clusters[1].traits, 5)]
    assert len(set(told) & {"refund", "please"}) == 1


def test_levels_in_the_middle_of_an_order_are_found():
    """The order of the sizes is the same in both clusters, their shares are not."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 2, 600)
    size = np.where(labels == 1, 1, rng.choice([0, 2], 600))
    found = explain_clusters([category("size", size, ("S", "M", "L"), "ordered")], labels)
    first = found.clusters[1].traits[0]
    assert (first.about, first.level, first.inside) == ("level", "M", 1.0)
    # A shift along the order is told as such, and not level by level.
    size = np.clip(rng.integers(0, 3, 600) + labels, 0, 3)
    found = explain_clusters([category("size", size, ("S", "M", "L", "XL"), "ordered")], labels)
    assert found.clusters[1].traits[0].what == "higher size"


def test_times_around_midnight_are_close():
    rng = np.random.default_rng(8)
    labels = rng.integers(0, 2, 400)
    seconds = (rng.normal(22.5 * 3600 + 3.0 * 3600 * labels, 3000.0)) % 86_400.0
    (trait,) = explain_clusters([TypedColumn("visit", "time", seconds)], labels).clusters[1].traits
    assert trait.what == "later visit"
    assert trait.effect > 0.95
    assert trait.inside_text.startswith("01:")
    assert trait.rest_text.startswith("22:")


def test_numbers_and_dates_are_written_as_people_do(mixed):
    columns, labels = mixed
    found = explain_clusters(columns, labels)
    texts = {(p.name, t.column): t for p in found.clusters for t in p.traits if t.about == "value"}
    income, year = texts["1", "income"], texts["1", "year"]
    assert income.text == f"higher income (median {income.inside_text} against {income.rest_text})"
    assert income.inside_text.endswith("00")  # three digits, with separators
    assert "," in income.inside_text
    assert year.inside_text == f"{np.median(columns[7].values[labels == 1]):.0f}"
    assert texts["0", "signup"].inside_text.startswith("2020-")
    assert texts["1", "size"].figures == "median L against M"


def test_medians_that_are_the_same_give_way_to_means():
    labels = np.repeat([0, 1], 100)
    orders = np.where(np.arange(200) % 10 < 1 + 3 * labels, 5.0, 0.0)
    (trait,) = explain_clusters([number("orders", orders)], labels).clusters[1].traits
    assert trait.figures == "mean 2.00 against 0.50"


def test_the_order_of_rows_and_names_of_clusters_change_nothing(mixed):
    columns, labels = mixed
    rng = np.random.default_rng(9)
    rows = rng.permutation(len(labels))
    renamed = np.array(["c", "a", "b"])[labels]
    shuffled = [
        TypedColumn(c.name, c.kind, c.values[rows], c.levels) for c in rng.permutation(columns)
    ]
    ids = np.array([f"r{row}" for row in range(len(labels))])
    first = explain_clusters(columns, labels, ids=ids)
    second = explain_clusters(shuffled, renamed[rows], ids=ids[rows])
    for profile, name in zip(first.clusters, ("c", "a", "b"), strict=True):
        other = next(one for one in second.clusters if one.name == name)
        assert other.size == profile.size
        assert [t.text for t in other.traits] == [t.text for t in profile.traits]
        for one, two in zip(other.traits, profile.traits, strict=True):
            assert (one.effect, one.low, one.high) == pytest.approx((two.effect, two.low, two.high))
            assert one.chance == pytest.approx(two.chance)
        assert second.typical[name] == first.typical[profile.name]
        assert [d.row for d in second.doubtful[name]] == [
            d.row for d in first.doubtful[profile.name]
        ]


def test_rare_levels_that_only_make_room_are_not_shown():
    rng = np.random.default_rng(10)
    labels = rng.integers(0, 2, 900)
    codes = np.where(labels == 1, 0, rng.integers(0, 4, 900))
    traits = explain_clusters([category("land", codes, "ABCD")], labels).clusters[1].traits
    assert [t.level for t in traits] == ["A", *sorted("BCD", key=lambda one: _rank(traits, one))]
    assert [t.level for t in shown(traits, 5)] == ["A"]


def _rank(traits, level):
    return next(-abs(t.effect) for t in traits if t.level == level)
