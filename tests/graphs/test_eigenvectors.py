"""Eigenvectors of graphs: known parts, rows without an edge, and solvers for hard graphs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from sidelight.graphs import (
    _eigenvectors,
    degrees,
    laplacian,
    neighbor_graph,
    smallest_eigenvectors,
    smooth_eigenvectors,
)


def chance(seed: int = 0) -> np.random.RandomState:
    return np.random.RandomState(seed)


@pytest.fixture(scope="module")
def square() -> sparse.csr_array:
    return neighbor_graph(np.random.default_rng(0).uniform(size=(900, 2)), 8)


@pytest.mark.parametrize("n", [200, 900])
def test_vectors_of_the_unnormalised_laplacian(n):
    X, _ = make_blobs(n, centers=3, n_features=4, cluster_std=3.0, random_state=1)
    W = neighbor_graph(X, 10)
    values, vectors = smooth_eigenvectors(W, 4, random_state=chance(), normalized=False)
    L = laplacian(W, "unnormalized").toarray()
    np.testing.assert_allclose(values, np.linalg.eigvalsh(L)[:4], atol=1e-6)
    np.testing.assert_allclose(L @ vectors, vectors * values, atol=1e-4)
    # Kamvar's additive normalisation has the same vectors, in reverse.
    largest = degrees(W).max()
    N = (W.toarray() + largest * np.eye(n) - np.diag(degrees(W))) / largest
    np.testing.assert_allclose(N.sum(axis=1), 1.0)
    np.testing.assert_allclose(N @ vectors, vectors * (1 - values / largest), atol=1e-5)


@pytest.mark.parametrize("copies", [1, 12])
def test_rows_without_an_edge_have_no_place_and_take_no_vector(copies):
    X, _ = make_blobs(60 * copies, centers=[[0, 0], [4, 0]], random_state=0)
    W = neighbor_graph(X, 8)
    padded = sparse.block_diag([W, sparse.csr_array((3, 3))], format="csr")
    values, vectors = smooth_eigenvectors(padded, 3, random_state=chance())
    alone, others = smooth_eigenvectors(W, 3, random_state=chance())
    np.testing.assert_allclose(values, alone, atol=1e-7)
    np.testing.assert_allclose(vectors[-3:], 0.0, atol=1e-9)
    np.testing.assert_allclose(np.abs(np.sum(vectors[:-3] * others, axis=0)), 1.0, atol=1e-5)


@pytest.mark.parametrize("size", [5, 250])
def test_the_largest_parts_have_vectors_where_there_are_too_many(size):
    sizes = (size, 3 * size, 2 * size, 4)
    W = sparse.block_diag([np.ones((s, s)) - np.eye(s) for s in sizes], format="csr")
    values, vectors = smooth_eigenvectors(W, 2, random_state=chance())
    np.testing.assert_array_equal(values, 0.0)
    part = np.repeat(np.arange(4), sizes)
    np.testing.assert_array_equal(np.unique(part[np.any(vectors != 0, axis=1)]), [1, 2])


@pytest.mark.parametrize("solver", ["factorisation", "multigrid", "lobpcg"])
def test_every_solver_for_hard_graphs_finds_the_same_vectors(square, solver, monkeypatch):
    monkeypatch.setattr(_eigenvectors, "RESTARTS", 1)
    if solver != "factorisation":
        monkeypatch.setattr(_eigenvectors, "FACTOR_ROWS", 0)
        monkeypatch.setattr(_eigenvectors, "MAX_FACTOR_ROWS", 0)
    if solver == "multigrid":
        pytest.importorskip("pyamg")
    elif solver == "lobpcg":
        monkeypatch.setattr(_eigenvectors, "_multigrid", lambda *_: None)
    L = laplacian(square).toarray()
    expected = np.linalg.eigvalsh(L)[:5]
    for values, vectors in (
        smooth_eigenvectors(square, 5, random_state=chance()),
        smallest_eigenvectors(laplacian(square), 5, random_state=chance()),
    ):
        np.testing.assert_allclose(values, expected, atol=1e-6)
        np.testing.assert_allclose(L @ vectors, vectors * values, atol=1e-4)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-6)
