"""Parts that the methods for balanced clusters share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from sidelight._typing import Array
from sidelight.cluster.directional._directions import _DirectionsBase
from sidelight.engine import RowSource


class _BalancedBase(_DirectionsBase):
    """Clusters whose sizes matter, also when they are given new rows."""

    _common_parameters: ClassVar = {
        **_DirectionsBase._common_parameters,
        "metric": "Squared distances and means, or directions as in :class:`SphericalKMeans`.",
    }
    _family_tags = _DirectionsBase._family_tags | {"knowledge": ("sizes",)}
    _uses_pairs = "SizeConstrainedKMeans uses sizes and pairs together."

    def predict_sized(self, X: Any) -> Array:
        """Return clusters of new rows in which sizes count as in the fit.

        ``predict`` takes the nearest centers, whatever the sizes.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Cluster of every row.
        """
        check_is_fitted(self)
        return self._sized_labels(self._validate_rows(X, reset=False))

    @abstractmethod
    def _sized_labels(self, source: RowSource) -> Array:
        """Return clusters of these rows in which sizes count."""
