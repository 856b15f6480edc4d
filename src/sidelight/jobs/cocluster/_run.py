"""Co-clusters: from a 0/1 table to clusters of its rows and of its columns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._fit.parameters import declared
from sidelight._typing import IntArray
from sidelight._words import worded
from sidelight.catalog import Method
from sidelight.constraints import Constraints, CrossLinks, Ordering, Violations
from sidelight.exceptions import InvalidRequest
from sidelight.io._labels import CLUSTER, COLUMN_LABELS, ID, fill_overlapping
from sidelight.jobs._graph import GraphRun
from sidelight.jobs._method import (
    command_line,
    is_path,
    knowledge_about,
    method_for,
    paths_of,
    timed_fit,
)
from sidelight.jobs._table._request import Request, make_estimator
from sidelight.jobs.cocluster._knowledge import (
    column_knowledge,
    cross_knowledge,
    order_notes,
    orders,
)
from sidelight.jobs.cocluster._table import read_binary

DEFAULT = "cdkmeans"
#: Fields of a request that are parameters of some methods, with their options.
OPTIONS = {"min_rows": "--min-rows", "min_columns": "--min-columns", "overlap": "--overlap"}
#: Heaviest columns of a co-cluster that facts name.
SHOWN_COLUMNS = 8


@dataclass(frozen=True, eq=False)
class CoclusterRequest:
    """What is asked for: which 0/1 table, how many co-clusters, and what is known about both sides.

    Attributes
    ----------
    data : path-like, Table, array, CSR matrix or data frame
        The table: a column per property with 0 and 1, true and false, yes and no, or marks and
        blanks; or, with ``long``, a line per one.
    k : int or None
        Number of co-clusters.
    method : str
        Name of the method in the catalog.
    long : tuple of two str or None
        Columns that name the row and the column of a one, where every line is a one.
    id_column, truth : str or None
        Columns with the ids of the rows and with their true classes (for the scores only); the
        classes may also be given as one value per row.
    columns, drop : sequence of str
        Columns to use, and to leave out.
    above : float or None
        Share of the largest value of a column above which a number is 1, others are 0.
    constraints, column_constraints : Constraints, path-like or None
        What is known about the rows, by their ids, and about the columns, by their names.
    cross_constraints : CrossLinks, path-like or None
        Rows and columns that belong to one co-cluster, or to two: ``i`` is a row, ``j`` a column.
    row_order : str, array-like, Ordering or None
        Column that orders the rows, or values that do.
    ordered_columns : bool, array-like or Ordering
        Whether the columns follow each other as in the table, or values that order them.
    min_row_gap, max_row_gap, min_column_gap, max_column_gap : int or None
        Fewest and most elements between consecutive members of a bi-set, in the order.
    circular : {"rows", "columns", "both"} or None
        Orders whose first element follows the last one.
    min_rows, min_columns : int or None
        Fewest rows and columns of a bi-set.
    overlap : float or None
        Share of its largest weight from which an element also belongs to another cluster.
    settings : mapping of str to object
        Other parameters of the method.
    seed : int
        Seed of the random numbers.
    """

    data: Any
    k: int | None = None
    method: str = DEFAULT
    long: Sequence[str] | None = None
    id_column: str | None = None
    truth: Any = None
    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()
    above: float | None = None
    constraints: Any = None
    column_constraints: Any = None
    cross_constraints: Any = None
    row_order: Any = None
    ordered_columns: Any = False
    min_row_gap: int | None = None
    max_row_gap: int | None = None
    min_column_gap: int | None = None
    max_column_gap: int | None = None
    circular: str | None = None
    min_rows: int | None = None
    min_columns: int | None = None
    overlap: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    @property
    def is_file(self) -> bool:
        """Whether the table is named by its file."""
        return is_path(self.data)

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        return paths_of(
            self.data, self.constraints, self.column_constraints, self.cross_constraints
        )

    def command_line(self) -> str | None:
        """Return the command that asks the same; None where something is only in memory.

        Examples
        --------
        >>> from sidelight.jobs import CoclusterRequest
        >>> CoclusterRequest("sales.csv", k=3, ordered_columns=True).command_line()
        'sidelight cocluster sales.csv -k 3 --seed 0 --ordered-columns'
        """
        options = {
            "-k": self.k,
            "--method": None if self.method == DEFAULT else self.method,
            "--long": ",".join(self.long or ()) or None,
            "--id-column": self.id_column,
            "--truth-column": self.truth,
            "--columns": ",".join(self.columns or ()) or None,
            "--drop": ",".join(self.drop) or None,
            "--above": self.above,
            "--constraints": self.constraints,
            "--column-constraints": self.column_constraints,
            "--cross-constraints": self.cross_constraints,
            "--row-order": self.row_order,
            "--min-row-gap": self.min_row_gap,
            "--max-row-gap": self.max_row_gap,
            "--min-column-gap": self.min_column_gap,
            "--max-column-gap": self.max_column_gap,
            "--circular": self.circular,
            **{option: getattr(self, name) for name, option in OPTIONS.items()},
            "--seed": self.seed,
        }
        if not isinstance(self.ordered_columns, bool):
            return None
        given = {name: value for name, value in options.items() if value is not None}
        if not all(isinstance(value, str | int | float | Path) for value in given.values()):
            return None
        command = command_line("cocluster", self.data, given, self.settings)
        return None if command is None else command + " --ordered-columns" * self.ordered_columns


@dataclass(frozen=True, eq=False, repr=False)
class CoclusterRun(GraphRun):
    """Clusters of the rows and columns of a 0/1 table.

    Attributes
    ----------
    method, estimator, data, knowledge, seconds, notes, files
        The fitted estimator, and what it was given; ``data`` holds the rows, their ids and, as
        feature names, those of the columns.
    request : CoclusterRequest
        What was asked for.
    X : ndarray of uint8 or csr_matrix, shape (n_rows, n_columns)
        The zeros and ones.
    column_knowledge : Constraints
        What was known about the columns.
    cross : CrossLinks or None
        What was known about rows and columns together, by position.
    row_order, column_order : Ordering or None
        Orders of the two sides.
    """

    request: CoclusterRequest
    X: Any
    column_knowledge: Constraints
    cross: CrossLinks | None
    row_order: Ordering | None
    column_order: Ordering | None

    @property
    def column_labels(self) -> IntArray:
        """Cluster of every column, -1 for none."""
        return np.asarray(self.estimator.column_labels_)

    @cached_property
    def column_violations(self) -> Violations:
        """Constraints about columns that the clusters do not keep."""
        return self.column_knowledge.violations(self.column_labels)

    @cached_property
    def described(self) -> Any:
        """Blocks, measures and heaviest columns, as the report shows them."""
        from sidelight.report.coclustering._describe import describe

        return describe(
            self.estimator,
            self.X,
            row_order=self.row_order,
            column_order=self.column_order,
        )

    def cross_violations(self) -> list[tuple[str, Any, str]]:
        """Links between a row and a column that are not kept: kind, row, column."""
        from sidelight.report.coclustering._describe import broken_cross_links

        broken = broken_cross_links(self.cross, self.labels, self.column_labels)
        names = self.data.feature_names
        ids = self.data.row_ids
        return [(kind, ids[row].item(), names[column]) for kind, row, column in broken]

    def _own_facts(self) -> dict[str, Any]:
        model, told = self.estimator, self.described
        ids, names = self.data.row_ids, self.data.feature_names
        ended = ("objective", "n_iter", "converged", "n_concepts")
        return {
            "n_columns": len(names),
            "n_ones": int(told.blocks.ones.sum()),
            "density": told.blocks.overall,
            "sizes": self.sizes,
            "column_sizes": told.column_sizes,
            **{name: getattr(model, f"{name}_", None) for name in ended},
            "coclusters": [
                {
                    "cluster": one.number,
                    "n_rows": one.n_rows,
                    "n_columns": one.n_columns,
                    "density": one.density,
                    "columns": {names[c]: w for c, w in one.top[:SHOWN_COLUMNS]},
                }
                for one in told.coclusters
            ],
            "measures": told.measures,
            "uncovered_rows": [ids[row].item() for row in told.uncovered_rows],
            "uncovered_columns": [names[column] for column in told.uncovered_columns],
            "uncovered_because": told.because(ids, names),
            "column_knowledge": self.column_knowledge.counts,
            "column_violations": self.column_violations.as_dict(),
            "cross_violations": self.cross_violations(),
            "columns": list(names),
            "column_labels": self.column_labels,
            "memberships": self.memberships("row"),
            "column_memberships": self.memberships("column"),
        }

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        return {
            **super().writers(spreadsheet_safe),
            "columns": partial(self._fill_columns, spreadsheet_safe=spreadsheet_safe),
        }

    def memberships(self, side: str) -> Any:
        """Clusters of every row, or column, of shape (n, n_clusters); None unless they overlap."""
        found = getattr(self.estimator, f"{side}_memberships_", None)
        return None if getattr(self.estimator, "overlap", None) is None else found

    def _fill_labels(self, path: Path, spreadsheet_safe: bool) -> None:
        columns = {ID: self.data.row_ids, CLUSTER: np.asarray(self.labels)}
        fill_overlapping(path, columns, self.memberships("row"), spreadsheet_safe=spreadsheet_safe)

    def _fill_columns(self, path: Path, spreadsheet_safe: bool) -> None:
        names = np.asarray(self.data.feature_names, dtype=str)
        values = (names, self.column_labels, self.described.column_weight)
        columns = dict(zip(COLUMN_LABELS, values, strict=True))
        fill_overlapping(
            path, columns, self.memberships("column"), spreadsheet_safe=spreadsheet_safe
        )

    def _page(self) -> str:
        from sidelight.report.coclustering._page import render_coclusters

        return render_coclusters(
            estimator=self.estimator,
            X=self.X,
            described=self.described,
            ids=self.data.ids,
            columns=self.data.feature_names,
            constraints=self.knowledge,
            column_constraints=self.column_knowledge,
            cross=self.cross,
            row_order=self.row_order,
            column_order=self.column_order,
            truth=None if self.data.truth is None else self.data.truth_codes,
            title=f"{self.data.path.name}: {type(self.estimator).__name__}",
            settings={"data": str(self.data.path)},
            command=self.request.command_line(),
            seconds=self.seconds,
        )


def cocluster(request: CoclusterRequest) -> CoclusterRun:
    """Cluster the rows and the columns of a 0/1 table at once.

    Parameters
    ----------
    request : CoclusterRequest
        What is asked for.

    Returns
    -------
    CoclusterRun
        The fitted estimator with its data, scores and ways to write them.

    Examples
    --------
    >>> from sidelight.datasets import make_purchases
    >>> from sidelight.jobs import CoclusterRequest
    >>> from sidelight.jobs.cocluster._run import cocluster
    >>> bought = make_purchases(30, 9, noise=0.0, random_state=0)
    >>> found = cocluster(CoclusterRequest(bought.X, k=3, truth=bought.target))
    >>> found.scores["all"]["adjusted_rand_index"], len(found.column_labels)
    (1.0, 9)
    """
    method = method_for("cocluster", request.method)
    estimator = _estimator(method, request)  # refuses settings before files are read
    found = read_binary(request)
    data = found.data
    knowledge = knowledge_about(data, request.constraints, None, None)
    of_columns = column_knowledge(request.column_constraints, data.feature_names)
    cross, cross_notes = cross_knowledge(request.cross_constraints, data)
    row_order, column_order = orders(request, found)
    beside = {
        "column_constraints": of_columns,
        "cross_constraints": cross,
        "row_order": row_order,
        "column_order": column_order,
    }
    X = found.X if method.tags.sparse or not hasattr(found.X, "toarray") else found.X.toarray()
    seconds = timed_fit(method, estimator, X, constraints=knowledge, **_usable(method, beside))
    notes = (
        *found.notes,
        *cross_notes,
        *order_notes(row_order, column_order),
        *knowledge.notes,
        *of_columns.notes,
    )
    return CoclusterRun(
        method=method,
        estimator=estimator,
        data=data,
        knowledge=knowledge,
        seconds=seconds,
        notes=notes,
        files=tuple(request.inputs),
        request=request,
        X=X,
        column_knowledge=of_columns,
        cross=cross,
        row_order=row_order,
        column_order=column_order,
    )


def _estimator(method: Method, request: CoclusterRequest) -> Any:
    """The estimator with the options that are its parameters."""
    name = method.cls.__name__
    if request.k is None:
        raise InvalidRequest(
            f"say how many co-clusters {name} is to find: {worded('k=3', '-k 3')}, for example."
        )
    if "binarize" in request.settings:
        raise InvalidRequest(f"use {worded('above=', '--above')} for binarize.")
    settings = dict(request.settings)
    for parameter, option in OPTIONS.items():
        value = getattr(request, parameter)
        if value is None:
            continue
        if parameter not in declared(method.cls):
            said = worded(parameter, option)
            raise InvalidRequest(f"{name} has no use for {said}: leave it out.")
        if parameter in settings:
            raise InvalidRequest(f"{worded(parameter, option)} is given twice.")
        settings[parameter] = value
    return make_estimator(method, Request(None, k=request.k, settings=settings, seed=request.seed))


def _usable(method: Method, beside: Mapping[str, Any]) -> dict[str, Any]:
    """What the fit of a method takes; refuse what it has no use for.

    An order without bounds is only measured, which any method allows.
    """
    words = {
        "column_constraints": ("column_constraints", "--column-constraints"),
        "cross_constraints": ("cross_constraints", "--cross-constraints"),
        "row_order": ("gaps in the order of the rows", "--min-row-gap and --max-row-gap"),
        "column_order": (
            "gaps in the order of the columns",
            "--min-column-gap and --max-column-gap",
        ),
    }
    taken = inspect.signature(method.cls.fit).parameters
    for name, value in beside.items():
        if name in taken or value is None or _says_nothing(value):
            continue
        raise InvalidRequest(
            f"{method.cls.__name__} has no use for {worded(*words[name])}: leave them out, or "
            f"choose {worded(f'method={DEFAULT!r}', f'-m {DEFAULT}')}."
        )
    return {name: value for name, value in beside.items() if name in taken}


def _says_nothing(value: Any) -> bool:
    """Whether constraints are empty, or an order bounds no gaps."""
    return bool(getattr(value, "is_empty", False)) or not getattr(value, "has_bounds", True)
