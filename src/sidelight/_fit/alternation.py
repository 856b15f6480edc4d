"""Alternating minimization: the one loop under k-means, EM and their relatives.

Each iteration evaluates the parameters (labels or responsibilities, the objective, and the sums
that the update needs) and then updates them. How both are done, and when to stop, is up to the
method; history, progress, Ctrl-C and a step that does not pay are handled here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from sidelight._fit.restarts import fit_progress
from sidelight._typing import FloatArray

Parameters = TypeVar("Parameters")


class Evaluation(Protocol):
    """Parameters with what follows from them."""

    @property
    def parameters(self) -> Any:
        """The parameters that were evaluated."""

    @property
    def objective(self) -> float:
        """The value that is minimized, at these parameters."""


State = TypeVar("State", bound=Evaluation)


@dataclass(frozen=True)
class Alternation(Generic[State]):
    """Final state of an alternation.

    Attributes
    ----------
    last : Evaluation
        The evaluation of the parameters that are kept.
    history : ndarray of float64
        Objective at every evaluation that was kept; the last belongs to ``last``.
    n_iter : int
        Number of iterations that were begun.
    n_updates : int
        Number of updates of the parameters.
    converged : bool
        Whether a stopping rule ended the loop, not ``max_iter`` and not Ctrl-C.
    interrupted : bool
        Whether Ctrl-C ended the loop (inside ``sidelight.progress(keep_best=True)``).
    """

    last: State
    history: FloatArray
    n_iter: int
    n_updates: int
    converged: bool
    interrupted: bool

    @property
    def objective(self) -> float:
        """Objective of the parameters that are kept."""
        return self.last.objective


def alternate(
    parameters: Parameters,
    evaluate: Callable[[Parameters, State | None], State],
    update: Callable[[State], Parameters],
    *,
    stop: Callable[[State, State, list[float]], bool],
    stands_still: Callable[[Parameters, Parameters], bool] | None = None,
    reject_rises: bool = False,
    max_iter: int,
    description: str,
    verbose: int,
) -> Alternation[State]:
    """Alternate between evaluation and update from the given parameters.

    An update after which the objective is not a number ends the loop, without convergence, at the
    evaluation before.

    Parameters
    ----------
    parameters : object
        Where to start.
    evaluate : callable
        ``evaluate(parameters, before)`` is the e-step; ``before`` is the previous evaluation, or
        ``None``. Its result has ``parameters`` and ``objective``.
    update : callable
        ``update(evaluation)`` is the m-step: it returns new parameters.
    stop : callable
        ``stop(before, now, history)`` tells from two consecutive evaluations whether the loop has
        converged.
    stands_still : callable, default=None
        ``stands_still(old, new)`` tells from two consecutive parameters whether the loop has
        converged; the new parameters are still evaluated.
    reject_rises : bool, default=False
        End with the evaluation before when an update raises the objective. For updates that can,
        because of rounding or regularization.
    max_iter : int
        Largest number of updates.
    description : str
        Name of the fit in the progress bar.
    verbose : int
        Whether to show the progress bar.
    """
    history: list[float] = []
    now: State | None = None
    n_updates = 0
    converged = lost = False

    def advance() -> bool:
        """Evaluate the parameters, and return whether the loop is at its end."""
        nonlocal now, parameters, lost
        before, new = now, evaluate(parameters, now)
        # An update that is lost, or raises the objective where that ends the loop, is taken back.
        if before is not None and not math.isnan(before.objective):
            lost = math.isnan(new.objective)
            if lost or (reject_rises and new.objective > before.objective):
                parameters = before.parameters
                return True
        now = new
        history.append(new.objective)
        if before is None or (math.isnan(before.objective) and not math.isnan(new.objective)):
            return False  # nothing to compare with
        return stop(before, new, history)

    with fit_progress(description, max_iter, verbose=verbose) as progress:
        for _ in range(max_iter):
            converged = advance()
            assert now is not None
            progress.step(now.objective)
            if converged:
                break
            parameters = update(now)
            n_updates += 1
            if stands_still is not None and stands_still(now.parameters, parameters):
                converged = True
                break
        if now is None or parameters is not now.parameters:
            converged = advance() or converged
    assert now is not None  # an interruption before the first evaluation is raised
    return Alternation(
        last=now,
        history=np.array(history),
        n_iter=progress.n_steps,
        n_updates=n_updates,
        converged=converged and not lost and not progress.interrupted,
        interrupted=progress.interrupted,
    )
