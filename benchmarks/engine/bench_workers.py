"""Two workers against one, and one worker against one thread in memory.

The cluster is Dask's ``LocalCluster`` with its defaults: workers are processes of one thread each.
All fits start from given parameters and make the same number of iterations, by turns; the rows are
there before the clock starts. Results must agree to rounding. Processor seconds are those of all
processes, so that they also tell where something else kept the machine busy.

- One worker over two: at least 1.7x, that is a ratio of at most 1 / 1.7.
- One worker over one thread in memory: at most 1.2x where a pass is 0.3 s of work or more.
- Two threads in memory over one, as the other way to use two processors.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from benchmarks.engine.clusters import rows_here, rows_of, workers
from benchmarks.harness import Row
from sklearn.exceptions import ConvergenceWarning

from sidelight.cluster import KMeans
from sidelight.engine import as_rows, threads
from sidelight.mixture import GaussianMixture


def run(quick: bool) -> list[Row]:
    repeats = 2 if quick else 3
    rows = []
    # A pass takes 0.3 s or more on one processor.
    for name, n in (("EM", 2_000_000), ("k-means", 6_000_000)):
        n = n // 10 if quick else n
        X = rows_here(n, 16)
        case, model = method(name, X)
        rows += rows_of_case(f"{case}, n={n:,}, d=16", model, X, repeats)
    return rows


def method(name: str, X: np.ndarray) -> tuple[str, Any]:
    start = X[np.random.default_rng(0).choice(len(X), 100, replace=False)]
    if name == "k-means":
        means = KMeans(100, init=start, max_iter=10, tol=0.0)
        return "k-means, k=100, 10 iterations", means
    mixture = GaussianMixture(
        10,
        covariance_type="full",
        means_init=start[:10],
        weights_init=np.full(10, 0.1),
        precisions_init=np.tile(np.diag(1 / X.var(axis=0)), (10, 1, 1)),
        max_iter=5,
        tol=0.0,
        random_state=0,
    )
    return "EM, full, k=10, 5 iterations", mixture


def rows_of_case(case: str, model: Any, X: np.ndarray, repeats: int) -> list[Row]:
    with contextlib.ExitStack() as stack:
        clients = {n: stack.enter_context(workers(n)) for n in (1, 2)}
        here = as_rows(X)
        contestants = {
            "one thread": Contestant(here, 1, None),
            "two threads": Contestant(here, 2, None),
        }
        for n_workers, name in ((1, "one worker"), (2, "two workers")):
            with clients[n_workers].as_current():
                rows = as_rows(rows_of(*X.shape))
            contestants[name] = Contestant(rows, 1, clients[n_workers])
        times = best_times(model, contestants, repeats)
    pairs = [
        ("two workers", "one worker", 1 / 1.7),
        ("one worker", "one thread", 1.2),
        ("two threads", "one thread", 1 / 1.7),
    ]
    return [
        {
            "case": f"{case}: {ours}",
            "peer": theirs,
            "ours": times[ours].seconds,
            "theirs": times[theirs].seconds,
            "ratio": times[ours].seconds / times[theirs].seconds,
            "limit": limit,
            "processor seconds": times[ours].processor,
            "theirs, processor": times[theirs].processor,
        }
        for ours, theirs, limit in pairs
    ]


class Contestant(NamedTuple):
    """Rows, the threads of this process, and the client where the rows are on workers."""

    rows: Any
    n_threads: int
    client: Any


class Best(NamedTuple):
    """The smallest times of several fits, and what all processes worked meanwhile."""

    seconds: float
    processor: float


def best_times(
    model: Any, contestants: dict[str, Contestant], repeats: int, **params: Any
) -> dict[str, Best]:
    """Time the contestants by turns; the first turn compiles and does not count."""
    found: dict[str, list[Best]] = {name: [] for name in contestants}
    objectives = []
    for _ in range(1 + repeats):
        for name, (rows, n_threads, client) in contestants.items():
            worked, started = processor_time(client), time.perf_counter()
            with threads(n_threads), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of iterations
                model.fit(rows, **params)
            seconds = time.perf_counter() - started
            found[name].append(Best(seconds, processor_time(client) - worked))
            objectives.append(model.objective_)
    assert np.allclose(objectives, objectives[0], rtol=1e-5)
    return {name: Best(*map(min, zip(*bests[1:], strict=True))) for name, bests in found.items()}


def processor_time(client: Any) -> float:
    """Seconds that this process and all workers have worked."""
    there = client.run(time.process_time).values() if client else ()
    return time.process_time() + sum(there)
