"""Shared setting of a comparison: rows, folds of the statements, subsamples, time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from sidelight._typing import IntArray
from sidelight.evaluation.comparison._contestants import Contestant
from sidelight.evaluation.comparison._held_out import HeldOut, Split, held_out_pairs, n_statements
from sidelight.evaluation.comparison._race import FitAll, Race
from sidelight.evaluation.comparison._stability import draw_rows, subsamples, take_rows
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    from sidelight.constraints import Constraints

#: Of more rows a sample is compared, if all candidates can assign the others afterwards.
MAX_ROWS = 20_000
#: With fewer statements the folds are drawn twice: one draw of so few is a lottery.
FEW_STATEMENTS = 100
#: Share of the budget, and most seconds, that are kept for the choice at the end.
SHARE_AT_END, SECONDS_AT_END = 0.05, 0.5


class Setting:
    """Rows that are compared, folds of the statements, subsamples: the same for all candidates."""

    def __init__(
        self,
        X: Any,
        known: Constraints,
        contestants: Sequence[Contestant],
        n_splits: int,
        random_state: Any,
    ) -> None:
        rng = check_random_state(random_state)
        # A seed that is given goes to the fits too: the chosen one is that of a plain fit with it.
        given = isinstance(random_state, Integral)
        self.seed = int(random_state) if given else int(rng.randint(np.iinfo(np.int32).max))
        self.X, self.known = X, known
        self.contestants = contestants
        self.n_rows = known.n_samples
        rows = np.arange(self.n_rows)
        if all(contestant.predicts for contestant in contestants):
            rows = draw_rows(self.n_rows, MAX_ROWS, known.mentioned, rng)
        self.rows: IntArray = rows
        self.is_sample = len(rows) < self.n_rows
        self.compared_X = take_rows(X, rows) if self.is_sample else X
        self.compared_known = known.restrict(rows) if self.is_sample else known
        self.splits = draw_folds(self.compared_known, n_splits, rng)
        self.held_out: HeldOut = held_out_pairs(self.compared_known, self.splits, rng)
        self.n_folds = len(self.splits) if len(self.held_out) else 0
        self.subsamples = subsamples(len(rows), self.compared_known.mentioned, rng)

    @property
    def growth(self) -> float:
        """How many times more rows there are than were compared; 0 if all were."""
        return self.n_rows / len(self.rows) if self.is_sample else 0.0

    def work(self, race: Race) -> FitAll:
        """Make what workers do."""
        return FitAll(
            self.compared_X,
            self.compared_known,
            [train for train, _ in self.splits],
            self.subsamples,
            [(entry.contestant, entry.k) for entry in race.entries],
            self.seed,
        )

    def remarks(self) -> list[str]:
        """Remarks on the comparison for the user."""
        remarks = []
        if self.is_sample:
            remarks.append(
                f"Candidates were compared on {len(self.rows):,} of {self.n_rows:,} rows, those "
                "that statements mention first; the chosen one was fitted to all."
            )
        if not self.known.is_empty and not self.n_folds:
            remarks.append(
                "None of what is known could be held out: there is too little, or all of it is "
                "about the same rows."
            )
        return remarks


def draw_folds(known: Constraints, n_splits: int, rng: np.random.RandomState) -> list[Split]:
    """Split the constraints into folds, fewer if they are few; repeat once if they are very few."""
    n = n_statements(known)
    for count in range(min(n_splits, n), 1, -1):
        try:
            repeats = 2 if n < FEW_STATEMENTS else 1
            drawn = [known.split(n_splits=count, random_state=rng) for _ in range(repeats)]
        except SidelightError:
            continue
        return [split for splits in drawn for split in splits]
    return []


class Clock:
    """When fits have to end, such that the result is there in time."""

    def __init__(self, started: float, limit: float | None, growth: float, race: Race) -> None:
        self.started = started
        self.limit = limit
        self.growth = growth
        self.race = race

    def last_fit(self) -> float | None:
        """Time at which the comparison has to end."""
        if self.limit is None:
            return None
        at_end = min(SHARE_AT_END * self.limit, SECONDS_AT_END)
        return self.started + self.limit - at_end - self._for_refit()

    def last_refit(self) -> float | None:
        """Time at which the fit to all rows has to end."""
        if self.limit is None:
            return None
        return self.started + self.limit - min(SHARE_AT_END * self.limit, SECONDS_AT_END) / 2

    def _for_refit(self) -> float:
        assert self.limit is not None
        if not self.growth:
            return 0.0
        return min(self.growth * self.race.seconds_of_leader(), self.limit / 2)

    @property
    def seconds(self) -> float:
        """Time since the beginning."""
        return time.monotonic() - self.started
