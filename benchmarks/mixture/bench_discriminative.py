"""DiscriminativeMixture: what constraints cost beside the likelihood.

One evaluation of the objective with its gradient at n = 10,000 rows with 5,000 constraints, against
one E-step of our EM core (posteriors and the sums for the M-step) on the same rows with the same
kind of covariances: at most 3x. For comparison, the same without any constraint.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
from benchmarks.harness import Row, compare
from sklearn.exceptions import ConvergenceWarning

from sidelight import Constraints
from sidelight.engine import as_rows
from sidelight.engine._threads import one_thread_blas
from sidelight.mixture import DiscriminativeMixture
from sidelight.mixture._core import ExpectationMaximization, Parameters
from sidelight.mixture.discriminative._objective import Objective, statements

N, M, D, K = 10_000, 5_000, 16, 10


def run(quick: bool) -> list[Row]:
    kinds = ("tied",) if quick else ("tied", "diag", "full")
    return [row for kind in kinds for row in gradient_against_e_step(kind, quick)]


def gradient_against_e_step(kind: str, quick: bool) -> list[Row]:
    """Rows for all constraints and for none."""
    rng = np.random.default_rng(0)
    y = rng.integers(K, size=N)
    X = 3 * rng.normal(size=(K, D))[y] + rng.normal(size=(N, D))
    known = Constraints.sample(y, M, random_state=0)
    model = DiscriminativeMixture(K, covariance_type=kind, n_init=1, max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # five steps are enough to time one
        model.fit(X, constraints=known)
    steps = ExpectationMaximization(as_rows(X))
    rows = []
    # Both on one thread of BLAS, as they run inside a fit.
    with one_thread_blas:
        for told in (known, Constraints(n_samples=N)):
            objective, theta = objective_at(model, X, told)
            objective.value_and_gradient(theta)  # compile and take the known rows first
            rows.append(
                compare(
                    f"gradient, {kind}, n={N:,}, d={D}, k={K}, {told.n_pairs:,} constraints",
                    partial(objective.value_and_gradient, theta),
                    partial(steps.e_step, Parameters(model._components, model._log_weights)),
                    peer="our E-step",
                    limit=3.0,
                    repeats=20 if quick else 100,
                )
            )
    return rows


def objective_at(
    model: DiscriminativeMixture, X: np.ndarray, known: Constraints
) -> tuple[Objective, np.ndarray]:
    """Objective of a fit, and parameters near the start."""
    rows, factors, _ = model._problem(as_rows(X), None)
    rows = replace(rows, known=statements(known, K))
    theta = model._first(rows, factors, np.random.RandomState(0))
    return Objective(rows, factors, model.penalty_, sharpness=1.0), theta
