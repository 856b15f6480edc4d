"""Facts about connected clusters: of how many pieces they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sidelight._typing import IntArray
from sidelight.constraints import Relations


def n_pieces(labels: Any, relations: Relations) -> IntArray:
    """Return the number of connected pieces of every cluster."""
    clusters = np.asarray(labels)
    first, second = relations.edges.T
    inside = (clusters[first] == clusters[second]) & (clusters[first] >= 0)
    ones = np.ones(int(inside.sum()), np.int8)
    shape = (len(clusters), len(clusters))
    graph = sparse.coo_array((ones, (first[inside], second[inside])), shape)
    _, pieces = connected_components(graph, directed=False)
    rows = np.flatnonzero(clusters >= 0)
    _, where = np.unique(pieces[rows], return_index=True)
    return np.bincount(clusters[rows[where]])
