"""Graphs as SciPy's own algorithms take them, whatever its version."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def with_small_indices(graph: sparse.csr_array) -> sparse.csr_array:
    """The same graph with indices of 32 bits: csgraph of SciPy 1.13 takes no others."""
    indices, indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    return sparse.csr_array((graph.data, indices, indptr), shape=graph.shape)
