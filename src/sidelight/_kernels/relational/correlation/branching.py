"""Exact partitions of small components of a signed graph by branch and bound."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.relational.correlation.packing import shares_source
from sidelight._typing import Array


@kernel
def component_costs(
    indptr: Array,
    indices: Array,
    scores: Array,
    mass: Array,
    absent: float,
    component: Array,
    labels: Array,
    costs: Array,
) -> None:
    """Add the cost of a partition to those of the components, which it does not join."""
    total = np.zeros(len(labels))
    for u in range(len(labels)):
        cost, listed = 0.0, 0.0
        for place in range(indptr[u], indptr[u + 1]):
            v = indices[place]
            if v > u:
                continue
            if labels[u] == labels[v]:
                listed += mass[v]
                cost += max(-scores[place], 0.0)
            else:
                cost += max(scores[place], 0.0)
        # Members of its cluster that came before u and are not listed with it.
        cost += absent * mass[u] * (total[labels[u]] - listed)
        total[labels[u]] += mass[u]
        costs[component[u]] += cost


@kernel
def branch_components(
    indptr: Array,
    indices: Array,
    scores: Array,
    mass: Array,
    absent: float,
    cliques: bool,
    conflict_indptr: Array,
    conflict_indices: Array,
    source_indptr: Array,
    source_indices: Array,
    members: Array,
    starts: Array,
    labels: Array,
    max_steps: int,
    solved: Array,
) -> None:
    """Find the best partition of every component, starting from the given labels.

    Nodes are placed one by one into the clusters before them or a new one; a branch is left when
    even all positive scores of the nodes to come could not make it better.

    Parameters
    ----------
    indptr, indices, scores, mass, absent, cliques
        The graph; see :class:`~sidelight.relational.correlation._graph.SignedGraph`.
    conflict_indptr, conflict_indices, source_indptr, source_indices : ndarray
        Nodes that must not join, and sources of which a cluster holds one node at most.
    members, starts : ndarray
        Nodes of the components, and where every component begins.
    labels : ndarray of shape (n,), int32
        Partition whose clusters are named by one of their members; improved in place.
    max_steps : int
        Steps after which a component is given up.
    solved : ndarray of shape (n_components,), bool
        Written: whether the search came to its end.
    """
    local = np.full(len(labels), -1, np.int32)
    for number in range(len(starts) - 1):
        nodes = members[starts[number] : starts[number + 1]]
        k = len(nodes)
        value = np.empty((k, k))
        for a in range(k):
            local[nodes[a]] = a
        for a in range(k):
            for b in range(k):
                value[a, b] = -np.inf if cliques else -absent * mass[nodes[a]] * mass[nodes[b]]
                if shares_source(source_indptr, source_indices, nodes[a], nodes[b]):
                    value[a, b] = -np.inf
        for a in range(k):
            u = nodes[a]
            for place in range(indptr[u], indptr[u + 1]):
                b = local[indices[place]]
                # Of -inf there are those of cliques, which a listed pair lifts, and of sources.
                if b >= 0 and not shares_source(source_indptr, source_indices, u, nodes[b]):
                    value[a, b] = scores[place]
        for a in range(k):
            for place in range(conflict_indptr[nodes[a]], conflict_indptr[nodes[a] + 1]):
                if local[conflict_indices[place]] >= 0:
                    value[a, local[conflict_indices[place]]] = -np.inf
        first = np.empty(k, np.int32)
        for a in range(k):
            first[a] = a
            for b in range(a - 1, -1, -1):
                if labels[nodes[a]] == labels[nodes[b]]:
                    first[a] = b
        for a in range(k):  # name of a cluster: its first member
            while first[first[a]] != first[a]:
                first[a] = first[first[a]]
        solved[number] = _branch(value, first, max_steps)
        for a in range(k):
            labels[nodes[a]] = nodes[first[a]]
        for a in range(k):
            local[nodes[a]] = -1


@kernel
def _branch(value: Array, best: Array, max_steps: int) -> bool:
    """Replace a partition by the best one; clusters are named by their first node."""
    k = len(best)
    hope = np.zeros(k + 1)  # positive values of the nodes from here on to those before them
    for a in range(k - 1, -1, -1):
        hope[a] = hope[a + 1]
        for b in range(a):
            hope[a] += max(value[a, b], 0.0)
    highest = 0.0
    for a in range(k):
        for b in range(a):
            if best[a] == best[b]:
                highest += value[a, b]
    margin = 1e-10 * max(hope[0], 1e-300)
    current = np.full(k, -1, np.int32)
    reached = np.zeros(k + 1)
    tried = np.full(k, -1, np.int32)
    a, n_steps = 0, 0
    while a >= 0:
        n_steps += 1
        if n_steps > max_steps:
            return False
        if a == k:
            if reached[k] > highest + margin:
                highest = reached[k]
                best[:] = current
            a -= 1
            continue
        # The next cluster for node a: one of a first member before it, then a new one.
        place = tried[a] + 1
        while place < a and current[place] != place:
            place += 1
        if place > a:
            tried[a] = -1
            current[a] = -1
            a -= 1
            continue
        tried[a] = place
        gained = 0.0
        if place < a:
            for b in range(a):
                if current[b] == place:
                    gained += value[a, b]
        if reached[a] + gained + hope[a + 1] <= highest + margin:
            continue
        current[a] = place
        reached[a + 1] = reached[a] + gained
        a += 1
    return True
