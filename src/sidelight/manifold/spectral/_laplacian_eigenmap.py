"""Laplacian eigenmap (Law 2006, section 2.8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sidelight._fit.parameters import Auto, FinitePositive, estimator
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import counted, setting
from sidelight.constraints import Constraints, known_pairs
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.graphs import degrees, distance_graph
from sidelight.graphs.inner import RowSearch, check_graph, join_both_ways
from sidelight.manifold.spectral._base import MappedGraph, _NeighborhoodEmbedding
from sidelight.manifold.spectral._frame import held_in_place, smallest
from sidelight.tags import own_tags

#: Heat that reaches two joined rows at least: less would split the graph.
MIN_HEAT = 1e-6

#: The same where all rows are joined: only rounding to 0 would.
MIN_FULL_HEAT = 1e-300

#: Rows all of which are joined: their graph takes 16 n² bytes, and some copies.
MAX_FULL_ROWS = 5_000

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
    (:func:`sidelight.graphs.constrain_graph`); of given similarities ``1/w_ij`` is the length of an
    edge. With anchors the same sum is minimized with these
    rows held where they are: few anchors leave peaks around them and a plain in between.

    Parameters
    ----------
    graph : {"neighbors", "full", "precomputed"} or callable, default="neighbors"
        Edges: between nearest neighbors; between all rows, with heat as weights (``t = 1/4γ`` is
        the kernel ``exp(-γ d²)``), for at most 5,000 rows; or ``X`` holds similarities, of all rows
        or sparse (``transform`` takes those of new rows to the rows of the fit); or a function of
        two blocks of rows that returns their similarities. Similarities of rows to themselves do
        not count; those that a sparse matrix stores one way only count both ways.
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
    graph: Literal["neighbors", "full", "precomputed"] | Callable[..., Any] = "neighbors"
    weights: Literal["connectivity", "heat"] = "connectivity"
    time: FinitePositive | Auto = "auto"

    _own_tags = own_tags(
        summary="smoothest functions on the neighborhood graph",
        source="Belkin, Niyogi 2003; Law 2006, section 2.8",
        complexity="O(n k D log n) and a sparse factorization of time, O(n k) memory",
        sparse=True,
    )

    @property
    def _takes_similarities(self) -> bool:
        return callable(self.graph) or self.graph == "precomputed"

    @property
    def _is_precomputed(self) -> bool:
        return self.metric == "precomputed" or self.graph == "precomputed"

    def _measures_by_graph(self, rows: Any) -> bool:
        return self._takes_similarities or super()._measures_by_graph(rows)

    def _check_size(self, n: int) -> None:
        self._check_graph_parameters()
        if self.graph == "full" and n > MAX_FULL_ROWS:
            raise SidelightError(
                f"{setting('graph', 'full')} joins every two of {n:,} rows, and takes at most "
                f"{MAX_FULL_ROWS:,} rows; {setting('graph', 'neighbors')} takes more."
            )

    def _check_graph_parameters(self) -> None:
        """Raise or warn where parameters contradict the graph, or mean nothing to it."""
        if self.graph == "full" and self.weights != "heat":
            raise SidelightError(
                f"{setting('graph', 'full')} joins all rows, so that edges of one weight tell "
                f"nothing; use {setting('weights', 'heat')}."
            )
        if self._takes_similarities and self.metric == "precomputed":
            raise SidelightError(
                f"{setting('metric', 'precomputed')} says that distances are given, "
                f"{setting('graph')} that similarities are; set one of them."
            )
        unused: dict[str, Any] = {"radius": None} if self.graph == "full" else {}
        if self._takes_similarities:
            unused = {"radius": None, "weights": "connectivity", "time": "auto"}
        for name, default in unused.items():
            if self.graph != "neighbors" and getattr(self, name) != default:
                warn(
                    f"{setting(name, getattr(self, name))} is not used: it is about the edges of "
                    f"{setting('graph', 'neighbors')}.",
                    EmbeddingWarning,
                )

    def _distances(self, values: Any, known: Constraints) -> sparse.csr_array:
        """Distances of joined rows; one over their similarities, where these are given."""
        if self.graph == "full":
            n = values.shape[0]
            nearest = None if self.metric == "precomputed" else n - 1
            return distance_graph(values, n_neighbors=nearest, metric=self._metric)
        if not self._takes_similarities:
            return super()._distances(values, known)
        given = self.graph(values, values) if callable(self.graph) else values
        similar = check_graph(
            join_both_ways(_as_matrix(given, (values.shape[0],) * 2)),
            known.name_rows if known.ids is not None else None,
        )
        stored = sparse.coo_array(similar)
        others = stored.row != stored.col
        lengths = sparse.csr_array(
            (1.0 / stored.data[others], (stored.row[others], stored.col[others])), similar.shape
        )
        n_parts = connected_components(lengths, directed=False, return_labels=False)
        if n_parts > 1 and self.disconnected == "bridge":
            raise SidelightError(
                f"The similarities join the rows to {counted(n_parts, 'part')} between which there "
                f"are none: give some between them, or set {setting('disconnected', 'largest')}."
            )
        return lengths

    def _embed(self, near: MappedGraph) -> Array:
        edges, factors = self._constrained(near, known_pairs(near.known))
        if self.weights == "heat":
            apart = near.graph.data[near.graph.data > 0]
            usual = float(np.median(apart)) if len(apart) else 1.0
            self._time = usual**2 / 4 if self.time == "auto" else float(self.time)
        data = self._weigh(edges.data * factors) if self._is_weighted else 1.0 / factors
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

    @property
    def _is_weighted(self) -> bool:
        return self._takes_similarities or self.weights == "heat"

    def _weigh(self, lengths: Array) -> Array:
        """Similarities over edges of these lengths: as given, or the heat that passes over them."""
        if self._takes_similarities:
            return np.divide(1.0, lengths, where=lengths > 0, out=np.zeros_like(lengths))
        least = MIN_HEAT if self.graph == "neighbors" else MIN_FULL_HEAT
        return np.maximum(np.exp(-(lengths**2) / (4 * self._time)), least)

    def _all_neighbors_of(self, rows: Any) -> sparse.csr_array:
        if self._takes_similarities:
            return self._lengths_to(rows)
        if self.graph == "neighbors":
            return super()._all_neighbors_of(rows)
        n = len(self._kept)
        if self._is_precomputed:
            distances = np.asarray(rows[:, self._kept], dtype=np.float64)
            targets = np.tile(np.arange(n), (len(distances), 1))
        else:
            values = rows if self._columns is None else self._columns.of(rows)
            distances, targets = RowSearch(self._rows).nearest(values, n)
        indptr = np.arange(0, targets.size + 1, n)
        return sparse.csr_array((distances.ravel(), targets.ravel(), indptr), targets.shape)

    def _lengths_to(self, rows: Any) -> sparse.csr_array:
        """One over the similarities of new rows to those that were mapped."""
        if callable(self.graph):
            values = rows if self._columns is None else self._columns.of(rows)
            shape = (values.shape[0], self._rows.shape[0])
            given = sparse.csr_array(_as_matrix(self.graph(values, self._rows), shape))
        else:
            given = sparse.csr_array(rows)[:, self._kept]
        similar = sparse.csr_array(given, dtype=np.float64, copy=True)
        similar.eliminate_zeros()
        if not np.all((similar.data > 0) & np.isfinite(similar.data)):
            raise SidelightError("Similarities of new rows are finite and not negative.")
        alone = np.flatnonzero(np.diff(similar.indptr) == 0)
        if len(alone):
            raise SidelightError(
                f"New row {alone[0]} is similar to no row that was mapped, so it has no place."
            )
        lengths = sparse.csr_array(
            (1.0 / similar.data, similar.indices, similar.indptr), given.shape
        )
        if callable(self.graph):  # a row of the fit is no neighbor of itself, and has its place
            nearest, which = RowSearch(self._rows).nearest(values, 1)
            ends = np.repeat(np.arange(lengths.shape[0]), np.diff(lengths.indptr))
            same = (nearest[ends, 0] == 0) & (lengths.indices == which[ends, 0])
            lengths.data[same] = 0.0
        return lengths

    def _place(self, near: sparse.csr_array, rows: Any) -> Array:
        mapped = self.embedding_[self._kept].astype(np.float64)
        data = self._weigh(near.data) if self._is_weighted else np.ones(near.nnz)
        similar = sparse.csr_array((data, near.indices, near.indptr), near.shape)
        places = np.asarray(similar @ mapped) / degrees(similar)[:, None]
        factor = 1.0 - np.nan_to_num(self.eigenvalues_)
        return places / np.where(np.abs(factor) < MIN_FACTOR, 1.0, factor)


def _as_matrix(given: Any, shape: tuple[int, int]) -> Any:
    """Similarities as a matrix of floats, of the shape that they should have."""
    matrix = given if sparse.issparse(given) else np.asarray(given, dtype=np.float64)
    if matrix.shape != shape:
        wanted, found = (" x ".join(str(size) for size in one) for one in (shape, matrix.shape))
        raise SidelightError(
            f"Similarities are a matrix of {wanted} numbers, one for every two rows; got {found}."
        )
    return matrix
