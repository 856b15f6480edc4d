"""Messages on forests of labels as products of numbers, where no number becomes too small.

The same sums as in :mod:`sidelight._kernels.mixture.field`, without logarithms: several times
faster, but a label whose weight beside the best one is below the range of numbers is lost. That is
harmless as long as nothing is left over that is nearly as small; where it is, the sweep stops and
says so.
"""

from __future__ import annotations

import math

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array

# What was lost is below 1e-308 of something: it does not show beside numbers that are not smaller.
_SMALLEST_WEIGHT = 1e-280
_SMALLEST_MESSAGE = 1e-150


@kernel
def _send_product(values: Array, factor: float, message: Array) -> float:
    """``Σ_{m != l} values[m] + factor values[l]`` for every l, over the largest; return that."""
    k = len(values)
    top = 0
    for label in range(1, k):
        if values[label] > values[top]:
            top = label
    rest = 0.0
    for label in range(k):
        if label != top:
            rest += values[label]
    total = rest + values[top]
    largest = 0.0
    for label in range(k):
        # The largest value is left out only where the others have been added up without it.
        others = rest if label == top else total - values[label]
        message[label] = others + factor * values[label]
        largest = max(largest, message[label])
    if largest > 0.0:
        inverse = 1.0 / largest
        for label in range(k):
            message[label] *= inverse
    return largest


@kernel
def collect_products(
    inward: Array, parent: Array, factor: Array, message: Array, scale: Array
) -> bool:
    """Sweep from the leaves to the roots; whether all numbers were large enough.

    ``inward`` holds the weights of the labels of every node, the largest 1, and is multiplied by
    the messages of the children; ``scale``, the logarithm of what the weights were divided by,
    gathers at the roots. ``factor`` is ``e^coupling``.
    """
    n, k = inward.shape
    for v in range(n):
        largest = 0.0
        for label in range(k):
            largest = max(largest, inward[v, label])
        if not largest > _SMALLEST_WEIGHT:
            return False
        p = parent[v]
        if p < 0:
            continue
        largest = _send_product(inward[v], factor[v], message[v])
        if not largest > 0.0:
            return False
        scale[p] += scale[v] + math.log(largest)
        for label in range(k):
            if not message[v, label] > _SMALLEST_MESSAGE:
                return False
            inward[p, label] *= message[v, label]
    return True


@kernel
def distribute_products(
    parent: Array,
    factor: Array,
    inward: Array,
    message: Array,
    scale: Array,
    q: Array,
    log_z: Array,
    agree: Array,
) -> None:
    """Sweep from the roots to the leaves: marginals, log Z at roots, P(node agrees with parent)."""
    n, k = inward.shape
    outside = np.empty(k)
    down = np.empty(k)
    for v in range(n - 1, -1, -1):
        p = parent[v]
        agree[v] = 0.0
        log_z[v] = 0.0
        total = 0.0
        if p < 0:
            for label in range(k):
                q[v, label] = inward[v, label]
                total += q[v, label]
            log_z[v] = scale[v] + math.log(total)
        else:
            largest = 0.0
            for label in range(k):
                outside[label] = q[p, label] / message[v, label]
                largest = max(largest, outside[label])
            inverse = 1.0 / largest
            for label in range(k):
                outside[label] *= inverse
            sent = _send_product(outside, factor[v], down)
            for label in range(k):
                q[v, label] = inward[v, label] * down[label]
                total += q[v, label]
                agree[v] += inward[v, label] * outside[label]
            agree[v] *= factor[v] / (sent * total)
        inverse = 1.0 / total
        for label in range(k):
            q[v, label] *= inverse
