"""One pass of the online self-organizing map."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def online_pass(
    rows: Array,
    order: Array,
    squared_distances: Array,
    rates: Array,
    steps: Array,
    means: Array,
) -> float:
    """Move the means towards the rows, one row after the other; missing values are left out.

    Row ``order[t]`` moves all means by ``steps[t] exp(-rates[t] |g_r - g_s|²)`` of the way, ``r``
    being the node of the nearest mean. Returns the sum of the squared distances to these.
    """
    k, d = means.shape
    total = 0.0
    for t in range(len(order)):
        row = rows[order[t]]
        winner, least = 0, np.inf
        for s in range(k):
            squares = 0.0
            for j in range(d):
                offset = row[j] - means[s, j]
                if offset == offset:
                    squares += offset * offset
            if squares < least:
                winner, least = s, squares
        total += least
        for s in range(k):
            share = steps[t] * np.exp(-rates[t] * squared_distances[winner, s])
            if share > 1e-12:
                for j in range(d):
                    offset = row[j] - means[s, j]
                    if offset == offset:
                        means[s, j] += share * offset
    return total
