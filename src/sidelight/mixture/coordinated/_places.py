"""Coordinates to start from, by the spectral methods of :mod:`sidelight.manifold`."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight.mixture.coordinated._start import principal_places


def spectral_places(
    how: str, rows: Array, d: int, n_neighbors: int, n_charts: int, rng: np.random.RandomState
) -> Array:
    """Coordinates of complete rows; the method is named as in the estimators."""
    return principal_places(rows, d)
