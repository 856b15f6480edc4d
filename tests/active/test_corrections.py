"""Edits by hand become constraints, and survive the next fit."""

import numpy as np
import pytest
from scipy import sparse

from sidelight import Constraints
from sidelight.active import freeze_clusters, merge_clusters, move_rows, split_cluster
from sidelight.cluster import COPKMeans, KMeans
from sidelight.evaluation import adjusted_rand_index
from sidelight.exceptions import SidelightError


@pytest.fixture
def line():
    X = np.array([[0.0], [0.5], [1.0], [5.0], [5.5], [6.0], [10.0], [10.5], [11.0]])
    return X, KMeans(3, random_state=0).fit(X).labels_


def test_a_moved_row_is_where_it_was_moved_to_after_the_next_fit(line):
    X, labels = line
    edit = move_rows(labels, [2], labels[3], X=X)
    again = COPKMeans(3, random_state=0).fit(X, constraints=edit).labels_
    assert again[2] == again[4]
    assert again[2] != again[1]
    others = np.delete(np.arange(9), 2)
    assert adjusted_rand_index(labels[others], again[others]) == 1


def test_the_rows_that_stand_for_clusters_do_not_move_and_are_central(line):
    X, labels = line
    edit = move_rows(labels, [3, 4], labels[0], X=X)
    assert edit.must_link.tolist() == [[1, 3], [1, 4]]
    assert edit.cannot_link.tolist() == [[3, 5], [4, 5]]
    assert move_rows(labels, [3, 4], labels[0], X=sparse.csr_matrix(X)) == edit
    # nobody is left in the old cluster to be apart from; rows already there are left alone
    whole = move_rows(labels, [1, 3, 4, 5], labels[0])
    assert (len(whole.must_link), len(whole.cannot_link)) == (3, 0)


def test_edits_carry_the_ids_and_unite_with_what_is_known(line):
    _, labels = line
    ids = [f"r{i}" for i in range(9)]
    known = Constraints([("r0", "r1")], ids=ids)
    edits = (
        known
        | move_rows(labels, 2, labels[3], ids=ids)
        | freeze_clusters(labels, [labels[8]], ids=ids)
    )
    assert len(edits.must_link) == 2
    assert edits.closure().sizes.max() == 3


def test_merged_clusters_stay_one(line):
    X, labels = line
    edit = merge_clusters(labels, labels[0], labels[3])
    again = COPKMeans(2, random_state=0).fit(X, constraints=edit).labels_
    np.testing.assert_array_equal(again == again[0], labels != labels[8])


def test_frozen_clusters_stay_as_they_are_and_apart(line):
    X, _ = line
    labels = np.array([0, 1, 0, 1, 0, 2, 2, 2, 2])  # nothing k-means would find
    known = freeze_clusters(labels, [0, 1])
    assert len(known.cannot_link) == 1
    again = COPKMeans(3, random_state=0).fit(X, constraints=known).labels_
    frozen = labels < 2
    assert adjusted_rand_index(labels[frozen], again[frozen]) == 1
    everything = freeze_clusters(labels).closure()
    assert (everything.n_components, len(everything.conflicts)) == (3, 3)
    noise = freeze_clusters([0, 0, -1, 1]).closure()
    assert noise.n_components == 3
    assert noise.n_entailed_cannot_link == 2


def test_only_one_cluster_is_split(line):
    X, _ = line
    labels = np.array([4, 4, 4, 4, 4, 4, 7, 7, -1])
    for rows in (X, sparse.csr_matrix(X)):
        again = split_cluster(KMeans(random_state=0), rows, labels, 4)
        np.testing.assert_array_equal(again[6:], labels[6:])
        assert set(again[:6]) == {4, 8}
        assert adjusted_rand_index([0, 0, 0, 1, 1, 1], again[:6]) == 1
    assert labels[0] == 4  # the labels given are not changed


def test_the_largest_part_keeps_the_number(line):
    X, _ = line
    again = split_cluster(KMeans(random_state=0), X[:5], [0, 0, 0, 0, 0], 0)
    assert again.tolist() == [0, 0, 0, 1, 1]


def test_splitting_listens_to_constraints_inside_the_cluster(line):
    X, _ = line
    labels = np.zeros(9, int)
    labels[6:] = 1
    known = Constraints([(2, 8), (8, 3)], n_samples=9)  # joined through a row outside
    again = split_cluster(COPKMeans(random_state=0), X, labels, 0, 2, constraints=known)
    assert again[2] == again[3]
    np.testing.assert_array_equal(again[6:], 1)


def test_mistakes_are_explained(line):
    X, labels = line
    with pytest.raises(SidelightError, match="no cluster 9; the clusters are 0, 1, 2"):
        move_rows(labels, [0], 9)
    with pytest.raises(SidelightError, match="no row 99"):
        move_rows(labels, [99], labels[0])
    with pytest.raises(SidelightError, match="9 labels for 4 rows"):
        split_cluster(KMeans(), X[:4], labels, labels[0])
    with pytest.raises(SidelightError, match="numbered"):
        split_cluster(KMeans(), X, np.array(list("aaabbbccc")), "a")
