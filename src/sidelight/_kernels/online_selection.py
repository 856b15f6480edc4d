"""Mirror descent on weights of features from a stream of pairs (Mallapragada 2010, chapter 5)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._kernels import kernel

Array = npt.NDArray[Any]

#: Exponents are kept below this; then all of them are moved down together.
LARGEST_EXPONENT = 500.0


@kernel
def squared_gap(
    data: Array,
    indices: Array,
    indptr: Array,
    i: int,
    j: int,
    scale: float,
    places: Array,
    values: Array,
) -> int:
    """Fill in where two sparse rows differ and ``(x_i - x_j)² · scale``; return how many places."""
    a, a_end = indptr[i], indptr[i + 1]
    b, b_end = indptr[j], indptr[j + 1]
    n = 0
    while a < a_end or b < b_end:
        if b >= b_end or (a < a_end and indices[a] < indices[b]):
            place, gap = indices[a], np.float64(data[a])
            a += 1
        elif a >= a_end or indices[b] < indices[a]:
            place, gap = indices[b], np.float64(data[b])
            b += 1
        else:
            place, gap = indices[a], np.float64(data[a]) - np.float64(data[b])
            a += 1
            b += 1
        if gap != 0.0:
            places[n] = place
            values[n] = gap * gap * scale
            n += 1
    return n


@kernel
def refresh_groups(dual: Array, group: Array, mu: float, norms: Array, powers: Array) -> float:
    """Squared norms and softmax powers of all groups anew; return their sum.

    ``powers`` has one more entry than there are groups: the exponent that all are relative to.
    """
    norms[:] = 0.0
    for j in range(len(dual)):
        norms[group[j]] += dual[j] * dual[j]
    reference = 0.0
    for g in range(len(norms)):
        reference = max(reference, norms[g] / (2.0 * mu))
    total = 0.0
    for g in range(len(norms)):
        powers[g] = math.exp(norms[g] / (2.0 * mu) - reference)
        total += powers[g]
    powers[len(norms)] = reference
    return total


@kernel
def show_pairs(
    data: Array,
    indices: Array,
    indptr: Array,
    pairs: Array,
    sign: Array,
    order: Array,
    scale: float,
    group: Array,
    dual: Array,
    norms: Array,
    powers: Array,
    mu: float,
    step: float,
    threshold: float,
    margin: float,
) -> int:
    """Show pairs in this order; change the dual vector after each mistake; return their number.

    ``θ <- max(0, θ - λ y δ)``, and the weights are ``w^g = r_g θ^g`` with the softmax ``r`` of the
    squared group norms over ``2μ``. A pair costs the places where its rows differ.
    """
    n_features = len(dual)
    n_groups = len(norms)
    places = np.empty(n_features, np.int64)
    values = np.empty(n_features)
    total = refresh_groups(dual, group, mu, norms, powers)
    n_mistakes = 0
    for n in order:
        count = squared_gap(data, indices, indptr, pairs[n, 0], pairs[n, 1], scale, places, values)
        distance = 0.0
        for t in range(count):
            j = places[t]
            distance += powers[group[j]] * dual[j] * values[t]
        distance /= total
        if sign[n] * (threshold - distance) > margin:
            continue
        n_mistakes += 1
        too_large = False
        for t in range(count):
            j = places[t]
            g = group[j]
            new = max(0.0, dual[j] - step * sign[n] * values[t])
            norms[g] += new * new - dual[j] * dual[j]
            dual[j] = new
            exponent = norms[g] / (2.0 * mu) - powers[n_groups]
            if exponent > LARGEST_EXPONENT:
                too_large = True
            else:
                power = math.exp(exponent)
                total += power - powers[g]
                powers[g] = power
        # Sums that were changed many times drift, or vanish beside what they are relative to.
        if too_large or total < 1e-100 or n_mistakes % 1000 == 0:
            total = refresh_groups(dual, group, mu, norms, powers)
    return n_mistakes
