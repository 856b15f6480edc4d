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


def flights(seed: int = 0, n: int = 3000, *, years: int = 1) -> pd.DataFrame:
    """Departures as nycflights13 writes them: several columns tell of one moment."""
    rng = np.random.default_rng(seed)
    planned = pd.Timestamp("2013-01-01") + pd.to_timedelta(
        rng.integers(0, 365 * years, n) * 1440 + 5 * rng.integers(60, 280, n), "min"
    )
    delay = np.maximum(np.round(rng.exponential(25, n) - 8), -10)
    real = planned + pd.to_timedelta(delay, "min")
    cancelled = rng.random(n) < 0.03
    return pd.DataFrame(
        {
            "year": planned.year,
            "month": planned.month,
            "day": planned.day,
            "dep_time": np.where(cancelled, np.nan, 100.0 * real.hour + real.minute),
            "sched_dep_time": 100 * planned.hour + planned.minute,
            "dep_delay": np.where(cancelled, np.nan, delay),
            "carrier": rng.choice(["UA", "B6", "EV", "DL", "AA"], n),
            "flight": rng.integers(1, 6000, n),
            "tailnum": [f"N{k}" for k in rng.integers(100, 4000, n)],
            "origin": rng.choice(["EWR", "JFK", "LGA"], n),
            "distance": rng.choice([200, 529, 733, 1400, 2475, 4983], n),
            "hour": planned.hour,
            "minute": planned.minute,
            "time_hour": planned.floor("h"),
        }
    )


def penguins(seed: int = 0, n: int = 344) -> pd.DataFrame:
    """Three species on three islands, with a few gaps, some of them in the same rows."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "species": np.array(["Adelie", "Chinstrap", "Gentoo"])[kind],
            "island": rng.choice(["Biscoe", "Dream", "Torgersen"], n),
            "bill_length_mm": (rng.normal(38.8, 2.7, n) + 9 * (kind > 0)).round(1),
            "bill_depth_mm": (rng.normal(18.4, 1.2, n) - 3.4 * (kind == 2)).round(1),
            "flipper_length_mm": (rng.normal(190, 6.5, n) + 27 * (kind == 2)).round(),
            "body_mass_g": (rng.normal(3700, 450, n) + 1370 * (kind == 2)).round(-1),
            "sex": rng.choice(["male", "female"], n),
            "year": rng.integers(2007, 2010, n),
        }
    )
    table.loc[[3, 271], table.columns[2:6]] = np.nan
    table.loc[[3, 271, 8, 9, 10], "sex"] = None
    return table


def patients(seed: int = 0, n: int = 400, *, panels: int = 5, tests: int = 9) -> pd.DataFrame:
    """Laboratory panels: all tests of a panel are there, or none."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {"age": rng.integers(20, 90, n), "sex": rng.choice(["f", "m"], n)}
    for panel in range(panels):
        taken = rng.random(n) < 0.4 + 0.1 * panel
        for test in range(tests):
            values = rng.normal(100 * test, 10, n).round(1)
            columns[f"panel {panel} test {test}"] = np.where(taken, values, np.nan)
    return pd.DataFrame(columns)
