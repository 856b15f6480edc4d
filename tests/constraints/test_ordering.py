"""Orders with bounds on gaps, and links between a row and a column."""

from __future__ import annotations

import datetime
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidelight.constraints import CrossLinks, Ordering
from sidelight.exceptions import SidelightError


def test_examples_of_the_book() -> None:
    properties = [0, 2, 3]  # g1, g3, g4 of g1 < ... < g5
    assert Ordering(range(5), max_gap=1).admits(properties)
    assert not Ordering(range(5), max_gap=0).admits(properties)
    assert not Ordering(range(5), min_gap=1).admits(properties)
    places = Ordering(range(1, 10), max_gap=1)
    assert not places.admits([1, 2, 6])  # 2, 3, 7
    assert places.admits([1, 2, 4, 6])  # neither monotone
    assert places.admits([1, 2])  # nor anti-monotone


def by_definition(places: set[int], n: int, low: int, high: int, circular: bool) -> bool:
    ordered = sorted(places)
    if len(ordered) < 2:
        return True
    gaps = [after - before - 1 for before, after in itertools.pairwise(ordered)]
    if circular:
        gaps = sorted([*gaps, ordered[0] + n - ordered[-1] - 1])[:-1]
    return all(low <= gap <= high for gap in gaps)


@given(
    st.integers(1, 12).flatmap(
        lambda n: st.tuples(st.permutations(range(n)), st.sets(st.integers(0, n - 1)))
    ),
    st.integers(0, 3),
    st.integers(0, 3),
    st.booleans(),
)
def test_gaps_by_definition(case, low, more, circular) -> None:
    scores, members = case
    order = Ordering(scores, max_gap=low + more, min_gap=low, circular=circular)
    places = {scores[member] for member in members}
    assert order.admits(sorted(members)) == by_definition(
        places, len(scores), low, low + more, circular
    )
    np.testing.assert_array_equal(order.rank, scores)


@given(st.sets(st.integers(0, 14)), st.data(), st.integers(0, 4), st.booleans())
def test_subsets_satisfy_a_smallest_gap(members, data, gap, circular) -> None:
    order = Ordering(range(15), min_gap=gap, circular=circular)
    if order.admits(list(members)):
        chosen = data.draw(st.lists(st.sampled_from(sorted(members)))) if members else []
        assert order.admits(chosen)


@given(st.sets(st.integers(0, 9)), st.integers(0, 9), st.integers(0, 4))
def test_a_circle_may_begin_anywhere(members, shift, gap) -> None:
    order = Ordering(range(10), max_gap=gap, circular=True)
    turned = [(member + shift) % 10 for member in members]
    assert order.admits(list(members)) == order.admits(turned)


def test_wrapped_intervals() -> None:
    night = [22, 23, 0, 1]
    assert Ordering(range(24), max_gap=0, circular=True).admits(night)
    assert not Ordering(range(24), max_gap=0).admits(night)


def test_dates_words_and_names() -> None:
    days = [datetime.date(2024, 5, day) for day in (3, 1, 2)]
    assert Ordering(days).order.tolist() == [1, 2, 0]
    assert Ordering(["b", "a", "c"]).rank.tolist() == [1, 0, 2]
    named = Ordering(pd.Series([3.0, 1.0, 2.0], index=["x", "y", "z"]), max_gap=1)
    assert named.in_order_of(["z", "x", "y"]).rank.tolist() == [1, 2, 0]
    with pytest.raises(SidelightError, match="'w' has no score"):
        named.in_order_of(["w", "x", "y"])


def test_never_changes_and_can_be_pickled() -> None:
    order = Ordering([2, 1, 3], max_gap=1, min_gap=0, circular=True)
    assert pickle.loads(pickle.dumps(order)) == order
    assert hash(pickle.loads(pickle.dumps(order))) == hash(order)
    assert order != Ordering([2, 1, 3], max_gap=1)
    with pytest.raises(AttributeError, match="never changes"):
        order.max_gap = 5
    with pytest.raises(ValueError, match="read-only"):
        order.rank[0] = 1
    assert "ircular" in repr(order)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2, 1],), "Elements 0 and 2 have the same score, 1"),
        (([1, np.nan],), "score of element 1 is missing"),
        (([],), "one value for each"),
        (([[1, 2]],), "one value for each"),
        (([1, "a"],), "cannot be sorted"),
        (([1, 2], -1), "max_gap must be a whole number"),
        (([1, 2], 1.5), "max_gap must be a whole number"),
        (([1, 2], 1, 2), "min_gap=2 is larger than max_gap=1"),
        (([1, 2], 1, 0, "yes"), "circular must be True or False"),
    ],
)
def test_what_is_refused(arguments, message) -> None:
    with pytest.raises(SidelightError, match=message):
        Ordering(*arguments)


def test_cross_links() -> None:
    links = CrossLinks([("a", 1)], [(0, "x"), (np.int64(2), "y")])
    assert pickle.loads(pickle.dumps(links)) == links
    assert links != CrossLinks([("a", 1)])
    assert repr(links) == "<CrossLinks: 1 must-link, 2 cannot-links>"
    with pytest.raises(AttributeError, match="never change"):
        links.must_link = None
    with pytest.raises(SidelightError, match="entry 1"):
        CrossLinks([(0, 1), (0, 1, 2)])
