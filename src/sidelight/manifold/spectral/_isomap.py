"""Isomap: classical scaling of geodesics (Law 2006, sections 2.6 and 3.1)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import estimator
from sidelight._typing import Array
from sidelight.constraints import known_pairs
from sidelight.evaluation import residual_variance
from sidelight.graphs import geodesics
from sidelight.graphs.inner import BLOCK_NUMBERS, first_of_each
from sidelight.manifold._rows import SimilarityMap, move_onto
from sidelight.manifold.spectral._base import MappedGraph, _NeighborhoodEmbedding
from sidelight.manifold.spectral._frame import (
    BLOCK_ROWS,
    check_pairs_fit,
    half_squares,
    squared_distance_frame,
    warn_of_missing_dimensions,
)
from sidelight.tags import own_tags


@estimator
class _GeodesicEmbedding(_NeighborhoodEmbedding):
    """A map of geodesics, the lengths of shortest paths over the neighborhood graph."""

    _: KW_ONLY
    metric: Literal["euclidean", "precomputed"] = "euclidean"
    conformal: bool = False

    def _lengths(self, near: MappedGraph) -> sparse.csr_array:
        """Lengths of the edges of the graph, after constraints and conformal scaling."""
        edges, factors = self._constrained(near, known_pairs(near.known))
        lengths = edges.data * factors
        if self.conformal:
            self._scales = _mean_distances(near.graph, self._n_near)
            ends = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
            lengths = lengths / np.sqrt(self._scales[ends] * self._scales[edges.indices])
        return sparse.csr_array((lengths, edges.indices, edges.indptr), edges.shape)

    @property
    def _n_near(self) -> int | None:
        """Neighbors whose mean distance is the scale of a row; None for all of them."""
        return None if self.radius is not None else int(self.n_neighbors)

    def _moved(self, places: Array, near: MappedGraph) -> Array:
        """Move the map onto its anchors, if there are any."""
        self._move: SimilarityMap | None = None
        if near.anchors is not None:
            self._move = move_onto(places[near.anchors.rows], near.anchors.places)
        return places if self._move is None else self._move.of(places)

    def _place(self, near: sparse.csr_array, rows: Any) -> Array:
        lengths = near.data
        if self.conformal:
            own = _mean_distances(near, self._n_near)
            ends = np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))
            lengths = lengths / np.sqrt(own[ends] * self._scales[near.indices])
        paths = self._paths()
        places = np.empty((near.shape[0], self.n_components))
        size = max(1, BLOCK_NUMBERS * near.shape[0] // max(near.nnz * paths.shape[1], 1))
        for first in range(0, near.shape[0], size):
            starts = near.indptr[first : first + size + 1]
            part = slice(starts[0], starts[-1])
            through = paths[near.indices[part]] + lengths[part, None]
            shortest = np.minimum.reduceat(through, starts[:-1] - starts[0], axis=0)
            places[first : first + size] = self._extend(shortest)
        return places if self._move is None else self._move.of(places)

    def _paths(self) -> Array:
        """Geodesics from every row, a row each."""
        raise NotImplementedError

    def _extend(self, lengths: Array) -> Array:
        """Coordinates of new rows from their geodesics."""
        raise NotImplementedError


def _mean_distances(graph: sparse.csr_array, n_near: int | None) -> Array:
    """Mean distance of every row to its nearest neighbors, above 0."""
    ends = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    distances = graph.data
    if n_near is not None:
        ends, _, distances = first_of_each(ends, graph.indices, distances, n_near)
    counts = np.bincount(ends, minlength=graph.shape[0])
    means = np.bincount(ends, weights=distances, minlength=graph.shape[0]) / np.maximum(counts, 1)
    above = means[means > 0]
    # Among rows that are all the same there is no scale: any will do, their distances are 0.
    return np.where(means > 0, means, above.min() if len(above) else 1.0)


@estimator
class Isomap(_GeodesicEmbedding):
    r"""Map that keeps distances along the manifold: classical scaling of geodesics.

    .. math:: \min_Z \lVert B - Z Z^T \rVert_F, \quad B = -\tfrac12 H G^{(2)} H

    with ``g_ij`` the length of the shortest path from row ``i`` to row ``j`` over the neighborhood
    graph, whose edges are distances (Law 2006, sections 2.6 and 3.1). New rows are joined with
    their nearest rows, which gives their geodesics and from these their places; the map stays as it
    is. Read more in the :doc:`user guide </manifold/spectral>`.

    Must-linked rows are joined by an edge of a tenth of their distance, cannot-links cut the edges
    between the neighborhoods of their rows (:func:`sidelight.graphs.constrain_graph`), and so keep
    short-circuits out of the map. Anchors turn, shift and scale the map as a whole, onto the known
    coordinates as well as possible.

    Parameters
    ----------
    conformal : bool, default=False
        Divide the distance of two joined rows by ``√(M_i M_j)``, with ``M_i`` the mean distance of
        row ``i`` to its neighbors: for maps that keep angles but not lengths.

    Attributes
    ----------
    geodesics_ : ndarray of shape (n_mapped, n_mapped)
        Lengths of the shortest paths between the rows that have coordinates, all of them but for
        ``disconnected="largest"``.
    eigenvalues_ : ndarray of shape (n_components,)
        Leading eigenvalues of ``B``; 0, with a warning, where it has fewer above 0.
    residual_variances_ : ndarray of shape (n_components,)
        ``1 - corr(g_ij, |z_i - z_j|)²`` with the first coordinate, the first two and so on: where
        it stops falling is the dimension of the manifold. Computed when asked for.
    graph_ : csr_array of shape (n_mapped, n_mapped)
        Lengths of the edges of the graph.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.manifold import Isomap
    >>> t = np.linspace(0, 1.5 * np.pi, 40)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> Z = Isomap(1, n_neighbors=2).fit_transform(X)
    >>> float(abs(np.corrcoef(Z[:, 0], t)[0, 1]).round(6))
    1.0
    """

    _own_tags = own_tags(
        summary="map that keeps distances along the manifold",
        source="Tenenbaum, de Silva, Langford 2000; Law 2006, sections 2.6 and 3.1",
        complexity="O(n² log n) time, O(n²) memory",
        sparse=True,
    )

    def _check_size(self, n: int) -> None:
        instead = "LandmarkIsomap keeps those of some rows to all others only."
        check_pairs_fit(n, type(self).__name__, instead)

    def _embed(self, near: MappedGraph) -> Array:
        self.graph_ = self._lengths(near)
        self.geodesics_ = geodesics(self.graph_)
        self._frame = squared_distance_frame(self.geodesics_, self.n_components)
        warn_of_missing_dimensions(self._frame.values, self.n_components)
        self.eigenvalues_ = self._frame.values
        return self._moved(self._frame.coordinates, near)

    def _paths(self) -> Array:
        return self.geodesics_

    def _extend(self, lengths: Array) -> Array:
        return self._frame.extend(half_squares(lengths))

    @property
    def residual_variances_(self) -> Array:
        """Variance of the geodesics that the first coordinates leave unexplained, by number."""
        places = self._frame.coordinates
        return np.array(
            [residual_variance(self.geodesics_, places[:, : d + 1]) for d in range(places.shape[1])]
        )

    def reconstruction_error(self) -> float:
        """Size of what the map leaves of the geodesics: ``‖B - Z Zᵀ‖_F / n``.

        Returns
        -------
        error : float
            The value of scikit-learn's method of this name: ``√(Σ B_ij² - Σ λ_c²) / n`` over the
            eigenvalues ``λ`` of the map. Anchors, which turn and scale it, do not count.
        """
        check_is_fitted(self)
        means, n = self._frame.means, len(self.geodesics_)
        total, grand = 0.0, float(means.mean())
        for first in range(0, n, BLOCK_ROWS):
            part = slice(first, first + BLOCK_ROWS)
            centered = half_squares(self.geodesics_[part])
            centered -= means[part, None]
            centered -= means - grand
            total += float(np.sum(centered**2))
        return float(np.sqrt(max(total - float(np.sum(self.eigenvalues_**2)), 0.0))) / n
