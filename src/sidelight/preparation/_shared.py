"""What columns have in common counts once: the same order of the rows, gaps in the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight.preparation._parts import ColumnFeatures
from sidelight.preparation._plan import ColumnPlan
from sidelight.preparation._redundant import Aspect, Likeness, find_likeness, likeness_words
from sidelight.preparation.streams._levels import mixed


def share_weights(parts: Sequence[ColumnFeatures], aspects: Sequence[Aspect]) -> None:
    """Let columns that say the same count once together, and note them.

    Parameters
    ----------
    parts : sequence of ColumnFeatures
        Features of the columns, whose weights and plans are changed.
    aspects : sequence of Aspect
        What counts of the columns, in some rows.
    """
    by_column: dict[str, list[tuple[Aspect, Likeness]]] = {}
    for one, likeness in zip(aspects, find_likeness(aspects), strict=True):
        by_column.setdefault(one.column, []).append((one, likeness))
    for part in parts:
        found = by_column.get(part.plan.name, [])
        shares = {one.part: likeness.share for one, likeness in found if likeness.share < 1.0}
        if shares:
            part.share(shares)
        words = [likeness_words(one, likeness) for one, likeness in found]
        how = "; ".join(filter(None, [part.plan.how, *words]))
        part.plan = replace(part.plan, how=how)


@dataclass(frozen=True)
class GapRows:
    """The rows in which a column has gaps, by sums of two hashes of their positions.

    Columns with the same sums have their gaps in the same rows: that others have is as likely as
    to draw a number out of 2^128.

    Attributes
    ----------
    n : int
        How many rows.
    sums : (int, int)
        Sums of the hashes modulo 2^64.
    """

    n: int = 0
    sums: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, values: npt.NDArray[Any], start: int = 0) -> GapRows:
        """Rows without a value, of which the first is at position ``start`` of the table."""
        rows = (np.flatnonzero(missing_rows(values)) + start).astype(np.uint64)
        first = mixed(rows)
        return cls(len(rows), (int(first.sum()), int(mixed(first).sum())))

    def join(self, other: GapRows) -> GapRows:
        """Rows of both."""
        first, second = (
            (one + two) % 2**64 for one, two in zip(self.sums, other.sums, strict=True)
        )
        return GapRows(self.n + other.n, (first, second))


@dataclass
class Gaps:
    """Columns of a fit by the rows in which they have gaps.

    Attributes
    ----------
    columns : dict of GapRows to list of int
        Places of the columns that have gaps in the same rows.
    """

    columns: dict[GapRows, list[int]] = field(default_factory=dict)
    n_seen: int = 0

    def add(self, part: ColumnFeatures, gaps: GapRows | None) -> None:
        """Look at the gaps of the next column."""
        if gaps is not None and has_marks(part.plan):
            self.columns.setdefault(gaps, []).append(self.n_seen)
        self.n_seen += 1

    def merge_marks(self, parts: Sequence[ColumnFeatures]) -> list[tuple[int, list[int]]]:
        """Leave one mark of several that are the same, and return whose it is.

        The first column that marks gaps keeps its mark. Where a category has them as a level of
        its own, that marks them.

        Returns
        -------
        list of (int, list of int)
            Place of the column with the mark, and places of the others that it stands for.
        """
        shared = []
        for places in self.columns.values():
            marking = [place for place in places if parts[place].mark]
            levels = [p for p in places if parts[p].plan.kind in ("category", "yes-no")]
            if not marking or len(places) == 1:
                continue
            first = levels[0] if levels else marking[0]
            others = [place for place in marking if place != first]
            for place in others:
                parts[place].mark = 0.0
                parts[place].plan = replace(parts[place].plan, marked_by=parts[first].plan.name)
            if not levels and others:
                shared.append((first, others))
        return shared


def has_marks(plan: ColumnPlan) -> bool:
    """Whether a column has gaps that may be marked."""
    return plan.n_missing > 0 and plan.kind != "text"


def missing_rows(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Rows without a value."""
    return np.asarray(np.isnan(values) if values.dtype.kind == "f" else values < 0, dtype=bool)
