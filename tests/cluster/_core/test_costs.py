"""Costs of points at moving centers, and what points that change their cluster add to the sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from sidelight.cluster._core._distances import PointCosts


def squared(points: np.ndarray, centers: np.ndarray) -> np.ndarray:
    return ((points[:, None].astype(float) - centers[None].astype(float)) ** 2).sum(axis=2)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_costs_of_some_points_are_those_of_all(kind: Any) -> None:
    rng = np.random.default_rng(0)
    points, centers, weights = rng.normal(size=(30, 4)), rng.normal(size=(5, 4)), rng.random(30)
    costs = PointCosts(kind(points), weights)
    expected = weights[:, None] * squared(points, centers)
    for places in (None, rng.permutation(30)[:7], np.arange(0)):
        cost, nearest = costs.at(centers, places)
        np.testing.assert_allclose(cost, expected[slice(None) if places is None else places])
        np.testing.assert_array_equal(nearest, cost.argmin(axis=1))


def test_far_from_the_origin_costs_are_those_of_the_rows_as_they_are_stored() -> None:
    """The mean is rounded before it is subtracted; the centers have to lose the same."""
    rng = np.random.default_rng(1)
    points = (2e6 + 10 * rng.normal(size=(200, 6))).astype(np.float32)
    centers = points[:4] + np.float32(1.0)
    cost, _ = PointCosts(points).at(centers)
    np.testing.assert_allclose(cost, squared(points, centers), rtol=1e-4)


@pytest.mark.parametrize(
    ("kind", "offset"), [(np.asarray, 0.0), (np.asarray, 1e5), (sparse.csr_array, 0.0)]
)
def test_points_that_move_change_the_sums_by_what_they_add(kind: Any, offset: float) -> None:
    rng = np.random.default_rng(2)
    points = offset + rng.normal(size=(40, 3))
    centers, weights = offset + rng.normal(size=(6, 3)), rng.random(40)
    before, after = rng.integers(5, size=(2, 40))  # cluster 5 is empty

    def sums(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        offsets = points - centers[labels]
        by_cluster = (labels == np.arange(6)[:, None]) * weights
        return by_cluster @ offsets, by_cluster.sum(axis=1), weights @ (offsets**2).sum(axis=1)

    moved = np.flatnonzero(before != after)
    found = PointCosts(kind(points), weights).moved(centers, moved, before[moved], after[moved])
    for change, new, old in zip(found, sums(after), sums(before), strict=True):
        np.testing.assert_allclose(change, new - old, rtol=1e-9, atol=1e-12 * (1 + offset))
