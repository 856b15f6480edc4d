"""Preparing a mixed table against reading it, and how long the command line takes altogether.

The table has 20 columns: numbers, skewed amounts, yes/no, categories of 5 to 50 levels, ordered
levels, dates, times, gaps, an id. The limit is on the time of preparation over that of
``pyarrow.csv.read_csv`` on the same file; texts are a table of their own, without one. The command
line is timed in processes of its own against the seconds that we allow it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
from benchmarks.harness import Row, compare, most_memory

from sidelight.datasets import example_paths
from sidelight.preparation import TablePreparer

PEER = "pyarrow.csv.read_csv"
LIMIT = 1.5
#: Seconds that `sidelight cluster` may take on the bundled example, the first time and later.
FIRST, LATER = 5.0, 2.0
MEGABYTE = 2**20


# ------------------------------------------------------------------ tables


def mixed_table(n: int) -> pa.Table:
    """Twenty columns of all kinds but text."""
    rng = np.random.default_rng(0)

    def with_gaps(values: Any, share: float) -> pa.Array:
        return pa.array(values, mask=rng.random(n) < share)

    def words(levels: list[str]) -> pa.Array:
        odds = 1.0 / np.arange(1, len(levels) + 1)
        codes = rng.choice(len(levels), n, p=odds / odds.sum())
        return pa.DictionaryArray.from_arrays(codes.astype(np.int32), levels).cast(pa.string())

    def moments(first: str, unit: str, span: int) -> np.ndarray:
        return np.datetime64(first, unit) + rng.integers(0, span, n)

    normal, amount = rng.normal(size=(5, n)), rng.lognormal(6.0, 1.5, size=(3, n))
    return pa.table(
        {
            "order_id": np.char.add("A", (np.arange(n) + 10**7).astype(str)),
            **{f"number_{j}": np.round(normal[j] * 10**j, 3) for j in range(3)},
            "number_with_gaps": with_gaps(np.round(normal[3], 3), 0.1),
            "age": rng.integers(18, 90, n),
            "income": np.round(amount[0], 2),
            "amount": with_gaps(np.round(amount[1], 2), 0.05),
            "visits": rng.poisson(3, n),
            "temperature": np.round(20 + 5 * normal[4], 1),
            "member": words(["yes", "no"]),
            "smoker": words(["n", "y"]),
            "channel": words(["web", "shop", "app", "phone", "mail"]),
            "country": words([f"country {j}" for j in range(20)]),
            "branch": words([f"branch {j}" for j in range(50)]),
            "color": pa.compute.if_else(
                pa.array(rng.random(n) < 0.1), pa.scalar(None, pa.string()), words(COLORS)
            ),
            "satisfaction": words(["low", "medium", "high"]),
            "size": words(["S", "M", "L", "XL"]),
            "joined": pa.array(moments("2015-01-01", "D", 3000)),
            "last_seen": pa.array(moments("2022-01-01", "s", 3 * 10**7)),
        }
    )


COLORS = ["red", "green", "blue", "white", "black", "gray", "brown", "pink", "orange", "violet"]


def text_table(n: int) -> pa.Table:
    """Two columns of short texts, and a number."""
    rng = np.random.default_rng(0)
    vocabulary = np.array([f"word{j}" for j in range(3000)])
    odds = 1.0 / np.arange(1, 3001)
    chosen = rng.choice(vocabulary, size=(2, n, 6), p=odds / odds.sum())
    texts = [[" ".join(row) for row in column.tolist()] for column in chosen]
    return pa.table({"title": texts[0], "comment": texts[1], "price": rng.normal(size=n)})


# ------------------------------------------------------------------ time and memory


def reading_case(case: str, table: pa.Table, folder: Path, limit: float | None) -> Row:
    """Time of preparing the columns that were read, over that of reading them."""
    path = folder / "table.csv"
    pyarrow.csv.write_csv(table, path)
    read = pyarrow.csv.read_csv(path)
    preparer = TablePreparer()
    row = compare(
        case,
        lambda: preparer.fit_transform(read),
        lambda: pyarrow.csv.read_csv(path),
        peer=PEER,
        limit=limit,
    )
    memory = {
        "file MB": path.stat().st_size / MEGABYTE,
        "their peak MB": peak(read_only, path),
        "our peak MB, reading included": peak(read_and_prepare, path),
    }
    n_features = preparer.n_features_out_
    return {
        **row,
        "features": n_features,
        "result MB": 8 * len(table) * n_features / MEGABYTE,
    } | {name: value for name, value in memory.items() if value}  # some systems do not tell


def read_only(path: Path) -> Any:
    return pyarrow.csv.read_csv(path)


def read_and_prepare(path: Path) -> Any:
    return TablePreparer().fit_transform(pyarrow.csv.read_csv(path))


def peak(work: Any, path: Path) -> float:
    """Megabytes that work adds to a process of its own at most."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_added, work, path).result()


def _added(work: Any, path: Path) -> float:
    before = most_memory()
    work(path)
    return most_memory() - before


# ------------------------------------------------------------------ the command line


def command_cases(repeats: int) -> list[Row]:
    """`sidelight cluster` on the bundled example with its report, the first time and later."""
    imports = "import numba, pyarrow.csv, scipy.sparse.csgraph, sklearn.cluster"
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        floor = best(lambda: finish([sys.executable, "-c", imports], folder), repeats)
        first = []
        for number in range(2):
            cache = Path(folder) / f"loops-{number}"
            first.append(seconds(lambda cache=cache: cluster(folder, cache)))
        later = best(lambda: cluster(folder, cache), repeats)
        for case, spent, allowed in (
            ("the first time, loops are compiled", min(first), FIRST),
            ("later", later, LATER),
        ):
            rows.append(
                {
                    "case": f"sidelight cluster on the example, labels and report, {case}",
                    "peer": f"{allowed:g} s allowed",
                    "ours": spent,
                    "theirs": allowed,
                    "ratio": spent / allowed,
                    "limit": 1.0,
                    "imports alone": floor,
                }
            )
    return rows


def cluster(folder: str, cache: Path) -> None:
    data, links = example_paths()
    program = [sys.executable, "-m", "sidelight", "cluster", data, "-k", "3"]
    known = ["--constraints", links, "--truth-column", "variety", "--seed", "0"]
    outputs = ["-o", "labels.csv", "--report", "report.html", "--force"]
    finish([*program, *known, *outputs], folder, NUMBA_CACHE_DIR=str(cache))


def finish(command: list[Any], folder: str, **settings: str) -> None:
    environment = {**os.environ, **settings}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    words = [str(word) for word in command]
    subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True)


def seconds(work: Any) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def best(work: Any, repeats: int) -> float:
    return min(seconds(work) for _ in range(repeats))


def run(quick: bool) -> list[Row]:
    n = 100_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mixed = reading_case(f"{n:,} rows, 20 mixed columns", mixed_table(n), folder, LIMIT)
        texts = reading_case(
            f"{n // 5:,} rows, 2 columns of texts", text_table(n // 5), folder, None
        )
    return [mixed, texts, *command_cases(3 if quick else 5)]
