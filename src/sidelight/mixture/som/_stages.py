"""Alternation in stages: at each stage to convergence, the next one from where it ended."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from sidelight._fit.alternation import Evaluation, State
from sidelight._fit.restarts import fit_progress
from sidelight._typing import Array

Parameters = TypeVar("Parameters")
Stage = TypeVar("Stage")


@dataclass(frozen=True)
class Annealed(Generic[State]):
    """Final state of the stages.

    Attributes
    ----------
    last : Evaluation
        Evaluation of the parameters that are kept.
    ends : list of Evaluation
        Where every stage ended.
    history : ndarray of float64
        Objective at every iteration of all stages.
    n_iters : ndarray of int
        Number of iterations of every stage that were kept, as many as in ``history``.
    converged : bool
        Whether the last stage converged.
    interrupted : bool
        Whether Ctrl-C ended the loop (inside ``sidelight.progress(keep_best=True)``).
    """

    last: State
    ends: list[State]
    history: Array
    n_iters: Array
    converged: bool
    interrupted: bool

    @property
    def objective(self) -> float:
        """Objective of the parameters that are kept."""
        return self.last.objective


def anneal(
    stages: Sequence[Stage],
    parameters: Parameters,
    evaluate: Callable[[Stage, Parameters, State | None], State],
    update: Callable[[State], Parameters],
    *,
    settled: Callable[[State, State], bool],
    tol: float | None,
    max_iter: int,
    description: str,
    verbose: int,
) -> Annealed[State]:
    """Alternate evaluation and update at every stage, each from the end of the one before.

    Parameters
    ----------
    stages : sequence
        Widths of neighborhoods, temperatures: whatever an evaluation depends on.
    parameters : object
        Where the first stage starts.
    evaluate : callable
        ``evaluate(stage, parameters, before)`` is the e-step; ``before`` is the previous
        evaluation, perhaps of another stage, or None.
    update : callable
        ``update(evaluation)`` is the m-step: it returns new parameters.
    settled : callable
        ``settled(before, now)`` tells from two consecutive evaluations of a stage that no further
        step changes anything.
    tol : float or None
        A stage ends when an iteration gains no more than this; an update that loses is not taken.
        None where there is no objective: then only ``settled`` ends a stage.
    max_iter : int
        Largest number of iterations of a stage.
    description : str
        Name of the fit in the progress bar.
    verbose : int
        Whether to show the progress bar.
    """
    history: list[float] = []
    ends: list[State] = []
    n_iters: list[int] = []
    last: State | None = None
    converged = lost = False
    with fit_progress(description, None, verbose=verbose) as progress:
        # Annealing (Verbeek 2004, 4.2.1): each stage starts from the end of a wider one.
        for stage in stages:
            before: State | None = None
            converged = lost = False
            n_iter = 0
            while n_iter < max_iter and not converged:
                # E-step. The bound is monotone within a stage only, so losses are judged there.
                now = evaluate(stage, parameters, last)
                lost = before is not None and tol is not None and _has_lost(before, now)
                if lost:
                    converged = not math.isnan(now.objective)
                    break
                n_iter += 1
                history.append(now.objective)
                last = now
                progress.step(now.objective)
                if before is not None:
                    gain = before.objective - now.objective
                    converged = settled(before, now) or (tol is not None and gain <= tol)
                before = now
                if not converged:
                    parameters = update(now)
            assert last is not None
            if lost or converged:
                parameters = last.parameters
            ends.append(last)
            n_iters.append(n_iter)
    assert last is not None  # an interruption before the first evaluation is raised
    if progress.interrupted and (not ends or ends[-1] is not last):
        ends.append(last)
        n_iters.append(len(history) - sum(n_iters))
    return Annealed(
        last=last,
        ends=ends,
        history=np.array(history),
        n_iters=np.array(n_iters),
        converged=converged and not progress.interrupted,
        interrupted=progress.interrupted,
    )


def _has_lost(before: Evaluation, now: Evaluation) -> bool:
    """Whether a step raised the objective, as regularized covariances and rounding can."""
    return not now.objective <= before.objective
