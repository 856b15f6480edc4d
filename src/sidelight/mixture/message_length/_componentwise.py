"""Component-wise EM that removes what does not pay (Figueiredo and Jain 2002; Law 2006, 4.3.3).

Under a message-length prior a component needs the support of ``N/2`` rows, half the number of its
parameters. Updated all at once, too many components would all starve together; so they are updated
one at a time, and the rows of a removed one go to the others before the next is updated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from sidelight._fit.alternation import Alternation, alternate
from sidelight._fit.buffers import buffers
from sidelight._fit.lowest import is_lower
from sidelight._fit.tiles import OnesExcept
from sidelight._kernels.mixture.componentwise import all_shares, component_shares
from sidelight._typing import Array
from sidelight.engine import RowSource

Sums = tuple[Array, ...]

#: Log-densities, their exponentials and shifts; number, logarithms and values of a new column.
Densities = tuple[Array, Array, Array, int, Array, Array]

#: Densities of components of weight 0 may lie far above all others: they must not become infinite.
LARGEST_EXPONENT = 600.0

#: In the place of a column of new densities, for the kernels.
NO_COLUMN = (-1, np.empty(0), np.empty(0))


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
        """Numbers of components and of features in use, with which the message length jumps."""

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
        """Length to be minimized."""


@dataclass(frozen=True)
class ComponentSweep:
    """Components and mixing weights after a sweep over all components.

    Attributes
    ----------
    parameters : tuple
        Components and mixing weights.
    objective : float
        Message length.
    n_steady : int
        Number of sweeps since the structure last changed; 0 before the first sweep of a stage.
    """

    parameters: tuple[Any, Array]
    objective: float
    n_steady: int


@dataclass(frozen=True)
class ComponentwiseFit:
    """All stages, from many components to few.

    Attributes
    ----------
    stages : list of Alternation
        Sweeps until the message length settles; one for every number of components on the way.
    """

    stages: list[Alternation[ComponentSweep]]

    @property
    def best(self) -> Alternation[ComponentSweep]:
        """The stage of the shortest message; of equals, that with fewer components."""
        best, *others = reversed(self.stages)
        for stage in others:
            if is_lower(stage.objective, best.objective):
                best = stage
        return best

    @property
    def objective(self) -> float:
        """Length of the shortest message."""
        return self.best.last.objective

    def with_best(self, stage: Alternation[ComponentSweep]) -> ComponentwiseFit:
        """With another stage of as many components in the place of the best."""
        best = self.best
        return ComponentwiseFit([stage if each is best else each for each in self.stages])

    @property
    def history(self) -> Array:
        """Message length after every sweep of the best stage since the structure last changed."""
        return self.best.history[-max(self.best.last.n_steady, 1) :]

    @property
    def n_iter(self) -> int:
        """Number of sweeps over all components, in all stages."""
        return sum(stage.n_updates for stage in self.stages)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search."""
        return self.stages[-1].interrupted

    @property
    def table(self) -> dict[str, Array]:
        """Numbers of components on the way, and their message lengths."""
        return {
            "n_components": np.array([len(stage.last.parameters[1]) for stage in self.stages]),
            "message_length": np.array([stage.last.objective for stage in self.stages]),
        }


