"""Correspondences: links by id and position, merged objects, files, subsets and stacked views."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from tests.strategies import view_links

from sidelight.constraints import Correspondences
from sidelight.exceptions import ConstraintFileError, SidelightError, UnknownIds


def components(sizes: list[int], links: np.ndarray) -> np.ndarray:
    start = np.concatenate([[0], np.cumsum(sizes)])
    a, b = start[links[:, 0]] + links[:, 1], start[links[:, 2]] + links[:, 3]
    graph = sparse.coo_array((np.ones(len(a)), (a, b)), shape=(start[-1], start[-1]))
    return connected_components(graph, directed=False)[1]


def same_partition(first: np.ndarray, second: np.ndarray) -> bool:
    return np.array_equal(first[:, None] == first, second[:, None] == second)


@given(view_links())
def test_objects_are_the_connected_components(case):
    sizes, links = case
    known = Correspondences(links, sizes)
    expected = components(sizes, links)
    assert same_partition(np.concatenate(known.objects), expected)
    assert known.n_objects == len(np.unique(expected))
    assert known.counts.sum() == sum(sizes)
    views = [set(rows.tolist()) for rows in known.objects]
    assert set(known.complete.tolist()) == set.intersection(*views)


@given(view_links())
def test_order_of_links_and_ends_does_not_count(case):
    sizes, links = case
    known = Correspondences(links, sizes)
    turned = Correspondences(links[::-1][:, [2, 3, 0, 1]], sizes)
    assert known == turned
    assert hash(known) == hash(turned)


@given(view_links(), st.randoms(use_true_random=False))
def test_rows_that_a_dropped_row_linked_stay_linked(case, random):
    sizes, links = case
    known = Correspondences(links, sizes)
    view = random.randrange(len(sizes))
    kept = random.sample(range(sizes[view]), random.randint(0, sizes[view]))
    taken = known.take(view, kept)
    assert taken.sizes[view] == len(kept)
    before = np.concatenate([of[kept] if v == view else of for v, of in enumerate(known.objects)])
    assert same_partition(np.concatenate(taken.objects), before)


def test_links_by_id_by_position_and_by_view_agree():
    ids = [["ann", "bob", "cid"], [30, 10, 20]]
    by_id = Correspondences([("ann", 10), ("cid", 30)], ids=ids)
    by_view = Correspondences([(1, 10, 0, "ann"), (0, "cid", 1, 30)], ids=ids)
    assert by_id == by_view
    assert by_id.links.tolist() == [[0, 0, 1, 1], [0, 2, 1, 0]]
    assert Correspondences([(0, 1), (2, 0)], [3, 3]).links.tolist() == by_id.links.tolist()


def test_same_id_in_several_views_is_one_object():
    known = Correspondences.from_ids(["a", "b"], ["c", "a"], ["b", "c", "d"])
    assert known.links.tolist() == [[0, 0, 1, 1], [0, 1, 2, 0], [1, 0, 2, 1]]
    assert known.n_objects == 4
    assert len(known.complete) == 0


def test_repeated_id_of_a_view_is_named():
    with pytest.raises(SidelightError, match=r"View 1: .*'b' names 2 rows"):
        Correspondences.from_ids(["a"], ["b", "c", "b"])


def test_chain_within_one_view_is_told_by_ids():
    known = Correspondences([("a", "x"), ("b", "x"), ("c", "y")], ids=[["a", "b", "c"], ["x", "y"]])
    (note,) = known.notes
    assert "'a' and 'b' of view 0 are one object" in note
    assert "'a' of view 0 - 'x' of view 1 - 'b' of view 0" in note
    assert known.objects[0].tolist() == [0, 0, 1]
    assert note in known.summary()


def test_repeated_links_are_merged_with_a_note():
    known = Correspondences([(0, 0), (0, 0)], [1, 1])
    assert known.n_links == 1
    assert known.notes == ("1 repeated link was merged.",)


@pytest.mark.parametrize(
    ("links", "sizes", "message"),
    [
        ([(0, 5)], [2, 2], "row 5"),
        ([(0, 0, 2, 0)], [2, 2], "view 2"),
        ([(0, 0, 1)], [2, 2], "entries"),
        ([(0, 0)], [2, 2, 2], "4|entries"),
        ([(0, 0)], [2], "two views"),
        ([(0, 0)], None, "sizes="),
        ([(0.5, 0)], [2, 2], "whole number"),
    ],
)
def test_wrong_links_are_explained(links, sizes, message):
    with pytest.raises(SidelightError, match=message):
        Correspondences(links, sizes)


def test_unknown_id_is_named():
    with pytest.raises(UnknownIds, match=r"'anm'"):
        Correspondences([("anm", "x")], ids=[["ann"], ["x"]])


def test_immutable_and_picklable():
    known = Correspondences([("a", 1), ("b", 1)], [2, 2], ids=[["a", "b"], None])
    again = pickle.loads(pickle.dumps(known))
    assert again == known
    assert again.notes == known.notes
    assert copy.deepcopy(known) is known
    with pytest.raises(AttributeError, match="cannot be changed"):
        known.links = None
    for array in (known.links, *known.objects, again.links, again.ids[0]):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".json", ".parquet"])
@pytest.mark.parametrize("ids", [None, [["a,1", 'b"', "c\r"], None], [[3, 1, 2], ["x", "y"]]])
def test_files_come_back_equal(tmp_path, ending, ids):
    known = Correspondences([[0, 0, 1, 1], [0, 2, 1, 0]] if ids is None else
                            [(ids[0][0], "y" if ids[1] else 1)], [3, 2], ids)  # fmt: skip
    path = tmp_path / f"links{ending}"
    known.write(path)
    assert Correspondences.read(path, ids=known.ids, sizes=known.sizes) == known


def test_file_with_two_columns_of_ids(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("photo,sketch\np1,s2\np3,s1\n")
    known = Correspondences.read(path, ids=[["p1", "p2", "p3"], ["s1", "s2"]])
    assert known.links.tolist() == [[0, 0, 1, 1], [0, 2, 1, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("photo,sketch\np1,s2\np9,s1\n", "line 3.*'p9'.*view 0"),
        ("view_a,id_a,view_b,id_b\n0,p1,7,s1\n", "line 2.*'7'"),
        ("a,b,c\n1,2,3\n", "view_a"),
    ],
)
def test_bad_files_are_explained(tmp_path, text, message):
    path = tmp_path / "links.csv"
    path.write_text(text)
    with pytest.raises(SidelightError, match=message):
        Correspondences.read(path, ids=[["p1", "p2", "p3"], ["s1", "s2"]])


def test_missing_file_is_explained(tmp_path):
    with pytest.raises(ConstraintFileError, match="no file"):
        Correspondences.read(tmp_path / "none.csv", sizes=[1, 1])


@given(view_links())
def test_table_comes_back_equal(case):
    sizes, links = case
    known = Correspondences(links, sizes)
    assert Correspondences.from_table(known.to_table(), sizes=sizes) == known


def test_stacked_views_hold_means_and_missing_blocks():
    known = Correspondences([(0, 0, 1, 1), (0, 0, 1, 2)], [2, 3])
    first = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32)
    second = np.array([[5.0], [6.0], [np.nan]], dtype=np.float32)
    table, columns = known.stack([first, second])
    assert table.dtype == np.float32
    np.testing.assert_array_equal(table, [[1, 2, 6], [3, 4, np.nan], [np.nan, np.nan, 5]])
    assert [c.tolist() for c in columns] == [[0, 1], [2]]
    with pytest.raises(SidelightError, match="View 1"):
        known.stack([first, second[:2]])
    with pytest.raises(SidelightError, match="2 views"):
        known.stack([first])


def test_repr_counts_views_links_and_objects():
    known = Correspondences([(0, 1)], [1, 2])
    assert repr(known) == (
        "<Correspondences of 2 views of 1 and 2 rows: 1 link, 2 objects, 1 of them in all views>"
    )


def test_data_frames_are_taken_by_their_index():
    known = Correspondences.from_ids(["a", "b", "c"], ["c", "b", "x"])
    first = pd.DataFrame({"u": [3.0, 1.0, 2.0]}, index=["c", "a", "b"])
    second = np.array([[30.0], [20.0], [0.0]])
    aligned = known.align([first, second])
    assert aligned.links.tolist() == [[0, 0, 1, 0], [0, 2, 1, 1]]
    assert aligned.ids[0].tolist() == ["c", "a", "b"]
    table, _ = known.stack([first, second])
    np.testing.assert_array_equal(table, [[3, 30], [1, np.nan], [2, 20], [np.nan, 0]])
    with pytest.raises(SidelightError, match="view 0"):
        known.align([first.rename(index={"a": "z"}), second])


def test_views_without_a_common_id_are_told():
    (note,) = Correspondences.from_ids([1, 2], ["1", "2"]).notes
    assert "No id occurs in two views" in note
