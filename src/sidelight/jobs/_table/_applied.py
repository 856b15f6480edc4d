"""New rows with what a saved model gives them: clusters, classes, features, splits."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from sidelight._words import counted, listed, statements
from sidelight.exceptions import SidelightError
from sidelight.io import Table
from sidelight.jobs._parts import class_lines, heading, size_table
from sidelight.jobs._table._model import Model, mapped_rows
from sidelight.jobs._table._run import Outcome, names_out
from sidelight.report.inner import Told


@dataclass(frozen=True, eq=False, repr=False)
class Applied(Outcome):
    """New rows with what a model makes of them.

    Attributes
    ----------
    model : Model
        The model.
    estimator : object
        Estimator of the model.
    data : Table
        The rows.
    labels : ndarray or None
        Cluster of every row; None for features.
    features : ndarray, csr_matrix or None
        Features of every row; None for clusters.
    feature_names : list of str
        Names of the features; empty for clusters.
    seconds : float
        Time that the model took.
    X : ndarray or csr_matrix
        The rows as the estimator takes them.
    request : Request or None
        What was asked for, where a command did.
    """

    model: Model
    estimator: Any
    data: Table
    labels: Any
    features: Any
    feature_names: list[str]
    seconds: float
    X: Any = None
    request: Any = field(default=None, kw_only=True)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out on the way, and what the model cannot know about these rows."""
        tags = self.estimator.__sidelight_tags__()
        given = statements(self.model.knowledge) if tags.enforcement != "start" else []
        given += ["bounds on their sizes"] if "sizes" in tags.knowledge else []
        if self.labels is None or not given:
            return self.data.notes
        return (
            *self.data.notes,
            f"The clusters were found with {listed(given)}, but rows are assigned by their "
            "features alone: those that the model was fitted to can get another cluster here.",
        )

    def facts(self) -> dict[str, Any]:
        """Return what the model gives as plain values."""
        return {
            "model": str(getattr(self.request, "model", "")),
            "data": str(self.data.path),
            "method": self.model.method,
            "n_rows": self.data.n_rows,
            "parameters": self.estimator.get_params(),
            "seconds": self.seconds,
            **self._own_facts(),
        }

    def _own_facts(self) -> dict[str, Any]:
        if self.labels is None:
            return {"features_in": self.model.features_in, "features_out": self.feature_names}
        return {"sizes": self.sizes, "classes": self.class_names}

    def tell(self) -> list[Told]:
        """Return how many rows get what."""
        if self.labels is None:
            n_before = counted(len(self.model.features_in), "feature")
            text = f", {n_before} in, {len(self.feature_names)} out, in {self.seconds:.2f} s"
            return [heading(self.estimator, self.data, text)]
        return [heading(self.estimator, self.data, ""), *self._own_words()]

    def _own_words(self) -> list[Told]:
        classes = self.class_names
        return [size_table(self.sizes, classes), *class_lines(classes, self.sizes)]

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        """Return what can be written; ``predicted`` is whatever the model gives."""
        found = super().writers(spreadsheet_safe)
        return {**found, "predicted": found["features" if self.labels is None else "labels"]}


#: What models of a kind make of rows, where it is not a cluster or features: "module:name".
APPLIED = {
    "classifier": "sidelight.jobs._table._classes:ClassesApplied",
    "categorizer": "sidelight.jobs.categorize._applied:CategoriesApplied",
    "alternative": "sidelight.jobs._table._splits:SplitsApplied",
}


def apply_model(
    model: Model,
    data: str | os.PathLike[str] | Table,
    *,
    id_column: str | None = None,
    request: Any = None,
) -> Applied:
    """Give new rows what a model gives: clusters, classes, categories or features.

    Parameters
    ----------
    model : Model
        What :func:`load_model` returns.
    data : path-like or Table
        The rows, with the columns that the model was fitted to.
    id_column : str, default=None
        Column that names the rows; by default as in the data of the model.
    request : PredictRequest, default=None
        What was asked for, where a command did.
    """
    estimator = model.estimator
    kind = estimator.__sidelight_tags__().kind
    is_map = kind == "embedding" or not hasattr(estimator, "predict")
    if is_map and not hasattr(estimator, "transform"):
        raise SidelightError(f"{model.method} can neither assign new rows nor map them.")
    table = data if isinstance(data, Table) else model.read(data, id_column=id_column)
    start = time.perf_counter()
    if is_map:
        features = mapped_rows(estimator, model.preparer, table, partial(model.rows, table))
        names = names_out(estimator, model.features_in)
        seconds = time.perf_counter() - start
        return Applied(model, estimator, table, None, features, names, seconds, request=request)
    rows = model.rows(table)
    if model.splits:
        from sidelight.jobs._table._splits import predict_splits

        labels, notes = predict_splits(model, table, rows)
    else:
        labels, notes = estimator.predict(rows), getattr(model.preparer, "notes_", ())
    seconds = time.perf_counter() - start
    table = replace(table, notes=(*table.notes, *notes))
    made: type[Applied] = Applied
    if kind in APPLIED:
        module, _, name = APPLIED[kind].partition(":")
        made = getattr(importlib.import_module(module), name)
    return made(model, estimator, table, labels, None, [], seconds, rows, request=request)
