"""Iterated conditional modes: labels under pairwise couplings, one node or one block at a time.

The energy of a labelling ``l`` of nodes ``i`` with costs ``c`` and couplings ``s`` is::

    E(l) = Σ_i c[i, l_i]  +  Σ_{i<j} s_ij [l_i == l_j]

A must-link of weight w is the coupling -w (up to the constant w), a cannot-link the coupling +w,
an infinite coupling a hard cannot-link. Couplings are symmetric CSR arrays
``(starts, neighbours, coupling)``. A node of label -1 is in no cluster and couples with nothing.
Nothing here ever raises E, and a label only changes where E falls.

Memory that a loop needs is made outside of it: NumPy's own functions take longest to compile.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel

# A fall of the energy below this share of its terms is rounding, not progress.
ROUNDING = 1e-13


@kernel
def costs_and_nearest(
    products: np.ndarray,
    squares: np.ndarray,
    center_squares: np.ndarray,
    weights: np.ndarray,
    nearest: np.ndarray,
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


def icm_sweep(
    cost: np.ndarray,
    nearest: np.ndarray,
    starts: np.ndarray,
    neighbours: np.ndarray,
    coupling: np.ndarray,
    labels: np.ndarray,
    order: np.ndarray,
) -> int:
    """Give every node of ``order`` in turn its best label, the others fixed; count the changes.

    ``labels`` is updated in place; nodes beyond the length of ``cost`` are fixed. Only labels of
    neighbours differ from the plain cost, so that the cheapest cluster ``nearest`` and these are
    all that can be best, unless neighbours make the cheapest one dearer.
    """
    added = np.zeros(cost.shape[1])
    return _sweep_nodes(cost, nearest, starts, neighbours, coupling, labels, order, added)


@kernel
def _sweep_nodes(  # type: ignore[no-untyped-def]
    cost, nearest, starts, neighbours, coupling, labels, order, added
):
    n_clusters = cost.shape[1]
    changes = 0
    for node in order:
        current = labels[node]
        if current == nearest[node]:
            content = True  # nothing repels it from here, nothing attracts it elsewhere
            for edge in range(starts[node], starts[node + 1]):
                label = labels[neighbours[edge]]
                if label >= 0 and (coupling[edge] > 0.0) == (label == current):
                    content = False
                    break
            if content:
                continue
        for edge in range(starts[node], starts[node + 1]):
            label = labels[neighbours[edge]]
            if label >= 0:
                added[label] += coupling[edge]
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
            label = labels[neighbours[edge]]
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
    cost: np.ndarray,
    nearest: np.ndarray,
    starts: np.ndarray,
    neighbours: np.ndarray,
    coupling: np.ndarray,
    labels: np.ndarray,
    block: np.ndarray,
    members: np.ndarray,
    member_starts: np.ndarray,
    order: np.ndarray,
) -> int:
    """Move whole blocks of nodes to one cluster where that lowers the energy; count the moves.

    ``block`` is the block of every node, ``members[member_starts[b]:member_starts[b + 1]]`` the
    nodes of block ``b``. A block whose nodes are scattered is compared as it stands.
    """
    together = np.empty(cost.shape[1])
    graph = starts, neighbours, coupling
    blocks = block, members, member_starts
    return _sweep_blocks(cost, nearest, *graph, labels, *blocks, order, together)


@kernel
def _sweep_blocks(  # type: ignore[no-untyped-def]
    cost,
    nearest,
    starts,
    neighbours,
    coupling,
    labels,
    block,
    members,
    member_starts,
    order,
    together,
):
    n_clusters = cost.shape[1]
    moves = 0
    for b in order:
        first, last = member_starts[b], member_starts[b + 1]
        content = True  # all in their nearest cluster, together, and no coupling outside objects
        home = labels[members[first]]
        for place in range(first, last):
            node = members[place]
            if labels[node] != home or nearest[node] != home:
                content = False
                break
            for edge in range(starts[node], starts[node + 1]):
                label = labels[neighbours[edge]]
                if (coupling[edge] > 0.0) == (label == home) and block[neighbours[edge]] != b:
                    content = content and label < 0
        if content:
            continue
        now = 0.0  # the energy of the block as it stands, couplings inside counted once
        inside = 0.0  # what the couplings inside add when all of the block is together
        for cluster in range(n_clusters):
            together[cluster] = 0.0
        for place in range(first, last):
            node = members[place]
            current = labels[node]
            now += cost[node, current]
            for cluster in range(n_clusters):
                together[cluster] += cost[node, cluster]
            for edge in range(starts[node], starts[node + 1]):
                label = labels[neighbours[edge]]
                if label >= 0:
                    share = coupling[edge]
                    if block[neighbours[edge]] == b:
                        share *= 0.5
                        inside += share
                    else:
                        together[label] += share
                    if label == current:
                        now += share
        best = 0
        for cluster in range(1, n_clusters):
            if together[cluster] < together[best]:
                best = cluster
        tolerance = ROUNDING * (abs(now) + abs(inside))
        if together[best] + inside + tolerance < now:
            for place in range(first, last):
                labels[members[place]] = best
            moves += 1
    return moves


@kernel
def conditional_costs(
    cost: np.ndarray,
    starts: np.ndarray,
    neighbours: np.ndarray,
    coupling: np.ndarray,
    labels: np.ndarray,
    nodes: np.ndarray,
) -> np.ndarray:
    """Energy of every label of the given nodes, all other nodes fixed: shape (len(nodes), k)."""
    energies = np.empty((len(nodes), cost.shape[1]))
    for row in range(len(nodes)):
        node = nodes[row]
        for cluster in range(cost.shape[1]):
            energies[row, cluster] = cost[node, cluster]
        for edge in range(starts[node], starts[node + 1]):
            label = labels[neighbours[edge]]
            if label >= 0:
                energies[row, label] += coupling[edge]
    return energies


@kernel
def add_rows(totals: np.ndarray, place: np.ndarray, rows: np.ndarray) -> None:
    """Add every row to the row of ``totals`` at its place."""
    for row in range(len(rows)):
        for column in range(rows.shape[1]):
            totals[place[row], column] += rows[row, column]


def restless_nodes(
    starts: np.ndarray, neighbours: np.ndarray, before: np.ndarray, labels: np.ndarray, n: int
) -> np.ndarray:
    """Nodes below ``n`` whose label, or that of a neighbour, is no longer what it was before."""
    restless = labels != before
    _mark_neighbours(starts, neighbours, np.flatnonzero(restless), restless)
    return np.flatnonzero(restless[:n])


@kernel
def _mark_neighbours(starts, neighbours, nodes, marked):  # type: ignore[no-untyped-def]
    for place in range(len(nodes)):
        for edge in range(starts[nodes[place]], starts[nodes[place] + 1]):
            marked[neighbours[edge]] = True


@kernel
def labelled_total(cost: np.ndarray, labels: np.ndarray) -> float:
    """Sum of the costs of the nodes in their clusters."""
    total = 0.0
    for node in range(len(cost)):
        total += cost[node, labels[node]]
    return total
