"""What linear projections share: centring, coordinates of full rank, how many are kept."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sidelight._typing import Array
from sidelight.base import ConstrainedEstimator
from sidelight.exceptions import ConstraintWarning, SidelightError

#: Directions with less of the largest standard deviation than this are rounding.
RANK_TOLERANCE = 1e-10


class _LinearProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ConstrainedEstimator):
    """Rows projected on a few directions: ``(x - mean) Wᵀ``.

    Subclasses find ``components_ = W`` of shape (n_components, n_features) and :meth:`_keep` it.
    """

    components_: Array
    mean_: Array

    def _keep(self, components: Array, mean: Array, dtype: np.dtype[Any]) -> None:
        """Set the map; of each direction the entry of largest size is positive."""
        largest = np.argmax(np.abs(components), axis=1)
        signs = np.sign(components[np.arange(len(components)), largest])
        signs[signs == 0] = 1.0
        self.components_ = np.ascontiguousarray(components * signs[:, None], dtype=dtype)
        self.mean_ = mean.astype(dtype)
        self._n_features_out = len(components)

    def transform(self, X: Any) -> Array:
        """Project the rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Coordinates, in the element type of the rows.
        """
        check_is_fitted(self)
        rows: Any = self._check_rows(X, reset=False)
        return np.asarray((rows - self.mean_) @ self.components_.T, dtype=rows.dtype)


class Centred:
    """Centred rows in an orthonormal basis of the directions in which they vary.

    Whatever is linear in the rows can be solved in these coordinates exactly; their number is at
    most the number of rows, also where features are many.
    """

    def __init__(self, rows: Array) -> None:
        values = np.asarray(rows, dtype=np.float64)
        self.mean = values.mean(axis=0)
        gaps = values - self.mean
        # A square factor first: squares of the rows would hide directions of little variance.
        factor = linalg.qr(gaps, mode="r")[0] if gaps.shape[0] > gaps.shape[1] else gaps
        _, singular, basis = np.linalg.svd(factor[: gaps.shape[1]], full_matrices=False)
        self.basis = basis[singular > RANK_TOLERANCE * max(singular.max(initial=0.0), 1e-300)]
        if not len(self.basis):
            raise SidelightError(
                f"All rows are the same (n_samples={len(values)}), so no direction tells them "
                "apart; give rows that differ."
            )
        self.coordinates = gaps @ self.basis.T

    def project(self, rows: Array) -> Array:
        """Coordinates of other rows."""
        return np.asarray((np.asarray(rows, dtype=np.float64) - self.mean) @ self.basis.T)

    @property
    def rank(self) -> int:
        """Number of directions in which the rows vary."""
        return len(self.basis)

    def to_features(self, directions: Array) -> Array:
        """Directions (columns, in these coordinates) as rows in the space of the features."""
        return np.asarray(directions.T @ self.basis)


def n_kept(n_components: Any, most: int) -> int:
    """Check a number of dimensions; at most ``most`` can be had, as many as the rows vary in."""
    if isinstance(n_components, bool) or not isinstance(n_components, Integral):
        raise TypeError(f"n_components must be a whole number, got {n_components!r}.")
    if int(n_components) < 1:
        raise ValueError(f"n_components must be at least 1, got {n_components}.")
    if int(n_components) > most:
        warnings.warn(
            f"The rows vary in {most} {'direction' if most == 1 else 'directions'} only: "
            f"n_components={n_components} is reduced to {most}.",
            ConstraintWarning,
            stacklevel=3,
        )
    return min(int(n_components), most)