class ComponentwiseEM:
    """Mixing weights and components on a source of rows, changed one component at a time."""

    def __init__(
        self, source: RowSource, components: Any, weights: Array, row_weights: Array | None
    ) -> None:
        self.source = source
        self.components = components
        self.weights = np.array(weights, dtype=np.float64)
        if row_weights is None:
            self._row_weights: Any = OnesExcept()
            self.n = float(source.n_rows)
        else:
            self._row_weights = np.asarray(row_weights, float)
            self.n = float(self._row_weights.sum())
        self._stale: int | None = None
        self._evaluate()

    @property
    def length(self) -> float:
        """Message length of the present parameters."""
        return float(self.components.message_length(self.log_likelihood, self.weights, self.n))

    def sweep(self, least: int) -> tuple[Any, Array]:
        """Update every component in turn, and remove those that hold too little, down to ``least``.

        A component that holds too little but may not go keeps its share of the rows. The result is
        the components and their weights.
        """
        j = 0
        while j < self.components.n_components:
            masses, statistics = self._expect(j)
            if masses[j] <= self.components.least_rows and len(self.weights) > least:
                self.remove(j)
                continue
            weight = revised_weight(self.weights[j], masses, j, self.components.support, self.n)
            self.weights = with_weight(self.weights, j, weight)
            self.components = self.components.revised(j, statistics)
            self._stale = j
            j += 1
        if self.components.has_common:
            self.components = self.components.with_common(self._expect_all()[1])
            self._evaluate()
        else:
            self.log_likelihood = self._expect_all(common=False)[0]
        return self.components, self.weights

    def remove(self, component: int) -> None:
        """Remove a component; the others share its weight as they share the rest."""
        if self._stale is not None:
            self._expect_all(common=False)
        self.components = self.components.without(component)
        rest = np.delete(self.weights, component)
        total = rest.sum()
        self.weights = rest / total if total > 0 else np.full(len(rest), 1 / len(rest))
        self.log_likelihood = self._expect_all(common=False, removed=component)[0]

    # ------------------------------------------------------------------ passes over the rows

    def _evaluate(self) -> None:
        """Recompute all densities and the log-likelihood."""
        work = _MessageLength(self.components, self.weights)
        (likelihood,), rows = self.source.map_reduce(work, aligned=(self._row_weights,))
        self._densities: tuple[Array, ...] = rows
        self._stale = None
        self.log_likelihood = float(likelihood)

    def _expect(self, component: int) -> tuple[Array, Sums]:
        """Responsibilities of all components in sum, and the statistics of one."""
        components, weights = self.components, self.weights

        def expect(
            block: Any, densities: Densities, counts: Array, shifts: Array
        ) -> tuple[Any, ...]:
            masses = np.zeros(len(weights))
            with buffers() as memory:
                shares = memory.array("shares", len(counts))
                component_shares(*densities, weights, counts, component, shifts, masses, shares)
                return masses, *components.statistics_of(block, component, shares)

        masses, *statistics = self._add_up(expect)
        return masses, tuple(statistics)

    def _expect_all(self, *, common: bool = True, removed: int | None = None) -> tuple[float, Sums]:
        """Log-likelihood, and the statistics of what all components share (``common``).

        ``removed`` is a component that the densities have, and the mixture has no longer.
        """
        components, weights = self.components, self.weights

        def expect(
            block: Any, densities: Densities, counts: Array, shifts: Array
        ) -> tuple[Any, ...]:
            with buffers() as memory:
                shares = memory.array("shares", densities[0].shape)
                likelihood = all_shares(*densities, weights, counts, shifts, shares)
                return likelihood, *(components.common_statistics(block, shares) if common else ())

        likelihood, *statistics = self._add_up(expect, removed)
        return float(likelihood), tuple(statistics)

    def _add_up(self, expect: Callable[..., tuple[Any, ...]], removed: int | None = None) -> Sums:
        """Add up ``expect(block, densities, row_weights, new_shifts)`` over the blocks.

        The densities of the component that was changed last are computed on the way, and kept.
        """
        work = _Step(expect, self.components, self._stale)
        if self.source.is_partitioned:
            aligned = (*self._densities, self._row_weights)
            totals, rows = self.source.map_reduce(_StepBeside(work, removed), aligned=aligned)
            self._densities = rows
        else:
            logs, linear, shifts = self._densities
            if removed is not None:
                logs, linear, shifts = without_column(logs, linear, shifts, removed)
            aligned = (logs, linear, shifts, self._row_weights)
            totals, (new_shifts, *columns) = self.source.map_reduce(work, aligned=aligned)
            revise(logs, linear, shifts, self._stale, new_shifts, *columns)
            self._densities = logs, linear, shifts
        self._stale = None
        return totals


RowDensities = tuple[Array, Array, Array]


def densities_of(components: Any, block: Any) -> RowDensities:
    """Log-densities of the rows of a block, their exponentials, and the shifts of these."""
    logs = components.log_density(block)
    shifts = logs.max(axis=1)
    linear = logs - shifts[:, None]
    return logs, np.exp(linear, out=linear), shifts


def without_column(logs: Array, linear: Array, shifts: Array, component: int) -> RowDensities:
    """Return densities without those of a component."""
    logs, linear = (
        np.ascontiguousarray(np.delete(values, component, axis=1)) for values in (logs, linear)
    )
    return logs, linear, shifts


def revise(
    logs: Array,
    linear: Array,
    shifts: Array,
    stale: int | None,
    new_shifts: Array,
    *columns: Array,
) -> None:
    """Write new densities of one component, and new shifts where rows have one, in place."""
    if stale is not None:
        logs[:, stale], linear[:, stale] = columns
    moved = np.flatnonzero(new_shifts != shifts)
    raised = np.minimum(logs[moved] - new_shifts[moved, None], LARGEST_EXPONENT)
    linear[moved] = np.exp(raised)
    shifts[moved] = new_shifts[moved]


class _MessageLength:
    """All densities of a block, and its log-likelihood."""

    again_from: tuple[int, ...] = ()

    def __init__(self, components: Any, weights: Array) -> None:
        self._components = components
        self._weights = weights

    def rows_again(self, block: Any) -> RowDensities:
        """Return the densities; any shifts are as good."""
        return densities_of(self._components, block)

    def __call__(self, block: Any, counts: Array) -> tuple[tuple[float], RowDensities]:
        densities = densities_of(self._components, block)
        new_shifts = np.empty(len(counts))
        with buffers() as memory:
            shares = memory.array("shares", densities[0].shape)
            likelihood = all_shares(
                *densities, *NO_COLUMN, self._weights, counts, new_shifts, shares
            )
        revise(*densities, None, new_shifts)
        return (likelihood,), densities


