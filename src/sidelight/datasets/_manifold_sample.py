"""Samples of manifolds, as their generators return them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sidelight._typing import Array, FloatArray
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError


@dataclass(frozen=True, eq=False, repr=False)
class ManifoldSample:
    """Rows on a manifold with their true coordinates.

    Attributes
    ----------
    data : ndarray of shape (n, n_features)
        The rows.
    coordinates : ndarray of shape (n, dimension)
        True coordinates of the rows, without noise.
    feature_names : tuple of str
        Names of the columns.
    coordinate_names : tuple of str
        Names of the coordinates.
    description : str
        Name, source and peculiarities of the sample.
    geodesic : callable or None
        True geodesic distances between two sets of coordinates, where they have a closed form.
    image_shape : tuple of two ints or None
        Height and width, where each row is an image.
    constraints : Constraints or None
        Side information that comes with the sample.
    """

    data: FloatArray
    coordinates: FloatArray
    feature_names: tuple[str, ...]
    coordinate_names: tuple[str, ...]
    description: str
    geodesic: Callable[[FloatArray, FloatArray], FloatArray] | None = None
    image_shape: tuple[int, int] | None = None
    constraints: Constraints | None = None

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.data)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.data.shape[1]

    def geodesics(self, rows: Sequence[int] | Array | None = None) -> FloatArray:
        """Return the true geodesic distances from some rows, or from all, to all rows.

        Parameters
        ----------
        rows : sequence of int or None, default=None
            Rows that the distances start from; all by default.

        Returns
        -------
        distances : ndarray of shape (n_rows, n)
            Lengths of the shortest paths within the manifold, of the rows without their noise.
        """
        if self.geodesic is None:
            raise SidelightError(
                f"The geodesics of this sample have no closed form: {self.title}. Compute them "
                "along a neighborhood graph."
            )
        start = self.coordinates if rows is None else self.coordinates[np.asarray(rows)]
        return self.geodesic(start, self.coordinates)

    @property
    def title(self) -> str:
        """First line of the description."""
        return self.description.split("\n", 1)[0]

    def __repr__(self) -> str:
        return (
            f"ManifoldSample({self.n_samples} rows, {self.n_features} features, "
            f"{self.coordinates.shape[1]} coordinates: {self.title})"
        )
