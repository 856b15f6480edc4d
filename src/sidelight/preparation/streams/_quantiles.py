r"""Quantiles of very many numbers, from a weighted few of them.

As long as there are at most ``MAX_VALUES`` different numbers, all are kept with their counts, and
quantiles are exact. Beyond, the numbers are cut into ``KEPT`` runs of equal weight, of which each
is stood for by its middle. A rank in a set of weight w changes by at most half a run,
w / (2 · KEPT), and when two sets are joined their errors add. In the tree of :mod:`._forest` a
number goes through a cut on every second level, so that for n rows

.. math:: \text{rank error} \le \frac{n}{2 \cdot KEPT} (3 + \tfrac{1}{2} \log_2 (n / MAX)),

at most 0.04 % of the rows for 10^9 of them, in whatever order they come: nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sidelight._typing import FloatArray, IntArray

#: Different numbers that are kept, and how many stand for them when they are more.
MAX_VALUES, KEPT = 2**15, 2**14


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Numbers with weights, in ascending order; NaN does not count.

    Attributes
    ----------
    values : ndarray
        Different numbers.
    weights : ndarray of int
        How many numbers each stands for.
    is_exact : bool
        Whether it stands for equal ones only.
    """

    values: FloatArray = field(default_factory=lambda: np.empty(0))
    weights: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    is_exact: bool = True

    @classmethod
    def of(cls, values: FloatArray) -> Quantiles:
        """All numbers of a block."""
        found, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        return cls(found, counts.astype(np.int64))._bounded()

    def join(self, other: Quantiles) -> Quantiles:
        """Numbers of both sets."""
        if not (len(self.values) and len(other.values)):
            return self if len(self.values) else other
        values = np.concatenate([self.values, other.values])
        order = np.argsort(values, kind="stable")
        values = values[order]
        weights = np.concatenate([self.weights, other.weights])[order]
        return Quantiles(*_merged(values, weights), self.is_exact and other.is_exact)._bounded()

    def _bounded(self) -> Quantiles:
        if len(self.values) <= MAX_VALUES:
            return self
        ends = np.cumsum(self.weights)
        cuts = (np.arange(KEPT + 1) * int(ends[-1])) // KEPT
        middle = (cuts[:-1] + cuts[1:]) // 2
        places = np.searchsorted(ends, middle, side="right")
        return Quantiles(*_merged(self.values[places], np.diff(cuts)), is_exact=False)

    def at(self, shares: Sequence[float]) -> list[float]:
        """Quantiles, interpolated linearly between neighbors as NumPy does.

        Examples
        --------
        >>> import numpy as np
        >>> from sidelight.preparation.streams._quantiles import Quantiles
        >>> Quantiles.of(np.array([3.0, 1.0, 1.0, np.nan, 2.0])).at([0.25, 0.5])
        [1.0, 1.5]
        """
        ends = np.cumsum(self.weights)
        found = []
        for share in shares:
            place = share * (int(ends[-1]) - 1)
            below = int(np.floor(place))
            pair = np.searchsorted(ends, [below, min(below + 1, int(ends[-1]) - 1)], side="right")
            found.append(float(np.quantile(self.values[pair], place - below)))
        return found


def _merged(values: FloatArray, weights: IntArray) -> tuple[FloatArray, IntArray]:
    """Ascending numbers, each once."""
    first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    return values[first], np.add.reduceat(weights, first)
