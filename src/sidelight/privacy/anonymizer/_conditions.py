"""Conditions on classes: least size, diversity of sensitive values; whether they can be met."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sidelight._kernels.privacy.anonymizer.diversity import is_diverse
from sidelight._typing import Array, IntArray
from sidelight._words import counted, setting
from sidelight.constraints.inner import check_one_index
from sidelight.exceptions import SidelightError
from sidelight.io.inner import folded
from sidelight.privacy.anonymizer._columns import Column, read_columns

#: Models of diversity in the order of their numbers in compiled loops.
MODELS = ("distinct", "entropy", "recursive", "recursive-published")


#: Rule of the compiled loops that every class satisfies.
NO_RULE = (0, 1, 1.0, 1.0, np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0, np.bool_))


@dataclass(frozen=True, eq=False)
class ClassConditions:
    """Conditions that every class has to satisfy.

    Attributes
    ----------
    k : int
        Least number of rows.
    model : str
        Model of diversity.
    least : int
        The ``l`` of the model.
    c : float
        Constant of the recursive models.
    columns : list of Column
        Sensitive columns.
    t : float
        Largest distance of the distribution of a sensitive column in a class to that in all rows.
    """

    k: int
    model: str
    least: int
    c: float
    columns: list[Column]
    t: float = 1.0

    @property
    def about_sensitive(self) -> bool:
        """Whether something is asked of the sensitive columns."""
        return self.least > 1 or self.t < 1

    @cached_property
    def rule(self) -> tuple[Any, ...]:
        """Model, ``l``, constant, ``t`` and distributions, as compiled loops take them."""
        if self.t >= 1:
            return MODELS.index(self.model), self.least, float(self.c), *NO_RULE[3:]
        widest = max(len(column.values) for column in self.columns)
        below = np.zeros((len(self.columns), widest))
        for place, column in enumerate(self.columns):
            shares = np.bincount(column.codes) / len(column.codes)
            below[place, : len(shares)] = np.cumsum(shares) if column.is_ordered else shares
        sums = np.zeros((len(self.columns), widest + 1))
        sums[:, 1:] = np.cumsum(below, axis=1)
        ordered = np.array([column.is_ordered for column in self.columns], np.bool_)
        return MODELS.index(self.model), self.least, float(self.c), self.t, below, sums, ordered

    @property
    def codes(self) -> Array:
        """Codes of the sensitive columns; none where nothing is asked of them."""
        if not self.about_sensitive or not self.columns:
            return np.zeros((len(self.columns[0].codes) if self.columns else 0, 0), np.int32)
        return np.column_stack([column.codes for column in self.columns]).astype(np.int32)

    @property
    def n_values(self) -> IntArray:
        """Number of values of every sensitive column that counts."""
        if not self.about_sensitive:
            return np.zeros(0, np.int64)
        return np.array([len(column.values) for column in self.columns], np.int64)

    @property
    def unions_hold(self) -> bool:
        """Whether the union of two classes that satisfy the conditions satisfies them.

        Then the table as a whole has to, and every part of it can fall back to one class.
        """
        return self.model != "recursive-published"

    def only(self, rows: IntArray) -> ClassConditions:
        """The conditions as if there were no other rows."""
        return replace(self, columns=[column.only(rows) for column in self.columns])

    def holds(self, counts: Array) -> bool:
        """Whether counts of the values of one sensitive column satisfy the model."""
        return bool(is_diverse(counts, *self.rule[:3]))


def read_sensitive(sensitive: Any, n_rows: int, X: Any) -> list[Column]:
    """Read the sensitive columns: one array or series, or a table of several."""
    if sensitive is None:
        return []
    check_one_index(sensitive, X, "sensitive")
    shape = getattr(sensitive, "shape", None)
    several = shape is not None and len(shape) == 2
    several |= hasattr(sensitive, "column_names") or isinstance(sensitive, dict)
    if not several:
        name = getattr(sensitive, "name", None)
        values = sensitive.to_numpy() if hasattr(sensitive, "to_numpy") else np.asarray(sensitive)
        if values.ndim != 1:
            raise SidelightError(
                f"sensitive should hold one value per row, or be a table, got an array of shape "
                f"{values.shape}."
            )
        sensitive = {"sensitive" if name is None else str(name): values}
    columns, _ = read_columns(sensitive)
    if len(columns[0].codes) != n_rows:
        raise SidelightError(
            f"sensitive has {counted(len(columns[0].codes), 'row')} but the table has {n_rows:,}; "
            "both should be about the same rows."
        )
    return [_folded(column) for column in columns]


def _folded(column: Column) -> Column:
    """Texts that differ in case or blanks only, or spell one number, are one sensitive value."""
    if column.kind != "category":
        return column
    keys = [folded(text) for text in column.values.tolist()]
    kept: dict[Any, int] = {}
    places = [-1 if key is None else kept.setdefault(key, len(kept)) for key in keys]
    values = np.empty(len(kept), dtype=object)
    for text, place in zip(reversed(column.values.tolist()), reversed(places), strict=True):
        if place >= 0:
            values[place] = text
    return Column(column.name, "category", np.array([*places, -1], np.int64)[column.codes], values)


def check_sensitive(conditions: ClassConditions) -> None:
    """Raise if something is asked of sensitive columns, but they are missing or have gaps."""
    if not conditions.about_sensitive:
        return
    if not conditions.columns:
        of_diversity = conditions.least > 1
        asked = setting("l", conditions.least) if of_diversity else setting("t", conditions.t)
        raise SidelightError(
            f"{asked} is about sensitive columns; give them to fit as sensitive, or leave "
            f"{setting('l' if of_diversity else 't')} at 1."
        )
    for column in conditions.columns:
        if column.n_missing:
            first = int(np.flatnonzero(column.codes < 0)[0])
            raise SidelightError(
                f"The sensitive column {column.name!r} is missing in "
                f"{counted(column.n_missing, 'row')}, the first is row {first} (empty, or a word "
                "such as NA, ? and unknown): a class is not more diverse by what is not known. "
                "Remove these rows, or write what is known of them, such as: not tested."
            )


def check_size(k: int, n_rows: int, suppressed: int = 0) -> None:
    """Raise if there are fewer rows than are to be published alike."""
    if n_rows < k:
        left = f" after {counted(suppressed, 'row')} were suppressed" if suppressed else ""
        raise SidelightError(
            f"{setting('k', k)} rows are to be published alike, but the table has n_samples="
            f"{n_rows}{left}; lower {setting('k')} or add rows."
        )


def rows_to_remove(
    conditions: ClassConditions, budget: int, rng: np.random.RandomState
) -> IntArray:
    """Rows without which the whole table is diverse; none where it is so with them.

    Rows of the most frequent values are removed, since every partition needs a diverse whole.

    Raises
    ------
    SidelightError
        If that takes more rows than the budget.
    """
    gone = np.zeros(len(conditions.columns[0].codes) if conditions.columns else 0, bool)
    if conditions.least <= 1:
        return np.zeros(0, np.int64)
    for column in conditions.columns:
        counts = np.bincount(column.codes[~gone], minlength=len(column.values))
        before = counts.copy()
        if not conditions.unions_hold and np.count_nonzero(counts) >= conditions.least:
            continue
        while not conditions.holds(counts) and int((before - counts).sum()) + gone.sum() < budget:
            counts[np.argmax(counts)] -= 1
        if not conditions.holds(counts):
            raise SidelightError(_infeasible(conditions, column, budget))
        for value in np.flatnonzero(before - counts):
            rows = np.flatnonzero((column.codes == value) & ~gone)
            gone[rng.permutation(rows)[: before[value] - counts[value]]] = True
    for column in conditions.columns if gone.any() else ():
        counts = np.bincount(column.codes[~gone], minlength=len(column.values))
        if not conditions.holds(counts):  # after rows were removed for another column
            raise SidelightError(_infeasible(conditions, column, budget))
    return np.flatnonzero(gone)


def _infeasible(conditions: ClassConditions, column: Column, budget: int) -> str:
    """Error with the sensitive value that is too frequent, and the diversity that is possible."""
    counts = np.bincount(column.codes, minlength=len(column.values))
    n_present = int(np.count_nonzero(counts))
    value, n = column.values[int(counts.argmax())], int(counts.max())
    possible = next(
        (
            least
            for least in range(min(n_present, conditions.least), 0, -1)
            if is_diverse(counts, MODELS.index(conditions.model), least, conditions.c)
        ),
        1,
    )
    asked = f"{setting('l', conditions.least)} ({conditions.model})"
    if conditions.model.startswith("recursive"):
        asked = f"{asked[:-1]}, {setting('c', f'{conditions.c:g}')})"
    if n_present < conditions.least:
        reason = f"it has {counted(n_present, 'different value')} only"
    else:
        reason = f"{str(value)!r} is in {n:,} of {counted(int(counts.sum()), 'row')}"
    more = "; a larger share of suppressed rows may help" if budget else ""
    return (
        f"No class of this table can have {asked} in the sensitive column {column.name!r}, since "
        f"{reason}. The most that is possible is {setting('l', possible)}{more}."
    )
