"""How numbers are made comparable: their center and scale, from what is known of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from sidelight._typing import FloatArray
from sidelight.preparation.streams._forest import summarize
from sidelight.preparation.streams._moments import NumberMoments

QUARTILES = (0.25, 0.5, 0.75)
#: Distance of the quartiles of a normal distribution of variance 1.
NORMAL_RANGE = 1.3489795003921634


@dataclass(frozen=True)
class Spread:
    """Numbers of a column as a whole.

    Attributes
    ----------
    low, unit : float
        The smallest number, and the distance from it to the largest one; 1 if all are the same.
    moments : NumberMoments
        Those of the numbers x as (x - low) / unit: squares of very large, very small or distant
        ones are not exact.
    quartiles : sequence of float
        Quartiles and median; empty where no scale needs them.
    """

    low: float
    unit: float
    moments: NumberMoments
    quartiles: Sequence[float] = ()

    @classmethod
    def of(cls, values: FloatArray, extent: tuple[float, float], scale: Scale) -> Self:
        """Spread of numbers in memory, of which the smallest and the largest are known."""
        low, unit = base_of(extent)
        moments = summarize(lambda rows: NumberMoments.of((values[rows] - low) / unit), len(values))
        quartiles = np.nanquantile(values, QUARTILES).tolist() if scale.by_quartiles else ()
        return cls(low, unit, moments, quartiles)

    @property
    def mean(self) -> float:
        """Mean of the numbers."""
        return self.low + self.moments.mean * self.unit

    @property
    def deviation(self) -> float:
        """Standard deviation of the numbers; their unit where all are the same."""
        return (self.moments.deviation or 1.0) * self.unit


def base_of(extent: tuple[float, float]) -> tuple[float, float]:
    """Smallest number and the distance to the largest one, by which numbers lie from 0 to 1."""
    with np.errstate(over="ignore"):
        return extent[0], float(np.float64(extent[1]) - extent[0]) or 1.0


@dataclass(frozen=True)
class Scale:
    """How columns of different kinds are made comparable.

    Attributes
    ----------
    name : str
        ``standard``, ``robust``, ``range`` or ``none``.
    keep_missing : bool
        Whether missing values stay NaN, for methods that model them.
    """

    name: str
    keep_missing: bool

    @property
    def mismatch(self) -> float:
        """Squared distance of two rows in different categories."""
        return 2.0 if self.name in ("standard", "robust") else 1.0

    @property
    def entry(self) -> float:
        """Value in a column of indicators for a row that has the level."""
        return float(np.sqrt(self.mismatch / 2))

    @property
    def by_quartiles(self) -> bool:
        """Whether quartiles tell the scale."""
        return self.name == "robust"

    def center_and_scale(self, spread: Spread) -> tuple[float, float]:
        """Center and scale of numbers."""
        if self.name == "none":
            return 0.0, 1.0
        if self.name == "range":
            return spread.low, spread.unit
        if self.by_quartiles:
            low, middle, high = spread.quartiles
            if high > low:
                return middle, (high - low) / NORMAL_RANGE
        return spread.mean, spread.deviation  # also where half of the values are the same
