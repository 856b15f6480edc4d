"""Densities and sums of the feature-saliency mixture on a block of rows.

A feature is relevant with probability ``ρ``; then it follows the component, else the common
density. With ``t = log[ρ p(y)] - log[(1-ρ) q(y)]`` the density of both together is
``(1-ρ) q(y) (1 + eᵗ)``, and the feature is relevant with posterior probability ``1 / (1 + e⁻ᵗ)``:
one exponential per row, component and feature.

Rows come as columns of ``values`` of shape (d, n): parameters stay the same in the innermost loop,
so that compilers run it on several rows at once.
"""

from __future__ import annotations

import math

import numpy as np

from sidelight._kernels import fused_kernel, sum_kernel
from sidelight._typing import Array

LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93145751953125e-1
LN2_LOW = 1.42860682030941723212e-6
#: Adding this number to one of moderate size rounds it to a whole number, in its lowest bits.
#: Depends on the order of sums, hence :func:`fused_kernel`.
ROUNDER = 6755399441055744.0

#: Number of factors between 1 and 2 that may be multiplied before a logarithm is taken.
FACTORS = 512


@fused_kernel
def decay(t: float) -> float:
    """``exp(-|t|)`` to 1e-14, in operations that compilers run on several numbers at once."""
    x = -abs(t)
    x = x if x > -700.0 else -700.0
    rounded = x * LOG2_E + ROUNDER
    power = rounded - ROUNDER
    r = (x - power * LN2_HIGH) - power * LN2_LOW
    p = 2.505210838544172e-08  # the Taylor series up to r¹¹; |r| is at most ½ log 2
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 1.984126984126984e-04
    p = p * r + 1.388888888888889e-03
    p = p * r + 8.333333333333333e-03
    p = p * r + 4.1666666666666664e-02
    p = p * r + 1.6666666666666666e-01
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    bits = np.float64(rounded).view(np.int64)
    return p * np.int64((bits + 1023) << 52).view(np.float64)


@fused_kernel
def log_odds(
    y: float, mean: float, inverse: float, common_mean: float, common_inverse: float, offset: float
) -> float:
    """``t``: how much better the component explains a value than the common density does."""
    gap = (y - mean) * inverse
    common_gap = (y - common_mean) * common_inverse
    return offset + 0.5 * (common_gap * common_gap - gap * gap)


@fused_kernel
def probability(t: float) -> float:
    """``1 / (1 + e⁻ᵗ)``."""
    # np.divide, because the operator checks for zeros, which breaks up the loops around.
    likely = np.divide(1.0, 1.0 + decay(t))
    return likely if t >= 0.0 else 1.0 - likely


@fused_kernel
def add_squared_offsets(values: Array, mean: Array, inverse: Array, out: Array) -> None:
    """Add ``-½ Σ_l ((y_l - μ_l) / σ_l)²`` to every row's entry."""
    d, n = values.shape
    for f in range(d):
        m, s, y = mean[f], inverse[f], values[f]
        for i in range(n):
            gap = (y[i] - m) * s
            out[i] -= 0.5 * gap * gap


@fused_kernel
def add_log_mixed(
    values: Array,
    mean: Array,
    inverse: Array,
    common_mean: Array,
    common_inverse: Array,
    offset: Array,
    product: Array,
    out: Array,
) -> None:
    """Add ``Σ_l log(1 + eᵗ)`` to every row's entry; ``product`` is scratch space of n numbers."""
    d, n = values.shape
    for start in range(0, d, FACTORS):
        for i in range(n):
            product[i] = 1.0
        for f in range(start, min(start + FACTORS, d)):
            m, s, cm, cs, o, y = (
                mean[f],
                inverse[f],
                common_mean[f],
                common_inverse[f],
                offset[f],
                values[f],
            )
            for i in range(n):
                t = log_odds(y[i], m, s, cm, cs, o)
                out[i] += max(t, 0.0)
                product[i] *= 1.0 + decay(t)
        for i in range(n):
            out[i] += math.log(product[i])


@sum_kernel
def add_relevant_moments(
    values: Array,
    mean: Array,
    inverse: Array,
    common_mean: Array,
    common_inverse: Array,
    offset: Array,
    shares: Array,
    mass: Array,
    first: Array,
    second: Array,
) -> None:
    """Add up what is relevant to one component: weights, offsets from its mean, their squares."""
    d, n = values.shape
    for f in range(d):
        m, s, cm, cs, o, y = (
            mean[f],
            inverse[f],
            common_mean[f],
            common_inverse[f],
            offset[f],
            values[f],
        )
        m0 = m1 = m2 = 0.0
        for i in range(n):
            t = log_odds(y[i], m, s, cm, cs, o)
            weight = shares[i] * probability(t)
            gap = y[i] - m
            m0 += weight
            m1 += weight * gap
            m2 += weight * gap * gap
        mass[f] += m0
        first[f] += m1
        second[f] += m2


@sum_kernel
def add_moments(values: Array, mean: Array, shares: Array, first: Array, second: Array) -> None:
    """Add up weighted offsets from a mean and their squares."""
    d, n = values.shape
    for f in range(d):
        m, y = mean[f], values[f]
        m1 = m2 = 0.0
        for i in range(n):
            gap = y[i] - m
            m1 += shares[i] * gap
            m2 += shares[i] * gap * gap
        first[f] += m1
        second[f] += m2


@sum_kernel
def add_common_moments(
    values: Array,
    means: Array,
    inverses: Array,
    common_mean: Array,
    common_inverse: Array,
    offsets: Array,
    shares: Array,
    counts: Array,
    of_rows: Array,
    relevant: Array,
    mass: Array,
    first: Array,
    second: Array,
) -> None:
    """Add up what is relevant to any component, and the moments of the rest.

    ``relevant`` are the sums of the posterior probabilities that a feature is relevant; ``mass``,
    ``first`` and ``second`` the weights of the rest, its offsets from the common mean and their
    squares.
    ``shares`` has shape (k, n) and adds up to ``counts``; ``of_rows`` is scratch space.
    """
    d, n = values.shape
    k = means.shape[0]
    for f in range(d):
        cm, cs, y = common_mean[f], common_inverse[f], values[f]
        for i in range(n):
            of_rows[i] = 0.0
        for j in range(k):
            m, s, o, share = means[j, f], inverses[j, f], offsets[j, f], shares[j]
            for i in range(n):
                t = log_odds(y[i], m, s, cm, cs, o)
                of_rows[i] += share[i] * probability(t)
        u = m0 = m1 = m2 = 0.0
        for i in range(n):
            rest = max(counts[i] - of_rows[i], 0.0)
            gap = y[i] - cm
            u += of_rows[i]
            m0 += rest
            m1 += rest * gap
            m2 += rest * gap * gap
        relevant[f] += u
        mass[f] += m0
        first[f] += m1
        second[f] += m2
