"""Several methods and numbers of clusters on a sample of a large table; the best fitted to all."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight import catalog
from sidelight._typing import IntArray
from sidelight._words import counted
from sidelight.evaluation import compare as compare_candidates
from sidelight.jobs._large._run import LargePrepared, LargeRun
from sidelight.jobs._large._sample import SAMPLE, draw, sampled_table
from sidelight.jobs._large._when import check_streams
from sidelight.jobs._table._comparison import CompareRun, time_left
from sidelight.jobs._table._comparison_words import comparison_words
from sidelight.report.inner import Told

if TYPE_CHECKING:
    from sidelight.report.inner import Page


@dataclass(frozen=True, eq=False, repr=False)
class LargeCompareRun(LargeRun, CompareRun):
    """The best of several candidates on a sample, fitted to all rows.

    Attributes
    ----------
    request, method, estimator, data, X, preparer, knowledge, notes, labels, seconds, table
        As in :class:`LargeRun`; method and estimator are the chosen ones.
    comparison : Comparison
        The candidates and their figures, on the rows of a sample.
    compared : ndarray of int
        Positions of these rows.
    """

    compared: Any = field(kw_only=True)

    def _compared_truth(self) -> Any:
        return np.asarray(self.data.truth_codes)[self.compared[self.comparison.compared]]

    def tell(self) -> list[Told]:
        """Return the candidates side by side, the verdict, and the chosen one."""
        return comparison_words(self)

    def page(self) -> Page:
        """Return the page of the sample, with the candidates."""
        # The picture of the candidates finds their rows among those of the sample.
        places = np.searchsorted(self.sample_rows, self.compared)
        comparison = replace(self.comparison, compared=places[self.comparison.compared])
        return self._page_of(comparison=comparison, verdict=self.verdict)


@dataclass(frozen=True, eq=False)
class LargePreparedComparison(LargePrepared):
    """A large table for all candidates, which are not fitted yet.

    Attributes
    ----------
    names : tuple of str or None
        Methods to compare; None for those that the catalog proposes.
    budget : float, str or None
        Time that was given.
    started : float
        When the budget began (``time.monotonic``).
    """

    names: tuple[str, ...] | None = field(default=None, kw_only=True)
    budget: float | str | None = field(default=None, kw_only=True)
    started: float = field(default=0.0, kw_only=True)

    def run(self) -> LargeCompareRun:
        """Compare the candidates on a sample, and fit the best to all rows."""
        request, n_rows = self.request, self.data.n_rows
        mentioned = self.knowledge.mentioned
        rows = compared_rows(draw(n_rows, mentioned, request.seed).rows, mentioned)
        data = sampled_table(self.table, self.data, self.preparer, rows)
        X = data.X if self.preparer is None else self.preparer.transform(data)
        known = self.knowledge.restrict(rows)
        comparison = compare_candidates(
            X,
            self._candidates(known, X),
            constraints=known,
            n_clusters=request.k,
            budget=time_left(self.budget, self.started),
            random_state=request.seed,
        )
        best = catalog.get(comparison.best_.name)
        names = {one.name for one in fields(LargePrepared)}
        given = {name: value for name, value in vars(self).items() if name in names}
        given |= {"method": best, "estimator": comparison.best_estimator_}
        found = LargePrepared(**given).run()
        note = (
            f"The candidates were compared on a sample of {len(rows):,} of "
            f"{counted(n_rows, 'row')}; the chosen one was fitted to all rows."
        )
        notes = (*found.notes, *((note,) if len(rows) < n_rows else ()))
        return LargeCompareRun(
            **{**vars(found), "notes": notes}, comparison=comparison, compared=rows
        )

    def _candidates(self, known: Any, X: Any) -> Any:
        """Methods to compare, of which each reads rows block by block."""
        if self.request.settings:
            return {self.method.name: self.estimator}
        names = self.names
        if names is None:
            missing = bool(np.isnan(X).any())
            proposed = catalog.candidates(known, *X.shape, sparse=False, missing=missing)
            names = tuple(one.name for one in proposed if one.tags.out_of_core)
        return list(names)


def compared_rows(rows: IntArray, mentioned: IntArray) -> IntArray:
    """Return rows of a sample, as many as a comparison takes: those that are mentioned first."""
    n_more = len(rows) - SAMPLE
    if n_more <= 0:
        return rows
    free = np.setdiff1d(rows, mentioned, assume_unique=True)
    dropped = free[np.linspace(0, len(free) - 1, n_more).astype(np.int64)]
    return np.setdiff1d(rows, dropped, assume_unique=True)


def check_candidates(names: tuple[str, ...] | None) -> None:
    """Refuse candidates that need all rows at once."""
    for name in names or ():
        check_streams(catalog.get(name))


def large_comparison(prepared: LargePrepared, request: Any, **own: Any) -> LargePreparedComparison:
    """Return what was prepared for one method, for several."""
    return LargePreparedComparison(**{**vars(replace(prepared, request=request)), **own})
