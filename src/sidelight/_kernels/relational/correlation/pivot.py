"""Pivot clustering of a signed graph: a node joins the pivot with the smallest priority."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def pivot(
    indptr: Array,
    indices: Array,
    scores: Array,
    cliques: bool,
    conflict_indptr: Array,
    conflict_indices: Array,
    source_indptr: Array,
    source_indices: Array,
    n_sources: int,
    order: Array,
    labels: Array,
) -> None:
    """Write the pivot of every node into ``labels``.

    Nodes come in the given order: a node without a cluster becomes a pivot, and every positive
    neighbor without a cluster joins it. Where some nodes must not join, neighbors are asked by
    falling score, and those that clash with a member of the cluster stay behind.

    Parameters
    ----------
    indptr, indices, scores : ndarray
        Symmetric scores in CSR form.
    cliques : bool
        Whether nodes join only if they are listed with all members of a cluster.
    conflict_indptr, conflict_indices, source_indptr, source_indices : ndarray
        Nodes that a node must not join, and sources of which a cluster holds one node at most.
    n_sources : int
        Number of sources.
    order : ndarray of shape (n,)
        The nodes by rising priority.
    labels : ndarray of shape (n,), int32
        Written: the pivot of every node.
    """
    labels[:] = -1
    is_constrained = cliques or len(conflict_indices) > 0 or n_sources > 0
    holder = np.full(n_sources, -1, np.int32)
    for u in order:
        if labels[u] >= 0:
            continue
        labels[u] = u
        begin, end = indptr[u], indptr[u + 1]
        if not is_constrained:
            for place in range(begin, end):
                if scores[place] > 0 and labels[indices[place]] < 0:
                    labels[indices[place]] = u
            continue
        size = 1
        for place in range(source_indptr[u], source_indptr[u + 1]):
            holder[source_indices[place]] = u
        for step in np.argsort(-scores[begin:end], kind="mergesort"):
            v = indices[begin + step]
            if scores[begin + step] <= 0:
                break
            if labels[v] >= 0:
                continue
            if cliques and _listed_with(indptr, indices, labels, v, u) < size:
                continue
            if _clashes(conflict_indptr, conflict_indices, labels, v, u):
                continue
            if _is_held(source_indptr, source_indices, holder, v, u):
                continue
            labels[v] = u
            size += 1
            for place in range(source_indptr[v], source_indptr[v + 1]):
                holder[source_indices[place]] = u


@kernel
def _listed_with(indptr: Array, indices: Array, labels: Array, v: int, cluster: int) -> int:
    """Number of members of a cluster with which ``v`` is listed."""
    n_listed = 0
    for place in range(indptr[v], indptr[v + 1]):
        if labels[indices[place]] == cluster:
            n_listed += 1
    return n_listed


@kernel
def _clashes(indptr: Array, indices: Array, labels: Array, v: int, cluster: int) -> bool:
    """Whether ``v`` must not join a member of a cluster."""
    return _listed_with(indptr, indices, labels, v, cluster) > 0


@kernel
def _is_held(
    source_indptr: Array, source_indices: Array, holder: Array, v: int, cluster: int
) -> bool:
    """Whether the cluster that is being made has a source of ``v``."""
    for place in range(source_indptr[v], source_indptr[v + 1]):
        if holder[source_indices[place]] == cluster:
            return True
    return False
