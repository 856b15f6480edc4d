"""Columns as compiled loops take them, with their hierarchies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sidelight._kernels.privacy.anonymizer.penalty import MISSING
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.exceptions import SidelightError
from sidelight.io.inner import close_names
from sidelight.privacy.anonymizer._columns import Column, places_of
from sidelight.privacy.anonymizer._hierarchy import Hierarchy, Tree, as_hierarchy, tree_of

#: Positions of new numbers are so far beyond those of the fit at most.
BEYOND = 0.5


@dataclass(frozen=True, eq=False)
class Encoded:
    """The columns of a table, encoded.

    Attributes
    ----------
    columns : list of Column
        The columns.
    trees : dict of int to Tree
        Hierarchies, by position of the column.
    numeric, categorical, hierarchical : ndarray of int
        Positions of the columns of each kind of encoding.
    arrays : tuple
        What compiled loops take; see :mod:`sidelight._kernels.privacy.anonymizer.penalty`.
    """

    columns: list[Column]
    trees: dict[int, Tree]
    numeric: IntArray
    categorical: IntArray
    hierarchical: IntArray
    arrays: tuple[Array, ...]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].codes)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def without_rows(self) -> Encoded:
        """The encoding alone: a saved model should not hold the rows that it made anonymous."""
        none = np.zeros(0, np.int64)
        num, cat, domain, tree, *nodes = self.arrays
        return Encoded(
            [column.take(none) for column in self.columns],
            self.trees,
            self.numeric,
            self.categorical,
            self.hierarchical,
            (num[:0].copy(), cat[:0].copy(), domain, tree[:0].copy(), *nodes),
        )

    @property
    def n_marks(self) -> int:
        """Length of the marks that loops over categories need, one more than the largest domain."""
        return int(self.arrays[2].max(initial=0)) + 1


def read_hierarchies(given: Any, columns: Sequence[Column]) -> dict[str, Hierarchy]:
    """Hierarchies by column, checked against the names of the columns."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise SidelightError(
            f"hierarchies should be a dict of columns to hierarchies, got {type(given).__name__}."
        )
    names = [column.name for column in columns]
    for name in given:
        if str(name) not in names:
            raise SidelightError(
                f"hierarchies names a column {str(name)!r} that the table does not have; "
                f"{close_names(str(name), names)}."
            )
    return {str(name): as_hierarchy(one, str(name)) for name, one in given.items()}


def encode(columns: list[Column], hierarchies: Mapping[str, Hierarchy]) -> Encoded:
    """Encode columns for compiled loops."""
    trees = {
        place: tree_of(hierarchies[column.name], column)
        for place, column in enumerate(columns)
        if column.name in hierarchies
    }
    plain = [place for place in range(len(columns)) if place not in trees]
    numeric = [place for place in plain if columns[place].is_ordered]
    categorical = [place for place in plain if not columns[place].is_ordered]
    offsets, arrays = _joined_trees(trees)
    n_rows = len(columns[0].codes)
    num = np.empty((n_rows, len(numeric)))
    for j, place in enumerate(numeric):
        num[:, j] = np.append(columns[place].positions, MISSING)[columns[place].codes]
    cat = np.empty((n_rows, len(categorical)), np.int32)
    for j, place in enumerate(categorical):
        codes = columns[place].codes
        cat[:, j] = np.where(codes < 0, len(columns[place].values), codes)
    tree = np.empty((n_rows, len(trees)), np.int32)
    for j, (place, one) in enumerate(trees.items()):
        tree[:, j] = one.leaf[columns[place].codes] + offsets[j]
    domain = np.array([float(columns[place].n_different) for place in categorical])
    return Encoded(
        columns,
        trees,
        np.array(numeric, np.int64),
        np.array(categorical, np.int64),
        np.array(list(trees), np.int64),
        (num, cat, domain, tree, *arrays),
    )


def encode_new(fitted: Encoded, columns: Sequence[Column]) -> tuple[Array, Array, Array]:
    """Numbers, categories and leaves of new rows, as those of a fit were encoded.

    Numbers beyond those of the fit are beyond their positions; categories that did not occur have
    the code -1, and values that a hierarchy does not have stand at its root.
    """
    n_rows = len(columns[0].codes)
    num = np.empty((n_rows, len(fitted.numeric)))
    for j, place in enumerate(fitted.numeric):
        mine, known = columns[place], fitted.columns[place]
        ends = known.positions[[0, -1]] if len(known.values) else np.zeros(2)
        position = np.clip(_places_on(mine, known), ends[0] - BEYOND, ends[1] + BEYOND)
        num[:, j] = np.append(position, MISSING)[mine.codes]
    cat = np.empty((n_rows, len(fitted.categorical)), np.int32)
    for j, place in enumerate(fitted.categorical):
        known = fitted.columns[place]
        missing = len(known.values) if fitted.arrays[2][j] > len(known.values) else -1
        cat[:, j] = _codes_in(columns[place], known, missing)
    tree = np.empty((n_rows, len(fitted.trees)), np.int32)
    offsets, _ = _joined_trees(fitted.trees)
    for j, (place, one) in enumerate(fitted.trees.items()):
        root = int(np.flatnonzero(one.depth == 0)[0])
        codes = _codes_in(columns[place], fitted.columns[place], len(one.leaf) - 1)
        tree[:, j] = np.where(codes < 0, root, one.leaf[codes]) + offsets[j]
    return num, cat, tree


def _places_on(mine: Column, known: Column) -> FloatArray:
    if mine.kind != known.kind:
        if len(mine.values):
            raise SidelightError(
                f"Column {known.name!r} held {known.kind}s when the table was made, and holds "
                "something else now."
            )
        return np.zeros(0)
    values, on = mine.values, known
    if mine.kind == "date":
        unit = np.promote_types(values.dtype, known.values.dtype)
        values, on = values.astype(unit), replace(known, values=known.values.astype(unit))
    return places_of(values, on)


def _codes_in(mine: Column, known: Column, missing: int) -> IntArray:
    """Codes of another column's values; -1 for those that it does not have."""
    places = {text: code for code, text in enumerate(known.texts())}
    mapped = [places.get(text, -1) for text in mine.texts()]
    return np.array([*mapped, missing], np.int64)[mine.codes]


def _joined_trees(trees: Mapping[int, Tree]) -> tuple[list[int], tuple[Array, ...]]:
    """Nodes of all trees in one array each, and where those of each tree begin."""
    offsets, total = [], 0
    parent, depth, open_ = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)], [np.zeros(0)]
    for tree in trees.values():
        offsets.append(total)
        parent.append(tree.parent + np.int32(total))
        depth.append(tree.depth)
        open_.append(tree.open)
        total += len(tree.parent)
    return offsets, (np.concatenate(parent), np.concatenate(depth), np.concatenate(open_))
