"""Rows of a stream and their neighbors, exact after every row that comes or goes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from sidelight._kernels.manifold.neighbor_lists import (
    add_to_lists,
    distances_to,
    fill_lists,
    listed_pairs,
    pair_distances,
    remove_from_lists,
    rename_in_lists,
)
from sidelight._progress import stage_progress
from sidelight._typing import Array
from sidelight.graphs import distance_graph
from sidelight.graphs.inner import larger, run_blocks, symmetric_edges

#: Rows whose lists are made at a time.
BLOCK_ROWS = 256


class Touched(NamedTuple):
    """Rows that an added or removed row may have affected.

    Attributes
    ----------
    joined : ndarray of int
        Rows that are neighbors of the new row.
    pairs : ndarray of int, shape (n_pairs, 2)
        Pairs of other rows that may have become neighbors, or are none any more.
    moved : ndarray of int
        Other rows whose lists changed.
    """

    joined: Array
    pairs: Array
    moved: Array


class Neighborhood:
    """Rows in slots, with lists of the nearest rows of each, or neighbors within a radius.

    The symmetric union (Law 2006, section 2.2): two rows are neighbors if one is in the list of the
    other, or if their distance is below the radius. A slot that becomes free is given to the last
    row; ``serials`` tells when the row of a slot came.
    """

    def __init__(self, n_features: int, n_neighbors: int, radius: float | None) -> None:
        self.radius = radius
        size = 1 if radius is not None else n_neighbors
        self.n = 0
        self.rows = np.empty((0, n_features))
        self.serials = np.empty(0, np.int64)
        self.near = np.empty((0, size), np.int64)
        self.near_distances = np.empty((0, size))
        self.counts = np.zeros(0, np.int64)

    def start(self, rows: Array, first_serial: int) -> None:
        """Add the first rows, all at once."""
        n = len(rows)
        self._make_room(n)
        self.n = n
        self.rows[:n] = rows
        self.serials[:n] = first_serial + np.arange(n)

        def run(first: int) -> None:
            last = min(first + BLOCK_ROWS, n)
            fill_lists(self.rows, n, first, last, self.serials, *self.lists)

        blocks = range(0, n, BLOCK_ROWS)
        with stage_progress("Nearest neighbors", len(blocks)) as progress:
            run_blocks(run, blocks, progress.step)

    @property
    def lists(self) -> tuple[Array, Array, Array]:
        """Arrays for the compiled loops."""
        return self.near, self.near_distances, self.counts

    @property
    def order(self) -> Array:
        """Slots in the order in which their rows came."""
        return np.argsort(self.serials[: self.n], kind="stable")

    def add(self, row: Array, serial: int) -> Touched:
        """Add a row, in the next slot."""
        new = self.n
        self._make_room(new + 1)
        self.rows[new] = row
        self.serials[new] = serial
        apart = distances_to(self.rows, new, self.rows[new])
        joined, listing, driven = add_to_lists(*self.lists, self.serials, new, apart)
        self.n = new + 1
        if self.radius is not None:
            return Touched(np.flatnonzero(apart < self.radius), driven[:0], driven[:0, 0])
        pairs = np.unique(np.sort(driven, axis=1), axis=0) if len(driven) else driven
        return Touched(joined, pairs, listing)

    def remove(self, slot: int) -> Touched:
        """Remove the row of a slot; the last row gets the slot."""
        changed = remove_from_lists(self.rows, self.n, *self.lists, self.serials, slot)
        last = self.n - 1
        if slot != last:
            rename_in_lists(*self.lists, self.n, last, slot)
            self.rows[slot] = self.rows[last]
            self.serials[slot] = self.serials[last]
            changed[changed == last] = slot
        self.n = last
        nothing = np.empty(0, np.int64)
        if self.radius is not None:
            return Touched(nothing, np.empty((0, 2), np.int64), nothing)
        filled = changed[changed[:, 1] >= 0]
        pairs = np.unique(np.sort(filled, axis=1), axis=0) if len(filled) else filled
        return Touched(nothing, pairs, changed[:, 0].copy())

    def distances(self, pairs: Array) -> Array:
        """Distances of pairs of rows."""
        return pair_distances(self.rows, np.ascontiguousarray(pairs))

    def are_neighbors(self, pairs: Array) -> Array:
        """Which pairs of rows are neighbors."""
        if self.radius is not None:
            return np.asarray(self.distances(pairs) < self.radius)
        return listed_pairs(self.near, self.counts, np.ascontiguousarray(pairs))

    def graph(self) -> sparse.csr_array:
        """Distances of all neighbors, slots as positions."""
        n = self.n
        if self.radius is not None:
            return distance_graph(self.rows[:n], radius=self.radius)
        ends = np.repeat(np.arange(n), self.counts[:n])
        used = np.arange(self.near.shape[1]) < self.counts[:n, None]
        return symmetric_edges(ends, self.near[:n][used], self.near_distances[:n][used], n)

    def slots_of(self, serials: Array) -> Array:
        """Slots of the rows with these serial numbers, -1 for rows that are not here."""
        own, order = self.serials[: self.n], self.order
        at = np.minimum(np.searchsorted(own, serials, sorter=order), max(self.n - 1, 0))
        if self.n == 0:
            return np.full(np.shape(serials), -1)
        found = order[at]
        return np.where(own[found] == serials, found, -1)

    def crowding(self) -> Array:
        """Distance of every row to its nearest."""
        return self.near_distances[: self.n, 0]

    def scales(self) -> Array:
        """Mean distance of every row to its nearest; 0 where there is none, or none apart."""
        n = self.n
        used = np.arange(self.near.shape[1]) < self.counts[:n, None]
        totals = np.where(used, self.near_distances[:n], 0.0).sum(axis=1)
        return np.asarray(totals / np.maximum(self.counts[:n], 1))

    def _make_room(self, needed: int) -> None:
        capacity = len(self.serials)
        if needed > capacity:
            size = larger(capacity, needed)
            for name in ("rows", "serials", "near", "near_distances", "counts"):
                old = getattr(self, name)
                new = np.zeros((size, *old.shape[1:]), old.dtype)
                new[: self.n] = old[: self.n]
                setattr(self, name, new)

    def __getstate__(self) -> dict[str, Any]:
        names = ("rows", "serials", "near", "near_distances", "counts")
        kept = {name: getattr(self, name)[: self.n].copy() for name in names}
        return {"n": self.n, "radius": self.radius, **kept}
