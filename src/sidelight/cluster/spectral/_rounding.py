"""From eigenvectors to a partition of low cost: exchange of single rows."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from sidelight._kernels.cluster.exchange import BY_INSIDE, BY_SIZE, BY_VOLUME, exchange_sweep
from sidelight._typing import Array
from sidelight.graphs import degrees

#: Mass of a part by objective. A plain cut is not refined: it would end with single rows.
MASSES = {"normalized-cut": BY_VOLUME, "ratio-cut": BY_SIZE, "min-max-cut": BY_INSIDE}

#: Most sweeps over all rows; a few are usual.
MAX_SWEEPS = 100


def refine_cut(W: sparse.csr_array, labels: Array, objective: str) -> Array:
    """Let single rows go to parts of their neighbors while the cost of the partition falls.

    The cost never rises and no part is emptied. Rows are looked at in their order, so that the
    result does not depend on chance.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric similarities.
    labels : array of int, shape (n,)
        Part of every row, from 0.
    objective : {"normalized-cut", "ratio-cut", "min-max-cut", "cut"}
        Cost; "cut" leaves the labels as they are.
    """
    labels = np.array(labels, dtype=np.int32)
    if objective not in MASSES or not len(labels):
        return labels
    k = int(labels.max()) + 1
    degree = degrees(W)
    entries = W.tocoo()
    rows, columns = entries.coords
    within = entries.data * (labels[rows] == labels[columns])
    sums = (
        np.bincount(labels, weights=degree, minlength=k),
        np.bincount(labels[rows], weights=within, minlength=k),
        np.bincount(labels, minlength=k).astype(np.float64),
    )
    links = np.zeros(k)
    for _ in range(MAX_SWEEPS):
        graph = (W.data, W.indices, W.indptr, degree)
        if not exchange_sweep(*graph, MASSES[objective], labels, sums, links):
            break
    return labels


def mean_places(places: Array, labels: Array) -> Array:
    """Mean place of every part."""
    k = int(labels.max()) + 1
    member = sparse.csr_array(
        (np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(k, len(labels))
    )
    return np.asarray(member @ places) / np.maximum(degrees(member), 1.0)[:, None]
