"""Documents to their nearest seeds, and seeds cut to their heaviest words."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def score_seeds(
    words: Array, counts: Array, starts: Array, seeds: Array, weights: Array, scores: Array
) -> float:
    """Set ``scores`` to the products of a document with all seeds, and return its length.

    ``starts``, ``seeds`` and ``weights`` are the columns of the matrix of seeds: for every word the
    seeds that have it, with its weight.
    """
    for h in range(len(scores)):
        scores[h] = 0.0
    squares = 0.0
    for place in range(len(words)):
        count = np.float64(counts[place])
        squares += count * count
        word = words[place]
        for entry in range(starts[word], starts[word + 1]):
            scores[seeds[entry]] += count * weights[entry]
    return np.sqrt(squares)


@kernel
def nearest_seeds(
    indptr: Array,
    indices: Array,
    data: Array,
    starts: Array,
    seeds: Array,
    weights: Array,
    scores: Array,
    labels: Array,
    cosines: Array,
) -> None:
    """Label every document with the seed of largest cosine, the first of equals.

    Documents that share no word with any seed get -1 and the cosine 0. ``scores`` is scratch space
    for a number per seed; the seeds have unit length.
    """
    for i in range(len(labels)):
        entries = slice(indptr[i], indptr[i + 1])
        length = score_seeds(indices[entries], data[entries], starts, seeds, weights, scores)
        best, largest = -1, 0.0
        for h in range(len(scores)):
            if scores[h] > largest:
                best, largest = h, scores[h]
        labels[i] = best
        cosines[i] = largest / length if best >= 0 else 0.0


@kernel
def keep_heaviest(indptr: Array, data: Array, n_words: int, kept: Array) -> None:
    """Mark the ``n_words`` largest entries of every row, of equal ones the first."""
    for h in range(len(indptr) - 1):
        first, last = indptr[h], indptr[h + 1]
        surplus = last - first - n_words
        if surplus <= 0:
            kept[first:last] = True
            continue
        least = np.partition(data[first:last], surplus)[surplus]
        room = n_words
        for entry in range(first, last):
            kept[entry] = data[entry] > least
            room -= kept[entry]
        for entry in range(first, last):
            if room > 0 and data[entry] == least:
                kept[entry] = True
                room -= 1
