"""Edges of a neighborhood graph that cannot-links cut."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def cut_between(
    indptr: Array,
    indices: Array,
    lengths: Array,
    pairs: Array,
    reach: Array,
    weight: Array,
    cut: Array,
) -> None:
    """Mark the edges between the neighborhoods of the two rows of every pair.

    An edge from ``a``, the row ``i`` or a neighbor of it, to ``b``, the row ``j`` or a neighbor of
    it, is cut if ``|ai| + |bj|`` is at most ``reach`` and each end is nearer to its own row: a
    neighbor of both goes with the nearer one. ``cut`` takes the largest weight of a pair that cuts
    the edge, in both directions.
    """
    n = indptr.shape[0] - 1
    to_first = np.full(n, np.inf)
    to_second = np.full(n, np.inf)
    for pair in range(pairs.shape[0]):
        first, second = pairs[pair, 0], pairs[pair, 1]
        for edge in range(indptr[first], indptr[first + 1]):
            to_first[indices[edge]] = lengths[edge]
        for edge in range(indptr[second], indptr[second + 1]):
            to_second[indices[edge]] = lengths[edge]
        to_first[first] = 0.0
        to_second[second] = 0.0
        for way in range(2):
            start = first if way == 0 else second
            other = second if way == 0 else first
            near = to_first if way == 0 else to_second
            far = to_second if way == 0 else to_first
            for step in range(indptr[start] - 1, indptr[start + 1]):
                a = start if step < indptr[start] else indices[step]
                if a == other or (a != start and near[a] >= far[a]):
                    continue
                for edge in range(indptr[a], indptr[a + 1]):
                    b = indices[edge]
                    if (b == other or far[b] < near[b]) and near[a] + far[b] <= reach[pair]:
                        cut[edge] = max(cut[edge], weight[pair])
        for edge in range(indptr[first], indptr[first + 1]):
            to_first[indices[edge]] = np.inf
        for edge in range(indptr[second], indptr[second + 1]):
            to_second[indices[edge]] = np.inf
        to_first[first] = np.inf
        to_second[second] = np.inf
