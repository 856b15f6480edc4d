"""Axes side by side, for displays of several pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight.exceptions import InvalidRequest


def panels(ax: Any, n: int, noun: str, across: int, size: tuple[float, float]) -> list[Any]:
    """Axes for every picture: those that are given, or new ones in a figure of pyplot.

    Parameters
    ----------
    ax : sequence of Axes or None
        What is given.
    n : int
        Number of pictures.
    noun : str
        What one of them shows.
    across : int
        Most axes side by side.
    size : tuple of float
        Width and height of new axes.
    """
    if ax is not None:
        given = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(given) != n:
            raise InvalidRequest(
                f"There are {n} {noun}s but {len(given)} axes; each {noun} needs its own."
            )
        return given
    import matplotlib.pyplot as plt

    down, across = -(-n // across), min(n, across)
    whole = (size[0] * across, size[1] * down)
    _, grid = plt.subplots(down, across, figsize=whole, squeeze=False, layout="constrained")
    for unused in grid.ravel()[n:]:
        unused.set_visible(False)
    return list(grid.ravel()[:n])
