"""Classifiers on a graph whose values solve a linear system, and become probabilities."""

from __future__ import annotations

import itertools
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sidelight._fit.parameters import Count, FinitePositive, Verbosity, estimator
from sidelight._progress import fit_progress
from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.base.inner import not_defined
from sidelight.constraints import Constraints
from sidelight.semi_supervised._core._class_shares import BalancedClassifier, FreeClassShares
from sidelight.semi_supervised.graph._base import _DistributionClassifier
from sidelight.semi_supervised.graph._harmonic_solve import (
    DENSE_ROWS,
    Dirichlet,
    HarmonicState,
    Spreading,
    as_distributions,
)
from sidelight.semi_supervised.graph._shares import (
    choose_power,
    estimate_shares,
    match_shares,
)


@estimator
class _SolvedClassifier(BalancedClassifier, _DistributionClassifier):
    """A classifier on a graph whose values are ``(I - A)^{-1} b``.

    Subclasses define ``_spread_roughly(W, labels)`` besides ``_spread``: the values of the
    unlabeled rows, to the accuracy that shares need.
    """

    _: KW_ONLY
    class_shares: FreeClassShares = "auto"
    max_iter: Count = 5000
    tol: FinitePositive = 1e-8
    verbose: Verbosity = 0

    def _spread_roughly(self, W: sparse.csr_array, labels: IntArray) -> Array:
        """Return the values of the unlabeled rows of a graph with other labels."""
        not_defined(self, "_spread_roughly")

    def _learn(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        super()._learn(rows, labels, known)
        self.label_distributions_ = self._values

    def _calibrated(self, values: Array, W: sparse.csr_array, labels: IntArray) -> Array:
        """Probabilities of the unlabeled rows, with the shares that are asked for."""
        n_classes = values.shape[1]
        self.class_factors_, self.sharpness_ = np.ones(n_classes), 1.0
        shares = self._given_shares(labels)
        if not len(values):
            self.class_shares_ = np.bincount(labels, minlength=n_classes) / len(labels)
        elif isinstance(self.class_shares, str) and self.class_shares == "free":
            self.class_shares_ = values.mean(axis=0)
        else:
            self.class_shares_ = estimate_shares(values, labels) if shares is None else shares
            self.sharpness_ = choose_power(W, labels, self.class_shares_, self._spread_roughly)
            values, self.class_factors_ = match_shares(values, self.class_shares_, self.sharpness_)
        return values

    def _solve(self, problem: Dirichlet | Spreading) -> Array:
        """Distributions that solve the system, and what every fit reports."""
        exact = problem.solve_densely() if problem.size <= DENSE_ROWS else None
        if exact is None:
            last = self._iterate(problem)
        else:
            last, self.history_ = exact, np.array([exact.energy])
        self.objective_ = last.energy
        self.n_iter_ = len(self.history_)
        self.converged_ = last.residual <= self.tol
        return as_distributions(last.distributions, problem.shares)

    def _iterate(self, problem: Dirichlet | Spreading) -> HarmonicState:
        """Conjugate gradients until the residual is small; warns where it stays larger."""
        energies: list[float] = []
        with fit_progress(type(self).__name__, self.max_iter, verbose=self.verbose) as progress:
            for last in itertools.islice(problem.iterate(), self.max_iter):
                energies.append(last.energy)
                progress.step(last.energy)
                if last.residual <= self.tol:
                    break
        self.history_ = np.array(energies)
        if last.residual > self.tol and not progress.interrupted:
            warn(
                f"The values of the rows were found to a residual of {last.residual:.0e} only in "
                f"{len(energies):,} steps ({setting('max_iter', self.max_iter)}); classes of rows "
                "between labels may be wrong. Allow more steps, or join more neighbors.",
                ConvergenceWarning,
            )
        return last
