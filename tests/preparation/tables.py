"""Random mixed tables for the tests of preparation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sidelight.io.inner import Part


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


class TablePart(Part):
    """A part of a table in memory, in stretches of a few rows."""

    def __init__(self, table: pa.Table, name: str = "a part", rows: int = 7) -> None:
        self.schema, self.name = table.schema, name
        self.table, self._step = table, rows
        starts = range(0, table.num_rows, rows)
        self.chunks = tuple(min(rows, table.num_rows - start) for start in starts)

    def _read(self, names: list[str], rows: int, chunks: Any) -> Iterator[pa.RecordBatch]:
        for chunk in range(len(self.chunks)) if chunks is None else chunks:
            some = self.table.select(names).slice(chunk * self._step, self._step)
            yield from some.combine_chunks().to_batches()


def cut(table: pa.Table, places: Sequence[int], rows: int = 7) -> list[TablePart]:
    """The table in parts, cut at these places."""
    ends = [0, *sorted(places), table.num_rows]
    return [
        TablePart(table.slice(start, stop - start), f"part {number}", rows)
        for number, (start, stop) in enumerate(itertools.pairwise(ends))
    ]


def everything(seed: int, n: int) -> pa.Table:
    """A column of every kind that preparation knows."""
    rng = np.random.default_rng(seed)
    words = np.array(
        ["late", "torn", "box", "great", "fine", "cheese", "slow", "quick", "dry", "ok"]
    )
    days = pd.to_datetime("2019-03-01") + pd.to_timedelta(rng.integers(0, 20_000, n), "h")
    amounts = rng.normal(5e8, 1.0, n).round(2)
    gaps = rng.random(n) < 0.2
    return pa.table(
        {
            "number": rng.normal(size=n),
            "far": pa.array(np.where(gaps, np.nan, 1e9 + rng.random(n)), from_pandas=True),
            "also_far": pa.array(np.where(gaps, np.nan, rng.random(n)), from_pandas=True),
            "skewed": np.exp(rng.normal(3, 2, n)),
            "few": rng.integers(0, 2, n),
            "flag": rng.random(n) < 0.4,
            "order_id": rng.permutation(n) + 1000,
            "row": np.arange(n),
            "each_once": rng.permutation(n),
            "shop_no": rng.integers(0, 4, n),
            "zip": rng.integers(10_000, 99_999, n),
            "constant": np.ones(n),
            "empty": pa.nulls(n),
            "member": rng.choice(["yes", "no", "n/a"], n),
            "grade": rng.choice(["low", "medium", "high"], n),
            "country": rng.choice(["DE", "FR ", " FR", "IT", ""], n, p=[0.5, 0.2, 0.1, 0.1, 0.1]),
            "city": np.char.add("city ", np.minimum(rng.geometric(0.1, n), 60).astype(str)),
            "name": np.char.add("person ", rng.permutation(n).astype(str)),
            "size": pa.array(rng.choice(["S", "M", "L"], n)).dictionary_encode(),
            "rank": pa.DictionaryArray.from_arrays(
                rng.integers(0, 3, n).astype(np.int32), ["one", "two", "six"], ordered=True
            ),
            "day": days,
            "clock": pa.array(rng.integers(0, 86_400, n), pa.int32()).cast(pa.time32("s")),
            "took": pa.array(rng.integers(0, 10**9, n)).cast(pa.duration("us")),
            "written_day": days.strftime("%d.%m.%Y"),
            "mixed_day": np.where(gaps, days.strftime("%m/%d/%Y"), days.strftime("%Y-%m-%d")),
            "written_clock": days.strftime("%H:%M"),
            "amount": [f"{x:,.2f} €".translate(str.maketrans(",.", ".,")) for x in amounts],
            "nearly_numbers": np.where(np.arange(n) == n // 2, "soon", rng.random(n).astype(str)),
            "prose": [" ".join(words[rng.integers(0, 10, 6)]) for _ in range(n)],
            "same_day": days,
        }
    )
