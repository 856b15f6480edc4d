"""Coordinates by subspace iteration: fixed points, convergence, formulas for new rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles
from tests.manifold.incremental.maps import ROLL, distance_after_turning

from sidelight.graphs import DynamicPathTrees, DynamicShortestPaths, distance_graph
from sidelight.manifold.incremental._coordinates import Coordinates, LandmarkCoordinates


def centered_squares(lengths: np.ndarray) -> np.ndarray:
    squares = -0.5 * lengths**2
    return squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()


@pytest.fixture(scope="module")
def paths() -> DynamicShortestPaths:
    return DynamicShortestPaths(distance_graph(ROLL, n_neighbors=7))


def exact(paths: DynamicShortestPaths, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = eigh(centered_squares(paths.distances))
    return values[::-1][:d], vectors[:, ::-1][:, :d]


def disturbed(paths: DynamicShortestPaths, size: float) -> Coordinates:
    """Coordinates whose vectors are some way off."""
    found = Coordinates(2)
    found.solve(paths)
    noise = np.random.default_rng(0).normal(size=found.vectors.shape)
    found.vectors = np.linalg.qr(found.vectors + size * noise / np.sqrt(len(noise)))[0]
    return found


def test_enough_steps_give_the_eigenvectors(paths: DynamicShortestPaths) -> None:
    values, vectors = exact(paths)
    found = disturbed(paths, 1.0)
    found.improve(paths, 60)
    np.testing.assert_allclose(found.values, values, rtol=1e-10)
    assert subspace_angles(found.vectors, vectors).max() < 1e-7
    assert found.residual < 1e-7
    np.testing.assert_allclose(found.means, np.mean(paths.distances**2, axis=1), rtol=1e-12)


def test_eigenvectors_are_a_fixed_point(paths: DynamicShortestPaths) -> None:
    found = disturbed(paths, 0.0)
    before = found.vectors * np.sqrt(found.values)
    found.improve(paths, 1)
    assert distance_after_turning(before, found.vectors * np.sqrt(found.values)) < 1e-10


def test_a_step_turns_the_vectors_towards_the_eigenvectors(paths: DynamicShortestPaths) -> None:
    _, vectors = exact(paths)
    found = disturbed(paths, 0.5)
    angle = subspace_angles(found.vectors, vectors).max()
    for _ in range(5):
        found.improve(paths, 1)
        now = subspace_angles(found.vectors, vectors).max()
        assert now < angle
        angle = now


def test_shift_keeps_negative_eigenvalues_away() -> None:
    """Squared distances with a large negative eigenvalue: without a shift it would lead."""
    rng = np.random.default_rng(0)
    n = 80
    places = np.column_stack([rng.normal(size=(n, 2)) * [3.0, 2.0], 4 * rng.normal(size=n)])
    signs = np.array([1.0, 1.0, -1.0])
    differences = places[:, None] - places[None]
    squares = np.sum(signs * differences**2, axis=2)
    lengths = np.sqrt(np.maximum(squares - squares.min(), 0.0))
    np.fill_diagonal(lengths, 0.0)

    paths = DynamicShortestPaths()
    for _ in range(n):
        paths.add_vertex({})
    paths._paths[:n, :n] = lengths
    values = np.linalg.eigvalsh(centered_squares(lengths))
    assert -values[0] > values[-2]
    found = Coordinates(2)
    found.vectors = np.linalg.qr(rng.normal(size=(n, 2)))[0]
    found.improve(paths, 300)
    np.testing.assert_allclose(found.values, values[::-1][:2], rtol=1e-6)


def test_new_row_is_placed_by_least_squares(paths: DynamicShortestPaths) -> None:
    """Nyström's formula is the least-squares solution of ``X x = f``, with and without means."""
    found = Coordinates(2)
    found.solve(paths)
    places = found.vectors @ found.stretch
    new = paths.distances[17] + 0.3
    squares = paths.distances**2
    full = 0.5 * (squares.mean(axis=1) - squares.mean() + np.mean(new**2) - new**2)
    short = 0.5 * (squares.mean(axis=1) - new**2)
    wanted = np.linalg.lstsq(places, full, rcond=None)[0]
    np.testing.assert_allclose(np.linalg.lstsq(places, short, rcond=None)[0], wanted, rtol=1e-8)
    np.testing.assert_allclose(found.place(new) @ found.stretch, wanted, rtol=1e-8)
    own = found.place(np.array(paths.distances[17])) @ found.stretch
    np.testing.assert_allclose(own, places[17], atol=1e-8)


def landmark_matrix(trees: DynamicPathTrees) -> np.ndarray:
    squares = -0.5 * trees.distances**2
    return squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()


def test_singular_vectors_of_landmarks_are_a_fixed_point() -> None:
    trees = DynamicPathTrees(distance_graph(ROLL, n_neighbors=7), np.arange(0, 400, 10))
    found = LandmarkCoordinates(2)
    found.solve(trees)
    left, values, right = np.linalg.svd(landmark_matrix(trees), full_matrices=False)
    np.testing.assert_allclose(found.values, values[:2], rtol=1e-9)
    assert subspace_angles(found.vectors, right[:2].T).max() < 1e-6
    product = found.left * found.values @ found.vectors.T
    np.testing.assert_allclose(product, left[:, :2] * values[:2] @ right[:2], atol=1e-5)
    before = found.vectors @ found.stretch
    found.improve(trees, 1)
    assert distance_after_turning(before, found.vectors @ found.stretch) < 1e-7


def test_ritz_steps_of_landmarks_never_lose() -> None:
    trees = DynamicPathTrees(distance_graph(ROLL, n_neighbors=7), np.arange(0, 400, 10))
    matrix = landmark_matrix(trees)
    found = LandmarkCoordinates(2)
    found.solve(trees)
    noise = np.random.default_rng(0).normal(size=found.vectors.shape)
    found.vectors = np.linalg.qr(found.vectors + 0.05 * noise)[0]
    errors = []
    for _ in range(6):
        found.improve(trees, 1)
        errors.append(np.linalg.norm(matrix - found.left * found.values @ found.vectors.T))
    assert np.all(np.diff(errors) <= 1e-9 * errors[0])


def test_landmark_coordinates_are_isometric_where_geodesics_are_distances() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2)) * [2.0, 0.5]
    paths = DynamicPathTrees(distance_graph(X, n_neighbors=299), np.arange(25))
    found = LandmarkCoordinates(2)
    found.solve(paths)
    places = found.vectors @ found.stretch
    assert distance_after_turning(X, places) < 1e-8
    new = np.array([1.0, -0.3])
    place = found.place(np.linalg.norm(X[:25] - new, axis=1)) @ found.stretch
    both = np.vstack([places, place])
    assert distance_after_turning(np.vstack([X, new]), both) < 1e-8
