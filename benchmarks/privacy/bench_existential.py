"""Clusters that each hold enough of a kind: beside k-means-constrained, and at a million rows.

- ``count(*) >= m`` with ``m`` at 0.8 of the mean size is the problem of ``k-means-constrained``
  with a least size: same data, same centers of k-means, same number of iterations; at least 5x
  faster, and the dispersion is about the same.
- A million rows: time of a fit over that of k-means without conditions from the same centers, for
  pivots that are a tenth of the rows, and for rows in micro-clusters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.cluster.peers import kmeans_constrained
from benchmarks.harness import Row, apart, clock, compare, most_memory

from sidelight.cluster import KMeans
from sidelight.constraints import Conditions
from sidelight.privacy import ExistentialKMeans

#: Rows, features, clusters, iterations and repetitions that keep the peer's time bearable.
SHAPES = ((3_000, 5, 10, 10, 3), (10_000, 10, 20, 5, 1))
PEER = "k-means-constrained"
TIGHT = 0.8


def run(quick: bool) -> list[Row]:
    rows = [beside_peer(*shape) for shape in SHAPES[: 1 if quick else None]]
    return [*rows, *against_kmeans(50_000 if quick else 1_000_000, 8, 20)]


def groups(n: int, d: int, k: int) -> np.ndarray:
    """Groups of different sizes that overlap."""
    rng = np.random.default_rng(0)
    shares = rng.random(k) + 0.1
    y = rng.choice(k, size=n, p=shares / shares.sum())
    return rng.standard_normal((n, d)) + 1.5 * rng.standard_normal((k, d))[y]


def beside_peer(n: int, d: int, k: int, iterations: int, repeats: int) -> Row:
    X = groups(n, d, k)
    start = X[np.random.default_rng(1).choice(n, k, replace=False)]
    centers = KMeans(k, init=start, tol=0.0).fit(X).cluster_centers_
    m = int(TIGHT * n / k)
    same: dict[str, Any] = {"init": centers, "n_init": 1, "max_iter": iterations, "tol": 0.0}
    ours, wanted = ExistentialKMeans(k, **same), Conditions(n_samples=n).at_least(m)
    ours.fit(X, conditions=wanted)  # compile first
    theirs = apart(kmeans_constrained, X, k, m, n, **same)
    row = compare(
        f"n={n:,}, d={d}, k={k}, count(*) >= {m}, {iterations} iterations",
        lambda: ours.fit(X, conditions=wanted),
        lambda: apart(kmeans_constrained, X, k, m, n, **same),
        peer=PEER,
        seconds_of=lambda fit: fit.seconds,
        limit=1 / 5,
        repeats=repeats,
    )
    return {**row, "objective ratio": ours.objective_ / theirs.inertia}


def against_kmeans(n: int, d: int, k: int) -> list[Row]:
    """Time of a fit over that of plain k-means from the same centers."""
    X = groups(n, d, k).astype(np.float32)
    rng = np.random.default_rng(1)
    start = X[rng.choice(n, k, replace=False)]
    pivots = rng.random(n) < 0.1
    few = Conditions({"pivot": (pivots, int(TIGHT * pivots.sum() / k))})
    all_rows = Conditions(n_samples=n).at_least(int(TIGHT * n / k))
    loop: dict[str, Any] = {"init": start, "max_iter": 20}
    cases = {
        "a tenth are pivots, transport": (ExistentialKMeans(k, **loop), few),
        "a tenth are pivots, flow": (ExistentialKMeans(k, pivot_moves="flow", **loop), few),
        "a tenth are pivots, lookahead": (
            ExistentialKMeans(k, pivot_moves="lookahead", **loop),
            few,
        ),
        "all are pivots, transport": (ExistentialKMeans(k, **loop), all_rows),
        "all are pivots, micro-clusters of radius 1.5": (
            ExistentialKMeans(k, micro_radius=1.5, **loop),
            all_rows,
        ),
    }
    if n > 5_000:  # compile first
        against_kmeans(5_000, d, k)
    free = KMeans(k, **loop)
    seconds = clock(lambda: free.fit(X))
    rows = []
    for name, (model, wanted) in cases.items():
        took = clock(lambda: model.fit(X, conditions=wanted))  # noqa: B023
        rows.append(
            {
                "case": f"n={n:,}, d={d}, k={k}, float32, {name}",
                "peer": "our KMeans",
                "ours": took,
                "theirs": seconds,
                "ratio": took / seconds,
                "objective ratio": model.objective_ / free.objective_,
                "iterations": model.n_iter_,
                "megabytes": most_memory(),
            }
        )
    return rows
