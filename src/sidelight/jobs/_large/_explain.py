"""What clusters of a large table are, by a sample of its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sidelight._words import counted, worded
from sidelight.engine import memory
from sidelight.engine.inner import check_budget
from sidelight.exceptions import SidelightError
from sidelight.explanation import Explanation
from sidelight.io import Table
from sidelight.io.inner import CLUSTER, parts_of
from sidelight.jobs._large._parts import PartedTable, open_for_model, open_labeled
from sidelight.jobs._large._sample import draw, read_rows, sampled_table
from sidelight.jobs._table._explain import explain
from sidelight.jobs._table._model import Model, load_model
from sidelight.preparation import TablePreparer

NOBODY = np.empty(0, dtype=np.int64)


def explain_parts(request: Any) -> tuple[Model | None, Explanation, str]:
    """Explain clusters by a sample of the rows of files.

    Parameters
    ----------
    request : ExplainRequest
        What was asked for: a model, or a folder of labels, and the rows.

    Returns
    -------
    model : Model or None
        The model; None for labels.
    explanation : Explanation
        What the clusters are.
    sampled : str
        Of which rows it speaks; empty for all.
    """
    with memory(check_budget(request.memory, worded("memory", "--memory"))):
        given = request.model
        if not isinstance(given, Model) and Path(given).is_dir():
            return None, *_by_labels(given, request)
        model = given if isinstance(given, Model) else load_model(given)
        table = open_for_model(request.data, model, request.id_column)
        rows, sampled = _drawn(table)
        data = _sampled(table, model.preparer, rows)
        return model, explain(model, data), sampled


def _drawn(table: PartedTable) -> tuple[Any, str]:
    """Positions of the rows of the sample, and words for it."""
    rows = draw(table.n_rows, NOBODY, seed=0).rows
    few = len(rows) < table.n_rows
    return rows, f"a sample of {len(rows):,} of {counted(table.n_rows, 'row')}" if few else ""


def _sampled(table: PartedTable, preparer: Any, rows: Any) -> Table:
    data = Table(
        X=rows,
        ids=table.ids,
        feature_names=table.features,
        path=table.path,
        id_column=table.id_column,
    )
    return sampled_table(table, data, preparer, rows)


def _by_labels(folder: Any, request: Any) -> tuple[Explanation, str]:
    """Explain the clusters that a folder of labels holds, a file for every file of rows."""
    labels = parts_of(folder)
    table = open_labeled(request.data, request.id_column)
    n_labels = sum(part.n_rows or 0 for part in labels)
    if any(CLUSTER not in part.schema.names for part in labels):
        raise SidelightError(f"{folder} holds files without a column 'cluster': no labels.")
    if n_labels != table.n_rows:
        raise SidelightError(
            f"{folder} holds labels of {counted(n_labels, 'row')}, but {table.path} has "
            f"{table.n_rows:,}; give the rows that were clustered, all of them."
        )
    rows, sampled = _drawn(table)
    found = read_rows(labels, labels[0].schema.names, rows)
    name = labels[0].schema.names[0]
    if name == table.id_column:
        same = np.asarray(found.column(name)).astype(str) == np.asarray(table.ids)[rows].astype(str)
        if not same.all():
            raise SidelightError(
                f"{folder} names its rows otherwise than {table.path}, the first is "
                f"{np.asarray(table.ids)[rows][~same][0]!r}; give the rows that were clustered, "
                "with the files in the same order."
            )
    data = _sampled(table, TablePreparer().fit(table.feature_parts), rows)
    return explain(found.column(CLUSTER).to_numpy(), data), sampled
