"""What a search or a stream left behind at every step: objectives, margins, times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sidelight._typing import FloatArray
from sidelight._words import format_number
from sidelight.pictures.kinds._curves import Curve, Curves, curves_over


def first_step(estimator: Any, attribute: str = "history_") -> int:
    """Number of the first entry of a history: 0 where it begins before the first iteration."""
    n_iter = getattr(estimator, "n_iter_", None)
    n_entries = np.size(getattr(estimator, attribute, ()))
    return 0 if isinstance(n_iter, int | np.integer) and n_entries > n_iter else 1


def by_step(
    values: Mapping[str, FloatArray],
    what: str,
    *,
    step: str = "iteration",
    first: Mapping[str, int] | int = 1,
    stopped: Mapping[str, bool] | None = None,
    css: str = "curve",
) -> Curves:
    """Values by step, a line for each of several searches.

    Parameters
    ----------
    values : dict of str to ndarray
        A number for every step, by name; NaN where there is none.
    what : str
        What the numbers are.
    step : str, default="iteration"
        What a number is for.
    first : int or dict of str to int, default=1
        Number of the first step.
    stopped : dict of str to bool, default=None
        Searches that were stopped before their end.
    css : str, default="curve"
        Classes of the style sheet of a page.
    """
    curves = []
    for name, heights in values.items():
        start = first if isinstance(first, int) else first[name]
        places = start + np.arange(len(heights))
        curves.append(
            Curve(
                name,
                places,
                np.asarray(heights, np.float64),
                titles=[
                    f"{step} {place}: {format_number(height)}"
                    for place, height in zip(places.tolist(), heights, strict=True)
                ],
                stopped=None if stopped is None else stopped[name],
            )
        )
    known = [curve.y[np.isfinite(curve.y)] for curve in curves]
    return curves_over(
        curves,
        (step, what),
        text=" ".join(
            f"From {format_number(ends[0])} to {format_number(ends[-1])} in {len(ends)} recorded "
            "values."
            for ends in known
            if len(ends)
        ),
        note="open end: stopped before convergence" if any((stopped or {}).values()) else "",
        css=css,
        whole=True,
        area=len(curves) == 1,
    )
