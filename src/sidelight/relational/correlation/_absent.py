r"""Evidence in a missing score: the log-odds of pairs that nobody scored.

Candidate pairs are chosen, by blocking or because they look alike, so that objects that belong
together are rarely left out. Let ``p`` be the probability that a pair that belongs together is
scored, while hardly any other pair is. A pair that is not scored then has the log-odds

.. math::
    \log \frac{P(\text{unscored} \mid \text{together})}{P(\text{unscored} \mid \text{apart})}
    \approx \log(1 - p) .

``p`` is estimated by transitivity: of two objects that a third is likely to belong to, how often
are they scored?
"""

from __future__ import annotations

import numpy as np

from sidelight._typing import IntArray
from sidelight.constraints import Relations

#: Paths of two positive edges that are looked at one by one; of more, as many are drawn.
MAX_PATHS = 1_000_000


def estimate_absent(relations: Relations) -> float:
    """Cost ``-log(1 - p)`` of joining two objects that no edge joins, for scores in log-odds.

    One path that is not closed is added to those of the data: the cost is 0 where none is closed.
    """
    ends = _paths(relations)
    n = relations.n_samples
    listed = relations.edges[:, 0] * n + relations.edges[:, 1]
    key = ends.min(axis=1, initial=n) * n + ends.max(axis=1, initial=-1)
    place = np.minimum(np.searchsorted(listed, key), max(len(listed) - 1, 0))
    closed = int((listed[place] == key).sum()) if len(key) else 0
    return float(np.log((len(ends) + 1) / (len(ends) - closed + 1)))


def _paths(relations: Relations) -> IntArray:
    """Ends of paths of two positive edges."""
    positive = relations.scores > 0
    pairs = relations.edges[positive]
    middle = np.concatenate([pairs[:, 0], pairs[:, 1]])
    order = np.argsort(middle, kind="stable")
    neighbor = np.concatenate([pairs[:, 1], pairs[:, 0]])[order]
    degree = np.bincount(middle, minlength=relations.n_samples)
    start = np.cumsum(degree) - degree
    n_paths = (degree * (degree - 1) // 2).astype(np.float64)
    if n_paths.sum() <= MAX_PATHS:
        return _all_paths(neighbor, start, degree)
    # A fixed seed: the cost is a property of the data, not of the search.
    rng = np.random.default_rng(0)
    center = rng.choice(len(degree), MAX_PATHS, p=n_paths / n_paths.sum())
    first = rng.integers(degree[center])
    second = (first + 1 + rng.integers(degree[center] - 1)) % degree[center]
    return np.column_stack([neighbor[start[center] + first], neighbor[start[center] + second]])


def _all_paths(neighbor: IntArray, start: IntArray, degree: IntArray) -> IntArray:
    """Every neighbor with those behind it in the list of the same node."""
    node = np.repeat(np.arange(len(degree)), degree)
    place = np.arange(len(neighbor)) - start[node]
    behind = degree[node] - place - 1
    first = np.repeat(np.arange(len(neighbor)), behind)
    offset = np.arange(len(first)) - np.repeat(np.cumsum(behind) - behind, behind)
    return np.column_stack([neighbor[first], neighbor[first + 1 + offset]])
