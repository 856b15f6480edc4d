"""Sums over labels by tables: exact messages on graphs in which few nodes meet at a time.

Nodes are numbered in the order of elimination. Node v meets its separator ``s_1, s_2, ...`` (listed
in ``separators[begin[v]:begin[v + 1]]``, later nodes all of them) in a table of ``k^(1 + m)``
log-weights with the label of v running fastest, then that of ``s_1``, and so on. Its message, the
table summed over the label of v, goes to the table of ``s_1``; ``place`` says which variable there
each one of the separator is (0: the node itself). The model is that of
:mod:`sidelight._kernels.mixture.field`.
"""

from __future__ import annotations

import math

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.mixture.field import pick
from sidelight._typing import Array


@kernel
def _strides(begin: Array, place: Array, child: int, k: int, strides: Array) -> None:
    """How far the message of a child moves when a variable of its parent's table counts up."""
    strides[:] = 0
    step = 1
    for e in range(begin[child], begin[child + 1]):
        strides[place[e]] = step
        step *= k


@kernel
def _next(digits: Array, at: int, k: int, strides: Array) -> int:
    """Count the digits of an entry on by one; return where the next entry is at."""
    d = 0
    while d < len(digits):
        digits[d] += 1
        at += strides[d]
        if digits[d] < k:
            break
        at -= k * strides[d]
        digits[d] = 0
        d += 1
    return at


@kernel
def _add_message(table: Array, size: int, k: int, message: Array, strides: Array) -> None:
    """Add a message to every entry of the table."""
    digits = np.zeros(len(strides), np.int64)
    at = 0
    for entry in range(size):
        table[entry] += message[at]
        at = _next(digits, at, k, strides)


@kernel
def _sum_onto(table: Array, size: int, k: int, strides: Array, totals: Array) -> None:
    """Sum the entries of a table of probabilities over all variables that have no stride."""
    digits = np.zeros(len(strides), np.int64)
    totals[:] = 0.0
    at = 0
    for entry in range(size):
        totals[at] += table[entry]
        at = _next(digits, at, k, strides)


@kernel
def _own_table(logphi: Array, coupling: Array, begin: Array, v: int, table: Array) -> int:
    """Potential of v and its couplings with its separator; returns the size of the table."""
    k = len(logphi)
    size = k
    for _ in range(begin[v], begin[v + 1]):
        size *= k
    for entry in range(size):
        rest, label = divmod(entry, k)
        value = logphi[label]
        for e in range(begin[v], begin[v + 1]):
            if rest % k == label:
                value += coupling[e]
            rest //= k
        table[entry] = value
    return size


@kernel
def collect_tables(
    logphi: Array,
    begin: Array,
    separators: Array,
    place: Array,
    coupling: Array,
    children: Array,
    child_begin: Array,
    message_begin: Array,
    maximum: bool,
    table: Array,
    messages: Array,
) -> None:
    """Messages from the first node eliminated to the last; that of a root is its log Z.

    With ``maximum`` sums are replaced by the largest term.
    """
    n, k = logphi.shape
    for v in range(n):
        size = _own_table(logphi[v], coupling, begin, v, table)
        strides = np.empty(1 + begin[v + 1] - begin[v], np.int64)
        for c in range(child_begin[v], child_begin[v + 1]):
            child = children[c]
            _strides(begin, place, child, k, strides)
            received = messages[message_begin[child] : message_begin[child + 1]]
            _add_message(table, size, k, received, strides)
        for state in range(size // k):
            top = -np.inf
            for entry in range(state * k, state * k + k):
                top = max(top, table[entry])
            value = top
            if not maximum and top > -np.inf:
                total = 0.0
                for entry in range(state * k, state * k + k):
                    total += math.exp(table[entry] - top)
                value = top + math.log(total)
            messages[message_begin[v] + state] = value


@kernel
def distribute_tables(
    logphi: Array,
    begin: Array,
    separators: Array,
    place: Array,
    coupling: Array,
    children: Array,
    child_begin: Array,
    message_begin: Array,
    table: Array,
    messages: Array,
    q: Array,
    log_z: Array,
    agree: Array,
) -> None:
    """From the last node eliminated to the first: marginals, log Z at roots, P(both ends agree).

    ``agree`` is listed like ``separators``. ``messages`` are replaced, node by node, by what the
    parent answers: the log-weight of every state of the separator without the node's own message.
    """
    n, k = logphi.shape
    for v in range(n - 1, -1, -1):
        size = _own_table(logphi[v], coupling, begin, v, table)
        strides = np.empty(1 + begin[v + 1] - begin[v], np.int64)
        for c in range(child_begin[v], child_begin[v + 1]):
            child = children[c]
            _strides(begin, place, child, k, strides)
            received = messages[message_begin[child] : message_begin[child + 1]]
            _add_message(table, size, k, received, strides)
        log_z[v] = 0.0
        if begin[v] == begin[v + 1]:
            log_z[v] = messages[message_begin[v]]
        else:
            for entry in range(size):
                table[entry] += messages[message_begin[v] + entry // k]
        top = table[:size].max()
        total = 0.0
        for entry in range(size):
            table[entry] = math.exp(table[entry] - top)
            total += table[entry]
        q[v] = 0.0
        for entry in range(size):
            table[entry] /= total
            q[v, entry % k] += table[entry]
        _agreements(table, size, k, begin[v], begin[v + 1], agree)
        for c in range(child_begin[v], child_begin[v + 1]):
            child = children[c]
            _strides(begin, place, child, k, strides)
            first, last = message_begin[child], message_begin[child + 1]
            totals = np.empty(last - first)
            _sum_onto(table, size, k, strides, totals)
            for state in range(last - first):
                # A state that the child rules out stays ruled out.
                if totals[state] > 0.0:
                    messages[first + state] = math.log(totals[state]) - messages[first + state]
                else:
                    messages[first + state] = -np.inf


@kernel
def _agreements(table: Array, size: int, k: int, first: int, last: int, agree: Array) -> None:
    """Probability that the first variable of a table equals each of the others."""
    agree[first:last] = 0.0
    for entry in range(size):
        rest, label = divmod(entry, k)
        for e in range(first, last):
            if rest % k == label:
                agree[e] += table[entry]
            rest //= k


@kernel
def read_tables(
    logphi: Array,
    begin: Array,
    separators: Array,
    coupling: Array,
    children: Array,
    child_begin: Array,
    message_begin: Array,
    messages: Array,
    uniform: Array,
) -> Array:
    """Labels from the last node eliminated to the first, given the later ones: drawn, or the best.

    For the best labeling the messages must be maxima and ``uniform`` negative.
    """
    n, k = logphi.shape
    labels = np.empty(n, np.int64)
    scores = np.empty(k)
    for v in range(n - 1, -1, -1):
        for label in range(k):
            scores[label] = logphi[v, label]
        for e in range(begin[v], begin[v + 1]):
            scores[labels[separators[e]]] += coupling[e]
        for c in range(child_begin[v], child_begin[v + 1]):
            child = children[c]
            # The parent is the first of a separator, so that its label runs fastest.
            at, step = message_begin[child], k
            for e in range(begin[child] + 1, begin[child + 1]):
                at += labels[separators[e]] * step
                step *= k
            for label in range(k):
                scores[label] += messages[at + label]
        labels[v] = pick(scores, uniform[v])
    return labels
