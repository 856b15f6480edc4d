"""One thread and two, and a setting of the allocator that Dask makes for its workers.

Every fit runs in a process of its own: as it is, and with ``MALLOC_TRIM_THRESHOLD_=65536`` in the
environment, with which memory goes back to the system whenever 64 kB of it are free. Then a loop
that asks for half a megabyte per tile of rows pays for every page of it again. ``ratio`` is the
time of two threads over that of one in the table of threads (1 / 1.7 is the limit). In the table of
the allocator the seconds are those of the processor, by one thread, with the setting and without
it: they hardly depend on what else the machine does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
from benchmarks.harness import Row

N_FEATURES, K = 16, 10

CASES = ("full", "tied", "diag", "spherical", "penalized", "multinomial", "k-means")
THREADS_LIMIT = {"full": 1 / 1.7}
SETTING = {"MALLOC_TRIM_THRESHOLD_": "65536"}
SETTING_LIMIT = 1.1


def run(quick: bool) -> list[Row]:
    n = 200_000 if quick else 2_000_000
    rows_of_threads, rows_of_setting = [], []
    for case in CASES:
        plain, trimmed = fits(case, n, {}), fits(case, n, SETTING)
        name = f"{case}, n={n:,}, d={N_FEATURES}"
        ratio = plain["2"]["seconds"] / plain["1"]["seconds"]
        row: Row = {
            "case": name,
            "peer": "one thread",
            "ours": plain["2"]["seconds"],
            "theirs": plain["1"]["seconds"],
            "ratio": ratio,
            "gain": 1 / ratio,
            "with the setting": trimmed["2"]["seconds"],
        }
        if case in THREADS_LIMIT and not quick:
            row["limit"] = THREADS_LIMIT[case]
        rows_of_threads.append(row)
        rows_of_setting.append(
            {
                "case": f"{name}, memory given back early",
                "peer": "as it is",
                "ours": trimmed["1"]["processor"],
                "theirs": plain["1"]["processor"],
                "ratio": trimmed["1"]["processor"] / plain["1"]["processor"],
                "limit": SETTING_LIMIT,
            }
        )
    return sorted(rows_of_threads, key=lambda row: "limit" not in row) + rows_of_setting


def fits(case: str, n: int, environment: dict[str, str]) -> dict[str, dict[str, float]]:
    """Seconds of the case by number of threads, in a process with this environment."""
    command = [sys.executable, "-m", "benchmarks.mixture.bench_threads", case, str(n)]
    done = subprocess.run(
        command, env={**os.environ, **environment}, check=True, capture_output=True, text=True
    )
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


def main(case: str, n: int) -> None:
    """Print the seconds of a case as JSON: what the process of :func:`fits` does."""
    from sidelight.engine import threads

    X, fit = problem(case, n)
    warnings.simplefilter("ignore")
    fit(X[: min(n, 20_000)])  # compile first
    found = {}
    for count in (1, 2):
        times = []
        for _ in range(3):
            started, used = time.perf_counter(), time.process_time()
            with threads(count):
                fit(X)
            times.append((time.perf_counter() - started, time.process_time() - used))
        seconds, processor = min(times)
        found[count] = {"seconds": seconds, "processor": processor}
    print(json.dumps(found))


def problem(case: str, n: int) -> tuple[np.ndarray, Any]:
    """Rows (float32), and a fit from a given start with a fixed number of iterations."""
    from sidelight import Constraints
    from sidelight.cluster import KMeans
    from sidelight.mixture import GaussianMixture, MultinomialMixture, PenalizedMixture

    rng = np.random.default_rng(0)
    centers = 2 * rng.normal(size=(K, N_FEATURES))
    component = rng.integers(K, size=n)
    X = rng.standard_normal((n, N_FEATURES), dtype=np.float32)
    X += centers.astype(np.float32)[component]
    fixed: dict[str, Any] = {"max_iter": 5, "tol": 0.0}
    if case == "k-means":
        init = X[:100].copy()
        return X, lambda rows: KMeans(100, init=init, max_iter=10, tol=0.0).fit(rows)
    if case == "multinomial":
        many = MultinomialMixture(K, init_params="random", n_init=1, random_state=0, **fixed)
        return np.floor(np.abs(X)), many.fit
    start = {"means_init": centers, "weights_init": np.full(K, 1 / K)}
    eye = np.eye(N_FEATURES)
    precisions = {
        "tied": eye,
        "diag": np.ones((K, N_FEATURES)),
        "spherical": np.ones(K),
    }.get(case, np.tile(eye, (K, 1, 1)))
    start["precisions_init"] = precisions
    if case == "penalized":
        some = Constraints.sample(component[:20_000], 2000, random_state=0)
        links = some.must_link, some.cannot_link
        model = PenalizedMixture(K, penalty=5.0, **start, **fixed)
        return X, lambda rows: model.fit(rows, constraints=Constraints(*links, n_samples=len(rows)))
    return X, GaussianMixture(K, covariance_type=case, **start, **fixed).fit


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
