"""Sizes of clusters against their bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sidelight._typing import FloatArray, IntArray
from sidelight._words import counted, format_number
from sidelight.pictures.kinds._bars import Bars, Series


def cluster_sizes(
    names: Sequence[str],
    sizes: FloatArray | IntArray,
    bounds: FloatArray | None = None,
    *,
    n_outside: int = 0,
    colors: IntArray | None = None,
    noun: str = "cluster",
) -> Bars:
    """Size of every cluster as a bar, with marks at its bounds.

    Parameters
    ----------
    names : sequence of str
        Names of the clusters.
    sizes : ndarray of shape (k,)
        Their sizes: rows, or what their weights add up to.
    bounds : ndarray of shape (k, 2), default=None
        Smallest and largest size of each. A lower bound of 0, or an upper one that all rows
        together do not reach, says nothing and is not marked.
    n_outside : int, default=0
        Number of rows in no cluster; the last bar where there are any.
    colors : ndarray of int, shape (k,), default=None
        Number of the color of every cluster; by default the number of the cluster.
    noun : str, default="cluster"
        What the bars stand for.
    """
    heights = np.asarray(sizes, np.float64)
    numbers = np.arange(len(heights)) if colors is None else colors
    shown, marks, wrong, note = list(names), [], np.zeros(len(heights), bool), ""
    total = float(heights.sum()) + n_outside
    if bounds is not None:
        low, high = np.asarray(bounds, np.float64).T
        slack = 1e-9 * max(float(heights.sum()), 1.0)  # sums of weights are rounded
        wrong = (heights < low - slack) | (heights > high + slack)
        marks = [tuple(b for b in pair if 0 < b < total) for pair in zip(low, high, strict=True)]
        n_wrong = int(wrong.sum())
        note = f"{counted(n_wrong, 'size')} out of bounds" if n_wrong else "all sizes within bounds"
    if n_outside:
        shown, heights = [*shown, "none"], np.append(heights, n_outside)
        numbers, wrong = np.append(numbers, -1), np.append(wrong, False)
        marks = [*marks, ()] if marks else marks
    texts = [format_number(height, 6) for height in heights]
    said = list(zip(shown, texts, strict=True))
    return Bars(
        title=f"Rows in each {noun}",
        text=", ".join(f"{name}: {text}" for name, text in said),
        series=[Series("size", heights)],
        names=shown,
        titles=[f"{noun} {name}: {text} rows" for name, text in said],
        texts=texts,
        axis_titles=(noun, "size"),
        note=note,
        largest=max([1.0, *heights, *(bound for pair in marks for bound in pair)]),
        colors=numbers,
        wrong=wrong.tolist(),
        marks=marks,
    )
