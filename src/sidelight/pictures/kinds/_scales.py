"""Limits and ticks of axes."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def nice_ticks(low: float, high: float, wanted: int) -> list[float]:
    """Choose round values between ``low`` and ``high``.

    Examples
    --------
    >>> nice_ticks(0.0, 10.0, 5)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    rough = (high - low) / wanted
    if not rough > 0.0:
        return [low]
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = min((factor * magnitude for factor in (1, 2, 5, 10)), key=lambda s: abs(s - rough))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def frame_of(values: Array) -> tuple[float, float]:
    """Limits of an axis; a few far outliers do not squeeze everything else."""
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    inner_low, inner_high = np.percentile(values, [1.0, 99.0])
    reach = 1.0 * (inner_high - inner_low)
    if reach > 0.0:
        low, high = max(low, inner_low - reach), min(high, inner_high + reach)
    margin = 0.04 * (high - low) or max(abs(high), 1.0) * 0.5
    return float(low - margin), float(high + margin)
