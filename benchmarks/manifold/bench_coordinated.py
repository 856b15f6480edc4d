"""Coordinated local models: growth with the number of rows, and EM of factor analyzers.

The first table fits :class:`CoordinatedFactorAnalysis` with its defaults, spectral start included,
to a curved sheet in 50 columns: seconds of the fit, processor seconds of one iteration alone, and
the exponent of their growth from the row before. Beyond 5,000 rows the start is that of a sample.

The second compares EM for factor analyzers with EM for full covariances, ours and scikit-learn's,
from the same means: seconds of a fit of six iterations, over six.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from benchmarks.harness import Row, clock
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Peer

from sidelight.datasets import make_s_surface
from sidelight.engine import as_rows
from sidelight.manifold import CoordinatedFactorAnalysis
from sidelight.manifold.atlas._bound import Coordination, Estimates
from sidelight.manifold.atlas._steps import ChartRules
from sidelight.mixture import GaussianMixture

N_COLUMNS = 50
N_CHARTS = 30

#: Of the time of full covariances an iteration of factor analyzers may take.
LIMIT = 1 / 3


def run(quick: bool) -> list[Row]:
    sizes = (1_000, 2_000, 4_000) if quick else (5_000, 10_000, 20_000, 50_000, 100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of iterations
        return [*growth(sizes), *factor_analyzers(2_000 if quick else 10_000)]


def sheet(n: int) -> np.ndarray:
    """An S surface turned into 50 columns, with noise in all of them."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(N_COLUMNS, 3)))[0]
    rows = make_s_surface(n, random_state=0).data @ turn.T
    return np.asarray(rows + 0.05 * rng.normal(size=rows.shape))


def growth(sizes: tuple[int, ...]) -> list[Row]:
    rows: list[Row] = []
    CoordinatedFactorAnalysis(n_charts=5, random_state=0).fit(sheet(200))  # compile first
    for n in sizes:
        X = sheet(n)
        model = CoordinatedFactorAnalysis(2, n_charts=N_CHARTS, n_init=1, random_state=0)
        seconds = clock(partial(model.fit, X))
        step = iteration_seconds(X)
        before = rows[-1] if rows else None
        rows.append(
            {
                "case": f"coordinated factor analysis, n={n:,}, d={N_COLUMNS}, k={N_CHARTS}",
                "rows": n,
                "seconds of the fit": seconds,
                "iterations": model.n_iter_,
                "processor seconds per iteration": step,
                "exponent": exponent(before, n, step),
                "reconstruction error": model.unexplained_variance_ratio_,
            }
        )
    return rows


def exponent(before: Row | None, n: int, seconds: float) -> float:
    """Slope of the time of an iteration over the rows, both as logarithms."""
    if before is None:
        return float("nan")
    gain = np.log(seconds / before["processor seconds per iteration"])
    return float(gain / np.log(n / before["rows"]))


def iteration_seconds(X: np.ndarray) -> float:
    """Processor seconds of an e-step and an m-step with everything free."""
    n = len(X)
    rules = ChartRules((slice(0, N_COLUMNS),), False, False, np.full(N_COLUMNS, 1e-4), 1e-6)
    steps = Coordination(
        as_rows(X - X.mean(axis=0)), np.ones((n, 1), bool), np.ones(n), np.zeros(n, bool), rules
    )
    places = np.random.default_rng(0).normal(size=(n, 2))
    state = steps.of_clusters(
        np.arange(n) % N_CHARTS, N_CHARTS, Estimates(places, np.tile(1e-4 * np.eye(2), (n, 1, 1)))
    )
    steps.m_step(steps.e_step(state, free=True))
    started = time.process_time()
    for _ in range(5):
        state = steps.m_step(steps.e_step(state, free=True))
    return (time.process_time() - started) / 5


def factor_analyzers(n: int, d: int = 200, q: int = 5, k: int = 10) -> list[Row]:
    rng = np.random.default_rng(0)
    centers = 0.3 * rng.normal(size=(k, d))  # so close that EM has not ended after six iterations
    parts = [
        rng.normal(size=(n // k, q)) @ rng.normal(size=(q, d))
        + center
        + rng.normal(size=(n // k, d))
        for center in centers
    ]
    X = np.concatenate(parts)
    start: dict[str, Any] = {
        "n_components": k,
        "means_init": centers,
        "init_params": "random_from_data",
        "tol": 0.0,
        "random_state": 0,
    }

    def factors(n_iter: int) -> Any:
        return GaussianMixture(covariance_type="factor", n_factors=q, max_iter=n_iter, **start)

    ours = per_iteration(factors, X)
    peers = {
        "our full covariances": lambda n_iter: GaussianMixture(max_iter=n_iter, **start),
        "scikit-learn, full covariances": lambda n_iter: Peer(max_iter=n_iter, **start),
    }
    rows: list[Row] = []
    for peer, make in peers.items():
        theirs = per_iteration(make, X)
        rows.append(
            {
                "case": f"EM of factor analyzers, per iteration, n={n:,}, d={d}, q={q}, k={k}",
                "peer": peer,
                "ours": ours,
                "theirs": theirs,
                "ratio": ours / theirs,
                "limit": LIMIT,
            }
        )
    return rows


def per_iteration(make: Callable[[int], Any], X: np.ndarray, n_iter: int = 6) -> float:
    """Seconds of a fit of some iterations, over their number; the least of three runs."""
    model = make(n_iter)
    seconds = min(clock(partial(model.fit, X)) for _ in range(3))
    assert model.n_iter_ == n_iter
    return seconds / n_iter
