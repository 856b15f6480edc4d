"""Sammon's stress with its gradient and the diagonal of its Hessian, for a tile of the points."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import sum_kernel
from sidelight._typing import Array


@sum_kernel
def stress_tile(
    wanted: Array, places: Array, others: Array, errors: Array, gradient: Array, curvature: Array
) -> None:
    """Write the stress of some points against all, and its derivatives.

    ``Σ_j (d_ij - δ_ij)² / δ_ij`` over the others of each point of the tile, without the factors
    that are common to all pairs; pairs at ``δ = 0`` count nowhere. Derivatives with respect to
    ``x_ik`` are ``Σ_j (1/δ_ij - 1/d_ij)(x_ik - x_jk)`` and
    ``Σ_j [(1/δ_ij - 1/d_ij) + (x_ik - x_jk)² / d_ij³]``; the terms in ``1/d`` are left out where
    two places coincide, which have no direction.

    Parameters
    ----------
    wanted : ndarray of float64, shape (m, n)
        Distances ``δ`` of the points of the tile to all.
    places : ndarray of float64, shape (m, q)
        Coordinates of the points of the tile.
    others : ndarray of float64, shape (q, n)
        Coordinates of all points, one after the other for each dimension.
    errors : ndarray of float64, shape (m,)
        Where the stress of each point is written.
    gradient, curvature : ndarray of float64, shape (m, q)
        Where the first and second derivatives are written.
    """
    m, n = wanted.shape
    q = len(others)
    pull, bend = np.empty(n), np.empty(n)
    for i in range(m):
        pull[:] = 0.0
        for k in range(q):
            for j in range(n):
                gap = places[i, k] - others[k, j]
                pull[j] += gap * gap
        error = 0.0
        for j in range(n):
            delta, d = wanted[i, j], np.sqrt(pull[j])
            weight = 1.0 / delta if delta > 0.0 else 0.0
            inverse = 1.0 / d if d > 0.0 and delta > 0.0 else 0.0
            error += (d - delta) * (d - delta) * weight
            pull[j] = weight - inverse
            bend[j] = inverse * inverse * inverse
        errors[i] = error
        slack = 0.0
        for j in range(n):
            slack += pull[j]
        for k in range(q):
            slope, curve = 0.0, 0.0
            for j in range(n):
                gap = places[i, k] - others[k, j]
                slope += pull[j] * gap
                curve += bend[j] * gap * gap
            gradient[i, k] = slope
            curvature[i, k] = slack + curve
