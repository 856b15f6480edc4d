"""Choose the penalty by constraints that the fit does not see (Law 2006, 5.6.2.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from sidelight._typing import Array
from sidelight.constraints import Constraints

#: Penalties go up by this factor, from the first to the last.
FIRST, FACTOR, LAST = 0.1, 10**0.5, 1e6

#: Penalties that cost less than this per row, were everything violated, are skipped: nothing moves.
MIN_PER_ROW = 0.03

#: Log-likelihood per row that violating everything costs, at a penalty that is known to matter.
NATS_PER_ROW = 15.0

#: Few statements can turn a mixture only if violating all of them costs this much per row.
MIN_NATS_PER_ROW = 1.3

#: One of ``m`` statements costs at most ``1 / sqrt(m)`` of this per row: beyond, the mixture
#: follows every single one that is wrong, and pays with all other rows.
NATS_OF_ONE = 0.5

#: The search ends after this many penalties that were no better than the best.
PATIENCE = 4


class Labelled(Protocol):
    """A fit with the labels of the rows."""

    @property
    def labels(self) -> Array:
        """Component of every row."""


Fit = TypeVar("Fit", bound=Labelled)


@dataclass(frozen=True)
class PenaltyChoice(Generic[Fit]):
    """The fit that was chosen, its penalty, and all penalties that were tried.

    ``table`` holds the penalties, and the numbers of violated constraints for each: among those for
    validation, and among those of the fit.
    """

    fit: Fit
    penalty: float
    table: dict[str, Array]


def train_and_validate(
    known: Constraints, n_components: int, rng: np.random.RandomState
) -> tuple[Constraints, Constraints]:
    """Split the pairs; a few of them serve as both. Labels and groups stay with the fit.

    Fewer than ``3 k``: all for both; up to ``6 k``: ``3 k`` drawn for each, which overlap; more:
    halves.
    """
    m, least = known.n_pairs, 3 * n_components
    if m < least:
        return known, known
    order = rng.permutation(m)
    if m <= 2 * least:
        train, validation = order[:least], order[-least:]
    else:
        train, validation = order[: m // 2], order[m // 2 :]
    return _some_pairs(known, train, rest=True), _some_pairs(known, validation, rest=False)


def _some_pairs(known: Constraints, chosen: Array, *, rest: bool) -> Constraints:
    """Constraints with these pairs only, counted over must-links, then cannot-links."""
    n_must = len(known.must_link)
    must, cannot = np.sort(chosen[chosen < n_must]), np.sort(chosen[chosen >= n_must]) - n_must
    pairs = Constraints(
        n_samples=known.n_samples,
        labels=known.labels if rest else None,
        groups=known.groups if rest else None,
    )
    return pairs | Constraints(
        known.must_link[must],
        known.cannot_link[cannot],
        n_samples=known.n_samples,
        must_link_weight=known.must_link_weight[must],
        cannot_link_weight=known.cannot_link_weight[cannot],
    )


def choose_penalty(
    fit_at: Callable[[Constraints, float, Fit | None], Fit],
    known: Constraints,
    n_components: int,
    rng: np.random.RandomState,
) -> PenaltyChoice[Fit]:
    """Raise the penalty until constraints for validation are no longer kept better.

    ``fit_at(constraints, penalty, before)`` fits; ``before`` is the fit at the penalty before, to
    start from as well. The best penalty violates the fewest validation pairs, then the fewest of
    the fit, then is the lowest; penalty 0 takes part. It is then used with all constraints, unless
    the fit to the training pairs alone violates no more of all of them.
    """
    train, validation = train_and_validate(known, n_components, rng)
    best: Fit | None = None
    before: Fit | None = None
    best_penalty, fewest, since = 0.0, (0, 0), 0
    tried: list[tuple[float, int, int]] = []
    rows_per_pair = known.n_samples / max(train.n_pairs, 1)
    for penalty in penalties(MIN_PER_ROW * rows_per_pair):
        before = fit_at(train, penalty, before)
        violated = (validation.violations(before.labels).n, train.violations(before.labels).n)
        tried.append((penalty, *violated))
        if best is None or violated < fewest:
            best, best_penalty, fewest, since = before, penalty, violated, 0
        else:
            since += 1
        # Taken by itself the rule of the source ends before penalties matter: one that is small
        # beside the log-likelihood that is at stake changes nothing. (On the UCI sets of
        # ``experiments.mixture.discriminative_mixture`` labels often stay the same up to 5 nats
        # per row.)
        matters = penalty >= NATS_PER_ROW * rows_per_pair
        if fewest == (0, 0) or (since >= PATIENCE and matters):
            break
    assert best is not None
    everything = fit_at(known, best_penalty, best)
    if known.violations(everything.labels).n < known.violations(best.labels).n:
        best = everything
    names = ("penalty", "n_violations_validation", "n_violations_train")
    table = dict(zip(names, map(np.array, zip(*tried, strict=True)), strict=True))
    return PenaltyChoice(best, best_penalty, table)


def automatic_penalty(n_rows: int, weight: float) -> float:
    """``λ`` for statements of this weight together (the number of pairs, if each has weight 1)."""
    if weight <= 0:
        return 0.0
    of_one = min(NATS_OF_ONE / weight**0.5, NATS_PER_ROW / weight)
    return n_rows * max(of_one, MIN_NATS_PER_ROW / weight)


def penalties(least: float) -> Iterator[float]:
    """0, then 0.1 times powers of √10 from ``least`` on."""
    yield 0.0
    penalty = FIRST
    while penalty <= LAST:
        if penalty >= least:
            yield penalty
        penalty *= FACTOR
