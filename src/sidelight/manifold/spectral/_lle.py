"""Locally linear embedding (Law 2006, section 2.7)."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_coordinates
from sidelight._fit.parameters import FinitePositive, estimator
from sidelight._typing import Array
from sidelight.constraints import Pairs, known_pairs
from sidelight.graphs.inner import RowSearch, first_of_each
from sidelight.manifold._reconstruction import (
    centered_rows,
    weights_of_lists,
)
from sidelight.manifold.spectral._base import MappedGraph, _NeighborhoodEmbedding, rows_like
from sidelight.manifold.spectral._frame import held_in_place, smallest
from sidelight.manifold.spectral._local_forms import check_form, local_forms
from sidelight.tags import own_tags

#: Price of a must-link of weight 1, in units of the last eigenvalue: the largest of four that were
#: tried whose maps of iris, wine, breast cancer and digits gained, or hardly lost.
MUST_LINK = 10.0

#: What is added to the diagonal of a matrix that may be singular, as a share of its mean entry.
LIFT = 1e-13


@estimator
class LocallyLinearEmbedding(_NeighborhoodEmbedding):
    r"""Map on which rows are rebuilt from their neighbors by the same weights as in the data.

    .. math:: \min_Z \sum_i \left\lVert z_i - \sum_j w_{ij} z_j \right\rVert^2
              \quad \sum_i z_i = 0, \; \sum_i z_i z_i^T = I

    with the weights, summing to 1, that rebuild row ``i`` from its neighbors best (Law 2006,
    section 2.7): the trailing eigenvectors of ``(I - W)ᵀ(I - W)`` beside the constant one. New rows
    get the weights of their own neighbors. Read more in the
    :doc:`user guide </manifold/spectral>`.

    Neighbors are the nearest rows of each row, not the symmetric union. Rows are needed, not
    distances: weights come from the directions of the neighbors, which a graph does not hold.

    Must-links add ``10 λ_d Σ w_ij ‖z_i - z_j‖²`` to the sum, with ``λ_d`` the last eigenvalue
    without them. Cannot-linked rows are no neighbors, and neither are the ends of the edges between
    their neighborhoods that :func:`sidelight.graphs.constrain_graph` cuts. With anchors the same
    sum is minimized with these rows held where they are, and without the scale of the constraint.

    Parameters
    ----------
    reg : float > 0, finite, default=0.001
        What is added to the diagonal of the Gram matrix of the neighbors, as a share of its trace.
    method : {"standard", "modified", "hessian", "ltsa"}, default="standard"
        What a neighborhood adds to the sum: the error of its weights; "modified", the errors of
        all weights that rebuild the row nearly as well, so that regularization bends no sheet
        (Zhang, Wang 2007); "hessian", the second derivatives of the coordinates on it, which needs
        more than ``d (d + 3) / 2`` neighbors for ``d`` coordinates (Donoho, Grimes 2003); "ltsa",
        what of the coordinates is not linear in its ``d`` principal directions (Zhang, Zha 2005).

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Trailing eigenvalues, that of the constant vector left out; NaN with anchors.
    reconstruction_weights_ : csr_array of shape (n_mapped, n_mapped) or None
        Weights ``w_ij``; None for other methods than "standard".

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.manifold import LocallyLinearEmbedding
    >>> t = np.linspace(0, 1.5 * np.pi, 60)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> Z = LocallyLinearEmbedding(1, n_neighbors=4).fit_transform(X)
    >>> bool(np.all(np.diff(Z[:, 0]) > 0) or np.all(np.diff(Z[:, 0]) < 0))
    True
    """

    _: KW_ONLY
    reg: FinitePositive = 1e-3
    method: Literal["standard", "modified", "hessian", "ltsa"] = "standard"

    _own_tags = own_tags(
        summary="map on which neighbors rebuild rows as they do in the data",
        source="Roweis, Saul 2000; Law 2006, section 2.7",
        complexity="O(n k (D + k²)) and a sparse factorization of time, O(n k²) memory",
    )

    def _embed(self, near: MappedGraph) -> Array:
        n = len(near.kept)
        pairs = known_pairs(near.known)
        matrix = self._form(near, pairs)
        # On flat rows also linear functions are null vectors of the other forms.
        mean = float(matrix.trace()) / n
        lift = 0.0 if self.method == "standard" else LIFT * mean
        anchored = near.anchors is not None
        if not anchored or pairs.n_together:
            self.eigenvalues_, vectors = smallest(matrix, np.ones(n), self.n_components, lift=lift)
        if pairs.n_together:
            # On a flat map without any error the rounding of the matrix gives the scale.
            least = np.finfo(np.float64).eps * mean
            scale = MUST_LINK * max(float(self.eigenvalues_[-1]), least)
            matrix = sparse.csr_array(matrix + scale * _pair_laplacian(pairs, n))
            if not anchored:
                self.eigenvalues_, vectors = smallest(
                    matrix, np.ones(n), self.n_components, lift=lift
                )
        if near.anchors is not None:
            self.eigenvalues_ = np.full(self.n_components, np.nan)
            return held_in_place(matrix, near.anchors)
        return vectors

    def _form(self, near: MappedGraph, pairs: Pairs) -> sparse.csr_array:
        """Matrix ``M`` of the sum ``tr(ZᵀMZ)`` over the neighborhoods."""
        rows, _ = centered_rows(near.rows)
        lists = self._neighbor_lists(near, pairs)
        n, d = len(rows), int(self.n_components)
        if self.method != "standard":
            usual = int(np.median(np.diff(lists.indptr)))
            check_form(self.method, usual, d, rows.shape[1])
            self.reconstruction_weights_: sparse.csr_array | None = None
            return local_forms(rows, lists, self.method, d, self.reg)
        self.reconstruction_weights_ = weights_of_lists(rows, lists, self.reg)
        apart = sparse.csr_array(sparse.eye_array(n) - self.reconstruction_weights_)
        return sparse.csr_array(apart.T @ apart)

    def _neighbor_lists(self, near: MappedGraph, pairs: Pairs) -> sparse.csr_array:
        """Neighbors of every row: the nearest, ends of bridges, and what cannot-links leave."""
        graph, n = near.graph, near.graph.shape[0]
        listed = _keys(graph, n)
        if self.radius is None:
            nearest = self._nearest_of(graph, graph.data)
            both = np.concatenate([nearest, nearest % n * n + nearest // n])
            # Only a bridge joins two rows of which none is a neighbor of the other.
            listed = np.concatenate([nearest, listed[~np.isin(listed, both)]])
        if pairs.n_apart:
            only = replace(pairs, together=pairs.together[:0], together_weight=np.zeros(0))
            left, factors = self._constrained(near, only)
            allowed = _keys(left, n)
            listed = listed[np.isin(listed, allowed)]
            if self.radius is None:  # rows that name a row take the places of those it lost
                listed = np.concatenate([listed, self._nearest_of(left, left.data * factors)])
        listed = np.unique(listed)
        indptr = np.searchsorted(listed, np.arange(n + 1) * n)
        return sparse.csr_array((np.ones(len(listed)), listed % n, indptr), shape=(n, n))

    def _nearest_of(self, graph: sparse.csr_array, lengths: Array) -> Array:
        """The ``n_neighbors`` shortest edges of every row, as numbers ``row n + neighbor``."""
        n = graph.shape[0]
        ends = np.repeat(np.arange(n), np.diff(graph.indptr))
        first, second, _ = first_of_each(ends, graph.indices, lengths, self.n_neighbors)
        return np.asarray(first * n + second)

    def _place(self, near: sparse.csr_array, rows: Any) -> Array:
        values = rows if self._columns is None else self._columns.of(rows)
        mapped = self.embedding_[self._kept].astype(np.float64)
        return np.asarray(self._weights_of(near, self._rows, values) @ mapped)

    def inverse_transform(self, Z: Any) -> Array:
        """Rows rebuilt from the neighbors of places on the map, by their weights there.

        Parameters
        ----------
        Z : array of shape (n, n_components)
            Coordinates.

        Returns
        -------
        X : ndarray of shape (n, n_features)
            Rows; those of the fit at their own coordinates. Ignored columns are not rebuilt: the
            others come without their effect.
        """
        check_is_fitted(self)
        mapped = self.embedding_[self._kept]
        places = check_coordinates(Z, mapped.shape[1])
        distances, targets = RowSearch(mapped).nearest(places, min(self.n_neighbors, len(mapped)))
        indptr = np.arange(0, targets.size + 1, targets.shape[1])
        near = sparse.csr_array(
            (distances.ravel(), targets.ravel(), indptr), (len(places), len(mapped))
        )
        same = rows_like(near)
        rebuilt = self._weights_of(near, mapped, places) @ self._rows.astype(np.float64)
        found: Array = np.where(same[:, None] >= 0, self._rows[same], rebuilt)
        return found.astype(self.embedding_.dtype)

    def _weights_of(self, near: sparse.csr_array, rows: Array, new: Array) -> sparse.csr_array:
        """Weights of the neighbors of new rows, any number of them per row."""
        rows, targets = centered_rows(rows, new)
        return weights_of_lists(rows, near, self.reg, new=targets)


def _keys(graph: sparse.csr_array, n: int) -> Array:
    """Edges as numbers ``row n + neighbor``."""
    return np.repeat(np.arange(n), np.diff(graph.indptr)) * n + graph.indices


def _pair_laplacian(pairs: Pairs, n: int) -> sparse.csr_array:
    """Matrix of ``Σ w_ij ‖z_i - z_j‖²`` over the pairs that belong together."""
    order = np.arange(pairs.n_together)
    signs = np.repeat([1.0, -1.0], pairs.n_together)
    ends = pairs.together.T.ravel()
    difference = sparse.csr_array((signs, (np.tile(order, 2), ends)), (pairs.n_together, n))
    weighted = sparse.diags_array(pairs.together_weight.astype(np.float64)) @ difference
    return sparse.csr_array(difference.T @ weighted)
