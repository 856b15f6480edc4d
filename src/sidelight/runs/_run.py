"""A fit with all that it was given: scores, facts, labels, features, report and model."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._warn import warn
from sidelight._words import counted, set_by
from sidelight.catalog import Method
from sidelight.constraints import Conditions, Constraints, Violations
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.io import Table
from sidelight.io._atomic import (
    check_apart,
    check_can_be_read_again,
    check_writable,
    write_together,
)
from sidelight.io._labels import check_labels_path, fill_labels
from sidelight.io._write_table import check_table_path, fill_table
from sidelight.preparation import TablePreparer
from sidelight.runs._model import Model, fill_model, mapped_rows, names_in, used_columns

if TYPE_CHECKING:
    from sidelight.runs._request import Request

#: What a run can write, with the endings of its files where these are not those of tables.
OUTPUTS: dict[str, Sequence[str]] = {
    "labels": (),
    "features": (),
    "coordinates": (),
    "predictions": (),
    "classes": (),
    "stream": (".csv", ".tsv", ".jsonl"),
    "report": (".html", ".htm"),
    "model": (".skops",),
    "constraints": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".json", ".parquet"),
    "answers": (),
    "explanation": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet"),
    "entities": (),
    "categories": (),
    "ranked": (),
    "splits": (),
    "doubtful": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet"),
    "columns": (),
    "published": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet"),
}
#: Keys of what is told about a column.
PLANNED = ("column", "used_as", "how")
CHECKS: dict[str, Callable[[Any], Any]] = {
    "labels": check_labels_path,
    "features": check_table_path,
    "coordinates": check_table_path,
    "predictions": check_table_path,
    "classes": check_labels_path,
    "entities": check_labels_path,
    "categories": check_labels_path,
    "ranked": check_labels_path,
    "splits": check_labels_path,
    "columns": check_labels_path,
    "published": check_can_be_read_again,
}


@dataclass(frozen=True, eq=False)
class Prepared:
    """A request whose data is read and whose estimator is made, but not fitted.

    Attributes
    ----------
    request : Request
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

    request: Request
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

    def fit(self) -> Run:
        """Fit the estimator, and map the rows where it finds neither clusters nor classes."""
        if self.method.tags.kind == "classifier":
            from sidelight.runs._classes import fit_classes

            return fit_classes(self)
        start = time.perf_counter()
        estimator = self.method.cls(**self.estimator.get_params(deep=False))
        known = {"anchors": self.anchors, "conditions": self.conditions}
        beside = {name: value for name, value in known.items() if value is not None}
        is_map = self.method.tags.kind == "embedding"
        with set_by(self.method.options), _heard(is_map) as remarks:
            estimator.fit(self.X, constraints=self.knowledge, **beside)
        labels = None if is_map else getattr(estimator, "labels_", None)
        features = None
        if is_map and len(estimator.embedding_) == self.data.n_rows:
            features = estimator.embedding_
        elif labels is None:
            features = mapped_rows(estimator, self.preparer, self.data, lambda: self.X)
        seconds = time.perf_counter() - start
        names = [] if features is None else names_out(estimator, self.features_in)
        prepared = {**vars(self), "estimator": estimator}
        return Run(
            **prepared,
            labels=labels,
            features=features,
            feature_names=names,
            seconds=seconds,
            remarks=tuple(remarks),
        )


