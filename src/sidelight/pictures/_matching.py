"""Two partitions of the same rows: how they overlap, and which groups get one color."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from sidelight.pictures._run import Partition


def count_together(truth: Partition, clusters: Partition) -> npt.NDArray[np.int64]:
    """Count the rows by class and cluster; the last column is for rows in no cluster."""
    width = len(clusters.names) + 1
    inside = truth.codes >= 0
    column = np.where(clusters.codes >= 0, clusters.codes, width - 1)
    flat = np.bincount(
        truth.codes[inside] * width + column[inside], minlength=len(truth.names) * width
    )
    return flat.reshape(len(truth.names), width)


def match_classes(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Give every class the number of its cluster (Hungarian matching), or a number of its own.

    The numbers are used as colours, so that a class has the colour of its cluster.
    """
    n_classes, n_clusters = counts.shape[0], counts.shape[1] - 1
    rows, columns = linear_sum_assignment(-counts[:, :n_clusters])
    numbers = np.full(n_classes, -1, dtype=np.int64)
    numbers[rows] = columns
    alone = np.flatnonzero(numbers < 0)
    numbers[alone] = n_clusters + np.arange(len(alone))
    return numbers
