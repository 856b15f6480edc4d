"""Memberships of rows in clusters at a temperature."""

from __future__ import annotations

import math

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def soften(
    costs: Array, log_mass: Array, temperature: float, before: Array, after: Array
) -> tuple[float, float]:
    """Set ``q_ic ∝ Q_c exp(-cost_ic / T)``; return the largest change and the mean softness.

    The softness of a row is 1 minus its largest membership.
    """
    n, k = costs.shape
    change, soft = 0.0, 0.0
    for i in range(n):
        top = -math.inf
        for c in range(k):
            after[i, c] = log_mass[c] - costs[i, c] / temperature
            top = max(top, after[i, c])
        total = 0.0
        for c in range(k):
            after[i, c] = math.exp(after[i, c] - top)
            total += after[i, c]
        for c in range(k):
            after[i, c] /= total
            change = max(change, abs(after[i, c] - before[i, c]))
        soft += 1.0 - 1.0 / total
    return change, soft / n


@kernel
def information_about_rows(memberships: Array, masses: Array) -> float:
    """``I(C; X) = Σ_i p_i Σ_c q_ic log q_ic - Σ_c Q_c log Q_c``, in nats."""
    n, k = memberships.shape
    total = 0.0
    for i in range(n):
        for c in range(k):
            q = memberships[i, c]
            if q > 0.0:
                total += masses[i] * q * math.log(q)
    for c in range(k):
        mass = 0.0
        for i in range(n):
            mass += masses[i] * memberships[i, c]
        if mass > 0.0:
            total -= mass * math.log(mass)
    return max(total, 0.0)
