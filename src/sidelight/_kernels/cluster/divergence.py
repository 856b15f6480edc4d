"""Contribution of every term to the length-weighted divergence of two documents from their mean.

With smoothed frequencies ``a`` and ``b`` and lengths ``s`` and ``t`` of two documents, term ``j``
adds ``g_j = s a_j log(a_j / m_j) + t b_j log(b_j / m_j)``. All terms that neither document has add
the same, so that a pair costs no more than the terms that it has.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def term_divergence(a: float, b: float, s: float, t: float, by_length: bool) -> float:
    """Contribution of a term with frequencies ``a`` and ``b`` to the divergence."""
    middle = (s * a + t * b) / (s + t) if by_length else 0.5 * (a + b)
    return s * a * np.log(a / middle) + t * b * np.log(b / middle)


@kernel
def _terms_of_both(
    one: int, other: int, indptr: Array, indices: Array, counts: Array, terms: Array, both: Array
) -> int:
    """Merge the terms of two documents and their counts; return how many there are."""
    i, j = indptr[one], indptr[other]
    n = 0
    while i < indptr[one + 1] or j < indptr[other + 1]:
        first = indices[i] if i < indptr[one + 1] else np.iinfo(np.int64).max
        second = indices[j] if j < indptr[other + 1] else np.iinfo(np.int64).max
        terms[n] = min(first, second)
        both[n, 0] = both[n, 1] = 0.0
        if first <= second:
            both[n, 0] = counts[i]
            i += 1
        if second <= first:
            both[n, 1] = counts[j]
            j += 1
        n += 1
    return n


@kernel
def add_pair_directions(
    pairs: Array,
    pull: Array,
    indptr: Array,
    indices: Array,
    counts: Array,
    lengths: Array,
    learned: Array,
    by_length: bool,
    direction: Array,
    magnitude: Array,
) -> Array:
    """Add ``pull * u`` of every pair to ``direction`` and ``|pull * u|`` to ``magnitude``.

    ``u = g |g|₁ / |g|₂²`` is about ±1 for the terms that tell the two documents apart, however many
    they are. Return the sums ``|g|₁``. Only terms in ``learned`` count. ``indptr``, ``indices``
    (sorted) and ``counts`` are the documents in CSR form.
    """
    n_terms = direction.shape[0]
    n_learned = np.sum(learned)
    everywhere, everywhere_size = 0.0, 0.0
    norms = np.zeros(pairs.shape[0])
    terms = np.empty(n_terms, np.int64)
    both = np.empty((n_terms, 2))
    gains = np.empty(n_terms)
    for number in range(pairs.shape[0]):
        one, other = pairs[number, 0], pairs[number, 1]
        s, t = lengths[one], lengths[other]
        absent = term_divergence(1 / (s + n_terms), 1 / (t + n_terms), s, t, by_length)
        n = _terms_of_both(one, other, indptr, indices, counts, terms, both)
        norm, squares = 0.0, 0.0
        n_present = 0
        for place in range(n):
            gains[place] = term_divergence(
                (1 + both[place, 0]) / (s + n_terms),
                (1 + both[place, 1]) / (t + n_terms),
                s,
                t,
                by_length,
            )
            if learned[terms[place]]:
                n_present += 1
                norm += abs(gains[place])
                squares += gains[place] ** 2
        norm += (n_learned - n_present) * abs(absent)
        squares += (n_learned - n_present) * absent**2
        norms[number] = norm
        if squares > 0:
            unit = pull[number] * norm / squares
            for place in range(n):
                direction[terms[place]] += unit * (gains[place] - absent)
                magnitude[terms[place]] += abs(unit) * (abs(gains[place]) - abs(absent))
            everywhere += unit * absent
            everywhere_size += abs(unit * absent)
    for term in range(n_terms):
        direction[term] = direction[term] + everywhere if learned[term] else 0.0
        magnitude[term] = magnitude[term] + everywhere_size if learned[term] else 0.0
    return norms


#: Below this relative difference the I-divergence is summed as a series.
NEAR = 0.05
#: Terms of the series, enough for all digits of a double.
TERMS = 12


@kernel
def i_divergence(x: float, z: float) -> float:
    """Return ``x log(x/z) - x + z`` for x ≥ 0 and z > 0, with all its digits.

    With ``u = x/z - 1`` it is ``z ((1 + u) log(1 + u) - u) = z Σ_n (-u)^n / (n (n - 1))``, whose
    first terms cancel where x and z are near each other.
    """
    if x == 0.0:
        return z
    u = (x - z) / z
    if abs(u) >= NEAR:
        return z * ((1.0 + u) * np.log1p(u) - u)
    total = 0.0
    for n in range(TERMS, 1, -1):
        total = total * -u + 1.0 / (n * (n - 1))
    return z * u * u * total


@kernel
def i_divergences(rows: Array, points: Array, terms: Array) -> None:
    """Write the divergences of rows (m, d) from points (m, d) or (1, d) into ``terms``, entrywise.

    Points are not below 0; where one is 0 the row is too.
    """
    for i in range(rows.shape[0]):
        p = i if points.shape[0] > 1 else 0
        for j in range(rows.shape[1]):
            z = points[p, j]
            terms[i, j] = i_divergence(rows[i, j], z) if z > 0.0 else 0.0
