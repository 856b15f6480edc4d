"""Metrics learned from pairs on raw and on standardized columns: does more knowledge help?

``python -m experiments.cluster.scaled_starts [--runs 50] [--quick]``
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from experiments.harness import Data, Section, Verdict, main, mean_and_error, uci_or_none
from sidelight import Constraints
from sidelight.cluster import LCVQE, HMRFKMeans, MPCKMeans, PCKMeans
from sidelight.evaluation import adjusted_rand_index

TITLE = "Units of columns and the number of pairs"
VERDICTS = {"*": Verdict("no published figure")}

AMOUNTS = (0, 50, 100, 200, 300, "n")
METHODS: dict[str, Any] = {
    "MPCKMeans": MPCKMeans,
    "HMRFKMeans": HMRFKMeans,
    "LCVQE": LCVQE,
    "PCKMeans": PCKMeans,
}
MAX_ROWS = 1500
FEWEST_FREE = 10


def run(runs: int, quick: bool) -> list[Section]:
    names = ("wine", "vehicle") if quick else ("wine", "vehicle", "ionosphere", "pendigits")
    names += () if quick else ("satellite", "digits")
    found = [section(name, min(runs, 20)) for name in names]
    return [table for table in found if table is not None]


def section(name: str, runs: int) -> Section | None:
    loaded = uci_or_none(name)
    if loaded is None:
        return None
    X, y = np.asarray(loaded.data, dtype=float), np.asarray(loaded.target)
    if len(y) > MAX_ROWS:
        chosen = np.random.default_rng(0).permutation(len(y))[:MAX_ROWS]
        X, y = X[chosen], y[chosen]
    rows = []
    for method, cls in METHODS.items():
        for kind, columns in (("raw", X), ("standardized", StandardScaler().fit_transform(X))):
            data = Data(name, columns, y)
            scores = [mean_and_error(held_out(cls, data, m, runs)) for m in AMOUNTS]
            rows.append([method, kind, *scores])
    text = (
        f"Adjusted Rand index of the rows that no pair mentions, by the number of random correct "
        f"pairs, defaults, mean ± standard error of {runs} draws; at most {MAX_ROWS} rows. The "
        "metric of MPCKMeans takes up any units, and so do its starts: both rows are the same."
    )
    header = ("method", "columns", *(f"{m} pairs" for m in AMOUNTS))
    return Section(f"{name}: held-out rows against the number of pairs", text, header, rows)


def held_out(cls: Any, data: Data, amount: int | str, runs: int) -> list[float]:
    n = len(data.y)
    m = n if amount == "n" else int(amount)
    scores = []
    for seed in range(runs):
        known = Constraints(n_samples=n)
        if m:
            known = Constraints.sample(data.y, m, random_state=seed)
        free = np.setdiff1d(np.arange(n), known.mentioned)
        labels = cls(data.k, random_state=seed).fit(data.X, constraints=known).labels_
        enough = len(free) >= FEWEST_FREE
        scores.append(adjusted_rand_index(data.y[free], labels[free]) if enough else np.nan)
    return scores


if __name__ == "__main__":
    main("scaled_starts")
