"""k-means on rows that are on workers: beside dask-ml, and beside scikit-learn on mini-batches.

dask-ml's ``KMeans`` and ours begin with ``k-means||`` on the same Dask array, on two workers of one
thread each, and run as long as they do by default; scikit-learn's ``MiniBatchKMeans`` has all rows
in memory and two threads. Inertias are exact sums over all rows. Ours should be no worse than that
of dask-ml (the ratio of inertias at most 1) in a third of its time.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from benchmarks.engine import data
from benchmarks.engine.clusters import rows_here, rows_of, workers
from benchmarks.harness import Row

D, K = 16, 50


class Fit(NamedTuple):
    """Seconds of a fit, and the inertia of all rows."""

    seconds: float
    inertia: float


def run(quick: bool) -> list[Row]:
    n, seeds = (100_000, 1) if quick else (1_000_000, 2)
    rows = []
    # As many groups as clusters, and three times as many: the second has no obvious answer.
    for n_groups in (K, 3 * K):
        fits = {
            name: [data.alone(work, n, n_groups, seed) for seed in range(seeds)]
            for name, work in (("ours", ours), ("dask", dask_ml), ("batches", mini_batches))
        }
        # In tables of Markdown the bars of k-means|| would be cells.
        case = f"KMeans, scalable k-means++, n={n:,}, d={D}, k={K}, {n_groups} groups"
        peer = "scikit-learn MiniBatchKMeans"
        rows.append(beside(case, "dask-ml", fits["ours"], fits["dask"], 1 / 3))
        rows.append(beside(case, peer, fits["ours"], fits["batches"], float("inf")))
    return rows


def beside(case: str, peer: str, ours: list[Fit], theirs: list[Fit], limit: float) -> Row:
    seconds, their_seconds = (min(fit.seconds for fit in fits) for fits in (ours, theirs))
    inertia, their_inertia = (
        float(np.median([fit.inertia for fit in fits])) for fits in (ours, theirs)
    )
    return {
        "case": case,
        "peer": peer,
        "ours": seconds,
        "theirs": their_seconds,
        "ratio": seconds / their_seconds,
        "limit": limit,
        "inertia, ratio of medians": inertia / their_inertia,
    }


def ours(n: int, n_groups: int, seed: int) -> Fit:
    from sidelight.cluster import KMeans
    from sidelight.engine import as_rows

    def fit(size: int) -> Any:
        model = KMeans(K, init="k-means||", random_state=seed)
        return model.fit(as_rows(rows_of(size, D, n_groups=n_groups)))

    with workers(2):
        fit(10_000)  # compile first
        rows = as_rows(rows_of(n, D, n_groups=n_groups))
        started = time.perf_counter()
        model = KMeans(K, init="k-means||", random_state=seed).fit(rows)
        seconds = time.perf_counter() - started
    return Fit(seconds, inertia_of(n, n_groups, model.cluster_centers_))


def dask_ml(n: int, n_groups: int, seed: int) -> Fit:
    from dask_ml.cluster import KMeans
    from distributed import wait

    with workers(2):
        KMeans(K, random_state=seed).fit(rows_of(10_000, D, n_groups=n_groups))
        X = rows_of(n, D, n_groups=n_groups).persist()
        wait(X)
        started = time.perf_counter()
        model = KMeans(K, random_state=seed).fit(X)
        seconds = time.perf_counter() - started
    return Fit(seconds, inertia_of(n, n_groups, model.cluster_centers_))


def mini_batches(n: int, n_groups: int, seed: int) -> Fit:
    from sklearn.cluster import MiniBatchKMeans

    X = rows_here(n, D, n_groups=n_groups)
    started = time.perf_counter()
    model = MiniBatchKMeans(K, random_state=seed, n_init=1).fit(X)
    return Fit(time.perf_counter() - started, inertia_of(n, n_groups, model.cluster_centers_))


def inertia_of(n: int, n_groups: int, centers: np.ndarray) -> float:
    """Sum of the squared distances of all rows to the nearest center."""
    from sklearn.metrics import pairwise_distances_argmin_min

    X = rows_here(n, D, n_groups=n_groups)
    centers = centers.astype(X.dtype)
    nearest = pairwise_distances_argmin_min(X, centers)[0]
    return float(((X - centers[nearest]) ** 2).sum(dtype=np.float64))
