"""Constraints as graphs: signed Laplacians, contracted vertices, edited similarities."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

from sidelight._typing import Array
from sidelight.constraints import Constraints, Pairs, known_pairs
from sidelight.graphs import degrees, inverse_root, laplacian, normalized_graph

#: Entailed pairs are written out up to this many.
MOST_ENTAILED = 50_000


def constraint_graph(pairs: Pairs, n: int) -> sparse.csr_array:
    """``Q``: plus the weight of a must-link, minus that of a cannot-link."""
    places = np.concatenate([pairs.together, pairs.apart])
    values = np.concatenate([pairs.together_weight, -pairs.apart_weight])
    upper = sparse.coo_array((values, (places[:, 0], places[:, 1])), shape=(n, n))
    return sparse.csr_array(upper + upper.T)


def entailed_pairs(known: Constraints) -> Pairs:
    """All pairs that follow from what is stated, where they are few and do not contradict."""
    closure = known.closure(on_contradiction="keep")
    n_pairs = closure.n_entailed_must_link + closure.n_entailed_cannot_link
    if len(closure.contradictions) or n_pairs > MOST_ENTAILED:
        return known_pairs(known)
    together, apart = closure.must_link_pairs(), closure.cannot_link_pairs()
    return Pairs(together, np.ones(len(together)), apart, np.ones(len(apart)))


def signed_laplacian(Q: sparse.csr_array) -> sparse.csr_array:
    """``D^{-1/2} (D - Q) D^{-1/2}``, ``D = diag Σ_j |Q_ij|``; rows without constraints are zero.

    ``u'(D - Q)u = Σ_ML (u_i - u_j)² + Σ_CL (u_i + u_j)²``, so the matrix is positive semi-definite
    with eigenvalues in [0, 2].
    """
    degree = degrees(abs(Q))
    scale = sparse.diags_array(inverse_root(degree))
    inside = sparse.diags_array((degree > 0).astype(np.float64))
    return sparse.csr_array(inside - scale @ Q @ scale)


def contract(W: sparse.csr_array, component: Array) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Graph of the must-link components, and the matrix that gives each row its component.

    Weights between two components add up; those inside one become its loop, so that degrees add up
    too. The normalised cut of a partition that keeps components together does not change.
    """
    n, k = len(component), int(component.max()) + 1
    member = sparse.csr_array((np.ones(n), (np.arange(n), component)), shape=(n, k))
    return sparse.csr_array(member.T @ W @ member), member


def largest_parts(W: sparse.csr_array, Q: sparse.csr_array, most: int) -> Array:
    """Which rows lie in the largest parts that edges and constraints join, and have either."""
    both = W + abs(Q)
    n_parts, part = connected_components(both, directed=False)
    volumes = np.bincount(part, weights=degrees(both), minlength=n_parts)
    kept = np.zeros(n_parts, dtype=bool)
    kept[np.argsort(-volumes, kind="stable")[:most]] = True
    return np.asarray((kept & (volumes > 0))[part])


def penalized_laplacian(
    W: sparse.csr_array, Q: sparse.csr_array, gamma: float, form: str, kept: Array
) -> sparse.csr_array:
    """Matrix of the cut and the price of pairs; rows that are not kept stand at 1 alone.

    - "separate": ``(1 - γ) L_sym + γ L̄_Q``.
    - "merged": the signed Laplacian of ``(1 - γ) D^{-1/2} W D^{-1/2} + γ Q̄``, ``Q̄`` the constraints
      divided by the roots of their degrees.
    - "difference": ``(1 - γ) L_sym + γ (L_ML - L_CL) / ‖L_ML - L_CL‖``, which is not definite.
    """
    if form == "separate":
        mixed = (1 - gamma) * laplacian(W) + gamma * signed_laplacian(Q)
    elif form == "merged":
        mixed = signed_laplacian(merged_graph(W, Q, gamma))
    else:
        plain = laplacian(Q, "unnormalized")  # negative weights push apart
        mixed = (1 - gamma) * laplacian(W) + gamma / _spectral_norm(plain) * plain
    inside = sparse.diags_array(kept.astype(np.float64))
    outside = sparse.diags_array((~kept).astype(np.float64))
    return sparse.csr_array(inside @ mixed @ inside + outside)


def _spectral_norm(matrix: sparse.csr_array) -> float:
    """Largest absolute eigenvalue."""
    n = matrix.shape[0]
    if n <= 100:
        return float(np.linalg.norm(matrix.toarray(), 2))
    start = np.random.RandomState(0).standard_normal(n)
    return float(np.abs(eigsh(matrix, 1, which="LM", v0=start, return_eigenvectors=False)[0]))


def merged_graph(W: sparse.csr_array, Q: sparse.csr_array, gamma: float) -> sparse.csr_array:
    """``(1 - γ) D^{-1/2} W D^{-1/2} + γ D_Q^{-1/2} Q D_Q^{-1/2}``."""
    scale = sparse.diags_array(inverse_root(degrees(abs(Q))))
    return sparse.csr_array((1 - gamma) * normalized_graph(W) + gamma * (scale @ Q @ scale))


def edit(W: sparse.csr_array, pairs: Pairs) -> sparse.csr_array:
    """Similarity 1 for must-linked rows and 0 for cannot-linked ones (Kamvar, Klein, Manning)."""
    Q = constraint_graph(pairs, W.shape[0])
    mentioned = sparse.csr_array((np.ones(Q.nnz), Q.indices, Q.indptr), shape=Q.shape)
    kept = W - W.multiply(mentioned)
    edited = sparse.csr_array(kept + (Q > 0).astype(np.float64))
    edited.eliminate_zeros()
    return edited
