"""Component-wise EM that removes what does not pay (Figueiredo and Jain 2002; Law 2006, 4.3.3).

Under a message-length prior a component needs the support of ``N/2`` rows, half the number of its
parameters. Updated all at once, too many components would all starve together; so they are updated
one at a time, and what a removed one held goes to the others before the next is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from sidelight._kernels.mixture.componentwise import all_shares, component_shares
from sidelight._progress import fit_progress
from sidelight._typing import Array
from sidelight.engine import RowSource

Sums = tuple[Array, ...]


class Revisable(Protocol):
    """Components that can be changed one at a time; a new object after every change."""

    @property
    def n_components(self) -> int:
        """Number of components."""

    @property
    def support(self) -> float:
        """Rows that a component has to hold at least: half the number of its parameters."""

    @property
    def least_rows(self) -> float:
        """Rows without which a component is removed: its support, and enough for a variance."""

    @property
    def structure(self) -> tuple[int, ...]:
        """What the message length jumps with: number of components, of features in use."""

    @property
    def has_common(self) -> bool:
        """Whether components share parameters that are updated after every sweep."""

    def log_density(self, block: Any) -> Array:
        """Log-densities of all components, of shape (b, k)."""

    def log_density_of(self, block: Any, component: int) -> Array:
        """Log-densities of one component, of shape (b,)."""

    def statistics_of(self, block: Any, component: int, shares: Array) -> Sums:
        """Sums for :meth:`revised`, the rows weighted by ``shares``."""

    def revised(self, component: int, statistics: Sums) -> Self:
        """With one component of highest expected likelihood."""

    def common_statistics(self, block: Any, shares: Array) -> Sums:
        """Sums for :meth:`with_common`, from responsibilities of shape (b, k)."""

    def with_common(self, statistics: Sums) -> Self:
        """With shared parameters of least expected message length."""

    def without(self, component: int) -> Self:
        """With one component less."""

    def message_length(self, log_likelihood: float, weights: Array, n: float) -> float:
        """Length to be minimised."""


@dataclass(frozen=True)
class Stage:
    """Where the search stood still with one number of components.

    Attributes
    ----------
    components : Revisable
        Parameters.
    weights : ndarray of shape (k,)
        Mixing weights.
    length : float
        Message length.
    history : ndarray
        Message length after every sweep since the structure last changed.
    converged : bool
        Whether it fell by less than ``tol`` per row.
    """

    components: Any
    weights: Array
    length: float
    history: Array
    converged: bool


@dataclass(frozen=True)
class Search:
    """All stages, from many components to few.

    Attributes
    ----------
    stages : list of Stage
        One for every number of components where the search stood still.
    n_iter : int
        Number of sweeps over all components, in all stages.
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    stages: list[Stage]
    n_iter: int
    interrupted: bool

    @property
    def best(self) -> Stage:
        """The stage of the shortest message; of equals, that with fewer components."""
        return min(reversed(self.stages), key=lambda stage: stage.length)


class ComponentwiseEM:
    """Mixing weights and components on a source of rows, changed one component at a time."""

    def __init__(
        self, source: RowSource, components: Any, weights: Array, row_weights: Array | None
    ) -> None:
        self.source = source
        self.components = components
        self.weights = np.array(weights, dtype=np.float64)
        n = source.n_rows
        self._row_weights = np.ones(n) if row_weights is None else np.asarray(row_weights, float)
        self.n = float(self._row_weights.sum())
        self._stale: int | None = None
        self._shifts = np.zeros(n)
        self._logs = np.empty((n, components.n_components))
        self._linear = np.empty_like(self._logs)
        self.log_likelihood = self._evaluate()

    @property
    def length(self) -> float:
        """Message length of the present parameters."""
        return float(self.components.message_length(self.log_likelihood, self.weights, self.n))

    def sweep(self, least: int) -> None:
        """Update every component in turn, and remove those that hold too little, down to ``least``.

        A component that holds too little but may not go keeps its share of the rows.
        """
        j = 0
        while j < self.components.n_components:
            masses, statistics = self._visit(j)
            if masses[j] <= self.components.least_rows and len(self.weights) > least:
                self.remove(j)
                continue
            weight = revised_weight(self.weights[j], masses, j, self.components.support, self.n)
            self.weights = with_weight(self.weights, j, weight)
            self.components = self.components.revised(j, statistics)
            self._stale = j
            j += 1
        if self.components.has_common:
            self.components = self.components.with_common(self._visit_all())
            self.log_likelihood = self._evaluate()
        else:
            self.log_likelihood = self._likelihood()

    def remove(self, component: int) -> None:
        """Remove a component; the others share its weight as they share the rest."""
        if self._stale is not None:
            self._likelihood()
        self.components = self.components.without(component)
        rest = np.delete(self.weights, component)
        total = rest.sum()
        self.weights = rest / total if total > 0 else np.full(len(rest), 1 / len(rest))
        self._logs = np.ascontiguousarray(np.delete(self._logs, component, axis=1))
        self._linear = np.ascontiguousarray(np.delete(self._linear, component, axis=1))
        self.log_likelihood = self._likelihood()

    # ------------------------------------------------------------------ passes over the rows

    def _map(self, function: Callable[..., tuple[Any, ...]]) -> Sums:
        """Add up ``function(block, logs, linear, shifts, row_weights)``, new columns filled in."""
        stale, components = self._stale, self.components

        def work(
            block: Any, logs: Array, linear: Array, shifts: Array, row_weights: Array
        ) -> tuple[tuple[Any, ...], tuple[()]]:
            if stale is not None:
                logs[:, stale] = components.log_density_of(block, stale)
                with np.errstate(over="ignore"):  # such rows get a new shift
                    linear[:, stale] = np.exp(logs[:, stale] - shifts)
            return function(block, logs, linear, shifts, row_weights), ()

        aligned = (self._logs, self._linear, self._shifts, self._row_weights)
        totals, _ = self.source.map_reduce(work, aligned=aligned)
        self._stale = None
        return totals

    def _visit(self, component: int) -> tuple[Array, Sums]:
        """Responsibilities of all components in sum, and the statistics of one."""
        components, weights = self.components, self.weights

        def work(
            block: Any, logs: Array, linear: Array, shifts: Array, row_weights: Array
        ) -> tuple[Any, ...]:
            shares = np.empty(len(row_weights))
            masses = np.zeros(len(weights))
            component_shares(logs, linear, shifts, weights, row_weights, component, shares, masses)
            return masses, *components.statistics_of(block, component, shares)

        masses, *statistics = self._map(work)
        return masses, tuple(statistics)

    def _visit_all(self) -> Sums:
        """Statistics of what all components share."""
        components, weights = self.components, self.weights

        def work(
            block: Any, logs: Array, linear: Array, shifts: Array, row_weights: Array
        ) -> tuple[Any, ...]:
            shares = np.empty_like(logs)
            all_shares(logs, linear, shifts, weights, row_weights, shares)
            return tuple(components.common_statistics(block, shares))

        return self._map(work)

    def _evaluate(self) -> float:
        """Compute all densities anew and return the log-likelihood."""
        components, weights = self.components, self.weights

        def work(
            block: Any, logs: Array, linear: Array, shifts: Array, row_weights: Array
        ) -> tuple[Any, ...]:
            logs[:] = components.log_density(block)
            shifts[:] = logs.max(axis=1)
            np.subtract(logs, shifts[:, None], out=linear)
            np.exp(linear, out=linear)
            shares = np.empty_like(logs)
            return (all_shares(logs, linear, shifts, weights, row_weights, shares),)

        return float(self._map(work)[0])

    def _likelihood(self) -> float:
        """Return the log-likelihood."""
        weights = self.weights

        def work(
            _: Any, logs: Array, linear: Array, shifts: Array, row_weights: Array
        ) -> tuple[Any, ...]:
            shares = np.empty_like(logs)
            return (all_shares(logs, linear, shifts, weights, row_weights, shares),)

        return float(self._map(work)[0])


