"""Constraints as a graph with weights of both signs."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from sidelight.constraints import Pairs
from sidelight.graphs import degrees
from sidelight.graphs.inner import inverse_root


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
    degree = degrees(abs(Q))
    scale = sparse.diags_array(inverse_root(degree))
    inside = sparse.diags_array((degree > 0).astype(np.float64))
    return sparse.csr_array(inside - scale @ Q @ scale)
