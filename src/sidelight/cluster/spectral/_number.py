"""Number of clusters from the eigenvalues or the eigenvectors of a graph (Hamad, part 2)."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from sidelight._kernels.cluster.alignment import alignment_cost, rotation_of, slopes_of_angles
from sidelight._typing import Array
from sidelight.cluster.spectral._labels import unit_rows

#: Eigenvalues below this share of the largest possible one are zero.
ZERO = 1e-8

#: A connected graph none of whose eigenvalues is this many times the one before is one cluster.
MIN_GAP = 1.5

#: An even line or ring, which has no clusters, has a gap of 4; one of 5 is marked.
MARKED_GAP = 5.0

#: Quality of alignment that counts as the same.
SAME_QUALITY = 1e-3

#: Random starts of an alignment beside the one that is given, and rows that they look at.
ALIGN_STARTS, START_ROWS = 4, 500

#: Change of the cost per row that ends a descent: a hundredth of a quality that counts.
DESCENT = {"ftol": 1e-5, "maxiter": 100}


def eigengap(eigenvalues: Array, scale: float = 1.0) -> tuple[int, float]:
    """Number of groups by relative gaps, and the gap behind them.

    Every connected part of a graph has an eigenvalue of zero, so that zeros are counted first;
    then the largest ``λ_{k+1} / λ_k`` of what is left decides. Where there are parts already it has
    to be marked, since the eigenvalues of an even shape rise in steps, too.

    Parameters
    ----------
    eigenvalues : ndarray of shape (m,)
        Smallest eigenvalues, ascending. At most ``m - 1`` groups are found.
    scale : float, default=1.0
        Largest eigenvalue that there may be: zero is what is small beside it.
    """
    most = len(eigenvalues) - 1
    parts = min(int(np.count_nonzero(eigenvalues <= ZERO * scale)), most)
    gaps = eigenvalues[parts + 1 :] / eigenvalues[parts:-1]
    if parts < most:
        best = int(np.argmax(gaps))
        if gaps[best] >= (MARKED_GAP if parts > 1 else MIN_GAP):
            return parts + 1 + best, float(gaps[best])
    return max(parts, 1), np.inf if parts > 1 else float(np.max(gaps, initial=1.0))


def align(vectors: Array, start: Array | None = None) -> tuple[float, Array]:
    """Rotation of least ``J`` (Zelnik-Manor, Perona 2004): cost per row, and the aligned rows.

    ``R`` is a product of rotations of two axes each, and ``J`` is minimized over their angles.
    """
    X = np.ascontiguousarray(vectors if start is None else start, dtype=np.float64)
    n, k = X.shape
    n_angles = k * (k - 1) // 2
    if not n_angles:
        return alignment_cost(X, np.eye(k))[0] / n, X

    def cost(angles: Array, rows: Array) -> tuple[float, Array]:
        rotation, gradient = np.empty((k, k)), np.empty(n_angles)
        rotation_of(angles, rotation)
        value, slope = alignment_cost(rows, rotation)
        slopes_of_angles(angles, slope, rotation, gradient)
        return value / len(rows), gradient / len(rows)

    def descend(angles: Array, rows: Array) -> tuple[float, Array]:
        end = minimize(cost, angles, (rows,), jac=True, method="L-BFGS-B", options=DESCENT)
        return float(end.fun), end.x

    # The cost has kinks and several valleys; eigenvectors of one eigenvalue come turned anyhow.
    rng = np.random.RandomState(0)
    starts = [np.zeros(n_angles), *rng.uniform(0, np.pi, (ALIGN_STARTS, n_angles))]
    some = X[np.unique(np.linspace(0, n - 1, min(n, START_ROWS)).astype(np.intp))]
    found = min((descend(angles, some) for angles in starts), key=lambda end: end[0])
    if len(some) < n:
        found = descend(found[1], X)
    rotation = np.empty((k, k))
    rotation_of(found[1], rotation)
    return found[0], X @ rotation


def aligned_number(vectors: Array) -> tuple[int, Array, Array]:
    """Number of groups by alignment: the largest whose quality is the best up to a thousandth.

    Returns
    -------
    k : int
        Number of groups; at least 2 where there is a second vector.
    qualities : ndarray
        ``1 - (J/n - 1)/k`` for k = 2, 3, ...
    aligned : ndarray of shape (n, k)
        Aligned rows of the chosen number; the label of a row is where its entry is largest.
    """
    rows = unit_rows(vectors)
    aligned = rows[:, :1]
    if rows.shape[1] < 2:
        return 1, np.empty(0), aligned
    qualities, results = [], []
    for k in range(2, rows.shape[1] + 1):
        start = np.hstack([aligned, rows[:, k - 1 : k]])
        cost, aligned = align(rows[:, :k], start)
        qualities.append(1.0 - (cost - 1.0) / k)
        results.append(aligned)
    best = max(qualities)
    chosen = max(i for i, quality in enumerate(qualities) if quality >= best - SAME_QUALITY)
    return chosen + 2, np.array(qualities), results[chosen]
