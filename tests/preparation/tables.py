"""Random mixed tables for the tests of preparation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def mixed_table(seed: int, n: int = 60, *, gaps: float = 0.0) -> pd.DataFrame:
    """Numbers in two units, yes or no, a category and an ordered one."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n),
            "meters": rng.uniform(0, 1e5, n),
            "member": rng.choice(["yes", "no"], n),
            "country": rng.choice(["DE", "FR", "IT", "ES"], n),
            "grade": rng.choice(["low", "medium", "high"], n),
        }
    )
    if gaps:
        table = table.mask(pd.DataFrame(rng.random(table.shape) < gaps, columns=table.columns))
    return table


def partial_distances(table: pd.DataFrame, orders: dict[str, list[str]]) -> dict[str, Any]:
    """Gower's distance of every pair of rows in every column, by its definition."""
    found = {}
    for name in table.columns:
        values = table[name]
        if name in orders:
            values = values.map({level: rank for rank, level in enumerate(orders[name])})
        if values.dtype.kind in "if":
            x = values.to_numpy(float)
            found[name] = np.abs(x[:, None] - x[None, :]) / (x.max() - x.min())
        else:
            x = values.to_numpy(object)
            found[name] = (x[:, None] != x[None, :]).astype(float)
    return found


def squared_distances(X: Any) -> Any:
    """Squared Euclidean distance of every pair of rows."""
    return ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
