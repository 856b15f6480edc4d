"""EM for Gaussian mixtures: side by side with scikit-learn.

Same data, same initial parameters and the same number of iterations on both sides; scikit-learn
uses its BLAS threads as it does by default. The log-likelihoods at the end must agree to 1e-6.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from benchmarks.harness import Row, compare
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Peer

from sidelight.mixture import GaussianMixture

LIMITS = {"full": 0.3, "diag": 0.7}


def run(quick: bool) -> list[Row]:
    X, start = blobs(20_000 if quick else 200_000, 16, 20)
    return [against_scikit_learn(X, start, kind, n_iter=5 if quick else 10) for kind in LIMITS]


def blobs(n: int, d: int, k: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Overlapping correlated clouds, and rough parameters of their mixture to start from."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(k, d))
    shapes = rng.normal(size=(k, d, d)) / np.sqrt(d)
    component = rng.integers(k, size=n)
    X = np.empty((n, d))
    for s in range(k):
        mine = component == s
        X[mine] = centers[s] + rng.normal(size=(int(mine.sum()), d)) @ shapes[s]
    means = X[rng.choice(n, k, replace=False)]
    return X, {"means_init": means, "weights_init": np.full(k, 1 / k)}


def precisions(X: np.ndarray, k: int, kind: str) -> np.ndarray:
    """Inverse variances of the whole data, for every component."""
    inverse = 1.0 / X.var(axis=0)
    return np.tile(np.diag(inverse), (k, 1, 1)) if kind == "full" else np.tile(inverse, (k, 1))


def fixed_length(
    X: np.ndarray, start: dict[str, np.ndarray], kind: str, n_iter: int
) -> dict[str, Any]:
    """Parameters of either side: this start and exactly this many iterations."""
    k = len(start["weights_init"])
    return {
        "n_components": k,
        "covariance_type": kind,
        "precisions_init": precisions(X, k, kind),
        "max_iter": n_iter,
        "tol": 0.0,
        "random_state": 0,
        **start,
    }


def against_scikit_learn(
    X: np.ndarray, start: dict[str, np.ndarray], kind: str, n_iter: int
) -> Row:
    params = fixed_length(X, start, kind, n_iter)
    model, peer = GaussianMixture(**params), Peer(**params, init_params="random_from_data")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of iterations
        model.fit(X[:2000])  # compile first
        row = compare(
            f"EM, {kind}, n={len(X):,}, d={X.shape[1]}, k={model.n_components}, "
            f"{n_iter} iterations",
            lambda: model.fit(X),
            lambda: peer.fit(X),
            peer="scikit-learn",
            limit=LIMITS[kind],
        )
    assert model.n_iter_ == peer.n_iter_ == n_iter
    return {**row, "log-likelihood gap per row": abs(model.score(X) - peer.score(X))}