class _Step:
    """What ``expect(block, densities, row_weights, new_shifts)`` adds up, with a new component.

    Rows: their shifts, and densities and exponentials of the component ``stale``, if there is one.
    """

    def __init__(
        self, expect: Callable[..., tuple[Any, ...]], components: Any, stale: int | None
    ) -> None:
        self._expect = expect
        self.components = components
        self.stale = stale

    def __call__(
        self, block: Any, logs: Array, linear: Array, shifts: Array, counts: Array
    ) -> tuple[tuple[Any, ...], tuple[Array, ...]]:
        new_shifts = np.empty(len(shifts))
        if self.stale is None:
            densities = (logs, linear, shifts, *NO_COLUMN)
            return self._expect(block, densities, counts, new_shifts), (new_shifts,)
        log_column = self.components.log_density_of(block, self.stale)
        with np.errstate(over="ignore"):  # such rows get a new shift
            column = np.exp(log_column - shifts)
        densities = (logs, linear, shifts, self.stale, log_column, column)
        return self._expect(block, densities, counts, new_shifts), (new_shifts, log_column, column)


class _StepBeside:
    """A step whose rows are the densities themselves, which stay beside the partitions.

    They follow from the components alone, and are computed anew where they are lost.
    """

    again_from: tuple[int, ...] = ()

    def __init__(self, step: _Step, removed: int | None) -> None:
        self._step = step
        self._removed = removed

    def rows_again(self, block: Any) -> RowDensities:
        """Return the densities; any shifts are as good."""
        return densities_of(self._step.components, block)

    def __call__(
        self, block: Any, logs: Array, linear: Array, shifts: Array, counts: Array
    ) -> tuple[tuple[Any, ...], RowDensities]:
        if self._removed is not None:
            logs, linear, shifts = without_column(logs, linear, shifts, self._removed)
        totals, rows = self._step(block, logs, linear, shifts, counts)
        revised = logs.copy(), linear.copy(), shifts.copy()
        revise(*revised, self._step.stale, *rows)
        return totals, revised


def revised_weight(weight: float, masses: Array, component: int, support: float, n: float) -> float:
    """New mixing weight ``α_j`` of one component, the others shrinking or growing in proportion.

    Up to a constant the message shrinks by ``A log α_j + B log(1 - α_j)`` with ``A = N_j - T`` and
    ``B = Σ_{m≠j} (N_m - T)``, for masses ``N`` and the support ``T``; the best is ``A / (A + B)``.
    While others hold less than their support, that would give all to the first component that holds
    enough. Then the published ``A / Σ_m max(N_m - T, 0)`` is taken, normalized with the other
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
) -> ComponentwiseFit:
    """Search from many components to few, and record where the message length had converged.

    Parameters
    ----------
    source : RowSource
        The rows.
    components : Revisable
        Where to start: more components than are expected.
    weights : ndarray of shape (k,)
        Mixing weights to start from.
    row_weights : ndarray of shape (n_rows,), default=None
        Weights of the rows; 1 by default.
    min_components : int, default=1
        Where to stop.
    max_iter : int, default=500
        Largest number of sweeps per number of components.
    tol : float, default=1e-5
        A stage is over when a sweep changes the message length by less than this per row.
    description : str, default="MML"
        Name of the fit in the progress bar.
    verbose : int, default=0
        Whether to show the progress bar.
    """
    fit = ComponentwiseEM(source, components, weights, row_weights)
    stages: list[Alternation[ComponentSweep]] = []

    def evaluate(parameters: tuple[Any, Array], before: ComponentSweep | None) -> ComponentSweep:
        if before is None:
            return ComponentSweep(parameters, fit.length, 0)
        steady = parameters[0].structure == before.parameters[0].structure
        return ComponentSweep(parameters, fit.length, before.n_steady + 1 if steady else 1)

    def update(now: ComponentSweep) -> tuple[Any, Array]:
        if stages and now.n_steady == 0:  # a new stage begins
            fit.remove(int(np.argmin(fit.weights)))
        return fit.sweep(min_components)

    def stop(before: ComponentSweep, now: ComponentSweep, history: list[float]) -> bool:
        return now.n_steady > 1 and abs(before.objective - now.objective) < tol * fit.n

    while True:
        stage = alternate(
            (fit.components, fit.weights),
            evaluate,
            update,
            stop=stop,
            max_iter=max_iter,
            description=f"{description}, {len(fit.weights)} components",
            verbose=verbose,
        )
        stages.append(stage)
        if stage.interrupted or len(fit.weights) <= min_components:
            return ComponentwiseFit(stages)
