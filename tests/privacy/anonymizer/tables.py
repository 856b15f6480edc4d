"""Random mixed tables, and counts of their published form that use pandas only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

CITIES = ["Rome", "a, b", "a", "b", "{a, b}", "*", "missing", "x\\y", "é;ü", "a-b"]


@st.composite
def mixed_tables(draw: Any, most_rows: int = 60) -> pd.DataFrame:
    """Tables with ties, gaps, dates, words with separators in them, and extreme numbers."""
    n = draw(st.integers(1, most_rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    made = {
        "age": rng.integers(18, 18 + draw(st.sampled_from([1, 5, 60])), n),
        "size, cm": np.round(rng.normal(170, 10, n), 1),
        "share": rng.uniform(-1, 1, n) * 10.0 ** draw(st.sampled_from([-9, 0, 9])),
        "float32": rng.normal(size=n).astype(np.float32),
        "gaps": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.integers(0, 9, n)),
        "city": rng.choice(CITIES, n),
        "word": np.where(rng.uniform(size=n) < 0.1, None, rng.choice(list("uvw"), n)),
        "yes": rng.uniform(size=n) < 0.2,
        "joined": pd.Timestamp("2020-02-28") + pd.to_timedelta(rng.integers(0, 800, n), "D"),
        "same": np.full(n, 7),
    }
    names = draw(st.lists(st.sampled_from(list(made)), min_size=1, max_size=5, unique=True))
    return pd.DataFrame({name: made[name] for name in names})


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
