"""Clusters of elements by their ones, for those that the bi-sets leave without."""

from __future__ import annotations

import numpy as np

from sidelight._kernels.cluster.coclustering.concepts import unpack
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.cluster.coclustering._grouping import Centroids
from sidelight.cluster.coclustering._statements import TableStatements


def likeness(ones: Array, weights: FloatArray) -> FloatArray:
    """Dice-type similarity ``|g ∩ γ| / |g ∪ γ|`` of sets to weights, shape (n_sets, n_clusters).

    Parameters
    ----------
    ones : ndarray of shape (n_sets, n_elements)
        Sets as zeros and ones.
    weights : ndarray of shape (n_elements, n_clusters)
        Weights of the elements in every cluster.
    """
    sets = ones.astype(np.float64)
    shared = sets @ (weights + (weights > 0))
    union = sets.sum(axis=1)[:, None] + weights.sum(axis=0)
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


def place_trimmed(
    labels: IntArray, found: Array, table: Array, means: Centroids, known: TableStatements
) -> IntArray:
    """Give a cluster to elements with cannot-links that all their bi-sets left behind.

    Each goes to the cluster most like its ones that no element is in that must be apart; those
    for which there is none stay in none.

    Parameters
    ----------
    labels : ndarray of int64, shape (n_rows + n_columns,)
        Clusters of the elements, -1 for none.
    found : ndarray of bool
        Whether an element is in some bi-set.
    table : ndarray of bool
        The ones.
    means : Centroids
        Weights of both sides.
    known : TableStatements
        What is known.
    """
    lost = np.flatnonzero((labels < 0) & (known.vertex >= 0) & found)
    if not len(lost):
        return labels
    n_rows, n_vertices = known.n_rows, len(known.edges)
    scores = np.concatenate(
        [
            likeness(table[lost[lost < n_rows]], means.columns),
            likeness(table.T[lost[lost >= n_rows] - n_rows], means.rows),
        ]
    )
    of_vertex = np.zeros((n_vertices, scores.shape[1]))
    np.add.at(of_vertex, known.vertex[lost], scores)
    home = np.full(n_vertices, -1, np.int64)
    constrained = known.vertex >= 0
    home[known.vertex[constrained]] = labels[constrained]
    edges = unpack(known.edges, n_vertices).astype(bool)
    waiting = np.unique(known.vertex[lost])
    for vertex in waiting[np.argsort(-of_vertex[waiting].max(axis=1), kind="stable")].tolist():
        around = home[edges[vertex]]
        open_to_it = np.setdiff1d(np.arange(scores.shape[1]), around)
        if len(open_to_it):
            home[vertex] = open_to_it[of_vertex[vertex, open_to_it].argmax()]
    placed = labels.copy()
    placed[lost] = home[known.vertex[lost]]
    return placed
