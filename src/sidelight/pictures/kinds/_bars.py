"""Bars as plain data: a value, or several, for each of a number of things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sidelight._typing import FloatArray, IntArray
from sidelight.pictures.kinds._picture import Picture


@dataclass(frozen=True, eq=False)
class Series:
    """Values of one kind, one for every bar.

    Attributes
    ----------
    name : str
        What the values are.
    values : ndarray of shape (n_bars,)
        Lengths of the bars.
    css : str, default=""
        Class of the style sheet of a page.
    errors : ndarray of shape (n_bars,), default=None
        Half the length of an error bar at the end of every bar; a page leaves it out.
    middle : float, default=None
        Median of what was counted, along the scale of the bars; a page leaves it out.
    label : str, default=""
        What a legend says; the name by default.
    """

    name: str
    values: FloatArray
    css: str = ""
    errors: FloatArray | None = None
    middle: float | None = None
    label: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Bars(Picture):
    """Bars side by side.

    Attributes
    ----------
    series : sequence of Series
        One or two kinds of values.
    names : sequence of str
        What every bar stands for.
    titles : sequence of str
        What every bar says when the pointer rests on it.
    texts : sequence of str
        What is written at the end of every bar; nothing where there are none.
    largest : float
        Value of a bar of full length.
    colors : ndarray of shape (n_bars,), default=None
        Number of the color of every bar, -1 for grey; all have one color by default.
    kept : sequence of bool
        Bars that count, where some do not.
    wrong : sequence of bool
        Bars that are not as they were asked to be.
    marks : sequence of tuple of float
        Values that are marked across every bar.
    edges : ndarray of shape (n_bars + 1,), default=None
        Where bars begin and end along a scale of numbers.
    mark : float, default=None
        Place of a line along that scale.
    ticks : sequence of tuple of float and str
        Places and texts along that scale.
    below : bool
        Whether bars stand below each other, their names beside them. Matplotlib draws points with
        error bars then, where there is no scale of numbers.
    columns : sequence of tuple of str and sequence of str
        Titles of columns to the right of bars below each other, with a text for every bar; a page
        leaves them out.
    chosen : int, default=None
        Number of the bar that was chosen; a page leaves it out.
    mirrored : bool
        Whether bars of the second kind go downwards.
    """

    series: Sequence[Series]
    names: Sequence[str]
    titles: Sequence[str] = ()
    texts: Sequence[str] = ()
    css: str = "bars"
    size: tuple[int, int] = (420, 142)
    largest: float = 1.0
    colors: IntArray | None = None
    kept: Sequence[bool] = ()
    wrong: Sequence[bool] = ()
    marks: Sequence[tuple[float, ...]] = ()
    edges: FloatArray | None = None
    mark: float | None = None
    ticks: Sequence[tuple[float, str]] = ()
    below: bool = False
    columns: Sequence[tuple[str, Sequence[str]]] = ()
    chosen: int | None = None
    mirrored: bool = False

    def __len__(self) -> int:
        return len(self.names)


def named_bars(
    title: str,
    names: Sequence[str],
    values: FloatArray,
    texts: Sequence[str],
    *,
    css: str = "saliencies",
    largest: float | None = None,
    kept: Sequence[bool] = (),
) -> Bars:
    """Bars below each other, as long as their values relative to the largest one.

    Parameters
    ----------
    title : str
        What the bars are.
    names, texts : sequence of str
        What every bar stands for, and what is written at its end.
    values : ndarray of shape (n_bars,)
        The values.
    css : str, default="saliencies"
        Classes of the style sheet of a page.
    largest : float, default=None
        Value of a bar of full length; by default the largest value.
    kept : sequence of bool, default=()
        Bars that count, where some do not.
    """
    said = [f"{name}: {text}" for name, text in zip(names, texts, strict=True)]
    most = max(float(np.max(values, initial=0.0)), 1e-300) if largest is None else largest
    return Bars(
        title=title,
        text=", ".join(said),
        series=[Series(title, np.asarray(values, np.float64))],
        names=names,
        titles=said,
        texts=texts,
        css=css,
        largest=most,
        kept=kept,
        below=True,
    )
