"""Information of two labelings within the classes of a third: its identities."""

import numpy as np
import pytest
from hypothesis import given
from tests.strategies import labelings

from sidelight.evaluation import (
    conditional_mutual_information,
    mutual_information,
    variation_of_information,
)
from sidelight.exceptions import SidelightError


@given(labelings(3, max_rows=15, n_clusters=4))
def test_chain_rule(labels):
    a, b, c = labels
    both = 10 * b + c
    information = conditional_mutual_information(a, b, c)
    assert information >= 0
    assert information == pytest.approx(
        mutual_information(a, both) - mutual_information(a, c), abs=1e-12
    )
    assert information == pytest.approx(conditional_mutual_information(b, a, c), abs=1e-12)
    assert information - mutual_information(a, b) == pytest.approx(
        conditional_mutual_information(a, c, b) - mutual_information(a, c), abs=1e-12
    )


@given(labelings(3, max_rows=15, n_clusters=4))
def test_a_hard_clustering_says_less_of_the_rows_beside_a_split(labels):
    clusters, known, _ = labels
    rows = np.arange(len(clusters))
    beside = conditional_mutual_information(rows, clusters, known)
    shared = mutual_information(clusters, known)
    assert beside == pytest.approx(mutual_information(rows, clusters) - shared, abs=1e-12)


@given(labelings(3, max_rows=15, n_clusters=4))
def test_a_constant_split_changes_nothing(labels):
    a, b, _ = labels
    assert conditional_mutual_information(a, b, np.zeros(len(a))) == pytest.approx(
        mutual_information(a, b), abs=1e-12
    )


def test_orthogonal_clusterings():
    """Four conditions for orthogonality, all at once, on a grid; and none off it."""
    a, b = np.divmod(np.arange(24), 6)
    joint = 10 * a + b
    rows = np.arange(24)
    entropy = [mutual_information(labels, labels) for labels in (a, b, joint)]
    assert entropy[2] == pytest.approx(entropy[0] + entropy[1])
    assert variation_of_information(a, b) == pytest.approx(entropy[0] + entropy[1])
    assert mutual_information(joint, rows) == pytest.approx(
        mutual_information(a, rows) + mutual_information(b, rows)
    )
    b = b.copy()
    b[:3] = 0
    assert variation_of_information(a, b) < mutual_information(a, a) + mutual_information(b, b)


def test_rows_with_something_unknown_are_left_out():
    full = conditional_mutual_information([0, 1, 0, 1], [0, 1, 1, 1], [0, 0, 1, 1])
    more = conditional_mutual_information(
        [0, 1, 0, 1, -1, 0], [0, 1, 1, 1, 1, 0], ["a", "a", "b", "b", "a", None]
    )
    assert more == pytest.approx(full)


def test_bad_labels():
    with pytest.raises(SidelightError, match="labels_true has 2 rows and known has 3"):
        conditional_mutual_information([0, 1], [0, 1], [0, 1, 1])
    with pytest.raises(SidelightError, match="nothing to score"):
        conditional_mutual_information([0, 1], [0, 1], [-1, -1])
