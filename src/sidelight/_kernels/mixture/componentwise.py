"""Responsibilities while one component at a time is changed.

``logs`` of shape (n, k) are log-densities, ``linear`` their exponentials ``exp(logs - shifts)``. A
new component changes one column; then the totals of the rows are sums of products again, without a
single logarithm. Rows whose total leaves the range of numbers get a new shift.
"""

from __future__ import annotations

import math

import numpy as np

from sidelight._kernels import kernel

LEAST_TOTAL = 1e-150
LARGEST_TOTAL = 1e150


@kernel
def _total(logs, linear, shifts, weights, i):  # type: ignore[no-untyped-def]
    """``Σ_m α_m exp(l_im - shift_i)`` of row ``i``, with a new shift where it needs one."""
    k = len(weights)
    total = 0.0
    for m in range(k):
        total += weights[m] * linear[i, m]
    if LEAST_TOTAL < total < LARGEST_TOTAL:
        return total
    shift = -np.inf
    for m in range(k):
        if weights[m] > 0.0:
            shift = max(shift, logs[i, m])
    shifts[i] = shift
    total = 0.0
    for m in range(k):
        # A component of weight 0 may lie far above the shift: it must not become infinite.
        linear[i, m] = math.exp(min(logs[i, m] - shift, 600.0))
        total += weights[m] * linear[i, m]
    return total


@kernel
def component_shares(logs, linear, shifts, weights, counts, component, shares, masses):  # type: ignore[no-untyped-def]
    """Write the responsibilities of one component; add those of all to ``masses``."""
    n, k = logs.shape
    for i in range(n):
        scale = counts[i] / _total(logs, linear, shifts, weights, i)
        for m in range(k):
            masses[m] += weights[m] * linear[i, m] * scale
        shares[i] = weights[component] * linear[i, component] * scale


@kernel
def all_shares(logs, linear, shifts, weights, counts, shares):  # type: ignore[no-untyped-def]
    """Write the responsibilities of all components; return the log-likelihood of the rows."""
    n, k = logs.shape
    likelihood = 0.0
    for i in range(n):
        total = _total(logs, linear, shifts, weights, i)
        likelihood += counts[i] * (shifts[i] + math.log(total))
        scale = counts[i] / total
        for m in range(k):
            shares[i, m] = weights[m] * linear[i, m] * scale
    return likelihood
