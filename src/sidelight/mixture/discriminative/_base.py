"""Shared parts of the discriminative mixtures: the search from several starts, and its result."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sidelight._fit.parameters import (
    ArrayLike,
    Count,
    FiniteNonNegative,
    FinitePositive,
    NonNegative,
    Restarts,
    Seed,
    Verbosity,
    estimator,
    n_restarts,
)
from sidelight._fit.restarts import best_of, numbers_in, run_restarts
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture._core import EMResult, data_moments
from sidelight.mixture.discriminative._descent import (
    DescentStage,
    DescentState,
    at,
    descend_in_stages,
    find_lost,
    recover_lost,
    schedule,
)
from sidelight.mixture.discriminative._factor_models import FactorModel
from sidelight.mixture.discriminative._objective import Objective, WhiteRows, statements
from sidelight.mixture.discriminative._penalty_search import automatic_penalty, choose_penalty
from sidelight.mixture.gaussian._components import GaussianBase

#: Starts whose objectives differ by less than this, relatively, ended in the same place.
SAME_PLACE = 1e-6


@dataclass(frozen=True, eq=False)
class BestStart:
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
        model, whitening = self.objective.model, self.rows.whitening
        eta, offset = model.scores(self.theta)

        def work(block: Any) -> tuple[tuple[()], tuple[Array]]:
            scores = model.features(whitening.white(block)) @ eta + offset
            return (), (np.argmax(scores, axis=1),)

        return self.rows.source.map_reduce(work)[1][0]

    def result(self, components: Any, log_weights: Array, log_volume: float) -> EMResult:
        """Result for the estimator, with log-densities in the units of the rows."""
        return EMResult(
            components=components,
            log_weights=log_weights,
            history=self.history - log_volume,
            n_iter=self.n_iter,
            converged=self.converged,
            interrupted=self.interrupted,
        )


#: Parameters of the discriminative mixtures.
DISCRIMINATIVE_PARAMETERS = {
    "penalty": """``λ``: log-likelihood (in nats) paid for a violated statement of weight 1. It has
    to outweigh what the likelihood loses when all rows follow the constraints, so it grows with the
    rows per statement; but where it is large, a single wrong statement ruins the fit. ``"auto"`` is
    ``n / (2 √m)`` for ``m`` pairs, at least ``1.3 n / m`` (so that very few can turn the mixture)
    and at most ``15 n / m``, a rule of thumb; where many constraints that are surely right stay
    violated, raise it.
    ``"validate"`` raises it from 0 until pairs that the fit does not see are no longer kept better,
    as the source does; that costs about a dozen fits.""",
    "solver": """Quasi-Newton, conjugate gradient, or line-search Newton with the exact Hessian (of
    few parameters; of many, its products are used).""",
    "sharpness": """``τ`` of the stages: smooth losses first, because a statement violated deep
    inside a wrong component has no slope when posteriors are sharp.""",
    "inverse_temperature": """``γ`` of stages before these: posteriors ``softmax(γ log q)`` in the
    likelihood, for deterministic annealing. 1 at the end is the likelihood.""",
    "tol": """The last stage ends when the gradient has fallen to this fraction of that at its
    start; stages before it ten times earlier each, at most at 0.01.""",
    "max_iter": "Largest number of iterations per stage.",
    "n_init": """Number of restarts; the best is kept. One more starts from the fit without
    constraints, with the last ``sharpness`` only. The landscape is rugged when ``λ`` is large; the
    source uses 15. Given means are run once.""",
    "means_init": """Means to start from instead of random rows, of shape (n_components,
    n_features).""",
}

#: Attributes of the fitted ones.
DISCRIMINATIVE_ATTRIBUTES = {
    "penalty_ : float": "Penalty ``λ`` that was used.",
    "search_ : dict of str to ndarray": """For ``penalty="validate"``: ``penalty``: the values of
    ``λ`` that were tried; ``n_violations_validation``, ``n_violations_train``: numbers of violated
    pairs that each fit did not see, and that it saw.""",
    "history_ : ndarray": """``-J`` per row along the last stage of the best restart; never
    rises.""",
    "n_starts_at_best_ : int": """Number of restarts that ended at the best value; few mean that
    more are worth trying.""",
    "n_iter_ : int": "Number of iterations of the best restart, all stages together.",
}


@estimator
class _DiscriminativeBase(GaussianBase):
    """Mixtures fitted by likelihood minus violations."""

    _common_parameters = GaussianBase._common_parameters | DISCRIMINATIVE_PARAMETERS
    _common_attributes = GaussianBase._common_attributes | DISCRIMINATIVE_ATTRIBUTES

    n_components: Count = 2
    _: KW_ONLY
    penalty: FiniteNonNegative | Literal["auto", "validate"] = "auto"
    solver: Literal["lbfgs", "cg", "newton"] = "lbfgs"
    sharpness: Sequence[FinitePositive] = (0.25, 1.0, 4.0)
    inverse_temperature: Sequence[FinitePositive] = (1.0,)
    tol: NonNegative = 1e-4
    reg_covar: FiniteNonNegative = 1e-6
    max_iter: Count = 500
    n_init: Restarts = 5
    means_init: ArrayLike | None = None
    random_state: Seed = None
    verbose: Verbosity = 0

    @abstractmethod
    def _model(self, rows: WhiteRows, added: float) -> FactorModel:
        """Model that reads the parameters; ``added`` is added to all variances."""

    @abstractmethod
    def _first(self, rows: WhiteRows, model: Any, rng: np.random.RandomState) -> Array:
        """Parameters to start from."""

    def _is_start_random(self) -> bool:
        """Whether restarts differ from each other."""
        return True

    @abstractmethod
    def _result(self, search: BestStart, largest_square: float) -> EMResult:
        """Components in the units of the rows, and the path."""

    def _whitener(self, covariance: Array) -> Array:
        """``W`` for rows of this covariance."""
        return symmetric_inverse_root(covariance)

    def _fit_em(self, source: RowSource, known: Constraints, weights: Array | None) -> EMResult:
        rows, model, largest = self._problem(source, weights)
        rng = check_random_state(self.random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=n_restarts(self))

        def fit_at(constraints: Constraints, penalty: float, before: BestStart | None) -> BestStart:
            informed = replace(rows, known=statements(constraints, self.n_components))
            return self._search(Objective(informed, model, penalty), seeds, before)

        if self.penalty == "validate":
            choice = choose_penalty(fit_at, known, self.n_components, rng)
            search, self.penalty_, self.search_ = choice.fit, choice.penalty, choice.table
        else:
            self.penalty_ = self._penalty_value(known)
            search = fit_at(known, self.penalty_, None)
        self.n_starts_at_best_ = search.n_at_best
        self._warn_of_lost_components(search)
        return self._result(search, largest)

    def _warn_of_lost_components(self, search: BestStart) -> None:
        lost = find_lost(search.objective, search.theta)
        if lost is not None:
            warn(
                f"Component {lost[0]} is nearly empty or coincides with another, from the best of "
                f"{n_restarts(self)} starts: ask for fewer components, for more starts, or change "
                "penalty.",
                ConvergenceWarning,
            )

    def _problem(
        self, source: RowSource, sample_weight: Array | None
    ) -> tuple[WhiteRows, FactorModel, float]:
        """White rows, the model of them, and the largest squared distance from their mean."""
        mean, covariance, largest = data_moments(source, sample_weight, reg_covar=self.reg_covar)
        d = len(mean)
        # Nothing may be singular: constant features have this variance at least.
        added = max(self.reg_covar, 1e-12 * float(np.trace(covariance)) / d) or 1e-100
        variance = covariance + added * np.eye(d)
        rows = WhiteRows(
            source,
            mean,
            self._whitener(variance),
            None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64),
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

    def _penalty_value(self, known: Constraints) -> float:
        """``λ``; see ``penalty``."""
        if self.penalty != "auto":
            return float(self.penalty)
        return automatic_penalty(known.n_samples, statements(known, self.n_components).weight)

    def _different_starts(self, objective: Objective, seeds: Array) -> list[Array]:
        """Parameters to start from, each once: few rows give many components the same again."""
        starts: list[Array] = []
        for seed in seeds if self._is_start_random() else seeds[:1]:
            theta = self._first(objective.rows, objective.model, np.random.RandomState(seed))
            if not any(np.array_equal(theta, other) for other in starts):
                starts.append(theta)
        return starts

    def _search(self, objective: Objective, seeds: Array, before: BestStart | None) -> BestStart:
        """Descend from every start, and from another fit when there is one; keep the best."""
        # Without a loss, its sharpness makes no difference.
        paid = objective.penalty > 0 and len(objective.rows.known) > 0
        sharpness = self.sharpness if paid else self.sharpness[-1:]
        stages = schedule(sharpness, self.inverse_temperature, self.tol)
        starts = self._different_starts(objective, seeds)
        n_starts = len(starts) + (before is not None)
        with_free = paid and self._is_start_random()

        def first_and_stages(number: int) -> tuple[Array, list[DescentStage]]:
            if number < len(starts):
                return starts[number], stages
            if number < n_starts and before is not None:
                return before.theta, stages
            # Smooth losses may lead all starts away from where the rows are, to one poor end: so
            # the fit without constraints is a start, too, and goes to the sharp loss at once.
            free = self._search(replace(objective, penalty=0.0), seeds, None)
            return free.theta, stages[-1:]

        def run(number: int, _: np.random.RandomState) -> DescentState:
            return descend_in_stages(
                objective,
                *first_and_stages(number),
                solver=self.solver,
                max_iter=self.max_iter,
                repair=recover_lost,
                description=type(self).__name__,
                verbose=self.verbose,
            )

        ends = run_restarts(
            run,
            range(n_starts + with_free),
            numbers_in(objective.rows.source),
            description=type(self).__name__,
            verbose=self.verbose,
        )
        best = best_of(ends)
        interrupted = any(end.interrupted for end in ends)
        level = best.objective + SAME_PLACE * max(abs(best.objective), 1.0)
        return BestStart(
            rows=objective.rows,
            objective=at(objective, stages[-1]),
            theta=best.theta,
            history=np.array(best.history),
            n_iter=max(best.n_iter, 1),
            converged=best.converged and not interrupted,
            interrupted=interrupted,
            n_at_best=sum(end.objective <= level for end in ends),
        )


def random_rows(rows: WhiteRows, n: int, rng: np.random.RandomState) -> Array:
    """Distinct white rows, drawn by weight where enough have one."""
    weights = np.asarray(rows.weights[0 : rows.source.n_rows]) / rows.total
    enough = np.count_nonzero(weights) >= n
    chosen = rng.choice(len(weights), n, replace=False, p=weights if enough else None)
    return rows.white(rows.source.take(np.sort(chosen)))


def symmetric_inverse_root(matrix: Array) -> Array:
    """``M^(-1/2)`` of a positive matrix."""
    lengths, axes = np.linalg.eigh(matrix)
    return np.asarray((axes / np.sqrt(np.maximum(lengths, np.finfo(float).tiny))) @ axes.T)
