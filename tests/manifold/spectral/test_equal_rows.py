"""Rows that are the same, and rows at the same distance, in maps of a neighborhood graph."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from sidelight import Constraints
from sidelight.manifold import (
    Isomap,
    LandmarkIsomap,
    LaplacianEigenmap,
    LocallyLinearEmbedding,
)

METHODS = (Isomap, LandmarkIsomap, LaplacianEigenmap, LocallyLinearEmbedding)
GRID = np.array([[i, j, 0.0] for i in range(8) for j in range(8)])


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_a_grid_keep_their_places_although_their_neighbors_are_tied(method: type) -> None:
    model = method().fit(GRID)
    np.testing.assert_array_equal(model.transform(GRID), model.embedding_)


@pytest.mark.parametrize("method", METHODS)
def test_rows_that_are_the_same_share_a_place(method: type) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))[rng.integers(0, 12, size=90)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # copies crowd all other rows out of the neighborhoods
        model = method().fit(X)
    _, group = np.unique(X, axis=0, return_inverse=True)
    for one in range(group.max() + 1):
        places = model.embedding_[group == one]
        np.testing.assert_allclose(places - places[0], 0.0, atol=1e-9 * np.ptp(model.embedding_))
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


def test_constraints_part_rows_that_are_the_same() -> None:
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(60, 2)), np.zeros((2, 2))])
    far = int(np.argmax(np.linalg.norm(X, axis=1)))
    known = Constraints(must_link=[(60, far)], n_samples=62)
    places = LaplacianEigenmap().fit(X, constraints=known).embedding_
    to_far = np.linalg.norm(places - places[far], axis=1)
    assert to_far[60] < 0.9 * to_far[61]
