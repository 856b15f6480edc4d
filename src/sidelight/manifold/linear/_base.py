"""Shared parts of linear projections: centering, coordinates of full rank, how many are kept."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from sidelight._fit.parameters import Count, estimator
from sidelight._fit.scatter import fix_signs
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import counted, setting, worded
from sidelight.base import LinearTransformer
from sidelight.exceptions import ConstraintWarning, SidelightError

#: Directions with less of the largest standard deviation than this are rounding.
RANK_TOLERANCE = 1e-10


class Centered:
    """Centered rows in an orthonormal basis of the directions in which they vary.

    Whatever is linear in the rows can be solved in these coordinates exactly; their number is at
    most the number of rows, also where features are many.
    """

    def __init__(self, rows: Array) -> None:
        values = np.asarray(rows, dtype=np.float64)
        self.mean = values.mean(axis=0)
        offsets = values - self.mean
        # A square factor first: squares of the rows would hide directions of little variance.
        tall = offsets.shape[0] > offsets.shape[1]
        factor = linalg.qr(offsets, mode="r")[0] if tall else offsets
        _, singular, basis = np.linalg.svd(factor[: offsets.shape[1]], full_matrices=False)
        self.basis = basis[singular > RANK_TOLERANCE * max(singular.max(initial=0.0), 1e-300)]
        if not len(self.basis):
            raise SidelightError(
                f"All rows are the same ({worded('n_samples=', '')}{len(values)}), so no direction "
                "tells them apart; give rows that differ."
            )
        self.coordinates = offsets @ self.basis.T

    def project(self, rows: Array) -> Array:
        """Coordinates of other rows."""
        return np.asarray((np.asarray(rows, dtype=np.float64) - self.mean) @ self.basis.T)


@estimator
class _LinearProjection(LinearTransformer):
    """Rows projected on a few directions: ``(x - mean) Wᵀ``.

    Subclasses find eigenvalues and directions in the coordinates of :class:`Centered` rows and pass
    them to :meth:`_set_directions`.
    """

    _common_parameters: ClassVar[dict[str, str]] = {"n_components": "Number of directions."}
    _common_attributes: ClassVar[dict[str, str]] = {
        "mean_ : ndarray of shape (n_features,)": "Mean of the rows."
    }

    n_components: Count = 2

    def _n_kept(self, centered: Centered) -> int:
        """Number of directions to keep, at most as many as the rows vary in."""
        rank = len(centered.basis)
        if self.n_components > rank:
            warn(
                f"The rows vary in {counted(rank, 'direction')} only: "
                f"{setting('n_components', self.n_components)} is reduced to {rank}.",
                ConstraintWarning,
            )
        return min(int(self.n_components), rank)

    def _set_directions(
        self, values: Array, directions: Array, centered: Centered, dtype: np.dtype[Any]
    ) -> None:
        """Set eigenvalues and map; of each direction (a column) the largest entry is positive."""
        self.eigenvalues_ = values.astype(dtype)
        components = fix_signs(directions.T @ centered.basis)
        self._set_map(components, dtype, mean=centered.mean)
