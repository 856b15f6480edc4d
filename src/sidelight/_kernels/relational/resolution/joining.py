"""Joining nodes pair by pair, where what must stay apart stays apart."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.constraints.unionfind import find
from sidelight._typing import Array


@kernel
def _slot(table: Array, key: int) -> int:
    """Place of a key in an open-addressing table, or the free place where it belongs."""
    mask = table.shape[0] - 1
    # Fibonacci hashing: keys of one cluster are neighbors, and would crowd otherwise.
    place = ((key * 0x9E3779B97F4A7C1) >> 17) & mask
    while table[place] != -1 and table[place] != key:
        place = (place + 1) & mask
    return place


@kernel
def _grown(table: Array) -> Array:
    """The same keys in a table of twice the size."""
    larger = np.full(2 * table.shape[0], -1, np.int64)
    for place in range(table.shape[0]):
        if table[place] != -1:
            larger[_slot(larger, table[place])] = table[place]
    return larger


@kernel
def _share_code(
    table: Array, n_codes: int, small: int, large: int, head: Array, following: Array, codes: Array
) -> bool:
    """Whether a code of the smaller cluster is one of the larger, too."""
    entry = head[small]
    while entry != -1:
        key = large * n_codes + codes[entry]
        if table[_slot(table, key)] == key:
            return True
        entry = following[entry]
    return False


@kernel
def _in_conflict(
    parent: Array, one: int, other: int, head: Array, following: Array, ends: Array
) -> bool:
    """Whether a conflict of the one cluster ends in the other."""
    entry = head[one]
    while entry != -1:
        if find(parent, ends[entry]) == other:
            return True
        entry = following[entry]
    return False


@kernel
def _lists(indptr: Array) -> tuple[Array, Array, Array, Array]:
    """Entries of sparse rows as linked lists: heads, tails, following entries and lengths."""
    n = indptr.shape[0] - 1
    head = np.full(n, -1, np.int64)
    tail = np.full(n, -1, np.int64)
    following = np.full(indptr[n], -1, np.int64)
    length = np.zeros(n, np.int64)
    for row in range(n):
        for entry in range(indptr[row], indptr[row + 1]):
            if tail[row] == -1:
                head[row] = entry
            else:
                following[tail[row]] = entry
            tail[row] = entry
            length[row] += 1
    return head, tail, following, length


@kernel
def _append(
    large: int, small: int, head: Array, tail: Array, following: Array, length: Array
) -> None:
    """Append the list of one cluster to that of another."""
    if head[small] == -1:
        return
    if head[large] == -1:
        head[large] = head[small]
    else:
        following[tail[large]] = head[small]
    tail[large] = tail[small]
    length[large] += length[small]


@kernel
def join_in_order(
    pairs: Array,
    code_indptr: Array,
    codes: Array,
    n_codes: int,
    conflict_indptr: Array,
    conflict_ends: Array,
) -> tuple[Array, Array]:
    """Join the nodes of every pair, in this order, unless something keeps their clusters apart.

    Clusters are kept apart by a conflict between two of their nodes, and by a code that both have.
    Lists of the shorter cluster are searched, so that all joins take ``O(c log c)`` for ``c``
    codes.

    Returns
    -------
    parent : ndarray of shape (n_nodes,)
        Root of the cluster of every node.
    used : ndarray of shape (n_pairs,), bool
        Pairs that joined two clusters.
    """
    n = code_indptr.shape[0] - 1
    parent = np.arange(n)
    used = np.zeros(pairs.shape[0], np.bool_)
    head, tail, following, length = _lists(code_indptr)
    c_head, c_tail, c_following, c_length = _lists(conflict_indptr)
    size = 16
    while size < 3 * codes.shape[0]:
        size *= 2
    table = np.full(size, -1, np.int64)
    filled = codes.shape[0]
    for node in range(n):
        for entry in range(code_indptr[node], code_indptr[node + 1]):
            key = node * n_codes + codes[entry]
            table[_slot(table, key)] = key
    for p in range(pairs.shape[0]):
        large = find(parent, pairs[p, 0])
        small = find(parent, pairs[p, 1])
        if large == small:
            continue
        if length[large] < length[small]:
            large, small = small, large
        if _share_code(table, n_codes, small, large, head, following, codes):
            continue
        shorter, longer = (small, large) if c_length[small] <= c_length[large] else (large, small)
        if _in_conflict(parent, shorter, longer, c_head, c_following, conflict_ends):
            continue
        entry = head[small]
        while entry != -1:
            if 2 * filled > table.shape[0]:
                table = _grown(table)
            key = large * n_codes + codes[entry]
            table[_slot(table, key)] = key
            filled += 1
            entry = following[entry]
        parent[small] = large
        _append(large, small, head, tail, following, length)
        _append(large, small, c_head, c_tail, c_following, c_length)
        used[p] = True
    for node in range(n):
        parent[node] = find(parent, node)
    return parent, used
