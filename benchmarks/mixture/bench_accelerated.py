"""EM on cells of a tree against scikit-learn's EM on all rows, from the same start.

The first row of each case is scikit-learn run until it gains less than 1e-5 per row, the second is
scikit-learn stopped as soon as it is within 0.1 % of the log-likelihood that it ends with. Ours is
the whole fit in both: the tree, EM, the labels of all rows. ``difference %`` is by how much our
log-likelihood of all rows is lower than theirs at the end (negative: higher); more than 0.1 does
not count. ``ours exact`` are the seconds of our EM on all rows.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from benchmarks.harness import Row, clock, compare
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Peer

from sidelight.cluster import KMeans
from sidelight.datasets import make_separated_gaussians
from sidelight.mixture import AcceleratedMixture, GaussianMixture

TOL = 1e-5


def run(quick: bool) -> list[Row]:
    if quick:
        return against_sklearn(50_000, 4, 20, 1.0, limit=None, repeats=1)
    return [
        *against_sklearn(1_000_000, 4, 20, 1.0, limit=0.1, repeats=2),
        *against_sklearn(1_000_000, 8, 10, 1.0, limit=None, repeats=1),
    ]


def against_sklearn(
    n: int, d: int, k: int, separation: float, *, limit: float | None, repeats: int
) -> list[Row]:
    X = make_separated_gaussians(
        n, n_components=k, n_features=d, separation=separation, random_state=0
    ).data
    start = rough_start(X, k)
    ours = AcceleratedMixture(k, tol=TOL, **start)
    exact = GaussianMixture(k, tol=TOL, **start)
    ours.fit(X[:1000])  # compile first
    exact_seconds = clock(lambda: exact.fit(X))
    whole = Peer(k, tol=TOL, max_iter=300, **start)
    case = f"n={n:,}, d={d}, k={k}, c={separation}"
    row = compare(
        f"{case}, to the end",
        lambda: ours.fit(X),
        lambda: whole.fit(X),
        peer="scikit-learn",
        limit=limit,
        repeats=repeats,
    )
    theirs = float(whole.score(X))
    lowest = theirs - 1e-3 * abs(theirs)
    steps = steps_to_reach(X, k, start, lowest, whole.n_iter_)
    short = Peer(k, tol=0.0, max_iter=steps, **start)
    row_short = compare(
        f"{case}, to 0.1 %",
        lambda: ours.fit(X),
        lambda: quietly(short, X),
        peer="scikit-learn",
        limit=limit,
        repeats=repeats,
    )
    mine = float(ours.score(X))
    facts = {
        "difference %": 100 * (theirs - mine) / abs(theirs),
        "cells": ours.n_cells_,
        "our iterations": ours.n_iter_,
        "ours exact": exact_seconds,
    }
    return [
        {**row, "their iterations": whole.n_iter_, **facts},
        {**row_short, "their iterations": steps, **facts},
    ]


def rough_start(X: np.ndarray, k: int) -> dict[str, Any]:
    """Weights, means and precisions of the clusters nearest to k-means++ seeds."""
    labels = KMeans(k, n_init=1, max_iter=1, random_state=0).fit(X).labels_
    return {
        "weights_init": np.bincount(labels, minlength=k) / len(X),
        "means_init": np.array([X[labels == s].mean(axis=0) for s in range(k)]),
        "precisions_init": np.array([np.linalg.inv(np.cov(X[labels == s].T)) for s in range(k)]),
    }


def steps_to_reach(X: np.ndarray, k: int, start: dict[str, Any], lowest: float, most: int) -> int:
    """Number of iterations of EM until the log-likelihood is high enough."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = -GaussianMixture(k, tol=0.0, max_iter=most, **start).fit(X).history_
    # scikit-learn's value of an iteration belongs to the parameters before it, so its parameters
    # after t iterations have our value at position t.
    return int(max(np.argmax(path >= lowest), 1))


def quietly(model: Peer, X: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
