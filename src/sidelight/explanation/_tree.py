"""A small decision tree on typed columns, and its leaves as conjunctions of conditions.

Values with an order enter as their ranks among the rows of the tree, which float32 holds exactly,
missing ones as -1; levels and words as 0 or 1. A threshold becomes the roundest value that parts
the same rows of its node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.explanation._columns import (
    LEVELS,
    ORDERED,
    Units,
    missing_rows,
    ordered_values,
)
from sidelight.explanation._conditions import (
    MISSING,
    Box,
    Condition,
    LevelSet,
    Mention,
    ValueInterval,
)
from sidelight.explanation._words import find_words
from sidelight.preparation import TypedColumn

MAX_LEVELS = 20
MAX_WORDS = 50


@dataclass(frozen=True)
class Feature:
    """A feature of the tree: ranks of a column, one of its levels, or a word.

    Attributes
    ----------
    column : TypedColumn
        The column.
    units : Units or None
        How values with an order are written.
    distinct : ndarray or None
        Their distinct values: rank r stands for ``distinct[r]``.
    level : int
        A level of a category; -1 for rows without one.
    word : str
        A word of texts.
    """

    column: TypedColumn
    units: Units | None = None
    distinct: FloatArray | None = None
    level: int = MISSING
    word: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Conditions with the same key are intersected."""
        return self.column.name, self.word

    def start(self) -> Condition:
        """The condition that every row fulfils."""
        name = self.column.name
        if self.units is not None:
            return ValueInterval(name, self.units)
        return LevelSet(name, self.column.levels)

    def split(self, before: Condition | None, ranks: Array, at: float) -> tuple[Condition, ...]:
        """Conditions of the rows at most and above a threshold.

        Parameters
        ----------
        before : condition or None
            Condition on the column further up, if there is one.
        ranks : ndarray
            The feature in the rows of the node.
        at : float
            The threshold.
        """
        if self.word:
            return (
                Mention(self.column.name, self.word, there=False),
                Mention(self.column.name, self.word, there=True),
            )
        condition = self.start() if before is None else before
        if isinstance(condition, LevelSet):
            return condition.without(self.level), condition.only(self.level)
        assert isinstance(condition, ValueInterval)
        assert self.units is not None
        assert self.distinct is not None
        low, high = int(ranks[ranks <= at].max()), int(ranks[ranks > at].min())
        if low == MISSING:
            return condition.below(-np.inf, ""), condition.above(-np.inf, "")
        if self.units.kind == "ordered":
            names = self.units.levels
            last, first = self.distinct[[low, high]].tolist()
            return (
                condition.below(last, names[int(last)]),
                condition.above(first, names[int(first)]),
            )
        value, text = self.units.threshold(*self.distinct[[low, high]].tolist())
        return condition.below(value, text), condition.above(value, text)


def make_features(columns: Sequence[TypedColumn]) -> tuple[FloatArray, list[Feature]]:
    """Features of the rows, and what each stands for."""
    values: list[Array] = []
    features: list[Feature] = []
    for column in columns:
        for feature, column_values in _features_of(column):
            features.append(feature)
            values.append(column_values.astype(np.float32))
    n_rows = len(columns[0].values) if columns else 0
    return (np.column_stack(values) if values else np.zeros((n_rows, 0), np.float32)), features


def _features_of(column: TypedColumn) -> Iterator[tuple[Feature, Array]]:
    if column.kind in ORDERED:
        found, units = ordered_values(column)
        known = ~np.isnan(found)
        ranks = np.full(len(found), MISSING)
        distinct, ranks[known] = np.unique(found[known], return_inverse=True)
        yield Feature(column, units, distinct), ranks
    elif column.kind in LEVELS:
        levels = list(range(min(len(column.levels), MAX_LEVELS)))
        if missing_rows(column).any():
            levels.append(MISSING)
        for level in levels:
            yield Feature(column, level=level), column.values == level
    else:
        words = find_words(column.values, MAX_WORDS)
        for number, word in enumerate(words.vocabulary):
            there = np.zeros(len(column.values), dtype=bool)
            there[words.texts[words.words == number]] = True
            yield Feature(column, word=word), there


def leaves(
    tree: Any, X: FloatArray, features: Sequence[Feature]
) -> list[tuple[int, Box, IntArray]]:
    """Leaves of a fitted tree: the predicted class, the conditions and the rows of each.

    Parameters
    ----------
    tree : DecisionTreeClassifier
        The fitted tree.
    X : ndarray of shape (n_rows, n_features)
        Rows that it was fitted to.
    features : sequence of Feature
        What the columns stand for.
    """
    parts = tree.tree_
    found: list[tuple[int, Box, IntArray]] = []

    def descend(node: int, rows: IntArray, box: Mapping[tuple[str, str], Condition]) -> None:
        left, right = int(parts.children_left[node]), int(parts.children_right[node])
        if left == right:
            found.append((int(tree.classes_[np.argmax(parts.value[node][0])]), dict(box), rows))
            return
        feature = features[int(parts.feature[node])]
        values, at = X[rows, int(parts.feature[node])], float(parts.threshold[node])
        low, high = feature.split(box.get(feature.key), values, at)
        descend(left, rows[values <= at], {**box, feature.key: low})
        descend(right, rows[values > at], {**box, feature.key: high})

    descend(0, np.arange(len(X)), {})
    return found
