"""What clusters are, by whatever holds the model and whatever holds the table."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier

from sidelight._words import counted, listed, worded
from sidelight.constraints.inner import own_ids
from sidelight.exceptions import SidelightError
from sidelight.explanation import Explanation, explain_clusters
from sidelight.explanation.inner import probabilities_of
from sidelight.io import Table, read_table
from sidelight.io.inner import ALTERNATIVE, quoted, table_of_columns
from sidelight.jobs._table._classes import Classified
from sidelight.jobs._table._features import IN_MEMORY
from sidelight.jobs._table._model import Model, fit_labels
from sidelight.jobs._table._run import Run, classes_of_clusters
from sidelight.pictures.inner import class_codes, class_names
from sidelight.preparation import TablePreparer, TypedColumn
from sidelight.preparation.inner import as_source

#: Of rows that are numbers already only so many columns are described, the fewer if sparse.
MAX_NUMBERS = 1000
MAX_SPARSE = 100
CLASSES = "What is explained are the classes that the classifier gives to the rows."


def explain(model: Any, table: Any = None, *, ids: Sequence[Any] | None = None) -> Explanation:
    """Explain what clusters are, in the units and words of the table.

    Parameters
    ----------
    model : Run, Model, fitted clusterer or classifier, fitted Pipeline, or array-like of labels
        What says which row is in which cluster. A saved :class:`~sidelight.jobs.Model` knows the
        rows of its fit again, which have the clusters that were found, and assigns others; a
        :class:`~sidelight.jobs.Run`, an estimator and a pipeline are asked for the clusters of the
        rows that they were fitted to (``labels_``), in the same order.
    table : data frame, Arrow table, Table, path-like or array, default=None
        The table with the columns as people have them; only a :class:`~sidelight.jobs.Run` knows
        its own.
    ids : sequence, default=None
        Names of the rows; by default those of the table.

    Returns
    -------
    Explanation
        Sizes, what sets the clusters apart, typical and doubtful rows, and rules; ``table()`` and
        ``to_pandas()`` give all of it as one plain table.

    Raises
    ------
    SidelightError
        If model and table are about different rows, or the model cannot assign rows.

    Examples
    --------
    >>> import sidelight
    >>> from sidelight.datasets import example_paths
    >>> from sidelight import jobs
    >>> data, links = example_paths()
    >>> found = jobs.run("cluster", data=data, k=3, constraints=links, drop=["variety"])
    >>> explanation = sidelight.explain(found)
    >>> explanation
    <Explanation: 3 clusters of 240 rows, ... traits>

    Any fitted clusterer, and labels from elsewhere:

    >>> import pandas as pd
    >>> from sklearn.cluster import KMeans
    >>> table = pd.read_csv(data, index_col=0)
    >>> rows = table.drop(columns="variety")
    >>> model = KMeans(3, n_init=1, random_state=0).fit(rows)
    >>> len(sidelight.explain(model, table).clusters)
    3
    >>> by_variety = sidelight.explain(table["variety"], rows)
    >>> print(by_variety.rules.sentence)  # doctest: +ELLIPSIS
    These rules find the cluster of ...
    """
    if isinstance(model, Run):
        found = _of_run(model, table)
    elif isinstance(model, Model):
        found = _of_model(model, _needed(table))
    else:
        data = _as_table(_needed(table))
        found = _of_estimator(model, table, data) if _is_model(model) else _of_labels(model, data)
    explanation = explain_clusters(
        found.columns,
        found.labels,
        ids=found.data.ids if ids is None else ids,
        X=found.X,
        probabilities=found.probabilities,
        names=found.names,
        noun=found.noun,
    )
    return replace(explanation, notes=(*found.notes, *explanation.notes))


@dataclass(frozen=True, eq=False)
class _Found:
    """What is explained."""

    data: Table
    columns: list[TypedColumn]
    labels: Any
    X: Any = None
    probabilities: Any = None
    names: Mapping[str, str] | None = None
    notes: tuple[str, ...] = ()
    noun: Literal["cluster", "class"] = "cluster"


def _of_run(run: Run, table: Any) -> _Found:
    if run.labels is None:
        raise SidelightError(f"{type(run.estimator).__name__} finds no clusters to explain.")
    data = run.data if table is None else _as_table(table)
    _check_rows(data, len(run.labels), type(run.estimator).__name__)
    columns, notes = _typed(run.preparer, data)
    if isinstance(run, Classified):
        names = _by_code(run.decisions.names)
        chances = probabilities_of(run.estimator, run.X, run.codes)
        notes = (CLASSES, *notes)
        return _Found(data, columns, run.codes, run.X, chances, names, notes, "class")
    chances = probabilities_of(run.estimator, run.X, run.labels)
    return _Found(data, columns, run.labels, run.X, chances, run.class_names, notes)


def _of_model(model: Model, table: Any) -> _Found:
    estimator, kind = model.estimator, model.kind
    if kind == "resolver":
        raise SidelightError(
            f"{model.method} finds entities, many of them of few references: there are no clusters "
            "to explain. "
            + worded(
                "The result of run() shows how entities came about.",
                "`sidelight resolve REFERENCES --report report.html` shows how they came about.",
            )
        )
    data = model.read(table) if isinstance(table, str | os.PathLike) else _table_for(model, table)
    X = model.rows(data if model.preparer is not None else _plain(data, model.feature_names))
    labels, notes = _assigned(model, data, X)
    columns, more = _typed(model.preparer, data)
    names = {} if kind == "classifier" else classes_of_clusters(estimator)
    if kind == "classifier":
        classes = class_names(estimator)
        labels, names = class_codes(labels, classes), _by_code(classes)
        notes = (CLASSES, *notes)
    chances = probabilities_of(estimator, X, labels)
    notes = (*data.notes, *notes, *more)
    noun: Literal["cluster", "class"] = "class" if kind == "classifier" else "cluster"
    return _Found(data, columns, labels, X, chances, names, notes, noun)


def _assigned(model: Model, data: Table, X: Any) -> tuple[Any, tuple[str, ...]]:
    """Clusters or classes of rows by a saved model, and what has to be said about them.

    The very rows of the fit have what the fit gave them, so that the same clusters are explained
    as were found.
    """
    from sidelight.jobs._table._applied import assign, notes_on_assignment

    notes: tuple[str, ...] = ()
    labels = model.given_by_fit(X)
    if labels is None:
        if not hasattr(model.estimator, "predict"):
            raise SidelightError(
                f"{model.method} cannot assign rows to its clusters again; these are not the rows "
                "that it was fitted to. "
                + worded(
                    "Explain the Run that run() returns.",
                    "`sidelight cluster DATA --report report.html` explains clusters when they are "
                    "found.",
                )
            )
        labels, notes = assign(model, data, X)
        notes += notes_on_assignment(model, labels, X)
    if not model.splits:
        return labels, notes
    first, *others = [f"{ALTERNATIVE}{n}" for n in range(1, len(model.splits) + 1)]
    if others:
        notes += (f"The clusters of {first} are explained; the model also holds {listed(others)}.",)
    return labels[:, 0], notes


def _by_code(classes: Sequence[str]) -> dict[str, str]:
    """Names of classes by their places, which stand for clusters."""
    return {str(code): name for code, name in enumerate(classes)}


def _of_estimator(model: Any, table: Any, data: Table) -> _Found:
    """Explain a fitted clusterer or classifier, or a pipeline that ends in one."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    last, name = steps[-1], type(steps[-1]).__name__
    seen = model[:-1].transform(table) if len(steps) > 1 else table
    labels = fit_labels(last)
    if labels is None and hasattr(last, "predict"):  # mixtures of scikit-learn keep no labels
        labels = last.predict(seen)
    if labels is None:
        raise SidelightError(f"{name} has no labels_: fit it first, or pass labels.")
    _check_rows(data, len(labels), name)
    preparer = next((step for step in steps if isinstance(step, TablePreparer)), None)
    columns, notes = _typed(preparer, data if preparer is None else table)
    X = _as_features(last, seen)
    if is_classifier(last):
        classes = class_names(last)
        codes = class_codes(labels, classes)
        chances = probabilities_of(last, seen, codes)
        return _Found(
            data, columns, codes, X, chances, _by_code(classes), (CLASSES, *notes), "class"
        )
    chances = None if X is None else probabilities_of(last, seen, labels)
    return _Found(data, columns, labels, X, chances, classes_of_clusters(last), notes)


