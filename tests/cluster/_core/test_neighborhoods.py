"""Centres from must-link components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from sidelight import Constraints
from sidelight.cluster._core._starts import Starts, choose_neighborhoods, plan_starts
from sidelight.constraints.inner import Contraction, contract
from sidelight.engine import RowSource, as_rows


def contraction_of(X: np.ndarray, **knowledge: object) -> Contraction:
    closure = Constraints(n_samples=len(X), **knowledge).closure()
    return contract(as_rows(X), closure, only_constrained=True)


@pytest.fixture
def rows() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(40, 3))


@pytest.mark.parametrize("is_sparse", [False, True])
def test_contraction_keeps_the_sum_of_squares(rows: np.ndarray, is_sparse: bool) -> None:
    groups = np.random.default_rng(1).integers(-1, 6, size=40)
    X = sparse.csr_array(rows) if is_sparse else rows
    known = Constraints(groups=groups, cannot_link=[(0, 39)])
    small = contract(as_rows(X), known.closure(), only_constrained=True)
    means = small.means.toarray() if is_sparse else small.means
    center = np.array([0.3, -1.0, 2.0])
    direct = ((rows[small.rows] - center) ** 2).sum()
    contracted = (small.sizes * ((means - center) ** 2).sum(axis=1) + small.scatter).sum()
    assert contracted == pytest.approx(direct)
    for c in range(small.n_components):
        members = small.rows[small.component == c]
        np.testing.assert_allclose(means[c], rows[members].mean(axis=0))
        assert small.sizes[c] == len(members)


def test_rows_without_knowledge_are_not_contracted(rows: np.ndarray) -> None:
    labels = np.full(40, -1)
    labels[5] = 0
    small = contraction_of(rows, must_link=[(1, 2)], cannot_link=[(3, 4)], labels=labels)
    np.testing.assert_array_equal(small.rows, [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(small.labels, [-1, -1, -1, 0])


# --- what it is made of ---


def neighborhood_centers(source: RowSource, small: Contraction, k: int, **choices: Any) -> Any:
    nothing = Constraints(n_samples=source.n_rows)
    starts = Starts(source, k, "neighborhoods", 1, nothing, contraction=small, **choices)
    return starts.centers(0, np.random.RandomState(0))


def points(means: np.ndarray, sizes: list[int], conflicts: list[tuple[int, int]]) -> Contraction:
    """Components given by hand."""
    n = sum(sizes)
    return Contraction(
        rows=np.arange(n),
        component=np.repeat(np.arange(len(sizes)), sizes),
        means=np.asarray(means, float),
        weights=np.array(sizes, float),
        conflicts=np.array(conflicts, dtype=np.int64).reshape(-1, 2),
        labels=np.full(len(sizes), -1),
        _source=as_rows(np.zeros((n, 1))),
        _row_weights=np.ones(n),
    )


@pytest.mark.parametrize("rule", ["largest", "farthest-first", "clique"])
def test_one_component_of_each_class_gives_exactly_its_mean(rows: np.ndarray, rule: str) -> None:
    small = contraction_of(rows, must_link=[(0, 1), (1, 2), (10, 11), (20, 21)])
    centers = neighborhood_centers(as_rows(rows), small, 3, rule=rule)
    expected = [rows[:3].mean(axis=0), rows[10:12].mean(axis=0), rows[20:22].mean(axis=0)]
    np.testing.assert_allclose(centers, expected)


def test_order_of_the_pairs_does_not_matter(rows: np.ndarray) -> None:
    pairs = np.array([(0, 1), (1, 2), (10, 11), (20, 21), (30, 31), (31, 32), (32, 33)])
    orders = [pairs, pairs[::-1], pairs[[3, 1, 5, 0, 6, 2, 4]][:, ::-1]]
    centers = [
        neighborhood_centers(as_rows(rows), contraction_of(rows, must_link=order), 3)
        for order in orders
    ]
    np.testing.assert_array_equal(centers[0], centers[1])
    np.testing.assert_array_equal(centers[0], centers[2])


def test_equal_sizes_are_plain_farthest_first(rows: np.ndarray) -> None:
    chosen = choose_neighborhoods(points(rows[:12], [2] * 12, []), 5, "farthest-first")
    expected = [0]
    while len(expected) < 5:
        gaps = np.linalg.norm(rows[:12, None] - rows[expected], axis=2).min(axis=1)
        expected.append(int(np.argmax(gaps)))
    np.testing.assert_array_equal(chosen, expected)


def test_far_and_large_beats_far_and_small() -> None:
    small = points([[0.0], [10.0], [10.0], [1.0]], [9, 2, 5, 2], [])
    np.testing.assert_array_equal(choose_neighborhoods(small, 2, "farthest-first"), [0, 2])


def test_largest_takes_the_largest() -> None:
    small = points([[0.0], [10.0], [0.1], [5.0]], [3, 2, 9, 4], [])
    np.testing.assert_array_equal(choose_neighborhoods(small, 3, "largest"), [2, 3, 0])


def test_clique_prefers_what_is_known_to_differ() -> None:
    small = points([[0.0], [0.2], [99.0], [0.4]], [9, 5, 5, 6], [(0, 1), (0, 3), (1, 3)])
    np.testing.assert_array_equal(choose_neighborhoods(small, 3, "clique"), [0, 3, 1])
    # One pair is known to differ; what else is needed comes by distance.
    small = points([[0.0], [0.2], [99.0], [0.4]], [9, 5, 5, 6], [(0, 1)])
    np.testing.assert_array_equal(choose_neighborhoods(small, 3, "clique"), [0, 1, 2])


def test_a_point_apart_from_all_neighborhoods_is_the_next_centre(rows: np.ndarray) -> None:
    """The cannot-links are on other members of the neighborhoods."""
    small = contraction_of(
        rows,
        must_link=[(0, 1), (1, 2), (10, 11)],
        cannot_link=[(2, 30), (11, 30), (0, 25)],
    )
    centers = neighborhood_centers(as_rows(rows), small, 4)
    expected = [rows[:3].mean(axis=0), rows[10:12].mean(axis=0), rows[30]]
    np.testing.assert_allclose(centers[:3], expected)
    assert any(np.array_equal(centers[3], row) for row in rows)


def test_perturbed_centres_are_close_to_the_mean(rows: np.ndarray) -> None:
    small = contraction_of(rows, must_link=[(0, 1)])
    source = as_rows(rows.astype(np.float32))
    centers = neighborhood_centers(source, small, 4, published=True)
    assert centers.dtype == np.float32
    np.testing.assert_allclose(centers[0], rows[:2].mean(axis=0), rtol=1e-5)
    distance = np.linalg.norm(centers[1:] - rows.mean(axis=0), axis=1)
    assert np.all((distance > 0) & (distance < 0.1))


def test_labeled_rows_are_neighborhoods_even_when_alone(rows: np.ndarray) -> None:
    labels = np.full(40, -1)
    labels[[3, 7]] = [0, 1]
    centers = neighborhood_centers(as_rows(rows), contraction_of(rows, labels=labels), 2)
    np.testing.assert_allclose(centers, rows[[3, 7]])


def test_starts_are_mixed(rows: np.ndarray) -> None:
    some, none = Constraints([(0, 1)], n_samples=40), Constraints(n_samples=40)
    assert plan_starts("auto", 3, some, "k-means++") == ["neighborhoods", "k-means++", "k-means++"]
    assert plan_starts("auto", 2, none, "k-means") == ["k-means", "k-means"]
    assert plan_starts("random", 2, some, "k-means++") == ["random", "random"]
    assert plan_starts(rows[:3], 7, some, "k-means++") == ["given"]
