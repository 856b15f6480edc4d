"""How time and memory grow with the rows and with what is known about them.

- Seconds of a pass of k-means over a ``.npy``, from 100,000 to 10,000,000 rows: linear. A ratio of
  1 says that a row of the largest table costs what one of a table a tenth of its size costs.
- Seconds of an iteration with up to 100,000 pairs beside one with none: flat.
- Memory of the client of a cluster, where labels are written beside the partitions: flat in the
  number of rows.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.engine import data
from benchmarks.engine.bench_workers import Contestant, best_times
from benchmarks.engine.clusters import rows_of, workers
from benchmarks.harness import Row, most_memory

from sidelight import Constraints
from sidelight.cluster import KMeans, PCKMeans
from sidelight.engine import as_rows, get_threads, open_rows

D, K, ITERATIONS = 16, 20, 5


def run(quick: bool) -> list[Row]:
    sizes = [100_000, 1_000_000] if quick else [100_000, 300_000, 1_000_000, 3_000_000, 10_000_000]
    pairs = [0, 1_000, 10_000, *([] if quick else [100_000])]
    n = 200_000 if quick else 1_000_000
    return [
        *by_rows(sizes, 2 if quick else 3),
        *by_pairs(n, pairs, 2 if quick else 3),
        *client_memory(sizes[::2] if not quick else sizes),
    ]


def by_rows(sizes: list[int], repeats: int) -> list[Row]:
    rows: list[Row] = []
    model = KMeans(K, init=data.group_centers(D)[:K], max_iter=ITERATIONS, tol=0.0)
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            file = open_rows(data.write_npy(Path(folder) / "rows.npy", n, D))
            rows.append(
                {
                    "rows": n,
                    "a pass of KMeans (s)": per_pass(model, file, repeats),
                    "microseconds per row and pass": 0.0,
                }
            )
            rows[-1]["microseconds per row and pass"] = 1e6 * rows[-1]["a pass of KMeans (s)"] / n
    first, last = (row["microseconds per row and pass"] for row in (rows[-2], rows[-1]))
    linear = {
        "case": f"a row and pass of KMeans, n={sizes[-1]:,} on disk, d={D}, k={K}, microseconds",
        "peer": f"n={sizes[-2]:,}",
        "ours": last,
        "theirs": first,
        "ratio": last / first,
        "limit": 1.2,
    }
    return [*rows, linear]


def per_pass(model: Any, rows: Any, repeats: int, **params: Any) -> float:
    contestant = {"": Contestant(rows, get_threads(), None)}
    return best_times(model, contestant, repeats, **params)[""].seconds / ITERATIONS


def by_pairs(n: int, counts: list[int], repeats: int) -> list[Row]:
    X = np.concatenate(list(data.blocks(n, D)))
    groups = np.concatenate([data.groups_of(b, len(r)) for b, r in data.ranges(n)])
    # Given centers: what is measured is the loop, not the seeding.
    start = data.group_centers(D)[:K]
    model = PCKMeans(K, init=start, max_iter=ITERATIONS, tol=0.0, random_state=0)
    found: dict[int, float] = {}
    for count in counts:
        known = Constraints.sample(groups, count, random_state=0)
        found[count] = per_pass(model, as_rows(X), repeats, constraints=known)
    return [
        {
            "case": f"an iteration of PCKMeans, {count:,} pairs, n={n:,}, d={D}, k={K}",
            "peer": "no pairs",
            "ours": found[count],
            "theirs": found[0],
            "ratio": found[count] / found[0],
            "limit": 2.0,
        }
        for count in counts[1:]
    ]


def client_memory(sizes: list[int]) -> list[Row]:
    found = {n: data.alone(memory_of_client, n) for n in sizes}
    return [
        {
            "case": f"memory of the client (MB), labels written, n={n:,} on two workers",
            "peer": f"n={sizes[0]:,}",
            "ours": found[n],
            "theirs": found[sizes[0]],
            "ratio": found[n] / found[sizes[0]],
            "limit": 1.1,
        }
        for n in sizes[1:]
    ]


def memory_of_client(n: int) -> float:
    """Fit on workers and write the labels; runs in a process of its own."""
    with workers(2), tempfile.TemporaryDirectory() as folder:
        model = KMeans(K, init=data.group_centers(D)[:K], max_iter=3, tol=0.0)
        model.fit(rows_of(n, D, 8))
        files = model.labels_.write(folder)
        assert sum(len(np.load(file, mmap_mode="r")) for file in files) == n
        return most_memory()


def picture(rows: list[Row], path: Path) -> None:
    """Draw seconds of a pass over the number of rows, beside a straight line."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    n, seconds = (
        np.array([row[key] for row in rows if "rows" in row])
        for key in ("rows", "a pass of KMeans (s)")
    )
    figure, axis = plt.subplots(figsize=(5, 3.2), layout="constrained")
    axis.loglog(n, seconds, "o-", color="#4477aa", label="a pass")
    axis.loglog(n, seconds[-1] * n / n[-1], color="0.6", lw=0.8, label="linear")
    axis.set(xlabel="rows", ylabel="seconds")
    axis.legend(frameon=False)
    figure.savefig(path, dpi=90)
    plt.close(figure)
