"""Co-clusters: from a 0/1 table to clusters of its rows and of its columns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
from sidelight.io.inner import CLUSTER, COLUMN_LABELS, ID, fill_overlapping
from sidelight.jobs._labeled import LabeledRun
from sidelight.jobs._method import method_for, timed_fit, with_options
from sidelight.jobs._options import fields_of
from sidelight.jobs._table._estimator import make_estimator
from sidelight.jobs._table._knowledge import knowledge_about
from sidelight.jobs._table._model import Model, fill_model
from sidelight.jobs.cocluster._facts import Described, broken_cross_links
from sidelight.jobs.cocluster._knowledge import (
    column_knowledge,
    cross_knowledge,
    order_notes,
    orders,
)
from sidelight.jobs.cocluster._request import DEFAULT, CoclusterRequest
from sidelight.jobs.cocluster._table import read_binary
from sidelight.preparation import BinaryPreparer

#: Fields of a request that are parameters of some methods.
PARAMETERS = ("min_rows", "min_columns", "overlap")
#: Heaviest columns of a co-cluster that facts name.
MAX_COLUMNS = 8


@dataclass(frozen=True, eq=False, repr=False)
class CoclusterRun(LabeledRun):
    """Clusters of the rows and columns of a 0/1 table.

    Attributes
    ----------
    method, estimator, data, knowledge, seconds, notes
        The fitted estimator, and what it was given; ``data`` holds the rows, their ids and, as
        feature names, those of the columns.
    request : CoclusterRequest
        What was asked for.
    X : ndarray of uint8 or csr_matrix, shape (n_rows, n_columns)
        The zeros and ones.
    preparer : BinaryPreparer
        What reads new rows in the same way.
    column_knowledge : Constraints
        What was known about the columns.
    cross : CrossLinks or None
        What was known about rows and columns together, by position.
    row_order, column_order : Ordering or None
        Orders of the two sides.
    """

    request: CoclusterRequest
    X: Any
    preparer: BinaryPreparer
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
    def described(self) -> Described:
        """Blocks, measures and heaviest columns, as the report shows them."""
        return Described(self.estimator, self.X, self.row_order, self.column_order)

    @cached_property
    def broken_cross_links(self) -> list[tuple[str, int, int]]:
        """Links between a row and a column, by position, that are not kept."""
        return broken_cross_links(self.cross, self.labels, self.column_labels)

    def cross_violations(self) -> list[tuple[str, Any, str]]:
        """Links between a row and a column that are not kept: kind, row, column."""
        names, ids = self.data.feature_names, self.data.row_ids
        return [(kind, ids[row].item(), names[at]) for kind, row, at in self.broken_cross_links]

    def _own_facts(self) -> dict[str, Any]:
        told = self.described
        ids, names = self.data.row_ids, self.data.feature_names
        return {
            "n_columns": len(names),
            "n_ones": int(told.blocks.ones.sum()),
            "density": told.blocks.overall,
            "sizes": self.sizes,
            "column_sizes": told.column_sizes,
            **self.fitted("objective", "n_iter", "converged", "n_concepts"),
            "coclusters": [
                {
                    "cluster": one.number,
                    "n_rows": one.n_rows,
                    "n_columns": one.n_columns,
                    "density": one.density,
                    "elsewhere": one.elsewhere,
                    "columns": {names[c]: w for c, w in one.top[:MAX_COLUMNS]},
                }
                for one in told.coclusters
            ],
            "measures": told.measures,
            "tau_by_chance": list(told.by_chance),
            "doubts": told.doubts,
            "uncovered_rows": [ids[row].item() for row in told.uncovered["row"]],
            "uncovered_columns": [names[column] for column in told.uncovered["column"]],
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
            "model": self._fill_model,
        }

    def _fill_model(self, path: Path) -> None:
        data = self.data
        model = Model(
            estimator=self.estimator,
            preparer=self.preparer,
            method=self.method.name,
            feature_names=list(data.feature_names),
            id_column=data.id_column,
            zero_based=data.zero_based,
            knowledge={kind: n for kind, n in self.knowledge.counts.items() if n},
        )
        fill_model(model, path)

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


def prepare(request: CoclusterRequest) -> CoclusterRun:
    """Cluster the rows and the columns of a 0/1 table at once."""
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
        request=request,
        X=X,
        preparer=found.preparer,
        column_knowledge=of_columns,
        cross=cross,
        row_order=row_order,
        column_order=column_order,
    )


def _estimator(method: Method, request: CoclusterRequest) -> Any:
    """The estimator with the options that are its parameters."""
    if request.k is None:
        raise InvalidRequest(
            f"say how many co-clusters {method.cls.__name__} is to find: "
            f"{worded('k=3', '-k 3')}, for example."
        )
    if "binarize" in request.settings:
        raise InvalidRequest(f"use {worded('above=', '--above')} for binarize.")
    own = {name: getattr(request, name) for name in PARAMETERS}
    given = {name: value for name, value in own.items() if value is not None}
    for name in given:
        if name not in declared(method.cls):
            said = worded(name, fields_of(CoclusterRequest)[name].names[0])
            raise InvalidRequest(f"{method.cls.__name__} has no use for {said}: leave it out.")
    settings = with_options(request, given)
    return make_estimator(method, settings=settings, seed=request.seed, k=request.k)


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
