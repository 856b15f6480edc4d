"""From eigenvectors to labels: rotations that bring rows to the axes (Hamad, part 2)."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from sidelight._fit.lowest import lowest
from sidelight._typing import Array

#: Quality of alignment that counts as the same.
SAME_QUALITY = 1e-3

#: Random starts of an alignment beside the one that is given.
ALIGN_STARTS = 4


def unit_rows(vectors: Array) -> Array:
    """Rows of length 1; rows of zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))


def discretize(
    vectors: Array, random_state: np.random.RandomState, n_init: int = 10
) -> tuple[Array, Array]:
    """Labels by the rotation that brings the rows nearest to one-hot vectors, and mean rows.

    Alternates (Yu, Shi 2003) ``H = onehot(argmax X̃R)`` and ``R`` from the SVD of ``H'X̃``;
    ``tr(R'X̃'H)`` rises.
    """
    rows = unit_rows(vectors)
    best, labels = -np.inf, np.zeros(len(rows), dtype=np.int32)
    for _ in range(n_init):
        rotation = _orthogonal_rows(rows, random_state)
        value = -np.inf
        for _ in range(100):
            found = np.argmax(rows @ rotation, axis=1)
            sums = np.zeros((rows.shape[1], rows.shape[1]))
            np.add.at(sums, found, rows)
            left, singular, right = np.linalg.svd(sums)
            new_value = float(singular.sum())
            if new_value <= value * (1 + 1e-12):
                break
            value = new_value
            rotation = right.T @ left.T
        if value > best * (1 + 1e-9) or best == -np.inf:
            best, labels = value, found.astype(np.int32)
    means = np.zeros((rows.shape[1], rows.shape[1]))
    np.add.at(means, labels, vectors)
    return labels, means / np.maximum(np.bincount(labels, minlength=len(means)), 1)[:, None]


def _orthogonal_rows(rows: Array, random_state: np.random.RandomState) -> Array:
    """Rows that are as orthogonal to each other as can be found greedily, as columns."""
    k = rows.shape[1]
    chosen = np.zeros((k, k))
    chosen[:, 0] = rows[random_state.randint(len(rows))]
    overlap = np.zeros(len(rows))
    for column in range(1, k):
        overlap += np.abs(rows @ chosen[:, column - 1])
        chosen[:, column] = rows[int(np.argmin(overlap))]
    return chosen


def alignment_cost(vectors: Array, rotation: Array) -> tuple[float, Array]:
    """``J = Σ_i Σ_j Z_ij² / max_j Z_ij²`` of ``Z = XR``, and its gradient by ``R``.

    ``n ≤ J ≤ nC``; ``J = n`` where every row has one entry that is not zero.
    """
    Z = vectors @ rotation
    n = np.arange(len(Z))
    largest = np.argmax(np.abs(Z), axis=1)
    peak = Z[n, largest]
    nowhere = np.abs(peak) <= 1e-12  # a row without a place is as far from an axis as can be
    safe = np.where(nowhere, 1.0, peak)
    squares = (Z / safe[:, None]) ** 2
    squares[nowhere] = 1.0
    slope = 2 * Z / safe[:, None] ** 2
    slope[n, largest] -= 2 * squares.sum(axis=1) / safe
    slope[nowhere] = 0.0
    return float(squares.sum()), vectors.T @ slope


def align(vectors: Array, start: Array | None = None) -> tuple[float, Array]:
    """Rotation of least ``J`` (Zelnik-Manor, Perona 2004): cost per row, and the aligned rows.

    ``R`` is a product of Givens rotations; the gradient by their angles needs the rows only once.
    """
    k = vectors.shape[1]
    X = vectors if start is None else start
    planes = [(p, q) for p in range(k) for q in range(p + 1, k)]

    def cost(angles: Array) -> tuple[float, Array]:
        rotation, parts = _rotation(angles, planes, k)
        value, slope = alignment_cost(X, rotation)
        gradient = np.array(
            [
                np.sum(slope * _turned(parts, number, planes, angles, k))
                for number in range(len(planes))
            ]
        )
        return value / len(X), gradient / len(X)

    if not planes:
        return alignment_cost(X, np.eye(k))[0] / len(X), X
    # The cost has kinks and several valleys; eigenvectors of one eigenvalue come turned anyhow.
    rng = np.random.RandomState(0)
    angles = [np.zeros(len(planes)), *rng.uniform(0, np.pi, (ALIGN_STARTS, len(planes)))]
    ends = [minimize(cost, start, jac=True, method="L-BFGS-B") for start in angles]
    found = ends[lowest((float(end.fun) for end in ends), "rotations")]
    return float(found.fun), X @ _rotation(found.x, planes, k)[0]


def _givens(k: int, plane: tuple[int, int], angle: float, *, slope: bool = False) -> Array:
    p, q = plane
    matrix = np.zeros((k, k)) if slope else np.eye(k)
    c, s = np.cos(angle), np.sin(angle)
    if slope:
        matrix[p, p], matrix[p, q], matrix[q, p], matrix[q, q] = -s, -c, c, -s
    else:
        matrix[p, p], matrix[p, q], matrix[q, p], matrix[q, q] = c, -s, s, c
    return matrix


def _rotation(
    angles: Array, planes: list[tuple[int, int]], k: int
) -> tuple[Array, tuple[list[Array], list[Array]]]:
    """The product of all rotations, and the products before and behind each."""
    before = [np.eye(k)]
    for plane, angle in zip(planes, angles, strict=True):
        before.append(before[-1] @ _givens(k, plane, angle))
    behind = [np.eye(k)]
    for plane, angle in zip(reversed(planes), reversed(angles), strict=True):
        behind.append(_givens(k, plane, angle) @ behind[-1])
    return before[-1], (before, behind[::-1])


def _turned(
    parts: tuple[list[Array], list[Array]],
    number: int,
    planes: list[tuple[int, int]],
    angles: Array,
    k: int,
) -> Array:
    before, behind = parts
    slope = _givens(k, planes[number], angles[number], slope=True)
    return np.asarray(before[number] @ slope @ behind[number + 1])


def aligned_number(vectors: Array) -> tuple[int, Array, Array]:
    """Number of groups by alignment: the largest whose quality is the best up to a thousandth.

    Returns
    -------
    k : int
        Number of groups, at least 2.
    qualities : ndarray
        ``1 - (J/n - 1)/k`` for k = 2, 3, ...
    aligned : ndarray of shape (n, k)
        Aligned rows of the chosen number; the label of a row is where its entry is largest.
    """
    rows = unit_rows(vectors)
    qualities, results = [], []
    aligned = rows[:, :1]
    for k in range(2, rows.shape[1] + 1):
        start = np.hstack([aligned, rows[:, k - 1 : k]])
        cost, aligned = align(rows[:, :k], start)
        qualities.append(1.0 - (cost - 1.0) / k)
        results.append(aligned)
    best = max(qualities)
    chosen = max(i for i, quality in enumerate(qualities) if quality >= best - SAME_QUALITY)
    return chosen + 2, np.array(qualities), results[chosen]


def eigengap(eigenvalues: Array) -> int:
    """Number of groups before the largest gap of ascending eigenvalues."""
    return int(np.argmax(np.diff(eigenvalues))) + 1
