"""Laplacian eigenmap (Law 2006, section 2.8)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from scipy import sparse

from sidelight._fit.parameters import Auto, FinitePositive, estimator
from sidelight._typing import Array
from sidelight.constraints import known_pairs
from sidelight.graphs import degrees
from sidelight.manifold.spectral._base import MappedGraph, _NeighborhoodEmbedding
from sidelight.manifold.spectral._frame import held_in_place, smallest
from sidelight.tags import own_tags

#: Heat that reaches two joined rows at least: less would split the graph.
MIN_HEAT = 1e-6

#: Factors of the extension closer to 0 than this are rounding.
MIN_FACTOR = 1e-6


@estimator
class LaplacianEigenmap(_NeighborhoodEmbedding):
    r"""Smoothest functions on the neighborhood graph, as coordinates.

    .. math:: \min_u \tfrac12 \sum_{ij} w_{ij} (u_i - u_j)^2 \quad u^T D u = 1, \; u^T D 1 = 0

    with ``w_ij`` the weights of the edges and ``D`` their sums: the trailing eigenvectors of
    ``L u = λ D u`` beside the constant one (Law 2006, section 2.8). New rows get the mean of their
    neighbors over ``1 - λ``, the extension of the eigenvectors (Nyström). Read more in the
    :doc:`user guide </manifold/spectral>`.

    An edge between must-linked rows of weight ``w`` counts ``1 + 9w`` times, and is added where
    there is none; cannot-links cut the edges between the neighborhoods of their rows
    (:func:`sidelight.graphs.constrain_graph`). With anchors the same sum is minimized with these
    rows held where they are: few anchors leave peaks around them and a plain in between.

    Parameters
    ----------
    weights : {"connectivity", "heat"}, default="connectivity"
        Weights of edges: 1, or ``exp(-d²/4t)``; the source finds ``t`` hard to choose.
    time : float > 0, finite or "auto", default="auto"
        ``t`` of "heat". "auto" gives the median edge the weight ``1/e``.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Trailing eigenvalues ``λ``, between 0 and 2, that of the constant vector left out; NaN with
        anchors.
    graph_ : csr_array of shape (n_mapped, n_mapped)
        Weights of the edges.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.manifold import LaplacianEigenmap
    >>> t = np.linspace(0, 1.5 * np.pi, 60)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> Z = LaplacianEigenmap(1, n_neighbors=2).fit_transform(X)
    >>> bool(np.all(np.diff(Z[:, 0]) > 0) or np.all(np.diff(Z[:, 0]) < 0))
    True
    """

    _: KW_ONLY
    metric: Literal["euclidean", "precomputed"] = "euclidean"
    weights: Literal["connectivity", "heat"] = "connectivity"
    time: FinitePositive | Auto = "auto"

    _own_tags = own_tags(
        summary="smoothest functions on the neighborhood graph",
        source="Belkin, Niyogi 2003; Law 2006, section 2.8",
        complexity="O(n k D log n) and a sparse factorization of time, O(n k) memory",
        sparse=True,
    )

    def _embed(self, near: MappedGraph) -> Array:
        edges, factors = self._constrained(near, known_pairs(near.known))
        apart = near.graph.data[near.graph.data > 0]
        usual = float(np.median(apart)) if len(apart) else 1.0
        self._time = usual**2 / 4 if self.time == "auto" else float(self.time)
        data = self._weigh(edges.data * factors) if self.weights == "heat" else 1.0 / factors
        self.graph_ = sparse.csr_array((data, edges.indices, edges.indptr), edges.shape)
        degree = degrees(self.graph_)
        if near.anchors is not None:
            self.eigenvalues_ = np.full(self.n_components, np.nan)
            plain = sparse.csr_array(sparse.diags_array(degree) - self.graph_)
            return held_in_place(plain, near.anchors)
        root = np.sqrt(degree)
        half = sparse.diags_array(1.0 / root)
        matrix = sparse.csr_array(sparse.eye_array(len(root)) - half @ self.graph_ @ half)
        self.eigenvalues_, vectors = smallest(matrix, root, self.n_components, largest=2.0)
        return np.asarray(vectors / root[:, None])

    def _weigh(self, lengths: Array) -> Array:
        """Heat that passes over edges of these lengths."""
        return np.maximum(np.exp(-(lengths**2) / (4 * self._time)), MIN_HEAT)

    def _place(self, near: sparse.csr_array, rows: Any) -> Array:
        mapped = self.embedding_[self._kept].astype(np.float64)
        data = self._weigh(near.data) if self.weights == "heat" else np.ones(near.nnz)
        similar = sparse.csr_array((data, near.indices, near.indptr), near.shape)
        places = np.asarray(similar @ mapped) / degrees(similar)[:, None]
        factor = 1.0 - np.nan_to_num(self.eigenvalues_)
        return places / np.where(np.abs(factor) < MIN_FACTOR, 1.0, factor)
