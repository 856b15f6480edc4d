"""Known splits as one: the cells of their product, and the columns of a regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sidelight._typing import FloatArray, IntArray
from sidelight._words import counted, listed, worded
from sidelight.exceptions import SidelightError

#: Least mean number of rows in the cells of a product: smaller cells carry no information.
ROWS_PER_CELL = 3


def product(splits: Any, max_cells: int | None) -> IntArray:
    """Cell of every row in the product of all categorical splits."""
    if splits.has_numbers:
        raise SidelightError(_no_categories(splits.number_names))
    cells = np.zeros(splits.n_samples, dtype=np.int64)
    for codes, names in zip(splits.codes.T, splits.class_names, strict=True):
        cells = np.unique(cells * len(names) + codes, return_inverse=True)[1].reshape(-1)
    n_cells = int(cells.max(initial=-1)) + 1
    most = max(splits.n_samples // ROWS_PER_CELL, 2) if max_cells is None else max_cells
    if n_cells > most:
        raise SidelightError(_too_many(splits, n_cells, most))
    return cells


def _too_many(splits: Any, n_cells: int, most: int) -> str:
    rows = counted(splits.n_samples, "row")
    if len(splits.names) == 1:
        return (
            f"The known split {splits.names[0]!r} has {n_cells:,} classes for {rows}, and at "
            f"most {most:,} can be told apart: join rare classes into one."
        )
    kinds = ", ".join(
        f"{name!r} {len(names):,}"
        for name, names in zip(splits.split_names, splits.class_names, strict=True)
    )
    return (
        f"The known splits together cut the {rows} into {n_cells:,} cells ({kinds} classes), "
        f"and at most {most:,} can be told apart: avoid fewer of them, join rare classes into "
        "one, or take a method that avoids them one by one instead of their product, "
        + worded(
            "ConditionalInformationBottleneck(known_as='regression').",
            "--method conditional-information-bottleneck --set known_as=regression.",
        )
    )


def _no_categories(names: Sequence[str]) -> str:
    words = listed([repr(name) for name in names])
    several = len(names) > 1
    return (
        f"The known {'columns' if several else 'column'} {words} {'hold' if several else 'holds'} "
        f"numbers, and this method avoids classes: cut {'them' if several else 'it'} into a few "
        "classes"
        + worded(
            " (pandas.qcut), or take ConditionalInformationBottleneck.",
            ", or take --method conditional-information-bottleneck.",
        )
    )


def design(splits: Any) -> FloatArray:
    """Indicators of the classes but the first, and standardized numbers, as columns."""
    blocks: list[FloatArray] = [np.empty((splits.n_samples, 0))]
    codes, values = iter(splits.codes.T), iter(splits.numbers.T)
    names = iter(splits.class_names)
    for categorical in splits.categorical:
        if categorical:
            blocks.append(next(codes)[:, None] == np.arange(1, len(next(names))))
            continue
        column = next(values)
        offsets = column - column.mean()
        spread = float(np.sqrt(np.mean(offsets**2)))
        if spread > 1e-12 * max(float(np.abs(column).max(initial=0.0)), 1e-300):
            blocks.append(offsets[:, None] / spread)
    return np.hstack(blocks).astype(np.float64)
