"""All shortest paths of a graph, kept exact while vertices and edges come and go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._kernels.manifold.dijkstra import NO_VERTEX, shortest_paths
from sidelight._kernels.manifold.dynamic_paths import (
    MUCH,
    TIE,
    add_paths,
    bypass_vertex,
    invalid_pairs,
    move_paths,
    preorder,
    recompute_pairs,
    shorten_rows,
)
from sidelight._kernels.manifold.squared_products import squares_times
from sidelight._typing import Array
from sidelight.engine import get_threads
from sidelight.graphs._geodesics import geodesics
from sidelight.graphs._growing import (
    GrowingGraph,
    PathChange,
    as_edges,
    larger,
    on_threads,
    read_only,
)

#: Rows from which on threads gain more than they cost: searches, products.
ROWS_FOR_THREADS = 3000
ROWS_FOR_PRODUCTS = 1000


#: If this many edges, and a tenth of the vertices, change at once, all paths are recomputed.
MANY_EDGES = 100

#: Rows of a block when all paths are recomputed.
BLOCK_ROWS = 512


class DynamicShortestPaths:
    """All shortest paths of an undirected graph that changes (Law 2006, section 3.2.1, appendix A).

    ``g_ij = min over paths of Σ w``, exact after every change, whatever ties and edges of length 0
    there are. When edges grow longer or vanish, the pairs with a shortest path over one of them are
    found by their lengths (``g_ia + w_ab + g_bj = g_ij``) and searched again, each from the end
    that has fewer of them left; when edges or a vertex are added, the pairs that gain are found by
    a search in the tree of shortest paths behind them, which ends where nothing is gained. Takes
    ``O(q (f + h) + n q)`` for ``f`` pairs to search and ``h`` pairs that gain, ``q`` neighbors per
    vertex; ``12 n²`` bytes.

    Parameters
    ----------
    graph : csr_array of shape (n, n), default=None
        Symmetric lengths of edges, none below 0; stored zeros are edges of length 0. No vertex by
        default.

    Examples
    --------
    >>> from sidelight.graphs import DynamicShortestPaths
    >>> paths = DynamicShortestPaths()
    >>> for edges in ({}, {0: 1.0}, {0: 5.0, 1: 2.0}):
    ...     change = paths.add_vertex(edges)
    >>> paths.distances
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]])
    >>> paths.path(0, 2)
    [0, 1, 2]
    >>> paths.change_edge(0, 1, None).lengthened
    2
    >>> paths.distances[0]
    array([0., 7., 5.])
    """

    def __init__(self, graph: Any = None) -> None:
        self._graph = GrowingGraph(graph)
        n = self._graph.n
        self._paths = np.empty((n, n))
        self._before = np.empty((n, n), np.int32)
        if n:
            geodesics(self._graph.as_csr(), out=self._paths, predecessors=self._before)

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return self._graph.n

    @property
    def distances(self) -> Array:
        """Lengths of the shortest paths, infinite where there is none; a read-only view."""
        return read_only(self._paths[: self.n_vertices, : self.n_vertices])

    @property
    def predecessors(self) -> Array:
        """Vertex before ``j`` on a shortest path from ``i``, at ``[i, j]``; -9999 for none.

        A read-only view. Over edges of length 0 predecessors may run in a circle;
        :meth:`path` does not.
        """
        return read_only(self._before[: self.n_vertices, : self.n_vertices])

    @property
    def graph(self) -> sparse.csr_array:
        """The current graph."""
        return self._graph.as_csr()

    def path(self, first: int, second: int) -> list[int]:
        """Return the vertices of a shortest path; no vertices if there is none."""
        tree = self._before[first]
        found = _walk(tree, first, second)
        if found is None:  # a circle of edges without length
            edges = self._graph.as_csr()
            reach, fresh = np.empty((1, self.n_vertices)), np.empty((1, self.n_vertices), np.int32)
            shortest_paths(
                edges.indptr.astype(np.int64),
                edges.indices.astype(np.int64),
                edges.data,
                np.array([first]),
                reach,
                fresh,
            )
            found = _walk(fresh[0], first, second)
        return found or []

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
        """Add a vertex with its edges.

        Parameters
        ----------
        edges : mapping of int to float, or pairs
            Lengths of the edges to vertices that are there.

        Returns
        -------
        PathChange
            Number of the vertex, and how many paths it shortens.
        """
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
        self._graph.set(pairs, lengths)
        add_paths(self._paths, self._before, n, pairs[:, 1].copy(), lengths)
        reach = self._paths[n, :n].copy()
        shorter, much = self._shorten(n, reach, self._paths[n, : n + 1].copy(), begin=1)
        return PathChange(vertex=n, shortened=shorter // 2, much_shortened=much // 2)

    def change_edge(self, first: int, second: int, length: float | None) -> PathChange:
        """Set the length of an edge, or take it away (None).

        Parameters
        ----------
        first, second : int
            The vertices that it joins, or will join.
        length : float or None
            Its length from now on.

        Returns
        -------
        PathChange
            How many paths change.
        """
        return self.change_edges([(first, second)], [np.inf if length is None else length])

    def change_edges(self, pairs: Any, lengths: Any) -> PathChange:
        """Set the lengths of several edges at once, at less cost than one by one.

        Parameters
        ----------
        pairs : array of int, shape (n_edges, 2)
            The vertices that they join.
        lengths : array of shape (n_edges,)
            Their lengths from now on; infinite ones are taken away.

        Returns
        -------
        PathChange
            How many paths change.
        """
        ends, wanted = self._graph.checked(pairs, lengths)
        old = self._graph.length(ends)
        up, down = wanted > old, wanted < old
        if np.count_nonzero(up | down) > max(MANY_EDGES, self.n_vertices // 10):
            self._graph.set(ends, wanted)
            return self._recompute_all()
        change = self._lengthen(ends[up], old[up], wanted[up])
        for pair, length in zip(ends[down], wanted[down], strict=True):
            change += self._lower(pair, float(length))
        return change

    def remove_vertex(self, vertex: int) -> PathChange:
        """Take a vertex out; the last one gets its number.

        Parameters
        ----------
        vertex : int
            The vertex.

        Returns
        -------
        PathChange
            ``vertex`` is the number that the last vertex had.
        """
        self._check_vertex(vertex)
        pairs, lengths = self._graph.edges_of(vertex)
        change = self._lengthen(pairs, lengths, np.full(len(pairs), np.inf), gone=vertex)
        self._drop(vertex)
        return change + PathChange(vertex=self.n_vertices)

    def contract_vertex(self, vertex: int) -> tuple[Array, Array]:
        """Take a vertex out and keep all paths over it, by edges that skip it.

        Two neighbors whose shortest path leads over the vertex are joined by an edge as long. No
        other distance changes. The last vertex gets the number.

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
        ends, lengths = self._graph.of(vertex)
        first, second = np.triu_indices(len(ends), 1)
        pairs, through = (
            np.column_stack([ends[first], ends[second]]),
            lengths[first] + lengths[second],
        )
        direct = self._paths[pairs[:, 0], pairs[:, 1]]
        needed = through <= direct * (1 + TIE)
        needed &= through < self._graph.length(pairs)
        pairs, through = pairs[needed], through[needed]
        self._graph.set(pairs, through)
        own, _ = self._graph.edges_of(vertex)
        bypass_vertex(self._paths, self._before, self.n_vertices, vertex, ends, *self._graph.arrays)
        self._graph.set(own, np.full(len(own), np.inf))
        self._drop(vertex)
        return pairs, through

    def squares_times(self, vectors: Array) -> Array:
        """Return the products of vectors, one in every row, with the matrix of squared distances.

        The matrix is not formed; paths that do not exist count as 0.
        """
        n = self.n_vertices
        product = np.empty((len(vectors), n))
        right = np.ascontiguousarray(vectors, dtype=np.float64)

        def run(first: int, last: int) -> None:
            squares_times(self._paths, n, first, last, right, product)

        on_threads(run, n, get_threads() if n >= ROWS_FOR_PRODUCTS else 1)
        return product

    def _check_vertex(self, vertex: int) -> None:
        if not 0 <= vertex < self.n_vertices:
            raise ValueError(f"Vertices are 0 to {self.n_vertices - 1}, got {vertex}.")

    def _drop(self, vertex: int) -> None:
        """Give the number of a vertex without edges to the last one."""
        last = self.n_vertices - 1
        if vertex != last:
            ends, _ = self._graph.of(last)
            move_paths(self._paths, self._before, self.n_vertices, last, vertex, ends)
        self._graph.remove_last_into(vertex)

    def _lengthen(self, pairs: Array, old: Array, new: Array, gone: int = -1) -> PathChange:
        """Lengthen or remove edges: find the pairs with paths over them, search these again."""
        if len(pairs) == 0:
            return PathChange()
        invalid = invalid_pairs(self._paths, self.n_vertices, pairs, old, gone)
        self._graph.set(pairs, new)
        longer = self._recompute(invalid)
        return PathChange(invalidated=len(invalid), lengthened=longer)

    def _recompute_all(self) -> PathChange:
        """All paths by Dijkstra's search, blocks of rows after each other, and how many changed."""
        n = self.n_vertices
        graph = self._graph.as_csr()
        change = PathChange()
        before = np.empty((min(BLOCK_ROWS, n), n), np.int32)
        for first in range(0, n, BLOCK_ROWS):
            rows = np.arange(first, min(first + BLOCK_ROWS, n))
            found = geodesics(graph, rows, predecessors=before[: len(rows)])
            old = self._paths[rows, :n]
            above = np.arange(n) > rows[:, None]  # every pair once
            change += PathChange(
                invalidated=int(np.count_nonzero(above)),
                lengthened=int(np.count_nonzero((found > old * (1 + TIE)) & above)),
                shortened=int(np.count_nonzero((found * (1 + TIE) < old) & above)),
                much_shortened=int(np.count_nonzero((found < MUCH * old) & above)),
            )
            self._paths[rows, :n], self._before[rows, :n] = found, before[: len(rows)]
        return change

    def _recompute(self, invalid: Array, by_degree: bool = True) -> int:
        return recompute_pairs(
            self._paths, self._before, self.n_vertices, *self._graph.arrays, invalid, by_degree
        )

    def _lower(self, pair: Array, length: float) -> PathChange:
        """An edge grows shorter or is new: paths over it, in both directions."""
        n = self.n_vertices
        self._graph.set(pair[None], np.array([length]))
        rows = self._paths[pair, :n]
        trees = self._before[pair, :n]
        total = PathChange()
        for near, far in ((0, 1), (1, 0)):
            reach = rows[near] + length
            reach[~(reach < rows[far])] = np.inf
            if np.all(np.isinf(reach)):
                continue
            tree = trees[far].copy()
            order, end = preorder(tree, int(pair[far]))
            tree[pair[far]] = pair[near]
            shorter, much = self._in_rows(reach, rows[far], tree, order, end, 0)
            total += PathChange(shortened=shorter, much_shortened=much)
        return PathChange(shortened=total.shortened // 2, much_shortened=total.much_shortened // 2)

    def _shorten(self, root: int, reach: Array, beyond: Array, begin: int) -> tuple[int, int]:
        tree = self._before[root, : len(beyond)].copy()
        order, end = preorder(tree, root)
        return self._in_rows(reach, beyond, tree, order, end, begin)

    def _in_rows(
        self, reach: Array, beyond: Array, tree: Array, order: Array, end: Array, begin: int
    ) -> tuple[int, int]:
        """Shorten paths from all vertices, by threads where there are many."""
        n = len(reach)

        def run(first: int, last: int) -> tuple[int, int]:
            return shorten_rows(
                self._paths, self._before, first, last, reach, beyond, tree, order, end, begin
            )

        found = on_threads(run, n, get_threads() if n >= ROWS_FOR_THREADS else 1)
        return sum(one[0] for one in found), sum(one[1] for one in found)

    def _make_room(self, needed: int) -> None:
        capacity = len(self._paths)
        if needed <= capacity:
            return
        size = larger(capacity, needed)
        n = needed - 1
        for name in ("_paths", "_before"):
            old = getattr(self, name)
            new = np.empty((size, size), old.dtype)
            new[:n, :n] = old[:n, :n]
            setattr(self, name, new)
            del old

    def __getstate__(self) -> dict[str, Any]:
        return {
            "_graph": self._graph,
            "_paths": self.distances.copy(),
            "_before": self.predecessors.copy(),
        }


def _walk(tree: Array, first: int, second: int) -> list[int] | None:
    """Vertices from the root of a tree to a vertex; None where predecessors run in a circle."""
    back = [int(second)]
    seen = {int(second)}
    while back[-1] != first:
        last = int(tree[back[-1]])
        if last == NO_VERTEX:
            return []
        if last in seen:
            return None
        seen.add(last)
        back.append(last)
    return back[::-1]
