"""The range of a number: of parameters of estimators and of options of the command line."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """Range of a number.

    Attributes
    ----------
    low, high : float
        Ends of the range.
    open_low, open_high : bool
        Whether the end itself is excluded.
    """

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def __contains__(self, value: float) -> bool:
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return bool(above and below)

    def symbols(self, noun: str) -> str:
        """Return the range as a type line has it: ``float > 0``, ``float in [0, 1)``."""
        if math.isinf(self.low):
            return (
                noun
                if math.isinf(self.high)
                else f"{noun} {'<' if self.open_high else '<='} {self.high:g}"
            )
        if math.isinf(self.high):
            return f"{noun} {'>' if self.open_low else '>='} {self.low:g}" + (
                ", finite" if self.open_high else ""
            )
        ends = "(" if self.open_low else "[", ")" if self.open_high else "]"
        return f"{noun} in {ends[0]}{self.low:g}, {self.high:g}{ends[1]}"

    def words(self, noun: str) -> str:
        """Return the range as an error message has it: ``a number above 0``."""
        finite = "finite " if self.open_high and math.isinf(self.high) else ""
        parts = []
        if not math.isinf(self.low):
            parts.append(f"{'above' if self.open_low else 'of at least'} {self.low:g}")
        if not math.isinf(self.high):
            parts.append(f"{'below' if self.open_high else 'at most'} {self.high:g}")
        return f"a {finite}{noun}" + "".join(f" {part}" for part in [" and ".join(parts)] if part)