class Outcome:
    """Rows with their clusters or new features, and ways to write them."""

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
        clusters, counts = np.unique(self.labels, return_counts=True)
        return {str(c): int(n) for c, n in zip(clusters, counts, strict=True)}

    @property
    def class_names(self) -> dict[str, str]:
        """Class that a cluster stands for, by the name of the cluster, where labels tell."""
        names = enumerate(getattr(self.estimator, "cluster_names_", ()))
        return {str(cluster): str(name) for cluster, name in names if name is not None}

    def write(
        self, *, safe_ids: bool = False, **outputs: str | os.PathLike[str] | None
    ) -> dict[str, Path]:
        """Write several files, or none of them where one cannot be written.

        What was there before is replaced, unless the rows or the knowledge were read from it.

        Parameters
        ----------
        safe_ids : bool, default=False
            Whether texts in a CSV file that a spreadsheet would run as formulas (they begin with
            ``=``, ``+``, ``-`` or ``@`` and are no numbers) get an apostrophe in front.
        **outputs : path-like or None
            Where to write ``labels``, ``classes`` (of a classifier), ``features`` (of a map also
            called ``coordinates``), ``report`` and ``model``.

        Returns
        -------
        dict of str to Path
            The files that were written.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sidelight.runs import Request, run
        >>> found = run(Request([[0.0], [0.1], [5.0]], k=2))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = found.write(labels=Path(folder) / "labels.csv")
        ...     print(written["labels"].read_text().splitlines()[0])
        id,cluster
        """
        paths = check_outputs(inputs=self._inputs(), **outputs)
        writers = self._writers(safe_ids)
        write_together({path: writers[kind] for kind, path in paths.items()})
        return paths

    def _inputs(self) -> Iterable[str | os.PathLike[str]]:
        """Files that were read, which no output may replace."""
        return [self.data.path]

    def _writers(self, safe_ids: bool) -> dict[str, Callable[[Path], None]]:
        tables = {"labels": self._fill_labels, "features": self._fill_features}
        tables["coordinates"] = self._fill_features
        return {kind: partial(fill, safe_ids=safe_ids) for kind, fill in tables.items()}

    def _fill_labels(self, path: Path, safe_ids: bool) -> None:
        if self.labels is None:
            raise SidelightError(
                f"{type(self.estimator).__name__} finds no clusters; write its features."
            )
        names = self.class_names
        classes = [names.get(str(cluster), "") for cluster in self.labels] if names else None
        fill_labels(path, self.data.ids, self.labels, classes, safe_ids=safe_ids)

    def _fill_features(self, path: Path, safe_ids: bool) -> None:
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
            safe_ids=safe_ids,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Run(Outcome, Prepared):
    """A fitted estimator with all that it was given; made by :func:`sidelight.runs.run`.

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

    @cached_property
    def violations(self) -> Violations:
        """Stated constraints that the clusters do not keep."""
        return self.knowledge.violations(self.labels)

    @cached_property
    def scores(self) -> dict[str, dict[str, float]]:
        """Agreement with the true classes, over all rows and over those no constraint mentions."""
        if self.data.truth is None or self.labels is None:
            return {}
        from sidelight.evaluation import constrained_scores

        return constrained_scores(self.data.truth_codes, self.labels, self.knowledge)

    @cached_property
    def quality(self) -> dict[str, float]:
        """Measures of a map, on at most 2,000 of its rows; empty for other results."""
        if self.method.tags.kind != "embedding":
            return {}
        from sidelight.runs._maps import map_quality

        return map_quality(self.estimator, self.X, self.features)

    def facts(self) -> dict[str, Any]:
        """Return what came out as plain values: counts, sizes, scores, violations."""
        facts = {
            "data": str(self.data.path),
            "method": self.method.name,
            "parameters": self.estimator.get_params(),
            "n_rows": self.data.n_rows,
            "n_features": len(self.features_in),
            "preparation": [dict(zip(PLANNED, row, strict=True)) for row in self.plan],
            "seconds": self.seconds,
            "knowledge": self.knowledge.counts,
        }
        return facts | (self._feature_facts() if self.labels is None else self._cluster_facts())

    def _cluster_facts(self) -> dict[str, Any]:
        ended = ("objective", "n_iter", "converged")
        wanted = {}
        if self.conditions is not None:
            from sidelight.runs._conditions import condition_facts

            k = len(self.estimator.cluster_sizes_)
            wanted = {"conditions": condition_facts(self.conditions, self.labels, k)}
        return {
            **wanted,
            "sizes": self.sizes,
            "classes": self.class_names,
            **{name: getattr(self.estimator, f"{name}_", None) for name in ended},
            "violations": self.violations.as_dict(),
            "scores": self.scores or None,
        }

    def _feature_facts(self) -> dict[str, Any]:
        names = self.features_in
        facts: dict[str, Any] = {"features_in": names, "features_out": self.feature_names}
        if self.method.tags.kind == "embedding":
            facts["quality"] = self.quality
        if not hasattr(self.estimator, "get_support"):
            return facts
        return {
            **facts,
            "selected": np.asarray(names, object)[self.estimator.get_support()].tolist(),
            "scores": dict(zip(names, np.asarray(self.estimator.scores_).tolist(), strict=True)),
            "ranking": dict(zip(names, np.asarray(self.estimator.ranking_).tolist(), strict=True)),
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Keep the model with all that new rows need, for :func:`sidelight.runs.load_model`."""
        return self.write(model=path)["model"]

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as one HTML file."""
        return self.write(report=path)["report"]

    def _inputs(self) -> Iterable[str | os.PathLike[str]]:
        return [self.data.path, *self.request.inputs]

    def _writers(self, safe_ids: bool) -> dict[str, Callable[[Path], None]]:
        return {
            **super()._writers(safe_ids),
            "report": self._fill_report,
            "model": self._fill_model,
        }

    def _used(self) -> dict[str, int]:
        """Count the statements of the kinds that the method looks at."""
        used = {kind.replace("-", "_") for kind in self.method.tags.knowledge}
        return {kind: n for kind, n in self.knowledge.counts.items() if n and kind in used}

    def _fill_model(self, path: Path) -> None:
        data = self.data
        fill_model(
            Model(
                estimator=self.estimator,
                preparer=self.preparer,
                method=self.method.name,
                feature_names=used_columns(self.preparer, data.feature_names),
                id_column=data.id_column,
                zero_based=data.zero_based,
                knowledge=self._used(),
                label_column=data.label_column if self.method.tags.kind == "classifier" else None,
            ),
            path,
        )

    def _fill_report(self, path: Path) -> None:
        from sidelight.report import render_report

        path.write_text(render_report(**self._report()), encoding="utf-8")

    def _report(self) -> dict[str, Any]:
        """What the page tells, as :func:`sidelight.report.render_report` takes it."""
        from sidelight.runs._explain import described_columns

        data = self.data
        return {
            "estimator": self.estimator,
            "X": self.X,
            "constraints": None if self.knowledge.is_empty else self.knowledge,
            "labels_true": data.truth,
            "ids": None if data.ids is None else data.ids.tolist(),
            "feature_names": self.features_in,
            "columns": None if self.labels is None else described_columns(self),
            "preparation": self.plan,
            "title": f"{data.path.name}: {type(self.estimator).__name__}",
            "settings": {"data": str(data.path), "scale": self.scale},
            "command": self._command(),
            "seconds": self.seconds,
            "color": self.color,
            "anchors": self.anchors,
            "growth": self.growth,
            "remarks": self.remarks,
        }

    def _command(self) -> str | None:
        """Command line that repeats the run."""
        command = self.request.command_line()
        if command is None or self.growth is None:
            return command
        return f"{command} --stream --start {self.growth.n_start}"


@contextlib.contextmanager
def _heard(listens: bool) -> Iterator[list[str]]:
    """Sentences of the warnings of a fit, which are passed on; none unless it ``listens``."""
    sentences: list[str] = []
    if not listens:
        yield sentences
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield sentences
    for warning in caught:
        if warning.category is EmbeddingWarning:
            sentences.append(str(warning.message))
        warn(warning.message, warning.category)


def check_outputs(
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    **outputs: str | os.PathLike[str] | None,
) -> dict[str, Path]:
    """Complain about a place where a file cannot be written before the work, not after it.

    Parameters
    ----------
    inputs : iterable of path-like
        Files that are read: none of them may be an output, by whatever name or link.
    **outputs : path-like or None
        Where ``labels``, ``classes``, ``features``, ``coordinates``, ``entities``, ``doubtful``,
        ``splits``, ``columns``, ``published``, ``report``, ``model``, ``constraints`` and
        ``answers`` are to go; each to a file of its own.

    Returns
    -------
    dict of str to Path
        Those that are given.
    """
    paths = {kind: Path(path) for kind, path in outputs.items() if path is not None}
    for kind, path in paths.items():
        endings = OUTPUTS[kind]
        if endings and not path.name.lower().endswith(tuple(endings)):
            raise SidelightError(f"{path} should end in {' or '.join(endings)}.")
        if kind in CHECKS:
            CHECKS[kind](path)
        check_writable(path)
    check_apart(paths.values(), inputs)
    return paths


def names_out(estimator: Any, feature_names: Sequence[str]) -> list[str]:
    """Names of the features that an estimator makes."""
    return [str(n) for n in estimator.get_feature_names_out(np.asarray(feature_names, object))]
