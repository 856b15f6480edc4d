"""The classes that clusters stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array


def name_clusters(known: Any, labels: Array, n_clusters: int) -> Array:
    """Name every cluster by the known class that it stands for, None where that is not clear.

    A cluster stands for a class if more than half of its labeled rows are of this class, and more
    than half of the labeled rows of the class are in it: no class names two clusters, and none is
    chosen among equals. A method that keeps every label names all clusters that hold labeled rows.

    Parameters
    ----------
    known : Constraints
        What is known.
    labels : ndarray of int, shape (n_samples,)
        Cluster of every row, -1 for none.
    n_clusters : int
        Number of clusters.

    Returns
    -------
    ndarray of object, shape (n_clusters,)
        Names of classes, or None.
    """
    names = np.full(n_clusters, None, dtype=object)
    if known.labels is None:
        return names
    rows = np.flatnonzero((known.labels >= 0) & (labels >= 0))
    shape = (n_clusters, len(known.label_names))
    ones = np.ones(len(rows), np.int64)
    counts = sparse.coo_matrix((ones, (labels[rows], known.labels[rows])), shape=shape)
    counts.sum_duplicates()
    in_cluster = np.bincount(labels[rows], minlength=n_clusters)
    of_class = np.bincount(known.labels[known.labels >= 0], minlength=shape[1])
    most = (2 * counts.data > in_cluster[counts.row]) & (2 * counts.data > of_class[counts.col])
    classes = np.fromiter(known.label_names.tolist(), dtype=object)
    names[counts.row[most]] = classes[counts.col[most]]
    return names
