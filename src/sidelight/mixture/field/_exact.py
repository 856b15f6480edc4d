"""Exact inference on parts of a constraint field: two labelings, forests, tables, cliques."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from sidelight._typing import FloatArray, IntArray
from sidelight.assignment.inner import Graph, connected_parts, make_graph
from sidelight.exceptions import SidelightError

# Larger cores (every node has three neighbors or more) are not ordered: they are far too wide.
_LARGEST_CORE = 2048
# All messages of a part together may take this many times the budget of its largest table.
_MESSAGES = 16
# Larger factors of an edge leave messages of too wide a range to be numbers.
_LARGEST_FACTOR = 1e100


class Inference(Protocol):
    """Inference on some of the nodes of a field; arrays are listed like ``nodes``."""

    name: str
    nodes: IntArray
    # Edges whose agreement is computed, and whether they enter the normalizer of the prior.
    edges: IntArray
    exact: bool

    def infer(self, logphi: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Marginals, terms of log Z (to be added up), and P(both ends agree) of the edges."""

    def best(self, logphi: FloatArray) -> IntArray:
        """Labeling of highest weight."""

    def draw(self, logphi: FloatArray, rng: np.random.RandomState) -> IntArray:
        """A labeling drawn by its weight."""

    def restarted(self, rng: np.random.RandomState) -> Inference:
        """The same inference without what was kept from earlier calls, for another run of EM."""


class _Stateless:
    exact = True

    def restarted(self, rng: np.random.RandomState) -> Self:
        """Nothing is kept between calls."""
        return self


