"""Sweeps over the nodes of a constraint field: mean field and Gibbs sampling.

Couplings are symmetric neighbor lists ``(indptr, neighbors, coupling)``; see
:mod:`sidelight._kernels.mixture.field` for the model.
"""

from __future__ import annotations

import math

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.mixture.field import pick
from sidelight._typing import Array


@kernel
def _normalise(scores: Array) -> None:
    """Turn log-weights into probabilities, in place."""
    top = scores.max()
    total = 0.0
    for label in range(len(scores)):
        scores[label] = math.exp(scores[label] - top)
        total += scores[label]
    for label in range(len(scores)):
        scores[label] /= total


@kernel
def mean_field_sweeps(
    logphi: Array,
    indptr: Array,
    neighbors: Array,
    coupling: Array,
    limit: float,
    order: Array,
    q: Array,
    tol: float,
    max_sweeps: int,
) -> int:
    """Update one node after the other, in place, until none moves by more than ``tol``.

    ``q_i(l) ∝ exp( phi[i, l] + Σ_j rho_ij q_j(l) )`` with couplings cut off at ``±limit``.
    Each update is the best one given the others, so that the bound never falls. A node is left
    alone until a neighbor has moved.
    """
    n, k = logphi.shape
    scores = np.empty(k)
    stale = np.ones(n, np.bool_)
    for sweep in range(max_sweeps):
        settled = True
        for i in order:
            if not stale[i]:
                continue
            stale[i] = False
            for label in range(k):
                scores[label] = logphi[i, label]
            for e in range(indptr[i], indptr[i + 1]):
                rho = min(max(coupling[e], -limit), limit)
                j = neighbors[e]
                for label in range(k):
                    scores[label] += rho * q[j, label]
            _normalise(scores)
            move = 0.0
            for label in range(k):
                move = max(move, abs(scores[label] - q[i, label]))
                q[i, label] = scores[label]
            if move > tol:
                settled = False
                for e in range(indptr[i], indptr[i + 1]):
                    stale[neighbors[e]] = True
        if settled:
            return sweep + 1
    return max_sweeps


@kernel
def mean_field_bound(
    logphi: Array,
    indptr: Array,
    neighbors: Array,
    coupling: Array,
    limit: float,
    q: Array,
) -> Array:
    """Terms of the bound ``H(q) + E_q[log weight]``, an edge shared by its two ends."""
    n, k = q.shape
    terms = np.zeros(n)
    for i in range(n):
        for label in range(k):
            if q[i, label] > 0.0:
                terms[i] += q[i, label] * (logphi[i, label] - math.log(q[i, label]))
        for e in range(indptr[i], indptr[i + 1]):
            rho = min(max(coupling[e], -limit), limit)
            for label in range(k):
                terms[i] += 0.5 * rho * q[i, label] * q[neighbors[e], label]
    return terms


@kernel
def gibbs_sweep(
    logphi: Array,
    indptr: Array,
    neighbors: Array,
    coupling: Array,
    labels: Array,
    uniform: Array,
    share: float,
    q: Array,
    agree: Array,
) -> None:
    """Draw every node given its neighbors, in every chain; add up the conditional distributions.

    ``labels`` of shape (chains, nodes) is where the chains are and where they end, ``uniform``
    holds a number for each draw. ``q`` and ``agree`` (listed like ``neighbors``) receive ``share``
    times the probabilities, which vary less than the labels drawn from them (Rao and Blackwell).
    """
    n, k = logphi.shape
    scores = np.empty(k)
    for chain in range(len(labels)):
        now = labels[chain]
        for i in range(n):
            for label in range(k):
                scores[label] = logphi[i, label]
            for e in range(indptr[i], indptr[i + 1]):
                scores[now[neighbors[e]]] += coupling[e]
            now[i] = pick(scores, uniform[chain, i])
            _normalise(scores)
            for label in range(k):
                q[i, label] += share * scores[label]
            for e in range(indptr[i], indptr[i + 1]):
                agree[e] += share * scores[now[neighbors[e]]]


@kernel
def _find(parent: Array, i: int) -> int:
    """Root of a node, with the path to it halved."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def swap_clusters(
    logphi: Array,
    edges: Array,
    coupling: Array,
    labels: Array,
    partner: Array,
    bonds: Array,
    uniform: Array,
    share: float,
    q: Array,
) -> None:
    """Swap two labels in whole clusters of nodes, in every chain (Wang, Swendsen, Kotecký 1989).

    ``partner`` of shape (chains, k) pairs the labels up; the nodes of two partners are an Ising
    model whose couplings may have either sign. An edge that is satisfied ties its ends with
    probability ``1 - exp(-|rho|)``; what is tied keeps its labels or swaps all of them, by the
    potentials of its nodes alone. ``bonds`` of shape (chains, edges) and ``uniform`` of shape
    (chains, nodes) hold a number for each draw; ``q`` receives ``share`` times the probabilities.
    """
    n = len(logphi)
    parent = np.empty(n, np.int64)
    gain = np.empty(n)
    for chain in range(len(labels)):
        now, other = labels[chain], partner[chain]
        for i in range(n):
            parent[i] = i
            gain[i] = 0.0
        for e in range(len(edges)):
            one, two = now[edges[e, 0]], now[edges[e, 1]]
            satisfied = one == two if coupling[e] > 0 else (two == other[one] and one != two)
            if satisfied and bonds[chain, e] < -math.expm1(-abs(coupling[e])):
                parent[_find(parent, edges[e, 0])] = _find(parent, edges[e, 1])
        for i in range(n):
            gain[_find(parent, i)] += logphi[i, other[now[i]]] - logphi[i, now[i]]
        for i in range(n):
            root = _find(parent, i)
            chance = 0.5 * (1.0 + math.tanh(0.5 * gain[root]))
            q[i, now[i]] += share * (1.0 - chance)
            q[i, other[now[i]]] += share * chance
            if uniform[chain, root] < chance:
                now[i] = other[now[i]]
