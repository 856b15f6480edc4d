"""Breiman's waveforms."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from sidelight.datasets import Dataset

# Which two of the three triangles each class mixes.
MIXED = ((0, 1), (0, 2), (1, 2))


def triangles() -> npt.NDArray[np.float64]:
    """The three base waves h1, h2, h3 at the places 1 to 21, shape (3, 21)."""
    place = np.arange(1, 22)
    return np.array([np.maximum(6 - np.abs(place - peak), 0) for peak in (11, 15, 7)], dtype=float)


def make_waveform(
    n_samples: int = 5000, *, noise: float = 1.0, random_state: Any = None
) -> Dataset:
    r"""Breiman's three waveform classes in 21 features (book, E4.1).

    .. math:: x = u\, h_a + (1 - u)\, h_b + \varepsilon,\quad u \sim U(0, 1),\;
              \varepsilon \sim N(0, I),\quad
              h_1(i) = \max(6 - |i - 11|, 0),\; h_2(i) = h_1(i - 4),\; h_3(i) = h_1(i + 4)

    with (a, b) = (1, 2), (1, 3), (2, 3) for the three classes, which are drawn with equal
    probability.

    Parameters
    ----------
    n_samples : int, default=5000
        Number of rows.
    noise : float, default=1.0
        Standard deviation of the noise.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Examples
    --------
    >>> from experiments.recipes.waveform import make_waveform
    >>> make_waveform(300, random_state=0)
    Dataset(300 rows, 21 features, 3 classes: Breiman's waveforms ...)
    """
    rng = check_random_state(random_state)
    target = rng.randint(0, 3, n_samples).astype(np.int64)
    u = rng.uniform(size=(n_samples, 1))
    waves = triangles()[np.array(MIXED)[target]]
    data = u * waves[:, 0] + (1 - u) * waves[:, 1] + noise * rng.standard_normal((n_samples, 21))
    return Dataset(
        data=data,
        target=target,
        feature_names=tuple(f"x{place}" for place in range(1, 22)),
        target_names=("waves 1 and 2", "waves 1 and 3", "waves 2 and 3"),
        description="Breiman's waveforms (Classification and Regression Trees, 1984)",
    )
