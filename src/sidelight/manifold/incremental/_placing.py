"""Coordinates of new rows on a fixed map."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight.graphs import DynamicPathTrees
from sidelight.graphs.inner import BLOCK_NUMBERS, RowSearch, first_of_each
from sidelight.manifold.incremental._growing_map import GrowingMap
from sidelight.manifold.incremental._neighborhood import Neighborhood
from sidelight.manifold.spectral._base import rows_like


def place_rows(grown: GrowingMap, rows: Array) -> Array:
    """Places of rows by their geodesics to the rows of the map (Law 2006, section 3.2.1.3).

    A row that equals one of the map has its place.
    """
    slots, near = _neighbors(grown, rows)
    near = _without_cut(grown, slots, near)
    lengths = near.data
    if grown.graph.rules.conformal:
        scales = grown.graph.rules.scales(grown.graph.near)[slots]
        ends = np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))
        sums = np.bincount(ends, weights=near.data, minlength=near.shape[0])
        own = sums / np.diff(near.indptr)
        own = np.where(own > 0, own, 1.0)  # equals rows of the map, whose place it has
        lengths = lengths / np.sqrt(own[ends] * scales[near.indices])
    paths = grown.graph.paths
    by_row = paths.distances.T if isinstance(paths, DynamicPathTrees) else paths.distances
    outside = np.setdiff1d(np.arange(grown.n), slots)
    vectors = np.empty((near.shape[0], grown.coordinates.n_components))
    size = max(1, BLOCK_NUMBERS * near.shape[0] // max(near.nnz * by_row.shape[1], 1))
    for first in range(0, near.shape[0], size):
        starts = near.indptr[first : first + size + 1]
        part = slice(starts[0], starts[-1])
        through = by_row[slots[near.indices[part]]] + lengths[part, None]
        shortest = np.minimum.reduceat(through, starts[:-1] - starts[0], axis=0)
        if not isinstance(paths, DynamicPathTrees):
            shortest[:, outside] = 0.0  # rows without a place have no weight in the vectors
        vectors[first : first + size] = grown.coordinates.place(shortest)
    places = grown.places_of(vectors)
    same = rows_like(near)
    found = same >= 0
    places[found] = grown.shown[slots[same[found]]]
    return places


def _without_cut(grown: GrowingMap, slots: Array, near: sparse.csr_array) -> sparse.csr_array:
    """Leave out neighbors from which cannot-links cut the nearest one, as from the row itself."""
    cut = grown.graph.rules.cut
    if cut is None or not cut.nnz:
        return near
    ends = np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))
    nearest = first_of_each(ends, near.indices, near.data, 1)[1]
    left = ~np.asarray(cut[slots[nearest[ends]], slots[near.indices]]).ravel()
    indptr = np.append(0, np.cumsum(np.bincount(ends[left], minlength=near.shape[0])))
    return sparse.csr_array((near.data[left], near.indices[left], indptr), near.shape)


def _neighbors(grown: GrowingMap, rows: Array) -> tuple[Array, sparse.csr_array]:
    """Slots of the rows that have places, and distances of new rows to neighbors among these."""
    near: Neighborhood = grown.graph.near
    order = grown.order  # of rows at the same distance those that came first
    slots = order[np.isfinite(grown.shown[order]).all(axis=1)]
    search = RowSearch(near.rows[slots])
    n = len(slots)
    if near.radius is None:
        wanted = min(near.near.shape[1], n)
        distances, targets = search.nearest(rows, wanted)
        indptr = np.arange(0, targets.size + 1, wanted)
        return slots, sparse.csr_array(
            (distances.ravel(), targets.ravel(), indptr), shape=(len(rows), n)
        )
    ends, targets, distances = search.within(rows, near.radius)
    inside = distances < near.radius
    ends, targets, distances = ends[inside], targets[inside], distances[inside]
    alone = np.setdiff1d(np.arange(len(rows)), ends)
    if len(alone):  # a row beyond the radius of all others is joined with the nearest
        away, nearest = search.nearest(rows[alone], 1)
        ends = np.concatenate([ends, alone])
        targets = np.concatenate([targets, nearest[:, 0]])
        distances = np.concatenate([distances, away[:, 0]])
    order = np.lexsort((targets, ends))
    indptr = np.append(0, np.cumsum(np.bincount(ends, minlength=len(rows))))
    return slots, sparse.csr_array((distances[order], targets[order], indptr), shape=(len(rows), n))
