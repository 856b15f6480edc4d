"""Pivot clustering (Ailon, Charikar and Newman): a 3-approximation for complete +-1 scores."""

from __future__ import annotations

import numpy as np

from sidelight._kernels.relational.correlation.pivot import pivot
from sidelight._typing import Array
from sidelight.relational.correlation._graph import SignedGraph


def pivot_clusters(graph: SignedGraph, order: Array) -> Array:
    """Pivot of every node: the first of its positive neighbors, in this order, that is a pivot.

    A pivot is a node that joined no earlier one. Priorities alone decide, so that it does not
    matter who is asked when. Nodes that clash with a member of a cluster do not join it; its
    neighbors are then asked by falling score. Time O(edges), memory O(nodes).

    Parameters
    ----------
    graph : SignedGraph
        The problem.
    order : ndarray of shape (n,)
        The nodes by rising priority; a random permutation.
    """
    labels = np.empty(graph.n, np.int32)
    pivot(
        graph.scores.indptr,
        graph.scores.indices,
        graph.scores.data,
        graph.cliques,
        graph.conflicts.indptr,
        graph.conflicts.indices,
        graph.sources.indptr,
        graph.sources.indices,
        graph.sources.shape[1],
        order.astype(np.int32),
        labels,
    )
    return labels
