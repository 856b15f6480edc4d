"""Sets as bits of 64-bit words: element ``i`` is bit ``i % 64`` of word ``i // 64``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from sidelight._kernels import kernel

ONE = np.uint64(1)
NONE = np.uint64(0)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@intrinsic
def ones_of(typing: Any, word: Any) -> Any:
    """Number of ones of a word, as one instruction of the processor."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


@intrinsic
def lowest_of(typing: Any, word: Any) -> Any:
    """Place of the lowest one of a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), generate


@kernel
def size_of(words: Any) -> int:
    """Number of elements of a set."""
    total = NONE
    for w in range(len(words)):
        total += ones_of(words[w])
    return int(total)


@kernel
def weight_of(words: Any, weight: Any) -> int:
    """Sum of the weights of the elements of a set."""
    total = 0
    for w in range(len(words)):
        rest = words[w]
        while rest:
            total += weight[64 * w + np.int64(lowest_of(rest))]
            rest &= rest - ONE
    return total


@kernel
def has(words: Any, element: Any) -> bool:
    """Whether a set holds an element."""
    return (words[element >> 6] >> np.uint64(element & 63)) & ONE != NONE


@kernel
def put(words: Any, element: Any) -> None:
    """Add an element to a set."""
    words[element >> 6] |= ONE << np.uint64(element & 63)


@kernel
def drop(words: Any, element: Any) -> None:
    """Take an element out of a set."""
    words[element >> 6] &= ~(ONE << np.uint64(element & 63))


@kernel
def is_subset(small: Any, large: Any) -> bool:
    """Whether every element of one set is in the other."""
    w = 0
    while w < len(small) and small[w] & ~large[w] == NONE:
        w += 1
    return w == len(small)


@kernel
def meets(one: Any, other: Any) -> bool:
    """Whether two sets have an element in common."""
    w = 0
    while w < len(one) and one[w] & other[w] == NONE:
        w += 1
    return w < len(one)


@kernel
def gaps_within(words: Any, element_at: Any, min_gap: int, max_gap: int, circular: bool) -> bool:
    """Whether the gaps between consecutive members are within bounds.

    ``element_at`` has the element at every place of the order; several places may have the same
    one. In a circular order the gap back to the first member counts, and the largest does not.
    """
    n = len(element_at)
    first = last = -1
    n_wide = 0
    for place in range(n):
        if not has(words, element_at[place]):
            continue
        if last < 0:
            first = place
        else:
            gap = place - last - 1
            if gap < min_gap:
                return False
            n_wide += gap > max_gap
        last = place
    if not circular or first == last:
        return n_wide == 0
    gap = first + n - last - 1
    if gap < min_gap:
        return False
    n_wide += gap > max_gap
    return n_wide <= 1  # the largest gap of all is not counted


@kernel
def expand(words: Any, indptr: Any, members: Any, out: Any) -> None:
    """Write the union of the members of every element of a set."""
    out[:] = NONE
    for w in range(len(words)):
        rest = words[w]
        while rest:
            element = 64 * w + np.int64(lowest_of(rest))
            for place in range(indptr[element], indptr[element + 1]):
                put(out, members[place])
            rest &= rest - ONE
