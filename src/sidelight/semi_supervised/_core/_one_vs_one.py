"""More than two classes by machines for two: one for every pair of classes, which vote."""

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


def vote(values: Array, n_classes: int) -> Array:
    """Decision values per class from those of the machines.

    A class has a vote for every machine that prefers it; the sum of its values, squashed to less
    than half a vote, orders classes with as many votes.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_pairs)
        Decision values of the machines, in the order of :func:`class_pairs`.
    n_classes : int
        Number of classes.

    Returns
    -------
    decision : ndarray of shape (n_rows, n_classes)
        The largest is that of the class that is chosen.
    """
    votes = np.zeros((len(values), n_classes))
    sums = np.zeros((len(values), n_classes))
    for place, (first, second) in enumerate(class_pairs(n_classes)):
        value = values[:, place]
        votes[:, first] += value <= 0
        votes[:, second] += value > 0
        sums[:, first] -= value
        sums[:, second] += value
    return votes + sums / (3 * (1 + np.abs(sums)))
