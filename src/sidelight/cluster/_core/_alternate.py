"""Alternating minimisation: label the rows for given parameters, improve the parameters, repeat.

The loop under the methods whose parameters are more than centres
(:mod:`sidelight.cluster._core._lloyd`
is the loop under those with centres alone).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from sidelight._fit.restarts import fit_progress
from sidelight._typing import Array
from sidelight.cluster._core._lloyd import LloydResult
from sidelight.engine._threads import one_thread_blas

State = TypeVar("State")

#: A relative fall of the objective below this is rounding.
STANDSTILL = 1e-12


@dataclass(frozen=True)
class Visit(Generic[State]):
    """Parameters with the labels that belong to them.

    Attributes
    ----------
    state : object
        The parameters; ``state.centers`` are the centres.
    labels : ndarray of int32, shape (n_rows,)
        Labels at these parameters.
    inertia : float
        Sum of the distances (squared, or divergences) of the rows to their centres.
    objective : float
        What is minimised, at these parameters and labels.
    n_changed : int
        Number of labels that differ from the visit before.
    details : object
        What the next move needs.
    """

    state: State
    labels: Array
    inertia: float
    objective: float
    n_changed: int
    details: Any


class Problem(Protocol[State]):
    """The two halves of an iteration. Neither may raise the objective."""

    def visit(self, state: State, before: Visit[State] | None) -> Visit[State]:
        """Label the rows at these parameters, starting from the labels of the visit before."""

    def move(self, visit: Visit[State]) -> State:
        """Improve the parameters for the labels of this visit."""


@dataclass(frozen=True)
class Alternated(LloydResult):
    """Where the alternation ended; ``penalty`` is the objective less the inertia."""

    state: Any


def alternate(
    problem: Problem[State],
    state: State,
    *,
    max_iter: int,
    tol: float,
    description: str,
    verbose: int,
) -> Alternated:
    """Alternate from the given parameters.

    Ends when no label changes and the objective falls by less than ``tol`` times its size (at
    least by rounding). The labels returned belong to the parameters returned.
    """
    history: list[float] = []
    visit: Visit[State] | None = None
    converged = False
    # Between the passes there are only small matrices, on which more threads lose time.
    with one_thread_blas, fit_progress(description, max_iter, verbose=verbose) as progress:
        for _ in range(max_iter):
            visit = problem.visit(state, visit)
            history.append(visit.objective)
            progress.step(visit.objective)
            if visit.n_changed == 0 and len(history) > 1:
                fall = history[-2] - history[-1]
                size = abs(visit.objective) + abs(visit.inertia)
                if fall <= max(tol, STANDSTILL) * size:
                    converged = True
                    break
            state = problem.move(visit)
        if visit is None or state is not visit.state:
            visit = problem.visit(state, visit)
            history.append(visit.objective)
    assert visit is not None  # an interruption before the first visit is raised
    return Alternated(
        centers=visit.state.centers,  # type: ignore[attr-defined]
        labels=visit.labels,
        inertia=visit.inertia,
        penalty=visit.objective - visit.inertia,
        history=np.array(history),
        n_iter=progress.n_steps,
        converged=converged and not progress.interrupted,
        interrupted=progress.interrupted,
        state=visit.state,
    )


def refill_rows(costs: Array, linked: Array, n: int, measure: Any) -> list[int]:
    """Choose rows for ``n`` empty clusters: far from their centres and from those before them.

    Parameters
    ----------
    costs : ndarray of shape (n_rows,)
        What each row costs in its cluster; written over.
    linked : ndarray of int
        Rows that must-links hold where they are; taken only when there is no other.
    n : int
        How many.
    measure : callable
        ``measure(row)`` is the cost of all rows with a centre at this row.
    """
    chosen: list[int] = []
    free = costs.copy()
    free[linked] = 0
    if not np.any(free > 0):
        free = costs
    while len(chosen) < n:
        row = int(np.argmax(free))
        if free[row] <= 0:
            break
        chosen.append(row)
        free = np.minimum(free, measure(row))
        free[row] = 0
    return chosen
