"""New rows by the saved models of several splits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sidelight.io import Table
from sidelight.jobs._parts import size_table
from sidelight.jobs._table._model import Model
from sidelight.jobs._tell import Strong, Told
from sidelight.jobs.alternatives._splits import fill_splits, sizes_of, split_names
from sidelight.jobs.predict._run import Applied


@dataclass(frozen=True, eq=False, repr=False)
class SplitsApplied(Applied):
    """New rows with their clusters in every split of a model.

    Attributes
    ----------
    model, estimator, data, features, feature_names, seconds
        As in :class:`Applied`; the estimator is that of the first split.
    labels : ndarray of int32, shape (n_rows, n_splits)
        Cluster of every row in every split.
    """

    @property
    def names(self) -> list[str]:
        """Names of the splits, which are those of their columns in a file."""
        return split_names(self.labels)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out on the way, and what the model cannot know about these rows."""
        return (
            *self.data.notes,
            "Rows are assigned by their features alone, whatever the avoided splits and statements "
            "say of them: those that the model was fitted to can get another cluster here.",
        )

    def split_facts(self) -> dict[str, Any]:
        """Return the sizes of the clusters of every split."""
        return {"splits": [{"name": name, "sizes": s} for name, s in self._sizes()]}

    def split_words(self) -> list[Told]:
        """Return the sizes of the clusters of every split as tables."""
        return [
            part
            for name, sizes in self._sizes()
            for part in ((Strong(name),), size_table(sizes, {}))
        ]

    def _sizes(self) -> list[tuple[str, dict[str, int]]]:
        columns = np.asarray(self.labels).T
        return [(name, sizes_of(one)) for name, one in zip(self.names, columns, strict=True)]

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        fill = partial(fill_splits, self.data, self.labels, spreadsheet_safe=spreadsheet_safe)
        return {"splits": fill}


def predict_splits(model: Model, data: Table) -> SplitsApplied:
    """Assign new rows to the clusters of every split of a model."""
    start = time.perf_counter()
    rows = model.rows(data)
    labels = np.column_stack([one.predict(rows) for one in model.splits])
    seconds = time.perf_counter() - start
    return SplitsApplied(model, model.estimator, data, labels, None, [], seconds)
