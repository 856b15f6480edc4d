"""A fit with all that it was given: scores, facts, labels, features, report and model."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._warn import warn
from sidelight._words import counted, set_by
from sidelight.catalog import Method
from sidelight.constraints import Conditions, Constraints, Violations
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.explanation import Explanation
from sidelight.io import Table
from sidelight.io.inner import fill_labels, fill_table
from sidelight.jobs._outputs import PathLike
from sidelight.jobs._parts import preparation_lines
from sidelight.jobs._result import Result
from sidelight.jobs._table._model import (
    Model,
    fill_model,
    mapped_rows,
    names_in,
    row_sums,
    used_columns,
)
from sidelight.preparation import TablePreparer
from sidelight.report.inner import Told

if TYPE_CHECKING:
    from sidelight.jobs._table._asked import Rows
    from sidelight.pictures.inner import Given
    from sidelight.report.inner import Page

#: Keys of what is told about a column.
PLANNED = ("column", "used_as", "how")


@dataclass(frozen=True, eq=False)
class Prepared:
    """A request whose data is read and whose estimator is made, but not fitted.

    Attributes
    ----------
    request : Rows
        What was asked for.
    method : Method
        The method, out of the catalog.
    estimator : object
        The estimator with its parameters.
    data : Table
        The rows as they were read.
    X : ndarray or csr_matrix
        The rows as the estimator sees them.
    preparer : TablePreparer, scaler or None
        Transformer that made the features of the columns; None where they are taken as they are.
    knowledge : Constraints
        All that is known about the rows.
    notes : tuple of str
        Decisions made on the way, as sentences for the user.
    anchors : ndarray of shape (n_rows, n_components) or None
        Known coordinates on the map, NaN where nothing is known.
    color : tuple of str and ndarray, or None
        Name and values of what colors the points in the report of a map.
    conditions : Conditions or None
        What every cluster has to hold.
    """

    request: Rows
    method: Method
    estimator: Any
    data: Table
    X: Any
    preparer: Any
    knowledge: Constraints
    notes: tuple[str, ...]
    anchors: Any = field(default=None, kw_only=True)
    color: tuple[str, Any] | None = field(default=None, kw_only=True)
    conditions: Conditions | None = field(default=None, kw_only=True)

    @property
    def features_in(self) -> list[str]:
        """Names of the features that the estimator sees."""
        return names_in(self.preparer, self.data.feature_names)

    @property
    def scale(self) -> str:
        """What the numbers were brought to."""
        return str(getattr(self.preparer, "scale", self.request.scale or "none"))

    @property
    def plan(self) -> list[tuple[str, str, str]]:
        """Column, use and treatment of every column that was prepared; empty if none was."""
        return self.preparer.plan_table() if isinstance(self.preparer, TablePreparer) else []

    def tell(self) -> list[Told]:
        """Return what became of the columns."""
        return preparation_lines(self.preparer, raw=self.request.raw)

    def run(self) -> Run:
        """Fit the estimator, and map the rows where it finds no clusters."""
        start = time.perf_counter()
        estimator = self.method.cls(**self.estimator.get_params(deep=False))
        is_map = self.method.tags.kind == "embedding"
        with set_by(self.method.options), _recorded_warnings(is_map) as remarks:
            estimator.fit(self.X, constraints=self.knowledge, **self._fit_params())
        classes = getattr(estimator, "transduction_", None)
        labels = None if is_map else getattr(estimator, "labels_", classes)
        features = None
        if is_map and len(estimator.embedding_) == self.data.n_rows:
            features = estimator.embedding_
        elif labels is None:
            features = mapped_rows(estimator, self.preparer, self.data, lambda: self.X)
        seconds = time.perf_counter() - start
        names = [] if features is None else names_out(estimator, self.features_in)
        return self._result(estimator)(
            **{**vars(self), "estimator": estimator},
            labels=labels,
            features=features,
            feature_names=names,
            seconds=seconds,
            remarks=tuple(remarks),
        )

    def prepared(self) -> dict[str, Any]:
        """Return all that the fit needs, by name."""
        return {one.name: getattr(self, one.name) for one in fields(Prepared)}

    def _fit_params(self) -> dict[str, Any]:
        """Return what else the fit is given."""
        known = {"anchors": self.anchors, "conditions": self.conditions}
        return {name: value for name, value in known.items() if value is not None}

    def _result(self, estimator: Any) -> type[Run]:
        """Class of what comes out; jobs have their own."""
        return Run


def classes_of_clusters(estimator: Any) -> dict[str, str]:
    """Return the class that a cluster stands for, by the name of the cluster, where labels tell."""
    names = enumerate(getattr(estimator, "cluster_names_", ()))
    return {str(cluster): str(name) for cluster, name in names if name is not None}


class Outcome(Result):
    """Rows with their clusters or new features, and ways to write them."""

    writes_folders = True

    data: Table
    estimator: Any
    labels: Any
    features: Any
    feature_names: list[str]
    seconds: float

    def __repr__(self) -> str:
        rows = counted(self.data.n_rows, "row")
        name = type(self.estimator).__name__
        return f"<{type(self).__name__}: {name} on {self.data.path.name}, {rows}>"

    @property
    def sizes(self) -> dict[str, int]:
        """Number of rows of every cluster, by the name of the cluster."""
        return sizes_of(self.labels)

    @property
    def class_names(self) -> dict[str, str]:
        """Class that a cluster stands for, by the name of the cluster, where labels tell."""
        return classes_of_clusters(self.estimator)

    def fitted(self, *names: str) -> dict[str, Any]:
        """Return what the estimator found, by name; None for what it has not."""
        return {name: getattr(self.estimator, f"{name}_", None) for name in names}

    @property
    def inputs(self) -> Iterable[PathLike]:
        """Files that were read, which no output may replace."""
        return [self.data.path, *super().inputs]

    def row_values(self) -> dict[str, Any]:
        """Return ids and clusters of the rows, or their new features."""
        if self.labels is not None:
            return {"ids": self.data.row_ids, "labels": self.labels}
        rows = self.features
        dense = rows.toarray() if hasattr(rows, "toarray") else rows
        return {"ids": self.data.row_ids, "rows": dense}

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        tables = {"labels": self._fill_labels, "features": self._fill_features}
        tables["coordinates"] = self._fill_features
        return {
            kind: partial(fill, spreadsheet_safe=spreadsheet_safe) for kind, fill in tables.items()
        }

    def _fill_labels(self, path: Path, spreadsheet_safe: bool) -> None:
        if self.labels is None:
            raise SidelightError(
                f"{type(self.estimator).__name__} finds no clusters; write its features."
            )
        if path.is_dir():
            path /= f"{self.data.path.stem}.parquet"
        names = self.class_names
        classes = [names.get(str(cluster), "") for cluster in self.labels] if names else None
        fill_labels(path, self.data.ids, self.labels, classes, spreadsheet_safe=spreadsheet_safe)

    def _fill_features(self, path: Path, spreadsheet_safe: bool) -> None:
        if self.features is None:
            raise SidelightError(
                f"{type(self.estimator).__name__} makes no features; write its labels."
            )
        data = self.data
        columns = ((data.label_column, data.labels), (data.truth_column, data.truth))
        others = {name: values for name, values in columns if name and values is not None}
        fill_table(
            path,
            self.features,
            self.feature_names,
            ids=data.row_ids,
            others=others,
            spreadsheet_safe=spreadsheet_safe,
        )


class Reported(Outcome):
    """Rows of a fit with what was known about them, and a page that shows what came out."""

    method: Method
    knowledge: Constraints
    request: Any

    @cached_property
    def violations(self) -> Violations:
        """Stated constraints that the clusters do not keep."""
        return self.knowledge.violations(self.labels)

    @cached_property
    def scores(self) -> dict[str, dict[str, float]]:
        """Agreement with the true classes, over all rows and over those that nothing mentions."""
        if self.data.truth is None or self.labels is None:
            return {}
        from sidelight.evaluation import constrained_scores

        return constrained_scores(self.data.truth_codes, self.labels, self.knowledge)

    @property
    def title(self) -> str:
        """Title of the page: data and method."""
        return f"{self.data.path.name}: {type(self.estimator).__name__}"

    def page(self) -> Page:
        """Return what the page shows: the ``page`` of the job."""
        page: Page = self.module("_page").page(self)
        return page

    def framed(self, page: Page, **settings: Any) -> Page:
        """Return a page with title, time, command, and what was set besides the parameters."""
        return replace(
            page,
            title=self.title,
            settings={"data": str(self.data.path), **settings},
            command=self.request.command_line(),
            seconds=self.seconds,
        )

    def _fill_report(self, path: Path) -> None:
        path.write_text(self.page().html(), encoding="utf-8")


class Fitted(Reported, Prepared):
    """Rows of a table with what one or several fits made of them, a page and a model."""

    def _fit_facts(self) -> dict[str, Any]:
        """Return which method was fitted to which rows."""
        return {
            "data": str(self.data.path),
            "method": self.method.name,
            "parameters": self.estimator.get_params(),
            "n_rows": self.data.n_rows,
            "n_features": len(self.features_in),
            "preparation": [dict(zip(PLANNED, row, strict=True)) for row in self.plan],
            "seconds": self.seconds,
        }

    @cached_property
    def as_given(self) -> Given:
        """The estimator with what it was given, as pictures and pages take it."""
        from sidelight.pictures.inner import make_given

        data = self.data
        return make_given(
            self.estimator,
            self.X,
            constraints=None if self.knowledge.is_empty else self.knowledge,
            labels_true=data.truth,
            ids=None if data.ids is None else data.ids.tolist(),
            feature_names=self.features_in,
        )

    def framed(self, page: Page, **settings: Any) -> Page:
        framed = super().framed(page, scale=self.scale, **settings)
        return replace(framed, preparation=self.plan)

    def _model(self, **own: Any) -> Model:
        """Return what new rows need."""
        data = self.data
        return Model(
            estimator=self.estimator,
            preparer=self.preparer,
            method=self.method.name,
            feature_names=used_columns(self.preparer, data.feature_names),
            id_column=data.id_column,
            zero_based=data.zero_based,
            fit_rows=None if self.labels is None else row_sums(self.X)[0],
            **own,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Run(Fitted):
    """A fitted estimator with all that it was given; made by :func:`sidelight.jobs.run`.

    Attributes
    ----------
    request, method, estimator, data, X, preparer, knowledge, notes
        As in :class:`Prepared`; the estimator is fitted.
    labels : ndarray or None
        Cluster of every row; None where the method makes features.
    features : ndarray, csr_matrix or None
        New features of the rows; None for clusters.
    feature_names : list of str
        Names of the new features.
    seconds : float
        Time of the fit.
    growth : Growth or None
        How the map grew, where rows came one after the other.
    remarks : tuple of str
        What the fit of a map warned about.
    """

    labels: Any
    features: Any
    feature_names: list[str]
    seconds: float
    growth: Any = field(default=None, kw_only=True)
    remarks: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def sampled(self) -> str:
        """Of which rows explanation and report speak, where these are not all; else empty."""
        return ""

    @cached_property
    def explanation(self) -> Explanation:
        """What sets the clusters apart, typical and doubtful rows, rules."""
        from sidelight.jobs._table._explain import explain

        return explain(self)

    @property
    def condition_facts(self) -> list[dict[str, Any]]:
        """Conditions with what they ask for and what every cluster holds."""
        if self.conditions is None:
            return []
        k = len(self.estimator.cluster_sizes_)
        counts, least = self.conditions.counts(self.labels, k), self.conditions.least_in(k)
        return [
            {"condition": name, "at_least": least[j].tolist(), "rows": counts[j].tolist()}
            for j, name in enumerate(self.conditions.names)
        ]

    def facts(self) -> dict[str, Any]:
        """Return what came out as plain values: counts, sizes, scores, violations."""
        facts = {**self._fit_facts(), "knowledge": self.knowledge.counts}
        return facts | (self._feature_facts() if self.labels is None else self._cluster_facts())

    def _cluster_facts(self) -> dict[str, Any]:
        wanted = {"conditions": self.condition_facts} if self.conditions is not None else {}
        return {
            **wanted,
            "sizes": self.sizes,
            "classes": self.class_names,
            **self.fitted("objective", "n_iter", "converged"),
            "violations": self.violations.as_dict(),
            "scores": self.scores or None,
            "explanation": self._explanation_facts(),
        }

    def _explanation_facts(self) -> dict[str, Any]:
        from sidelight.jobs._table._explain import explanation_facts

        return explanation_facts(self.explanation)

    def _feature_facts(self) -> dict[str, Any]:
        names = self.features_in
        facts: dict[str, Any] = {"features_in": names, "features_out": self.feature_names}
        if not hasattr(self.estimator, "get_support"):
            return facts
        return {
            **facts,
            "selected": np.asarray(names, object)[self.estimator.get_support()].tolist(),
            "scores": dict(zip(names, np.asarray(self.estimator.scores_).tolist(), strict=True)),
            "ranking": dict(zip(names, np.asarray(self.estimator.ranking_).tolist(), strict=True)),
        }

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        return {
            **super().writers(spreadsheet_safe),
            "report": self._fill_report,
            "model": self._fill_model,
        }

    def _used(self) -> dict[str, int]:
        """Count the statements of the kinds that the method looks at."""
        used = {kind.replace("-", "_") for kind in self.method.tags.knowledge}
        return {kind: n for kind, n in self.knowledge.counts.items() if n and kind in used}

    def _fill_model(self, path: Path) -> None:
        is_classifier = self.method.tags.kind == "classifier"
        label_column = self.data.label_column if is_classifier else None
        fill_model(self._model(knowledge=self._used(), label_column=label_column), path)

    def page(self) -> Page:
        return self._page(
            explanation=None if self.labels is None else self.explanation,
            color=self.color,
            anchors=self.anchors,
            growth=self.growth,
            remarks=self.remarks,
        )

    def _page(self, **own: Any) -> Page:
        """Return the page of the estimator; ``own`` are parts that only some kinds have."""
        from sidelight.report.inner import page_of

        return self.framed(page_of(self.as_given, **own))


@contextlib.contextmanager
def _recorded_warnings(record: bool) -> Iterator[list[str]]:
    """Sentences of the warnings of a fit, which are passed on; none unless ``record``."""
    sentences: list[str] = []
    if not record:
        yield sentences
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield sentences
    for warning in caught:
        if warning.category is EmbeddingWarning:
            sentences.append(str(warning.message))
        warn(warning.message, warning.category)


def sizes_of(labels: Any) -> dict[str, int]:
    """Return the number of rows of every cluster, by its name."""
    clusters, counts = np.unique(labels, return_counts=True)
    return {str(c): int(n) for c, n in zip(clusters, counts, strict=True)}


def names_out(estimator: Any, feature_names: Sequence[str]) -> list[str]:
    """Names of the features that an estimator makes."""
    return [str(n) for n in estimator.get_feature_names_out(np.asarray(feature_names, object))]
