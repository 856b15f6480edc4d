"""Shared parts of embeddings of a neighborhood graph: parameters, graph, neighbors of new rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils import Tags

from sidelight._fit.parameters import Count, FinitePositive, estimator
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import counted, setting
from sidelight.base import Embedding
from sidelight.constraints import Constraints, Pairs
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.graphs import constrained_edges, distance_graph, join_parts
from sidelight.graphs.inner import (
    BLOCK_NUMBERS,
    RowSearch,
    first_of_each,
    read_distance_graph,
)
from sidelight.manifold._rows import (
    Anchors,
    KeptColumns,
    all_the_same,
    check_anchors,
    check_several,
    keep_columns,
)

Metric = Literal["euclidean", "precomputed"]

#: Entries of docstrings that embeddings of a neighborhood graph share.
PARAMETERS = {
    "n_components": "Number of coordinates.",
    "n_neighbors": "Number of neighbors of a row in the graph; two rows are joined if one is a "
    "neighbor of the other.",
    "radius": "Join rows at a distance below it instead of nearest neighbors.",
    "metric": 'Whether rows are given or distances: "precomputed" takes a matrix of distances '
    "between all rows, or a sparse one, which is the neighborhood graph itself: what it does not "
    "store is no edge, and an edge stored one way counts both ways, so that it may come from "
    "scikit-learn's ``KNeighborsTransformer``. ``transform`` takes the distances of new rows to "
    "those of the fit, in the same way.",
    "disconnected": 'What to do with a graph that falls into parts: "bridge" joins them by their '
    'shortest links and warns, "largest" maps the largest part and gives the other rows NaN, '
    '"raise" raises.',
    "ignore": "Positions or names of columns that are left out of the distances; their linear "
    "effect on the other columns is removed first.",
}


@dataclass(frozen=True)
class MappedGraph:
    """Rows that are mapped, the graph that joins them, and what is known about them.

    Attributes
    ----------
    rows : ndarray or CSR matrix
        Rows, or distances between them, without those that are left out.
    graph : csr_array of shape (n_kept, n_kept)
        Distances of joined rows; connected.
    kept : ndarray of int, shape (n_kept,)
        Positions of the rows among those of the fit.
    known : Constraints
        What is known about them.
    anchors : Anchors or None
        Their known places.
    """

    rows: Any
    graph: sparse.csr_array
    kept: Array
    known: Constraints
    anchors: Anchors | None


@estimator
class _NeighborhoodEmbedding(Embedding):
    """A map that is made from the neighborhood graph of the rows.

    Subclasses define ``_embed(near)``, which returns the coordinates of the rows of a
    :class:`MappedGraph`, and ``_place(near, rows)``, which places new rows by their neighbors.
    """

    _common_parameters: ClassVar[dict[str, str]] = PARAMETERS
    _family_tags = Embedding._family_tags | {
        "knowledge": ("must-link", "cannot-link", "labels", "groups", "anchors"),
        "enforcement": "soft",
    }

    n_components: Count = 2
    _: KW_ONLY
    n_neighbors: Count = 10
    radius: FinitePositive | None = None
    disconnected: Literal["bridge", "largest", "raise"] = "bridge"
    ignore: Sequence[int] | Sequence[str] | None = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    @property
    def _is_precomputed(self) -> bool:
        return getattr(self, "metric", "euclidean") == "precomputed"

    @property
    def _metric(self) -> Metric:
        return "precomputed" if self._is_precomputed else "euclidean"

    def fit(
        self, X: Any, y: Any = None, *, constraints: Constraints | None = None, anchors: Any = None
    ) -> Self:
        """Fit the map to rows and to what is known about them.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows, or the distances between them where the method takes them.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            Side information about the rows: pairs, labels, groups.
        anchors : array of shape (n_samples, n_components), default=None
            Known coordinates of some rows, NaN where nothing is known.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        rows, known = self._validate_fit_in_memory(X, y, constraints)
        n = rows.shape[0]
        self._check_size(n)
        fixed = check_anchors(anchors, n, self.n_components)
        near = self._neighborhood(rows, known, fixed)
        self._kept, self._n_rows = near.kept, n
        self._uncut: sparse.csr_array | None = None
        self._rows: Any = None if self._is_precomputed else near.rows.copy()
        places = self._embed(near)
        if not self._is_precomputed and near.anchors is None:
            _share_places(places, near)
        self.embedding_ = np.full((n, self.n_components), np.nan, dtype=rows.dtype)
        self.embedding_[near.kept] = places
        return self

    def _check_size(self, n: int) -> None:
        """Raise before any computation if there are more rows than memory allows."""

    def _embed(self, near: MappedGraph) -> Array:
        """Coordinates of the rows."""
        raise NotImplementedError

    def _place(self, near: sparse.csr_array, rows: Any) -> Array:
        """Coordinates of new rows, from their distances to neighbors among the mapped rows."""
        raise NotImplementedError

    def _transform(self, rows: Any) -> Array:
        near = self._neighbors_of(rows)
        same = rows_like(near)
        mapped = self.embedding_[self._kept[same]]
        places = np.where(same[:, None] >= 0, mapped, self._place(near, rows))
        return places.astype(rows.dtype, copy=False)

    def _neighborhood(self, rows: Any, known: Constraints, anchors: Anchors | None) -> MappedGraph:
        n = rows.shape[0]
        check_several(n)
        names = getattr(self, "feature_names_in_", None)
        if self.ignore is not None and self._is_precomputed:
            raise SidelightError(
                f"{setting('ignore')} names columns of rows, but distances were given."
            )
        self._columns: KeptColumns | None = keep_columns(rows, self.ignore, names)
        values = rows if self._columns is None else self._columns.of(rows)
        graph = self._distances(values, known)
        extent = values if self._is_precomputed else np.ptp(_dense_range(values), axis=0)
        if extent.max() == 0:
            raise all_the_same(n)
        by_graph = self._measures_by_graph(values)
        measured = graph if by_graph else values
        metric: Metric = "precomputed" if by_graph else self._metric
        graph, kept = join_parts(graph, measured, self.disconnected, metric=metric)
        if len(kept) < n:
            values = values[kept][:, kept] if self._is_precomputed else values[kept]
            known = known[kept]
            anchors = None if anchors is None else _still_enough(anchors.restricted_to(kept), self)
        return MappedGraph(values, graph, kept, known, anchors)

    def _measures_by_graph(self, rows: Any) -> bool:
        """Whether the graph holds all distances that are known: those of a sparse matrix."""
        return self._is_precomputed and sparse.issparse(rows)

    def _distances(self, values: Any, known: Constraints) -> sparse.csr_array:
        """The graph as the parameters ask for it."""
        if self._is_precomputed and sparse.issparse(values):
            names = known.name_rows if known.ids is not None else None
            return read_distance_graph(values, name_rows=names)
        if self.radius is not None:
            return distance_graph(values, radius=self.radius, metric=self._metric)
        if self.n_neighbors >= values.shape[0]:
            warn(
                f"{setting('n_neighbors', self.n_neighbors)} are more than the other "
                f"{counted(values.shape[0] - 1, 'row')}: every row is joined with all others.",
                EmbeddingWarning,
            )
        return distance_graph(values, n_neighbors=self.n_neighbors, metric=self._metric)

    def _constrained(self, near: MappedGraph, pairs: Pairs) -> tuple[sparse.csr_array, Array]:
        """Edges after constraints, and by how much each is longer."""
        if self._measures_by_graph(near.rows):
            edges, factors = constrained_edges(near.graph, near.graph, pairs, metric="precomputed")
        else:
            edges, factors = constrained_edges(near.graph, near.rows, pairs, metric=self._metric)
        if pairs.n_apart:
            ends = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
            whole = factors <= 1  # edges that cannot-links leave
            self._uncut = _csr(ends[whole], edges.indices[whole], whole[whole], edges.shape)
        return edges, factors

    def _neighbors_of(self, rows: Any) -> sparse.csr_array:
        """Distances of new rows to their neighbors among the rows that were mapped.

        After cannot-links these are the nearest one and those that it is joined with: what was cut
        from the nearest row has no short way to the new one either.
        """
        near = self._all_neighbors_of(rows)
        if self._uncut is None:
            return near
        ends = np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))
        nearest = first_of_each(ends, near.indices, near.data, 1)[1][ends]
        joined = np.asarray(self._uncut[nearest, near.indices]).ravel()
        left = joined | (nearest == near.indices)
        return _csr(ends[left], near.indices[left], near.data[left], near.shape)

    def _all_neighbors_of(self, rows: Any) -> sparse.csr_array:
        n = len(self._kept)
        if self._is_precomputed:
            mapped = rows[:, self._kept]
            if sparse.issparse(mapped):
                return _stored_neighbors(mapped)
            return _nearest_columns(mapped, self.n_neighbors, self.radius)
        values = rows if self._columns is None else self._columns.of(rows)
        search = RowSearch(self._rows)
        if self.radius is None:
            distances, targets = search.nearest(values, min(self.n_neighbors, n))
            return _lists(distances, targets, n)
        ends, targets, distances = search.within(values, self.radius)
        inside = distances < self.radius
        ends, targets, distances = ends[inside], targets[inside], distances[inside]
        alone = np.setdiff1d(np.arange(values.shape[0]), ends)
        if len(alone):  # a row beyond the radius of all others is joined with the nearest
            away, nearest = search.nearest(values[alone], 1)
            ends = np.concatenate([ends, alone])
            targets = np.concatenate([targets, nearest[:, 0]])
            distances = np.concatenate([distances, away[:, 0]])
        return _csr(ends, targets, distances, (values.shape[0], n))


