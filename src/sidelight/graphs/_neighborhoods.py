"""Neighborhood graphs whose edges are distances: builders, and parts that fall asunder.

Law 2006, section 2.2: the symmetric union of nearest neighbors, or all rows within a radius. An
edge of length 0 joins two rows that are the same; it is stored like any other.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import counted, listed, setting
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.graphs._bridges import bridges
from sidelight.graphs._nearest import (
    check_distances,
    nearest_of_matrix,
    nearest_rows,
    rows_within,
    symmetric_edges,
)
from sidelight.graphs._precomputed import read_distance_graph

Metric = Literal["euclidean", "precomputed"]
Disconnected = Literal["bridge", "largest", "raise"]

#: Sizes of parts that a message names.
NAMED_PARTS = 5


def distance_graph(
    X: Any,
    *,
    n_neighbors: int | None = None,
    radius: float | None = None,
    metric: Metric = "euclidean",
) -> sparse.csr_array:
    """Join rows with their nearest neighbors, or with all rows within a radius, by distances.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features), or of distances
        The rows; with ``metric="precomputed"`` the distances between them, shape (n_samples,
        n_samples). A sparse matrix stores those that are known, one way or both ways, such as that
        of scikit-learn's ``KNeighborsTransformer``; what it does not store is no edge.
    n_neighbors : int, default=None
        Number of neighbors of a row, itself not counted; all other rows where there are fewer. Two
        rows are joined if one is a neighbor of the other. Of rows at the same distance those that
        come first are the nearer ones.
    radius : float, default=None
        Join rows at a distance below it instead.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        Whether ``X`` holds rows or distances. Distances without ``n_neighbors`` and ``radius``
        join all pairs that are stored.

    Returns
    -------
    graph : csr_array of shape (n_samples, n_samples)
        Symmetric distances of joined rows, no loops. Rows that are the same are joined by an edge
        of length 0, which is stored. Memory ``O(n n_neighbors)``.

    Examples
    --------
    >>> from sidelight.graphs import distance_graph
    >>> distance_graph([[0.0], [1.0], [3.0]], n_neighbors=1).toarray()
    array([[0., 1., 0.],
           [1., 0., 2.],
           [0., 2., 0.]])
    """
    if n_neighbors is not None and radius is not None:
        raise ValueError("Give n_neighbors or radius, not both.")
    if n_neighbors is not None and n_neighbors < 1:
        raise ValueError(f"n_neighbors must be at least 1, got {n_neighbors}.")
    if metric == "precomputed":
        return _graph_of_distances(X, n_neighbors, radius)
    rows = X if sparse.issparse(X) else np.asarray(X)
    n = rows.shape[0]
    if n_neighbors is not None:
        return _union(*nearest_rows(rows, min(int(n_neighbors), n - 1)))
    if radius is None:
        raise ValueError("Give n_neighbors or radius: which rows are to be joined?")
    return symmetric_edges(*rows_within(rows, float(radius)), n)


def _graph_of_distances(X: Any, n_neighbors: int | None, radius: float | None) -> sparse.csr_array:
    if sparse.issparse(X):
        graph = read_distance_graph(X, n_neighbors)
        if radius is None:
            return graph
        first, second = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr)), graph.indices
        kept = graph.data < radius
        return symmetric_edges(first[kept], second[kept], graph.data[kept], graph.shape[0])
    distances = check_distances(X)
    n = distances.shape[0]
    if n_neighbors is not None:
        return symmetric_edges(*nearest_of_matrix(distances, n_neighbors), n)
    kept = ~np.eye(n, dtype=bool)
    if radius is not None:
        kept &= distances < radius
    first, second = np.nonzero(kept)
    return symmetric_edges(first, second, distances[first, second], n)


def _union(distances: Array, targets: Array) -> sparse.csr_array:
    """Edges between rows of which one is in the list of the other."""
    n, near = targets.shape
    # Positions in the lists, which are above 0 where distances may not be, find each other first.
    places = np.arange(1, targets.size + 1)
    indptr = np.arange(0, targets.size + 1, max(near, 1)) if near else np.zeros(n + 1, np.int64)
    listed = sparse.csr_array((places, targets.ravel(), indptr), shape=(n, n))
    union = sparse.csr_array(listed.maximum(listed.T))
    union.sort_indices()
    lengths = distances.ravel()[union.data - 1]
    return sparse.csr_array((lengths, union.indices, union.indptr), shape=(n, n))


def join_parts(
    graph: sparse.csr_array,
    X: Any,
    disconnected: Disconnected = "bridge",
    *,
    metric: Metric = "euclidean",
) -> tuple[sparse.csr_array, Array]:
    """Make a graph connected: by bridges, or by leaving out all but its largest part.

    Parameters
    ----------
    graph : csr_array of shape (n_samples, n_samples)
        Distances of joined rows, as :func:`distance_graph` gives them.
    X : array or CSR matrix
        What the graph was built from.
    disconnected : {"bridge", "largest", "raise"}, default="bridge"
        "bridge" joins the parts by the shortest links between them, those of the minimum spanning
        tree (of links of one length those of the first rows), and warns; "largest" keeps the
        largest part (of equal ones the first), and warns; "raise" raises. All name the sizes of the
        parts.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        Whether ``X`` holds rows or distances. Of a sparse matrix of distances no bridge can be
        built: the distances between its parts are not known.

    Returns
    -------
    graph : csr_array of shape (n_kept, n_kept)
        A connected graph.
    kept : ndarray of int, shape (n_kept,)
        Positions of its rows in ``X``: all of them, but for "largest".

    Examples
    --------
    >>> import warnings
    >>> from sidelight.graphs import distance_graph, join_parts
    >>> X = [[0.0], [1.0], [5.0], [6.0]]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     joined, kept = join_parts(distance_graph(X, n_neighbors=1), X)
    >>> float(joined[1, 2])
    4.0
    """
    n = graph.shape[0]
    n_parts, part = connected_components(graph, directed=False)
    if n_parts <= 1:
        return graph, np.arange(n)
    sizes = np.bincount(part)
    falls = f"The neighborhood graph falls into {_named_sizes(sizes)}"
    more = f"a larger {setting('n_neighbors')} or {setting('radius')} may join them"
    if disconnected == "raise":
        raise SidelightError(
            f"{falls}; {more}, or {setting('disconnected', 'bridge')} and "
            f"{setting('disconnected', 'largest')}, which go on without that."
        )
    if disconnected == "largest":
        kept = np.flatnonzero(part == np.argmax(sizes))
        _warn(
            f"{falls}; the {n - len(kept):,} rows outside the largest have no coordinates: {more}."
        )
        return sparse.csr_array(graph[kept][:, kept]), kept
    if metric == "precomputed" and sparse.issparse(X):
        raise SidelightError(
            f"{falls}, and a sparse matrix of distances does not tell how far they are from each "
            f"other; store distances between them, or set {setting('disconnected', 'largest')}."
        )
    _warn(
        f"{falls}; they were joined by the shortest links between them, whose lengths are all "
        f"that the map knows about them: {more}."
    )
    first, second, lengths = bridges(X, part, metric)
    old = sparse.coo_array(graph)
    joined = symmetric_edges(
        np.concatenate([old.row, first]),
        np.concatenate([old.col, second]),
        np.concatenate([old.data, lengths]),
        n,
    )
    return joined, np.arange(n)


def _warn(message: str) -> None:
    warn(message, EmbeddingWarning)


def _named_sizes(sizes: Array) -> str:
    """Text of the number of components and the sizes of the largest."""
    largest = [f"{size:,}" for size in np.sort(sizes)[::-1][:NAMED_PARTS]]
    rest = len(sizes) - len(largest)
    named = [*largest, f"{rest:,} more of fewer"] if rest else largest
    return f"{counted(len(sizes), 'part')} of {listed(named)} rows"
