"""Neighborhood graph of a stream of rows and its geodesics, changed together."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight.constraints import Pairs
from sidelight.graphs import DynamicPathTrees, DynamicShortestPaths, PathChange
from sidelight.manifold.incremental._edges import EdgeRules
from sidelight.manifold.incremental._neighborhood import Neighborhood, Touched
from sidelight.manifold.incremental._updates import MapUpdate

Paths = DynamicShortestPaths | DynamicPathTrees


class MapGraph:
    """Rows in slots, edges between them, and the shortest paths over these.

    Where the rules are local, only the edges that a row touches are looked at; otherwise the graph
    is rebuilt and compared with that of the paths, which costs ``O(n n_neighbors)``.
    """

    def __init__(self, near: Neighborhood, rules: EdgeRules) -> None:
        self.near = near
        self.rules = rules
        self.paths: Paths = DynamicShortestPaths()

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.near.n

    @property
    def serials(self) -> Array:
        """Serial numbers of the rows, by slot."""
        return self.near.serials[: self.n]

    def start(
        self,
        rows: Array,
        first_serial: int,
        pairs: Pairs,
        landmarks: Array | None,
        update: MapUpdate,
    ) -> None:
        """Add the first rows and the constraints on them, all at once."""
        with _clock(update, "neighbor_seconds"):
            self.near.start(rows, first_serial)
        with _clock(update, "geodesic_seconds"):
            self.rules.add_pairs(pairs, self.serials)
            graph = self.rules.graph(self.near)
            if landmarks is None:
                self.paths = DynamicShortestPaths(graph)
            else:
                self.paths = DynamicPathTrees(graph, landmarks)
            update.n_added += len(rows)
            update.edges_added += graph.nnz // 2
            update.n_parts = self.rules.n_parts

    def with_landmarks(self, slots: Array) -> None:
        """Keep the geodesics from some rows only."""
        graph = self.paths.graph
        self.paths = DynamicShortestPaths()  # first give the memory back
        self.paths = DynamicPathTrees(graph, slots)

    def add(self, row: Array, serial: int, update: MapUpdate) -> None:
        """Add a row."""
        with _clock(update, "neighbor_seconds"):
            local = self.rules.is_local(self.near)
            touched = self.near.add(row, serial)
        with _clock(update, "geodesic_seconds"):
            new = self.n - 1
            if local and self.rules.is_local(self.near):
                pairs, lengths = self._touched_edges(touched)
                ends = touched.joined
                to_new = self.rules.lengths(
                    self.near, np.column_stack([np.full(len(ends), new), ends])
                )
            else:
                ends, to_new, pairs, lengths = self._compare(self.rules.graph(self.near), new)
            change = self._change(pairs, lengths, update)
            change += self.paths.add_vertex(zip(ends.tolist(), to_new.tolist(), strict=True))
            update.edges_added += len(ends)
            update.n_added += 1
            self._note(change, update)
            self._note_share(change, update)
            self._keep_together(update)

    def remove(self, slot: int, update: MapUpdate) -> None:
        """Remove the row of a slot; the last row gets the slot."""
        local = self.rules.is_local(self.near)  # pairs of the row, forgotten next, changed others
        with _clock(update, "geodesic_seconds"):
            self.rules.forget(int(self.serials[slot]))
            update.edges_deleted += self.paths.degree(slot)
            self._note(self.paths.remove_vertex(slot), update)
            update.n_removed += 1
        self._fill_up(slot, local, update)

    def contract(self, slot: int, update: MapUpdate) -> None:
        """Remove the row of a slot, keeping the geodesics over it by short-cuts."""
        local = self.rules.is_local(self.near)
        with _clock(update, "geodesic_seconds"):
            serials = self.serials.copy()
            pairs, lengths = self.paths.contract_vertex(slot)
            self.rules.forget(int(serials[slot]))
            self.rules.keep_shortcuts(serials[pairs], lengths)
            update.n_contracted += 1
        self._fill_up(slot, local, update)

    def add_pairs(self, pairs: Pairs, serials: Array, update: MapUpdate) -> None:
        """Add constraints on pairs of rows, given by their serial numbers."""
        if pairs.n_together or pairs.n_apart:
            with _clock(update, "geodesic_seconds"):
                self.rules.add_pairs(pairs, serials)
                self._rebuild(update)
                update.n_parts = self.rules.n_parts

    def take_back(self, n: int, edges: sparse.csr_array) -> None:
        """Take the geodesics of all slots from ``n`` on out again, and give the others these edges.

        Only the geodesics are changed.
        """
        for slot in range(self.paths.n_vertices - 1, n - 1, -1):
            self.paths.remove_vertex(slot)
        _, _, pairs, lengths = self._compare(edges, -1)
        self.paths.change_edges(pairs, lengths)

    def _fill_up(self, slot: int, local: bool, update: MapUpdate) -> None:
        """Fill up the lists that a row has left, and add the edges of those that come."""
        with _clock(update, "neighbor_seconds"):
            touched = self.near.remove(slot)
        with _clock(update, "geodesic_seconds"):
            if self.n == 0:
                return
            if local and self.rules.is_local(self.near):
                change = self._change(*self._touched_edges(touched), update)
                self._note(change, update)
            else:
                self._rebuild(update)
            self._keep_together(update)

    def _rebuild(self, update: MapUpdate) -> None:
        """Compare the graph with that which is wanted, and change the geodesics accordingly."""
        _, _, pairs, lengths = self._compare(self.rules.graph(self.near), -1)
        self._note(self._change(pairs, lengths, update), update)

    def _touched_edges(self, touched: Touched) -> tuple[Array, Array]:
        """Edges between earlier rows that may have changed, and the lengths they should have."""
        pairs = touched.pairs
        if self.rules.conformal and len(touched.moved):
            around = [self.paths.edges_of(int(i)) for i in touched.moved]
            pairs = np.unique(np.sort(np.concatenate([pairs, *around]), axis=1), axis=0)
        return pairs, self.rules.lengths(self.near, pairs)

    def _change(self, pairs: Array, lengths: Array, update: MapUpdate) -> PathChange:
        """Change edges between rows of the map, and count the changes."""
        if len(pairs) == 0:
            return PathChange()
        old = self.paths.lengths(pairs)
        differ = old != lengths
        pairs, lengths, old = pairs[differ], lengths[differ], old[differ]
        update.edges_deleted += int(np.count_nonzero(np.isinf(lengths)))
        update.edges_added += int(np.count_nonzero(np.isinf(old)))
        update.edges_changed += int(np.count_nonzero(np.isfinite(old) & np.isfinite(lengths)))
        return self.paths.change_edges(pairs, lengths)

    def _note(self, change: PathChange, update: MapUpdate) -> None:
        update.pairs_invalidated += change.invalidated
        update.pairs_shortened += change.shortened

    def _note_share(self, change: PathChange, update: MapUpdate) -> None:
        """Note the share of all geodesics that a new row made much shorter."""
        if isinstance(self.paths, DynamicPathTrees):
            update.share_shortened = float("nan")
        else:
            n_pairs = max(self.n * (self.n - 1) // 2, 1)
            update.share_shortened = max(update.share_shortened, change.much_shortened / n_pairs)

    def _keep_together(self, update: MapUpdate) -> None:
        """Build bridges when the graph has fallen into parts, and count the parts."""
        if self.rules.n_parts == 1 and not np.isfinite(self.paths.distances[0]).all():
            self._rebuild(update)
        update.n_parts = self.rules.n_parts

    def _compare(self, graph: sparse.csr_array, new: int) -> tuple[Array, Array, Array, Array]:
        """Edges of a new row with their lengths; other edges that differ, with wanted lengths."""
        wanted = _upper_edges(graph)
        there = _upper_edges(self.paths.graph)
        codes = np.union1d(wanted[0], there[0])
        lengths = _lengths_at(codes, wanted)
        pairs = np.column_stack([codes >> 32, codes & 0xFFFFFFFF])
        own = pairs[:, 1] == new  # the new row is the last one
        differ = ~own & (lengths != _lengths_at(codes, there))
        return pairs[own, 0], lengths[own], np.ascontiguousarray(pairs[differ]), lengths[differ]


@contextlib.contextmanager
def _clock(update: MapUpdate, name: str) -> Iterator[None]:
    """Add the seconds of a block to an update."""
    started = time.perf_counter()
    yield
    setattr(update, name, getattr(update, name) + time.perf_counter() - started)


def _upper_edges(graph: sparse.csr_array) -> tuple[Array, Array]:
    """Edges ``i < j`` as sorted codes, and their lengths."""
    ends = np.repeat(np.arange(graph.shape[0], dtype=np.int64), np.diff(graph.indptr))
    upper = ends < graph.indices
    codes = (ends[upper] << 32) | graph.indices[upper].astype(np.int64)
    order = np.argsort(codes)
    return codes[order], graph.data[upper][order]


def _lengths_at(codes: Array, edges: tuple[Array, Array]) -> Array:
    """Lengths of edges by their codes, infinite where there is none."""
    lengths = np.full(len(codes), np.inf)
    lengths[np.searchsorted(codes, edges[0])] = edges[1]
    return lengths
