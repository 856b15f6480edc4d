"""The loss as a sum of terms: which rows the labels, pairs and groups name, and how they enter.

Every term is a loss of one number ``z_r = (B F)_r``, a combination of the values ``F`` of the
classifier at the *points*: the rows with constraints, and the centroids of groups. In
the space of the kernel a centroid is the mean of its rows, so that ``f`` of it is the mean of
theirs. The design ``B`` has a row for

- every labeled row, ``f_i``;
- every must-link, ``f_i - f_j``, and every row of a group, ``f_i - f_m`` with its centroid ``m``;
- every cannot-link, ``f_i + f_j``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.constraints import Constraints


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms of the loss: points, and labels and pairs of points.

    Attributes
    ----------
    support : ndarray of int64, shape (n_support,)
        Rows with constraints, ascending.
    averages : CSR array of shape (n_points, n_support)
        The points as means of these rows: the rows themselves first, then the centroids of groups.
    labeled, codes : ndarray of int64, shape (n_labeled,)
        Points whose class is known, and its code.
    same, apart : ndarray of int64, shape (n_same, 2) and (n_apart, 2)
        Pairs of points of one class (must-links, then rows of groups with their centroids), and of
        different classes.
    same_weight, apart_weight : ndarray of float64
        Their weights; a row of a group has weight 1.
    """

    support: IntArray
    averages: sparse.csr_array
    labeled: IntArray
    codes: IntArray
    same: IntArray
    same_weight: FloatArray
    apart: IntArray
    apart_weight: FloatArray

    @property
    def n_points(self) -> int:
        """Number of points."""
        return int(self.averages.shape[0])

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return len(self.labeled) + len(self.same) + len(self.apart)

    @cached_property
    def design(self) -> sparse.csr_array:
        """The matrix ``B`` of shape (n_terms, n_points)."""
        labels = np.ones(len(self.labeled))
        columns = np.concatenate([self.labeled, self.same.ravel(), self.apart.ravel()])
        values = np.concatenate(
            [labels, np.tile([1.0, -1.0], len(self.same)), np.ones(2 * len(self.apart))]
        )
        lengths = np.repeat([1, 2, 2], [len(self.labeled), len(self.same), len(self.apart)])
        starts = np.concatenate([[0], np.cumsum(lengths)])
        return sparse.csr_array((values, columns, starts), shape=(self.n_terms, self.n_points))

    def signs(self, code: int) -> FloatArray:
        """1 for labeled points of a class, -1 for those of others."""
        return np.where(self.codes == code, 1.0, -1.0)


def make_terms(labels: IntArray, known: Constraints) -> Terms:
    """Collect the terms of what is known.

    Parameters
    ----------
    labels : ndarray of int64, shape (n_samples,)
        Codes of the classes, -1 for unlabeled rows.
    known : Constraints
        Pairs and groups.
    """
    rows, group = _grouped_rows(known)
    stated = (np.flatnonzero(labels >= 0), known.must_link.ravel(), known.cannot_link.ravel(), rows)
    support = np.unique(np.concatenate(stated)).astype(np.int64)
    place = np.full(known.n_samples, -1, dtype=np.int64)
    place[support] = np.arange(len(support))
    labeled = support[labels[support] >= 0]
    members = np.column_stack([place[rows], len(support) + group])
    return Terms(
        support=support,
        averages=_averages(len(support), place[rows], group),
        labeled=place[labeled],
        codes=labels[labeled],
        same=np.concatenate([place[known.must_link], members]),
        same_weight=np.concatenate([known.must_link_weight, np.ones(len(rows))]),
        apart=place[known.cannot_link],
        apart_weight=np.asarray(known.cannot_link_weight),
    )


def _grouped_rows(known: Constraints) -> tuple[IntArray, IntArray]:
    """Rows in groups of at least two rows, and the number of their group among these."""
    if known.groups is None:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing
    rows = np.flatnonzero(known.groups >= 0)
    sizes = np.bincount(known.groups[rows])
    rows = rows[sizes[known.groups[rows]] > 1]
    number: Array = np.unique(known.groups[rows], return_inverse=True)[1]
    return rows, number.astype(np.int64)


def _averages(n_support: int, rows: IntArray, group: IntArray) -> sparse.csr_array:
    """The identity, and below it a row for every group that takes the mean of its rows."""
    rows_alone = sparse.eye_array(n_support, format="csr")
    if not len(rows):
        return rows_alone
    sizes = np.bincount(group)
    shape = (len(sizes), n_support)
    means = sparse.csr_array((1.0 / sizes[group], (group, rows)), shape=shape)
    return sparse.csr_array(sparse.vstack([rows_alone, means], format="csr"))
