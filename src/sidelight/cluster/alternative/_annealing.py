"""Deterministic annealing: memberships from soft to hard as the temperature falls.

At temperature ``ρ`` the free energy ``E(q) + ρ I(C; X)`` is minimized by turns: parameters from
memberships, memberships ``q_ic ∝ Q_c exp(-cost_ic / ρ)`` from parameters (Constrained Clustering,
figure 11.8). Uniform memberships are a fixed point at every temperature, so they are perturbed
before every descent; above the critical temperature they return, below it the clusters part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from sidelight._fit.lowest import is_lower
from sidelight._fit.restarts import ROUNDING, fit_progress
from sidelight._kernels.cluster.alternative.memberships import information_about_rows, soften
from sidelight._typing import Array, FloatArray

#: After which searches single rows are moved: all restarts, the best of them, or none.
Moves: TypeAlias = Literal["restarts", "best", "none"]


class Model(Protocol):
    """Model to be annealed: statistics of memberships, parameters, costs."""

    @property
    def masses(self) -> FloatArray:
        """``p(x)``."""

    @property
    def monotone(self) -> bool:
        """Whether a step never raises the free energy."""

    @property
    def moves_rows(self) -> Moves:
        """After which searches single rows are moved."""

    def sums(self, memberships: FloatArray) -> Any:
        """Statistics of the memberships, linear in them, with their ``cluster_masses``."""

    def fit(self, sums: Any, before: Any = None) -> Any:
        """Parameters for the statistics, with their ``energy``; not worse than those before."""

    def costs(self, tables: Any) -> FloatArray:
        """Cost of every row in every cluster, up to a constant of the row."""


@dataclass(frozen=True)
class AnnealedRestart:
    """Final state of a restart.

    Attributes
    ----------
    labels : ndarray of int
        Cluster of every row of the model.
    objective : float
        Energy of the labels.
    history : list of float
        Energy at every iteration; the last is the objective.
    n_iter : int
        Number of iterations.
    converged : bool
        Whether the labels no longer changed at the end.
    interrupted : bool
        Whether Ctrl-C ended the restart.
    """

    labels: Array
    objective: float
    history: list[float]
    n_iter: int
    converged: bool
    interrupted: bool

    def followed_by(self, other: AnnealedRestart) -> AnnealedRestart:
        """Result of a search that goes on where this one ended."""
        return AnnealedRestart(
            labels=other.labels,
            objective=other.objective,
            history=[*self.history, *other.history[1:]],
            n_iter=self.n_iter + other.n_iter,
            converged=self.converged and other.converged,
            interrupted=other.interrupted,
        )


#: Size of the random perturbation before every temperature, relative to the memberships.
PERTURBATION = 0.01
FIRST_PERTURBATION = 0.1

#: Mass of a cluster that no row belongs to, so that its logarithm is finite.
NO_MASS = 1e-300

#: Memberships that are this near to 0 and 1, on average, are taken for hard.
HARD = 1e-3

#: Share of the critical temperature below which nothing is left to part.
COLDEST = 1e-4

#: Largest number of steps at one temperature.
STEPS = 20

#: Times that a step that raises the free energy is halved.
HALVINGS = 20

#: Steps of the power iteration for the critical temperature.
POWER_STEPS = 12


def critical_temperature(model: Model, rng: np.random.RandomState) -> float:
    """Temperature at which one cluster falls apart into two.

    Near uniform memberships ``1/2 ± ε u`` the costs of two clusters differ by ``4 ε A u`` with a
    linear map ``A``, and the memberships grow where its largest eigenvalue exceeds the temperature:
    a power iteration with the steps of the descent itself.
    """
    n = len(model.masses)
    u = rng.standard_normal(n)
    largest, tables = 0.0, None
    for _ in range(POWER_STEPS):
        u -= model.masses @ u
        size = np.abs(u).max()
        if size == 0:
            break
        u *= 1e-3 / size
        tables = model.fit(model.sums(np.column_stack((0.5 + u, 0.5 - u))), tables)
        costs = model.costs(tables)
        grown = (costs[:, 1] - costs[:, 0]) / 4
        grown -= model.masses @ grown
        length = np.sqrt(model.masses @ u**2)
        largest = float(np.sqrt(model.masses @ grown**2) / length)
        u = grown
    return largest


@dataclass
class _AnnealingState:
    """Memberships with their statistics and parameters."""

    q: FloatArray
    sums: Any
    tables: Any


def anneal(
    model: Model,
    n_clusters: int,
    start: float,
    rng: np.random.RandomState,
    *,
    cooling: float,
    tol: float,
    max_iter: int,
    description: str,
    verbose: int,
) -> AnnealedRestart:
    """Cool from the temperature ``start`` until the memberships are hard, and end at zero."""
    uniform = np.full((len(model.masses), n_clusters), 1.0 / n_clusters)
    state = _perturbed(model, uniform, rng, FIRST_PERTURBATION, None)
    temperature, soft, converged = start, 1.0, False
    history: list[float] = []
    with fit_progress(description, max_iter, verbose=verbose) as progress:
        while soft > HARD and temperature > COLDEST * start and len(history) < max_iter:
            state = _perturbed(model, state.q, rng, PERTURBATION, state.tables)
            for _ in range(min(STEPS, max_iter - len(history))):
                state, change, soft = _step(model, state, temperature)
                history.append(state.tables.energy)
                progress.step(history[-1])
                if change < tol:
                    break
            temperature /= cooling
        best = _hardened(model, np.argmax(state.q, axis=1), n_clusters)
        while not converged and len(history) < max_iter:
            new = _hardened(model, np.argmin(model.costs(best.tables), axis=1), n_clusters)
            converged = not is_lower(new.tables.energy, best.tables.energy, margin=ROUNDING)
            best = best if converged else new
            history.append(best.tables.energy)
            progress.step(history[-1])
    if progress.interrupted:
        best = _hardened(model, np.argmax(state.q, axis=1), n_clusters)
    return AnnealedRestart(
        labels=np.argmax(best.q, axis=1),
        objective=best.tables.energy,
        history=[*history, best.tables.energy],
        n_iter=progress.n_steps,
        converged=converged and not progress.interrupted,
        interrupted=progress.interrupted,
    )


def one_hot(labels: Array, n_clusters: int) -> FloatArray:
    """Memberships of labels."""
    q = np.zeros((len(labels), n_clusters))
    q[np.arange(len(labels)), labels] = 1.0
    return q


def _hardened(model: Model, labels: Array, n_clusters: int) -> _AnnealingState:
    q = one_hot(labels, n_clusters)
    sums = model.sums(q)
    return _AnnealingState(q, sums, model.fit(sums))


def _perturbed(
    model: Model, q: FloatArray, rng: np.random.RandomState, size: float, before: Any
) -> _AnnealingState:
    q = q * (1.0 + size * rng.uniform(-1.0, 1.0, q.shape))
    q /= q.sum(axis=1, keepdims=True)
    sums = model.sums(q)
    return _AnnealingState(q, sums, model.fit(sums, before))


def _step(
    model: Model, state: _AnnealingState, temperature: float
) -> tuple[_AnnealingState, float, float]:
    """One step at a temperature, with the largest change of a membership and the mean softness."""
    q = np.empty_like(state.q)
    log_mass = np.log(np.maximum(state.sums.cluster_masses, NO_MASS))
    costs = model.costs(state.tables)
    change, soft = soften(costs, log_mass, temperature, state.q, q)
    sums = model.sums(q)
    new = _AnnealingState(q, sums, model.fit(sums, state.tables))
    if model.monotone:
        return new, change, soft
    return _shortened(model, state, new, temperature), change, soft


def _shortened(
    model: Model, state: _AnnealingState, new: _AnnealingState, temperature: float
) -> _AnnealingState:
    """Halve the step until the free energy does not rise.

    The new memberships minimize a linear bound of the energy plus the information, which is convex:
    they are a direction of descent, but the whole step may be too long.
    """
    highest = _free_energy(model, state, temperature)
    for _ in range(HALVINGS):
        if _free_energy(model, new, temperature) <= highest:
            return new
        sums = state.sums.toward(new.sums, 0.5)
        new = _AnnealingState((state.q + new.q) / 2, sums, model.fit(sums, state.tables))
    return state


def _free_energy(model: Model, state: _AnnealingState, temperature: float) -> float:
    about_rows = information_about_rows(state.q, model.masses)
    return float(state.tables.energy + temperature * about_rows)
