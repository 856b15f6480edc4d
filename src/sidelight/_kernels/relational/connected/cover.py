"""Covers of all nodes by few balls: exact search over bit sets."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def balls_within(squares: Array, square: float, balls: Array, n_holding: Array) -> None:
    """Bit sets of what each node reaches, and by how many nodes each is reached."""
    n = squares.shape[0]
    balls[:] = 0
    n_holding[:] = 0
    for u in range(n):
        for v in range(n):
            if squares[u, v] <= square:
                balls[u, v >> 6] |= np.uint64(1) << np.uint64(v & 63)
                n_holding[v] += 1


@kernel
def count_bits(words: Array) -> int:
    """Number of elements of a bit set."""
    found = 0
    for word in words:
        while word:
            word &= word - np.uint64(1)
            found += 1
    return found


@kernel
def find_cover(balls: Array, n_holding: Array, max_tests: int, centers: Array) -> int:
    """Search ``len(centers)`` balls that cover all nodes; branch on the node in fewest balls.

    Returns 1 and sets ``centers`` where there are such balls, 0 where there are none, and -1 after
    ``max_tests`` tests of a ball without an answer. Centers that are not needed are -1.
    """
    n, n_words = balls.shape
    k = centers.shape[0]
    largest = 0
    for u in range(n):
        largest = max(largest, count_bits(balls[u]))
    left = np.zeros((k + 1, n_words), np.uint64)  # uncovered nodes at every depth
    for v in range(n):
        left[0, v >> 6] |= np.uint64(1) << np.uint64(v & 63)
    branch, turn = np.empty(k, np.int64), np.empty(k, np.int64)
    centers[:] = -1
    depth, tests = 0, 0
    branch[0] = _rarest(left[0], n_holding)
    turn[0] = 0
    while depth >= 0:
        v = branch[depth]
        bit = np.uint64(1) << np.uint64(v & 63)
        advanced = False
        while turn[depth] < n:
            u = turn[depth]
            turn[depth] += 1
            if not balls[u, v >> 6] & bit:
                continue
            tests += 1
            if tests > max_tests:
                return -1
            empty = True
            for word in range(n_words):
                left[depth + 1, word] = left[depth, word] & ~balls[u, word]
                if left[depth + 1, word]:
                    empty = False
            centers[depth] = u
            if empty:
                centers[depth + 1 :] = -1
                return 1
            if depth + 1 < k and count_bits(left[depth + 1]) <= (k - depth - 1) * largest:
                depth += 1
                branch[depth] = _rarest(left[depth], n_holding)
                turn[depth] = 0
                advanced = True
                break
        if not advanced:
            depth -= 1
    return 0


@kernel
def _rarest(left: Array, n_holding: Array) -> int:
    """Element of a bit set that is in the fewest balls."""
    best, found = n_holding.shape[0] + 1, -1
    for v in range(n_holding.shape[0]):
        if left[v >> 6] & (np.uint64(1) << np.uint64(v & 63)) and n_holding[v] < best:
            best, found = n_holding[v], v
    return found
