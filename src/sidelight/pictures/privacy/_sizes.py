"""How many classes of rows that are published alike there are of every size."""

from __future__ import annotations

import numpy as np

from sidelight._typing import IntArray
from sidelight._words import counted
from sidelight.pictures.kinds._bars import Bars, Series


def class_sizes(sizes: IntArray, k: int | None, most: int, n_suppressed: int = 0) -> Bars:
    """Number of classes by size, with a line at the least size that was asked for.

    Parameters
    ----------
    sizes : ndarray of shape (n_classes,)
        Number of rows of every class.
    k : int or None
        Least size that was asked for.
    most : int
        Most bars; more sizes share bars.
    n_suppressed : int, default=0
        Number of rows that are not published.
    """
    low, high = int(sizes.min()), int(sizes.max())
    width = max(1, -(-(high - low + 1) // most))
    counts = np.bincount((sizes - low) // width)
    first = low + width * np.arange(len(counts))
    names = [f"{n:,}" if width == 1 else f"{n:,} to {n + width - 1:,}" for n in first.tolist()]
    texts = [f"{n:,}" for n in counts.tolist()]
    said = [
        f"{name} rows: {counted(n, 'class')}"
        for name, n in zip(names, counts.tolist(), strict=True)
    ]
    return Bars(
        title="Sizes of the classes",
        text=", ".join(one for one, n in zip(said, counts, strict=True) if n),
        series=[Series("classes", counts.astype(np.float64))],
        names=names,
        titles=said,
        texts=texts,
        axis_titles=("rows published alike", "classes"),
        note=f"{counted(n_suppressed, 'row')} left out" if n_suppressed else "",
        css="saliencies sizes",
        largest=max(float(counts.max()), 1.0),
        wrong=(first + width - 1 < (k or 0)).tolist(),
        edges=low - 0.5 + width * np.arange(len(counts) + 1, dtype=np.float64),
        mark=None if k is None else k - 0.5,
        below=True,
    )
