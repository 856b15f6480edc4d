"""Generalized columns of classes of rows, and rows that are published alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._kernels.privacy.anonymizer.penalty import common_ancestor_of_classes
from sidelight._typing import Array, IntArray
from sidelight.privacy.anonymizer._columns import Column
from sidelight.privacy.anonymizer._encode import Encoded
from sidelight.privacy.anonymizer._hierarchy import Tree
from sidelight.privacy.anonymizer._texts import (
    ANY,
    NOTHING,
    NumberTexts,
    date_text,
    different_texts,
    range_texts,
    several,
    single,
)


@dataclass(frozen=True, eq=False)
class RowsByClass:
    """Rows by class.

    Attributes
    ----------
    members : ndarray of int
        Positions of the rows, those of a class next to each other.
    starts : ndarray of int
        Where each class begins in ``members``, and the end.
    """

    members: IntArray
    starts: IntArray

    @property
    def n(self) -> int:
        """Number of classes."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> IntArray:
        """Number of rows of every class."""
        return np.diff(self.starts)


def classes_of(labels: IntArray) -> RowsByClass:
    """Rows by class; those with -1 are in none. Every class from 0 on has rows."""
    order = np.argsort(labels, kind="stable")
    n_out = int(np.count_nonzero(labels < 0))
    sizes = np.bincount(labels[labels >= 0])
    return RowsByClass(order[n_out:], np.concatenate([[0], np.cumsum(sizes)]))


def class_texts(encoded: Encoded, classes: RowsByClass, form: str = "ranges") -> list[Array]:
    """Published text of every class, column by column.

    Parameters
    ----------
    encoded : Encoded
        The columns.
    classes : RowsByClass
        Rows by class.
    form : {"ranges", "representatives"}, default="ranges"
        Ranges and sets, or means and most frequent values.
    """
    texts = []
    for place, column in enumerate(encoded.columns):
        codes = column.codes[classes.members]
        if place in encoded.trees:
            texts.append(_node_texts(encoded.trees[place], codes, classes.starts))
        elif form == "representatives":
            texts.append(_representatives(column, codes, classes))
        elif column.is_ordered:
            texts.append(_ranges(column, codes, classes))
        else:
            texts.append(_sets(column, codes, classes))
    return texts


def _ranges(column: Column, codes: IntArray, classes: RowsByClass) -> Array:
    starts = classes.starts[:-1]
    low, high = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
    texts = np.empty(classes.n, dtype=object)
    nothing, mixed = high < 0, (low < 0) & (high >= 0)
    full = ~(nothing | mixed)
    texts[nothing], texts[mixed] = NOTHING, ANY
    texts[full] = range_texts(column, low[full], high[full])
    return texts


def _sets(column: Column, codes: IntArray, classes: RowsByClass) -> Array:
    """Sets of categories; a missing value is one of them, after all others."""
    n_values = len(column.values)
    width = n_values + 1
    of_class = np.repeat(np.arange(classes.n), classes.sizes)
    pairs = np.unique(of_class * width + np.where(codes < 0, n_values, codes))
    owner, code = np.divmod(pairs, width)
    number = np.bincount(owner, minlength=classes.n)
    first = np.concatenate([[0], np.cumsum(number)])
    singles = np.array([*(single(text) for text in column.values.tolist()), NOTHING], dtype=object)
    texts = singles[code[first[:-1]]]
    texts[(number == column.n_different) & (number > 1)] = ANY
    levels: list[Any] = [*column.values.tolist(), None]
    known: dict[bytes, str] = {}
    for c in np.flatnonzero((number > 1) & (number < column.n_different)).tolist():
        held = code[first[c] : first[c + 1]]
        key = held.tobytes()
        if key not in known:
            known[key] = several([levels[one] for one in held.tolist()])
        texts[c] = known[key]
    return texts


def _node_texts(tree: Tree, codes: IntArray, starts: IntArray) -> Array:
    leaves = tree.leaf[codes].astype(np.int32)
    nodes = common_ancestor_of_classes(leaves, starts, tree.parent, tree.depth)
    names = np.array([single(name) for name in tree.names], dtype=object)
    names[tree.leaf[-1]] = NOTHING
    root = int(np.flatnonzero(tree.depth == 0)[0])
    if tree.names[root] == ANY:
        names[root] = ANY
    return names[nodes]


def _representatives(column: Column, codes: IntArray, classes: RowsByClass) -> Array:
    """Means of numbers and dates, most frequent categories; missing where most are."""
    starts = classes.starts[:-1]
    known = codes >= 0
    n_known = np.add.reduceat(known.astype(np.int64), starts)
    missing = 2 * n_known < classes.sizes
    if not column.is_ordered:
        texts = _most_frequent(column, codes, classes)
    else:
        texts = _means(column, codes, classes, np.maximum(n_known, 1))
    texts[missing | (n_known == 0)] = NOTHING
    return texts


