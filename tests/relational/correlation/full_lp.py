"""The linear program with all triangle inequalities, as it is printed."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import sparse
from scipy.optimize import OptimizeResult, linprog
from tests.relational.correlation.enumerate import forbidden, pair_scores

from sidelight.relational.correlation._graph import SignedGraph


def full_lp(graph: SignedGraph) -> float:
    """Optimum over all pairs, with three rows for every triple (13.4)."""
    n = graph.n
    first, second = np.triu_indices(n, 1)
    scores = pair_scores(graph)[first, second]
    lower = forbidden(graph)[first, second].astype(float)
    bounds = np.column_stack([lower, np.ones(len(first))])
    # Positive scores pay x, negative ones 1 - x.
    constant = graph.constant + np.maximum(-scores, 0.0).sum()
    if n < 3:
        return float(constant + (scores * np.where(scores > 0, lower, 1.0)).sum())
    rows = triangle_rows(n)
    found: OptimizeResult = linprog(scores, A_ub=rows, b_ub=np.zeros(rows.shape[0]), bounds=bounds)
    return float(found.fun + constant)


def triangle_rows(n: int) -> sparse.csr_array:
    """``x_uv - x_uw - x_wv`` for every triple and each of its sides."""
    number = np.zeros((n, n), np.int64)
    first, second = np.triu_indices(n, 1)
    number[first, second] = number[second, first] = np.arange(len(first))
    a, b, c = np.array(list(itertools.combinations(range(n), 3))).T
    sides = np.stack([number[a, b], number[a, c], number[b, c]])
    turns = np.concatenate([np.roll(sides, turn, axis=0) for turn in range(3)], axis=1)
    n_rows = turns.shape[1]
    signs = np.tile([1.0, -1.0, -1.0], n_rows)
    indptr = np.arange(0, 3 * n_rows + 1, 3)
    return sparse.csr_array((signs, turns.T.ravel(), indptr), (n_rows, len(first)))


def triple_packing(graph: SignedGraph) -> float:
    """Largest fractional packing of inconsistent triples of complete +-1 scores (dual of 13.5)."""
    scores = pair_scores(graph)
    triples = [
        t
        for t in itertools.combinations(range(graph.n), 3)
        if sum(scores[u, v] < 0 for u, v in itertools.combinations(t, 2)) == 1
    ]
    if not triples:
        return 0.0
    pairs = {pair: k for k, pair in enumerate(itertools.combinations(range(graph.n), 2))}
    load = np.zeros((len(pairs), len(triples)))
    for column, t in enumerate(triples):
        for pair in itertools.combinations(t, 2):
            load[pairs[pair], column] = 1
    return float(-linprog(-np.ones(len(triples)), A_ub=load, b_ub=np.ones(len(pairs))).fun)
