"""Diversity of the sensitive values of a class."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._kernels import kernel

DISTINCT, ENTROPY, RECURSIVE, RECURSIVE_PUBLISHED = 0, 1, 2, 3

#: Entropies that are equal but for rounding count as equal: log l of l equal counts.
ROUNDING = 5e-13


@kernel
def is_diverse(counts: Any, model: int, least: int, constant: float) -> bool:
    """Whether counts of sensitive values, some of which may be 0, satisfy a model.

    Parameters
    ----------
    counts : ndarray of int
        Number of rows of every value.
    model : int
        DISTINCT, ENTROPY, RECURSIVE or RECURSIVE_PUBLISHED.
    least : int
        The ``l`` of the model.
    constant : float
        The ``c`` of the recursive models.
    """
    if least <= 1:
        return True
    present = 0
    total = 0
    for count in counts:
        if count > 0:
            present += 1
            total += count
    if present < least:  # follows from every model
        return False
    if model == DISTINCT:
        return True
    if model == ENTROPY:
        entropy = 0.0
        for count in counts:
            if count > 0:
                share = count / total
                entropy -= share * np.log(share)
        return entropy >= np.log(least) - ROUNDING
    ordered = np.empty(present, np.int64)
    place = 0
    for count in counts:
        if count > 0:
            ordered[place] = count
            place += 1
    ordered.sort()
    # All values but the l - 1 most frequent, or, as the text has it, the l least frequent ones.
    in_tail = present - least + 1 if model == RECURSIVE else least
    return ordered[-1] < constant * ordered[:in_tail].sum()


@kernel
def rows_are_diverse(
    sensitive: Any, values: Any, rows: Any, size: int, without: int, extra: int, rule: Any
) -> bool:
    """Whether rows of a class satisfy the rule in every sensitive column.

    Parameters
    ----------
    sensitive : ndarray of shape (n, q)
        Codes of the sensitive values.
    values : ndarray of shape (q,)
        Number of values of every sensitive column.
    rows : ndarray of int
        Rows of the class, in the first ``size`` places.
    size : int
        Number of rows.
    without : int
        Place that does not count; -1 for none.
    extra : int
        Row that counts too; -1 for none.
    rule : tuple (model, l, c)
        The model of diversity.
    """
    model, least, constant = rule
    if least <= 1:
        return True
    for j in range(sensitive.shape[1]):
        counts = np.zeros(values[j], np.int64)
        for a in range(size):
            if a != without:
                counts[sensitive[rows[a], j]] += 1
        if extra >= 0:
            counts[sensitive[extra, j]] += 1
        if not is_diverse(counts, model, least, constant):
            return False
    return True
