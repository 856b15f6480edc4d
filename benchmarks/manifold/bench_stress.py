"""Sammon's mapping beside PyPI ``sammon-mapping``: time and stress from the same start.

The peer keeps several matrices of all pairs and takes whole Newton steps, halved where the stress
rises; it runs with its own settings (500 steps, relative tolerance 1e-9), from the principal
components that it computes itself: rows are centered, so that they are ours too. A second
derivative near 0 throws single points off its map, and the steps of all others are halved with
theirs: it takes its 500 steps but hardly moves. ``ours`` is our default, ``to the end`` is ours
with the tolerance of the peer. Lower stress is better. The last rows have no peer here: 20,000
rows would take it 3 GB for each of its matrices.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from benchmarks.harness import Row, apart, clock, compare
from sklearn.datasets import load_digits

from sidelight.datasets import make_swiss_roll
from sidelight.evaluation import sammon_stress
from sidelight.manifold import SammonMapping

#: Largest ratio of the times that we want to see.
LIMIT = 0.2


def sets(quick: bool) -> dict[str, np.ndarray]:
    """Centered rows by name."""
    n = 200 if quick else 500
    rng = np.random.default_rng(0)
    rows = {
        f"Swiss roll, {n:,} x 3": make_swiss_roll(n, random_state=0).data,
        f"Gaussian, {n:,} x 20": rng.normal(size=(n, 20)),
        f"digits, {n:,} x 64": load_digits().data[:n],
    }
    return {name: values - values.mean(axis=0) for name, values in rows.items()}


def peer(X: np.ndarray) -> tuple[float, Any]:
    """Seconds and map of the peer."""
    from sammon.sammon import sammon

    started = time.perf_counter()
    places, _ = sammon(X, 2)
    return time.perf_counter() - started, places


def run(quick: bool) -> list[Row]:
    """Compare time and stress; then the rows of which the peer cannot hold all pairs."""
    rows = []
    for case, X in sets(quick).items():
        SammonMapping(max_iter=1000).fit(X[:50])  # compiled beforehand
        model, thorough = SammonMapping(), SammonMapping(tol=1e-9, max_iter=5000)
        found: list[tuple[float, Any]] = []

        def theirs(X: np.ndarray = X, found: list[Any] = found) -> tuple[float, Any]:
            found.append(apart(peer, X))
            return found[-1]

        row = compare(
            case,
            lambda X=X, model=model: model.fit(X),
            theirs,
            peer="sammon-mapping 0.0.2",
            seconds_of=lambda result: float(result[0]),
            limit=LIMIT,
            repeats=1,
        )
        to_the_end = clock(lambda X=X, thorough=thorough: thorough.fit(X))
        rows.append(
            row
            | {
                "stress of the start": f"{model.history_[0]:.5f}",
                "our stress": f"{model.objective_:.5f}",
                "their stress": f"{sammon_stress(X, found[-1][1]):.5f}",
                "to the end": to_the_end,
                "stress at the end": f"{thorough.objective_:.5f}",
            }
        )
    sizes = [1000] if quick else [4000, 20_000]
    return rows + [large(n) for n in sizes]


def large(n: int) -> Row:
    """Ten steps for many rows; above 4,000 their distances are computed for each step."""
    X = make_swiss_roll(n, random_state=0).data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SammonMapping(max_iter=10)
        seconds = clock(lambda: model.fit(X))
    return {
        "case": f"Swiss roll, {n:,} x 3, 10 steps",
        "seconds": seconds,
        "stress before": f"{model.history_[0]:.5f}",
        "stress after": f"{model.objective_:.5f}",
    }
