"""Union-find over rows, and the loops that belong to must-link components.

The parent of a row is never larger than the row: the smallest row of a component is its root, so
one ascending pass numbers the components by their smallest row.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def find(parent: Array, row: int) -> int:
    """Root of ``row``; halves the path on the way so that later searches are short."""
    while parent[row] != row:
        parent[row] = parent[parent[row]]
        row = parent[row]
    return row


@kernel
def join_pairs(parent: Array, pairs: Array) -> None:
    """Join the two ends of every pair."""
    for p in range(pairs.shape[0]):
        first = find(parent, pairs[p, 0])
        second = find(parent, pairs[p, 1])
        if first < second:
            parent[second] = first
        elif second < first:
            parent[first] = second


@kernel
def join_codes(parent: Array, codes: Array, n_codes: int) -> None:
    """Join all rows with the same code; -1 joins nothing."""
    first_row = np.full(n_codes, -1, np.int64)
    for row in range(codes.shape[0]):
        code = codes[row]
        if code < 0:
            continue
        if first_row[code] < 0:
            first_row[code] = row
            continue
        first = find(parent, first_row[code])
        second = find(parent, row)
        if first < second:
            parent[second] = first
        elif second < first:
            parent[first] = second


@kernel
def number_components(parent: Array, component: Array) -> int:
    """Number the components by their smallest row; return how many there are."""
    n_components = 0
    for row in range(parent.shape[0]):
        if parent[row] == row:
            component[row] = n_components
            n_components += 1
        else:
            component[row] = component[parent[row]]
    return n_components


@kernel
def members_by_code(codes: Array, indptr: Array) -> Array:
    """Rows sorted by code and then by position (counting sort); codes below 0 are left out.

    ``indptr`` holds where each code starts, its last entry the number of rows to list.
    """
    order = np.empty(indptr[-1], np.int64)
    place = indptr[:-1].copy()
    for row in range(codes.shape[0]):
        code = codes[row]
        if code >= 0:
            order[place[code]] = row
            place[code] += 1
    return order


@kernel
def pairs_inside(order: Array, indptr: Array, n_pairs: int) -> Array:
    """All pairs of rows of one component, component after component."""
    pairs = np.empty((n_pairs, 2), np.int64)
    place = 0
    for c in range(indptr.shape[0] - 1):
        for a in range(indptr[c], indptr[c + 1]):
            for b in range(a + 1, indptr[c + 1]):
                pairs[place, 0] = order[a]
                pairs[place, 1] = order[b]
                place += 1
    return pairs


@kernel
def pairs_across(order: Array, indptr: Array, edges: Array, n_pairs: int) -> Array:
    """All pairs of rows of two components joined by an edge, edge after edge."""
    pairs = np.empty((n_pairs, 2), np.int64)
    place = 0
    for e in range(edges.shape[0]):
        for a in range(indptr[edges[e, 0]], indptr[edges[e, 0] + 1]):
            for b in range(indptr[edges[e, 1]], indptr[edges[e, 1] + 1]):
                pairs[place, 0] = min(order[a], order[b])
                pairs[place, 1] = max(order[a], order[b])
                place += 1
    return pairs


@kernel
def add_by_component(rows: Array, weight: Array, component: Array, sums: Array) -> None:
    """Add weighted dense rows to the sums of their components, in float64."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            sums[component[i], j] += weight[i] * rows[i, j]


@kernel
def add_scatter_by_component(
    rows: Array, weight: Array, component: Array, means: Array, scatter: Array
) -> None:
    """Add weighted squared distances of dense rows to the means of their components."""
    for i in range(rows.shape[0]):
        distance = 0.0
        for j in range(rows.shape[1]):
            distance += (rows[i, j] - means[component[i], j]) ** 2
        scatter[component[i]] += weight[i] * distance
