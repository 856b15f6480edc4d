"""Shortest-path trees of some vertices, kept exact while a graph changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._kernels.manifold.dijkstra import NO_VERTEX
from sidelight._kernels.manifold.path_trees import bypass_in_trees, move_in_trees, update_trees
from sidelight._kernels.manifold.squared_products import squares_times, times_squares
from sidelight._typing import Array
from sidelight.engine import get_threads
from sidelight.graphs._geodesics import geodesics
from sidelight.graphs._growing import (
    NO_EDGES,
    NO_LENGTHS,
    GrowingGraph,
    PathChange,
    as_edges,
    larger,
    on_threads,
    read_only,
)

#: Sources times vertices from which on threads gain more than they cost.
SIZE_FOR_THREADS = 500_000


class DynamicPathTrees:
    """Shortest paths from some vertices of a graph that changes (Law 2006, algorithms 3.5 to 3.7).

    ``g_aj`` for the sources ``a`` and all vertices ``j``, exact after every change. Vertices behind
    an edge that grew or vanished are reached again from the rest of the tree; edges that grew
    shorter or are new pass on what they gain; trees do not depend on each other and are repaired by
    threads. Takes ``O(m n)`` memory, and ``O(q δ log δ)`` time per tree for ``δ`` vertices that
    change.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Symmetric lengths of edges, none below 0; stored zeros are edges of length 0.
    sources : array of int, shape (n_sources,)
        Vertices to start from; they stay in the graph.

    Examples
    --------
    >>> from sidelight.graphs import DynamicPathTrees, distance_graph
    >>> trees = DynamicPathTrees(distance_graph([[0.0], [1.0], [3.0]], n_neighbors=1), sources=[0])
    >>> trees.distances
    array([[0., 1., 3.]])
    >>> change = trees.add_vertex({0: 0.5, 2: 0.5})
    >>> trees.distances
    array([[0. , 1. , 1. , 0.5]])
    """

    def __init__(self, graph: Any, sources: Any) -> None:
        self._graph = GrowingGraph(graph)
        self._sources = np.asarray(sources, dtype=np.int64).ravel().copy()
        n = self._graph.n
        if len(self._sources) == 0 or not np.all((self._sources >= 0) & (self._sources < n)):
            raise ValueError(f"Sources are some of the vertices 0 to {n - 1}.")
        if len(np.unique(self._sources)) < len(self._sources):
            raise ValueError("Every source can be given once.")
        before = np.empty((len(self._sources), n), np.int32)
        lengths = geodesics(self._graph.as_csr(), self._sources, predecessors=before)
        # A vertex in every row: most changes concern the same vertices in all trees.
        self._paths, self._before = lengths.T.copy(), before.T.copy()

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return self._graph.n

    @property
    def sources(self) -> Array:
        """Vertices at which the trees start."""
        return read_only(self._sources)

    @property
    def distances(self) -> Array:
        """Lengths of the paths from the sources, a row each, infinite for none; a view."""
        return read_only(self._paths[: self.n_vertices].T)

    @property
    def predecessors(self) -> Array:
        """Vertex before ``j`` on the path from source ``a``, at ``[a, j]``; -9999 for none."""
        return read_only(self._before[: self.n_vertices].T)

    @property
    def graph(self) -> sparse.csr_array:
        """The current graph."""
        return self._graph.as_csr()

    def lengths(self, pairs: Any) -> Array:
        """Return the lengths of edges between pairs of vertices, infinite where there is none."""
        return self._graph.length(np.ascontiguousarray(pairs, dtype=np.int64).reshape(-1, 2))

    def edges_of(self, vertex: int) -> Array:
        """Return the edges of a vertex as pairs of vertices."""
        return self._graph.edges_of(vertex)[0]

    def degree(self, vertex: int) -> int:
        """Return the number of edges of a vertex."""
        return int(self._graph.degrees[vertex])

    def add_vertex(self, edges: Mapping[int, float] | Iterable[tuple[int, float]]) -> PathChange:
        """Add a vertex with its edges; see :meth:`DynamicShortestPaths.add_vertex`."""
        ends, lengths = as_edges(edges)
        n = self._graph.n
        self._graph.add_vertices()
        try:
            pairs, lengths = self._graph.checked(
                np.column_stack([np.full(len(ends), n), ends]), lengths
            )
        except ValueError:
            self._graph.n -= 1
            raise
        self._make_room(n + 1)
        self._paths[n] = np.inf
        self._before[n] = NO_VERTEX
        self._graph.set(pairs, lengths)
        return self._update(NO_EDGES, pairs, lengths) + PathChange(vertex=n)

    def change_edge(self, first: int, second: int, length: float | None) -> PathChange:
        """Set the length of an edge, or take it away (None)."""
        return self.change_edges([(first, second)], [np.inf if length is None else length])

    def change_edges(self, pairs: Any, lengths: Any) -> PathChange:
        """Set the lengths of edges; see :meth:`DynamicShortestPaths.change_edges`."""
        ends, wanted = self._graph.checked(pairs, lengths)
        old = self._graph.length(ends)
        up, down = wanted > old, wanted < old
        self._graph.set(ends, wanted)
        return self._update(ends[up], ends[down], wanted[down])

    def remove_vertex(self, vertex: int) -> PathChange:
        """Take a vertex out that is no source; the last one gets its number."""
        self._check_vertex(vertex)
        pairs, _ = self._graph.edges_of(vertex)
        self._graph.set(pairs, np.full(len(pairs), np.inf))
        change = self._update(pairs, NO_EDGES, NO_LENGTHS)
        self._drop(vertex)
        return change + PathChange(vertex=self.n_vertices)

    def contract_vertex(self, vertex: int) -> tuple[Array, Array]:
        """Take a vertex out that is no source, and keep the lengths of all paths of the trees.

        In every tree its children are hung under its parent, by edges as long as the two that they
        replace (Law 2006, section 3.2.3). The last vertex gets its number.

        Parameters
        ----------
        vertex : int
            The vertex.

        Returns
        -------
        pairs : ndarray of int, shape (n_edges, 2)
            The edges that were added or made shorter, by the numbers from before.
        lengths : ndarray of shape (n_edges,)
            Their lengths.
        """
        self._check_vertex(vertex)
        own, lengths = self._graph.edges_of(vertex)
        joined = bypass_in_trees(self._before, vertex, own[:, 0].copy())
        pairs = np.unique(np.sort(joined, axis=1), axis=0) if len(joined) else NO_EDGES
        to_vertex = np.full(self.n_vertices, np.inf)
        to_vertex[own[:, 0]] = lengths
        through = to_vertex[pairs].sum(axis=1)
        shorter = through < self._graph.length(pairs)
        pairs, through = pairs[shorter], through[shorter]
        self._graph.set(pairs, through)
        self._graph.set(own, np.full(len(own), np.inf))
        self._drop(vertex)
        return pairs, through

    def move_source(self, position: int, vertex: int) -> None:
        """Recompute the tree at a position from another source vertex.

        Parameters
        ----------
        position : int
            Position of the source among ``sources``.
        vertex : int
            A vertex that is no source.
        """
        self._check_vertex(vertex)
        self._sources[position] = vertex
        n = self.n_vertices
        before = np.empty((1, n), np.int32)
        lengths = geodesics(self._graph.as_csr(), [vertex], predecessors=before)
        self._paths[:n, position], self._before[:n, position] = lengths[0], before[0]

    def squares_times(self, vectors: Array) -> Array:
        """Return products of vectors over the vertices with squares: ``Σ_j g_aj² v_j``."""
        m = len(self._sources)
        product = np.empty((len(vectors), m))
        right = np.ascontiguousarray(vectors, dtype=np.float64)

        def run(first: int, last: int) -> None:
            times_squares(self._paths, self.n_vertices, first, last, right, product)

        on_threads(run, m, self._workers)
        return product

    def times_squares(self, vectors: Array) -> Array:
        """Return products of vectors over the sources with squares: ``Σ_a v_a g_aj²``."""
        n = self.n_vertices
        product = np.empty((len(vectors), n))
        left = np.ascontiguousarray(vectors, dtype=np.float64)

        def run(first: int, last: int) -> None:
            squares_times(self._paths, len(self._sources), first, last, left, product)

        on_threads(run, n, self._workers)
        return product

    @property
    def _workers(self) -> int:
        return get_threads() if len(self._sources) * self.n_vertices >= SIZE_FOR_THREADS else 1

    def _check_vertex(self, vertex: int) -> None:
        if not 0 <= vertex < self.n_vertices:
            raise ValueError(f"Vertices are 0 to {self.n_vertices - 1}, got {vertex}.")
        if vertex in self._sources:
            raise ValueError(f"Vertex {vertex} is a source, which stays.")

    def _drop(self, vertex: int) -> None:
        last = self.n_vertices - 1
        if vertex != last:
            ends, _ = self._graph.of(last)
            move_in_trees(self._paths, self._before, last, vertex, ends)
            self._sources[self._sources == last] = vertex
        self._graph.remove_last_into(vertex)

    def _update(self, raised: Array, lowered: Array, lengths: Array) -> PathChange:
        """Repair all trees, blocks of them by threads; the graph is the changed one."""

        def run(first: int, last: int) -> tuple[int, int]:
            return update_trees(
                self._paths,
                self._before,
                first,
                last,
                self.n_vertices,
                *self._graph.arrays,
                raised,
                lowered,
                lengths,
            )

        m = len(self._sources)
        found = on_threads(run, m, self._workers)
        invalid, shorter = (sum(part) for part in zip(*found, strict=True))
        return PathChange(invalidated=invalid, shortened=shorter)

    def _make_room(self, needed: int) -> None:
        if needed > len(self._paths):
            size = larger(len(self._paths), needed)
            for name in ("_paths", "_before"):
                old = getattr(self, name)
                new = np.empty((size, old.shape[1]), old.dtype)
                new[: needed - 1] = old[: needed - 1]
                setattr(self, name, new)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "_graph": self._graph,
            "_sources": self._sources,
            "_paths": self._paths[: self.n_vertices].copy(),
            "_before": self._before[: self.n_vertices].copy(),
        }
