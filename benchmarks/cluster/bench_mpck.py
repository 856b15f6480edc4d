"""MPCKMeans: side by side with a peer, and how it grows with the rows.

- Digits with 500 random constraints against the package ``active-semi-supervised-clustering``, one
  diagonal metric for all clusters, same centres, same pairs (the entailed ones, which the peer
  penalises): at least 500x faster per iteration, and an objective that is no worse. The objective
  of either labelling is J of the paper with the exact farthest pair, at the means and at the best
  diagonal metric for these labels.
- Time per iteration at 100,000, 300,000 and 1,000,000 rows of 32 features with 10,000 constraints:
  linear in the rows.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from benchmarks.cluster.bench_constrained import PEER, entailed, half_and_half, links_of
from benchmarks.cluster.peers import active_semi
from benchmarks.harness import Row, apart, clock
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits

from sidelight import Constraints
from sidelight.cluster import KMeans, MPCKMeans


def run(quick: bool) -> list[Row]:
    return [digits(quick), *growth(quick)]


# ------------------------------------------------------------------ digits, side by side


def digits(quick: bool) -> Row:
    """Time per iteration and objective, several draws."""
    X, y = load_digits(return_X_y=True)
    X = X[:, X.var(axis=0) > 0]  # the peer divides by the scatter of every feature
    times, their_times, gaps, n_failed = [], [], [], 0
    for seed in range(1 if quick else 3):
        known = entailed(Constraints.sample(y, 500, random_state=seed))
        centers = X[np.random.default_rng(seed).choice(len(X), 10, replace=False)]
        n_iter = 1 if quick else 2
        model = MPCKMeans(10, shape="diagonal", init=centers, max_iter=n_iter, random_state=seed)
        model.fit(X, constraints=known)  # compile first
        ours = min(clock(lambda: model.fit(X, constraints=known)) for _ in range(3))  # noqa: B023
        times.append(ours / model.n_iter_)
        loop = {"n_clusters": 10, "max_iter": n_iter}
        peer = apart(active_semi, "MPCKMeans", X, links_of(known), seed, centers, **loop)
        their_times.append(peer.seconds / peer.n_iter)
        if peer.labels is not None:
            values = [objective(X, labels, known) for labels in (model.labels_, peer.labels)]
            gaps.append(f"{values[0]:,.0f} / {values[1]:,.0f}")
        else:
            n_failed += 1
    return {
        "case": "MPCKMeans on digits, 500 constraints, diagonal, per iteration",
        "peer": PEER,
        "ours": float(np.median(times)),
        "theirs": float(np.median(their_times)),
        "ratio": float(np.median(times) / np.median(their_times)),
        "limit": 1 / 500,
        "objective, ours / theirs": ", ".join(gaps),
        "failures of the peer": n_failed,
    }


def objective(X: np.ndarray, labels: np.ndarray, known: Constraints) -> float:
    """J with one diagonal metric, the exact farthest pair and weight 1, best for these labels."""
    means = np.array([X[labels == h].mean(axis=0) for h in range(labels.max() + 1)])
    scatter = ((X - means[labels]) ** 2).sum(axis=0)
    apart, together = (
        pairs[np.equal(*labels[pairs].T) == same]
        for pairs, same in ((known.must_link, False), (known.cannot_link, True))
    )
    scatter += ((X[apart[:, 0]] - X[apart[:, 1]]) ** 2).sum(axis=0)
    inside = ((X[together[:, 0]] - X[together[:, 1]]) ** 2).sum(axis=0)
    metric = len(X) / scatter
    for _ in range(20):  # the farthest pair and the metric depend on each other
        value = farthest(X, metric)
        gap = (X[value[1]] - X[value[2]]) ** 2
        metric = len(X) / np.maximum(scatter + len(together) * gap - inside, 1e-3 * scatter)
    room = len(together) * farthest(X, metric)[0] - metric @ inside
    return float(metric @ scatter + room - len(X) * np.log(metric).sum())


def farthest(X: np.ndarray, metric: np.ndarray) -> tuple[float, int, int]:
    """The largest squared distance and its pair."""
    squared = pdist(X * np.sqrt(metric), "sqeuclidean")
    place = int(np.argmax(squared))
    i, j = (int(index[place]) for index in np.triu_indices(len(X), 1))
    return float(squared[place]), i, j


# ------------------------------------------------------------------ growth


def growth(quick: bool) -> list[Row]:
    """Seconds per iteration at growing numbers of rows."""
    sizes = (30_000, 100_000) if quick else (100_000, 300_000, 1_000_000)
    d, k, m, n_iter = 32, 20, 10_000, 6
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=max(sizes))
    X = (3 * rng.normal(size=(k, d))[y] + 2 * rng.normal(size=(max(sizes), d))).astype(np.float32)
    rows: list[Row] = []
    for n in sizes:
        known = half_and_half(y[:n], m, rng)
        centers = X[rng.choice(n, k, replace=False)]
        loop = {"init": centers, "tol": 0.0, "random_state": 0}
        plain = per_iteration(KMeans(k, **loop), X[:n], None, n_iter)
        for name, params in (
            ("one matrix", {"shape": "full"}),
            ("one diagonal", {"shape": "diagonal"}),
            ("a diagonal per cluster", {"shape": "diagonal", "metric_type": "per-cluster"}),
        ):
            model = MPCKMeans(k, **loop, **params)
            seconds, first = per_iteration(model, X[:n], known, n_iter)
            rows.append(
                {
                    "case": f"MPCKMeans, {name}, n={n:,}, d={d}, k={k}, {m:,} constraints",
                    "per iteration": seconds,
                    "per iteration and million rows": seconds * 1e6 / n,
                    "before the first": first,
                    "our KMeans per iteration": plain[0],
                }
            )
    return rows


def per_iteration(
    model: Any, X: np.ndarray, known: Constraints | None, n_iter: int
) -> tuple[float, float]:
    """Seconds per iteration (from fits of 1 and 1 + n_iter) and of everything before."""
    given = {} if known is None else {"constraints": known}
    model.set_params(max_iter=1).fit(X, **given)  # compile first
    best = {}
    for length in (1, 1 + n_iter):
        model.set_params(max_iter=length)
        times = []
        for _ in range(2):
            started = time.perf_counter()
            model.fit(X, **given)
            times.append(time.perf_counter() - started)
        best[length] = min(times)
        assert model.n_iter_ == length
    seconds = (best[1 + n_iter] - best[1]) / n_iter
    return seconds, max(best[1] - 2 * seconds, 0.0)
