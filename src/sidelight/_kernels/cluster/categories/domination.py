"""Candidates of documents in the order of the domination matrix."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.cluster.categories.seeds import score_seeds
from sidelight._typing import Array

#: Why a candidate stands before the next one: nothing follows, its cosine is larger, the words that
#: only it has fit better, it dominates more of the other candidates, the document is filed there.
LAST, BY_COSINE, BY_OWN_WORDS, BY_OTHERS, FILED = 0, 1, 2, 3, 4


@kernel
def restricted_cosine(
    words: Array, weights: Array, others: Array, document: Array, length: float
) -> float:
    """Cosine of a document with a seed that has lost the words of another seed.

    ``words`` and ``others`` are ascending; ``document`` has a count for every word.
    """
    product, squares = 0.0, 0.0
    other = 0
    for place in range(len(words)):
        word = words[place]
        while other < len(others) and others[other] < word:
            other += 1
        if other < len(others) and others[other] == word:
            continue
        weight = np.float64(weights[place])
        squares += weight * weight
        product += weight * document[word]
    return product / (np.sqrt(squares) * length) if squares > 0 else 0.0


@kernel
def explaining_words(
    words: Array, weights: Array, others: Array, document: Array, found: Array
) -> None:
    """Words of a seed, without those of another, that add most to its product with a document."""
    found[:] = -1
    most = np.zeros(len(found))
    other = 0
    for place in range(len(words)):
        word = words[place]
        while other < len(others) and others[other] < word:
            other += 1
        if other < len(others) and others[other] == word:
            continue
        value = weights[place] * document[word]
        if value <= most[-1]:
            continue
        rank = len(found) - 1
        while rank > 0 and value > most[rank - 1]:
            most[rank], found[rank] = most[rank - 1], found[rank - 1]
            rank -= 1
        most[rank], found[rank] = value, word


@kernel
def candidates_of(
    scores: Array, length: float, least: float, categories: Array, cosines: Array
) -> int:
    """Fill in the seeds of largest cosine, at least ``least`` and above 0; return their number."""
    n_found = 0
    for h in range(len(scores)):
        if scores[h] <= 0 or scores[h] / length < least:
            continue
        cosine = scores[h] / length
        rank = n_found
        while rank > 0 and cosine > cosines[rank - 1]:
            rank -= 1
        if rank == len(categories):
            continue
        n_found = min(n_found + 1, len(categories))
        for later in range(n_found - 1, rank, -1):
            categories[later], cosines[later] = categories[later - 1], cosines[later - 1]
        categories[rank], cosines[rank] = h, cosine
    return n_found


@kernel
def add_candidate(
    category: int, cosine: float, n_found: int, categories: Array, cosines: Array
) -> int:
    """Add a category to the candidates, in the place of the last where all are taken."""
    for place in range(n_found):
        if categories[place] == category:
            return n_found
    n_found = min(n_found + 1, len(categories))
    categories[n_found - 1], cosines[n_found - 1] = category, cosine
    return n_found


@kernel
def put_first(category: int, categories: Array, order: Array) -> None:
    """Put the candidate of a category in front of the others."""
    for place in range(len(order)):
        if categories[order[place]] == category:
            first = order[place]
            for later in range(place, 0, -1):
                order[later] = order[later - 1]
            order[0] = first


@kernel
def dominates(mine: float, other: float, my_own: float, its_own: float, tau: float) -> bool:
    """Whether a candidate dominates another, by cosines and by cosines of own words."""
    ahead = mine - other
    return ahead >= tau or (np.abs(ahead) < tau and my_own > its_own)


@kernel
def rank_categories(
    indptr: Array,
    indices: Array,
    data: Array,
    starts: Array,
    seeds: Array,
    weights: Array,
    row_starts: Array,
    row_words: Array,
    row_weights: Array,
    n_words: int,
    tau: float,
    least: float,
    filed: Array,
    categories: Array,
    cosines: Array,
    dominated: Array,
    reasons: Array,
    telling: Array,
    nearest: Array,
) -> None:
    """Rank the candidates of every document by how many others they dominate, then by cosine.

    ``starts``, ``seeds``, ``weights`` are the seeds by column, ``row_starts``, ``row_words``,
    ``row_weights`` by row. ``filed`` has the category that is to stand first, where it is not
    negative. The last six arrays are filled: category, cosine, number of dominated
    candidates, reason and telling words of every place, and the category of largest cosine.
    """
    most = categories.shape[1]
    scores = np.empty(len(row_starts) - 1)
    document = np.zeros(n_words)
    own = np.zeros((most, most))
    found = np.empty(most, dtype=np.int32)
    near = np.empty(most)
    wins = np.empty(most, dtype=np.int32)
    order = np.empty(most, dtype=np.int64)
    nothing = row_words[:0]
    for i in range(len(nearest)):
        entries = slice(indptr[i], indptr[i + 1])
        words, counts = indices[entries], data[entries]
        # Candidates: the seeds of largest cosine (Book 2009, section 7.2.4).
        length = score_seeds(words, counts, starts, seeds, weights, scores)
        n_found = candidates_of(scores, length, least, found, near)
        nearest[i] = found[0] if n_found else -1
        if filed[i] >= 0:
            n_found = add_candidate(filed[i], scores[filed[i]] / length, n_found, found, near)
        categories[i], cosines[i], dominated[i] = -1, 0.0, 0
        reasons[i], telling[i] = LAST, -1
        for place in range(len(words)):
            document[words[place]] = counts[place]
        # Cosines of the seeds without shared words ("seed subtraction"), where cosines are close.
        for a in range(n_found):
            mine = slice(row_starts[found[a]], row_starts[found[a] + 1])
            for b in range(n_found):
                if a != b and np.abs(near[a] - near[b]) < tau:
                    others = row_words[row_starts[found[b]] : row_starts[found[b] + 1]]
                    own[a, b] = restricted_cosine(
                        row_words[mine], row_weights[mine], others, document, length
                    )
        # Count the candidates that each one dominates; sort by that number, then by cosine.
        for a in range(n_found):
            wins[a] = 0
            for b in range(n_found):
                if a != b and dominates(near[a], near[b], own[a, b], own[b, a], tau):
                    wins[a] += 1
            rank = a
            while rank > 0 and wins[a] > wins[order[rank - 1]]:
                order[rank] = order[rank - 1]
                rank -= 1
            order[rank] = a
        if filed[i] >= 0:
            put_first(filed[i], found, order[:n_found])
        # The reason for a place is how its candidate stands to the next one.
        for rank in range(n_found):
            a = order[rank]
            categories[i, rank], cosines[i, rank] = found[a], near[a]
            dominated[i, rank] = wins[a]
            mine = slice(row_starts[found[a]], row_starts[found[a] + 1])
            without = nothing
            if rank + 1 < n_found:
                b = order[rank + 1]
                ahead = near[a] - near[b]
                if filed[i] == found[a]:
                    reasons[i, rank] = FILED
                elif np.abs(ahead) < tau and own[a, b] > own[b, a]:
                    reasons[i, rank] = BY_OWN_WORDS
                    without = row_words[row_starts[found[b]] : row_starts[found[b] + 1]]
                elif ahead >= tau or wins[a] == wins[b]:
                    reasons[i, rank] = BY_COSINE
                else:
                    reasons[i, rank] = BY_OTHERS
            explaining_words(
                row_words[mine], row_weights[mine], without, document, telling[i, rank]
            )
        for place in range(len(words)):
            document[words[place]] = 0.0
