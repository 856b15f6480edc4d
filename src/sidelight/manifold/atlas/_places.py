"""Coordinates to start from, by the spectral methods of :mod:`sidelight.manifold`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sidelight._typing import Array
from sidelight.engine import as_rows
from sidelight.exceptions import EmbeddingWarning
from sidelight.manifold import (
    Charting,
    CorrespondenceCharting,
    CorrespondenceLLE,
    LocallyLinearCoordination,
    LocallyLinearEmbedding,
)
from sidelight.manifold.atlas._bound import Coordination, Estimates
from sidelight.manifold.atlas._start import principal_places
from sidelight.manifold.atlas._steps import Rules

#: Iterations of a single chart that makes linear coordinates of incomplete rows.
LINEAR_STEPS = 200


class FirstPlaces(NamedTuple):
    """Coordinates to start from, and the warnings of the method that found them."""

    places: Array
    messages: tuple[Warning, ...] = ()


def with_messages(find: Callable[[], Array]) -> FirstPlaces:
    """Coordinates with the warnings: they concern the user if this start is the best."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", EmbeddingWarning)
        places = find()
    messages = []
    for one in said:
        if isinstance(one.message, EmbeddingWarning):
            messages.append(one.message)
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return FirstPlaces(places, tuple(messages))


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
        model = LocallyLinearEmbedding(d, n_neighbors=n_neighbors)
    return np.asarray(model.fit_transform(rows), dtype=np.float64)


def view_places(
    how: str,
    rows: Array,
    seen: Array,
    views: tuple[slice, ...],
    d: int,
    n_neighbors: int,
    rng: np.random.RandomState,
) -> Array:
    """Coordinates of rows that lack views; the method is named as in the estimators."""
    table = rows.copy()
    for there, view in zip(seen.T, views, strict=True):
        table[~there, view] = np.nan
    columns = [np.arange(view.start, view.stop) for view in views]
    model: Any = CorrespondenceLLE(d, views=columns, n_neighbors=n_neighbors)
    if how == "charting":
        model = CorrespondenceCharting(d, views=columns, random_state=rng)
    return np.asarray(model.fit(table).embedding_, dtype=np.float64)


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
