"""What the discriminative mixtures share: the search from several starts, and its outcome."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sidelight._fit.checks import check_n_clusters, check_weights
from sidelight._progress import fit_progress
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture._core._em import EMResult
from sidelight.mixture._core._starts import data_moments
from sidelight.mixture.discriminative._annealing import SOLVERS, Descent, anneal, schedule
from sidelight.mixture.discriminative._factor_models import FactorModel
from sidelight.mixture.discriminative._lost_components import find_lost, recover_lost
from sidelight.mixture.discriminative._objective import Objective, WhiteRows
from sidelight.mixture.discriminative._penalty_path import NATS_PER_ROW, choose_penalty
from sidelight.mixture.discriminative._violation_loss import statements
from sidelight.mixture.gaussian._mixture import _GaussianBase

#: Starts whose objectives differ by less than this, relatively, ended in the same place.
SAME_PLACE = 1e-6


@dataclass(frozen=True, eq=False)
class Search:
    """The best of several starts."""

    rows: WhiteRows
    objective: Objective
    theta: Array
    history: Array
    n_iter: int
    converged: bool
    interrupted: bool
    n_at_best: int

    @property
    def labels(self) -> Array:
        """Most probable component of every row."""
        model = self.objective.model
        eta, offset = model.scores(self.theta)

        def work(block: Any) -> tuple[tuple[()], tuple[Array]]:
            scores = model.features(self.rows.white(block)) @ eta + offset
            return (), (np.argmax(scores, axis=1),)

        return self.rows.source.map_reduce(work)[1][0]

    def result(self, components: Any, log_weights: Array, log_volume: float) -> EMResult:
        """What the estimator keeps, with log-densities in the units of the rows."""
        return EMResult(
            components=components,
            log_weights=log_weights,
            history=log_volume - self.history,
            n_iter=self.n_iter,
            converged=self.converged,
            interrupted=self.interrupted,
        )


class _DiscriminativeBase(_GaussianBase):
    """Mixtures fitted by likelihood minus violations."""

    penalty: Any
    solver: str
    sharpness: Sequence[float]
    inverse_temperature: Sequence[float]

    @abstractmethod
    def _model(self, rows: WhiteRows, added: float) -> FactorModel:
        """What the parameters mean; ``added`` is to be added to all variances."""

    @abstractmethod
    def _first(self, rows: WhiteRows, model: Any, rng: np.random.RandomState) -> Array:
        """Parameters to start from."""

    @abstractmethod
    def _result(self, search: Search, largest_square: float) -> EMResult:
        """Components in the units of the rows, and the path."""

    @abstractmethod
    def _whitener(self, covariance: Array) -> Array:
        """``W`` for rows of this covariance."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Fit the mixture to the rows and to what is known about them.

        Parameters
        ----------
        X : array or RowSource of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            What is known about the rows.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows in the likelihood.

        Returns
        -------
        self : object
            The fitted mixture.
        """
        source = self._validate_rows(X, reset=True)
        k = check_n_clusters(self.n_components, source.n_rows, name="n_components")
        self._check_choices()
        weights = check_weights(sample_weight, source)
        known = self._check_constraints(constraints, y, source.n_rows)
        self._warn_of_contradictions(known)
        rows, model, largest = self._problem(source, weights)
        rng = check_random_state(self.random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=self.n_init)

        def fit_at(constraints: Constraints, penalty: float, before: Search | None) -> Search:
            told = replace(rows, known=statements(constraints, k))
            return self._search(Objective(told, model, penalty), seeds, before)

        if self.penalty == "validate":
            choice = choose_penalty(fit_at, known, k, rng)
            search, self.penalty_, self.penalty_path_ = choice.fit, choice.penalty, choice.path
        else:
            self.penalty_ = self._price(known)
            search = fit_at(known, self.penalty_, None)
        self.n_starts_at_best_ = search.n_at_best
        self._warn_of_lost_components(search)
        return self._set_fitted_attributes(self._result(search, largest), source, known)

    def _warn_of_lost_components(self, search: Search) -> None:
        lost = find_lost(search.objective, search.theta)
        if lost is not None:
            warnings.warn(
                f"Component {lost[0]} is nearly empty or coincides with another, from the best of "
                f"{self.n_init} starts: ask for fewer components, for more starts, or change "
                "penalty.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _check_choices(self) -> None:
        if not self.reg_covar >= 0:
            raise ValueError(f"reg_covar must not be negative, got {self.reg_covar!r}.")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {SOLVERS}, got {self.solver!r}.")
        if not isinstance(self.n_init, (int, np.integer)) or self.n_init < 1:
            raise ValueError(f"n_init must be a whole number above 0, got {self.n_init!r}.")
        if isinstance(self.penalty, str):
            if self.penalty not in ("auto", "validate"):
                raise ValueError(
                    f"penalty must be 'auto', 'validate' or a number, got {self.penalty!r}."
                )
        elif not isinstance(self.penalty, Real) or not 0 <= float(self.penalty) < np.inf:
            raise ValueError(f"penalty must be finite and not negative, got {self.penalty!r}.")
        for name in ("sharpness", "inverse_temperature"):
            values = np.asarray(getattr(self, name), dtype=float)
            if values.ndim != 1 or len(values) == 0 or not np.all((values > 0) & (values < np.inf)):
                raise ValueError(
                    f"{name} must hold the positive values of the stages, got "
                    f"{getattr(self, name)!r}."
                )

    def _problem(
        self, source: RowSource, sample_weight: Array | None
    ) -> tuple[WhiteRows, FactorModel, float]:
        """White rows, the model of them, and the largest squared distance from their mean."""
        mean, covariance, largest = data_moments(source, sample_weight)
        d = len(mean)
        # Nothing may be singular: constant features have this variance at least.
        added = max(self.reg_covar, 1e-12 * float(np.trace(covariance)) / d, 1e-100)
        variance = covariance + added * np.eye(d)
        weights = np.ones(source.n_rows) if sample_weight is None else sample_weight
        rows = WhiteRows(
            source,
            mean,
            self._whitener(variance),
            np.asarray(weights, dtype=np.float64),
            statements(Constraints(n_samples=source.n_rows), self.n_components),
        )
        return rows, self._model(rows, added), largest

    def _first_means(self, rows: WhiteRows, rng: np.random.RandomState) -> Array:
        """White means to start from: those that the user gave, or random rows."""
        shape = (self.n_components, len(rows.mean))
        if self.means_init is None:
            return random_rows(rows, self.n_components, rng)
        given = np.asarray(self.means_init, dtype=np.float64)
        if given.shape != shape or not np.all(np.isfinite(given)):
            raise ValueError(
                f"means_init must hold finite numbers in shape {shape}, got shape {given.shape}."
            )
        return rows.white(given)

    def _price(self, known: Constraints) -> float:
        """``λ``; see ``penalty``."""
        if self.penalty != "auto":
            return float(self.penalty)
        weight = statements(known, self.n_components).weight
        return NATS_PER_ROW * known.n_samples / weight if weight > 0 else 0.0

    def _search(self, objective: Objective, seeds: Array, before: Search | None) -> Search:
        """Descend from every start, and from another fit when there is one; keep the best."""
        # Without a loss, its sharpness makes no difference.
        paid = objective.penalty > 0 and len(objective.rows.known) > 0
        sharpness = self.sharpness if paid else self.sharpness[-1:]
        stages = schedule(sharpness, self.inverse_temperature, self.tol)
        firsts = [
            self._first(objective.rows, objective.model, np.random.RandomState(seed))
            for seed in seeds
        ]
        if before is not None:
            firsts.append(before.theta)
        best: Descent | None = None
        ends = []
        for first in firsts:
            descent = Descent(first, [])
            with fit_progress(type(self).__name__, verbose=self.verbose) as progress:
                anneal(
                    objective,
                    first,
                    stages,
                    solver=self.solver,
                    max_iter=self.max_iter,
                    progress=progress,
                    repair=recover_lost,
                    descent=descent,
                )
            ends.append(descent.history[-1])
            if best is None or ends[-1] < best.history[-1]:
                best = descent
            if progress.interrupted:
                break
        assert best is not None
        last = stages[-1]
        gaps = np.array(ends) - best.history[-1]
        return Search(
            rows=objective.rows,
            objective=replace(
                objective, sharpness=last.sharpness, inverse_temperature=last.inverse_temperature
            ),
            theta=best.theta,
            history=np.array(best.history),
            n_iter=max(best.n_iter, 1),
            converged=best.converged and not progress.interrupted,
            interrupted=progress.interrupted,
            n_at_best=int(np.sum(gaps <= SAME_PLACE * max(abs(best.history[-1]), 1.0))),
        )


def random_rows(rows: WhiteRows, n: int, rng: np.random.RandomState) -> Array:
    """Distinct white rows, drawn by weight where enough have one."""
    weights = rows.weights / rows.total
    enough = np.count_nonzero(weights) >= n
    chosen = rng.choice(len(weights), n, replace=False, p=weights if enough else None)
    return rows.white(rows.source.take(np.sort(chosen)))


def symmetric_inverse_root(matrix: Array) -> Array:
    """``M^(-1/2)`` of a positive matrix."""
    lengths, axes = np.linalg.eigh(matrix)
    return np.asarray((axes / np.sqrt(np.maximum(lengths, np.finfo(float).tiny))) @ axes.T)
