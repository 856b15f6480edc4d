"""Share of the known pairs that a partition respects."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import pairs_and_labels

from sidelight import Constraints
from sidelight.evaluation import constraint_satisfaction, rand_index
from sidelight.exceptions import SidelightError


@given(pairs_and_labels())
def test_equals_a_loop(case):
    must, cannot, labels = case
    known = Constraints(must_link=must, cannot_link=cannot, n_samples=len(labels))
    kept_must = [labels[i] == labels[j] for i, j in must]
    kept_cannot = [labels[i] != labels[j] for i, j in cannot]
    plain = constraint_satisfaction(known, labels)
    balanced = constraint_satisfaction(known, labels, balanced=True)
    if not must and not cannot:
        assert np.isnan(plain)
        assert np.isnan(balanced)
        return
    assert plain == pytest.approx(np.mean(kept_must + kept_cannot))
    shares = [np.mean(kept) for kept in (kept_must, kept_cannot) if kept]
    assert balanced == pytest.approx(np.mean(shares))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=12))
def test_with_all_pairs_it_is_the_rand_index(rows):
    classes, clusters = np.array(rows).T
    pairs = np.array(list(combinations(range(len(classes)), 2)))
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    known = Constraints(must_link=pairs[same], cannot_link=pairs[~same], n_samples=len(classes))
    expected = rand_index(classes, clusters)
    assert constraint_satisfaction(known, clusters) == pytest.approx(expected)
    # Labels stand for the same pairs, counted without listing them.
    assert constraint_satisfaction(Constraints.from_labels(classes), clusters) == pytest.approx(
        expected
    )


def test_the_truth_satisfies_everything_under_any_names():
    classes = np.repeat([0, 1, 2], 5)
    known = Constraints.from_labels(np.where(np.arange(15) % 2, classes, -1))
    assert constraint_satisfaction(known, np.array(["x", "y", "z"])[classes]) == 1


def test_groups_count_through_the_pairs_inside():
    known = Constraints.from_groups([0, 0, 0, 1, 1, -1])
    # Pairs inside: 3 + 1; kept: one of the first group, the one of the second.
    assert constraint_satisfaction(known, [0, 0, 1, 1, 1, 1]) == 0.5


def test_rows_without_a_cluster_are_clusters_of_their_own():
    known = Constraints(must_link=[(0, 1)], cannot_link=[(2, 3)], n_samples=4)
    assert constraint_satisfaction(known, [-1, -1, -1, -1]) == 0.5
    assert constraint_satisfaction(known, [0, 0, -1, -1]) == 1


def test_many_small_clusters_do_not_win_the_balanced_score():
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(10), 10)
    known = Constraints.from_labels(classes)
    singletons = rng.permutation(100)
    assert constraint_satisfaction(known, singletons) > 0.9
    assert constraint_satisfaction(known, singletons, balanced=True) == 0.5


def test_lengths_must_agree():
    with pytest.raises(SidelightError, match=r"3 labels.*4 rows"):
        constraint_satisfaction(Constraints(must_link=[(0, 1)], n_samples=4), [0, 1, 2])
