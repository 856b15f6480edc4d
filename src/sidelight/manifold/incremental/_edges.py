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
        Part of every row, by slot, if there are several and no bridges.
    cut : csr_array of bool or None
        Edges between slots that cannot-links have cut or made longer, if there are any.
    pending_messages : list of str
        Messages about parts that nobody has seen yet.
    """

    conformal: bool
    disconnected: Disconnected
    known: Pairs = NO_PAIRS
    shortcuts: dict[int, dict[int, float]] = field(default_factory=dict)
    n_parts: int = 1
    part: Array | None = None
    cut: sparse.csr_array | None = None
    pending_messages: list[str] = field(default_factory=list)

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
        """All edges that there should be, slots as positions: as the batch method has them."""
        graph = near.graph()
        cuts = self._shortcut_edges(near)
        graph = self._joined(graph, cuts, near)
        plain = graph
        factors = np.ones(graph.nnz)
        known = self._pairs_by_slot(near)
        if known.n_together or known.n_apart:
            graph, factors = constrained_edges(graph, near.rows[: near.n], known)
        self.cut = _cut_edges(plain, graph, factors) if known.n_apart else None
        ends = np.repeat(np.arange(near.n), np.diff(graph.indptr))
        lengths = graph.data * factors
        if self.conformal:
            scales = self.scales(near, plain)
            lengths = lengths / np.sqrt(scales[ends] * scales[graph.indices])
        first, second, kept = cuts
        return symmetric_edges(
            np.concatenate([ends, first]),
            np.concatenate([graph.indices, second]),
            np.concatenate([lengths, kept]),
            near.n,
        )

    def scales(self, near: Neighborhood, graph: sparse.csr_array | None = None) -> Array:
        """Mean distances to neighbors, above 0: where all are the same the least of the others."""
        if near.radius is None:
            scales = near.scales()
        else:
            within = near.graph() if graph is None else graph
            scales = np.asarray(within.sum(axis=1)).ravel() / np.maximum(np.diff(within.indptr), 1)
        above = scales[scales > 0]
        return np.where(scales > 0, scales, above.min() if len(above) else 1.0)

    def _shortcut_edges(self, near: Neighborhood) -> tuple[Array, Array, Array]:
        """Short-cuts by slots, each once."""
        found = [(a, b, w) for a in self.shortcuts for b, w in self.shortcuts[a].items() if a < b]
        named = np.array([(a, b) for a, b, _ in found], dtype=np.int64).reshape(-1, 2)
        slots = near.slots_of(named)
        return slots[:, 0], slots[:, 1], np.array([length for _, _, length in found])

    def _joined(
        self, graph: sparse.csr_array, cuts: tuple[Array, Array, Array], near: Neighborhood
    ) -> sparse.csr_array:
        """The graph with bridges where it falls into parts, and these counted."""
        whole = graph
        if len(cuts[0]):
            old = sparse.coo_array(graph)
            whole = symmetric_edges(
                np.concatenate([old.row, cuts[0]]),
                np.concatenate([old.col, cuts[1]]),
                np.concatenate([old.data, cuts[2]]),
                near.n,
            )
        before = self.n_parts
        n_parts, part = connected_components(whole, directed=False)
        self.n_parts, self.part = int(n_parts), None
        if n_parts <= 1:
            return graph
        if self.disconnected != "bridge":
            self.part = part
        if self.disconnected == "raise":
            return graph  # whoever asked for the change raises, once it is complete
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            joined, _ = join_parts(whole, near.rows[: near.n], self.disconnected)
        if n_parts > before:
            self.pending_messages += [str(one.message) for one in caught]
        if self.disconnected == "largest":
            return graph
        ends = np.repeat(np.arange(near.n), np.diff(joined.indptr))
        across = part[ends] != part[joined.indices]
        old = sparse.coo_array(graph)
        return symmetric_edges(
            np.concatenate([old.row, ends[across]]),
            np.concatenate([old.col, joined.indices[across]]),
            np.concatenate([old.data, joined.data[across]]),
            near.n,
        )

    def _pairs_by_slot(self, near: Neighborhood) -> Pairs:
        known = self.known
        return Pairs(
            near.slots_of(known.together),
            known.together_weight,
            near.slots_of(known.apart),
            known.apart_weight,
        )


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