def _of_labels(labels: Any, data: Table) -> _Found:
    values = np.asarray(labels)
    if values.ndim != 1:
        raise SidelightError(
            f"{type(labels).__name__} is neither a fitted clusterer nor one label per row."
        )
    _check_rows(data, len(values), "The labels", fitted=False)
    columns, notes = _typed(None, data)
    return _Found(data, columns, values, notes=notes)


# --- the table --------------------------------------------------------------------------------


def _needed(table: Any) -> Any:
    if table is None:
        raise SidelightError("explain needs the table too: explain(model, table).")
    return table


def _is_model(model: Any) -> bool:
    return hasattr(model, "fit") and hasattr(model, "get_params")


def _as_table(table: Any) -> Table:
    """A table of any form, with its ids separated from its columns."""
    if isinstance(table, Table):
        return table
    if isinstance(table, str | os.PathLike):
        return read_table(table, as_columns=True)
    if sparse.issparse(table):
        names = tuple(f"x{feature}" for feature in range(table.shape[1]))
        return Table(table.tocsr(), None, names, IN_MEMORY)
    return table_of_columns(as_source(table).columns, IN_MEMORY, ids=own_ids(table))


def _table_for(model: Model, table: Any) -> Table:
    """The columns of a table in memory that a model needs."""
    if isinstance(table, Table) or sparse.issparse(table):
        return _as_table(table)
    columns = as_source(table).columns
    id_column = model.id_column if model.id_column in columns.names else None
    data = table_of_columns(
        columns,
        IN_MEMORY,
        ids=own_ids(table) if id_column is None else None,
        id_column=id_column,
        columns_used=model.feature_names,
    )
    return replace(data, notes=(*data.notes, *model._notes_on_others(columns.names, id_column)))