def _dense_range(values: Any) -> Array:
    """Smallest and largest value of every column."""
    if sparse.issparse(values):
        return np.vstack([values.min(axis=0).toarray(), values.max(axis=0).toarray()])
    return np.vstack([values.min(axis=0), values.max(axis=0)])


def rows_like(near: sparse.csr_array) -> Array:
    """Position of a mapped row that equals each new row, -1 where none does."""
    same = np.full(near.shape[0], -1)
    at = np.flatnonzero(near.data == 0)[::-1]  # of several the first comes last, and stays
    ends = np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))
    same[ends[at]] = near.indices[at]
    return same


def _share_places(places: Array, near: MappedGraph) -> None:
    """Put rows that are the same in one place, the mean of theirs, in place.

    Rows that constraints separate from others like them stay where they are.
    """
    if sparse.issparse(near.rows):
        return
    _, group, sizes = np.unique(
        near.rows + 0.0, axis=0, return_inverse=True, return_counts=True
    )  # -0.0 becomes 0.0
    group = group.ravel()
    several = sizes[group] > 1
    several[near.known.mentioned] = False
    group = np.unique(group[several], return_inverse=True)[1]
    counts = np.bincount(group)
    for coordinate in places.T:
        sums = np.bincount(group, weights=coordinate[several], minlength=len(counts))
        coordinate[several] = (sums / np.maximum(counts, 1))[group]


