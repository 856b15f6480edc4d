"""Mutual information that two partitions of given sizes have by chance."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def expected_information(
    sizes: Array, times: Array, other_sizes: Array, other_times: Array, log_factorials: Array
) -> float:
    """Mean mutual information over all pairs of partitions with these sizes, in nats.

    A class of ``a`` rows and a cluster of ``b`` of the ``n`` rows share ``m`` with the probability
    of the hypergeometric distribution (Vinh, Epps and Bailey 2010)::

        E[I] = Σ_ab Σ_m  m/n log(n m / (a b)) p(m),
        p(m) = a! b! (n-a)! (n-b)! / (n! m! (a-m)! (b-m)! (n-a-b+m)!)

    Sizes are given once, with the number of groups of each size; ``log_factorials`` has those of 0
    to ``n``.
    """
    n = len(log_factorials) - 1
    total = 0.0
    for i in range(len(sizes)):
        a = sizes[i]
        for j in range(len(other_sizes)):
            b = other_sizes[j]
            constant = (
                log_factorials[a]
                + log_factorials[b]
                + log_factorials[n - a]
                + log_factorials[n - b]
                - log_factorials[n]
            )
            pair = 0.0
            # A term without shared rows is zero.
            for m in range(max(1, a + b - n), min(a, b) + 1):
                log_probability = (
                    constant
                    - log_factorials[m]
                    - log_factorials[a - m]
                    - log_factorials[b - m]
                    - log_factorials[n - a - b + m]
                )
                information = np.log(float(n) * m / (float(a) * b))
                pair += m / n * information * np.exp(log_probability)
            total += times[i] * other_times[j] * pair
    return total
