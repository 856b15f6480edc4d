"""Workers on this machine, with Dask's defaults, and rows that they make by themselves."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks.engine import data


@contextlib.contextmanager
def workers(n: int, threads: int = 1) -> Iterator[Any]:
    """A client of that many workers; nothing is tuned."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=n, threads_per_worker=threads, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def rows_of(n: int, d: int, n_parts: int = 4, n_groups: int = data.N_GROUPS) -> Any:
    """A Dask array whose partitions are made where they are worked on."""
    import dask
    import dask.array as da

    make = dask.delayed(piece, pure=True)
    return da.concatenate(
        [
            da.from_delayed(make(number, size, d, n_groups), (size, d), np.float32)
            for number, size in enumerate(sizes(n, n_parts))
        ]
    )


def piece(number: int, n: int, d: int, n_groups: int) -> np.ndarray:
    """Rows of a partition; those of any cluster, and of :func:`rows_here`, are the same."""
    return data.block(number, n, d, n_groups)


def rows_here(n: int, d: int, n_parts: int = 4, n_groups: int = data.N_GROUPS) -> np.ndarray:
    """The rows of :func:`rows_of` in memory."""
    return np.concatenate(
        [piece(number, size, d, n_groups) for number, size in enumerate(sizes(n, n_parts))]
    )


def sizes(n: int, n_parts: int) -> list[int]:
    found: list[int] = np.diff(np.linspace(0, n, n_parts + 1).astype(int)).tolist()
    return found
