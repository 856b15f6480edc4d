"""Rows by the block: groups that overlap, drawn from a seed and the number of the block.

A block is the same wherever it is made, so that files, workers and memory get the same rows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.lib.format import open_memmap

Result = TypeVar("Result")

#: Groups that the rows are drawn from.
N_GROUPS = 50


def group_centers(d: int, n_groups: int = N_GROUPS) -> np.ndarray:
    return 2 * np.random.default_rng(0).standard_normal((n_groups, d), dtype=np.float32)


def groups_of(number: int, n: int, n_groups: int = N_GROUPS) -> np.ndarray:
    """Groups of the rows of a block."""
    return np.random.default_rng([1, number]).integers(n_groups, size=n)


def block(number: int, n: int, d: int, n_groups: int = N_GROUPS) -> np.ndarray:
    """Rows of a block, float32."""
    X = np.random.default_rng([2, number]).standard_normal((n, d), dtype=np.float32)
    X += group_centers(d, n_groups)[groups_of(number, n, n_groups)]
    return X


def ranges(n: int, rows: int = 100_000) -> list[tuple[int, range]]:
    """Numbers of the blocks, and their rows."""
    starts = range(0, n, rows)
    return [(number, range(a, min(a + rows, n))) for number, a in enumerate(starts)]


def blocks(n: int, d: int) -> Iterator[np.ndarray]:
    """All rows, block by block."""
    for number, rows in ranges(n):
        yield block(number, len(rows), d)


def write_npy(path: Path, n: int, d: int) -> Path:
    file = open_memmap(path, mode="w+", dtype=np.float32, shape=(n, d))
    start = 0
    for X in blocks(n, d):
        file[start : start + len(X)] = X
        start += len(X)
    return path


def write_parquet(folder: Path, n: int, d: int, n_files: int) -> Path:
    """The rows of ``write_npy`` in several files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    X = np.concatenate(list(blocks(n, d)))
    for number, piece in enumerate(np.array_split(X, n_files)):
        table = pa.table({f"x{column}": piece[:, column] for column in range(d)})
        pq.write_table(table, folder / f"part-{number}.parquet")
    return folder


def alone(work: Callable[..., Result], *args: Any) -> Result:
    """Run a function in a fresh process, whose memory and threads are those of this work alone."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *args).result()


def out_of_cache(path: Path) -> None:
    """Ask the system to keep nothing of a file in memory."""
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as file:
            os.fdatasync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_through(path: Path, n_passes: int, buffer: int = 16 * 2**20) -> float:
    """Seconds of reading a file so many times with ``np.fromfile``, block by block."""
    started = time.perf_counter()
    for _ in range(n_passes):
        with path.open("rb") as file:
            while len(np.fromfile(file, dtype=np.float32, count=buffer // 4)):
                pass
    return time.perf_counter() - started
