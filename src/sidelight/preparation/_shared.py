"""What columns have in common counts once: the same order of the rows, gaps in the same rows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight.preparation._parts import ColumnFeatures
from sidelight.preparation._redundant import Aspect, Likeness, find_likeness, likeness_words
from sidelight.preparation._typed import TypedColumn


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


@dataclass
class Gaps:
    """Gaps of the columns of a fit, by a digest of the rows in which they are.

    Attributes
    ----------
    columns : dict of bytes to list of int
        Places of the columns that have gaps in the same rows.
    """

    columns: dict[bytes, list[int]] = field(default_factory=dict)
    n_seen: int = 0

    def add(self, part: ColumnFeatures, column: TypedColumn) -> None:
        """Look at the gaps of the next column."""
        if part.plan.n_missing and part.plan.kind != "text":
            bits = np.packbits(missing_rows(column.values)).tobytes()
            digest = hashlib.blake2b(bits, digest_size=16).digest()
            self.columns.setdefault(digest, []).append(self.n_seen)
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


def missing_rows(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Rows without a value."""
    return np.asarray(np.isnan(values) if values.dtype.kind == "f" else values < 0, dtype=bool)
