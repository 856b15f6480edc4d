"""Set operations, and what remains for some of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.constraints.closure import apart_by_powers, as_set, together_by_powers
from tests.strategies import stated

from sidelight import Constraints
from sidelight.exceptions import InconsistentConstraints, SidelightError

# ------------------------------------------------------------------------- set operations


@given(st.data())
def test_set_operations_work_on_statements(data):
    first = data.draw(stated(classes=False))
    row = st.integers(0, first.n - 1)
    pairs = st.lists(st.tuples(row, row).filter(lambda p: p[0] != p[1]), max_size=8)
    second = first._replace(
        must_link=data.draw(pairs) + first.must_link[::2],
        cannot_link=data.draw(pairs) + first.cannot_link[::2],
    )
    a, b = first.constraints(), second.constraints()
    for kind in ("must_link", "cannot_link"):
        here, there = as_set(getattr(a, kind)), as_set(getattr(b, kind))
        assert as_set(getattr(a | b, kind)) == here | there
        assert as_set(getattr(a & b, kind)) == here & there
        assert as_set(getattr(a - b, kind)) == here - there
    assert (a | a) == a == (a & a)
    assert (a - a).is_empty
    assert (a | b) == (b | a)
    assert ((a - b) | (a & b)) == a
    assert (a | b).notes == ()


def test_set_operations_on_weights_labels_and_groups():
    ids = list("abcd")
    a = Constraints(
        [("a", "b")], ids=ids, must_link_weight=[2], labels=[1, 2, -1, -1], groups=["x", "", "", ""]
    )
    b = Constraints(
        [("b", "a")],
        ids=ids,
        must_link_weight=[3],
        labels=["1", "", "dog", ""],
        groups=["", "", "x", "y"],
    )
    union = a | b
    assert union.must_link_weight.tolist() == [3.0]
    assert union.label_names.tolist() == ["1", "2", "dog"]
    assert union.labels.tolist() == [0, 1, 2, -1]
    assert union.groups.tolist() == [0, -1, 0, 1]
    assert (a & b).must_link_weight.tolist() == [2.0]
    assert (a & b).labels.tolist() == [0, -1, -1, -1]
    assert (a & b).label_names.tolist() == [1]
    assert (a & b).groups is None
    assert (a - b).labels.tolist() == [-1, 0, -1, -1]
    assert (a - b).label_names.tolist() == [2]
    assert (a - b).groups.tolist() == [0, -1, -1, -1]
    assert (a | Constraints(ids=ids)) == a == (Constraints(ids=ids) | a)


def test_two_labels_for_a_row_cannot_be_united():
    a, b = Constraints(labels=["x", ""], ids="ab"), Constraints(labels=["y", ""], ids="ab")
    with pytest.raises(InconsistentConstraints, match="'a' is labeled 'x' by one set and 'y'"):
        _ = a | b


def test_groups_that_share_a_row_become_one():
    a, b = Constraints.from_groups([1, 1, -1, 2]), Constraints.from_groups([-1, 3, 3, -1])
    union = a | b
    assert union.groups.tolist() == [0, 0, 0, 1]
    assert union.group_names.tolist() == [1, 2]
    assert union.notes == ("1 group was merged into another because of rows in both.",)
    assert union.components().tolist() == [0, 0, 0, 1]


def test_sets_about_different_rows_cannot_be_combined():
    with pytest.raises(SidelightError, match="about 2 and 3 rows"):
        _ = Constraints(n_samples=2) | Constraints(n_samples=3)
    with pytest.raises(SidelightError, match="different ids"):
        _ = Constraints(ids="ab") & Constraints(ids="ba")
    with pytest.raises(SidelightError, match="different ids"):
        _ = Constraints(ids="ab") - Constraints(n_samples=2)
    with pytest.raises(TypeError, match="got list"):
        _ = Constraints(n_samples=2) | []


# ------------------------------------------------------------------------- subsets


@given(stated(), st.data())
def test_restriction_keeps_exactly_what_is_entailed_between_kept_rows(s, data):
    rows = data.draw(st.permutations(range(s.n)).map(lambda p: p[: data.draw(st.integers(0, s.n))]))
    known = s.constraints()
    part = known.restrict(rows)
    assert part.n_samples == len(rows)
    inside = np.ix_(rows, rows)
    component = part.components()
    together = together_by_powers(s)[inside]
    np.testing.assert_array_equal(component[:, None] == component[None, :], together)
    if known.contradiction() is None:
        apart = {tuple(p) for p in part.closure().cannot_link_pairs().tolist()}
        i, j = np.nonzero(np.triu(apart_by_powers(s)[inside], 1))
        assert apart == set(zip(i.tolist(), j.tolist(), strict=True))


@given(stated(), st.data())
def test_restriction_keeps_stated_pairs_inside(s, data):
    rows = sorted(data.draw(st.sets(st.integers(0, s.n - 1))))
    known = s.constraints()
    part = known[rows]
    for kind in ("must_link", "cannot_link"):
        back = {(rows[i], rows[j]) for i, j in getattr(part, kind).tolist()}
        inside = {p for p in as_set(getattr(known, kind)) if set(p) <= set(rows)}
        assert inside <= back
    everything = known[np.arange(s.n)]
    assert everything == known


def test_restriction_states_nothing_new_unless_something_would_be_lost():
    known = Constraints([(0, 1), (1, 2), (0, 2)], [(2, 3), (0, 4)], n_samples=6)
    part = known[[0, 2, 3]]
    assert part.must_link.tolist() == [[0, 1]]
    assert part.cannot_link.tolist() == [[1, 2]]


def test_new_links_weigh_as_the_lightest_statement_behind_them():
    known = Constraints(
        [(0, 1), (1, 2)],
        [(1, 3)],
        n_samples=4,
        must_link_weight=[5.0, 0.5],
        cannot_link_weight=[0.25],
    )
    part = known[[0, 2, 3]]
    assert part.must_link.tolist() == [[0, 1]]
    assert part.must_link_weight.tolist() == [0.5]
    assert part.cannot_link.tolist() == [[0, 2]]
    assert part.cannot_link_weight.tolist() == [0.25]


def test_a_component_keeps_its_class():
    known = Constraints([(0, 1)], labels=["cat", "", "dog", ""])
    part = known[[1, 2, 3]]
    assert part.label_names.tolist() == ["cat", "dog"]
    assert part.labels.tolist() == [0, 1, -1]
    assert part.closure().conflicts.tolist() == [[0, 1]]


def test_rows_can_be_named_in_many_ways():
    known = Constraints([("a", "c")], [("a", "d")], ids=list("abcd"))
    expected = Constraints([("a", "c")], [("a", "d")], ids=list("acd"))
    mask = np.array([True, False, True, True])
    rows = np.uint8([0, 2, 3])
    for key in ([0, 2, 3], (0, 2, 3), np.array([0, -2, -1]), rows, mask, mask.tolist()):
        assert known[key] == expected
        assert known[key, ...] == expected
        assert known.restrict(key) == expected
    assert known[1:] == Constraints(cannot_link=[("c", "d")], ids=list("bcd"))
    assert known[[3, 0]].cannot_link.tolist() == [[0, 1]]
    assert known[[3, 0]].ids.tolist() == ["d", "a"]
    assert known[[]].n_samples == 0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, 4], "no row 4"),
        ([0, 0], "Row 0 is asked for 2 times"),
        ([True, False], "mask has 2 entries for 4 rows"),
        ([0.5], "positions, a boolean mask or a slice"),
        (2, "positions, a boolean mask or a slice"),
        ("a", "positions, a boolean mask or a slice"),
    ],
)
def test_bad_rows_are_explained(rows, message):
    with pytest.raises(SidelightError, match=message):
        Constraints(n_samples=4).restrict(rows)


def test_constraints_are_not_a_sequence():
    with pytest.raises(TypeError):
        iter(Constraints(n_samples=3))
