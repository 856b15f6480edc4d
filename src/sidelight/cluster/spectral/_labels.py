"""From eigenvectors to labels: rotations that bring rows to the axes (Hamad, part 2)."""

from __future__ import annotations

import numpy as np

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
