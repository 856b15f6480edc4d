"""Axes side by side, for displays of several pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sidelight.display._canvas import inks_of, set_titles
from sidelight.display._draw._render import draw
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Picture


def axes_of(
    ax: Any, n: int, noun: str, *, across: int | None = None, size: tuple[float, float]
) -> list[Any]:
    """Axes for every picture: those that are given, or new ones in a figure of pyplot.

    Parameters
    ----------
    ax : sequence of Axes or None
        What is given.
    n : int
        Number of pictures.
    noun : str
        What one of them shows.
    across : int, default=None
        Most axes side by side; all by default.
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

    across = min(n, across or n)
    down = -(-n // across)
    whole = (size[0] * across, size[1] * down)
    _, grid = plt.subplots(down, across, figsize=whole, squeeze=False, layout="constrained")
    for unused in grid.ravel()[n:]:
        unused.set_visible(False)
    return list(grid.ravel()[:n])


def draw_panels(
    axes: Sequence[Any], pictures: Sequence[Picture], options: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Draw every picture in axes of its own, below its heading; return the artists of each."""
    drawn = tuple(
        draw(ax, picture, inks_of(ax), **options)
        for ax, picture in zip(axes, pictures, strict=True)
    )
    for ax, picture in zip(axes, pictures, strict=True):
        set_titles(ax, picture.axis_titles, picture.heading)
    return drawn
