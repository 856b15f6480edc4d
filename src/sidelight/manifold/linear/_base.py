"""Shared parts of linear projections: centering, coordinates of full rank, how many are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sidelight._fit.moments import moments
from sidelight._fit.parameters import Count, estimator
from sidelight._fit.scatter import fix_signs
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import counted, setting, worded
from sidelight.base import LinearTransformer
from sidelight.engine import as_rows
from sidelight.exceptions import ConstraintWarning, SidelightError

#: Directions with less of the largest standard deviation than this are rounding.
RANK_TOLERANCE = 1e-10


class Centered:
    """Centered rows in an orthonormal basis of the directions in which they vary.

    Whatever is linear in the rows can be solved in these coordinates exactly; their number is at
    most the number of rows, also where features are many. Two passes find them, wherever the rows
    live: one for the mean, and one for a factor ``R`` with ``R'R`` the scatter of the rows.

    Parameters
    ----------
    rows : array or RowSource of shape (n_samples, n_features)
        The rows.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        Mean of the rows.
    basis : ndarray of shape (rank, n_features)
        Orthonormal directions, those of largest variance first.
    covariance : ndarray of shape (rank, rank)
        Covariance of the coordinates, which is diagonal.
    project : callable
        Coordinates of rows; it goes to where rows are.
    """

    def __init__(self, rows: Any) -> None:
        source = as_rows(rows)
        self._source = source
        self.mean = mean = moments(source).mean
        (factor,), _ = source.map_reduce(
            lambda block: ((_Factor(np.asarray(block, dtype=np.float64) - mean).reduced(),), ())
        )
        _, singular, basis = np.linalg.svd(factor, full_matrices=False)
        varies = singular > RANK_TOLERANCE * max(singular.max(initial=0.0), 1e-300)
        self.basis = basis[varies]
        if not len(self.basis):
            raise SidelightError(
                f"All rows are the same ({worded('n_samples=', '')}{source.n_rows}), so no "
                "direction tells them apart; give rows that differ."
            )
        self.covariance = np.diag(singular[varies] ** 2 / source.n_rows)
        self.project = _Projection(self.mean, self.basis)

    @property
    def coordinates(self) -> Array:
        """Coordinates of all rows, in memory."""
        return self.project(self._source.to_memory())


@dataclass(frozen=True)
class _Projection:
    """Coordinates of rows about a mean, along some directions."""

    mean: Array
    basis: Array

    def __call__(self, rows: Array) -> Array:
        return np.asarray((np.asarray(rows, dtype=np.float64) - self.mean) @ self.basis.T)


@dataclass(frozen=True)
class _Factor:
    """Rows ``R``, at most as many as there are columns, with the scatter ``R'R`` of many.

    Products of the rows themselves would hide directions of little variance.
    """

    rows: Array

    def reduced(self) -> _Factor:
        """Return a factor of the same scatter that is not taller than wide."""
        n, d = self.rows.shape
        return _Factor(np.asarray(np.linalg.qr(self.rows, mode="r"))) if n > d else self

    def join(self, later: _Factor) -> _Factor:
        """Return a factor of the sum of both scatters."""
        return _Factor(np.vstack((self.rows, later.rows))).reduced()

    def result(self) -> Array:
        """Return the factor."""
        return self.rows


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
