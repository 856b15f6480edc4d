"""More than two classes by machines for two: one for every pair of classes."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sidelight._typing import Array, IntArray


def class_pairs(n_classes: int) -> list[tuple[int, int]]:
    """Pairs of classes ``a < b``; a machine for a pair is positive for ``b``."""
    return list(combinations(range(n_classes), 2))


def two_class_rows(labels: IntArray, pair: tuple[int, int]) -> tuple[IntArray, Array]:
    """Rows that take part in the machine of a pair, and their signs.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Codes of the classes, -1 for unlabeled rows.
    pair : tuple of int
        The two classes.

    Returns
    -------
    rows : ndarray of int64
        Rows of the two classes, and all unlabeled rows.
    signs : ndarray of float64
        -1 for rows of the first class, 1 for the second, 0 for unlabeled rows.
    """
    first, second = pair
    taken = (labels == first) | (labels == second) | (labels < 0)
    rows = np.flatnonzero(taken)
    signs = (labels[rows] == second).astype(np.float64) - (labels[rows] == first)
    return rows, signs
