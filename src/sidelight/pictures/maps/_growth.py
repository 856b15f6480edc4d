"""Maps to which rows were added: frames that turn as little as possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes

from sidelight._typing import FloatArray, IntArray
from sidelight._words import counted
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.pictures.kinds._points import Mark, Points
from sidelight.pictures.maps._coloring import color_fields
from sidelight.pictures.maps._embedding import (
    coloring_of,
    coordinates_of,
    plane_of_coordinates,
)


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


def growth_frames(
    frames: Sequence[Any],
    rows: Sequence[Any] | None = None,
    *,
    color: Any = None,
    titles: Sequence[str] | None = None,
) -> tuple[Points, ...]:
    """Maps of more and more rows, each turned to fit the next; new rows stand out.

    The parameters are those of ``GrowthDisplay.from_frames``.
    """
    places = [coordinates_of(frame) for frame in frames]
    if not places:
        raise InvalidRequest("There are no frames: nothing to draw.")
    shown: list[IntArray] = [np.arange(len(one)) for one in places]
    if rows is not None:
        shown = [np.asarray(one, dtype=np.int64) for one in rows]
        if [len(one) for one in shown] != [len(one) for one in places]:
            raise SidelightError("rows names the rows of each frame, one for every place.")
    n = max(int(one.max(initial=-1)) for one in shown) + 1
    coloring = coloring_of(color, None, n if color is None else max(n, len(color)))
    steady = [plane_of_coordinates(one, (0, 1))[0] for one in steady_frames(places, shown)]
    limits = _common_limits(np.concatenate(steady))
    return tuple(
        Points(
            title=title,
            text=counted(len(own), "row"),
            heading=title,
            xy=xy,
            rows=own,
            marks={Mark.NEW: ~np.isin(own, before)},
            axes="layout",
            # The others stand beside the first.
            axis_titles=("first coordinate", "" if number else "second coordinate"),
            limits=limits,
            equal=True,
            **color_fields(coloring, own),
        )
        for number, (title, xy, own, before) in enumerate(
            zip(
                titles or [counted(len(one), "row") for one in shown],
                steady,
                shown,
                [shown[0], *shown[:-1]],
                strict=True,
            )
        )
    )


def _common_limits(xy: FloatArray) -> tuple[tuple[float, float], tuple[float, float]]:
    """Ends of axes that hold all points."""
    low, high = np.nanmin(xy, axis=0), np.nanmax(xy, axis=0)
    margin = 0.05 * max(float((high - low).max()), 1e-12)
    low, high = (low - margin).tolist(), (high + margin).tolist()
    return (low[0], high[0]), (low[1], high[1])
