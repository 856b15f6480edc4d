"""Messages on forests of labels under Potts couplings, exactly, in logarithms.

The weight of a labeling ``y`` of nodes ``i`` with potentials ``phi`` and couplings ``rho`` is::

    log p(y) = Σ_i phi[i, y_i]  +  Σ_edges rho_ij [y_i == y_j]  -  log Z

Nodes are numbered such that every child comes before its parent (-1 for the root of a tree), so
that one sweep forwards collects messages and one backwards hands them out. Potentials may be -inf
(a label that is not allowed), couplings -inf (two ends that must differ), never +inf.
"""

from __future__ import annotations

import math

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array

# Below this an extra term e^rho cannot bring back what has underflowed beside 1.
_MILD = 30.0

# Sums of smaller numbers may have lost digits.
_TINY = 1e-280


@kernel
def log_add(a: float, b: float) -> float:
    """Return ``log(e^a + e^b)``."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return a + math.log1p(math.exp(b - a))


@kernel
def send(values: Array, coupling: float, maximum: bool, message: Array) -> None:
    """Message of an edge: ``log( Σ_{m != l} e^values[m] + e^(coupling + values[l]) )`` for every l.

    In O(k). The sum over the others is never a difference of nearly equal numbers: the largest
    term is in it, and left out only for its own label, where the others are added afresh.
    With ``maximum`` sums are replaced by the largest term.
    """
    k = len(values)
    top = 0
    for label in range(1, k):
        if values[label] > values[top]:
            top = label
    highest = values[top]
    if highest == -np.inf:
        message[:] = -np.inf
        return
    second = -np.inf
    for label in range(k):
        if label != top and values[label] > second:
            second = values[label]
    if maximum:
        for label in range(k):
            message[label] = max(highest if label != top else second, coupling + values[label])
        return
    rest = 0.0
    for label in range(k):
        if label != top:
            message[label] = math.exp(values[label] - highest)
            rest += message[label]
    own = math.exp(coupling) if coupling < _MILD else 0.0
    for label in range(k):
        if label == top:
            continue
        part = message[label]
        others = 1.0 + max(rest - part, 0.0)
        if coupling < _MILD:
            message[label] = highest + math.log(others + own * part)
        else:
            message[label] = log_add(highest + math.log(others), coupling + values[label])
    if rest > _TINY:
        others = highest + math.log(rest)
    elif second > -np.inf:
        beside = 0.0
        for label in range(k):
            if label != top:
                beside += math.exp(values[label] - second)
        others = second + math.log(beside)
    else:
        others = -np.inf
    message[top] = log_add(others, coupling + highest)


@kernel
def collect(
    logphi: Array,
    parent: Array,
    coupling: Array,
    maximum: bool,
    inward: Array,
    message: Array,
) -> None:
    """Sweep from the leaves to the roots.

    ``inward[v]`` becomes the potential of v with the messages of its children, ``message[v]`` what
    v tells its parent.
    """
    n, k = logphi.shape
    for v in range(n):
        for label in range(k):
            inward[v, label] = logphi[v, label]
    for v in range(n):
        p = parent[v]
        if p >= 0:
            send(inward[v], coupling[v], maximum, message[v])
            for label in range(logphi.shape[1]):
                inward[p, label] += message[v, label]


@kernel
def distribute(
    parent: Array,
    coupling: Array,
    inward: Array,
    message: Array,
    q: Array,
    log_z: Array,
    agree: Array,
) -> None:
    """Sweep from the roots to the leaves: marginals, log Z at roots, P(node agrees with parent)."""
    n, k = inward.shape
    outside = np.empty(k)
    down = np.empty(k)
    log_q = np.empty((n, k))
    for v in range(n - 1, -1, -1):
        p = parent[v]
        agree[v] = 0.0
        log_z[v] = 0.0
        if p < 0:
            for label in range(k):
                log_q[v, label] = inward[v, label]
            log_z[v] = _normalize(log_q[v], q[v])
            continue
        for label in range(k):
            # Where the message is -inf, v allows nothing at all: the rest does not matter there.
            received = message[v, label]
            outside[label] = log_q[p, label] - received if received > -np.inf else -np.inf
        send(outside, coupling[v], False, down)
        for label in range(k):
            log_q[v, label] = inward[v, label] + down[label]
        total = _normalize(log_q[v], q[v])
        for label in range(k):
            both = inward[v, label] + outside[label] + coupling[v]
            if both > -np.inf:
                agree[v] += math.exp(both - total)


@kernel
def _normalize(logs: Array, values: Array) -> float:
    """Make logarithms those of probabilities, which ``values`` receives; return what they lost."""
    top = logs.max()
    if top == -np.inf:
        values[:] = np.nan
        logs[:] = np.nan
        return -np.inf
    total = 0.0
    for label in range(len(logs)):
        values[label] = math.exp(logs[label] - top)
        total += values[label]
    lost = top + math.log(total)
    for label in range(len(logs)):
        values[label] /= total
        logs[label] -= lost
    return lost


@kernel
def pick(scores: Array, uniform: float) -> int:
    """Draw a label with log-weights ``scores`` by a uniform number; the best one if it is < 0."""
    best = int(np.argmax(scores))
    if uniform < 0.0:
        return best
    total = 0.0
    for score in scores:
        total += math.exp(score - scores[best])
    left = uniform * total
    for label in range(len(scores)):
        left -= math.exp(scores[label] - scores[best])
        if left < 0.0:
            return label
    return best


@kernel
def read_labels(parent: Array, coupling: Array, inward: Array, uniform: Array) -> Array:
    """Labels from the roots to the leaves, each given its parent's: drawn, or the best ones.

    For the best labeling ``inward`` must come from maxima and ``uniform`` be negative.
    """
    n, k = inward.shape
    labels = np.empty(n, np.int64)
    scores = np.empty(k)
    for v in range(n - 1, -1, -1):
        for label in range(k):
            scores[label] = inward[v, label]
        if parent[v] >= 0:
            scores[labels[parent[v]]] += coupling[v]
        labels[v] = pick(scores, uniform[v])
    return labels
