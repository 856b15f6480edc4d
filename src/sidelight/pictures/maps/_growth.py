"""Maps to which rows were added: frames that turn as little as possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import orthogonal_procrustes

from sidelight._typing import FloatArray, IntArray


def steady_frames(frames: Sequence[FloatArray], rows: Sequence[IntArray]) -> list[FloatArray]:
    """Turn frames, from the last to the first, onto the rows that they share with the next.

    A map that merely turns then stands still.

    Parameters
    ----------
    frames : sequence of ndarray of shape (n_rows, n_components)
        Coordinates of the rows of each frame; not finite for rows without a place.
    rows : sequence of ndarray of int
        Which rows each frame shows.
    """
    steady = [frames[-1]]
    for places, shown, next_shown in zip(frames[-2::-1], rows[-2::-1], rows[:0:-1], strict=True):
        _, here, there = np.intersect1d(shown, next_shown, return_indices=True)
        known = np.isfinite(places[here]).all(axis=1) & np.isfinite(steady[-1][there]).all(axis=1)
        here, there = here[known], there[known]
        if len(here) <= places.shape[1]:
            steady.append(places)
            continue
        center, target = places[here].mean(axis=0), steady[-1][there].mean(axis=0)
        turn, _ = orthogonal_procrustes(places[here] - center, steady[-1][there] - target)
        steady.append((places - center) @ turn + target)
    return steady[::-1]
