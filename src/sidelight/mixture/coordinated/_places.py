"""Coordinates to start from, by the spectral methods of :mod:`sidelight.manifold`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.manifold import LocallyLinearEmbedding

from sidelight._typing import Array
from sidelight.constraints import Correspondences
from sidelight.engine import as_rows
from sidelight.manifold import Charting, LocallyLinearCoordination
from sidelight.mixture.coordinated._bound import Coordination, Estimates
from sidelight.mixture.coordinated._start import principal_places
from sidelight.mixture.coordinated._steps import Rules

#: Iterations of a single chart that makes linear coordinates of incomplete rows.
LINEAR_STEPS = 200


def spectral_places(
    how: str, rows: Array, d: int, n_neighbors: int, rng: np.random.RandomState
) -> Array:
    """Coordinates of complete rows; the method is named as in the estimators."""
    if how == "pca":
        return principal_places(rows, d)
    model: Any = LocallyLinearCoordination(d, n_neighbors=n_neighbors, random_state=rng)
    if how == "charting":
        model = Charting(d, random_state=rng)
    elif how == "lle":
        model = LocallyLinearEmbedding(n_components=d, n_neighbors=n_neighbors, random_state=rng)
    return np.asarray(model.fit_transform(rows), dtype=np.float64)


def view_places(
    how: str,
    views: list[Array],
    seen: Array,
    d: int,
    n_neighbors: int,
    rng: np.random.RandomState,
) -> Array:
    """Coordinates of objects that views show; the method is named as in the estimators."""
    known = Correspondences.from_ids(*(np.flatnonzero(there) for there in seen.T))
    from sidelight.manifold import CorrespondenceLLE

    model = CorrespondenceLLE(d, n_neighbors=n_neighbors)
    return model.fit(views, correspondences=known).embedding_


def one_chart_places(rows: Array, seen: Array, d: int, rules: Rules) -> Array:
    """Coordinates of rows that lack views, by one chart: factor analysis of incomplete rows."""
    n = len(rows)
    start = Estimates(principal_places(rows, d), np.tile(1e-2 * np.eye(d), (n, 1, 1)))
    steps = Coordination(as_rows(rows), seen, np.ones(n), np.zeros(n, dtype=bool), rules)
    state = steps.of_clusters(np.zeros(n, dtype=np.intp), 1, start)
    end = steps.ascend(
        state, free=True, max_iter=LINEAR_STEPS, tol=1e-6, description="start", verbose=0
    )
    return end.last.estimates.means
