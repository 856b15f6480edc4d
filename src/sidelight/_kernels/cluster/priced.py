"""Rows and clusters with prices: the cheapest cluster of every row, and how far the next one is."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def cheapest_two(
    products: Array,
    half_norms: Array,
    half_prices: Array,
    weights: Array,
    sizes: Array,
    best: Array,
    second: Array,
    labels: Array,
) -> None:
    """Label every row with ``argmin_h w (‖c_h‖²/2 - x·c_h) + s p_h / 2``, the first of equals.

    ``products`` is ``(k, m)`` with rows innermost, so that the compiler works on vectors of rows;
    two centers are compared per round. The least value and the one after it are written into
    ``best`` and ``second``.
    """
    k, m = half_prices.shape[0], products.shape[1]
    for i in range(m):
        best[i] = np.inf
        second[i] = np.inf
        labels[i] = 0
    for h in range(0, k - 1, 2):
        x0, x1 = products[h], products[h + 1]
        n0, n1, p0, p1 = half_norms[h], half_norms[h + 1], half_prices[h], half_prices[h + 1]
        h0, h1 = np.int32(h), np.int32(h + 1)
        for i in range(m):
            smallest, next_one, label, w, s = best[i], second[i], labels[i], weights[i], sizes[i]
            value = w * (n0 - x0[i]) + s * p0
            next_one = min(next_one, max(smallest, value))
            smallest, label = (value, h0) if value < smallest else (smallest, label)
            value = w * (n1 - x1[i]) + s * p1
            next_one = min(next_one, max(smallest, value))
            smallest, label = (value, h1) if value < smallest else (smallest, label)
            best[i], second[i], labels[i] = smallest, next_one, label
    if k % 2:
        h = k - 1
        for i in range(m):
            value = weights[i] * (half_norms[h] - products[h, i]) + sizes[i] * half_prices[h]
            second[i] = min(second[i], max(best[i], value))
            if value < best[i]:
                best[i], labels[i] = value, np.int32(h)
