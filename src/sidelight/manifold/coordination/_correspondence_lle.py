"""Locally linear embedding of several views with correspondences (Ham, Lee and Saul 2003)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from scipy import sparse

from sidelight._fit.parameters import Count, FinitePositive, NamesLike, Verbosity, estimator
from sidelight._progress import shown
from sidelight._typing import Array
from sidelight.manifold._reconstruction import (
    BLOCK_NUMBERS,
    centered_rows,
    connected_weights,
    nearest_rows,
    usable_neighbors,
    weights_of_neighbors,
)
from sidelight.manifold.coordination._charts import check_dimensions, scale_of
from sidelight.manifold.coordination._view_embedding import ViewsEmbedding
from sidelight.manifold.coordination._views import Views
from sidelight.manifold.spectral._frame import trailing
from sidelight.tags import own_tags


@estimator
class CorrespondenceLLE(ViewsEmbedding):
    r"""Locally linear embedding of several views, whose linked rows share one place.

    Every view ``v`` has its own neighbors and reconstruction weights :math:`W_v`. With the matrix
    :math:`P_v` that gives its rows the places of their objects, it minimizes

    .. math:: \sum_v \| (I - W_v) P_v G \|^2

    over the places :math:`G` of the objects, with mean 0 and covariance I: eigenvectors of
    :math:`M = \sum_v P_v^T (I - W_v)^T (I - W_v) P_v`. Links are hard, so that few of them suffice,
    but at least ``n_components + 1``: a view alone is known up to an affine map only. One view is
    locally linear embedding. (Verbeek 2004, section 5.3.2, for any number of views.)
    Read more in the :doc:`user guide </manifold/coordination>`.

    Parameters
    ----------
    n_components : int >= 1, default=2
        Number of coordinates of the map.
    views : sequence of array or None, default=None
        Columns of each view, by position or name, where ``fit`` gets one table with NaN for objects
        that a view does not show.
    n_neighbors : int >= 1, default=10
        Number of neighbors that rebuild a row of its view, more than ``n_components``.
    reg : float > 0, finite, default=0.001
        Regularization of the reconstruction weights, as a share of the trace of the Gram matrix.
    disconnected : {"bridge", "raise"}, default="bridge"
        Neighborhood graphs of several parts: joined by the shortest links between them, with a
        warning, or an error that names the sizes of the parts.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_objects, n_components)
        Coordinates of the objects: those of the rows of a table, or numbered as in
        ``correspondences.objects``.
    embeddings_ : tuple of ndarray of shape (n_v, n_components)
        Coordinates of the rows of each view.
    objects_ : tuple of ndarray of int
        Object of every row of each view.
    eigenvalues_ : ndarray of shape (n_components,)
        Reconstruction error of every coordinate, of length 1.

    References
    ----------
    Ham, Lee and Saul, *Learning high dimensional correspondences from low dimensional manifolds*
    (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.constraints import Correspondences
    >>> from sidelight.manifold import CorrespondenceLLE
    >>> t = np.linspace(0, 1, 100)
    >>> first, second = np.c_[np.cos(3 * t), np.sin(3 * t)], np.c_[t, t**2, t**3][::-1]
    >>> known = Correspondences([(i, 99 - i) for i in range(0, 100, 10)], [100, 100])
    >>> model = CorrespondenceLLE(1).fit([first, second], correspondences=known)
    >>> apart = model.embeddings_[0] - model.embeddings_[1][::-1]
    >>> bool(np.abs(apart).max() < 0.2)  # of coordinates with variance 1
    True
    """

    n_components: Count = 2
    _: KW_ONLY
    views: Sequence[NamesLike] | None = None
    n_neighbors: Count = 10
    reg: FinitePositive = 1e-3
    disconnected: Literal["bridge", "raise"] = "bridge"
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="locally linear embedding of several views whose linked rows share a place",
        knowledge=("correspondences",),
        enforcement="hard",
        source="Ham, Lee and Saul 2003; Verbeek 2004, section 5.3.2",
        complexity="O(n log n D + n m³) time, O(n m²) memory for m neighbors, plus a sparse "
        "factorization",
    )

    def _fit_views(self, views: Views) -> None:
        with shown(self.verbose):
            total: Any = 0.0
            for view, rows in enumerate(views.rows):
                errors = self._errors(rows, views, view)
                total = total + errors.T @ errors
            values, vectors = trailing(
                sparse.csr_array(total), np.ones(views.n_objects), self.n_components
            )
        places = vectors * np.sqrt(views.n_objects)
        self.eigenvalues_ = values
        self._rows = [rows.copy() for rows in views.rows]
        self._set_places([places[objects] for objects in views.objects], views)

    def _errors(self, rows: Array, views: Views, view: int) -> sparse.csr_array:
        """``(I - W_v) P_v``, of shape (n_v, n_objects)."""
        check_dimensions(rows, self.n_components)
        scale_of(rows, "X" if len(views.rows) == 1 else f"view {view}")
        near = usable_neighbors(self.n_neighbors, len(rows), self.n_components)
        weights = connected_weights(rows, near, self.reg, self.disconnected)
        n = len(rows)
        gather = sparse.csr_array(
            (np.ones(n), (np.arange(n), views.objects[view])), shape=(n, views.n_objects)
        )
        return sparse.csr_array(gather - weights @ gather)

    def _place(self, view: int, rows: Array) -> Array:
        """Rebuild new rows from their neighbors in the view; rows of the fit stay in place."""
        own = self._rows[view]
        places = self.embeddings_[view].astype(np.float64)
        near = min(self.n_neighbors, len(own))
        centered, new = centered_rows(own, rows)
        neighbors = nearest_rows(centered, near, new)
        placed = weights_of_neighbors(centered, neighbors, self.reg, new=new) @ places
        step = max(BLOCK_NUMBERS // (near * own.shape[1]), 1)
        for first in range(0, len(rows), step):
            block = slice(first, first + step)
            same = (rows[block, None, :] == own[neighbors[block]]).all(axis=2)
            known = np.flatnonzero(same.any(axis=1))
            nearest = neighbors[block][known, np.argmax(same[known], axis=1)]
            placed[first + known] = places[nearest]
        return np.asarray(placed)
