"""New rows with what a saved model gives them: clusters, classes, features, splits."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from sidelight._words import counted, listed, statements
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import Table
from sidelight.io.inner import ID, column_texts, read_raw
from sidelight.jobs._outputs import KINDS
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

    @classmethod
    def apply(cls, model: Model, table: Table, request: Any) -> Applied:
        """Give the rows of a table what a model gives."""
        estimator = model.estimator
        start = time.perf_counter()
        if is_map(model):
            features = mapped_rows(estimator, model.preparer, table, partial(model.rows, table))
            names = names_out(estimator, model.features_in)
            seconds = time.perf_counter() - start
            return cls(model, estimator, table, None, features, names, seconds, request=request)
        rows = model.rows(table)
        labels, notes = assign(model, table, rows)
        seconds = time.perf_counter() - start
        table = replace(table, notes=(*table.notes, *notes))
        return cls(model, estimator, table, labels, None, [], seconds, rows, request=request)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out on the way, and what the model cannot know about these rows."""
        if self.labels is None:
            return self.data.notes
        return (*self.data.notes, *notes_on_assignment(self.model, self.labels, self.X))

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

    @property
    def gives(self) -> str:
        """What the model gives, as a kind of file."""
        return "features" if self.labels is None else "labels"

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        """Return what can be written; ``predicted`` is whatever the model gives."""
        found = {**super().writers(spreadsheet_safe), **self._own_writers(spreadsheet_safe)}
        return {**found, "predicted": found[self.gives]}

    def _own_writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        """Return what writes files of kinds that only some models have."""
        return {}

    def check_replaced(self, **outputs: Path) -> None:
        """Refuse to replace a file of another kind, or about other rows, such as those of the fit.

        That it is one that Sidelight wrote was found out before.
        """
        predicted = outputs["predicted"]
        if not predicted.stat().st_size:
            return
        if not KINDS[self.gives].is_ours(predicted) or _ids_in(predicted) != _ids(
            self.data.row_ids
        ):
            raise InvalidRequest(
                f"{predicted} exists and holds something else than what the model gives for these "
                "rows; name another file, or replace it with --force."
            )


def _ids(values: Iterable[Any]) -> list[str]:
    """Return ids as texts, without the apostrophe of files for spreadsheets."""
    return [str(value).removeprefix("'") for value in values]


def _ids_in(path: Path) -> list[str]:
    return _ids(column_texts(read_raw(path).column(ID)))


def assign(model: Model, data: Table, rows: Any) -> tuple[Any, tuple[str, ...]]:
    """Assign rows by the estimator of a model, and say what was found out on the way.

    Parameters
    ----------
    model : Model
        What :func:`load_model` returns.
    data : Table
        The rows as they were read.
    rows : ndarray or csr_matrix
        The rows as the estimator takes them.
    """
    if model.splits:
        from sidelight.jobs._table._splits import predict_splits

        return predict_splits(model, data, rows)
    return model.estimator.predict(rows), tuple(getattr(model.preparer, "notes_", ()))


def notes_on_assignment(model: Model, labels: Any, rows: Any) -> tuple[str, ...]:
    """Return what a model cannot know about rows that it assigns, as a sentence.

    Of the rows of the fit it is certain how many get another cluster.
    """
    tags = model.estimator.__sidelight_tags__()
    given = statements(model.knowledge) if tags.enforcement != "start" else []
    given += ["bounds on their sizes"] if "sizes" in tags.knowledge else []
    noun, several = ("class", "classes") if model.kind == "classifier" else ("cluster", "clusters")
    found = model.given_by_fit(rows)
    if found is not None:
        n_others = int((found != labels).sum())
        others = f"{n_others:,} of these {counted(len(labels), 'row')}, which the model was fitted "
        others += f"to, {'gets' if n_others == 1 else 'get'} another {noun} here."
    else:
        n_others = len(given)
        others = f"those that the model was fitted to can get another {noun} here."
    if not n_others:
        return ()
    why = f"The {several} were found with {listed(given)}, but rows" if given else "Rows"
    return (f"{why} are assigned by their features alone: {others}",)


#: What models of a kind make of rows, where it is not a cluster or features: "module:name".
APPLIED = {
    "classifier": "sidelight.jobs._table._classes:ClassesApplied",
    "categorizer": "sidelight.jobs.categorize._applied:CategoriesApplied",
    "alternative": "sidelight.jobs._table._splits:SplitsApplied",
    "resolver": "sidelight.jobs.resolve._applied:EntitiesApplied",
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
    made: type[Applied] = Applied
    if model.kind in APPLIED:
        module, _, name = APPLIED[model.kind].partition(":")
        made = getattr(importlib.import_module(module), name)
    elif is_map(model) and not hasattr(model.estimator, "transform"):
        raise SidelightError(f"{model.method} can neither assign new rows nor map them.")
    table = data if isinstance(data, Table) else model.read(data, id_column=id_column)
    return made.apply(model, table, request)


def is_map(model: Model) -> bool:
    """Whether a model makes features of rows, not labels."""
    return model.kind == "embedding" or not hasattr(model.estimator, "predict")
