"""Descent on the objective of a discriminative mixture, from smooth to sharp (Law 2006, 5.4).

A statement that is violated deep inside a wrong component has no slope when posteriors are sharp:
its derivative falls exponentially in ``τ`` times the log-odds. So a smooth loss is minimized first,
and each result starts the next, sharper stage.

Components that hold no rows, or the same rows as another: find them and use them elsewhere.

With must-links alone, a mixture whose components all coincide violates nothing: a strong local
optimum. The source replaces a nearly empty component by splitting another one (Law 2006, 5.7.4);
here a component that coincides with another counts as lost, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from sidelight._fit.lowest import is_lower
from sidelight._fit.restarts import fit_progress
from sidelight._progress import FitProgress
from sidelight._typing import Array
from sidelight.engine.inner import one_thread_blas
from sidelight.mixture.discriminative._objective import Objective

#: A component with less than this share of an average one is nearly empty (5.7.4).
EMPTY = 4e-3

#: Components closer than this, in standard deviations, coincide.
COINCIDENT = 1e-2


def recover_lost(objective: Objective, theta: Array) -> Array | None:
    """Return parameters in which a lost component halves another; None when none is lost.

    The largest component is split first; the first split that raises the objective is taken, else
    the one that lowers it least.
    """
    lost = find_lost(objective, theta)
    if lost is None:
        return None
    component, theta = lost
    before = objective.value_and_gradient(theta)[0]
    shares = objective.shares(theta)
    best: tuple[float, Array] | None = None
    for parent in np.argsort(-shares, kind="stable"):
        if parent == component:
            continue
        halved = split_component(objective, theta, component, int(parent))
        value = objective.value_and_gradient(halved)[0]
        if best is None or is_lower(value, best[0]):
            best = value, halved
        if is_lower(value, before):
            break
    return None if best is None else best[1]


def find_lost(objective: Objective, theta: Array) -> tuple[int, Array] | None:
    """A component that is empty or coincides with another, and parameters without its weight."""
    model = objective.model
    k = model.n_components
    if k == 1:
        return None
    shares = objective.shares(theta)
    smallest = int(np.argmin(shares))
    if shares[smallest] < EMPTY / k:
        return smallest, theta
    own = model.own(theta)
    for first in range(k):
        distances = np.max(np.abs(own[first + 1 :] - own[first]), axis=1, initial=0.0)
        twins = np.flatnonzero(distances < COINCIDENT)
        if len(twins):
            beta, m, factor = model.split(theta.copy())
            beta[first] = np.logaddexp(beta[first], beta[first + 1 + twins[0]])
            return int(first + 1 + twins[0]), model.join(beta, m, factor)
    return None


def split_component(objective: Objective, theta: Array, component: int, parent: int) -> Array:
    """Split ``parent`` along its widest direction; ``component`` becomes one half."""
    model = objective.model
    lengths, axes = np.linalg.eigh(objective.component_scatter(theta, parent))
    shift = 0.5 * np.sqrt(max(float(lengths[-1]), 0.0)) * axes[:, -1]
    beta, m, factor = model.split(theta.copy())
    beta[parent] -= np.log(2.0)
    center = m[parent].copy()
    m[parent] = center - shift
    return model.replace(model.join(beta, m, factor), component, parent, center + shift)


#: Up to this many parameters Newton's method forms the Hessian; beyond, it multiplies with it.
SMALL = 300

#: A stage ends when a step gains less than this, relative to the objective.
MIN_GAIN = 1e-10

#: First stages are solved no more closely than this, relative to the gradient at their start.
LOOSEST = 1e-2


@dataclass(frozen=True)
class DescentStage:
    """One objective on the way: its temperatures, and how closely it is solved."""

    sharpness: float
    inverse_temperature: float
    tol: float


def schedule(
    sharpness: Sequence[float], inverse_temperature: Sequence[float], tol: float
) -> list[DescentStage]:
    """Stages: the likelihood is annealed at the first sharpness, then the sharpness rises.

    The last is solved to ``tol``, each one before it ten times more loosely, up to 1e-2: 1e-2,
    1e-3, 1e-4 for the three stages of the source.
    """
    pairs = [(sharpness[0], gamma) for gamma in inverse_temperature]
    pairs += [(tau, inverse_temperature[-1]) for tau in sharpness[1:]]
    last = len(pairs) - 1
    return [
        DescentStage(tau, gamma, max(tol, min(LOOSEST, tol * 10.0 ** (last - place))))
        for place, (tau, gamma) in enumerate(pairs)
    ]


@dataclass(eq=False)
class DescentState:
    """Current state of a descent: always the best of the running stage.

    Attributes
    ----------
    theta : ndarray
        Parameters.
    history : list of float
        Objective at the start and after every accepted step of the running stage.
    n_iter : int
        Accepted steps of all stages.
    converged : bool
        Whether the last stage ended by itself.
    interrupted : bool
        Whether Ctrl-C ended the descent.
    """

    theta: Array
    history: list[float] = field(default_factory=list)
    n_iter: int = 0
    converged: bool = False
    interrupted: bool = False

    @property
    def objective(self) -> float:
        """Objective at the end."""
        return self.history[-1]

    def accept(self, theta: Array, value: float) -> float:
        """Accept a step that lowers the objective; return the gain."""
        gain = self.history[-1] - value
        if gain >= 0 or is_lower(value, self.history[-1]):
            self.theta = theta.copy()
            self.history.append(value)
        self.n_iter += 1
        return gain


def descend_in_stages(
    objective: Objective,
    theta: Array,
    stages: Sequence[DescentStage],
    *,
    solver: str,
    max_iter: int,
    repair: Callable[[Objective, Array], Array | None],
    description: str,
    verbose: int,
) -> DescentState:
    """Descend in stages, each from the end of the one before.

    After a stage ``repair`` may hand out other parameters in which no component is lost; they are
    kept if the objective ends lower from there.
    """
    descent = DescentState(theta)
    with fit_progress(description, verbose=verbose) as progress:
        for stage in stages:
            at_stage = at(objective, stage)
            _solve(at_stage, descent, stage.tol, solver, max_iter, progress)
            repaired = repair(at_stage, descent.theta)
            if repaired is not None:
                other = DescentState(repaired)
                _solve(at_stage, other, stage.tol, solver, max_iter, progress)
                other.n_iter += descent.n_iter
                if is_lower(other.objective, descent.objective):
                    vars(descent).update(vars(other))
                descent.n_iter = other.n_iter
    descent.interrupted = progress.interrupted
    return descent


def at(objective: Objective, stage: DescentStage) -> Objective:
    """Return the objective of a stage."""
    return replace(
        objective, sharpness=stage.sharpness, inverse_temperature=stage.inverse_temperature
    )


def _solve(
    objective: Objective,
    descent: DescentState,
    tol: float,
    solver: str,
    max_iter: int,
    progress: FitProgress,
) -> None:
    """Minimize from ``descent.theta`` until the gradient or the gain is small."""
    value, gradient = objective.value_and_gradient(descent.theta)
    descent.history = [value]
    steepest = float(np.max(np.abs(gradient)))
    descent.converged = steepest == 0
    if descent.converged or not np.isfinite(value + steepest):
        return
    # The small products of the solvers cost most when many threads wait for each other.
    with one_thread_blas:
        if solver == "newton" and objective.model.n_parameters <= SMALL:
            descent.converged = _newton(objective, descent, tol * steepest, max_iter, progress)
        else:
            _minimize(objective, descent, tol * steepest, solver, max_iter, progress)


def _minimize(
    objective: Objective,
    descent: DescentState,
    tol: float,
    solver: str,
    max_iter: int,
    progress: FitProgress,
) -> None:
    """Minimize by SciPy until no gradient is larger than ``tol`` or a step gains nothing."""

    def each_step(intermediate_result: Any) -> None:
        gain = descent.accept(intermediate_result.x, float(intermediate_result.fun))
        progress.step(descent.history[-1])
        if gain <= MIN_GAIN * max(abs(descent.history[-1]), 1.0):
            raise StopIteration

    settings: dict[str, Any]
    if solver == "lbfgs":
        options = {"gtol": tol, "ftol": 0.0, "maxcor": 20, "maxfun": 20 * max_iter}
        settings = {"method": "L-BFGS-B", "options": options}
    elif solver == "cg":
        settings = {"method": "CG", "options": {"gtol": tol}}
    else:
        settings = {"method": "Newton-CG", "options": {"xtol": 1e-10}}
        settings["hessp"] = lambda at, p: objective.hessian_products(at, p[None])[0]
    settings["options"]["maxiter"] = max_iter
    before = descent.n_iter
    minimize(objective.value_and_gradient, descent.theta, jac=True, callback=each_step, **settings)
    # Without a step the line search found nothing lower: that is as far as rounding allows.
    descent.converged = descent.n_iter - before < max_iter


def _newton(
    objective: Objective, descent: DescentState, tol: float, max_iter: int, progress: FitProgress
) -> bool:
    """Line-search Newton with the exact Hessian, made positive; True when the descent ended.

    The direction is ``-|H|⁻¹ g``: eigenvalues of the Hessian count by their size, so that it points
    downhill also where the objective is not convex.
    """
    value, gradient = objective.value_and_gradient(descent.theta)
    for _ in range(max_iter):
        if np.max(np.abs(gradient)) <= tol:
            return True
        curvature, axes = np.linalg.eigh(objective.hessian(descent.theta))
        curvature = np.abs(curvature)
        curvature = np.maximum(curvature, 1e-8 * curvature.max())
        direction = -axes @ ((axes.T @ gradient) / curvature)
        found = _backtrack(objective, descent.theta, value, gradient, direction)
        if found is None:
            return True
        theta, value, gradient = found
        gain = descent.accept(theta, value)
        progress.step(value)
        if gain <= MIN_GAIN * max(abs(value), 1.0):
            return True
    return False


def _backtrack(
    objective: Objective, theta: Array, value: float, gradient: Array, direction: Array
) -> tuple[Array, float, Array] | None:
    """Halve the step until it lowers the objective enough (Armijo); None when none does."""
    slope = float(gradient @ direction)
    step = 1.0
    for _ in range(40):
        candidate = theta + step * direction
        new_value, new_gradient = objective.value_and_gradient(candidate)
        if new_value <= value + 1e-4 * step * slope:
            return candidate, new_value, new_gradient
        step /= 2
    return None