def _most_frequent(column: Column, codes: IntArray, classes: RowsByClass) -> Array:
    """The most frequent category, the first of several."""
    width = len(column.values) + 1
    of_class = np.repeat(np.arange(classes.n), classes.sizes)
    known = codes >= 0
    pairs, counts = np.unique(of_class[known] * width + codes[known], return_counts=True)
    owner, code = np.divmod(pairs, width)
    order = np.lexsort((code, -counts, owner))
    first = np.searchsorted(owner[order], np.arange(classes.n))
    singles = np.array([*(single(text) for text in column.values.tolist()), ""], dtype=object)
    return singles[np.append(code[order], width - 1)[np.minimum(first, len(code))]]


def _means(column: Column, codes: IntArray, classes: RowsByClass, n_known: IntArray) -> Array:
    """Means from the positions of the values, in the digits of the column."""
    starts = classes.starts[:-1]
    position = np.append(column.positions, 0.0)[codes]
    mean = np.add.reduceat(position, starts) / n_known
    low, high = column.values[0], column.values[-1]
    if column.kind == "date":
        width = int(high.astype(np.int64)) - int(low.astype(np.int64))
        moments = low + np.round(mean * width).astype(np.int64).astype(
            column.values.dtype.str.replace("M8", "m8")
        )
        return np.array([date_text(moment, column.zone) for moment in moments], dtype=object)
    half = float(low) / 2 + mean * (float(high) / 2 - float(low) / 2)
    style = NumberTexts(column)
    different, place = np.unique(half * 2, return_inverse=True)
    texts = np.array([style.nearest(value) for value in different.tolist()], dtype=object)
    return texts[place]


def published_alike(texts: list[Array], labels: IntArray) -> tuple[IntArray, IntArray]:
    """Labels by what is published, numbered by first appearance, and a class of each.

    Returns
    -------
    labels : ndarray of int
        Two rows have the same label if and only if they are published alike; -1 stays.
    kept : ndarray of int
        For every new label one of the old ones, whose texts are the same.
    """
    n_old = len(texts[0])
    codes = np.zeros(n_old, np.int64)
    for column in texts:
        _, of_column = different_texts(column)
        _, codes = np.unique(codes * (of_column.max() + 1) + of_column, return_inverse=True)
    placed = labels >= 0
    joined = codes[labels[placed]]
    _, first, place = np.unique(joined, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    new = np.full(len(labels), -1, np.int64)
    new[placed] = rank[place]
    kept = np.empty(len(first), np.int64)
    kept[rank] = labels[placed][first]
    return new, kept


def as_given(columns: list[Array], names: list[str], X: Any, rows: IntArray) -> Any:
    """Columns of texts as the kind of table that ``X`` is, for some of its rows."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        import pandas as pd

        return pd.DataFrame(dict(enumerate(columns)), index=X.index[rows], dtype=object).set_axis(
            X.columns, axis=1
        )
    if hasattr(X, "get_columns"):
        import polars as pl

        return pl.DataFrame(
            {
                name: pl.Series(column, dtype=pl.String)
                for name, column in zip(names, columns, strict=True)
            }
        )
    if hasattr(X, "column_names"):
        import pyarrow as pa

        return pa.table(
            {name: pa.array(c, pa.string()) for name, c in zip(names, columns, strict=True)}
        )
    if isinstance(X, dict):
        return {name: column.tolist() for name, column in zip(names, columns, strict=True)}
    return np.column_stack(columns).astype(object)


def class_summaries(encoded: Encoded, classes: RowsByClass) -> tuple[Array, ...]:
    """Ranges, sets and nodes of classes, as the search for the nearest class takes them."""
    num, cat, _, tree, parent, depth, _ = encoded.arrays
    starts = classes.starts[:-1]
    rows = num[classes.members]
    low, high = np.minimum.reduceat(rows, starts), np.maximum.reduceat(rows, starts)
    n_cat = cat.shape[1]
    of_class = np.repeat(np.arange(classes.n), classes.sizes)
    pairs, numbers = [], np.zeros((classes.n, n_cat), np.int64)
    for j in range(n_cat):
        width = int(encoded.arrays[2][j])
        different = np.unique(of_class * width + cat[classes.members, j])
        owner, code = np.divmod(different, width)
        numbers[:, j] = np.bincount(owner, minlength=classes.n)
        pairs.append((owner * n_cat + j, code))
    order = np.argsort(np.concatenate([np.zeros(0, np.int64), *(owner for owner, _ in pairs)]))
    sets = np.concatenate([np.zeros(0, np.int64), *(code for _, code in pairs)])[order]
    ends = np.concatenate([[0], np.cumsum(numbers.ravel())])
    set_starts = ends[np.arange(classes.n)[:, None] * n_cat + np.arange(n_cat + 1)]
    nodes = [
        common_ancestor_of_classes(tree[classes.members, j], classes.starts, parent, depth)
        for j in range(tree.shape[1])
    ]
    node = np.column_stack(nodes) if nodes else np.zeros((classes.n, 0), np.int64)
    return low, high, sets, set_starts, node
