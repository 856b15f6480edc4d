"""Joint silhouette: how well the centers part clusters that touch in the graph."""

from __future__ import annotations

import numpy as np

from sidelight._kernels.relational.connected.neighbors import second_squares
from sidelight.relational.connected._graph import joined_pairs
from sidelight.relational.connected._nodes import Clusters, Nodes


def joint_silhouette(nodes: Nodes, clusters: Clusters) -> float:
    """Mean silhouette of the rows, by attributes and restricted by the graph.

    ``s_i = (b_i - a_i) / max(a_i, b_i)`` with the distance ``a_i`` to the center of the own cluster
    and the smallest distance ``b_i`` to the center of a cluster that an edge joins to the own one;
    of all others where none is. It is 0 for rows alone in their cluster, for rows in none, and
    where both distances are 0; and 0 for a single cluster. A merger of clusters that do not touch
    is impossible, so that it does not matter how alike they are.
    """
    k = len(clusters.centers)
    if k == 1:
        return 0.0
    adjacent = joined_pairs(nodes.graph, clusters.labels, k)
    second = np.empty(nodes.n)
    second_squares(
        adjacent.indptr, adjacent.indices, nodes.rows, clusters.centers, clusters.labels, second
    )
    placed = clusters.labels >= 0
    sizes = np.bincount(clusters.labels[placed], minlength=k)
    counted = placed.copy()
    counted[placed] = sizes[clusters.labels[placed]] > 1
    a = nodes.lengths(nodes.squares(clusters.labels, clusters.centers)[counted])
    b = nodes.lengths(second[counted])
    largest = np.maximum(a, b)
    values = np.divide(b - a, largest, out=np.zeros(len(a)), where=largest > 0)
    return float(values.sum() / nodes.n)
