"""The conditions, counted again in the published table, independent of how it was made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.privacy.anonymizer._columns import Column
from sidelight.privacy.anonymizer._conditions import ClassConditions

#: Rounding of logarithms: three equal counts have the entropy log 3.
ROUNDING = 1e-12


def equivalence_classes(columns: list[Any]) -> IntArray:
    """Number the rows by what is published: equal numbers for rows that are alike.

    Parameters
    ----------
    columns : list of arrays of texts
        Published columns.
    """
    import pyarrow as pa

    codes = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        encoded = pa.array(column, pa.string()).dictionary_encode()
        indices = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
        _, codes = np.unique(codes * (indices.max() + 1) + indices, return_inverse=True)
    return codes


@dataclass(frozen=True, eq=False)
class Counts:
    """How often every sensitive value occurs in every class: pairs that occur, by class.

    Attributes
    ----------
    owner : ndarray of int
        Class of each pair.
    value : ndarray of int
        Sensitive value of each pair.
    n : ndarray of int
        Rows of each pair; the most frequent value of a class first.
    n_classes : int
        Number of classes.
    """

    owner: IntArray
    value: IntArray
    n: IntArray
    n_classes: int

    @property
    def distinct(self) -> IntArray:
        """Number of different values of every class."""
        return np.bincount(self.owner, minlength=self.n_classes)

    def effective(self) -> FloatArray:
        """Exponential of the entropy of every class."""
        total = np.bincount(self.owner, self.n, self.n_classes)
        share = self.n / total[self.owner]
        return np.exp(np.bincount(self.owner, -share * np.log(share), self.n_classes))

    def recursive(self, c: float) -> IntArray:
        """Largest ``l`` of every class with ``r_1 < c (r_l + ... + r_v)``."""
        first = np.searchsorted(self.owner, np.arange(self.n_classes))
        before = np.concatenate([[0], np.cumsum(self.n)])
        end = np.append(first[1:], len(self.n))
        tail = before[end[self.owner]] - before[:-1]
        holds = self.n[first[self.owner]] < c * tail
        return np.bincount(self.owner[holds], minlength=self.n_classes)

    def recursive_published(self, c: float) -> IntArray:
        """Largest ``l`` of every class with ``r_1 < c`` times its ``l`` least frequent values."""
        first = np.searchsorted(self.owner, np.arange(self.n_classes))
        end = np.append(first[1:], len(self.n))
        before = np.concatenate([[0], np.cumsum(self.n)])
        tail = before[end[self.owner]] - before[:-1]  # of the last values, from each on
        holds = self.n[first[self.owner]] < c * tail
        number = (end[self.owner] - np.arange(len(self.n))) * holds
        most = np.zeros(self.n_classes, np.int64)
        np.maximum.at(most, self.owner, number)
        return most

    def published_holds(self, least: int, c: float) -> Array:
        """Whether ``r_1 < c`` times the ``least`` least frequent values, in every class."""
        first = np.searchsorted(self.owner, np.arange(self.n_classes))
        end = np.append(first[1:], len(self.n))
        from_last = end[self.owner] - np.arange(len(self.n))
        rarest = np.bincount(self.owner, np.where(from_last <= least, self.n, 0), self.n_classes)
        return (self.distinct >= least) & (self.n[first] < c * rarest)

    def reached(self, model: str, c: float) -> float:
        """Diversity of all classes by a model."""
        if model == "distinct":
            return float(self.distinct.min())
        if model == "entropy":
            return float(self.effective().min())
        if model == "recursive":
            return float(self.recursive(c).min())
        return float(self.recursive_published(c).min())

    def short_of(self, model: str, least: int, c: float) -> Array:
        """Classes that do not satisfy a model."""
        if least <= 1:
            return np.zeros(self.n_classes, bool)
        if model == "distinct":
            return self.distinct < least
        if model == "entropy":
            return self.effective() < least * (1 - ROUNDING)
        if model == "recursive":
            return self.recursive(c) < least
        return ~self.published_holds(least, c)


def check_published(sizes: IntArray, classes: IntArray, conditions: ClassConditions) -> None:
    """Raise unless every class of the published table satisfies the conditions."""
    if sizes.min() < conditions.k:
        raise AnonymityError(
            f"A class of the generalized table has {sizes.min()} rows, fewer than k={conditions.k}."
        )
    for column in conditions.columns:
        if falls_short(column, classes, conditions).any():
            raise AnonymityError(
                f"A class of the generalized table is not diverse enough in {column.name!r}, or "
                "too far from the whole table."
            )


class AnonymityError(RuntimeError):
    """A generalized table does not satisfy the conditions: a defect, and nothing is published."""


def counts_of(column: Column, classes: IntArray) -> Counts:
    """Count the values of a sensitive column in classes; a missing one is a value of its own."""
    width = len(column.values) + 1
    codes = np.where(column.codes < 0, width - 1, column.codes)
    pairs, n = np.unique(classes * width + codes, return_counts=True)
    owner, value = np.divmod(pairs, width)
    order = np.lexsort((-n, owner))
    return Counts(owner[order], value[order], n[order], int(classes.max()) + 1)


def falls_short(column: Column, classes: IntArray, conditions: ClassConditions) -> Array:
    """Classes that do not satisfy the conditions on a sensitive column."""
    counts = counts_of(column, classes)
    short = counts.short_of(conditions.model, conditions.least, conditions.c)
    if conditions.t < 1:
        short = short | (distances(column, counts) > conditions.t + ROUNDING)
    return short


def closeness(column: Column, classes: IntArray) -> float:
    """Largest distance of the distribution of a class to that of all rows."""
    return float(distances(column, counts_of(column, classes)).max())


def distances(column: Column, counts: Counts) -> FloatArray:
    """Distance of the distribution of every class to that of all rows."""
    width = len(column.values) + 1
    everywhere = np.bincount(counts.value, counts.n, width) / counts.n.sum()
    total = np.bincount(counts.owner, counts.n, counts.n_classes)
    share = counts.n / total[counts.owner]
    if not column.is_ordered or column.n_missing or len(column.values) < 2:
        more = np.maximum(share - everywhere[counts.value], 0.0)
        return np.asarray(np.bincount(counts.owner, more, counts.n_classes), np.float64)
    return _earth_mover(counts, share, np.cumsum(everywhere[:-1]))


def _earth_mover(counts: Counts, share: FloatArray, below: FloatArray) -> FloatArray:
    """Earth mover's distances over the ranks of ordered values, in [0, 1].

    Between two values that a class has, its distribution function is constant, so that sums of
    ``|F(v) - G(v)|`` are those of a sorted G: no table of classes by values is needed.
    """
    order = np.lexsort((counts.value, counts.owner))
    owner, value, part = counts.owner[order], counts.value[order], share[order]
    first = np.searchsorted(owner, np.arange(counts.n_classes))
    running = np.cumsum(part)
    level = running - (running[first] - part[first])[owner]
    n_values = len(below)
    last = np.append(first[1:], len(owner)) - 1
    until = np.append(value[1:], n_values)
    until[last] = n_values
    within = np.bincount(owner, _area(below, value, until, level), counts.n_classes)
    none = np.zeros(counts.n_classes)
    before = _area(below, np.zeros(counts.n_classes, np.int64), value[first], none)
    return (within + before) / (n_values - 1)


def _area(below: FloatArray, start: IntArray, end: IntArray, level: FloatArray) -> FloatArray:
    """Sum of ``|level - below|`` over places from ``start`` to before ``end``."""
    sums = np.concatenate([[0.0], np.cumsum(below)])
    cross = np.clip(np.searchsorted(below, level, side="right"), start, end)
    under = level * (cross - start) - (sums[cross] - sums[start])
    over = (sums[end] - sums[cross]) - level * (end - cross)
    return under + over
