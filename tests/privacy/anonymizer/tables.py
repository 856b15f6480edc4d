"""Random mixed tables, and counts of their published form that use pandas only."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd


def classes(published: pd.DataFrame) -> np.ndarray:
    """Number of the class of every published row."""
    return published.groupby(list(published.columns), dropna=False).ngroup().to_numpy()


def smallest_class(published: pd.DataFrame) -> int:
    return int(np.bincount(classes(published)).min())


def is_diverse(values: pd.Series, model: str, l: int, c: float) -> bool:  # noqa: E741
    counts = sorted(values.value_counts().tolist(), reverse=True)
    if len(counts) < l:
        return False
    if model == "distinct":
        return True
    if model == "entropy":
        shares = np.array(counts) / sum(counts)
        return bool(-(shares * np.log(shares)).sum() >= math.log(l) - 1e-9)
    tail = counts[l - 1 :] if model == "recursive" else counts[-l:]
    return counts[0] < c * sum(tail)


def all_diverse(
    published: pd.DataFrame,
    sensitive: pd.Series,
    model: str,
    l: int,  # noqa: E741
    c: float,
) -> bool:
    parts = sensitive.groupby(classes(published))
    return all(is_diverse(part, model, l, c) for _, part in parts)
