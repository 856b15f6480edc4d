"""Responsibilities while one component at a time is changed.

``logs`` of shape (n, k) are log-densities, ``linear`` their exponentials ``exp(logs - shifts)``. A
new component changes one column, which is passed by itself: ``log_column`` and ``column`` stand for
column ``stale`` of the two (-1 for none). Then the totals of the rows are sums of products, without
a single logarithm. Rows whose total leaves the range of numbers get a new shift.
"""

from __future__ import annotations

import math

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array

MIN_TOTAL = 1e-150
LARGEST_TOTAL = 1e150


@kernel
def _row(
    logs: Array,
    linear: Array,
    shifts: Array,
    stale: int,
    log_column: Array,
    column: Array,
    weights: Array,
    i: int,
    values: Array,
) -> tuple[float, float]:
    """Write ``exp(l_im - shift)`` of row ``i`` to ``values``; return ``Σ_m α_m v_m`` and the shift.

    The shift is a new one where the total would leave the range of numbers.
    """
    k = len(weights)
    total = 0.0
    for m in range(k):
        values[m] = column[i] if m == stale else linear[i, m]
        total += weights[m] * values[m]
    if MIN_TOTAL < total < LARGEST_TOTAL:
        return total, shifts[i]
    shift = -np.inf
    for m in range(k):
        values[m] = log_column[i] if m == stale else logs[i, m]
        if weights[m] > 0.0:
            shift = max(shift, values[m])
    total = 0.0
    for m in range(k):
        # A component of weight 0 may lie far above the shift: it must not become infinite.
        values[m] = math.exp(min(values[m] - shift, 600.0))
        total += weights[m] * values[m]
    return total, shift


@kernel
def component_shares(
    logs: Array,
    linear: Array,
    shifts: Array,
    stale: int,
    log_column: Array,
    column: Array,
    weights: Array,
    counts: Array,
    component: int,
    new_shifts: Array,
    masses: Array,
    shares: Array,
) -> None:
    """Write the responsibilities of one component to ``shares``; add those of all to ``masses``."""
    n, k = logs.shape
    values = np.empty(k)
    for i in range(n):
        total, new_shifts[i] = _row(
            logs, linear, shifts, stale, log_column, column, weights, i, values
        )
        scale = counts[i] / total
        for m in range(k):
            masses[m] += weights[m] * values[m] * scale
        shares[i] = weights[component] * values[component] * scale


@kernel
def all_shares(
    logs: Array,
    linear: Array,
    shifts: Array,
    stale: int,
    log_column: Array,
    column: Array,
    weights: Array,
    counts: Array,
    new_shifts: Array,
    shares: Array,
) -> float:
    """Return the log-likelihood of the rows; write all responsibilities to ``shares``."""
    n, k = logs.shape
    values = np.empty(k)
    likelihood = 0.0
    for i in range(n):
        total, new_shifts[i] = _row(
            logs, linear, shifts, stale, log_column, column, weights, i, values
        )
        likelihood += counts[i] * (new_shifts[i] + math.log(total))
        scale = counts[i] / total
        for m in range(k):
            shares[i, m] = weights[m] * values[m] * scale
    return likelihood
