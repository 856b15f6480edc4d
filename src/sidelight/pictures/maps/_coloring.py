"""Colors of the points of a map: classes, or the numbers of a column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import format_number
from sidelight.pictures._run import Partition
from sidelight.pictures.kinds._cells import STEPS


@dataclass(frozen=True, eq=False)
class Coloring:
    """Colors of all rows, by class or by number.

    Attributes
    ----------
    name : str
        What the colors stand for.
    classes : Partition, default=None
        Class of every row, -1 where nothing is known.
    values : ndarray of shape (n_rows,), default=None
        Number of every row instead, NaN where it is not known.
    """

    name: str
    classes: Partition | None = None
    values: FloatArray | None = None

    @cached_property
    def groups(self) -> Partition:
        """Classes, or steps from the smallest to the largest number."""
        if self.classes is not None:
            return self.classes
        low, high = self._range
        values = self._numbers
        with np.errstate(invalid="ignore"):
            steps = np.clip((values - low) / (high - low) * STEPS, 0, STEPS - 1)
        codes = np.where(np.isfinite(values), np.nan_to_num(steps), -1).astype(np.int64)
        return Partition(codes, tuple(map(str, range(STEPS))))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Class or number of every row; empty where it is not known."""
        if self.classes is not None:
            names = self.classes.names
            return tuple(names[code] if code >= 0 else "" for code in self.classes.codes)
        return tuple(format_number(v) if np.isfinite(v) else "" for v in self._numbers.tolist())

    @property
    def ends(self) -> tuple[str, str] | None:
        """Smallest and largest number that have a color of their own; None for classes."""
        if self.values is None:
            return None
        low, high = self._range
        return format_number(low), format_number(high)

    def fields(self, rows: IntArray) -> dict[str, Any]:
        """Fields of a picture of some of the rows, on a scale or with a legend."""
        if self.classes is None:
            return {"values": self._numbers[rows], "value_title": self.name}
        names = self.classes.names
        return {
            "codes": self.classes.codes[rows],
            "n_colors": len(names),
            "names": dict(enumerate(names)),
            "listed": True,
        }

    @property
    def _numbers(self) -> FloatArray:
        assert self.values is not None
        return self.values

    @cached_property
    def _range(self) -> tuple[float, float]:
        """Ends of the scale, which a few outliers do not stretch."""
        known = self._numbers[np.isfinite(self._numbers)]
        low, high = np.percentile(known, [1.0, 99.0])
        if not high > low:
            low, high = known.min(), known.max()
        return float(low), float(high)


def color_fields(coloring: Coloring | None, rows: IntArray) -> dict[str, Any]:
    """Fields of a picture of some of the rows, which have one color if nothing colors them."""
    one: Array = np.zeros(len(rows), np.int64)
    return {"codes": one} | ({} if coloring is None else coloring.fields(rows))
