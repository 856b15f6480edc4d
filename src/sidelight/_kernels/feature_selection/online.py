"""Mirror descent on weights of features from a stream of pairs (Mallapragada 2010, chapter 5)."""

from __future__ import annotations

import math

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array

#: Exponents are kept below this; then all of them are moved down together.
LARGEST_EXPONENT = 500.0
#: Below it a power is 0.
SMALLEST_EXPONENT = -745.0


@kernel
def squared_difference(
    data: Array,
    indices: Array,
    indptr: Array,
    i: int,
    j: int,
    scale: float,
    row: Array,
    places: Array,
    values: Array,
) -> int:
    """Fill in where two sparse rows differ and ``(x_i - x_j)² · scale``; return how many places.

    ``row`` is all 0, before and after: row ``i`` is written into it, and what row ``j`` meets there
    is taken off again. Rows hold a place at most once; their places need not be in order.
    """
    for a in range(indptr[i], indptr[i + 1]):
        row[indices[a]] = data[a]
    n = 0
    for b in range(indptr[j], indptr[j + 1]):
        place = indices[b]
        difference = row[place] - data[b]
        row[place] = 0.0
        places[n] = place
        values[n] = difference * difference * scale
        n += difference != 0.0
    for a in range(indptr[i], indptr[i + 1]):
        place = indices[a]
        difference = row[place]
        row[place] = 0.0
        places[n] = place
        values[n] = difference * difference * scale
        n += difference != 0.0
    return n


@kernel
def difference_sizes(
    data: Array, indices: Array, indptr: Array, pairs: Array, sums: Array
) -> float:
    """Add the squared differences of pairs up in ``sums``; return their largest 2-norm."""
    row = np.zeros(len(sums))
    places = np.empty(len(sums) + 1, np.int64)
    values = np.empty(len(sums) + 1)
    largest = 0.0
    for n in range(len(pairs)):
        count = squared_difference(
            data, indices, indptr, pairs[n, 0], pairs[n, 1], 1.0, row, places, values
        )
        square = 0.0
        for t in range(count):
            sums[places[t]] += values[t]
            square += values[t] * values[t]
        largest = max(largest, square)
    return math.sqrt(largest)


@kernel
def refresh_groups(dual: Array, group: Array, mu: float, norms: Array, powers: Array) -> float:
    """Recompute the squared norms and softmax powers of all groups; return the sum of the powers.

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
        exponent = norms[g] / (2.0 * mu) - reference
        powers[g] = math.exp(exponent) if exponent > SMALLEST_EXPONENT else 0.0
        total += powers[g]
    powers[len(norms)] = reference
    return total


@kernel
def weighted_sum(
    places: Array, values: Array, count: int, group: Array, shares: Array, weights: Array
) -> float:
    """Sum of the values at these places, times the weights there and the shares of their groups."""
    total = 0.0
    for t in range(count):
        j = places[t]
        total += shares[group[j]] * weights[j] * values[t]
    return total


@kernel
def update_by_pairs(
    data: Array,
    indices: Array,
    indptr: Array,
    pairs: Array,
    sign: Array,
    weight: Array,
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

    ``θ <- max(0, θ - λ c y δ)`` with the weight ``c`` of the pair, and the weights of the features
    are ``w^g = r_g θ^g`` with the softmax ``r`` of the squared group norms over ``2μ``. A pair
    costs the places where its rows differ.
    """
    n_features = len(dual)
    n_groups = len(norms)
    row = np.zeros(n_features)
    places = np.empty(n_features + 1, np.int64)
    values = np.empty(n_features + 1)
    touched = np.empty(n_groups, np.int64)
    last_touch = np.full(n_groups, -1, np.int64)
    total = refresh_groups(dual, group, mu, norms, powers)
    n_mistakes = 0
    for n in order:
        # ``δ``, the squared differences of the pair, and its distance ``wᵀδ``.
        count = squared_difference(
            data, indices, indptr, pairs[n, 0], pairs[n, 1], scale, row, places, values
        )
        distance = weighted_sum(places, values, count, group, powers, dual) / total
        if sign[n] * (threshold - distance) > margin:
            continue
        # A mistake: step of the dual vector, clipped at 0; norms of the groups follow.
        n_touched = 0
        for t in range(count):
            j = places[t]
            g = group[j]
            new = max(0.0, dual[j] - step * weight[n] * sign[n] * values[t])
            norms[g] += new * new - dual[j] * dual[j]
            dual[j] = new
            if last_touch[g] != n_mistakes:
                last_touch[g] = n_mistakes
                touched[n_touched] = g
                n_touched += 1
        n_mistakes += 1
        # Softmax of the groups that have changed, relative to the last reference.
        too_large = False
        for t in range(n_touched):
            g = touched[t]
            exponent = norms[g] / (2.0 * mu) - powers[n_groups]
            if exponent > LARGEST_EXPONENT:
                too_large = True
            else:
                power = math.exp(exponent) if exponent > SMALLEST_EXPONENT else 0.0
                total += power - powers[g]
                powers[g] = power
        # Sums that were changed many times drift, or vanish beside what they are relative to.
        if too_large or total < 1e-100 or n_mistakes % 1000 == 0:
            total = refresh_groups(dual, group, mu, norms, powers)
    return n_mistakes


