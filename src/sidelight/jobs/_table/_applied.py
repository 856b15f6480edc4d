"""New rows by a model."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

from sidelight._words import listed, statements
from sidelight.exceptions import SidelightError
from sidelight.io import Table
from sidelight.jobs._table._model import Model, mapped_rows
from sidelight.jobs._table._run import Outcome, names_out


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
    """

    model: Model
    estimator: Any
    data: Table
    labels: Any
    features: Any
    feature_names: list[str]
    seconds: float

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


def predict(
    model: Model, data: str | os.PathLike[str] | Table, *, id_column: str | None = None
) -> Applied:
    """Assign new rows to the clusters or classes of a model.

    Parameters
    ----------
    model : Model
        What :func:`load_model` returns.
    data : path-like or Table
        The rows, with the columns that the model was fitted to.
    id_column : str, default=None
        Column that names the rows; by default as in the data of the model.

    Returns
    -------
    Applied
        The rows with their clusters, in ``labels``; of a classifier with their classes, and how
        sure they are, in ``decisions``; of a model of categories with the best ones, in
        ``ranking``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sidelight.datasets import example_paths
    >>> from sidelight.jobs import Request, load_model, run
    >>> from sidelight.jobs._table._applied import predict
    >>> data, _ = example_paths()
    >>> fitted = run(Request(data, k=3, drop=["variety"]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = load_model(fitted.save(Path(folder) / "model.skops"))
    >>> bool((predict(model, data).labels == fitted.labels).all())
    True
    """
    kind = model.estimator.__sidelight_tags__().kind
    is_map = kind == "embedding"
    if is_map or not hasattr(model.estimator, "predict"):
        maps = hasattr(model.estimator, "transform")
        hint = "; `sidelight transform DATA --model MODEL` gives its features" if maps else ""
        if is_map:
            hint = "; `sidelight embed DATA --model MODEL` places them on its map"
        raise SidelightError(f"{model.method} cannot assign new rows to clusters{hint}.")
    table = _read(model, data, id_column)
    start = time.perf_counter()
    rows = model.rows(table)
    labels = model.estimator.predict(rows)
    seconds = time.perf_counter() - start
    if kind == "classifier":
        from sidelight.jobs._table._classes import ClassesApplied

        return ClassesApplied(model, model.estimator, table, labels, None, [], seconds, rows)
    if kind == "categorizer":
        from sidelight.jobs import CategoriesApplied

        return CategoriesApplied(model, model.estimator, table, labels, None, [], seconds, rows)
    return Applied(model, model.estimator, table, labels, None, [], seconds)


def transform(
    model: Model, data: str | os.PathLike[str] | Table, *, id_column: str | None = None
) -> Applied:
    """Map new rows to the features of a model; parameters as in :func:`predict`."""
    if not hasattr(model.estimator, "transform"):
        raise SidelightError(f"{model.method} does not make features; use `sidelight predict`.")
    table = _read(model, data, id_column)
    start = time.perf_counter()
    rows = partial(model.rows, table)
    features = mapped_rows(model.estimator, model.preparer, table, rows)
    seconds = time.perf_counter() - start
    names = names_out(model.estimator, model.features_in)
    return Applied(model, model.estimator, table, None, features, names, seconds)


def _read(model: Model, data: Any, id_column: str | None) -> Table:
    return data if isinstance(data, Table) else model.read(data, id_column=id_column)
