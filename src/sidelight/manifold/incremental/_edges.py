"""Edges that the graph of a map should have: neighbors, short-cuts, constraints, bridges."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sidelight._typing import Array
from sidelight.constraints import Pairs
from sidelight.graphs import constrained_edges, join_parts
from sidelight.graphs.inner import Disconnected, symmetric_edges
from sidelight.manifold.incremental._neighborhood import Neighborhood

NO_PAIRS = Pairs(np.empty((0, 2), np.int64), np.empty(0), np.empty((0, 2), np.int64), np.empty(0))


@dataclass
class EdgeRules:
    """Rules for the edges of a map beside its neighborhoods: constraints, parts, short-cuts.

    Attributes
    ----------
    conformal : bool
        Whether distances are divided by the scales of both rows.
    disconnected : {"bridge", "largest", "raise"}
        What happens to a graph in parts.
    known : Pairs
        Pairs that belong together and apart, by serial numbers.
    shortcuts : dict of int to dict of int to float
        Edges that contracted rows have left, by serial numbers, both ways.
    n_parts : int
        Parts that the graph was in when it was last built; bridges join none.
    part : ndarray of int or None
        Part of every row, by slot, if there are several and no bridges; that of the row that came
        first is 0.
    cut : csr_array of bool or None
        Edges between slots that cannot-links have cut or made longer, if there are any.
    message : str
        What there is to say about the parts; nothing where there is one.
    n_warned : int
        Number of parts that the last call knew of; more are worth a warning.
    means : ndarray
        Mean distances to neighbors by slot, bridges among them, of rows within a radius.
    """

    conformal: bool
    disconnected: Disconnected
    known: Pairs = NO_PAIRS
    shortcuts: dict[int, dict[int, float]] = field(default_factory=dict)
    n_parts: int = 1
    part: Array | None = None
    cut: sparse.csr_array | None = None
    message: str = ""
    n_warned: int = 1
    means: Array = field(default_factory=lambda: np.empty(0))

    def is_local(self, near: Neighborhood) -> bool:
        """Whether a row changes no edges but those of rows whose neighbors it changes."""
        if self.n_parts > 1 or self.known.n_together or self.known.n_apart:
            return False
        return not self.conformal or (near.radius is None and bool(np.all(near.scales() > 0)))

    def add_pairs(self, pairs: Pairs, serials: Array) -> None:
        """Add constraints on pairs of rows, given by their serial numbers."""
        old = self.known
        self.known = Pairs(
            np.concatenate([old.together, serials[pairs.together]]),
            np.concatenate([old.together_weight, pairs.together_weight]),
            np.concatenate([old.apart, serials[pairs.apart]]),
            np.concatenate([old.apart_weight, pairs.apart_weight]),
        )

    def forget(self, serial: int) -> None:
        """Drop everything about a row."""
        for other in self.shortcuts.pop(serial, {}):
            self.shortcuts[other].pop(serial)
            if not self.shortcuts[other]:
                del self.shortcuts[other]
        known = self.known
        if known.n_together or known.n_apart:
            kept = (known.together != serial).all(axis=1), (known.apart != serial).all(axis=1)
            self.known = Pairs(
                known.together[kept[0]],
                known.together_weight[kept[0]],
                known.apart[kept[1]],
                known.apart_weight[kept[1]],
            )

    def keep_shortcuts(self, pairs: Array, lengths: Array) -> None:
        """Add edges in place of a contracted row, by serial numbers."""
        for (a, b), length in zip(pairs.tolist(), lengths.tolist(), strict=True):
            self.shortcuts.setdefault(a, {})[b] = length
            self.shortcuts.setdefault(b, {})[a] = length

    def lengths(self, near: Neighborhood, pairs: Array) -> Array:
        """Lengths that edges should have, infinite for none, where the rules are local."""
        if len(pairs) == 0:
            return np.empty(0)
        apart = near.distances(pairs)
        if self.conformal:
            apart = apart / np.sqrt(near.scales()[pairs].prod(axis=1))
        lengths = np.where(near.are_neighbors(pairs), apart, np.inf)
        if self.shortcuts:
            named = near.serials[pairs].tolist()
            kept = [self.shortcuts.get(a, {}).get(b, np.inf) for a, b in named]
            lengths = np.minimum(lengths, kept)
        return lengths

    def graph(self, near: Neighborhood) -> sparse.csr_array:
        """All edges that there should be, slots as positions: as the batch method has them.

        They are found with the rows in the order in which they came, so that ties are broken as in
        a map that begins with the rows that are left, whatever slots they are in.
        """
        order = near.order
        place = np.argsort(order)
        rows = near.rows[order]
        cuts = self._shortcut_edges(place, near)
        graph = self._joined(_renumbered(near.graph(), order), cuts, rows, place)
        plain = graph
        factors = np.ones(graph.nnz)
        known = self._pairs_in_order(place, near)
        if known.n_together or known.n_apart:
            graph, factors = constrained_edges(graph, rows, known)
        cut = _cut_edges(plain, graph, factors) if known.n_apart else None
        self.cut = None if cut is None else _renumbered(cut, place)
        ends = np.repeat(np.arange(near.n), np.diff(graph.indptr))
        lengths = graph.data * factors
        if self.conformal:
            if near.radius is not None:
                counts = np.maximum(np.diff(plain.indptr), 1)
                self.means = (np.asarray(plain.sum(axis=1)).ravel() / counts)[place]
            scales = self.scales(near)[order]
            lengths = lengths / np.sqrt(scales[ends] * scales[graph.indices])
        graph.data = lengths
        return _renumbered(_with_edges(graph, *cuts), place)

    def scales(self, near: Neighborhood) -> Array:
        """Mean distances to neighbors, above 0: where all are the same the least of the others."""
        means = near.scales() if near.radius is None else self.means
        mapped = means if self.inside is None else means[self.inside]
        above = mapped[mapped > 0]
        return np.where(means > 0, means, above.min() if len(above) else 1.0)

    @property
    def inside(self) -> Array | None:
        """Which slots are in the largest part, of equal ones that of the row that came first."""
        return None if self.part is None else self.part == np.argmax(np.bincount(self.part))

    def _shortcut_edges(self, place: Array, near: Neighborhood) -> tuple[Array, Array, Array]:
        """Short-cuts, each once, with the rows in the order in which they came."""
        found = [(a, b, w) for a in self.shortcuts for b, w in self.shortcuts[a].items() if a < b]
        named = np.array([(a, b) for a, b, _ in found], dtype=np.int64).reshape(-1, 2)
        ends = place[near.slots_of(named)]
        return ends[:, 0], ends[:, 1], np.array([length for _, _, length in found])

    def _joined(
        self,
        graph: sparse.csr_array,
        cuts: tuple[Array, Array, Array],
        rows: Array,
        place: Array,
    ) -> sparse.csr_array:
        """The graph with bridges where it falls into parts, and these counted."""
        whole = _with_edges(graph, *cuts) if len(cuts[0]) else graph
        n_parts, part = connected_components(whole, directed=False)
        self.n_parts, self.part, self.message = int(n_parts), None, ""
        if n_parts <= 1:
            return graph
        if self.disconnected != "bridge":
            self.part = part[place]
        if self.disconnected == "raise":
            return graph  # whoever asked for the change raises, once it is complete
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            joined, _ = join_parts(whole, rows, self.disconnected)
        self.message = str(caught[0].message)
        if self.disconnected == "largest":
            return graph
        ends = np.repeat(np.arange(len(rows)), np.diff(joined.indptr))
        across = (part[ends] != part[joined.indices]) & (ends < joined.indices)
        return _with_edges(graph, ends[across], joined.indices[across], joined.data[across])

    def _pairs_in_order(self, place: Array, near: Neighborhood) -> Pairs:
        """Pairs of rows that are on the map, with the rows in the order in which they came."""
        known = self.known
        together, apart = near.slots_of(known.together), near.slots_of(known.apart)
        inside = np.ones(near.n, bool) if self.inside is None else self.inside
        kept = inside[together].all(axis=1), inside[apart].all(axis=1)
        return Pairs(
            place[together[kept[0]]],
            known.together_weight[kept[0]],
            place[apart[kept[1]]],
            known.apart_weight[kept[1]],
        )


def _with_edges(
    graph: sparse.csr_array, first: Array, second: Array, lengths: Array
) -> sparse.csr_array:
    """A graph and more edges, each given once."""
    old = sparse.coo_array(graph)
    return symmetric_edges(
        np.concatenate([old.row, first]),
        np.concatenate([old.col, second]),
        np.concatenate([old.data, lengths]),
        graph.shape[0],
    )


def _renumbered(graph: sparse.csr_array, order: Array) -> sparse.csr_array:
    """The graph with its vertices in another order; edges without length stay."""
    moved = sparse.csr_array(graph[order][:, order])
    moved.sort_indices()
    return moved


def _cut_edges(
    before: sparse.csr_array, after: sparse.csr_array, factors: Array
) -> sparse.csr_array:
    """Edges of a graph that another does not have, or makes longer."""
    n = before.shape[0]
    old, new = (
        np.repeat(np.arange(n), np.diff(one.indptr)) * n + one.indices for one in (before, after)
    )
    cut = old[~np.isin(old, new[factors <= 1])]
    return sparse.csr_array((np.ones(len(cut), bool), (cut // n, cut % n)), shape=(n, n))
