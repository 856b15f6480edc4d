"""Rows larger than memory: k-means with 10,000 pairs on a file, beside merely reading the file.

- A ``.npy`` of 12 GB (24,000,000 x 128, float32): at most twice the time of reading it as often as
  the fit does, with ``np.fromfile`` in blocks of 16 MB. The peak resident set of the process stays
  below 2 GB. Both sides begin with a file that the system does not hold in memory; what it keeps of
  it from one pass to the next is the same for both.
- A folder of Parquet beside the same rows in a ``.npy``, where neither fits into the budget. The
  first pass decodes and writes plain numbers into a temporary file, which the others read: at most
  1.2x in a fit of 100 iterations. A fit of 10 shows what the first pass costs.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.engine import data
from benchmarks.harness import Row, most_memory

from sidelight import Constraints
from sidelight.cluster import KMeans, PCKMeans
from sidelight.engine import open_rows

N_PAIRS = 10_000
MEGABYTE = 2**20


class Fit(NamedTuple):
    """What a fit in a process of its own took."""

    seconds: float
    processor: float
    n_passes: float
    megabytes: float
    before: float
    objective: float


def run(quick: bool) -> list[Row]:
    sizes = [(200_000, 128)] if quick else [(6_000_000, 128), (24_000_000, 128)]
    with tempfile.TemporaryDirectory() as folder:
        rows = [beside_reading(Path(folder), *size, budget=256 * MEGABYTE) for size in sizes]
        n, repeats = (200_000, 2) if quick else (2_000_000, 3)
        return [*rows, *beside_npy(Path(folder), n, 32, repeats)]


def beside_reading(folder: Path, n: int, d: int, budget: int, n_iter: int = 5) -> Row:
    path = data.write_npy(folder / "rows.npy", n, d)
    data.out_of_cache(path)
    ours = data.alone(fit, path, pairs(n, d), budget, n_iter)
    data.out_of_cache(path)
    theirs = data.read_through(path, round(ours.n_passes))
    gigabytes = path.stat().st_size / 1e9
    path.unlink()
    return {
        "case": f"PCKMeans, {N_PAIRS:,} pairs, n={n:,}, d={d}, k=20, {gigabytes:.1f} GB, "
        f"{n_iter} iterations",
        "peer": "np.fromfile, as many passes",
        "ours": ours.seconds,
        "theirs": theirs,
        "ratio": ours.seconds / theirs,
        "limit": 2.0,
        "passes": ours.n_passes,
        "processor seconds": ours.processor,
        "peak memory (MB)": ours.megabytes,
        "of it before the fit (MB)": ours.before,
        "budget (MB)": budget // MEGABYTE,
    }


def pairs(n: int, d: int) -> Constraints:
    """Pairs among random rows, by the groups that these were drawn from."""
    rng = np.random.default_rng(3)
    i, j = rng.integers(n, size=(2, 20 * N_PAIRS))
    groups = np.concatenate([data.groups_of(b, len(r)) for b, r in data.ranges(n)])
    same = groups[i] == groups[j]
    half = N_PAIRS // 2
    must, cannot = ((i[w][:half], j[w][:half]) for w in (same & (i != j), ~same))
    return Constraints(np.transpose(must), np.transpose(cannot), n_samples=n)


def fit(path: Path, known: Constraints | None, budget: int, n_iter: int) -> Fit:
    """Fit to a file or folder; runs in a process of its own."""
    rows: Any = open_rows(path, memory_budget=budget)
    some = rows.take(np.arange(3000))
    loop: dict[str, Any] = {"tol": 0.0, "random_state": 0}
    if known is None:
        model: Any = KMeans(50, init=some[:50], **loop)
    else:
        model = PCKMeans(20, init="neighborhoods", n_init=1, **loop)
    params = {} if known is None else {"constraints": known}
    some_known = Constraints.sample(np.arange(len(some)) % 20, 200, random_state=0)
    few = {} if known is None else {"constraints": some_known}
    with tempfile.TemporaryDirectory() as folder:  # compile first
        np.save(Path(folder) / "some.npy", some)
        KMeans(50, init=some[:50], max_iter=2).fit(open_rows(Path(folder) / "some.npy"))
        model.set_params(max_iter=2).fit(some, **few)
    model.set_params(max_iter=n_iter)
    read, n_read = rows.read, []

    def counted(task: tuple[int, ...]) -> Any:
        n_read.extend(task)
        return read(task)

    rows.read = counted
    before, started, processor = most_memory(), time.perf_counter(), time.process_time()
    model.fit(rows, **params)
    return Fit(
        time.perf_counter() - started,
        time.process_time() - processor,
        len(n_read) / len(rows.blocks),
        most_memory(),
        before,
        model.objective_,
    )


def beside_npy(folder: Path, n: int, d: int, repeats: int) -> list[Row]:
    """A folder of ten Parquet files beside one file of floats, a budget of half of them."""
    files = data.write_parquet(folder / "parquet", n, d, 10)
    array = data.write_npy(folder / "rows.npy", n, d)
    budget = n * d * 4 // 2
    rows: list[Row] = []
    for n_iter in (10, 100):
        times: dict[Path, list[Fit]] = {files: [], array: []}
        for _ in range(repeats):
            for path, fits in times.items():
                fits.append(data.alone(fit, path, None, budget, n_iter))
        ours, theirs = (min(fits) for fits in times.values())
        assert np.isclose(ours.objective, theirs.objective, rtol=1e-6)
        rows.append(
            {
                "case": f"KMeans, a folder of Parquet, n={n:,}, d={d}, k=50, at most {n_iter} "
                "iterations",
                "peer": "the same rows in .npy",
                "ours": ours.seconds,
                "theirs": theirs.seconds,
                "ratio": ours.seconds / theirs.seconds,
                "limit": 1.2 if n_iter == 100 else float("inf"),
                "passes": ours.n_passes,
                "processor seconds": ours.processor,
                "theirs, processor": theirs.processor,
                "memory of the fit (MB)": ours.megabytes - ours.before,
                "theirs (MB)": theirs.megabytes - theirs.before,
                "budget (MB)": budget / MEGABYTE,
            }
        )
    return rows
