"""Rows as points or as directions: shared by the methods that take either."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.views import UnitRows, divide_rows, row_lengths
from sidelight._typing import Array
from sidelight.cluster._core._distances import map_tiles, squared_center_distances
from sidelight.cluster._core._lloyd import LloydResult, Project, _KMeansBase
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.engine.inner import map_values
from sidelight.exceptions import SidelightError

#: Squared distances and means, or 1 minus the cosine and mean directions.
Geometry: TypeAlias = Literal["euclidean", "cosine"]


def onto_sphere(means: Array, before: Array) -> Array:
    """Scale means to unit length; one without a direction stays where it was.

    A length of 1 up to rounding is left alone, so that a center that has arrived stands still.
    """
    lengths = np.linalg.norm(means, axis=1)
    eps = np.finfo(means.dtype).eps
    lengths = np.where(np.abs(lengths - 1) <= 8 * eps, 1, lengths)
    nowhere = lengths <= 8 * eps
    return np.where(nowhere[:, None], before, means / np.where(nowhere, 1, lengths)[:, None])


def row_costs(source: RowSource, centers: Array, geometry: str) -> Array:
    """Return the cost of every row at every center, ``(n, k)`` in the type of the rows.

    The squared distance; for directions half of it, which is 1 minus the cosine of unit vectors.
    """
    return map_tiles(source, TileCosts(centers, geometry, source.dtype), dtype=source.dtype)


def _half(values: Array) -> tuple[tuple[()], tuple[Array]]:
    return (), (values / 2,)


class TileCosts:
    """Costs of the rows of a tile at every center, see :func:`row_costs`."""

    def __init__(self, centers: Array, geometry: str, dtype: np.dtype[Any]) -> None:
        self._centers, self._dtype = centers, dtype
        self._half = 0.5 if geometry == "cosine" else 1.0

    def __call__(self, rows: Any) -> Array:
        """Return the costs, in the type of the rows of the table."""
        return (self._half * squared_center_distances(rows, self._centers)).astype(self._dtype)


class _DirectionsBase(_KMeansBase):
    """k-means whose rows are points or directions, without side information about rows.

    Methods on directions alone have no parameter ``metric``.
    """

    metric: Geometry = "cosine"

    _uses_pairs = "HMRFKMeans uses them for directions."

    @property
    def _takes_directions(self) -> bool:
        return self.metric == "cosine"

    @property
    def _project(self) -> Project | None:
        return onto_sphere if self.metric == "cosine" else None

    def _validate_rows(self, X: Any, *, reset: bool) -> RowSource:
        """Check rows; new ones become directions here, those of a fit once they have names."""
        source = super()._validate_rows(X, reset=reset)
        return source if reset or self.metric != "cosine" else UnitRows(source)

    def _validate_fit(
        self, X: Any, y: Any, constraints: Constraints | None
    ) -> tuple[RowSource, Constraints]:
        source, known = super()._validate_fit(X, y, constraints)
        if self.metric == "cosine":
            source = UnitRows(source, known.name_rows)
        return source, known

    def _start(self, source: RowSource, rng: np.random.RandomState, weights: Array | None) -> Array:
        centers = super()._start(source, rng, weights)
        if isinstance(self.init, str) or self.metric != "cosine":
            return centers
        lengths = row_lengths(centers)
        if np.any(lengths == 0):
            h = int(np.flatnonzero(lengths == 0)[0])
            raise SidelightError(f"Center {h} of init is all zeros and has no direction.")
        unit: Array = divide_rows(centers, lengths)
        return unit

    def _in_units(self, result: LloydResult) -> LloydResult:
        """Turn squared distances of unit vectors into ``1 - cosine``."""
        if self.metric != "cosine":
            return result
        return dataclasses.replace(
            result,
            inertia=result.inertia / 2,
            penalty=result.penalty / 2,
            history=result.history / 2,
        )

    def transform(self, X: Any) -> Array:
        if self.metric != "cosine":
            return super().transform(X)
        check_is_fitted(self)
        source = self._validate_rows(X, reset=False)
        return row_costs(source, self.cluster_centers_, self.metric)

    def _predicted_costs(self, source: RowSource) -> Array:
        squared = super()._predicted_costs(source)
        return squared if self.metric != "cosine" else map_values(_half, squared)[1][0]
