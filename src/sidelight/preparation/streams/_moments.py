r"""Sums of powers of numbers, joined around their means.

Of n numbers are kept their extent, their mean, and :math:`M = \sum (x - \bar x)^2`. Two sets have
together (Chan, Golub and LeVeque, 1983)

.. math:: M = M_a + M_b + \frac{n_a n_b}{n_a + n_b} (\bar x_a - \bar x_b)^2,

which loses no digits however far the numbers are from 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidelight._typing import FloatArray


@dataclass(frozen=True)
class NumberMoments:
    """Number, extent, mean and sum of squared distances from the mean; NaN does not count.

    Attributes
    ----------
    n : int
        How many numbers there are.
    low, high : float
        Smallest and largest one.
    mean : float
        Their mean.
    squares : float
        Sum of their squared distances from the mean.
    """

    n: int = 0
    low: float = np.inf
    high: float = -np.inf
    mean: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, values: FloatArray) -> NumberMoments:
        """Moments of numbers."""
        low, high = (float(np.min(values)), float(np.max(values))) if len(values) else (0.0, 0.0)
        if np.isnan(low):
            values = values[~np.isnan(values)]
            if len(values):
                low, high = float(values.min()), float(values.max())
        if not len(values):
            return cls()
        mean = float(values.mean())
        apart = values - mean
        apart *= apart
        return cls(len(values), low, high, mean, float(apart.sum()))

    def join(self, other: NumberMoments) -> NumberMoments:
        """Moments of both sets of numbers."""
        if not (self.n and other.n):
            return self if self.n else other
        n = self.n + other.n
        apart = other.mean - self.mean
        return NumberMoments(
            n,
            min(self.low, other.low),
            max(self.high, other.high),
            self.mean + apart * (other.n / n),
            self.squares + other.squares + apart * apart * (self.n * (other.n / n)),
        )

    @property
    def deviation(self) -> float:
        """Standard deviation."""
        return float(np.sqrt(self.squares / self.n)) if self.n else float("nan")
