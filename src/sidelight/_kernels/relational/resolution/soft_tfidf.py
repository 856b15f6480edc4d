"""Similarities of texts by the weights of their words: cosines, and sums over close words."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def cosines(a: Array, b: Array, indptr: Array, indices: Array, weights: Array) -> Array:
    """Inner products of sparse rows with sorted indices, pair by pair."""
    found = np.zeros(a.shape[0])
    for p in range(a.shape[0]):
        x, x_end = indptr[a[p]], indptr[a[p] + 1]
        y, y_end = indptr[b[p]], indptr[b[p] + 1]
        total = 0.0
        while x < x_end and y < y_end:
            if indices[x] == indices[y]:
                total += weights[x] * weights[y]
                x += 1
                y += 1
            elif indices[x] < indices[y]:
                x += 1
            else:
                y += 1
        found[p] = total
    return found


@kernel
def _need_comparison(w: int, v: int, lengths: Array, shorter: float) -> bool:
    """Whether two words have to be compared letter by letter.

    Equal words, and an initial beside any word, need no comparison; words of very different
    lengths cannot be close.
    """
    if w == v or lengths[w] == 1 or lengths[v] == 1:
        return False
    if lengths[w] < lengths[v]:
        return lengths[w] > shorter * lengths[v]
    return lengths[v] > shorter * lengths[w]


@kernel
def list_close_words(
    a: Array,
    b: Array,
    indptr: Array,
    indices: Array,
    lengths: Array,
    shorter: float,
    n_words: int,
) -> Array:
    """Pairs of words, as ``smaller * n_words + larger``, that the pairs of texts need compared."""
    n_pairs = 0
    for p in range(a.shape[0]):
        for x in range(indptr[a[p]], indptr[a[p] + 1]):
            for y in range(indptr[b[p]], indptr[b[p] + 1]):
                if _need_comparison(indices[x], indices[y], lengths, shorter):
                    n_pairs += 1
    keys = np.empty(n_pairs, np.int64)
    place = 0
    for p in range(a.shape[0]):
        for x in range(indptr[a[p]], indptr[a[p] + 1]):
            for y in range(indptr[b[p]], indptr[b[p] + 1]):
                w, v = indices[x], indices[y]
                if _need_comparison(w, v, lengths, shorter):
                    keys[place] = min(w, v) * n_words + max(w, v)
                    place += 1
    return keys


@kernel
def soft_sums(
    a: Array,
    b: Array,
    indptr: Array,
    indices: Array,
    weights: Array,
    lengths: Array,
    first: Array,
    shorter: float,
    place: Array,
    close: Array,
    theta: float,
    initial: float,
) -> Array:
    """Mean of both directions of soft TF-IDF, pair by pair.

    ``close[place[k]]`` is the similarity of the k-th pair of words that ``list_close_words`` has.
    """
    longest = 1
    for text in range(indptr.shape[0] - 1):
        longest = max(longest, indptr[text + 1] - indptr[text])
    best_of_y = np.empty(longest)
    match_of_y = np.empty(longest)
    found = np.zeros(a.shape[0])
    k = 0
    for p in range(a.shape[0]):
        y_start, y_end = indptr[b[p]], indptr[b[p] + 1]
        best_of_y[: y_end - y_start] = 0.0
        match_of_y[: y_end - y_start] = 0.0
        total = 0.0
        for x in range(indptr[a[p]], indptr[a[p] + 1]):
            w = indices[x]
            best, match = 0.0, 0.0
            for y in range(y_start, y_end):
                v = indices[y]
                if w == v:
                    c = 1.0
                elif _need_comparison(w, v, lengths, shorter):
                    c = close[place[k]]
                    k += 1
                elif (lengths[w] == 1 or lengths[v] == 1) and first[w] == first[v]:
                    c = initial
                else:
                    c = 0.0
                # Among equally close words the one of most weight counts, in any order.
                if c > theta and (c > best or (c == best and weights[y] > match)):
                    best, match = c, weights[y]
                t = y - y_start
                if c > theta and (
                    c > best_of_y[t] or (c == best_of_y[t] and weights[x] > match_of_y[t])
                ):
                    best_of_y[t], match_of_y[t] = c, weights[x]
            total += weights[x] * match * best
        for t in range(y_end - y_start):
            total += weights[y_start + t] * match_of_y[t] * best_of_y[t]
        found[p] = total / 2.0
    return found
