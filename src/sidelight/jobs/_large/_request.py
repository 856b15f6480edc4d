"""From a request about a large table to features, knowledge and an estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sidelight.catalog import Method
from sidelight.engine import RowSource
from sidelight.engine.inner import JoinedRows, open_tables
from sidelight.io import Table
from sidelight.jobs._large._parts import PartedTable, open_parts
from sidelight.jobs._large._run import LargePrepared
from sidelight.jobs._large._when import check_streams
from sidelight.jobs._large._workers import Workers
from sidelight.jobs._table._asked import Rows
from sidelight.jobs._table._estimator import make_estimator, named_method
from sidelight.jobs._table._features import refuse_options
from sidelight.jobs._table._knowledge import read_knowledge
from sidelight.jobs._table._request import (
    Choice,
    as_the_method_reads,
    check_not_prepared,
    kmeans_or_pckmeans,
)
from sidelight.jobs._table._rows import beside
from sidelight.preparation import TablePreparer
from sidelight.preparation.inner import prepared_files
from sidelight.tags import MethodTags


def prepare_large(request: Rows, choose: Choice = kmeans_or_pckmeans) -> LargePrepared:
    """Fit the preparation, read what is known and make the estimator.

    Parameters
    ----------
    request : Rows
        What is asked for.
    choose : callable, default=kmeans_or_pckmeans
        Chooses the method where none is named.
    """
    method = None if request.method is None else named_method(request.job, request.method)
    if method is not None:
        check_streams(method)
    request, notes = as_the_method_reads(request, method)
    workers = Workers(request)
    try:
        with workers.within_memory():
            return _prepared(request, method, notes, choose, workers)
    except BaseException:
        workers.close()
        raise


def _prepared(
    request: Rows,
    method: Method | None,
    notes: tuple[str, ...],
    choose: Choice,
    workers: Workers,
) -> LargePrepared:
    table = open_parts(request)
    data = beside(request, _as_table(table, request))
    knowledge = read_knowledge(data, request)
    if method is None:
        method, why = choose(data, knowledge)
        notes += why
        check_streams(method)
    estimator = make_estimator(
        method,
        settings=request.settings,
        seed=request.seed,
        k=request.k,
        n_classes=len(knowledge.label_names),
    )
    check_not_prepared(request, estimator)
    preparer, local = make_features(table, request, method.tags, workers)
    X = workers.spread(local)
    data = replace(data, X=X)
    told = (workers.note,) if workers.note else ()
    return LargePrepared(
        request,
        method,
        estimator,
        data,
        X,
        preparer,
        knowledge,
        (*data.notes, *notes, *told, *knowledge.notes),
        table=table,
        local=local,
        workers=workers,
    )


class _Counted:
    """Stands for the features until there are some: the number of rows."""

    def __init__(self, n_rows: int, n_features: int) -> None:
        self.shape = (n_rows, n_features)


def _as_table(table: PartedTable, request: Rows) -> Table:
    """The table with its ids and labels, but without its rows."""
    notes: tuple[str, ...] = ()
    if table.id_column is not None and request.id_column is None:
        notes = (f"Rows are named by the column {table.id_column!r}.",)
    return Table(
        X=_Counted(table.n_rows, len(table.features)),
        ids=table.ids,
        feature_names=table.features,
        path=table.path,
        labels=table.labels,
        truth=table.truth,
        id_column=table.id_column,
        label_column=request.labels if isinstance(request.labels, str) else None,
        truth_column=request.truth if isinstance(request.truth, str) else None,
        notes=notes,
    )


def make_features(
    table: PartedTable, request: Rows, tags: MethodTags, workers: Workers
) -> tuple[Any, RowSource]:
    """Fit what makes the features; return it with the rows as this process reads them."""
    if not request.prepare:
        refuse_options(request)
        files, _ = open_tables(table.filled, table.features, None, workers.budget, False)
        preparer = None
    else:
        parts = table.feature_parts
        preparer = TablePreparer(
            kinds=dict(request.kinds) or None,
            weights=dict(request.weights) or None,
            scale="standard" if request.scale is None else request.scale,  # type: ignore[arg-type]
            missing="keep" if tags.missing else "fill",
        ).fit(workers.tables(parts))
        files = list(
            prepared_files(parts, preparer, memory_budget=workers.budget, workers=workers.sharers)
        )
    rows: RowSource = files[0] if len(files) == 1 else JoinedRows(files)
    rows.ids = table.ids
    return preparer, rows