class TwoLabelings(_Stateless):
    """Two labels, and every edge keeps its ends apart: a part has two labelings.

    With colours 0 and 1 such that neighbors differ, the log-weights of the labelings are
    ``Σ_i phi[i, c_i]`` and ``Σ_i phi[i, 1 - c_i]``. O(nodes), for any number of edges.
    """

    name = "two labelings"

    def __init__(self, nodes: IntArray, colors: IntArray, part: IntArray, edges: IntArray) -> None:
        self.nodes = nodes
        self.edges = edges
        self._colors = colors
        self._roots, self._part = np.unique(part, return_index=True, return_inverse=True)[1:]

    def _weights(self, logphi: FloatArray) -> FloatArray:
        at = np.arange(len(self.nodes))
        n_parts = len(self._roots)
        weight = np.empty((n_parts, 2))
        for flip in (0, 1):
            values = logphi[at, self._colors ^ flip]
            weight[:, flip] = np.bincount(self._part, values, minlength=n_parts)
        return weight

    def infer(self, logphi: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Marginals, log Z at the first node of each part, agreements (none)."""
        weight = self._weights(logphi)
        total = np.logaddexp(weight[:, 0], weight[:, 1])
        with np.errstate(invalid="ignore"):
            share = np.exp(weight - total[:, None])[self._part]
        q = np.empty((len(self.nodes), 2))
        at = np.arange(len(self.nodes))
        q[at, self._colors] = share[:, 0]
        q[at, 1 - self._colors] = share[:, 1]
        log_z = np.zeros(len(self.nodes))
        log_z[self._roots] = total
        return q, log_z, np.zeros(len(self.edges))

    def best(self, logphi: FloatArray) -> IntArray:
        """The heavier labeling of each part."""
        weight = self._weights(logphi)
        return self._colors ^ (weight[:, 1] > weight[:, 0]).astype(np.int64)[self._part]

    def draw(self, logphi: FloatArray, rng: np.random.RandomState) -> IntArray:
        """One of the two labelings of each part."""
        weight = self._weights(logphi)
        odds = np.exp(weight[:, 1] - np.logaddexp(weight[:, 0], weight[:, 1]))
        return self._colors ^ (rng.random_sample(len(odds)) < odds).astype(np.int64)[self._part]


@dataclass(frozen=True)
class Region:
    """Some of the nodes of a field, renumbered, with the edges among them that count.

    Attributes
    ----------
    graph : Graph
        The edges between positions in ``nodes``.
    coupling : ndarray of shape (e,)
        Coupling of every edge of the graph.
    part : ndarray of shape (m,)
        Connected part of every node.
    nodes, edges : ndarray
        Numbers of the nodes and edges in the field.
    """

    graph: Graph
    coupling: FloatArray
    part: IntArray
    nodes: IntArray
    edges: IntArray


@dataclass(frozen=True)
class Order:
    """Nodes in the order of their elimination, and whom each one meets when it leaves.

    Attributes
    ----------
    nodes : ndarray of shape (n,)
        The node at each position.
    begin, separators : ndarray
        Positions that the node at position v meets: ``separators[begin[v]:begin[v + 1]]``.
    place : ndarray
        Which variable of the parent's table each one is; see
        :mod:`sidelight._kernels.mixture.tables`.
    coupling, edge : ndarray
        Coupling with each one and the number of that edge; 0 and -1 where they are not joined.
    """

    nodes: IntArray
    begin: IntArray
    separators: IntArray
    place: IntArray
    coupling: FloatArray
    edge: IntArray


class Forest(_Stateless):
    """Sum-product in two sweeps; single nodes and pairs are the smallest trees. O(nodes k)."""

    name = "forest"

    def __init__(self, order: Order) -> None:
        self.nodes = order.nodes
        self.edges = order.edge
        self._parent = np.full(len(order.nodes), -1, np.int64)
        self._coupling = np.zeros(len(order.nodes))
        self._child = np.flatnonzero(np.diff(order.begin))
        self._parent[self._child] = order.separators
        self._coupling[self._child] = order.coupling
        self._factor = np.exp(np.minimum(self._coupling, 700.0))

    def _inward(self, logphi: FloatArray, maximum: bool) -> tuple[FloatArray, FloatArray]:
        from sidelight._kernels.mixture.field import collect

        inward, message = np.empty_like(logphi), np.empty_like(logphi)
        collect(logphi, self._parent, self._coupling, maximum, inward, message)
        return inward, message

    def infer(self, logphi: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Marginals, log Z at the roots, agreement of every node with its parent."""
        from sidelight._kernels.mixture.field import distribute

        q = np.empty_like(logphi)
        log_z, agree = np.empty(len(logphi)), np.empty(len(logphi))
        if not self._infer_by_products(logphi, q, log_z, agree):
            inward, message = self._inward(logphi, False)
            distribute(self._parent, self._coupling, inward, message, q, log_z, agree)
        return q, log_z, agree[self._child]

    def _infer_by_products(
        self, logphi: FloatArray, q: FloatArray, log_z: FloatArray, agree: FloatArray
    ) -> bool:
        """The same without logarithms; whether the range of numbers was enough."""
        from sidelight._kernels.mixture.field_products import collect_products, distribute_products

        scale = logphi.max(axis=1)
        if self._factor.max(initial=0.0) > _LARGEST_FACTOR or np.isneginf(scale).any():
            return False
        inward, message = np.exp(logphi - scale[:, None]), np.empty_like(logphi)
        if not collect_products(inward, self._parent, self._factor, message, scale):
            return False
        distribute_products(self._parent, self._factor, inward, message, scale, q, log_z, agree)
        return True

    def best(self, logphi: FloatArray) -> IntArray:
        """Max-product."""
        return self._read(logphi, True, np.full(len(logphi), -1.0))

    def draw(self, logphi: FloatArray, rng: np.random.RandomState) -> IntArray:
        """Roots from their marginals, children given their parents."""
        return self._read(logphi, False, rng.random_sample(len(logphi)))

    def _read(self, logphi: FloatArray, maximum: bool, uniform: FloatArray) -> IntArray:
        from sidelight._kernels.mixture.field import read_labels

        inward, _ = self._inward(logphi, maximum)
        labels: IntArray = read_labels(self._parent, self._coupling, inward, uniform)
        return labels


class JunctionTree(_Stateless):
    """Variable elimination and back: a junction tree, of tables of ``k^(width + 1)`` entries."""

    name = "tables"

    def __init__(self, order: Order, k: int) -> None:
        self.nodes = order.nodes
        self._order = order
        self._joined = order.edge >= 0
        self.edges = order.edge[self._joined]
        widths = np.diff(order.begin)
        self._messages_begin = np.concatenate([[0], np.cumsum(k**widths)])
        self._largest = int(k ** (widths.max() + 1))
        parent = np.full(len(order.nodes), -1, np.int64)
        has_parent = widths > 0
        parent[has_parent] = order.separators[order.begin[:-1][has_parent]]
        self._children = np.flatnonzero(has_parent)[np.argsort(parent[has_parent], kind="stable")]
        counts = np.bincount(parent[has_parent], minlength=len(order.nodes))
        self._child_begin = np.concatenate([[0], np.cumsum(counts)])

    def _tree(self) -> tuple[Any, ...]:
        return self._children, self._child_begin, self._messages_begin

    def _collect(self, logphi: FloatArray, maximum: bool) -> tuple[FloatArray, FloatArray]:
        from sidelight._kernels.mixture.tables import collect_tables

        order = self._order
        table, messages = np.empty(self._largest), np.empty(self._messages_begin[-1])
        structure = (order.begin, order.separators, order.place, order.coupling, *self._tree())
        collect_tables(*(logphi, *structure, maximum, table, messages))
        return table, messages

    def infer(self, logphi: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Marginals, log Z at the roots, agreements of the edges."""
        from sidelight._kernels.mixture.tables import distribute_tables

        order = self._order
        table, messages = self._collect(logphi, False)
        q, log_z = np.empty_like(logphi), np.empty(len(logphi))
        agree = np.empty(len(order.separators))
        structure = (order.begin, order.separators, order.place, order.coupling, *self._tree())
        distribute_tables(*(logphi, *structure, table, messages, q, log_z, agree))
        return q, log_z, agree[self._joined]

    def best(self, logphi: FloatArray) -> IntArray:
        """Max-product."""
        return self._read(logphi, True, np.full(len(logphi), -1.0))

    def draw(self, logphi: FloatArray, rng: np.random.RandomState) -> IntArray:
        """Every node given those eliminated after it."""
        return self._read(logphi, False, rng.random_sample(len(logphi)))

    def _read(self, logphi: FloatArray, maximum: bool, uniform: FloatArray) -> IntArray:
        from sidelight._kernels.mixture.tables import read_tables

        order = self._order
        _, messages = self._collect(logphi, maximum)
        structure = (order.begin, order.separators, order.coupling, *self._tree())
        labels: IntArray = read_tables(*(logphi, *structure, messages, uniform))
        return labels


class Cliques(_Stateless):
    """Parts in which every two nodes must differ: sums over sets of labels. O(k 2^k) per part."""

    name = "cliques"

    def __init__(self, region: Region) -> None:
        self._order = np.argsort(region.part, kind="stable")
        self.nodes = region.nodes[self._order]
        self.edges = region.edges
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(region.part))])

    def infer(self, logphi: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Marginals, log Z at the first node of each part, agreements (none)."""
        from sidelight._kernels.mixture.cliques import clique_marginals

        q, log_z = np.empty_like(logphi), np.empty(len(logphi))
        clique_marginals(logphi, self._starts, q, log_z)
        return q, log_z, np.zeros(len(self.edges))

    def best(self, logphi: FloatArray) -> IntArray:
        """The best labels."""
        from sidelight._kernels.mixture.cliques import clique_labels

        labels: IntArray = clique_labels(logphi, self._starts, True, np.full(len(logphi), -1.0))
        return labels

    def draw(self, logphi: FloatArray, rng: np.random.RandomState) -> IntArray:
        """Labels in turn, each given those before it."""
        from sidelight._kernels.mixture.cliques import clique_labels

        uniform = rng.random_sample(len(logphi))
        labels: IntArray = clique_labels(logphi, self._starts, False, uniform)
        return labels


def fewer_sets(size: IntArray, k: int, budget: float) -> npt.NDArray[np.bool_]:
    """Whether sets of labels are fewer than the entries of the tables of a clique."""
    fewer: npt.NDArray[np.bool_] = (size > 2) & ((size - 1) * np.log(k) > k * np.log(2))
    return fewer if 2.0**k <= budget else np.zeros_like(fewer)


def two_labelings(region: Region) -> TwoLabelings:
    """Inference with two labels where every edge is hard and no cycle is odd."""
    from sidelight._kernels.assignment.coloring import two_color

    colors, part, _ = two_color(region.graph.indptr, region.graph.neighbors)
    return TwoLabelings(region.nodes, colors, part, region.edges)


def eliminate(region: Region, k: int, budget: float) -> tuple[list[Inference], IntArray]:
    """Exact inference on every part that is narrow enough, and the parts that are not.

    A forest always is; another part is if its largest table has at most ``budget`` entries.
    """
    sequence, begin, separators, wide = _sequence(region.graph, region.part, k, budget)
    widths = np.diff(begin)
    part = region.part[sequence]
    widest = np.zeros(int(region.part.max(initial=-1)) + 1, np.int64)
    np.maximum.at(widest, part, widths)
    fine = np.ones(len(widest), dtype=bool)
    fine[wide] = False

    groups: list[Inference] = []
    flat = (fine & (widest <= 1))[part]
    if flat.any():
        groups.append(Forest(_order(region, sequence, begin, separators, flat)))
    for some in _batches(part, k ** widths.astype(float), fine & (widest > 1), budget):
        groups.append(JunctionTree(_order(region, sequence, begin, separators, some[part]), k))
    return groups, wide


def wide_parts(region: Region, k: int, budget: float) -> IntArray:
    """Parts for which a table would have more than ``budget`` entries."""
    return _sequence(region.graph, region.part, k, budget)[3]


def _sequence(
    graph: Graph, part: IntArray, k: int, budget: float
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Order of elimination with separators (as nodes), and the parts that are too wide."""
    from sidelight._kernels.mixture.elimination import order_by_fill, reduce_sparse_nodes

    widest = int(np.log(budget) / np.log(max(k, 2)) + 1e-9) - 1
    first, narrow, core_indptr, core_neighbors = reduce_sparse_nodes(graph.indptr, graph.neighbors)
    in_core = np.ones(graph.n_nodes, dtype=bool)
    in_core[first] = False
    core = np.flatnonzero(in_core)
    wide = np.zeros(int(part.max(initial=-1)) + 1, dtype=bool)
    if len(core):
        ends = np.repeat(np.arange(graph.n_nodes), np.diff(core_indptr))
        n_cores, core_part = connected_parts(graph.n_nodes, np.column_stack([ends, core_neighbors]))
        sizes = np.bincount(core_part[core], minlength=n_cores)
        wide[part[core[sizes[core_part[core]] > _LARGEST_CORE]]] = True
        core = core[sizes[core_part[core]] <= _LARGEST_CORE]
    if len(core):
        core = core[np.argsort(core_part[core], kind="stable")]
        starts = np.flatnonzero(np.diff(core_part[core], prepend=-1, append=-1))
        core, core_begin, core_separators, done = order_by_fill(
            core_indptr, core_neighbors, starts, core, widest
        )
        failed = starts[:-1][~done]
        wide[part[core[failed]]] = True
    else:
        core_begin, core_separators = np.zeros(1, np.int64), np.empty(0, np.int64)
    found = narrow[first] >= 0
    begin = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
    sequence = np.concatenate([first, core])
    separators = np.concatenate([narrow[first][found], core_separators])
    begin = np.concatenate([begin, begin[-1] + core_begin[1:]])
    widths = np.diff(begin)
    wide[part[sequence[(widths > 1) & (widths > widest)]]] = True
    messages = np.bincount(part[sequence], k ** widths.astype(float), minlength=len(wide))
    has_tables = np.zeros(len(wide), dtype=bool)
    has_tables[part[sequence[widths > 1]]] = True
    wide |= has_tables & (messages > _MESSAGES * budget)
    return sequence, begin, separators, np.flatnonzero(wide)


def _batches(
    part: IntArray, messages: FloatArray, wanted: npt.NDArray[np.bool_], budget: float
) -> Iterator[npt.NDArray[np.bool_]]:
    """Share the parts out such that the messages of each lot fit in memory at a time."""
    parts = np.flatnonzero(wanted)
    total = np.bincount(part, messages, minlength=len(wanted))[parts]
    lot = (np.cumsum(total) / (_MESSAGES * budget)).astype(np.int64)
    for number in np.unique(lot):
        some = np.zeros(len(wanted), dtype=bool)
        some[parts[lot == number]] = True
        yield some


def _order(
    region: Region,
    sequence: IntArray,
    begin: IntArray,
    separators: IntArray,
    chosen: npt.NDArray[np.bool_],
) -> Order:
    """The chosen places of the sequence, in which all nodes of a part are chosen or none."""
    from sidelight._kernels.mixture.elimination import lay_out

    nodes = sequence[chosen]
    widths = np.diff(begin)
    met = separators[np.repeat(chosen, widths)]
    owner = np.repeat(nodes, widths[chosen])
    new_begin = np.concatenate([[0], np.cumsum(widths[chosen])])
    where = np.full(region.graph.n_nodes, -1, np.int64)
    where[nodes] = np.arange(len(nodes))
    positions, place = lay_out(new_begin, met, where)
    at = _edge_numbers(region.graph, owner, nodes[positions])
    joined = at >= 0
    coupling, edge = np.zeros(len(at)), np.full(len(at), -1, np.int64)
    coupling[joined], edge[joined] = region.coupling[at[joined]], region.edges[at[joined]]
    return Order(region.nodes[nodes], new_begin, positions, place, coupling, edge)


def _edge_numbers(graph: Graph, one: IntArray, other: IntArray) -> IntArray:
    """Number of the edge between each two nodes, or -1."""
    keys = graph.edges[:, 0] * graph.n_nodes + graph.edges[:, 1]
    wanted = np.minimum(one, other) * graph.n_nodes + np.maximum(one, other)
    if len(keys) == 0:
        return np.full(len(wanted), -1, np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)


@dataclass(frozen=True)
class FieldEdges:
    """The edges of a field, each pair of nodes once, with couplings and lengths."""

    n_nodes: int
    edges: IntArray
    coupling: FloatArray
    length: FloatArray

    def region(self, nodes: IntArray, edges: IntArray) -> Region:
        """Some nodes (ascending) and some edges among them (ascending)."""
        position = np.full(self.n_nodes, -1, np.int64)
        position[nodes] = np.arange(len(nodes))
        graph = make_graph(len(nodes), position[self.edges[edges]])
        part = connected_parts(len(nodes), graph.edges)[1]
        return Region(graph, self.coupling[edges], part, nodes, edges)


def canonical_links(
    n_nodes: int, edges: IntArray, coupling: FloatArray, length: FloatArray | None
) -> tuple[FieldEdges, IntArray, float]:
    """Each pair of nodes once; where every edge went (-1: a node with itself); and a constant.

    Couplings of repeated pairs add up. A node always agrees with itself: such couplings are the
    constant.
    """
    if len(coupling) != len(edges):
        raise SidelightError(f"{len(edges)} edges need as many couplings, got {len(coupling)}.")
    if np.isnan(coupling).any() or np.isposinf(coupling).any():
        raise SidelightError(
            "Couplings must be numbers or -inf; contract the ends of a hard must-link instead."
        )
    low, high = np.minimum(edges[:, 0], edges[:, 1]), np.maximum(edges[:, 0], edges[:, 1])
    if len(edges) and (low.min() < 0 or high.max() >= n_nodes):
        raise SidelightError(f"Edges must name nodes 0 to {n_nodes - 1}.")
    loop = low == high
    if np.isneginf(coupling[loop]).any():
        raise SidelightError("A node cannot be apart from itself.")
    keys, number = np.unique(low[~loop] * n_nodes + high[~loop], return_inverse=True)
    total = np.zeros(len(keys))
    np.add.at(total, number, coupling[~loop])
    if length is None:
        lengths = -np.abs(total)
    else:
        lengths = np.full(len(keys), np.inf)
        np.minimum.at(lengths, number, length[~loop])
    pairs = np.column_stack(np.divmod(keys, max(n_nodes, 1))).astype(np.int64)
    where = np.full(len(edges), -1, np.int64)
    where[~loop] = number
    return FieldEdges(n_nodes, pairs, total, lengths), where, float(coupling[loop].sum())
