"""Normalized point uncertainty, against its definitions written out."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from tests.active.conftest import converse

from sidelight.active import NPU
from sidelight.active._npu import entropy, expected_questions, neighborhood_probabilities
from sidelight.cluster import PCKMeans

LEAVES = st.integers(1, 6).flatmap(
    lambda trees: st.lists(
        st.lists(st.integers(0, 4), min_size=trees, max_size=trees), min_size=7, max_size=7
    )
)


@given(LEAVES)
def test_looking_up_leaves_is_the_matrix_of_similarities(leaves):
    leaves = np.array(leaves)
    members = [np.array([0, 1]), np.array([2]), np.array([3, 4, 5])]
    p = neighborhood_probabilities(leaves.T, members)
    S = (leaves[:, None] == leaves).mean(axis=2)
    mean = np.stack([S[:, rows].mean(axis=1) for rows in members], axis=1)
    total = mean.sum(axis=1, keepdims=True)
    expected = np.where(total > 0, mean / np.where(total > 0, total, 1), 1 / 3)
    np.testing.assert_allclose(p, expected)
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_the_same_on_a_real_forest(mixed):
    X, y = mixed
    leaves = RandomForestClassifier(20, random_state=0).fit(X, y).apply(X)
    members = [np.flatnonzero(y == c)[:4] for c in range(3)]
    p = neighborhood_probabilities(leaves.T, members)
    S = (leaves[:, None] == leaves).mean(axis=2)
    mean = np.stack([S[:, rows].mean(axis=1) for rows in members], axis=1)
    np.testing.assert_allclose(p * mean.sum(axis=1, keepdims=True), mean, atol=1e-12)


def test_a_row_between_two_neighborhoods_scores_two_thirds():
    p = np.array([[0.5, 0.5]])
    assert entropy(p)[0] == pytest.approx(1)
    assert expected_questions(p, last_is_free=False)[0] == pytest.approx(1.5)
    assert entropy(p)[0] / expected_questions(p, last_is_free=False)[0] == pytest.approx(2 / 3)


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=4), st.booleans())
def test_the_expected_number_of_questions_by_enumeration(weights, last_is_free):
    p = np.array(weights) / sum(weights)

    def expected(order):
        # Ask in this order until found; the last is not asked where it must be the one.
        return sum(
            p[where] * (min(place + 1, len(p) - 1) if last_is_free else place + 1)
            for place, where in enumerate(order)
        )

    best = min(expected(order) for order in permutations(range(len(p))))
    assert expected_questions(p[None], last_is_free=last_is_free)[0] == pytest.approx(best)


def test_certain_rows_have_no_entropy():
    np.testing.assert_array_equal(entropy(np.array([[1.0, 0.0], [0.0, 1.0]])), [0, 0])


def test_the_rows_are_clustered_again_after_every_batch(mixed):
    X, y = mixed
    fits = []

    class Counting(PCKMeans):
        def fit(self, X, y=None, *, constraints=None):
            fits.append(constraints.n_pairs)
            return super().fit(X, y, constraints=constraints)

    _, spy = converse(NPU(Counting(3, n_init=1), n_estimators=3, batch=4), X, y, 3, budget=40)
    points = list(dict.fromkeys(i for i, _ in spy.asked))
    assert len(fits) == pytest.approx(len(points) / 4, abs=1.5)
    assert fits == sorted(fits)
    assert fits[-1] > fits[0] > 0
