"""Iterated conditional modes where the price of a pair depends on the cluster it is in.

The energy of a labelling ``l`` of nodes ``i`` with costs ``c`` and couplings ``s`` is::

    E(l) = Σ_i c[i, l_i]  +  Σ_{i<j} s_ij[l_i] [l_i == l_j]

Pairs that pay for being apart fit in: a price ``f_i(l_i) + f_j(l_j)`` for different clusters is the
cost ``f_i`` of node i, ``f_j`` of node j, and the coupling ``-(f_i + f_j)``. Couplings are
symmetric CSR arrays ``(starts, neighbours, coupling)`` with ``coupling`` of shape
``(n_entries, k)``. A node of label -1 is in no cluster and couples with nothing. As in
:mod:`sidelight._kernels.cluster.icm` nothing ever raises E, and a label only changes where E falls.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.cluster.icm import ROUNDING


@kernel
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
    n_clusters = cost.shape[1]
    added = np.zeros(n_clusters)
    changes = 0
    for node in order:
        for edge in range(starts[node], starts[node + 1]):
            label = labels[neighbours[edge]]
            if label >= 0:
                added[label] += coupling[edge, label]
        current = labels[node]
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
            if label >= 0:
                energy = cost[node, label] + added[label]
                if energy < lowest:
                    best, lowest = label, energy
        for edge in range(starts[node], starts[node + 1]):
            label = labels[neighbours[edge]]
            if label >= 0:
                added[label] = 0.0
        if lowest + ROUNDING * abs(lowest) < now:
            labels[node] = best
            changes += 1
    return changes


@kernel
def block_sweep(
    cost: np.ndarray,
    nearest: np.ndarray,  # not needed: every cluster is tried
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
    n_clusters = cost.shape[1]
    together = np.empty(n_clusters)  # the energy of the block in each cluster
    moves = 0
    for b in order:
        nodes = members[member_starts[b] : member_starts[b + 1]]
        together[:] = 0.0
        now = 0.0  # the energy of the block as it stands, couplings inside counted once
        for node in nodes:
            current = labels[node]
            now += cost[node, current]
            for cluster in range(n_clusters):
                together[cluster] += cost[node, cluster]
            for edge in range(starts[node], starts[node + 1]):
                label = labels[neighbours[edge]]
                if label < 0:
                    continue
                if block[neighbours[edge]] == b:
                    for cluster in range(n_clusters):
                        together[cluster] += 0.5 * coupling[edge, cluster]
                    if label == current:
                        now += 0.5 * coupling[edge, current]
                else:
                    together[label] += coupling[edge, label]
                    if label == current:
                        now += coupling[edge, current]
        best = np.argmin(together)
        if together[best] + ROUNDING * (abs(now) + abs(together[best])) < now:
            for node in nodes:
                labels[node] = best
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
        energies[row] = cost[node]
        for edge in range(starts[node], starts[node + 1]):
            label = labels[neighbours[edge]]
            if label >= 0:
                energies[row, label] += coupling[edge, label]
    return energies
