"""The table that every score of a partition is a function of: classes against clusters.

Rows whose class or cluster is unknown are left out of the table, and so of every score. Unknown
means ``-1``, ``NaN``, ``None`` or the empty string, as everywhere in Sidelight.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

from sidelight._typing import IntArray
from sidelight.constraints.inner import check_one_index, plain, read_classes
from sidelight.exceptions import SidelightError


@dataclass(frozen=True)
class Contingency:
    """Non-empty cells of the table of classes (rows) against clusters (columns).

    Attributes
    ----------
    row, column, count : ndarray of int64, shape (n_cells,)
        Cell ``(row[c], column[c])`` holds ``count[c] > 0`` objects; cells are sorted by row,
        then column.
    row_total, column_total : ndarray of int64
        Sizes of the classes and of the clusters, all positive.
    n : int
        Number of objects in the table.
    """

    row: IntArray
    column: IntArray
    count: IntArray
    row_total: IntArray
    column_total: IntArray
    n: int


def contingency(labels_true: Any, labels_pred: Any) -> Contingency:
    """Count the objects of each class in each cluster, in time and memory linear in the rows."""
    check_one_index(labels_pred, labels_true, "labels_pred", "labels_true")
    classes = encode_labels(labels_true, "labels_true")
    clusters = encode_labels(labels_pred, "labels_pred")
    if len(classes) != len(clusters):
        raise SidelightError(
            f"labels_true has {len(classes)} rows and labels_pred has {len(clusters)}; "
            "both must be about the same rows."
        )
    return count_codes(classes, clusters)


Value = TypeVar("Value")

LABELS = """Parameters
----------
labels_true, labels_pred : array-like of shape (n,)
    Classes and clusters, of any type. Rows where either is unknown (-1, NaN, None, "") are left
    out.

"""


class PartitionScore(Protocol[Value]):
    """A score of clusters against classes, and the same score of their table."""

    __name__: str
    of_table: Callable[[Contingency], Value]

    def __call__(self, labels_true: Any, labels_pred: Any) -> Value:
        """Return the score."""


def partition_score(of_table: Callable[[Contingency], Value]) -> PartitionScore[Value]:
    """Make a score of a table one of two labelings, and describe these in its docstring."""

    def score(labels_true: Any, labels_pred: Any) -> Value:
        return of_table(contingency(labels_true, labels_pred))

    for name in ("__module__", "__name__", "__qualname__"):
        setattr(score, name, getattr(of_table, name))
    head, _, examples = inspect.cleandoc(of_table.__doc__ or "").partition("Examples\n--------\n")
    score.__doc__ = f"{head}{LABELS}Examples\n--------\n{examples}"
    score.of_table = of_table  # type: ignore[attr-defined]
    return cast(PartitionScore[Value], score)


def count_codes(classes: IntArray, clusters: IntArray) -> Contingency:
    """Make the table from codes, where a negative code means unknown."""
    known = (classes >= 0) & (clusters >= 0)
    if not known.all():
        classes, clusters = classes[known], clusters[known]
    n = len(classes)
    if n == 0:
        raise SidelightError(
            "No row has both a known class and a known cluster, so there is nothing to score."
        )
    width = int(clusters.max()) + 1
    height = int(classes.max()) + 1
    key = classes * width + clusters
    if height * width <= max(4 * n, 1 << 16):
        dense = np.bincount(key)
        cells = np.flatnonzero(dense)
        count = dense[cells]
    else:
        cells, count = np.unique(key, return_counts=True)
    row_names, row = np.unique(cells // width, return_inverse=True)
    column_names, column = np.unique(cells % width, return_inverse=True)
    count = count.astype(np.int64, copy=False)
    return Contingency(
        row=row,
        column=column,
        count=count,
        row_total=_total_by(row, count, len(row_names)),
        column_total=_total_by(column, count, len(column_names)),
        n=n,
    )


def _total_by(group: IntArray, count: IntArray, n_groups: int) -> IntArray:
    total = np.zeros(n_groups, dtype=np.int64)
    np.add.at(total, group, count)
    return total


def encode_labels(labels: Any, name: str = "labels") -> IntArray:
    """Number the distinct labels from 0; unknown ones get -1. Any type, also mixed.

    Labels are read as constraints read them, except that the word "-1" is a class.
    """
    # Truth values and unsigned numbers are numbers here, also 255 of uint8 is a class.
    counts = isinstance(labels, np.ndarray) and labels.dtype.kind in "biu"
    values = labels if counts else plain(labels)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise SidelightError(
            f"{name} must hold one label per row, shape (n,), got shape {values.shape}."
        )
    if values.dtype.kind in "biu":
        return _encode_integers(values)
    return read_classes(values, name).codes


def _encode_integers(values: npt.NDArray[Any]) -> IntArray:
    if len(values) == 0:
        return np.zeros(0, dtype=np.int64)
    # A label "-1" exists only where the type is signed: 255 of uint8 is an ordinary class.
    unknown = values == -1 if values.dtype.kind == "i" else None
    low, high = int(values.min()), int(values.max())
    if high - low < max(2 * len(values), 1 << 16):
        # Names close together are counted rather than sorted: linear time.
        offset = values.astype(np.int64) - low if low else values.astype(np.int64)
        present = np.bincount(offset) > 0
        if unknown is None or not unknown.any():
            return offset if present.all() else (np.cumsum(present) - 1)[offset]
        present[-1 - low] = False
        code = np.cumsum(present) - 1
        code[-1 - low] = -1
        return code[offset]
    codes = np.unique(values, return_inverse=True)[1].astype(np.int64, copy=False)
    return codes if unknown is None else np.where(unknown, -1, codes)
