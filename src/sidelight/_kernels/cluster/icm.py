"""Iterated conditional modes: labels under pairwise couplings, one node or one block at a time.

The energy of a labeling ``l`` of nodes ``i`` with costs ``c`` and couplings ``s`` is::

    E(l) = Σ_i c[i, l_i]  +  Σ_{i<j} s_ij [l_i == l_j]

A must-link of weight w is the coupling -w (up to the constant w), a cannot-link the coupling +w,
an infinite coupling a hard cannot-link. Couplings are symmetric CSR arrays
``(starts, neighbors, coupling)``; ``coupling`` has one number per entry, or one per entry and
cluster (shape ``(n_entries, k)``) where the price of a pair depends on the cluster it is in. A
price ``f_i(l_i) + f_j(l_j)`` for different clusters is the cost ``f_i`` of node i, ``f_j`` of node
j, and the coupling ``-(f_i + f_j)``. A node of label -1 is in no cluster and couples with nothing.
Nothing here ever raises E, and a label only changes where E falls.

Memory that a loop needs is made outside of it: NumPy's own functions take longest to compile.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array

Graph = tuple[Array, Array, Array]

# A fall of the energy below this share of its terms is rounding, not progress.
ROUNDING = 1e-13


@kernel
def costs_and_nearest(
    products: Array,
    squares: Array,
    center_squares: Array,
    weights: Array,
    nearest: Array,
) -> None:
    """Turn products ``x_i·μ_h``, in place, into costs ``w_i ‖x_i - μ_h‖²``; find the cheapest."""
    n_clusters = products.shape[1]
    for node in range(len(products)):
        square, weight = squares[node], weights[node]
        for cluster in range(n_clusters):
            squared = square - 2.0 * products[node, cluster] + center_squares[cluster]
            products[node, cluster] = weight * squared if squared > 0.0 else 0.0
        best, lowest = 0, products[node, 0]
        for cluster in range(1, n_clusters):
            if products[node, cluster] < lowest:
                best, lowest = cluster, products[node, cluster]
        nearest[node] = best


def conditional_modes(
    cost: Array,
    nearest: Array,
    graph: Graph,
    labels: Array,
    nodes: Array,
    random_state: np.random.RandomState,
) -> None:
    """Move single nodes, in place and in random order, until the energy cannot fall by moving one.

    ``nodes`` are those that may want to move. After a sweep only nodes that moved and their
    neighbors can want to.
    """
    while len(nodes):
        before = labels.copy()
        if icm_sweep(cost, nearest, *graph, labels, random_state.permutation(nodes)) == 0:
            break
        nodes = restless_nodes(*graph[:2], before, labels, len(cost))


def icm_sweep(
    cost: Array,
    nearest: Array,
    starts: Array,
    neighbors: Array,
    coupling: Array,
    labels: Array,
    order: Array,
) -> int:
    """Give every node of ``order`` in turn its best label, the others fixed; count the changes.

    ``labels`` is updated in place; nodes beyond the length of ``cost`` are fixed. Only labels of
    neighbors differ from the plain cost, so that the cheapest cluster ``nearest`` and these are
    all that can be best, unless neighbors make the cheapest one dearer.
    """
    added = np.zeros(cost.shape[1])
    graph = starts, neighbors, *_flat(coupling)
    return _sweep_nodes(cost, nearest, *graph, labels, order, added)


def _flat(coupling: Array) -> tuple[Array, int]:
    """Return the couplings one after the other, and how many of them an entry has: 1 or k."""
    return (coupling, 1) if coupling.ndim == 1 else (coupling.reshape(-1), coupling.shape[1])


@kernel
def _at(coupling: Array, width: int, edge: int, label: int) -> float:
    """Coupling of an entry in a cluster."""
    return coupling[edge] if width == 1 else coupling[edge * width + label]


@kernel
def _sweep_nodes(
    cost: Array,
    nearest: Array,
    starts: Array,
    neighbors: Array,
    coupling: Array,
    width: int,
    labels: Array,
    order: Array,
    added: Array,
) -> int:
    n_clusters = cost.shape[1]
    changes = 0
    for node in order:
        current = labels[node]
        if current == nearest[node]:
            content = True  # nothing repels it from here, nothing attracts it elsewhere
            for edge in range(starts[node], starts[node + 1]):
                label = labels[neighbors[edge]]
                if label >= 0:
                    repels = _at(coupling, width, edge, label) > 0.0
                    if repels == (label == current):
                        content = False
                        break
            if content:
                continue
        for edge in range(starts[node], starts[node + 1]):
            label = labels[neighbors[edge]]
            if label >= 0:
                added[label] += _at(coupling, width, edge, label)
        now = cost[node, current] + added[current]
        best, lowest = current, now
        cheapest = nearest[node]
        if added[cheapest] > 0.0:
            for cluster in range(n_clusters):
                energy = cost[node, cluster] + added[cluster]
                if energy < lowest:
                    best, lowest = cluster, energy
        elif cost[node, cheapest] + added[cheapest] < lowest:
            best, lowest = cheapest, cost[node, cheapest] + added[cheapest]
        for edge in range(starts[node], starts[node + 1]):
            label = labels[neighbors[edge]]
            if label >= 0 and added[label] != 0.0:  # each label once; then the memory is clean
                energy = cost[node, label] + added[label]
                added[label] = 0.0
                if energy < lowest:
                    best, lowest = label, energy
        if lowest + ROUNDING * abs(lowest) < now:
            labels[node] = best
            changes += 1
    return changes


def block_sweep(
    cost: Array,
    nearest: Array,
    starts: Array,
    neighbors: Array,
    coupling: Array,
    labels: Array,
    block: Array,
    members: Array,
    member_starts: Array,
    order: Array,
) -> int:
    """Move whole blocks of nodes to one cluster where that lowers the energy; count the moves.

    ``block`` is the block of every node, ``members[member_starts[b]:member_starts[b + 1]]`` the
    nodes of block ``b``. A block whose nodes are scattered is compared as it stands.
    """
    together = np.empty(cost.shape[1])
    graph = starts, neighbors, *_flat(coupling)
    blocks = block, members, member_starts
    return _sweep_blocks(cost, nearest, *graph, labels, *blocks, order, together)


@kernel
def _is_content(
    nearest: Array,
    starts: Array,
    neighbors: Array,
    coupling: Array,
    labels: Array,
    block: Array,
    members: Array,
    first: int,
    last: int,
) -> bool:
    """Whether all are in their nearest cluster, together, and no coupling outside objects."""
    home, b = labels[members[first]], block[members[first]]
    for place in range(first, last):
        node = members[place]
        if labels[node] != home or nearest[node] != home:
            return False
        for edge in range(starts[node], starts[node + 1]):
            label = labels[neighbors[edge]]
            objects = (coupling[edge] > 0.0) == (label == home)
            if objects and label >= 0 and block[neighbors[edge]] != b:
                return False
    return True


@kernel
def _sweep_blocks(
    cost: Array,
    nearest: Array,
    starts: Array,
    neighbors: Array,
    coupling: Array,
    width: int,
    labels: Array,
    block: Array,
    members: Array,
    member_starts: Array,
    order: Array,
    together: Array,
) -> int:
    n_clusters = cost.shape[1]
    moves = 0
    for b in order:
        first, last = member_starts[b], member_starts[b + 1]
        # Where couplings depend on the cluster, those inside may pull the block elsewhere.
        if width == 1 and _is_content(
            nearest, starts, neighbors, coupling, labels, block, members, first, last
        ):
            continue
        now = 0.0  # the energy of the block as it stands, couplings inside counted once
        inside = 0.0  # what couplings inside that are the same in all clusters add
        for cluster in range(n_clusters):
            together[cluster] = 0.0
        for place in range(first, last):
            node = members[place]
            current = labels[node]
            now += cost[node, current]
            for cluster in range(n_clusters):
                together[cluster] += cost[node, cluster]
            for edge in range(starts[node], starts[node + 1]):
                label = labels[neighbors[edge]]
                if label < 0:
                    continue
                share = _at(coupling, width, edge, label)
                if block[neighbors[edge]] != b:
                    together[label] += share
                else:
                    share *= 0.5
                    if width == 1:
                        inside += share
                    else:
                        for cluster in range(n_clusters):
                            together[cluster] += 0.5 * coupling[edge * width + cluster]
                if label == current:
                    now += share
        best = 0
        for cluster in range(1, n_clusters):
            if together[cluster] < together[best]:
                best = cluster
        lowest = together[best] + inside
        if lowest + ROUNDING * (abs(now) + abs(inside) + abs(lowest)) < now:
            for place in range(first, last):
                labels[members[place]] = best
            moves += 1
    return moves


def conditional_costs(
    cost: Array,
    starts: Array,
    neighbors: Array,
    coupling: Array,
    labels: Array,
    nodes: Array,
) -> Array:
    """Energy of every label of the given nodes, all other nodes fixed: shape (len(nodes), k)."""
    energies = cost[nodes].astype(np.float64)
    _add_couplings(energies, starts, neighbors, *_flat(coupling), labels, nodes)
    return energies


@kernel
def _add_couplings(
    energies: Array,
    starts: Array,
    neighbors: Array,
    coupling: Array,
    width: int,
    labels: Array,
    nodes: Array,
) -> None:
    for row in range(len(nodes)):
        node = nodes[row]
        for edge in range(starts[node], starts[node + 1]):
            label = labels[neighbors[edge]]
            if label >= 0:
                energies[row, label] += _at(coupling, width, edge, label)


@kernel
def add_rows(totals: Array, place: Array, rows: Array) -> None:
    """Add every row to the row of ``totals`` at its place."""
    for row in range(len(rows)):
        for column in range(rows.shape[1]):
            totals[place[row], column] += rows[row, column]


def restless_nodes(starts: Array, neighbors: Array, before: Array, labels: Array, n: int) -> Array:
    """Nodes below ``n`` whose label, or that of a neighbor, is no longer what it was before."""
    restless = labels != before
    _mark_neighbors(starts, neighbors, np.flatnonzero(restless), restless)
    return np.flatnonzero(restless[:n])


@kernel
def _mark_neighbors(starts: Array, neighbors: Array, nodes: Array, marked: Array) -> None:
    for place in range(len(nodes)):
        for edge in range(starts[nodes[place]], starts[nodes[place] + 1]):
            marked[neighbors[edge]] = True


@kernel
def labeled_total(cost: Array, labels: Array) -> float:
    """Sum of the costs of the nodes in their clusters."""
    total = 0.0
    for node in range(len(cost)):
        total += cost[node, labels[node]]
    return total
