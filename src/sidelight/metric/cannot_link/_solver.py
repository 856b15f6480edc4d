"""The dual of the metric from cannot-links: ascent until the duality gap is small.

Maximizes ``Σ α_p - ½ Σ_pq α_p α_q (d_p'd_q)²`` over ``0 ≤ α_p ≤ C_p`` (Book 2009, 15.5 to 15.8).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from sidelight._progress import fit_progress
from sidelight._typing import Array
from sidelight.metric.cannot_link._sweeps import Sweeps, measured

#: Rounds over pairs with a weight or too small a margin, between two over all pairs.
ACTIVE_ROUNDS = 8

#: Rounds within a block of pairs, which cost next to nothing.
BLOCK_ROUNDS = 5


@dataclass
class DualSolution:
    """Weights of the pairs, their margins, and how good they are."""

    alpha: Array
    margins: Array
    primal: float = np.inf
    dual: float = 0.0
    history: list[float] = field(default_factory=list)
    n_iter: int = 0
    converged: bool = False
    interrupted: bool = False

    @property
    def duality_gap(self) -> float:
        """How far the objective can be from the optimum, as a share of it."""
        return (self.primal - self.dual) / max(self.primal, 1e-300)


class Ascent(Protocol):
    """A way to larger values of the dual."""

    def begin(self, found: DualSolution, upper: Array, rng: np.random.RandomState) -> None:
        """Set first weights and their margins."""

    def improve(
        self, found: DualSolution, upper: Array, tol: float, rng: np.random.RandomState
    ) -> None:
        """Set better weights and their margins."""

    def rescale(self, factor: float) -> None:
        """All weights have been multiplied."""


class CoordinateAscent:
    """Sweeps over all pairs, each followed by some over the active ones."""

    def __init__(self, sweeps: Sweeps) -> None:
        self._sweeps = sweeps

    def begin(self, found: DualSolution, upper: Array, rng: np.random.RandomState) -> None:
        """Every pair steps, in random order."""
        order = rng.permutation(len(upper))
        self._sweeps.sweep(found.alpha, order, found.margins, rounds=BLOCK_ROUNDS)
        found.margins = measured(self._sweeps, found.alpha)

    def improve(
        self, found: DualSolution, upper: Array, tol: float, rng: np.random.RandomState
    ) -> None:
        """Steps for the pairs with a weight and for those too near; the others stay satisfied."""
        active = np.flatnonzero((found.alpha > 0) | (found.margins < 1))
        largest = 0.0
        for _ in range(ACTIVE_ROUNDS):
            worst = self._sweeps.sweep(
                found.alpha, rng.permutation(active), found.margins, rounds=BLOCK_ROUNDS
            )
            largest = max(largest, worst)
            if worst <= max(0.5 * tol, 0.1 * largest):
                break
        found.margins = measured(self._sweeps, found.alpha)

    def rescale(self, factor: float) -> None:
        """The state of the sweeps grows with the weights."""
        self._sweeps.rescale(factor)


def solve(
    ascent: Ascent,
    upper: Array,
    *,
    max_iter: int,
    tol: float,
    rng: np.random.RandomState,
    verbose: int = 0,
) -> DualSolution:
    """Ascend until the duality gap is small."""
    n_pairs = len(upper)
    found = DualSolution(np.zeros(n_pairs), np.zeros(n_pairs))
    with fit_progress("CannotLinkMetric", max_iter, verbose=verbose) as progress:
        ascent.begin(found, upper, rng)
        while not found.converged and found.n_iter < max_iter:
            if found.n_iter:
                ascent.improve(found, upper, tol, rng)
            found.n_iter += 1
            measure(found, ascent, upper)
            progress.step(-found.dual)
            found.converged = found.duality_gap <= tol
    found.interrupted = progress.interrupted
    return found


def measure(found: DualSolution, ascent: Ascent, upper: Array) -> None:
    """Stretch the weights to the best length; the objectives of both problems there."""
    norm = float(found.alpha @ found.margins)  # ‖A‖²
    with np.errstate(divide="ignore"):
        most = float(np.min(upper / found.alpha, initial=np.inf, where=found.alpha > 0))
    factor = min(float(found.alpha.sum()) / norm, most)
    found.alpha *= factor
    np.minimum(found.alpha, upper, out=found.alpha)
    found.margins *= factor
    ascent.rescale(factor)
    norm *= factor**2
    found.dual = float(found.alpha.sum()) - norm / 2
    found.history.append(-found.dual)
    short = np.maximum(1.0 - found.margins, 0.0)
    slack = upper[short > 0] @ short[short > 0]
    found.primal = norm / 2 + float(slack)
    smallest = float(found.margins.min())
    if smallest > 0:  # a longer A without any slack
        found.primal = min(found.primal, norm / 2 / min(smallest, 1.0) ** 2)
