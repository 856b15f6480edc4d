"""Several splits of the same rows: the file that holds them, and new rows by their models."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight.constraints import KnownSplits
from sidelight.io import Table
from sidelight.io.inner import ALTERNATIVE, ID, column_texts, number_column, read_raw, write_columns
from sidelight.jobs._parts import size_table
from sidelight.jobs._table._applied import Applied
from sidelight.jobs._table._model import Model
from sidelight.jobs._table._run import sizes_of
from sidelight.report.inner import Strong, Told


def split_names(labels: Any) -> list[str]:
    """Return the names of the columns of a table of clusters."""
    return [f"{ALTERNATIVE}{number}" for number in range(1, np.shape(labels)[1] + 1)]


def fill_splits(data: Table, labels: Any, path: Path, *, spreadsheet_safe: bool) -> None:
    """Write ids and clusters, a column per split."""
    columns: dict[str, Array] = {ID: np.asarray(data.row_ids)}
    columns.update(zip(split_names(labels), np.asarray(labels).T, strict=True))
    write_columns(columns, path, spreadsheet_safe=spreadsheet_safe)


@dataclass(frozen=True, eq=False, repr=False)
class SplitsApplied(Applied):
    """New rows with their clusters in every split of a model.

    Attributes
    ----------
    model, estimator, data, features, feature_names, seconds, X
        As in :class:`Applied`; the estimator is that of the first split.
    labels : ndarray of int32, shape (n_rows, n_splits)
        Cluster of every row in every split.
    """

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out on the way."""
        return self.data.notes

    @property
    def split_sizes(self) -> dict[str, dict[str, int]]:
        """Number of rows of every cluster, by split and name of the cluster."""
        columns = zip(split_names(self.labels), np.asarray(self.labels).T, strict=True)
        return {name: sizes_of(labels) for name, labels in columns}

    def _own_facts(self) -> dict[str, Any]:
        return {"sizes": self.split_sizes}

    def _own_words(self) -> list[Told]:
        return [
            part
            for name, sizes in self.split_sizes.items()
            for part in ((Strong(name),), size_table(sizes, {}))
        ]

    @property
    def gives(self) -> str:
        """What the model gives, as a kind of file."""
        return "splits"

    def _own_writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        fill = partial(fill_splits, self.data, self.labels, spreadsheet_safe=spreadsheet_safe)
        return {"splits": fill}


def predict_splits(model: Model, data: Table, rows: Any) -> tuple[Array, tuple[str, ...]]:
    """Assign new rows to the clusters of every split of a model.

    A method that looks at known splits gets those of the new rows: the columns that were avoided,
    and the splits before. Where one of the columns is lacking, rows are assigned by features alone.

    Returns
    -------
    labels : ndarray of int32, shape (n_rows, n_splits)
        Cluster of every row in every split.
    notes : tuple of str
        What was decided, as sentences for the user.
    """
    avoided = _avoided_of(model, data)
    takes_known = "known" in inspect.signature(model.estimator.predict).parameters
    splits: KnownSplits | None = None
    if avoided is not None and takes_known:
        splits = KnownSplits(avoided, n_samples=data.n_rows, numbers=_numbers(model))
    labels: list[Array] = []
    for number, one in enumerate(model.splits, start=1):
        known = {} if splits is None or splits.is_empty else {"known": splits}
        labels.append(one.predict(rows, **known))
        if splits is not None:
            splits = splits.adding(f"alternative {number}", labels[-1])
    notes = (
        "Rows are assigned by their features alone, without the splits that were avoided: those "
        "that the model was fitted to can get another cluster here.",
    )
    return np.column_stack(labels), notes if takes_known and splits is None else ()


def _numbers(model: Model) -> list[str]:
    return [name for name, is_number in (model.avoided or {}).items() if is_number]


def _avoided_of(model: Model, data: Table) -> dict[str, Any] | None:
    """Read the avoided columns of new rows; None where they do not have them."""
    if model.avoided is None:
        return None
    if not model.avoided:
        return {}
    source: Any = data.columns
    if source is None or not set(model.avoided) <= set(source.names):
        source = read_raw(data.path) if data.path.is_file() else None
    if source is None or not set(model.avoided) <= set(source.names):
        return None
    values: dict[str, Any] = {}
    for name, is_number in model.avoided.items():
        if not is_number:
            values[name] = np.array(column_texts(source.column(name)), dtype=object)
            continue
        numbers = number_column(source.column(name))
        if numbers is None or not np.isfinite(numbers).any():
            return None
        gaps = ~np.isfinite(numbers)
        values[name] = np.where(gaps, np.median(numbers[~gaps]), numbers)
    return values
