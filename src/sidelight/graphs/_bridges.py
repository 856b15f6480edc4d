"""Shortest links between the parts of a graph: their minimum spanning tree.

Borůvka's rounds: every part but the largest takes its shortest link out. Links of one length are
ordered by the positions of their rows, so that the tree is one and the same in every search.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from sidelight._typing import Array
from sidelight.graphs._nearest import BLOCK_NUMBERS, RowSearch, pair_distances

#: Parts of at most this many rows look for their nearest other row all at once.
SMALL_PART = 64


def bridges(
    X: Any, part: Array, metric: Literal["euclidean", "precomputed"]
) -> tuple[Array, Array, Array]:
    """Links of the minimum spanning tree between parts, and their lengths.

    Parameters
    ----------
    X : array or CSR matrix
        The rows, or all distances between them.
    part : ndarray of int, shape (n_samples,)
        Part of every row, from 0.
    metric : {"euclidean", "precomputed"}
        Which of both ``X`` holds.

    Returns
    -------
    first, second : ndarray of int, shape (n_parts - 1,)
        Positions of the rows that are linked, ``first < second``. Of links of one length the tree
        takes that whose lower position is the lowest, then that whose higher position is.
    lengths : ndarray of shape (n_parts - 1,)
        Their distances.
    """
    distances = np.asarray(X, dtype=np.float64) if metric == "precomputed" else None
    rows = X if sparse.issparse(X) or distances is not None else np.asarray(X)
    found = [np.empty((0, 2), np.int64)]
    while part.max() > 0:
        if distances is not None:
            links = _links_by_matrix(distances, part)
        else:
            links = _links_by_search(rows, part)
        # Distances that differ by rounding, searched from two sides, must not close a circle.
        links = links[spanning_edges(part[links[:, 0]], part[links[:, 1]])]
        found.append(links)
        n_parts = part.max() + 1
        ends = part[links[:, 0]], part[links[:, 1]]
        joins = sparse.coo_array((np.ones(len(links)), ends), shape=(n_parts, n_parts))
        part = connected_components(joins, directed=False)[1][part]
    pairs = np.concatenate(found)
    first, second = pairs[:, 0], pairs[:, 1]
    if distances is not None:
        return first, second, np.minimum(distances[first, second], distances[second, first])
    return first, second, pair_distances(rows, first, second)


def spanning_edges(first: Array, second: Array) -> Array:
    """Places of the edges that the minimum spanning tree of the parts they join takes.

    Parameters
    ----------
    first, second : ndarray of int, shape (n_edges,)
        Parts that the edges join, the shortest edge first.

    Returns
    -------
    places : ndarray of int
        Ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.graphs._bridges import spanning_edges
    >>> spanning_edges(np.array([0, 1, 2, 0]), np.array([1, 0, 0, 3]))
    array([0, 2, 3])
    """
    low, high = np.minimum(first, second), np.maximum(first, second)
    n = int(high.max()) + 1
    _, shortest = np.unique(low * n + high, return_index=True)
    rank = shortest + 1.0  # all differ, and none is 0, which would be no edge
    ends = low[shortest].astype(np.int32), high[shortest].astype(np.int32)  # as csgraph takes them
    between = sparse.csr_array((rank, ends), shape=(n, n))
    return np.sort(minimum_spanning_tree(between).data.astype(np.int64) - 1)


def _links_by_matrix(distances: Array, part: Array) -> Array:
    """Shortest link out of every part but the largest, from all distances, shortest first."""
    sizes = np.bincount(part)
    links, lengths = [], []
    for which in np.delete(np.arange(len(sizes)), np.argmax(sizes)):
        inside, outside = np.flatnonzero(part == which), np.flatnonzero(part != which)
        between = distances[np.ix_(inside, outside)]
        between = np.minimum(between, distances[np.ix_(outside, inside)].T)
        at, to = np.nonzero(between == between.min())
        tied = _ordered(inside[at], outside[to])
        links.append(tied[np.lexsort((tied[:, 1], tied[:, 0]))[0]])
        lengths.append(between[at[0], to[0]])
    return _shortest_first(np.array(links), np.array(lengths))


def _links_by_search(rows: Any, part: Array) -> Array:
    """Shortest link out of every part but the largest, by searches for nearest rows.

    A part of ``s`` rows has another row among the ``s + 1`` nearest of each of its rows, so one
    search over all rows serves the small parts; large parts search among the rows outside them.
    One row more than that is searched: it tells whether there is a tie.
    """
    sizes = np.bincount(part)
    largest = int(np.argmax(sizes))
    small = np.flatnonzero((sizes <= SMALL_PART) & (np.arange(len(sizes)) != largest))
    large = np.flatnonzero((sizes > SMALL_PART) & (np.arange(len(sizes)) != largest))
    found = []
    if len(small):
        looking = np.flatnonzero(np.isin(part, small))
        everywhere = np.arange(len(part))
        n_own = int(sizes[small].max())
        found.append(_nearest_foreign(RowSearch(rows), part, looking, everywhere, n_own))
    for which in large:
        inside, outside = np.flatnonzero(part == which), np.flatnonzero(part != which)
        found.append(_nearest_foreign(RowSearch(rows, outside), part, inside, outside, 0))
    first, second, lengths = (np.concatenate(column) for column in zip(*found, strict=True))
    links, own = _ordered(first, second), part[first]
    order = np.lexsort((links[:, 1], links[:, 0], lengths, own))
    shortest = order[np.unique(own[order], return_index=True)[1]]
    return _shortest_first(links[shortest], lengths[shortest])


def _nearest_foreign(
    search: RowSearch, part: Array, looking: Array, among: Array, n_own: int
) -> tuple[Array, Array, Array]:
    """Rows as near as any of their part to other parts, the first row that near, the distance.

    Of the rows ``among`` which is searched up to ``n_own`` may be of the own part.
    """
    distances, places = search.nearest(looking, min(n_own + 2, len(among)))
    foreign = part[among[places]] != part[looking][:, None]
    at, column = np.arange(len(looking)), np.argmax(foreign, axis=1)
    nearest, length = among[places[at, column]], distances[at, column]
    several = (foreign & (distances == length[:, None])).sum(axis=1) > 1
    least = np.full(part.max() + 1, np.inf)
    np.minimum.at(least, part[looking], length)
    kept = length == least[part[looking]]
    looking, nearest, length = looking[kept], nearest[kept], length[kept]
    tied = np.flatnonzero(several[kept])
    tied = tied[_first_alike(search.rows, looking[tied], part)]
    nearest[tied] = _first_within(search, among, part, looking[tied], length[tied])
    return looking, nearest, length


def _first_alike(rows: Any, looking: Array, part: Array) -> Array:
    """Places of rows before which no row of their part is the same: links of others come later."""
    if sparse.issparse(rows):
        return np.arange(len(looking))
    values = np.column_stack([part[looking], rows[looking] + 0.0])  # -0.0 becomes 0.0
    return np.sort(np.unique(values, axis=0, return_index=True)[1])


def _first_within(
    search: RowSearch, among: Array, part: Array, looking: Array, radii: Array
) -> Array:
    """First row of another part that is as near as a radius, for rows of which some are."""
    first = np.empty(len(looking), dtype=np.int64)
    order = np.argsort(radii, kind="stable")  # neighbors of a search have radii that are alike
    size = max(1, BLOCK_NUMBERS // search.n_searched)
    for start in range(0, len(order), size):
        block = order[start : start + size]
        ends, places, lengths = search.within(looking[block], float(radii[block].max()))
        others = among[places]
        near = (lengths <= radii[block][ends]) & (part[others] != part[looking[block]][ends])
        lowest = np.full(len(block), len(part))
        np.minimum.at(lowest, ends[near], others[near])
        first[block] = lowest
    return first


def _ordered(first: Array, second: Array) -> Array:
    """Pairs of positions, the lower one first."""
    return np.column_stack([np.minimum(first, second), np.maximum(first, second)])


def _shortest_first(links: Array, lengths: Array) -> Array:
    """Links in the order of their lengths, of equal ones in that of their positions."""
    return links[np.lexsort((links[:, 1], links[:, 0], lengths))]
