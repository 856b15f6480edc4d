"""Small charts with estimates, and the bound by its definition, for the tests of the steps."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from sidelight.engine import as_rows
from sidelight.manifold.atlas._bound import ChartState, Coordination, Estimates
from sidelight.manifold.atlas._charts import Charts
from sidelight.manifold.atlas._steps import ChartRules


class Case(NamedTuple):
    """Steps on rows with a state to start from."""

    steps: Coordination
    state: ChartState


def make_case(
    seed: int,
    *,
    n: int = 40,
    k: int = 3,
    d: int = 2,
    widths: tuple[int, ...] = (3, 2),
    masked: bool = True,
    isotropic: bool = False,
    conformal: bool = False,
    ridge: float = 0.0,
    floor: float = 1e-6,
) -> Case:
    """Random rows with views missing at random, random charts and random estimates."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum((0, *widths))
    views = tuple(slice(int(a), int(b)) for a, b in itertools.pairwise(ends))
    g = rng.normal(size=(n, d))
    rows = np.tanh(g @ rng.normal(size=(d, ends[-1]))) + 0.1 * rng.normal(size=(n, ends[-1]))
    seen = np.ones((n, len(widths)), dtype=bool)
    if masked:
        seen = rng.uniform(size=seen.shape) < 0.7
        seen[~seen.any(axis=1), 0] = True
    weights = rng.uniform(0.5, 2.0, n)
    rules = ChartRules(views, isotropic, conformal, np.full(ends[-1], floor), ridge)
    steps = Coordination(as_rows(rows), seen, weights, np.zeros(n, dtype=bool), rules)
    estimates = Estimates(g + 0.1 * rng.normal(size=g.shape), spd(rng, n, d, 0.05))
    start = steps.of_clusters(rng.integers(0, k, n), k, estimates)
    return Case(steps, start)


def spd(rng: np.random.Generator, n: int, d: int, size: float) -> np.ndarray:
    """Random positive definite matrices."""
    roots = rng.normal(size=(n, d, d))
    return size * (roots @ np.swapaxes(roots, 1, 2) / d + 0.5 * np.eye(d))


def log_density(x: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> float:
    """``log N(x; mean, cov)``; a frozen distribution of SciPy takes ten times as long."""
    away = x - mean
    square = away @ np.linalg.solve(cov, away)
    return -0.5 * float(square + np.linalg.slogdet(2 * np.pi * cov)[1])


def chart_terms(
    charts: Charts, row: np.ndarray, seen: np.ndarray, g: np.ndarray, cov: np.ndarray
) -> np.ndarray:
    """``E_q log p(x, g, s)`` of one row for every chart, by the expectation of quadratic forms."""
    values = []
    for s in range(charts.n_charts):
        spread = charts.spreads[s]
        value = charts.log_weights[s]
        value += log_density(g, charts.offsets[s], spread)
        value -= 0.5 * np.trace(np.linalg.solve(spread, cov))
        for number, view in enumerate(charts.views):
            if seen[number]:
                B, psi = charts.loadings[s, view], charts.noise[s, view]
                mean = charts.means[s, view] + B @ (g - charts.offsets[s])
                value += log_density(row[view], mean, np.diag(psi))
                value -= 0.5 * np.trace((B / psi[:, None]).T @ B @ cov)
        values.append(value)
    return np.array(values)


def bound(case: Case, state: ChartState, resp: np.ndarray | None = None) -> float:
    """``Φ``, less the ridge, by its definition; with the best responsibilities by default."""
    steps = case.steps
    rows = steps.source.to_memory()
    charts, (means, covariances) = state
    total = 0.0
    for n, row in enumerate(rows):
        terms = chart_terms(charts, row, steps.seen[n], means[n], covariances[n])
        q = np.exp(terms - terms.max()) if resp is None else resp[n]
        q = q / q.sum()
        own = q > 0
        value = float(q[own] @ (terms[own] - np.log(q[own])))
        value += 0.5 * np.linalg.slogdet(2 * np.pi * np.e * covariances[n])[1]
        total += steps.weights[n] * value
    penalty = np.sum(charts.loadings**2 / charts.noise[:, :, None])
    return total - 0.5 * steps.rules.ridge * float(penalty)


def best_responsibilities(case: Case, state: ChartState) -> np.ndarray:
    """``q`` of every row, of shape (n, k)."""
    rows = case.steps.source.to_memory()
    charts, (means, covariances) = state
    terms = np.array(
        [
            chart_terms(charts, row, case.steps.seen[n], means[n], covariances[n])
            for n, row in enumerate(rows)
        ]
    )
    q = np.exp(terms - terms.max(axis=1, keepdims=True))
    return np.asarray(q / q.sum(axis=1, keepdims=True))


def dense_log_joint(charts: Charts, row: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """``log π_s + log p(x | s)`` of the given columns, with dense covariances."""
    values = []
    for s in range(charts.n_charts):
        B = charts.loadings[s][columns]
        cov = B @ charts.spreads[s] @ B.T + np.diag(charts.noise[s][columns])
        density = log_density(row[columns], charts.means[s][columns], cov)
        values.append(charts.log_weights[s] + density)
    return np.array(values)
