"""A graph that vertices and edges are added to and taken from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from sidelight._kernels.manifold.adjacency import (
    as_rows,
    lengths_of,
    rename_vertex,
    set_edges,
)
from sidelight._typing import Array

Result = TypeVar("Result")

#: Capacity grows by this factor: copies stay few, and little of it is empty.
GROWTH = 1.3

NO_EDGES = np.empty((0, 2), np.int64)
NO_LENGTHS = np.empty(0)


@dataclass(frozen=True)
class PathChange:
    """Facts about one change of a graph, and of its shortest paths.

    Attributes
    ----------
    vertex : int
        Number of the vertex that was added; of a removal the number that the last vertex gave up
        for that of the removed one; -1 otherwise.
    invalidated : int
        Pairs with a shortest path over an edge that grew longer or vanished, which were computed
        anew.
    lengthened : int
        Pairs whose shortest path grew longer.
    shortened : int
        Pairs whose shortest path grew shorter, without those of a new vertex.
    much_shortened : int
        Pairs whose shortest path lost more than a tenth of its length.
    """

    vertex: int = -1
    invalidated: int = 0
    lengthened: int = 0
    shortened: int = 0
    much_shortened: int = 0

    def __add__(self, other: PathChange) -> PathChange:
        return PathChange(
            max(self.vertex, other.vertex),
            self.invalidated + other.invalidated,
            self.lengthened + other.lengthened,
            self.shortened + other.shortened,
            self.much_shortened + other.much_shortened,
        )


class GrowingGraph:
    """Neighbors of every vertex and the lengths of the edges, in arrays with room to grow."""

    def __init__(self, graph: Any = None) -> None:
        self.n = 0
        self.neighbors = np.empty((0, 8), np.uint32)  # unsigned: no check for negative indices
        self.lengths = np.empty((0, 8))
        self.degrees = np.zeros(0, np.int64)
        if graph is not None:
            self._take(sparse.csr_array(graph))

    def _take(self, graph: sparse.csr_array) -> None:
        if graph.shape[0] != graph.shape[1]:
            raise ValueError(f"A graph is a square matrix, got shape {graph.shape}.")
        graph = graph.copy()
        graph.sort_indices()
        back = sparse.csr_array(graph.T)
        back.sort_indices()
        if not all(
            np.array_equal(getattr(graph, part), getattr(back, part))
            for part in ("indptr", "indices", "data")
        ):
            raise ValueError("A graph is symmetric: every edge has the same length both ways.")
        ends = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
        upper = ends < graph.indices
        pairs = np.column_stack([ends[upper], graph.indices[upper]]).astype(np.int64)
        lengths = graph.data[upper].astype(np.float64)
        self.add_vertices(graph.shape[0])
        self.set(*self.checked(pairs, lengths))

    def checked(self, pairs: Any, lengths: Any) -> tuple[Array, Array]:
        """Pairs of different vertices that exist, and lengths that are not below 0."""
        ends = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        wanted = np.asarray(lengths, dtype=np.float64).ravel()
        if len(ends) != len(wanted):
            raise ValueError(f"There are {len(ends)} edges, but {len(wanted)} lengths.")
        if len(ends) and (ends.min() < 0 or ends.max() >= self.n):
            raise ValueError(f"Edges join the vertices 0 to {self.n - 1}, got {ends.tolist()}.")
        if np.any(ends[:, 0] == ends[:, 1]):
            raise ValueError("An edge joins two different vertices.")
        if not np.all(wanted >= 0):  # NaN is not either
            raise ValueError("Lengths of edges are numbers that are not below 0.")
        if len(ends) > 1:
            codes = np.sort(ends, axis=1) @ np.array([self.n, 1])
            if len(np.unique(codes)) < len(codes):
                raise ValueError("An edge can be changed once at a time.")
        return np.ascontiguousarray(ends), wanted

    def add_vertices(self, number: int = 1) -> None:
        """Add vertices without edges."""
        self.n += number
        if self.n > len(self.degrees):
            self._grow(larger(len(self.degrees), self.n), self.neighbors.shape[1])
        self.degrees[self.n - number : self.n] = 0

    def _grow(self, capacity: int, width: int) -> None:
        for name in ("neighbors", "lengths"):
            old = getattr(self, name)
            new = np.zeros((capacity, width), old.dtype)
            new[: old.shape[0], : old.shape[1]] = old
            setattr(self, name, new)
        degrees = np.zeros(capacity, np.int64)
        degrees[: len(self.degrees)] = self.degrees
        self.degrees = degrees

    def set(self, pairs: Array, lengths: Array) -> None:
        """Set the lengths of edges; infinite ones are taken away."""
        if len(pairs):
            added = np.bincount(pairs.ravel(), minlength=self.n)
            needed = int(np.max((self.degrees[: self.n] + added)[pairs]))
            if needed > self.neighbors.shape[1]:
                self._grow(len(self.degrees), larger(self.neighbors.shape[1], needed))
            set_edges(*self.arrays, pairs, lengths)

    def length(self, pairs: Array) -> Array:
        """Lengths of edges, infinite where there is none."""
        return lengths_of(*self.arrays, pairs)

    def of(self, vertex: int) -> tuple[Array, Array]:
        """Neighbors of a vertex, and the lengths of the edges to them."""
        degree = self.degrees[vertex]
        ends = self.neighbors[vertex, :degree].astype(np.int64)
        return ends, self.lengths[vertex, :degree].copy()

    def edges_of(self, vertex: int) -> tuple[Array, Array]:
        """Edges of a vertex as pairs, and their lengths."""
        ends, lengths = self.of(vertex)
        return np.column_stack([ends, np.full(len(ends), vertex)]), lengths

    def remove_last_into(self, vertex: int) -> None:
        """Give the number of a vertex without edges to the last one."""
        if vertex != self.n - 1:
            rename_vertex(*self.arrays, self.n - 1, vertex)
        self.n -= 1

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """Arrays for the compiled loops."""
        return self.neighbors, self.lengths, self.degrees

    def as_csr(self) -> sparse.csr_array:
        """The graph as a symmetric matrix; edges without length are stored."""
        indptr, indices, data = as_rows(*self.arrays, self.n)
        graph = sparse.csr_array((data, indices, indptr), shape=(self.n, self.n))
        graph.sort_indices()
        return graph

    def __getstate__(self) -> dict[str, Any]:
        width = max(8, int(self.degrees[: self.n].max(initial=0)))
        return {
            "n": self.n,
            "neighbors": self.neighbors[: self.n, :width].copy(),
            "lengths": self.lengths[: self.n, :width].copy(),
            "degrees": self.degrees[: self.n].copy(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


def read_only(array: Array) -> Array:
    """A view that cannot be written."""
    view = array.view()
    view.flags.writeable = False
    return view


def larger(capacity: int, needed: int) -> int:
    """Capacity to grow to."""
    return max(needed, int(GROWTH * capacity) + 8)


def as_edges(edges: Mapping[int, float] | Any) -> tuple[Array, Array]:
    """Ends and lengths of the edges of one vertex, from a mapping or from pairs."""
    pairs = list(edges.items() if isinstance(edges, Mapping) else edges)
    ends = np.array([end for end, _ in pairs], dtype=np.int64)
    return ends, np.array([length for _, length in pairs], dtype=np.float64)


def on_threads(run: Callable[[int, int], Result], n: int, workers: int) -> list[Result]:
    """Results of a function of the ends of blocks of ``n`` rows; it writes where no other does."""
    if workers == 1:
        return [run(0, n)]
    bounds = np.linspace(0, n, 4 * workers + 1).astype(int).tolist()
    with ThreadPoolExecutor(workers, "sidelight") as pool:
        return list(pool.map(run, bounds[:-1], bounds[1:]))
