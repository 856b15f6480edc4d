"""Several methods and numbers of clusters: which one, and did the knowledge help?"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight import catalog
from sidelight._words import worded
from sidelight.evaluation import Comparison, adjusted_rand_index
from sidelight.evaluation import compare as compare_candidates
from sidelight.evaluation.inner import COLUMNS, ask_in_general, seconds_of
from sidelight.exceptions import InvalidRequest
from sidelight.jobs._large._when import in_blocks
from sidelight.jobs._options import fields_of
from sidelight.jobs._registry import make_request
from sidelight.jobs._table._asked import MethodRequest, Rows
from sidelight.jobs._table._comparison_words import comparison_words
from sidelight.jobs._table._request import prepare
from sidelight.jobs._table._run import Prepared, Run
from sidelight.report.inner import Told

if TYPE_CHECKING:
    from sidelight.report.inner import Page

#: Stands for the number of clusters where the rows are read before it is known.
ANY_K = 2


@dataclass(frozen=True, eq=False, repr=False)
class CompareRun(Run):
    """The best of several candidates, fitted, with all of them beside it.

    Attributes
    ----------
    request, method, estimator, data, X, preparer, knowledge, notes
        As in :class:`Prepared`; method and estimator are the chosen ones.
    labels, features, feature_names, seconds
        As in :class:`Run`.
    comparison : Comparison
        The candidates and their figures.
    """

    comparison: Comparison

    @property
    def verdict(self) -> list[str]:
        """What the comparison says, with the command that asks for more statements."""
        return self.comparison.sentences(self._ask)

    def facts(self) -> dict[str, Any]:
        """Return what came out as plain values, the candidates too."""
        return {**super().facts(), "candidates": self.candidates(), "verdict": self.verdict}

    def candidates(self) -> list[dict[str, Any]]:
        """Return the figures of all candidates, with their agreement with the true classes.

        Returns
        -------
        list of dict
            The columns of :meth:`sidelight.evaluation.Comparison.table`, and
            ``adjusted_rand_index`` where the true classes are known.
        """
        table = self.comparison.table()
        rows = [
            {name: table[name][place] for name in COLUMNS}
            for place in range(len(self.comparison.candidates))
        ]
        if self.data.truth is None:
            return rows
        truth = self._compared_truth()
        for row, one in zip(rows, self.comparison.candidates, strict=True):
            scored = one.labels is not None and bool(np.any(truth >= 0))
            row["adjusted_rand_index"] = (
                adjusted_rand_index(truth, one.labels) if scored else float("nan")
            )
        return rows

    def _compared_truth(self) -> Any:
        """Return the true classes of the rows that were compared, as codes."""
        return np.asarray(self.data.truth_codes)[self.comparison.compared]

    def tell(self) -> list[Told]:
        """Return the candidates side by side, the verdict, and the chosen one."""
        return comparison_words(self)

    def chosen_command(self) -> str | None:
        """Return the command that fits the chosen candidate alone."""
        best = self.comparison.best_
        asked = {**_table_fields(self.request), "method": best.name, "k": best.k}
        return make_request("cluster", asked).command_line()

    def _ask(self, n_more: int, k: int | None) -> str:
        """Advice on how to get more statements about this table."""
        request = self.request
        own_columns = [name for name in (request.labels, request.truth) if isinstance(name, str)]
        taken = ("data", "constraints", "id_column", "columns", "raw", "kinds", "weights", "scale")
        asked = {name: getattr(request, name) for name in taken}
        asked |= {"drop": (*request.drop, *own_columns), "k": k, "questions": n_more}
        line = make_request("ask", asked).command_line()
        general = ask_in_general(n_more, k)
        return general if line is None else worded(general, f"`{line}` asks for them.")

    def page(self) -> Page:
        own = {"comparison": self.comparison, "verdict": self.verdict}
        return self._page(explanation=self.explanation, **own)


def _table_fields(request: Rows) -> dict[str, Any]:
    """Return what a request says about rows, columns and knowledge."""
    found = {name: getattr(request, name) for name in fields_of(MethodRequest)}
    if getattr(request, "memory", None) is not None:
        found["memory"] = request.memory  # type: ignore[attr-defined]
    return found


@dataclass(frozen=True, eq=False)
class PreparedComparison(Prepared):
    """Rows, knowledge and features for all candidates, which are not fitted yet.

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

    def run(self) -> CompareRun:
        """Compare the candidates, and fit the best."""
        request = self.request
        methods: Any = {self.method.name: self.estimator} if request.settings else self.names
        comparison = compare_candidates(
            self.X,
            methods,
            constraints=self.knowledge,
            n_clusters=request.k,
            budget=time_left(self.budget, self.started),
            random_state=request.seed,
        )
        best = comparison.best_
        chosen = {"method": catalog.get(best.name), "estimator": comparison.best_estimator_}
        return CompareRun(
            **{**self.prepared(), **chosen},
            labels=comparison.labels_,
            features=None,
            feature_names=[],
            seconds=best.seconds,
            comparison=comparison,
        )


def method_names(methods: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Names of the methods to compare; None for those that the catalog proposes."""
    if methods is None:
        return None
    given = methods.split(",") if isinstance(methods, str) else methods
    names = tuple(
        catalog.get(name.strip(), kind="clusterer").name for name in given if name.strip()
    )
    if not names:
        raise InvalidRequest(
            f"{worded('methods', '--methods')} names no method; `sidelight methods` lists them."
        )
    return names


def prepare_comparison(
    request: Rows,
    names: tuple[str, ...] | None,
    budget: float | str | None = None,
    started: float = 0.0,
) -> Any:
    """Read the rows and what is known, and make features that every method takes."""
    others = [m for m in map(catalog.get, names or ()) if m.tags.kind != "clusterer"]
    if others:
        raise InvalidRequest(
            f"{others[0].name} gives {others[0].kind.gives}, and only clusters are compared; name "
            "methods that find clusters."
        )
    raw = [name for name in names or () if catalog.get(name).tags.raw_columns]
    if raw and request.prepare:
        raise InvalidRequest(
            f"{raw[0]} reads columns as they are, others do not; compare it with "
            f"{worded('raw=True', '--raw')}."
        )
    base = names[0] if names is not None and len(names) == 1 else request.method
    if request.conditions != ():
        raise InvalidRequest(
            f"{worded('conditions', '--at-least')} cannot be compared for several numbers of "
            f"clusters or methods; name one number, {worded('k=4', '-k 4')}."
        )
    single = make_request("cluster", {**_table_fields(request), "k": ANY_K, "method": base})
    assert isinstance(single, Rows)
    if in_blocks(request):
        # Here, since a table in memory does without these imports.
        from sidelight.jobs._large._comparison import check_candidates, large_comparison
        from sidelight.jobs._large._request import prepare_large

        check_candidates(names)
        own = {"names": names, "budget": budget, "started": started}
        return large_comparison(prepare_large(single), request, **own)
    prepared = prepare(single)
    # A method may read columns as they are, which the request then says.
    asked: Any = request
    if prepared.request.raw != request.raw:
        asked = dataclasses.replace(asked, raw=prepared.request.raw)
    given = {**prepared.prepared(), "request": asked}
    return PreparedComparison(**given, names=names, budget=budget, started=started)


def time_left(budget: float | str | None, started: float | None) -> float | None:
    """Seconds that are left of a budget; at least a little, for the message that it was short."""
    if budget is None:
        return None
    seconds = seconds_of(budget) if isinstance(budget, str) else float(budget)
    used = 0.0 if started is None else time.monotonic() - started
    return max(seconds - used, min(seconds, 0.1)) if seconds > 0 else seconds
