"""What a pass costs besides its work: many passes over tiny partitions on two workers.

The floor is Dask's own: one task for each worker, submitted and gathered. A pass adds the block
function, the orders of all partitions and the look at who holds them: at most 20 ms in all on a
quiet machine, however many partitions there are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.engine.clusters import rows_of, workers
from benchmarks.harness import Row

from sidelight.engine import as_rows

#: Milliseconds that a pass may take where there is nothing to do.
LIMIT = 20


def run(quick: bool) -> list[Row]:
    repeats = 50 if quick else 200
    with workers(2) as client:
        addresses = list(client.nthreads())

        def floor() -> None:
            client.gather([client.submit(len, (), workers=[a], pure=False) for a in addresses])

        return [against_dask(as_rows(rows_of(10 * n, 4, n)), floor, repeats) for n in (2, 20, 200)]


def against_dask(rows: Any, floor: Callable[[], None], repeats: int) -> Row:
    n_parts = len(rows.blocks)
    ours, theirs = [], []
    for _ in range(repeats):
        ours.append(milliseconds(lambda: rows.map_reduce(sums)))
        theirs.append(milliseconds(floor))
    return {
        "case": f"a pass over {n_parts} partitions of 10 rows, milliseconds",
        "peer": "Dask: a task per worker",
        "ours": float(np.median(ours)),
        "theirs": float(np.median(theirs)),
        "ratio": float(np.median(ours) / np.median(theirs)),
        "limit": LIMIT / float(np.median(theirs)),
        "ours, best": min(ours),
        "theirs, best": min(theirs),
    }


def sums(block: Any) -> Any:
    return (block.sum(axis=0),), (block[:, 0] > 0,)


def milliseconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)
