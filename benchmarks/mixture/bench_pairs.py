"""Mixtures under many pairs: seconds per iteration beside our unconstrained EM.

Random pairs among overlapping and among separated clusters, 20,000 rows. Seconds per iteration are
those of the iterations after the first ones, so that starts do not count.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from benchmarks.harness import Row, clock
from sklearn.exceptions import ConvergenceWarning

from sidelight import Constraints
from sidelight.exceptions import ConstraintWarning
from sidelight.mixture import ChunkletMixture, GaussianMixture, MeanFieldMixture, PenalizedMixture

METHODS = (PenalizedMixture, MeanFieldMixture, ChunkletMixture)
#: Number of pairs, and how many times an iteration of plain EM one may take.
LIMITS = {10_000: 3.0, 100_000: 10.0}
FEATURES, COMPONENTS = 6, 5


def run(quick: bool) -> list[Row]:
    n = 20_000
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of iterations
        warnings.simplefilter("ignore", ConstraintWarning)  # entangled parts are approximated
        for spread in (0.7,) if quick else (0.7, 2.0):
            X, y = clusters(n, spread)
            for n_pairs, limit in LIMITS.items():
                known = pairs(y, n_pairs)
                rows += [beside_plain_em(X, known, m, spread, limit) for m in METHODS]
    return rows


def clusters(n: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(COMPONENTS, size=n)
    centers = spread * rng.normal(size=(COMPONENTS, FEATURES))
    return centers[y] + rng.normal(size=(n, FEATURES)), y


def pairs(y: np.ndarray, m: int) -> Constraints:
    """Pairs of random rows, as the classes have them."""
    ends = np.random.default_rng(1).integers(len(y), size=(m, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    same = y[ends[:, 0]] == y[ends[:, 1]]
    return Constraints(ends[same], ends[~same], n_samples=len(y))


def beside_plain_em(
    X: np.ndarray, known: Constraints, method: Any, spread: float, limit: float
) -> Row:
    ours = per_iteration(method, X, {"constraints": known})
    theirs = per_iteration(GaussianMixture, X, {})
    kind = "overlapping" if spread < 1 else "separated"
    return {
        "case": f"{method.__name__}, n={len(X):,}, {kind}, {known.n_pairs:,} pairs",
        "peer": "our GaussianMixture",
        "ours": ours,
        "theirs": theirs,
        "ratio": ours / theirs,
        "limit": limit,
    }


def per_iteration(method: Any, X: np.ndarray, knowledge: dict[str, Constraints]) -> float:
    """Seconds of an iteration, from fits of different length from the same start, the best of 4.

    The first of them compiles.
    """
    options = {"n_init": 1, "tol": 0.0, "means_init": X[:COMPONENTS], "random_state": 0}
    seconds, iterations = [], []
    for max_iter in (2, 32):
        model = method(COMPONENTS, max_iter=max_iter, **options)
        seconds.append(min(clock(lambda m=model: m.fit(X, **knowledge)) for _ in range(4)))
        iterations.append(model.n_iter_)
    return (seconds[1] - seconds[0]) / max(iterations[1] - iterations[0], 1)
