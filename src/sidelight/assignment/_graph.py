"""Conflict graphs: nodes, and the pairs of them that must differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sidelight._typing import IntArray
from sidelight.exceptions import SidelightError


@dataclass(frozen=True)
class Graph:
    """A conflict graph: sorted edges (a < b) and, for loops, neighbor lists."""

    n_nodes: int
    edges: IntArray
    indptr: IntArray
    neighbors: IntArray


def make_graph(n_nodes: int, edges: npt.ArrayLike) -> Graph:
    """Sort the edges, drop repeated ones, and list every node's neighbors."""
    from sidelight._kernels.assignment.coloring import compress_edges

    # A copy: the loops are compiled for arrays that may be written to.
    pairs = np.array(edges, dtype=np.int64, order="C").reshape(-1, 2)
    if len(pairs):
        if pairs.min() < 0 or pairs.max() >= n_nodes:
            raise SidelightError(f"Edges must name nodes 0 to {n_nodes - 1}.")
        first, second = pairs[:, 0], pairs[:, 1]
        if np.any(first == second):
            raise SidelightError("A node cannot be apart from itself.")
        keys = np.minimum(first, second) * n_nodes + np.maximum(first, second)
        if np.any(first > second) or np.any(keys[1:] <= keys[:-1]):
            keys = np.sort(keys)
            keys = keys[np.diff(keys, prepend=-1) > 0]
            pairs = np.column_stack(np.divmod(keys, n_nodes))
    indptr, neighbors = compress_edges(n_nodes, pairs)
    return Graph(n_nodes, pairs, indptr, neighbors)


def subgraph(graph: Graph, nodes: IntArray) -> Graph:
    """The edges inside ``nodes`` (increasing), renumbered 0, 1, ..."""
    position = np.full(graph.n_nodes, -1, dtype=np.int64)
    position[nodes] = np.arange(len(nodes))
    inside = position[graph.edges]
    return make_graph(len(nodes), inside[(inside[:, 0] >= 0) & (inside[:, 1] >= 0)])


def connected_parts(n_nodes: int, edges: IntArray) -> tuple[int, IntArray]:
    """Number of connected parts, and the part of every node."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    links = (np.ones(len(edges), dtype=np.int8), (edges[:, 0], edges[:, 1]))
    adjacency = csr_array(links, shape=(n_nodes, n_nodes))
    count, part = connected_components(adjacency, directed=False)
    return int(count), part.astype(np.int64)
