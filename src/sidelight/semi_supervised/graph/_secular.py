"""Quadratic minimization on a sphere, by its secular equation (Gander, Golub, von Matt 1989)."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from sidelight._typing import Array

#: The right-hand side has nothing along eigenvectors of the least eigenvalue below this share.
NOTHING_ALONG = 1e-12


def minimize_on_sphere(G: Array, b: Array, squared_radius: float) -> Array:
    """Minimize ``w'Gw - 2b'w`` subject to ``w'w = r²``.

    The minimum solves ``(G - λ) w = b`` for the multiplier ``λ``, at most the least eigenvalue
    ``μ_1``, with ``Σ_i β_i² / (μ_i - λ)² = r²`` where ``β = Q'b`` and ``G = Q diag(μ) Q'``.

    Parameters
    ----------
    G : ndarray of shape (d, d)
        Symmetric.
    b : ndarray of shape (d,)
        Linear term.
    squared_radius : float
        ``r²``, above 0.

    Returns
    -------
    w : ndarray of shape (d,)
        A minimum; the global one.
    """
    radius = np.sqrt(squared_radius)
    mu, Q = np.linalg.eigh(G)
    beta = Q.T @ b
    length = float(np.linalg.norm(beta))
    width = max(float(mu[-1] - mu[0]), abs(float(mu[0])), 1e-300)
    least = mu - mu[0] <= NOTHING_ALONG * width
    along = float(np.linalg.norm(beta[least]))
    if along <= NOTHING_ALONG * max(length, width * radius):
        rest = _at(mu[~least] - mu[0], beta[~least])
        missing = squared_radius - float(rest @ rest)
        if missing >= 0:  # the hard case: the rest of the length is free along these vectors
            first = int(np.flatnonzero(least)[0])
            w = Q[:, ~least] @ rest + np.sqrt(missing) * Q[:, first]
            return w * (radius / np.linalg.norm(w))
    # In terms of the distance δ = μ_1 - λ the length falls, and lies within these ends.
    offsets = mu - mu[0]

    def too_short(delta: float) -> float:
        return 1.0 / float(np.linalg.norm(_at(offsets + delta, beta))) - 1.0 / radius

    low, high = along / radius, length / radius
    low = max(low, 1e-16 * high)
    if too_short(low) >= 0:
        delta = low
    elif too_short(high) <= 0:
        delta = high
    else:
        delta = brentq(too_short, low, high, xtol=1e-300, rtol=1e-14)
    w = Q @ _at(offsets + delta, beta)
    return np.asarray(w * (radius / np.linalg.norm(w)))


def _at(offsets: Array, beta: Array) -> Array:
    """``β / offsets``, 0 where there is nothing of ``b``."""
    return np.divide(beta, offsets, out=np.zeros_like(beta), where=beta != 0)