def _still_enough(anchors: Anchors, model: _NeighborhoodEmbedding) -> Anchors:
    if len(anchors.rows) <= model.n_components:
        raise SidelightError(
            f"Only {counted(len(anchors.rows), 'anchor')} of the largest part of the graph are "
            f"known, but {model.n_components + 1} are needed; give others, or set "
            f"{setting('disconnected', 'bridge')}."
        )
    return anchors


def _lists(distances: Array, targets: Array, n: int) -> sparse.csr_array:
    """Neighbor lists of one length as a matrix that keeps zeros."""
    indptr = np.arange(0, targets.size + 1, targets.shape[1])
    return sparse.csr_array((distances.ravel(), targets.ravel(), indptr), (len(targets), n))


def _csr(ends: Array, targets: Array, distances: Array, shape: tuple[int, int]) -> sparse.csr_array:
    order = np.lexsort((targets, ends))
    indptr = np.append(0, np.cumsum(np.bincount(ends, minlength=shape[0])))
    return sparse.csr_array((distances[order], targets[order], indptr), shape)


def _nearest_columns(distances: Array, n_neighbors: int, radius: float | None) -> sparse.csr_array:
    """Neighbors of new rows in a matrix of their distances to the mapped rows."""
    values = np.asarray(distances, dtype=np.float64)
    if (values < 0).any():
        i, j = np.argwhere(values < 0)[0]
        raise SidelightError(
            f"The distance of new row {i} to row {j} of the fit is {values[i, j]:.6g}; distances "
            "are not below 0."
        )
    found = []
    wanted = min(n_neighbors, values.shape[1])
    size = max(1, BLOCK_NUMBERS // values.shape[1])
    for first in range(0, len(values), size):
        block = values[first : first + size]
        if radius is None:
            last = np.partition(block, wanted - 1, axis=1)[:, wanted - 1 : wanted]
            ends, targets = np.nonzero(block <= last)
        else:
            wanted = values.shape[1]
            ends, targets = np.nonzero((block < radius) | (block <= block.min(1)[:, None]))
        nearest = first_of_each(ends, targets, block[ends, targets], wanted)
        found.append((nearest[0] + first, *nearest[1:]))
    ends, targets, lengths = (np.concatenate(part) for part in zip(*found, strict=True))
    return _csr(ends, targets, lengths, values.shape)


def _stored_neighbors(distances: Any) -> sparse.csr_array:
    """Stored distances of new rows to the mapped rows; each row needs some."""
    near = sparse.csr_array(distances)
    alone = np.flatnonzero(np.diff(near.indptr) == 0)
    if len(alone):
        raise SidelightError(
            f"New row {alone[0]} has no distance to any row that was mapped, so it has no place."
        )
    return near