@kernel
def update_as_published(
    data: Array,
    indices: Array,
    indptr: Array,
    pairs: Array,
    sign: Array,
    weight: Array,
    order: Array,
    scale: float,
    group: Array,
    members: Array,
    starts: Array,
    direction: Array,
    share: Array,
    mu: float,
    step: float,
    threshold: float,
    margin: float,
) -> int:
    """Show pairs by the approximation of the thesis (equations 5.19-5.22); return the mistakes.

    The weights of group ``g`` are ``share[g]`` times its ``direction`` of norm 1 (or 0). After a
    mistake ``θ^g = ‖w‖_{1,2} direction^g - λ c y δ^g``, without its negative entries, gives the new
    direction, and the softmax of ``‖θ^g‖² / 2μ`` the new shares. ``members[starts[g]:]`` are the
    features of a group. A mistake costs the features of the groups it touches and the groups.
    """
    n_features = len(direction)
    n_groups = len(share)
    row, delta = np.zeros(n_features), np.zeros(n_features)
    places = np.empty(n_features + 1, np.int64)
    values = np.empty(n_features + 1)
    norms = np.zeros(n_groups)  # of the directions: 0 or 1
    for j in range(n_features):
        if direction[j] > 0.0:
            norms[group[j]] = 1.0
    last_touch = np.full(n_groups, -1, np.int64)
    n_mistakes = 0
    for n in order:
        count = squared_difference(
            data, indices, indptr, pairs[n, 0], pairs[n, 1], scale, row, places, values
        )
        distance = weighted_sum(places, values, count, group, share, direction)
        if sign[n] * (threshold - distance) > margin:
            continue
        # ``‖w‖_{1,2}``, and from it the norms of groups that the mistake does not touch.
        length = 0.0
        for g in range(n_groups):
            length += share[g] * norms[g]
        for g in range(n_groups):
            share[g] = length * length * norms[g] / (2.0 * mu)
        for t in range(count):
            delta[places[t]] = values[t]
        # New directions of the groups that the pair touches, without negative entries.
        for t in range(count):
            g = group[places[t]]
            if last_touch[g] == n_mistakes:
                continue
            last_touch[g] = n_mistakes
            square = 0.0
            for a in range(starts[g], starts[g + 1]):
                j = members[a]
                change = step * weight[n] * sign[n] * delta[j]
                direction[j] = max(0.0, length * direction[j] - change)
                square += direction[j] * direction[j]
            norms[g] = 1.0 if square > 0.0 else 0.0
            share[g] = square / (2.0 * mu)
            for a in range(starts[g], starts[g + 1]):
                direction[members[a]] /= math.sqrt(square) if square > 0.0 else 1.0
        for t in range(count):
            delta[places[t]] = 0.0
        # Softmax of ``‖θ^g‖² / 2μ``: the new shares.
        softmax_in_place(share)
        n_mistakes += 1
    return n_mistakes


@kernel
def softmax_in_place(values: Array) -> None:
    """Exponents become shares that add up to 1."""
    largest = values[0]
    for value in values:
        largest = max(largest, value)
    total = 0.0
    for g in range(len(values)):
        values[g] = math.exp(values[g] - largest)
        total += values[g]
    for g in range(len(values)):
        values[g] /= total
