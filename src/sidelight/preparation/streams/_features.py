"""What the features of a column need to know of its values, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import IntArray
from sidelight.preparation._calendar import Calendar
from sidelight.preparation._parts import DATED, MEASURED, ColumnFacts, measured
from sidelight.preparation._plan import ColumnPlan
from sidelight.preparation._reading import RawColumn, read_typed
from sidelight.preparation._redundant import sampled_rows
from sidelight.preparation._scale import QUARTILES, Scale, Spread, base_of
from sidelight.preparation._shared import GapRows, has_marks
from sidelight.preparation.streams._looks import both, rows_at
from sidelight.preparation.streams._moments import NumberMoments
from sidelight.preparation.streams._quantiles import Quantiles

#: Rows whose texts show the words of a column: all, or as many evenly spread ones.
TEXT_ROWS = 100_000


@dataclass(frozen=True, eq=False)
class FeatureLook:
    """Values of a column in consecutive rows; what is not looked for is None.

    Attributes
    ----------
    moments : NumberMoments or None
        Those of numbers that lie from 0 to 1.
    quantiles : Quantiles or None
        Quantiles of the numbers.
    calendar : Calendar or None
        What dates have in common.
    gaps : GapRows or None
        Rows without a value.
    picked : tuple of ndarray
        Values of rows evenly spread over the table.
    """

    moments: NumberMoments | None
    quantiles: Quantiles | None
    calendar: Calendar | None
    gaps: GapRows | None
    picked: tuple[npt.NDArray[Any], ...]

    def join(self, other: FeatureLook) -> FeatureLook:
        """Values of both runs of rows."""
        return FeatureLook(
            both(self.moments, other.moments),
            both(self.quantiles, other.quantiles),
            both(self.calendar, other.calendar),
            both(self.gaps, other.gaps),
            self.picked + other.picked,
        )


@dataclass
class FeatureWatch:
    """What to look for in the blocks of a column whose kind is known.

    Attributes
    ----------
    plan : ColumnPlan
        The decision on it.
    n_rows : int
        Rows of the table.
    extent : (float, float)
        Smallest and largest of its measured values.
    scale : Scale
        How they are made comparable.
    compares : bool
        Whether it may say the same as another column.
    """

    plan: ColumnPlan
    n_rows: int
    extent: tuple[float, float]
    scale: Scale
    compares: bool

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.plan.name

    def look(self, raw: RawColumn, start: int) -> FeatureLook:
        """Look at a block, of which the first row is at ``start``."""
        rows = rows_at(self._positions, start, raw.n_rows)
        counts = self.plan.kind in MEASURED or has_marks(self.plan)
        if not counts:  # the others need no more than some rows
            picked = self._values(_taken(raw, rows)) if len(rows) else np.empty(0, dtype=np.int32)
            return FeatureLook(None, None, None, None, (picked,))
        values = self._values(raw)
        gaps = GapRows.of(values, start) if has_marks(self.plan) else None
        if self.plan.kind not in MEASURED:
            return FeatureLook(None, None, None, gaps, (values[rows],))
        low, unit = base_of(self.extent)
        with np.errstate(over="ignore", invalid="ignore"):
            numbers = measured(self.plan, values)
            moments = NumberMoments.of((numbers - low) / unit)
        quantiles = Quantiles.of(numbers) if self.scale.by_quartiles else None
        calendar = Calendar.of(values) if self.plan.kind in DATED else None
        return FeatureLook(moments, quantiles, calendar, gaps, (values[rows],))

    def facts(self, look: FeatureLook) -> ColumnFacts:
        """What the features need, from what all rows showed."""
        if self.plan.kind == "text":
            return ColumnFacts(texts=np.concatenate(look.picked).tolist())
        if look.moments is None:
            return ColumnFacts()
        quartiles = look.quantiles.at(QUARTILES) if look.quantiles else ()
        spread = Spread(*base_of(self.extent), look.moments, quartiles)
        return ColumnFacts(spread, look.calendar)

    def picked(self, look: FeatureLook) -> npt.NDArray[Any] | None:
        """Values by which the column is compared with others."""
        return None if self.plan.kind == "text" else np.concatenate(look.picked)

    @property
    def _positions(self) -> IntArray:
        if self.plan.kind == "text":
            n = min(self.n_rows, TEXT_ROWS)
            return np.linspace(0, self.n_rows - 1, n).astype(np.int64)
        return sampled_rows(self.n_rows) if self.compares else np.empty(0, dtype=np.int64)

    def _values(self, raw: RawColumn) -> npt.NDArray[Any]:
        return read_typed(self.plan, raw, some=True).values


def _taken(raw: RawColumn, rows: IntArray) -> RawColumn:
    import pyarrow as pa

    return RawColumn(raw.name, raw.values.take(pa.array(rows)), raw.source)
