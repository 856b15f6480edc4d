"""Several methods and numbers of clusters: which one, and did the knowledge help?"""

from __future__ import annotations

import dataclasses
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight import catalog
from sidelight._words import worded
from sidelight.evaluation import Comparison, adjusted_rand_index
from sidelight.evaluation import compare as compare_candidates
from sidelight.evaluation.comparison._compare import seconds_of
from sidelight.evaluation.comparison._comparison import COLUMNS
from sidelight.evaluation.comparison._verdict import ask_in_general
from sidelight.exceptions import InvalidRequest
from sidelight.runs._request import Request, prepare
from sidelight.runs._run import Prepared, Run

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
    methods : tuple of str or None
        Names of the methods that were asked for.
    budget : float, str or None
        Time that was given.
    """

    comparison: Comparison
    methods: tuple[str, ...] | None = None
    budget: float | str | None = None

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
        truth = np.asarray(self.data.truth_codes)[self.comparison.compared]
        for row, one in zip(rows, self.comparison.candidates, strict=True):
            scored = one.labels is not None and bool(np.any(truth >= 0))
            row["adjusted_rand_index"] = (
                adjusted_rand_index(truth, one.labels) if scored else float("nan")
            )
        return rows

    def command_line(self) -> str | None:
        """Return the command that compares the same; None where something is only in memory."""
        line = self.request.command_line()
        if line is None or self.request.command != "compare":
            return line
        words = [] if self.methods is None else ["--methods", ",".join(self.methods)]
        words += [] if self.budget is None else ["--budget", f"{self.budget}"]
        return " ".join([line, shlex.join(words)]).strip()

    def chosen_command(self) -> str | None:
        """Return the command that fits the chosen candidate alone."""
        best = self.comparison.best_
        return dataclasses.replace(
            self.request, command="cluster", method=best.name, k=best.k
        ).command_line()

    def _ask(self, n_more: int, k: int | None) -> str:
        """Say how to ask for more statements about this table."""
        request = self.request
        beside = [name for name in (request.labels, request.truth) if isinstance(name, str)]
        line = Request(
            request.data,
            k=k,
            constraints=request.constraints,
            id_column=request.id_column,
            columns=request.columns,
            drop=(*request.drop, *beside),
            prepare=request.prepare,
            kinds=request.kinds,
            weights=request.weights,
            scale=request.scale,
            command="ask",
        ).command_line()
        general = ask_in_general(n_more, k)
        if line is None:
            return general
        return worded(general, f"`{line} --budget {n_more}` asks for them.")

    def _report(self) -> dict[str, Any]:
        return {
            **super()._report(),
            "comparison": self.comparison,
            "verdict": self.verdict,
            "command": self.command_line(),
        }


def compare(
    request: Request,
    *,
    methods: str | Sequence[str] | None = None,
    budget: float | str | None = None,
    n_jobs: int | None = None,
) -> CompareRun:
    """Compare methods and numbers of clusters, and fit the best.

    Parameters
    ----------
    request : Request
        What is asked for. Its ``k`` may be a number, several, or None for as many as usual; its
        ``method`` stands for the only method to compare.
    methods : str or list of str, default=None
        Names of methods of the catalog; by default those that
        :func:`sidelight.catalog.candidates` proposes.
    budget : float, str or None, default=None
        Seconds after which there is a result, or a text such as "90s" or "2m"; reading the data
        counts. No limit by default.
    n_jobs : int or None, default=None
        Number of worker processes; by default one for every thread.

    Returns
    -------
    CompareRun
        The fitted best candidate, which writes labels, model and report as any
        :class:`~sidelight.runs.Run`, with ``comparison`` and ``verdict``.

    Examples
    --------
    >>> from sidelight.datasets import example_paths
    >>> from sidelight.runs import Request, compare
    >>> data, links = example_paths()
    >>> request = Request(data, k=[2, 3], constraints=links, drop=["variety"], prepare=True)
    >>> found = compare(request, methods="kmeans,pckmeans")
    >>> found.method.name, len(found.comparison.candidates)
    ('pckmeans', 4)
    """
    started = time.monotonic()
    names = method_names(request, methods)
    prepared = prepare_comparison(request, names)
    return compare_prepared(prepared, names, budget, n_jobs=n_jobs, started=started)


def choose_number(request: Request) -> CompareRun:
    """Fit one method with the number of clusters that suits best, out of several."""
    prepared = prepare_comparison(dataclasses.replace(request, command="cluster"), None)
    return compare_prepared(prepared, (prepared.method.name,))


def method_names(request: Request, methods: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Names of the methods to compare; None for those that the catalog proposes."""
    if methods is None:
        return None if request.method is None else (catalog.get(request.method).name,)
    given = methods.split(",") if isinstance(methods, str) else methods
    names = tuple(
        catalog.get(name.strip(), kind="clusterer").name for name in given if name.strip()
    )
    if not names:
        raise InvalidRequest(
            f"{worded('methods', '--methods')} names no method; `sidelight methods` lists them."
        )
    return names


def prepare_comparison(request: Request, names: tuple[str, ...] | None) -> Prepared:
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
            f"{worded('prepare=False', '--raw')}."
        )
    if request.settings and names is not None and len(names) > 1:
        raise InvalidRequest("settings are those of one method; name one.")
    base = names[0] if names is not None and len(names) == 1 else request.method
    if request.conditions != ():
        raise InvalidRequest(
            f"{worded('conditions', '--at-least')} cannot be compared for several numbers of "
            f"clusters or methods; name one number, {worded('k=4', '-k 4')}."
        )
    single = dataclasses.replace(request, k=ANY_K, method=base, command=None)
    prepared = prepare(single)
    asked = dataclasses.replace(
        prepared.request, k=request.k, method=request.method, command=request.command or "compare"
    )
    return dataclasses.replace(prepared, request=asked)


def compare_prepared(
    prepared: Prepared,
    names: tuple[str, ...] | None,
    budget: float | str | None = None,
    *,
    n_jobs: int | None = None,
    started: float | None = None,
) -> CompareRun:
    """Compare on rows that are read; ``started`` is when the budget began (``time.monotonic``)."""
    request = prepared.request
    methods: Any = {prepared.method.name: prepared.estimator} if request.settings else names
    comparison = compare_candidates(
        prepared.X,
        methods,
        constraints=prepared.knowledge,
        n_clusters=request.k,
        budget=_left(budget, started),
        n_jobs=n_jobs,
        random_state=request.seed,
    )
    best = comparison.best_
    fitted = {
        **vars(prepared),
        "method": catalog.get(best.name),
        "estimator": comparison.best_estimator_,
    }
    return CompareRun(
        **fitted,
        labels=comparison.labels_,
        features=None,
        feature_names=[],
        seconds=best.seconds,
        comparison=comparison,
        methods=names,
        budget=budget,
    )


def _left(budget: float | str | None, started: float | None) -> float | None:
    """Seconds that are left of a budget; at least a little, for the message that it was short."""
    if budget is None:
        return None
    seconds = seconds_of(budget) if isinstance(budget, str) else float(budget)
    used = 0.0 if started is None else time.monotonic() - started
    return max(seconds - used, min(seconds, 0.1)) if seconds > 0 else seconds
