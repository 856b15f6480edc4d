"""The value object: what is accepted, kept, compared and combined."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from tests.strategies import stated

from sidelight import Constraints
from sidelight.exceptions import (
    InconsistentConstraints,
    SidelightError,
    UnknownIds,
)

# ------------------------------------------------------------------------- construction


def test_pairs_are_sorted_unique_and_turned_with_the_largest_weight():
    known = Constraints(
        [(3, 1), (0, 2), (1, 3), (2, 2)],
        [(4, 0), (0, 4), (0, 3)],
        n_samples=5,
        must_link_weight=[1.0, 2.0, 5.0, 1.0],
        cannot_link_weight=[3.0, 2.0, 1.0],
    )
    assert known.must_link.tolist() == [[0, 2], [1, 3]]
    assert known.must_link_weight.tolist() == [2.0, 5.0]
    assert known.cannot_link.tolist() == [[0, 3], [0, 4]]
    assert known.cannot_link_weight.tolist() == [1.0, 3.0]
    assert known.must_link.dtype == np.int64
    assert known.notes == (
        "1 must-link of a row with itself was dropped.",
        "1 repeated must-link was merged (largest weight kept).",
        "1 repeated cannot-link was merged (largest weight kept).",
    )
    assert all(note in known.summary() for note in known.notes)


@pytest.mark.parametrize(
    "pairs",
    [
        [(0, 1), (2, 1)],
        np.array([[0, 1], [2, 1]], dtype=np.uint8),
        np.array([[0.0, 1.0], [2.0, 1.0]]),
        pd.DataFrame({"a": [0, 2], "b": [1, 1]}),
        ((i, j) for i, j in [(0, 1), (2, 1)]),
    ],
)
def test_pairs_come_in_many_shapes(pairs):
    assert Constraints(pairs, n_samples=3).must_link.tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize("nothing", [None, [], np.empty((0, 2)), ()])
def test_no_pairs(nothing):
    known = Constraints(nothing, nothing, n_samples=3)
    assert known.is_empty
    assert known.must_link.shape == (0, 2)
    assert known.n_pairs == 0


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(0, 1, 2)], r"must be pairs, an array of shape \(m, 2\), got shape \(1, 3\)"),
        ([0, 1], r"got shape \(2,\)"),
        ([(0, 1), (2,)], "must be pairs"),
        ([(0, 0.5)], "0.5 is not a whole number"),
        ([(0, np.nan)], "nan is not a whole number"),
        ([("a", "b")], r"row positions \(or pass ids=\), but 'a' is not one"),
        ([(True, False)], "but True is not one"),
    ],
)
def test_bad_pairs_are_explained(pairs, message):
    with pytest.raises(SidelightError, match=message):
        Constraints(pairs, n_samples=3)


@pytest.mark.parametrize("bad", [3, -1])
def test_rows_that_do_not_exist_are_named(bad):
    with pytest.raises(UnknownIds, match=f"cannot_link names row {bad}, but there are 3") as caught:
        Constraints(cannot_link=[(0, 1), (1, bad)], n_samples=3)
    assert caught.value.ids == (bad,)


def test_number_of_rows_is_never_guessed():
    with pytest.raises(SidelightError, match="pass n_samples="):
        Constraints([(0, 1)])
    with pytest.raises(SidelightError, match="pass n_samples="):
        Constraints()
    with pytest.raises(SidelightError, match=r"n_samples must be a whole number, got 2\.5"):
        Constraints(n_samples=2.5)
    with pytest.raises(SidelightError, match="between 0 and"):
        Constraints(n_samples=-1)


def test_number_of_rows_comes_from_what_tells_it():
    assert Constraints(ids="abc").n_samples == 3
    assert Constraints(labels=[0, -1]).n_samples == 2
    assert Constraints(groups=[0, -1, -1, -1]).shape == (4,)
    with pytest.raises(SidelightError, match=r"labels must hold one entry per row, shape \(3,\)"):
        Constraints(ids="abc", labels=[0, 1])
    with pytest.raises(SidelightError, match="3 ids for n_samples=2"):
        Constraints(ids="abc", n_samples=2)


def test_a_row_apart_from_itself_is_a_contradiction():
    with pytest.raises(InconsistentConstraints, match="cannot-link 'b' - 'b'") as caught:
        Constraints(cannot_link=[("a", "b"), ("b", "b")], ids="abc")
    assert caught.value.pair == (1, 1)


@pytest.mark.parametrize("weight", [0.0, -1.0, np.inf, np.nan])
def test_weights_that_are_not_positive_and_finite_name_their_pair(weight):
    with pytest.raises(SidelightError, match="must-link 'a' - 'c' has the weight"):
        Constraints([("a", "b"), ("a", "c")], ids="abc", must_link_weight=[1.0, weight])


def test_weights_must_fit_the_pairs():
    with pytest.raises(SidelightError, match=r"one number per pair, shape \(1,\), got \(2,\)"):
        Constraints([(0, 1)], n_samples=2, must_link_weight=[1.0, 2.0])
    with pytest.raises(SidelightError, match="must be numbers"):
        Constraints([(0, 1)], n_samples=2, must_link_weight=["heavy"])
    assert Constraints([(0, 1)], n_samples=2, must_link_weight=3).must_link_weight.tolist() == [3.0]


def test_given_arrays_are_not_kept_and_ours_cannot_be_changed():
    pairs, weight = np.array([[0, 1]]), np.array([2.0])
    labels, ids = np.array([0, -1, 1]), np.array([7, 8, 9])
    by_position = Constraints(pairs, n_samples=3, must_link_weight=weight, labels=labels)
    by_id = Constraints(ids=ids)
    pairs[:], weight[:], labels[:], ids[:] = 2, 9.0, 1, 0
    assert by_position.must_link.tolist() == [[0, 1]]
    assert by_position.must_link_weight.tolist() == [2.0]
    assert by_position.labels.tolist() == [0, -1, 1]
    assert by_id.ids.tolist() == [7, 8, 9]
    for array in (by_position.must_link, by_position.must_link_weight, by_position.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError, match="cannot be changed"):
        by_position.n_samples = 4
    with pytest.raises(AttributeError, match="cannot be changed"):
        del by_position.must_link
    with pytest.raises(AttributeError):
        by_position.other = 1


# ------------------------------------------------------------------------- ids


@pytest.mark.parametrize(
    "ids",
    [
        ["d", "a", "c", "b"],
        [40, 10, 30, 20],
        np.array([-1, 10, 30, 20], dtype=np.int32),
        [("x", 1), ("x", 2), ("y", 1), ("y", 2)],
        ["a", 1, None.__class__, 2.5],
        ["long" * 30, "b", "c", "d"],
        [1.5, 2.5, 3.5, 4.5],
        [2**80, 2, 3, 4],
        np.array([2**63, 2, 3, 4], dtype=np.uint64),
        pd.Series(["d", "a", "c", "b"], index=[5, 6, 7, 8]),
        pl.Series(["d", "a", "c", "b"]),
        pd.Index(["d", "a", "c", "b"]),
    ],
)
def test_ids_of_many_kinds_are_resolved(ids):
    given_ids = list(ids)
    known = Constraints([(given_ids[3], given_ids[0])], [(given_ids[1], given_ids[3])], ids=ids)
    assert known.must_link.tolist() == [[0, 3]]
    assert known.cannot_link.tolist() == [[1, 3]]
    for position, row_id in enumerate(given_ids):
        assert known.position(row_id) == position
        assert known.id_of(position) == row_id
    assert pickle.loads(pickle.dumps(known)) == known


@pytest.mark.parametrize(
    ("ids", "pairs"),
    [
        (["a", "b"], pd.DataFrame({"i": ["a"], "j": ["b"]})),
        (["a", "b"], np.array([["a", "b"]], dtype=object)),
        ([1, 2], np.array([[1, 2]], dtype=np.uint16)),
        ([1, 2], np.array([[1.0, 2.0]])),
        ([1, 2], pd.DataFrame({"i": [1], "j": [2]}, dtype=object)),
        (np.array([1.0, 2.0]), [(1, 2)]),
        (["a", "b" * 100], [("a", "b" * 100)]),
    ],
)
def test_pairs_of_ids_come_in_many_shapes(ids, pairs):
    assert Constraints(pairs, ids=ids).must_link.tolist() == [[0, 1]]


def test_positions_may_be_objects():
    pairs = pd.DataFrame({"i": [0], "j": [1]}, dtype=object)
    assert Constraints(pairs, n_samples=2).must_link.tolist() == [[0, 1]]


def test_ids_of_the_wrong_form_are_explained():
    with pytest.raises(SidelightError, match=r"one id per row, got an array of shape \(2, 2\)"):
        Constraints(ids=np.eye(2))
    with pytest.raises(SidelightError, match="ids must be numbers, words or the like"):
        Constraints(ids=[["a"], ["b"]])


def test_unknown_ids_are_named():
    with pytest.raises(UnknownIds, match="'zoe', 'yan', which do not occur among the 2") as caught:
        Constraints([("ann", "zoe"), ("bob", "yan"), ("zoe", "bob")], ids=["ann", "bob"])
    assert caught.value.ids == ("zoe", "yan")
    with pytest.raises(UnknownIds, match="3, which does not occur"):
        Constraints([(10, 3)], ids=[10, 20])
    with pytest.raises(UnknownIds, match="0"):  # a position is not an id
        Constraints([(0, 1)], ids=["0", "1"])
    with pytest.raises(UnknownIds, match="'zoe'"):
        Constraints(ids=["ann"]).position("zoe")
    with pytest.raises(UnknownIds, match="no row 2"):
        Constraints(ids=["ann"]).id_of(2)


@pytest.mark.parametrize("ids", [["a", "b", "a"], [3, 1, 3], [(1,), "b", (1,)]])
def test_repeated_ids_are_refused(ids):
    with pytest.raises(SidelightError, match="positions 0 and 2"):
        Constraints(ids=ids)


@pytest.mark.parametrize("ids", [["a", ""], ["a", None], ["a", np.nan], [1.0, np.nan]])
def test_missing_ids_are_refused(ids):
    with pytest.raises(SidelightError, match="the id at position 1 is missing"):
        Constraints(ids=ids)


def test_rows_are_named_for_messages():
    assert Constraints(ids=["ann", "bob"]).name_rows([1, 0]) == ["'bob'", "'ann'"]
    assert Constraints(n_samples=3).name_rows(np.array([2])) == ["row 2"]
    assert Constraints(ids=["ann", "bob"]).describe_pairs([(0, 1)]) == ["'ann' - 'bob'"]
    assert Constraints(n_samples=3).id_of(-1) == 2
    assert Constraints(n_samples=3).position(2) == 2


# ------------------------------------------------------------------------- labels and groups


@pytest.mark.parametrize(
    "labels",
    [
        [2, -1, 10, 2],
        [2.0, np.nan, 10.0, 2.0],
        ["2", "", "10", "2"],
        np.array(["2", "", "10", "2"]),
        ["2", "-1", " 10", "2"],
        [2, None, "10", 2.0],
        pd.array([2, None, 10, 2], dtype="Int64"),
        pd.Series(["2", None, "10", "2"], dtype="category"),
        pl.Series([2, None, 10, 2]),
    ],
)
def test_labels_of_many_kinds_are_one_and_the_same(labels):
    known = Constraints.from_labels(labels)
    assert known.labels.tolist() == [0, -1, 1, 0]
    assert known.label_names.tolist() == [2, 10]
    assert known == Constraints(labels=[2, -1, 10, 2])
    as_groups = Constraints.from_groups(labels)
    assert as_groups.groups.tolist() == [0, -1, 1, 0]
    assert as_groups.labels is None


def test_words_stay_words():
    known = Constraints(labels=["b", "007", "", "a"])
    assert known.label_names.tolist() == ["007", "a", "b"]
    assert known.labels.tolist() == [2, 0, -1, 1]
    assert Constraints(labels=[True, False]).label_names.tolist() == ["False", "True"]
    assert Constraints(labels=[0.5, 2.0]).label_names.tolist() == ["0.5", "2"]


def test_nothing_labelled_is_nothing_known():
    assert Constraints(labels=[-1, -1]).labels is None
    assert Constraints(labels=[-1, -1], groups=["", None]) == Constraints(n_samples=2)


def test_bad_labels_are_explained():
    with pytest.raises(SidelightError, match=r"got \(1, 2\)"):
        Constraints(labels=np.zeros((1, 2)), n_samples=2)
    with pytest.raises(SidelightError, match="infinite"):
        Constraints(labels=[1.0, np.inf])


# ------------------------------------------------------------------------- values


@given(stated())
def test_equal_values_have_equal_hashes_and_survive_pickling(s):
    first, second = s.constraints(), s.constraints()
    assert first == second
    assert hash(first) == hash(second)
    loaded = pickle.loads(pickle.dumps(first))
    assert loaded == first
    assert hash(loaded) == hash(first)
    assert loaded.notes == first.notes
    assert not loaded.must_link.flags.writeable
    assert copy.copy(first) is first
    assert copy.deepcopy(first) is first


def test_every_field_counts_for_equality():
    base = {"must_link": [(0, 1)], "cannot_link": [(1, 2)], "n_samples": 3}
    variants = [
        base,
        {**base, "n_samples": 4},
        {**base, "must_link": [(0, 2)]},
        {**base, "cannot_link": [(0, 2)]},
        {**base, "must_link_weight": [2.0]},
        {**base, "cannot_link_weight": [2.0]},
        {**base, "labels": [0, -1, -1]},
        {**base, "labels": [1, -1, -1]},
        {**base, "groups": [0, -1, -1]},
        {**base, "groups": [1, -1, -1]},
        {**base, "ids": [0, 1, 2]},
        {**base, "ids": [0, 1, 2], "must_link": [(1, 0)], "labels": ["x", "", ""]},
    ]
    made = [Constraints(**variant) for variant in variants]
    assert len(set(made)) == len(variants)
    assert all((a == b) == (i == j) for i, a in enumerate(made) for j, b in enumerate(made))
    assert made[0] != "something else"


def test_equal_words_of_different_width_are_equal():
    wide = Constraints(ids=["a", "b", "longer"])[[0, 1]]
    narrow = Constraints(ids=["a", "b"])
    assert wide == narrow
    assert hash(wide) == hash(narrow)


def test_repr_and_summary_say_what_is_known():
    known = Constraints(
        [(0, 1)], [(1, 2), (0, 2)], n_samples=5, labels=[0, -1, 1, -1, -1], groups=[0, 0, 1, 1, 1]
    )
    assert repr(known) == (
        "<Constraints on 5 rows: 1 must-link, 2 cannot-links, 2 labels of 2 classes, "
        "5 rows in 2 groups>"
    )
    assert repr(Constraints(n_samples=1)) == "<Constraints on 1 row: nothing known>"
    assert "4 pairs together, 6 pairs apart, in 2 components" in known.summary()
    contradictory = Constraints([(0, 1)], [(0, 1)], n_samples=2, must_link_weight=[0.5])
    assert "Weights from 0.5 to 1." in contradictory.summary()
    assert "1 contradiction; the shortest: cannot-link row 0 - row 1" in contradictory.summary()


def test_mentioned_rows_are_those_of_pairs_labels_and_groups():
    known = Constraints([(6, 1)], [(1, 4)], labels=[-1] * 7 + [3], groups=[9] + [-1] * 7)
    assert known.mentioned.tolist() == [0, 1, 4, 6, 7]
    assert Constraints(n_samples=3).mentioned.tolist() == []
    with pytest.raises(ValueError, match="read-only"):
        known.mentioned[0] = 5
