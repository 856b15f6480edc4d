"""Assignment of bi-sets to the nearest centroid, with and without cannot-links."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.cluster.coclustering.bits import (
    NONE,
    ONE,
    has,
    lowest_of,
    meets,
    put,
)


@kernel
def _add_weights(words: Any, weights: Any, total: Any) -> int:
    """Add the weights of the members of a set, shape (n_elements, n_clusters); count members."""
    n = 0
    for w in range(len(words)):
        rest = words[w]
        while rest:
            element = 64 * w + np.int64(lowest_of(rest))
            for c in range(len(total)):
                total[c] += weights[element, c]
            n += 1
            rest &= rest - ONE
    return n


@kernel
def distances_of(
    row_set: Any,
    column_set: Any,
    row_weights: Any,
    column_weights: Any,
    row_totals: Any,
    column_totals: Any,
    shared: Any,
    distance: Any,
) -> None:
    """Distances of a bi-set to all centroids: the mean of the Dice-type distances of both sides.

    ``row_weights`` holds ``(t + [t > 0])`` of the centroids, so that half the sum over the
    members is the size of the intersection; ``row_totals`` their sums of ``t``.
    """
    shared[:] = 0.0
    n = _add_weights(row_set, row_weights, shared)
    for c in range(len(distance)):
        union = n + row_totals[c]
        distance[c] = 0.0 if union == 0.0 else 0.5 - 0.5 * shared[c] / union
    shared[:] = 0.0
    n = _add_weights(column_set, column_weights, shared)
    for c in range(len(distance)):
        union = n + column_totals[c]
        distance[c] += 0.0 if union == 0.0 else 0.5 - 0.5 * shared[c] / union


@kernel
def assign(
    row_sets: Any,
    column_sets: Any,
    row_weights: Any,
    column_weights: Any,
    row_totals: Any,
    column_totals: Any,
    labels: Any,
    nearest: Any,
) -> None:
    """Write the nearest centroid of every bi-set, the first of several, and its distance."""
    n_clusters = len(row_totals)
    shared = np.empty(n_clusters)
    distance = np.empty(n_clusters)
    for b in range(len(row_sets)):
        distances_of(
            row_sets[b],
            column_sets[b],
            row_weights,
            column_weights,
            row_totals,
            column_totals,
            shared,
            distance,
        )
        best = np.argmin(distance)
        labels[b] = best
        nearest[b] = distance[best]


@kernel
def assign_apart(
    row_sets: Any,
    column_sets: Any,
    row_weights: Any,
    column_weights: Any,
    row_totals: Any,
    column_totals: Any,
    vertices: Any,
    edges: Any,
    taken: Any,
    labels: Any,
    nearest: Any,
) -> None:
    """As :func:`assign`, but to the nearest cluster without an element that must be apart.

    Bi-sets are visited one after the other; one that no cluster may take gets the label -1 and
    the largest distance, 1.

    Parameters
    ----------
    vertices : uint64 array of shape (n_bi_sets, words)
        Vertices of the conflict graph in every bi-set.
    edges : uint64 array of shape (n_vertices, words)
        Neighbors of every vertex.
    taken : uint64 array of shape (n_clusters, words)
        Vertices that every cluster has received already; added to.
    """
    n_clusters = len(row_totals)
    shared = np.empty(n_clusters)
    distance = np.empty(n_clusters)
    apart = np.empty(edges.shape[1], np.uint64)
    for b in range(len(row_sets)):
        distances_of(
            row_sets[b],
            column_sets[b],
            row_weights,
            column_weights,
            row_totals,
            column_totals,
            shared,
            distance,
        )
        apart[:] = NONE
        for w in range(len(apart)):
            rest = vertices[b, w]
            while rest:
                v = 64 * w + np.int64(lowest_of(rest))
                for u in range(len(apart)):
                    apart[u] |= edges[v, u]
                rest &= rest - ONE
        best = -1
        for c in range(n_clusters):
            if (best < 0 or distance[c] < distance[best]) and not meets(taken[c], apart):
                best = c
        labels[b] = best
        nearest[b] = 1.0
        if best >= 0:
            nearest[b] = distance[best]
            for w in range(len(apart)):
                taken[best, w] |= vertices[b, w]


@kernel
def assign_trimmed(
    row_sets: Any,
    column_sets: Any,
    row_weights: Any,
    column_weights: Any,
    row_totals: Any,
    column_totals: Any,
    vertices: Any,
    edges: Any,
    taken: Any,
    trimmed: Any,
    labels: Any,
    nearest: Any,
) -> None:
    """As :func:`assign`, but a bi-set leaves behind what must be apart from its cluster.

    ``trimmed`` (n_bi_sets, words) gets the vertices that a bi-set leaves behind; the other
    parameters are those of :func:`assign_apart`.
    """
    assign(
        row_sets,
        column_sets,
        row_weights,
        column_weights,
        row_totals,
        column_totals,
        labels,
        nearest,
    )
    for b in range(len(labels)):
        here = taken[labels[b]]
        for w in range(vertices.shape[1]):
            rest = vertices[b, w]
            while rest:
                v = 64 * w + np.int64(lowest_of(rest))
                if meets(edges[v], here):
                    put(trimmed[b], v)
                else:
                    put(here, v)
                rest &= rest - ONE


@kernel
def reserve(weights: Any, order: Any, edges: Any, taken: Any) -> None:
    """Give every vertex a cluster that no neighbor will enter: that of its largest weight.

    Vertices come in the given order; one whose neighbors have all clusters gets none.
    """
    n_clusters = len(taken)
    for place in range(len(order)):
        v = order[place]
        best = -1
        for c in range(n_clusters):
            if (best < 0 or weights[v, c] > weights[v, best]) and not meets(taken[c], edges[v]):
                best = c
        if best >= 0:
            put(taken[best], v)


@kernel
def count_members(
    sets: Any, weights: Any, labels: Any, vertex: Any, trimmed: Any, counts: Any
) -> None:
    """Add to ``counts`` (n_elements, n_clusters) the weight of a cluster's bi-sets with an element.

    Elements whose vertex a bi-set has left behind are not counted; ``trimmed`` may be empty.
    """
    for b in range(len(sets)):
        c = labels[b]
        if c < 0:
            continue
        for w in range(sets.shape[1]):
            rest = sets[b, w]
            while rest:
                element = 64 * w + np.int64(lowest_of(rest))
                rest &= rest - ONE
                v = vertex[element]
                if v < 0 or not len(trimmed) or not has(trimmed[b], v):
                    counts[element, c] += weights[b]


@kernel
def _members_of(words: Any, members: Any) -> int:
    """Write the elements of a set, and return how many there are."""
    n = 0
    for w in range(len(words)):
        rest = words[w]
        while rest:
            members[n] = 64 * w + np.int64(lowest_of(rest))
            n += 1
            rest &= rest - ONE
    return n


@kernel
def cells_once(row_sets: Any, column_sets: Any, covers: Any, weights: Any) -> None:
    """Write weights of the bi-sets with which every covered cell of the table counts once.

    A cell that ``c`` bi-sets cover gives ``1 / c`` to each of them. ``covers`` is of the shape of
    the table, and zero.
    """
    rows = np.empty(covers.shape[0], np.int64)
    columns = np.empty(covers.shape[1], np.int64)
    for b in range(len(row_sets)):
        n_rows, n_columns = _members_of(row_sets[b], rows), _members_of(column_sets[b], columns)
        for i in rows[:n_rows]:
            for j in columns[:n_columns]:
                covers[i, j] += 1
    for b in range(len(row_sets)):
        n_rows, n_columns = _members_of(row_sets[b], rows), _members_of(column_sets[b], columns)
        total = 0.0
        for i in rows[:n_rows]:
            for j in columns[:n_columns]:
                total += 1.0 / covers[i, j]
        weights[b] = total


@kernel
def vertices_of(
    row_sets: Any, column_sets: Any, vertex_of_row: Any, vertex_of_column: Any, vertices: Any
) -> None:
    """Add the vertices of the conflict graph in every bi-set."""
    for b in range(len(row_sets)):
        for i in range(len(vertex_of_row)):
            if vertex_of_row[i] >= 0 and has(row_sets[b], i):
                put(vertices[b], vertex_of_row[i])
        for j in range(len(vertex_of_column)):
            if vertex_of_column[j] >= 0 and has(column_sets[b], j):
                put(vertices[b], vertex_of_column[j])
