"""Reconstruction weights: sums, invariance, exact rows, bridges between parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components

from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.manifold._reconstruction import (
    connected_weights,
    reconstruction_weights,
    usable_neighbors,
    weights_of_lists,
)


def rows(n: int = 60, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def test_weights_minimize_the_penalized_error() -> None:
    X = rows(12, 4)
    W = reconstruction_weights(X, 3, 0.1).toarray()
    for i in range(3):
        near = np.flatnonzero(W[i])
        offsets = X[near] - X[i]
        price = 0.1 * np.trace(offsets @ offsets.T)

        def cost(free: np.ndarray, offsets: np.ndarray = offsets, price: float = price) -> float:
            w = np.append(free, 1 - free.sum())
            return float(np.sum((w @ offsets) ** 2) + price * np.sum(w**2))

        best = minimize(cost, np.full(2, 1 / 3), tol=1e-14).x
        np.testing.assert_allclose(W[i, near[:2]], best, atol=1e-5)


@given(st.integers(0, 1000), st.floats(-3, 3), st.floats(0.1, 10))
def test_weights_do_not_change_with_place_turn_and_scale(
    seed: int, shift: float, scale: float
) -> None:
    X = rows(30, 3, seed)
    turn = np.linalg.qr(rows(3, 3, seed + 1))[0]
    W = reconstruction_weights(X, 5)
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    moved = reconstruction_weights(scale * X @ turn + shift, 5)
    np.testing.assert_allclose(moved.toarray(), W.toarray(), atol=1e-7)


def test_rows_between_their_neighbors_are_rebuilt() -> None:
    X = np.linspace(0, 1, 20)[:, None] ** [1, 1]
    W = reconstruction_weights(X, 2, 1e-9)
    np.testing.assert_allclose((W @ X)[1:-1], X[1:-1], atol=1e-6)


def test_new_rows_are_rebuilt_from_the_others() -> None:
    X = rows()
    new = rows(7, 3, 5)
    W = reconstruction_weights(X, 5, new=new)
    assert W.shape == (7, 60)
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    assert np.mean((W @ X - new) ** 2) < np.mean(new**2)


def test_equal_rows_share_the_weight() -> None:
    X = np.repeat(rows(4), 5, axis=0)
    W = reconstruction_weights(X, 4)
    np.testing.assert_allclose(W.data, 0.25)


def test_parts_are_joined_by_their_shortest_link() -> None:
    X = np.vstack([rows(30), rows(30, seed=1) + 50])
    with pytest.warns(EmbeddingWarning, match="2 parts of 30 and 30 rows"):
        W = connected_weights(X, 5)
    assert connected_components(W, directed=False)[0] == 1
    assert sorted(np.unique(np.diff(W.indptr)).tolist()) == [5, 6]
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    with pytest.raises(SidelightError, match="2 parts of 30 and 30 rows"):
        connected_weights(X, 5, disconnected="raise")


def test_lists_of_equal_length_are_neighbors() -> None:
    X = rows()
    W = reconstruction_weights(X, 5)
    again = weights_of_lists(X, W)
    np.testing.assert_allclose(again.toarray(), W.toarray(), atol=1e-10)


def test_number_of_neighbors() -> None:
    assert usable_neighbors(10, 100, 2) == 10
    with pytest.warns(EmbeddingWarning, match="all of them are neighbors"):
        assert usable_neighbors(10, 8, 2) == 7
    with pytest.raises(SidelightError, match="more than 2 are needed"):
        usable_neighbors(2, 100, 2)
    with pytest.raises(SidelightError, match="at least 11 rows"):
        reconstruction_weights(rows(10), 10)
