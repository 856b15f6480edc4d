"""Distances between groups of rows by a linkage, gathered block by block, and the memory they take.

Only one number per pair of groups is kept: n rows in m must-link components take 4 m (m - 1) bytes.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from sidelight._kernels.cluster.nn_chain import (
    AVERAGE,
    COMPLETE,
    SINGLE,
    WARD,
    distances_to_increases,
    gather_block,
    sums_to_means,
)
from sidelight._progress import stage_progress
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError

LINKAGES = {"single": SINGLE, "complete": COMPLETE, "average": AVERAGE, "ward": WARD}

#: Distances between rows in memory at a time while they are gathered.
BLOCK_CELLS = 4_000_000
#: Part of the available memory that distances may fill.
SHARE = 0.8
#: Bytes of distances beyond which the user is warned.
LARGE_MEMORY = 2 * 10**9


def group_distances(
    rows: Any, group: Array, n_groups: int, linkage: str, metric: str, *, verbose: int
) -> Array:
    """Return the distances of all pairs of groups, in SciPy's condensed form.

    Parameters
    ----------
    rows : ndarray or CSR of shape (n, d)
        The rows; with ``metric="precomputed"`` their distances.
    group : ndarray of shape (n,)
        Group of every row, 0..n_groups-1.
    n_groups : int
        Number of groups.
    linkage : {"single", "complete", "average", "ward"}
        Smallest, largest or mean distance of the rows of two groups; or that of their means, by
        how much the sum of squares grows when they are joined.
    metric : {"euclidean", "precomputed"}
        Whether ``rows`` are points or distances.
    verbose : int
        Whether to show progress.

    Returns
    -------
    ndarray of shape (n_groups * (n_groups - 1) / 2,)
    """
    check_memory(n_groups)
    code, sizes = LINKAGES[linkage], np.bincount(group, minlength=n_groups)
    if code == WARD:
        rows, group = _means_of_groups(rows, group, sizes), np.arange(n_groups)
    n = rows.shape[0]
    out = np.full(n_groups * (n_groups - 1) // 2, np.inf if code == SINGLE else 0.0)
    height = max(1, BLOCK_CELLS // n)
    description = "ConstrainedAgglomeration, distances"
    with stage_progress(description, n, verbose=verbose) as progress:
        for start in range(0, n, height):
            block = _block(rows, start, min(n, start + height), metric)
            gather_block(block, start, group, code, out)
            progress.step(n_steps=len(block))
    if code == AVERAGE:
        sums_to_means(out, sizes)
    elif code == WARD:
        distances_to_increases(out, sizes)
    return out


def _means_of_groups(rows: Any, group: Array, sizes: Array) -> Any:
    """Mean of the rows of every group."""
    shares = 1.0 / sizes[group]
    members = sparse.csr_array((shares, (group, np.arange(len(group)))))
    means = members @ rows.astype(np.float64)
    return means.tocsr() if sparse.issparse(means) else means


def _block(rows: Any, start: int, stop: int, metric: str) -> Array:
    """Distances of some rows to themselves and all rows behind them."""
    if metric == "precomputed":
        return np.ascontiguousarray(rows[start:stop, start:], dtype=np.float64)
    if sparse.issparse(rows):
        from sklearn.metrics.pairwise import euclidean_distances  # much to import for one function

        exact = rows[start:].astype(np.float64)
        return np.ascontiguousarray(euclidean_distances(exact[: stop - start], exact))
    return cdist(rows[start:stop], rows[start:])


def check_memory(n_groups: int) -> None:
    """Raise if the distances would not fit into memory, and warn if they need much of it."""
    needed = 4 * n_groups * (n_groups - 1)
    available = SHARE * available_memory()
    if needed > available:
        most = int(np.sqrt(available / 4))
        raise SidelightError(
            f"Agglomeration keeps all distances between its {n_groups:,} starting clusters, "
            f"{needed / 2**30:.1f} GiB, and {available / 2**30:.1f} GiB may be used: at most "
            f"{most:,} rows (or must-link components) fit. Cluster a sample, or the centers of "
            "KMeans with many clusters."
        )
    if needed > LARGE_MEMORY:
        warn(
            f"Agglomeration keeps all distances between its {n_groups:,} starting clusters: "
            f"{needed / 2**30:.1f} GiB of the {available / 2**30:.1f} GiB that may be used.",
            UserWarning,
        )


def available_memory() -> float:
    """Bytes that can be had without swapping; infinity where the system does not report it."""
    found = [np.inf]
    with contextlib.suppress(OSError, ValueError, AttributeError):
        found.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                found.append(1024.0 * int(line.split()[1]))
    with contextlib.suppress(OSError, ValueError):
        # In a container; the word "max" for no limit is not a number and is passed over.
        found.append(float(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return min(found)


def check_distances(distances: Array, known: Constraints) -> None:
    """Check distances that the user gave: square, symmetric, not negative, 0 to itself."""
    n = len(distances)
    if distances.shape[1] != n:
        raise SidelightError(
            f"metric='precomputed' needs a square matrix of distances between the rows, got shape "
            f"{distances.shape}."
        )
    scale = max(float(np.max(np.abs(distances))), 1.0)
    height = max(1, BLOCK_CELLS // n)
    for start in range(0, n, height):
        block = distances[start : start + height]
        mirrored = distances[:, start : start + height].T
        _raise_bad_distance(block < 0, start, "is negative", block, known)
        skewed = np.abs(block - mirrored) > 1e-8 * scale
        _raise_bad_distance(skewed, start, "differs from the way back", block, known)
    own = np.flatnonzero(np.diagonal(distances) != 0)
    if len(own):
        (name,) = known.name_rows(own[:1])
        raise SidelightError(
            f"The distance of {name} to itself is {distances[own[0], own[0]]:g}; it must be 0."
        )


def _raise_bad_distance(
    bad: Array, start: int, trouble: str, block: Array, known: Constraints
) -> None:
    if not bad.any():
        return
    row, column = np.argwhere(bad)[0]
    one, other = known.name_rows([start + row, column])
    raise SidelightError(
        f"The distance from {one} to {other}, {block[row, column]:g}, {trouble}; give a symmetric "
        "matrix of distances that are not negative."
    )
