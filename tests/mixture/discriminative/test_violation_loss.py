"""The smooth count of violations: brute force, identities of the source, finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight import Constraints
from sidelight.mixture.discriminative._objective import (
    one_of_each_class,
    posteriors,
    statements,
    violation,
)

N, K = 14, 3


def known() -> Constraints:
    labels = np.full(N, -1)
    labels[[0, 1, 2, 3, 4]] = [0, 0, 0, 1, 2]
    groups = np.full(N, -1)
    groups[[5, 6, 7]] = 0
    return Constraints(
        [(7, 8), (8, 9)],
        [(9, 10), (0, 12)],
        n_samples=N,
        must_link_weight=[1.0, 2.0],
        cannot_link_weight=[0.5, 1.5],
        labels=labels,
        groups=groups,
    )


@pytest.fixture
def scores() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N, K)) * 2


def entropy(p: np.ndarray) -> float:
    return float(-np.sum(p[p > 0] * np.log(p[p > 0])))


def divergence(posteriors: np.ndarray) -> float:
    """Entropy of the mean minus mean of the entropies, by the definition."""
    return entropy(posteriors.mean(axis=0)) - float(np.mean([entropy(p) for p in posteriors]))


def count_by_hand(c: Constraints, scores: np.ndarray, tau: float) -> float:
    """Weight of what is violated, statement by statement."""
    p, _ = posteriors(scores, tau)
    k = scores.shape[1]
    total = 0.0
    for pair, weight in zip(c.must_link, c.must_link_weight, strict=True):
        total += weight * divergence(p[pair]) / np.log(2)
    for pair, weight in zip(c.cannot_link, c.cannot_link_weight, strict=True):
        total += weight * (1 - divergence(p[pair]) / np.log(2))
    for codes in (c.labels, c.groups):
        for code in np.unique(codes[codes >= 0]):
            rows = np.flatnonzero(codes == code)
            if len(rows) > 1:
                largest = np.log(min(len(rows), k))
                total += (len(rows) - 1) * divergence(p[rows]) / largest
    classes = [np.flatnonzero(c.labels == code) for code in np.unique(c.labels[c.labels >= 0])]
    for turn in range(max(map(len, classes))):
        rows = np.array([members[turn % len(members)] for members in classes])
        largest = np.log(min(len(rows), k))
        total += (len(rows) - 1) * (1 - divergence(p[rows]) / largest)
    return total


@pytest.mark.parametrize("tau", [0.25, 1.3, 4.0])
def test_value_equals_the_definition(scores: np.ndarray, tau: float) -> None:
    told = statements(known(), K)
    by_hand = count_by_hand(known(), scores, tau)
    assert violation(scores[told.rows], told, tau).value == pytest.approx(by_hand, rel=1e-12)


def divergences(scores: np.ndarray, known: Any, sharpness: float) -> np.ndarray:
    """Jensen-Shannon divergence of every statement, in nats."""
    sharp, log_sharp = posteriors(scores, sharpness)
    mixed = known.incidence @ sharp
    entropy_of_mean = -np.sum(mixed * np.log(np.maximum(mixed, 1e-300)), axis=1)
    mean_of_entropies = -(known.incidence @ np.sum(sharp * log_sharp, axis=1))
    return np.asarray(entropy_of_mean - mean_of_entropies)


def test_value_and_terms_agree_with_the_divergences(scores: np.ndarray) -> None:
    told = statements(known(), K)
    loss = violation(scores[told.rows], told, 1.3)
    # The sum of w is minus F of the source; the printed (B.7) lost the sign.
    from_divergences = told.price @ divergences(scores[told.rows], told, 1.3)
    assert loss.terms.sum() == pytest.approx(from_divergences)
    assert loss.value == pytest.approx(from_divergences + told.offset)


def test_slope_by_finite_differences(scores: np.ndarray) -> None:
    told = statements(known(), K)
    q, step = scores[told.rows], 1e-6
    slope = violation(q, told, 1.3).slope
    for i, j in np.ndindex(*q.shape):
        shift = np.zeros_like(q)
        shift[i, j] = step
        ahead, back = (violation(q + s * shift, told, 1.3).value for s in (1, -1))
        assert slope[i, j] == pytest.approx((ahead - back) / (2 * step), abs=1e-8)
    np.testing.assert_allclose(slope.sum(axis=1), 0, atol=1e-12)


def test_slope_change_by_finite_differences(scores: np.ndarray) -> None:
    told = statements(known(), K)
    q, step = scores[told.rows], 1e-6
    changes = np.random.default_rng(1).normal(size=(len(q), 4, K))
    exact = violation(q, told, 1.3).slope_change(changes)
    for p in range(4):
        ahead, back = (violation(q + s * step * changes[:, p], told, 1.3).slope for s in (1, -1))
        np.testing.assert_allclose(exact[:, p], (ahead - back) / (2 * step), atol=1e-8)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), tau=st.floats(0.1, 20), scale=st.floats(0.1, 1e3))
def test_the_count_lies_between_nothing_and_everything(seed: int, tau: float, scale: float) -> None:
    q = np.random.default_rng(seed).normal(size=(N, K)) * scale
    told = statements(known(), K)
    loss = violation(q[told.rows], told, tau)
    assert -1e-9 <= loss.value <= told.weight + 1e-9
    assert np.isfinite(loss.slope).all()
    assert np.isfinite(loss.slope_change(np.ones((len(told.rows), 1, K)))).all()


def test_sharp_posteriors_count_violations(scores: np.ndarray) -> None:
    pairs = Constraints([(0, 1), (1, 2), (3, 4)], [(4, 5), (5, 6), (8, 9)], n_samples=N)
    told = statements(pairs, K)
    exact = pairs.violations(np.argmax(scores, axis=1)).n
    assert 0 < exact < 6
    assert violation(scores[told.rows], told, 400.0).value == pytest.approx(exact, abs=1e-6)


def test_a_constant_per_row_changes_nothing(scores: np.ndarray) -> None:
    told = statements(known(), K)
    shifted = scores + np.random.default_rng(2).normal(size=(N, 1)) * 50
    one, other = (violation(q[told.rows], told, 1.3) for q in (scores, shifted))
    assert one.value == pytest.approx(other.value)
    np.testing.assert_allclose(one.slope, other.slope, atol=1e-10)


def test_order_and_names_do_not_matter(scores: np.ndarray) -> None:
    told = statements(known(), K)
    value = violation(scores[told.rows], told, 1.3).value
    labels_turned = violation(scores[told.rows][:, [2, 0, 1]], told, 1.3).value
    assert labels_turned == pytest.approx(value)
    # Rows in another order: entry old of "place" is its new position. Classes and groups that are
    # taken by turns follow the order of rows, so pairs alone are moved here.
    pairs = Constraints(known().must_link, known().cannot_link, n_samples=N)
    place = np.random.default_rng(3).permutation(N)
    moved = Constraints(place[pairs.must_link], place[pairs.cannot_link], n_samples=N)
    moved_scores = np.empty_like(scores)
    moved_scores[place] = scores
    one, other = statements(pairs, K), statements(moved, K)
    assert violation(scores[one.rows], one, 1.3).value == pytest.approx(
        violation(moved_scores[other.rows], other, 1.3).value
    )


def test_a_pair_of_double_weight_counts_twice(scores: np.ndarray) -> None:
    values = []
    for weight in (1.0, 2.0):
        told = statements(Constraints([(0, 5)], n_samples=N, must_link_weight=[weight]), K)
        values.append(violation(scores[told.rows], told, 1.0).value)
    assert values[1] == pytest.approx(2 * values[0])


def test_pairs_and_groups_of_two_are_the_same(scores: np.ndarray) -> None:
    groups = np.full(N, -1)
    groups[[0, 1]], groups[[2, 3]] = 0, 1
    as_groups = statements(Constraints.from_groups(groups), K)
    as_pairs = statements(Constraints([(0, 1), (2, 3)], n_samples=N), K)
    one = violation(scores[as_groups.rows], as_groups, 1.0)
    other = violation(scores[as_pairs.rows], as_pairs, 1.0)
    assert one.value == pytest.approx(other.value)
    np.testing.assert_allclose(one.slope, other.slope)


def test_identical_rows_are_inert() -> None:
    q = np.tile([0.3, -1.0, 0.5], (2, 1))
    together = statements(Constraints([(0, 1)], n_samples=2), K)
    apart = statements(Constraints(cannot_link=[(0, 1)], n_samples=2), K)
    assert violation(q, together, 1.0).value == pytest.approx(0.0, abs=1e-15)
    loss = violation(q, apart, 1.0)
    assert loss.value == pytest.approx(1.0)
    np.testing.assert_allclose(loss.slope, 0.0, atol=1e-15)


def test_deep_violations_have_no_slope_when_posteriors_are_sharp() -> None:
    # Log-odds +10 and -10: why the smooth stages come first.
    q = np.array([[10.0, 0.0], [0.0, 10.0]])
    told = statements(Constraints([(0, 1)], n_samples=2), 2)
    slopes = [np.abs(violation(q, told, tau).slope).max() * np.log(2) for tau in (0.25, 1.0, 4.0)]
    assert slopes[0] == pytest.approx(2.2e-2, rel=0.05)
    assert slopes[1] == pytest.approx(2.3e-4, rel=0.05)
    assert slopes[2] < 1e-12


def test_one_component_has_nothing_to_violate() -> None:
    told = statements(known(), 1)
    loss = violation(np.zeros((len(told.rows), 1)), told, 1.0)
    assert loss.value == 0.0
    np.testing.assert_array_equal(loss.slope, 0.0)


def test_one_of_each_class_takes_every_labelled_row() -> None:
    codes = np.array([0, 0, 0, 1, -1, 2, 2])
    rows, number = one_of_each_class(codes)
    assert set(rows) == {0, 1, 2, 3, 5, 6}
    for turn in range(3):
        assert sorted(codes[rows[number == turn]]) == [0, 1, 2]
    assert len(one_of_each_class(np.array([0, 0, -1]))[0]) == 0


def test_nothing_is_written_out_pair_by_pair() -> None:
    labels = np.arange(20_000) % 4
    told = statements(Constraints.from_labels(np.append(labels, -1)), 4)
    assert told.incidence.nnz == 40_000