def revised_weight(weight: float, masses: Array, component: int, support: float, n: float) -> float:
    """New mixing weight ``α_j`` of one component, the others shrinking or growing in proportion.

    Up to a constant the message shrinks by ``A log α_j + B log(1 - α_j)`` with ``A = N_j - T`` and
    ``B = Σ_{m≠j} (N_m - T)``, for masses ``N`` and the support ``T``; the best is ``A / (A + B)``.
    While others hold less than their support, that would give all to the first component that holds
    enough. Then the published ``A / Σ_m max(N_m - T, 0)`` is taken, normalised with the other
    weights, but no step that would make the message longer.
    """
    mass = masses[component]
    if mass <= support:
        return float(mass / n)
    excess = mass - support
    if np.all(masses > support):
        return float(excess / (masses - support).sum())
    published = excess / np.maximum(masses - support, 0.0).sum()
    target = published / (1 - weight + published)
    rest = n - mass - (len(masses) - 1) * support
    best = excess / (excess + rest) if rest > 0 else 1.0
    return float(target if weight < target else max(target, min(weight, best)))


def with_weight(weights: Array, component: int, weight: float) -> Array:
    """Give one component this weight and the others the rest, in proportion."""
    others = weights.sum() - weights[component]
    if not others > 0:  # the only component, or the only one left with any weight
        return weights
    revised = weights * ((1 - weight) / others)
    revised[component] = weight
    return np.asarray(revised / revised.sum())


def search_components(
    source: RowSource,
    components: Any,
    weights: Array,
    *,
    row_weights: Array | None = None,
    min_components: int = 1,
    max_iter: int = 500,
    tol: float = 1e-5,
    description: str = "MML",
    verbose: int = 0,
) -> Search:
    """Go from many components to few, and remember where the message length stood still.

    Parameters
    ----------
    source : RowSource
        The rows.
    components : Revisable
        Where to start: more components than are expected.
    weights : ndarray of shape (k,)
        Mixing weights to start from.
    row_weights : ndarray of shape (n_rows,), default=None
        Weights of the rows; 1 unless told.
    min_components : int, default=1
        Where to stop.
    max_iter : int, default=500
        At most this many sweeps per number of components.
    tol : float, default=1e-5
        A stage is over when a sweep changes the message length by less than this per row.
    description : str, default="MML"
        What the progress bar says.
    verbose : int, default=0
        Show the bar.
    """
    fit = ComponentwiseEM(source, components, weights, row_weights)
    stages: list[Stage] = []
    with fit_progress(description, verbose=verbose) as progress:
        while True:
            stages.append(_stage(fit, [fit.length], False))
            history: list[float] = []
            for _ in range(max_iter):
                before = fit.components.structure
                fit.sweep(min_components)
                if fit.components.structure != before:
                    history = []
                history.append(fit.length)
                converged = len(history) > 1 and abs(history[-2] - history[-1]) < tol * fit.n
                stages[-1] = _stage(fit, history, converged)
                progress.step(history[-1])
                if converged:
                    break
            if len(fit.weights) <= min_components:
                break
            fit.remove(int(np.argmin(fit.weights)))
    return Search(stages, progress.n_steps, progress.interrupted)


def _stage(fit: ComponentwiseEM, history: list[float], converged: bool) -> Stage:
    return Stage(fit.components, fit.weights, fit.length, np.array(history), converged)
