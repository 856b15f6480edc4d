"""Constraints as graphs: signed Laplacians, contracted vertices, constraints that spread."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import cg

from sidelight.constraints import Pairs
from sidelight.graphs import normalized_graph

Array = npt.NDArray[Any]

#: Entries of spread constraints that matter.
NOTABLE = 1e-3


def constraint_graph(pairs: Pairs, n: int) -> sparse.csr_array:
    """``Q``: plus the weight of a must-link, minus that of a cannot-link."""
    places = np.concatenate([pairs.together, pairs.apart])
    values = np.concatenate([pairs.together_weight, -pairs.apart_weight])
    upper = sparse.coo_array((values, (places[:, 0], places[:, 1])), shape=(n, n))
    return sparse.csr_array(upper + upper.T)


def signed_laplacian(Q: sparse.csr_array) -> sparse.csr_array:
    """``D^{-1/2} (D - Q) D^{-1/2}``, ``D = diag Σ_j |Q_ij|``; rows without constraints are zero.

    ``u'(D - Q)u = Σ_ML (u_i - u_j)² + Σ_CL (u_i + u_j)²``, so the matrix is positive semi-definite
    with eigenvalues in [0, 2].
    """
    degree = np.asarray(abs(Q).sum(axis=1)).reshape(-1)
    with np.errstate(divide="ignore"):
        roots = np.where(degree > 0, 1.0 / np.sqrt(degree), 0.0)
    scale = sparse.diags_array(roots)
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


def edit(W: sparse.csr_array, pairs: Pairs) -> sparse.csr_array:
    """Similarity 1 for must-linked rows and 0 for cannot-linked ones (Kamvar, Klein, Manning)."""
    Q = constraint_graph(pairs, W.shape[0])
    mentioned = sparse.csr_array((np.ones(Q.nnz), Q.indices, Q.indptr), shape=Q.shape)
    kept = W - W.multiply(mentioned)
    edited = sparse.csr_array(kept + (Q > 0).astype(np.float64))
    edited.eliminate_zeros()
    return edited


def propagate(W: sparse.csr_array, pairs: Pairs, alpha: float) -> sparse.csr_array:
    """Let constraints spread along the graph and change its weights (Lu, Ip 2010).

    ``F = (1 - α)² (I - αS)⁻¹ Z (I - αS)⁻¹`` is not zero only through constrained rows ``c``:
    ``F = (1 - α)² G Z_cc G'`` with the columns ``G = (I - αS)⁻¹[:, c]``, each by conjugate
    gradients. ``F`` is scaled to at most 1; then a weight ``w`` becomes ``1 - (1 - F)(1 - w)`` or
    ``(1 + F) w``, on the edges of the graph and of the constraints.
    """
    n = W.shape[0]
    Z = constraint_graph(pairs, n)
    Z.data = np.sign(Z.data)
    rows = np.flatnonzero(np.diff(Z.indptr))
    if not len(rows):
        return W
    system = sparse.csr_array(sparse.eye_array(n) - alpha * normalized_graph(W))
    G = np.empty((n, len(rows)))
    for column, row in enumerate(rows):
        unit = np.zeros(n)
        unit[row] = 1.0
        G[:, column] = cg(system, unit, rtol=1e-6)[0]
    inner = sparse.csr_array(Z[rows][:, rows])
    spread = (inner @ G.T).T  # n × |c|: F = spread · G', never formed
    edges = sparse.coo_array(W + abs(Z))
    first, second = edges.coords
    values = np.einsum("ec,ec->e", spread[first], G[second])
    largest = float(np.abs(values).max())
    if largest <= 0:
        return W
    F = sparse.csr_array((values / largest, (first, second)), shape=(n, n))
    F.data[np.abs(F.data) < NOTABLE] = 0.0
    similar = sparse.csr_array(W / max(1.0, float(W.max())))
    rise, fall = F.maximum(0.0), F.minimum(0.0)
    # 1 - (1 - F)(1 - w) = w + F - F w for F > 0, and w + F w for F < 0.
    changed = similar + rise - rise.multiply(similar) + fall.multiply(similar)
    changed = sparse.csr_array((changed + changed.T) / 2)
    changed.data = np.clip(changed.data, 0.0, 1.0)
    changed.setdiag(0.0)
    changed.eliminate_zeros()
    return changed
