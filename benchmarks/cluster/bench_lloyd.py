"""The Lloyd core and k-means++ against scikit-learn: same rows, same centres, same iterations."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.harness import Row, clock, compare
from scipy import sparse
from sklearn.cluster import KMeans as PeerKMeans
from sklearn.cluster import kmeans_plusplus as peer_kmeans_plusplus

from sidelight.cluster import KMeans
from sidelight.cluster._core._seeding import kmeans_plusplus
from sidelight.engine import as_rows, open_rows

PEER = "scikit-learn KMeans(algorithm='lloyd')"


def rows_of(kind: str, n: int, d: int, k: int, dtype: Any) -> np.ndarray:
    rng = np.random.default_rng(0)
    if kind == "uniform":
        return rng.random((n, d)).astype(dtype)
    return (rng.normal(size=(k, d))[rng.integers(k, size=n)] + rng.normal(size=(n, d))).astype(
        dtype
    )


def lloyd_case(kind: str, n: int, d: int, k: int, dtype: Any, n_iter: int, **facts: Any) -> Row:
    """Both sides make exactly ``n_iter`` iterations from the same centres."""
    X: Any = rows_of(kind, n, d, k, dtype)
    centers = X[np.random.default_rng(1).choice(n, k, replace=False)]
    if kind == "sparse":
        X = sparse.csr_matrix(np.where(X > 1.0, X, 0).astype(dtype))
    settings = {"init": centers, "n_init": 1, "max_iter": n_iter, "tol": 0.0}
    ours, theirs = KMeans(k, **settings), PeerKMeans(k, algorithm="lloyd", **settings)
    KMeans(k, **{**settings, "max_iter": 1}).fit(X[:5000])  # compile first
    row = compare(
        f"Lloyd, {kind} rows, n={n:,}, d={d}, k={k}, {np.dtype(dtype).name}, {n_iter} iterations",
        lambda: ours.fit(X),
        lambda: theirs.fit(X),
        peer=PEER,
        **facts,
    )
    assert ours.n_iter_ == theirs.n_iter_ == n_iter
    return {**row, "inertia ratio": f"{ours.objective_ / theirs.inertia_:.7f}"}


def seeding_case(n: int, d: int, k: int) -> Row:
    """Greedy k-means++ with as many candidates on both sides."""
    X = rows_of("grouped", n, d, k, np.float32)
    source = as_rows(X)
    kmeans_plusplus(source, 2, np.random.RandomState(0))  # compile first
    return compare(
        f"k-means++, n={n:,}, d={d}, k={k}, float32",
        lambda: kmeans_plusplus(source, k, np.random.RandomState(0)),
        lambda: peer_kmeans_plusplus(X, k, random_state=0),
        peer="scikit-learn kmeans_plusplus",
    )


def disk_case(n: int, d: int, k: int) -> Row:
    """The same fit with the rows on disk: what streaming costs."""
    X = rows_of("grouped", n, d, k, np.float32)
    settings = {"init": X[:k].copy(), "max_iter": 5, "tol": 0.0}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, X)
        rows = open_rows(path, memory_budget=64 * 2**20)
        clock(lambda: KMeans(k, **settings).fit(rows))  # fill the system's cache
        return compare(
            f"5 iterations, rows on disk with a budget of 64 MB, {X.nbytes / 2**20:.0f} MB",
            lambda: KMeans(k, **settings).fit(rows),
            lambda: KMeans(k, **settings).fit(X),
            peer="ours in memory",
        )


def run(quick: bool) -> list[Row]:
    n = 200_000 if quick else 1_000_000
    d, k = 32, 50
    return [
        lloyd_case("grouped", n, d, k, np.float32, 20, limit=0.8),
        lloyd_case("uniform", n, d, k, np.float32, 20, limit=0.8),
        lloyd_case("grouped", n // 2, d, k, np.float64, 10, limit=1.0),
        lloyd_case("grouped", n, 2, 10, np.float64, 10, limit=1.0),
        lloyd_case("sparse", n // 10, 200, 20, np.float64, 5, limit=1.0),
        seeding_case(n // 5, d, k),
        disk_case(n, d, k),
    ]
