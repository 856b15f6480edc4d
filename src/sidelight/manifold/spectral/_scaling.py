"""Classical scaling of distances (Law 2006, section 2.6)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.utils import Tags

from sidelight._fit.moments import point_among, relative_to
from sidelight._fit.parameters import Count, estimator
from sidelight._typing import Array
from sidelight.base import Embedding
from sidelight.constraints import Constraints
from sidelight.engine import as_rows
from sidelight.exceptions import SidelightError
from sidelight.graphs import check_distances
from sidelight.manifold._rows import all_the_same, check_several
from sidelight.manifold.spectral._frame import (
    check_pairs_fit,
    half_squares,
    squared_distance_frame,
    warn_of_missing_dimensions,
)
from sidelight.tags import own_tags


@estimator
class ClassicalScaling(Embedding):
    r"""Coordinates whose inner products come closest to those that the distances ask for.

    .. math:: \min_Z \lVert B - Z Z^T \rVert_F, \quad B = -\tfrac12 H D^{(2)} H

    with ``D⁽²⁾`` the squared distances and ``H`` the centering (Law 2006, section 2.6): the leading
    eigenvectors of ``B``, scaled by the roots of their eigenvalues. Of Euclidean distances these
    are the scores of PCA. New rows are placed from their distances to the rows of the fit, which is
    exact where the distances are Euclidean. Read more in the
    :doc:`user guide </manifold/spectral>`.

    Parameters
    ----------
    n_components : int >= 1, default=2
        Number of coordinates.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        Whether rows are given or the distances between all of them; ``transform`` then takes the
        distances of new rows to those of the fit.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Leading eigenvalues of ``B``; 0, with a warning, where it has fewer above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.manifold import ClassicalScaling
    >>> D = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> Z = ClassicalScaling(metric="precomputed").fit_transform(D)
    >>> float(np.linalg.norm(Z[1] - Z[2]).round(6))
    5.0
    """

    n_components: Count = 2
    _: KW_ONLY
    metric: Literal["euclidean", "precomputed"] = "euclidean"

    _own_tags = own_tags(
        summary="map whose distances come closest to given ones, by eigenvectors",
        source="Torgerson 1952; Law 2006, section 2.6",
        complexity="O(n² (D + d)) time, O(n²) memory",
        sparse=True,
    )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = self.metric != "precomputed"
        return tags

    def _learn(self, rows: Any, known: Constraints) -> None:
        n = rows.shape[0]
        check_several(n)
        check_pairs_fit(
            n, type(self).__name__, "PCA gives the same map of rows in memory that is linear in n."
        )
        distances = self._distances(rows, fit=True)
        if distances.max() == 0:
            raise all_the_same(n)
        self._frame = squared_distance_frame(distances, self.n_components)
        warn_of_missing_dimensions(self._frame.values, self.n_components)
        self.eigenvalues_ = self._frame.values
        self.embedding_ = self._frame.coordinates.astype(rows.dtype)

    def _transform(self, rows: Any) -> Array:
        distances = self._distances(rows, fit=False)
        return self._frame.extend(half_squares(distances)).astype(rows.dtype, copy=False)

    def _distances(self, rows: Any, *, fit: bool) -> Array:
        """Distances to the rows of the fit."""
        if self.metric == "precomputed":
            if sparse.issparse(rows):
                raise SidelightError(
                    "Classical scaling needs the distances between all rows: a dense matrix."
                )
            return check_distances(rows) if fit else np.asarray(rows, dtype=np.float64)
        if fit:
            self._rows, self._point = rows.copy(), point_among(as_rows(rows))
        near = relative_to(self._rows, self._point)
        if fit:
            return np.asarray(pairwise_distances(near))
        return np.asarray(pairwise_distances(relative_to(rows, self._point), near))
