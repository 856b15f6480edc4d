"""Several starts on threads against the same starts one after the other, on tables of one block.

On small tables there is nothing to gain, and they run one after the other in either case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.harness import Row, compare
from sklearn.datasets import make_blobs

from sidelight.cluster import KMeans, MPCKMeans, PCKMeans, SizeConstrainedKMeans
from sidelight.constraints import Constraints
from sidelight.engine import get_threads, threads

STARTS = 10

#: What restarts by threads should gain on two processors, at least.
GAIN = 1.2


def run(quick: bool) -> list[Row]:
    repeats = 2 if quick else 6
    rows = []
    for n, limit in ((5_000, 1.1), (30_000, 1 / GAIN)):
        X, y = make_blobs(n, n_features=10, centers=10, cluster_std=4.0, random_state=0)
        name = f"{n:,} x 10"
        known = Constraints.sample(y, 500, random_state=0)
        settings: dict[str, Any] = {"n_init": STARTS, "random_state": 0}
        fits: list[tuple[Any, Constraints | None]] = [
            (KMeans(10, **settings), None),
            (PCKMeans(10, **settings), known),
            (MPCKMeans(10, **settings), known),
            (SizeConstrainedKMeans(10, min_size=0.1, max_size=0.1, **settings), None),
        ]
        for model, constraints in fits:
            rows.append(against_one_thread(name, model, X, constraints, limit, repeats))
    return rows


def against_one_thread(
    name: str,
    model: Any,
    X: np.ndarray,
    constraints: Constraints | None,
    limit: float,
    repeats: int,
) -> Row:
    """Time the same fit with all threads and with one; the results have to be the same."""
    labels = []

    def fit(n_threads: int) -> Callable[[], None]:
        def work() -> None:
            with threads(n_threads):
                labels.append(model.fit(X, constraints=constraints).labels_)

        return work

    fit(1)()  # compiles
    row = compare(
        f"{type(model).__name__}, {name}, k=10, {STARTS} starts",
        fit(get_threads()),
        fit(1),
        peer="one thread",
        limit=limit,
        repeats=repeats,
    )
    assert all(np.array_equal(found, labels[0]) for found in labels)
    return {**row, "gain": row["theirs"] / row["ours"], "iterations": int(model.n_iter_)}
