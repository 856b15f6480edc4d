"""The shared frame: eigenvectors from products equal those of the dense matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from sidelight.exceptions import SidelightError
from sidelight.graphs import distance_graph
from sidelight.manifold.spectral import _frame
from sidelight.manifold.spectral._frame import (
    centered_frame,
    check_pairs_fit,
    half_squares,
    squared_distance_frame,
    trailing,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dense_rows", [400, 0])
def test_leading_eigenvectors_of_the_centered_matrix(
    dense_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_frame, "DENSE_ROWS", dense_rows)
    monkeypatch.setattr(_frame, "BLOCK_ROWS", 16)  # several blocks
    matrix = RNG.normal(size=(60, 60))
    matrix = matrix @ matrix.T + 5.0
    center = np.eye(60) - 1 / 60
    values, vectors = np.linalg.eigh(center @ matrix @ center)
    before = matrix.copy()
    frame = centered_frame(matrix, 3)
    np.testing.assert_array_equal(matrix, before)
    np.testing.assert_allclose(frame.values, values[::-1][:3])
    overlap = np.abs(frame.vectors.T @ vectors[:, ::-1][:, :3])
    np.testing.assert_allclose(overlap, np.eye(3), atol=1e-8)
    np.testing.assert_allclose(frame.extend(matrix), frame.coordinates, atol=1e-9)
    largest = np.argmax(np.abs(frame.vectors), axis=0)
    assert np.all(frame.vectors[largest, np.arange(3)] > 0)  # signs that are always the same


@pytest.mark.parametrize("dense_rows", [400, 0])
@pytest.mark.parametrize("size", [1.0, 1e-60, 1e60])
def test_squares_of_distances_are_never_formed_and_do_not_overflow(
    dense_rows: int, size: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_frame, "DENSE_ROWS", dense_rows)
    X = RNG.normal(size=(50, 4)) * [4, 3, 2, 1]
    distances = cdist(X, X) * size
    frame = squared_distance_frame(distances, 4)
    np.testing.assert_allclose(cdist(frame.coordinates, frame.coordinates), distances, rtol=1e-8)
    new = RNG.normal(size=(5, 4))
    placed = frame.extend(half_squares(cdist(new, X) * size))
    np.testing.assert_allclose(cdist(placed, frame.coordinates), cdist(new, X) * size, rtol=1e-7)


@pytest.mark.parametrize("dense_rows", [400, 0])
def test_trailing_eigenvectors_beside_a_known_one(
    dense_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path with weights: eigenvalues close to 0 that only the inverse tells apart."""
    monkeypatch.setattr(_frame, "DENSE_ROWS", dense_rows)
    n = 120
    weights = RNG.uniform(0.5, 1.5, n - 1)
    graph = sparse.diags_array([weights, weights], offsets=[-1, 1]).toarray()
    null = RNG.uniform(0.5, 2.0, n)  # of a Laplacian that was scaled on both sides
    laplacian = np.diag(graph.sum(axis=1)) - graph
    matrix = laplacian / np.outer(null, null)
    values, vectors = trailing(sparse.csr_array(matrix), null, 4)
    wanted, found = np.linalg.eigh(matrix)
    np.testing.assert_allclose(values, wanted[1:5], rtol=1e-7)
    np.testing.assert_allclose(np.abs(vectors.T @ found[:, 1:5]), np.eye(4), atol=1e-7)
    np.testing.assert_allclose(vectors.T @ null, 0, atol=1e-7)


@pytest.mark.parametrize("restarts", [60, 1])
def test_graphs_that_would_fill_up_need_no_factorization(
    restarts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of many dimensions; where Lanczos takes too long the factorization takes over."""
    monkeypatch.setattr(_frame, "RESTARTS", restarts)
    graph = distance_graph(RNG.normal(size=(600, 12)), n_neighbors=6)
    graph.data[:] = 1.0
    root = np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
    half = sparse.diags_array(1 / root)
    matrix = sparse.csr_array(sparse.eye_array(600) - half @ graph @ half)
    assert _frame._would_fill(matrix)
    assert (_frame._from_products(matrix, root / np.linalg.norm(root), 3, 2.0) is None) == (
        restarts == 1
    )
    values, vectors = trailing(matrix, root, 3, largest=2.0)
    wanted, found = np.linalg.eigh(matrix.toarray())
    np.testing.assert_allclose(values, wanted[1:4], rtol=1e-9)
    np.testing.assert_allclose(np.abs(vectors.T @ found[:, 1:4]), np.eye(3), atol=1e-6)


def test_memory_is_told_before_it_is_asked_for() -> None:
    with pytest.raises(SidelightError, match=r"40,000 rows, 12.8 GB; at most .* Use that one"):
        check_pairs_fit(40_000, "A method", "Use that one.")
    check_pairs_fit(_frame.MAX_ROWS, "A method", "")