def _plain(data: Table, names: Sequence[str]) -> Table:
    """Numbers of a table in memory for a model that takes columns as they are."""
    if data.columns is None:
        return data
    columns = []
    for name in names:
        try:
            columns.append(np.asarray(data.columns.column(name), dtype=np.float64))
        except (TypeError, ValueError):
            raise SidelightError(
                f"The column {name!r} must hold numbers, as those that the model was fitted to."
            ) from None
    return replace(data, X=np.column_stack(columns), columns=None)


def _check_rows(data: Table, n_labels: int, whose: str, *, fitted: bool = True) -> None:
    if data.n_rows != n_labels:
        was = "was fitted to" if fitted else "are about"
        raise SidelightError(
            f"{whose} {was} {counted(n_labels, 'row')}, but the table has {data.n_rows:,}; give "
            "the table with these rows, in the same order."
        )


def _as_features(estimator: Any, seen: Any) -> Any:
    """Rows for distances, if they are what the estimator was fitted to; else None."""
    shape = getattr(seen, "shape", None)
    if shape is None or len(shape) != 2 or shape[1] != getattr(estimator, "n_features_in_", None):
        return None
    if sparse.issparse(seen):
        return seen
    try:
        return np.asarray(seen, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _typed(preparer: Any, data: Any) -> tuple[list[TypedColumn], tuple[str, ...]]:
    """Columns in the user's units, by the preparer of the model or one of their own."""
    if isinstance(preparer, TablePreparer):
        return preparer.typed_columns(data), ()
    if isinstance(data, Table) and data.columns is None:
        return _plain_numbers(data)
    preparer = TablePreparer().fit(data)
    aside = [f"{plan.name} ({plan.how})" for plan in preparer.plan_ if not plan.used]
    notes = (f"Not described: {quoted(aside)}.",) if aside else ()
    return preparer.typed_columns(data), notes


def _plain_numbers(data: Table) -> tuple[list[TypedColumn], tuple[str, ...]]:
    """Columns of rows that are numbers already; of very many those that vary most."""
    is_sparse = sparse.issparse(data.X)
    X: Any = data.X.tocsc() if is_sparse else np.asarray(data.X)
    most = MAX_SPARSE if is_sparse else MAX_NUMBERS
    shown = np.arange(X.shape[1])
    notes: tuple[str, ...] = ()
    if len(shown) > most:
        shown = np.sort(np.argsort(-_variances(X), kind="stable")[:most])
        notes = (f"The {most:,} of {X.shape[1]:,} columns that vary most are described.",)
    values = X[:, shown].toarray() if is_sparse else X[:, shown]
    columns = [
        TypedColumn(data.feature_names[j], "number", values[:, place].astype(np.float64))
        for place, j in enumerate(shown.tolist())
    ]
    return columns, notes


def _variances(X: Any) -> Any:
    if not sparse.issparse(X):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value
            return np.nan_to_num(np.nanvar(X, axis=0))
    mean_square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
    return mean_square - np.asarray(X.mean(axis=0)).ravel() ** 2


def explanation_facts(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as plain values, as ``--json`` prints it."""
    rules = explanation.rules
    return {
        "n_rows": explanation.n_rows,
        "n_outside": explanation.n_outside,
        "clusters": [
            {
                "name": profile.name,
                "class": profile.class_name,
                "size": profile.size,
                "share": profile.share,
                "traits": [{**asdict(trait), "text": trait.text} for trait in profile.traits],
                "typical": explanation.typical[profile.name],
                "doubtful": [asdict(doubt) for doubt in explanation.doubtful[profile.name]],
                "rules": [
                    {
                        "text": rule.text,
                        "n_matching": rule.n_matching,
                        "precision": rule.precision,
                        "coverage": rule.coverage,
                    }
                    for rule in rules.of(profile.name)
                ],
            }
            for profile in explanation.clusters
        ],
        "fidelity": rules.fidelity,
        "baseline": rules.baseline,
        "rules": rules.sentence,
    }
