"""New rows in files, with the clusters that a saved model gives them, block by block."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._words import worded
from sidelight.engine import RowSource, memory
from sidelight.engine.inner import check_budget, open_tables
from sidelight.exceptions import InvalidRequest
from sidelight.io import Table
from sidelight.io.inner import ID, column_texts, read_raw
from sidelight.jobs._large._labels import fill_labels_of_parts, names_of_parts
from sidelight.jobs._large._parts import PartedTable, open_for_model
from sidelight.jobs._outputs import KINDS, files_of_folder
from sidelight.jobs._table._applied import Applied, notes_on_assignment
from sidelight.jobs._table._model import Model
from sidelight.preparation import TablePreparer
from sidelight.preparation.inner import places_of, prepared_files


@dataclass(frozen=True, eq=False, repr=False)
class LargeApplied(Applied):
    """Rows in files with the clusters that a model gives them.

    Attributes
    ----------
    model, estimator, data, labels, features, feature_names, seconds, request
        As in :class:`Applied`.
    table : PartedTable
        The files.
    """

    table: PartedTable = field(kw_only=True)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the model cannot know about these rows."""
        # Its rows are not compared with those of the fit, which would be another pass.
        model = replace(self.model, fit_rows=None)
        return (*self.data.notes, *notes_on_assignment(model, self.labels, self.X))

    def row_values(self) -> dict[str, Any]:
        """Return nothing: clusters of this many rows are written into files."""
        return {}

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        """Return what writes the clusters."""

        def fill(path: Path) -> None:
            fill_labels_of_parts(
                path, self.table, self.labels, self.class_names, spreadsheet_safe=spreadsheet_safe
            )

        return {"labels": fill, "predicted": fill}

    def _sizes(self) -> dict[str, int]:
        """Number of rows of every file of labels."""
        names = names_of_parts(self.table.parts)
        sizes = [part.n_rows or 0 for part in self.table.parts]
        return {f"{name}.parquet": n for name, n in zip(names, sizes, strict=True)}

    def check_replaced(self, **outputs: Path) -> None:
        """Refuse to replace labels of other rows, such as those of the fit."""
        path = outputs["predicted"]
        if path.is_dir():
            same = _sizes_in(path) == self._sizes()
        elif not path.stat().st_size:
            same = True
        else:
            same = KINDS["labels"].is_ours(path) and _has_ids(path, self.data.row_ids)
        if not same:
            raise InvalidRequest(
                f"{path} exists and holds something else than what the model gives for these "
                f"rows; name another place, or replace it with {worded('another name', '--force')}."
            )


def _sizes_in(folder: Path) -> dict[str, int]:
    """Number of rows of every file of a folder of labels."""
    import pyarrow.parquet as pq

    return {file.name: pq.read_metadata(file).num_rows for file in files_of_folder(folder)}


def _has_ids(path: Path, ids: Any) -> bool:
    found = np.asarray(column_texts(read_raw(path).column(ID)))
    return len(found) == len(ids) and bool(np.all(found == np.asarray(ids).astype(str)))


def apply_to_parts(model: Model, request: Any) -> LargeApplied:
    """Give the rows of files the clusters of a model.

    Parameters
    ----------
    model : Model
        The model.
    request : PredictRequest
        What was asked for.
    """
    check_clusters(model)
    start = time.perf_counter()
    budget = check_budget(request.memory, worded("memory", "--memory"))
    with memory(budget):
        table = open_for_model(request.data, model, request.id_column)
        labels = np.empty(table.n_rows, dtype=np.int32)
        for first, block in blocks_of(model, table, budget):
            labels[first : first + len(block)] = model.estimator.predict(block)
    data = Table(
        X=labels,
        ids=table.ids,
        feature_names=table.features,
        path=table.path,
        id_column=table.id_column,
    )
    seconds = time.perf_counter() - start
    return LargeApplied(
        model, model.estimator, data, labels, None, [], seconds, request=request, table=table
    )


def check_clusters(model: Model) -> None:
    """Refuse a model of something else than clusters, or of rows that are not a table."""
    if model.kind != "clusterer" or not hasattr(model.estimator, "predict"):
        raise InvalidRequest(
            f"{model.method} gives something else than a cluster to every row by itself, for which "
            "files are not read block by block; give one file at a time, that fits into memory."
        )


def blocks_of(model: Model, table: PartedTable, budget: int) -> Iterator[tuple[int, Any]]:
    """Yield blocks of rows as the estimator takes them, each with the position of its first row.

    Parameters
    ----------
    model : Model
        The model.
    table : PartedTable
        The files.
    budget : int
        Bytes that blocks may take.
    """
    files: list[Any]
    if isinstance(model.preparer, TablePreparer):
        files = list(prepared_files(table.feature_parts, model.preparer, memory_budget=budget))
    else:
        files = list(open_tables(table.filled, table.features, None, budget, False)[0])
    missing = model.estimator.__sidelight_tags__().missing
    for start, file in zip(places_of(table.filled).starts, files, strict=False):
        rows: RowSource = file.with_missing() if missing else file
        for task in rows.tasks():
            for number, block in zip(task, rows.read(task), strict=True):
                yield start + rows.blocks[number][0], block
