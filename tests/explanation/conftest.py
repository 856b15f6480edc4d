"""Tables with planted differences, and columns without any."""

from __future__ import annotations

import numpy as np
import pytest

from sidelight.preparation import TypedColumn

DAY = 86_400.0


def number(name, values):
    return TypedColumn(name, "number", np.asarray(values, dtype=np.float64))


def category(name, codes, levels, kind="category"):
    return TypedColumn(name, kind, np.asarray(codes, dtype=np.int32), tuple(levels))


def text(name, values):
    return TypedColumn(name, "text", np.asarray(values, dtype=object))


def noise_table(rng, n):
    """Columns of every kind that have nothing to do with any cluster."""
    words = np.array(["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"])
    dates = 1e9 + 1e7 * rng.normal(size=n)
    return [
        number("normal", rng.normal(size=n)),
        number("skewed", np.exp(2.0 * rng.normal(size=n))),
        number("mostly zero", (rng.random(n) < 0.03).astype(float)),
        number("counts", rng.poisson(0.5, n)),
        category("levels", np.minimum(rng.geometric(0.25, n) - 1, 11), "abcdefghijkl"),
        category("rare", rng.random(n) < 0.1, ("no", "yes"), "yes-no"),
        category("steps", rng.integers(-1, 5, n), "abcde", "ordered"),
        TypedColumn("date", "date", np.where(rng.random(n) < 0.2, np.nan, dates)),
        TypedColumn("clock", "time", rng.uniform(0.0, DAY, n)),
        text("note", [" ".join(words[rng.random(8) < 0.2]) for _ in range(n)]),
    ]


@pytest.fixture
def mixed():
    """A table of every kind of column with three planted clusters: (columns, labels)."""
    rng = np.random.default_rng(0)
    n = 600
    y = rng.integers(0, 3, n)
    income = np.round(np.exp(rng.normal(10.5 + 0.5 * (y == 1) - 0.3 * (y == 2), 0.3)), -1)
    income[rng.random(n) < 0.05 + 0.2 * (y == 2)] = np.nan
    shares = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.25] * 4])
    country = (rng.random(n)[:, None] > np.cumsum(shares, axis=1)[y]).sum(axis=1)
    country[rng.random(n) < 0.05] = -1
    texts = np.array(["please send invoice", "refund the item", "great service", "my order"])
    note = texts[np.where(y == 2, 1, rng.integers(0, 4, n))].astype(object)
    note[rng.random(n) < 0.1] = ""
    size = np.clip(np.round(rng.normal(1 + 1.2 * (y == 1), 0.8, n)), 0, 3)
    size[rng.random(n) < 0.05] = -1
    visit = rng.normal(23 * 3600.0 + (y == 1) * 4 * 3600.0, 5000.0) % DAY
    columns = [
        number("income", income),
        category("country", country, ("DE", "FR", "IT", "ES")),
        category("newsletter", rng.random(n) < np.where(y == 2, 0.8, 0.3), ("no", "yes"), "yes-no"),
        category("size", size, ("S", "M", "L", "XL"), "ordered"),
        TypedColumn("signup", "date", 1.5e9 + rng.normal(size=n) * 3e7 + (y == 0) * 8e7),
        TypedColumn("visit", "time", visit),
        number("orders", rng.poisson(0.3 + 2 * (y == 2))),
        number("year", 1990 + rng.integers(0, 20, n) + 8 * (y == 1)),
        text("note", note),
    ]
    return columns, y
