"""Global k-means: the fast searches against the exhaustive one, and that against a peer.

- Fast search and kd-tree, by default and as published, against the exhaustive search on the same
  data, k = 1..15: at most a tenth of its time; ``mean excess`` and ``largest excess`` are per cent
  of error above it over all k (negative: below), ``within 0.1 %`` counts the k from 2 on.
- The exhaustive search against ``global-kmeans-pp``, where it is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.harness import Row, clock, compare
from experiments.cluster.global_kmeans import real_sets, separated_mixture
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from sidelight.cluster import GlobalKMeans

K = 15
WAYS: dict[str, dict[str, Any]] = {
    "fast": {},
    "fast, kd-tree": {"candidates": "kd-tree"},
    "published fast": {"n_trials": 1},
    "published fast, kd-tree": {"candidates": "kd-tree", "n_trials": 1},
}


def run(quick: bool) -> list[Row]:
    n = 400 if quick else 1000
    sets = {
        "iris": load_iris().data,
        "wine, standardised": StandardScaler().fit_transform(load_wine().data),
        **{name: X for name, X, _ in real_sets()},
        f"mixture n={n:,} k=15 c=1 D=2": separated_mixture(n, K, 2, 1.0, 0),
        f"mixture n={n:,} k=15 c=1 D=8": separated_mixture(n, K, 8, 1.0, 0),
        f"mixture n={n:,} k=22 c=0.5 D=2": separated_mixture(n, 22, 2, 0.5, 1),
        f"mixture n={n:,} k=12 c=0.7 D=4": separated_mixture(n, 12, 4, 0.7, 2),
    }
    rows = [against_exhaustive(name, X, way, quick) for name, X in sets.items() for way in WAYS]
    return [*rows, *against_peer(quick), at_scale(quick)]


def against_exhaustive(name: str, X: np.ndarray, way: str, quick: bool) -> Row:
    full, other = GlobalKMeans(K, method="full"), GlobalKMeans(K, **WAYS[way])
    other.fit(X)  # compile first
    row = compare(
        f"{way} on {name}",
        lambda: other.fit(X),
        lambda: full.fit(X),
        peer="our exhaustive search",
        limit=0.1,
        repeats=2 if quick else 3,
    )
    excess = 100 * (other.search_["objective"] / full.search_["objective"] - 1)
    return {
        **row,
        "mean excess %": float(excess.mean()),
        "largest excess %": float(excess.max()),
        "last excess %": float(excess[-1]),
        "within 0.1 %": f"{np.count_nonzero(excess[1:] <= 0.1)} of {K - 1}",
    }


def against_peer(quick: bool) -> list[Row]:
    try:
        from global_kmeans_pp.global_clustering import GlobalKMeans as Peer
    except ImportError:
        return []
    X, k = load_iris().data, 3 if quick else 8
    ours, theirs = GlobalKMeans(k, method="full"), Peer(k)
    row = compare(
        f"exhaustive search on iris, k = 1..{k}",
        lambda: ours.fit(X),
        lambda: theirs.fit(X),
        peer="global-kmeans-pp",
        limit=1.0,
        repeats=1 if quick else 2,
    )
    return [{**row, "error": ours.objective_, "their error": float(theirs.inertia_[k])}]


def at_scale(quick: bool) -> Row:
    """How long a whole path takes on many rows."""
    n = 100_000 if quick else 1_000_000
    X = separated_mixture(n, 20, 8, 1.0, 0).astype(np.float32)
    model = GlobalKMeans(20, candidates="kd-tree", tol=1e-4)
    return {
        "case": f"kd-tree, n={n:,}, d=8, k = 1..20, float32, tol=1e-4",
        "seconds": clock(lambda: model.fit(X)),
    }
