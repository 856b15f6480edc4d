"""Scores over what was tried: numbers of clusters, statements, coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sidelight._typing import FloatArray
from sidelight.pictures.kinds._curves import Curve, Curves, curves_over

#: How far lines of several methods stand apart at one number of clusters, in numbers.
_APART = 0.07


def by_number(
    points: Mapping[str, Sequence[tuple[int, float, float]]], title: str, text: str
) -> Curves:
    """Values against the number of clusters: a line for every method.

    Parameters
    ----------
    points : dict of str to list of tuple
        Number of clusters, value and standard error of every candidate, by method, rising.
    title, text : str
        What the lines are, and their values for a reader who cannot see them.
    """
    every = [point for own in points.values() for point in own]
    numbers = [k for k, _, _ in every]
    low = min(0.5, *(value - error for _, value, error in every))
    curves = []
    for place, (name, own) in enumerate(points.items()):
        x, y, errors = np.array(own, np.float64).reshape(-1, 3).T
        shift = _APART * (place - (len(points) - 1) / 2)
        titles = [f"{name}, k = {k}: {value:.2f}" for k, value, _ in own]
        curves.append(Curve(name, x + shift, y, errors, titles, css=f"k{place}"))
    return Curves(
        title=title,
        text=text,
        curves=curves,
        axis_titles=("number of clusters", title.partition(" by ")[0].lower()),
        css="curves",
        size=(560, 260),
        x_limits=(min(numbers) - 0.4, max(numbers) + 0.4),
        y_limits=(max(0.0, low) - 0.02, 1.04),
        whole=True,
        named=False,  # a page has chips with their colors
    )


def search(curves: Sequence[Curve], axis_titles: tuple[str, str], note: str = "") -> Curves:
    """Scores of everything that searches tried, with what each chose.

    Parameters
    ----------
    curves : sequence of Curve
        What was tried and its score, with its errors and what was chosen where these are known.
    axis_titles : tuple of str
        What was tried, and what the score is.
    note : str, default=""
        What the error bars are.
    """
    places = np.concatenate([curve.x for curve in curves])
    chosen = any(curve.chosen is not None for curve in curves)
    note = ", ".join(filter(None, [note, "ring: chosen" if chosen else ""]))
    return curves_over(curves, axis_titles, note=note, whole=_are_whole(places))


def learning(
    n_statements: FloatArray, scores: Mapping[str, FloatArray], axis_titles: tuple[str, str]
) -> Curves:
    """Mean score and its standard error over the number of statements, a line for every method.

    The parameters are those of ``LearningCurveDisplay.from_scores``.
    """
    x = np.asarray(n_statements, np.float64)
    curves = [Curve(name, x, *_mean_and_error(table)) for name, table in scores.items()]
    n_draws = max(table.shape[1] for table in scores.values())
    note = f"mean and standard error of {n_draws} draws" if n_draws > 1 else ""
    return curves_over(curves, axis_titles, note=note)


def spectrum(values: Mapping[str, FloatArray], chosen: int | None, what: str) -> Curves:
    """Values for one coordinate of a map, the first two, and so on, with a mark at their number."""
    curves = [Curve(name, np.arange(1, len(own) + 1), own) for name, own in values.items()]
    return curves_over(curves, ("number of coordinates", what), whole=True, mark=chosen)


def _mean_and_error(table: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    there = np.isfinite(table)
    number = there.sum(axis=1)
    mean = np.where(there, table, 0.0).sum(axis=1) / np.where(number, number, np.nan)
    square = np.where(there, (table - mean[:, None]) ** 2, 0.0).sum(axis=1)
    if table.shape[1] < 2:
        return mean, None
    with np.errstate(divide="ignore", invalid="ignore"):
        return mean, np.where(number > 1, np.sqrt(square / (number - 1) / number), 0.0)


def _are_whole(values: FloatArray) -> bool:
    return bool(len(values) and np.all(values == np.round(values)))
