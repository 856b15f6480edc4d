"""A fit to a table that is read block by block, and what came out."""

from __future__ import annotations

import copy
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._words import counted, set_by
from sidelight.engine import RowValues
from sidelight.explanation import Explanation
from sidelight.io.inner import files_of, names_files
from sidelight.jobs._large._labels import fill_labels_of_parts
from sidelight.jobs._large._parts import PartedTable
from sidelight.jobs._large._sample import Sample, draw, sampled_table
from sidelight.jobs._large._workers import Workers
from sidelight.jobs._outputs import PathLike
from sidelight.jobs._table._model import Model
from sidelight.jobs._table._run import Prepared, Run
from sidelight.jobs._table._words import words
from sidelight.report.inner import Told

if TYPE_CHECKING:
    from sidelight.report.inner import Page

#: Clusters of more rows than this are kept in a temporary file.
MAX_LABELS = 1 << 27
#: What a fit keeps of every row.
OF_ROWS = ("labels_", "transduction_")


@dataclass(frozen=True, eq=False)
class LargePrepared(Prepared):
    """A request about a large table, whose preparation is fitted and whose estimator is made.

    Attributes
    ----------
    table : PartedTable
        The files.
    local : RowSource
        The rows as this process reads them.
    workers : Workers
        Who works on them.
    """

    table: PartedTable = field(kw_only=True)
    local: Any = field(kw_only=True)
    workers: Workers = field(kw_only=True)

    def run(self) -> Run:
        """Fit the estimator; what it found for every row is brought here as it is needed."""
        start = time.perf_counter()
        estimator = self.method.cls(**self.estimator.get_params(deep=False))
        workers = self.workers
        try:
            with (
                workers.within_memory(),
                workers.checkpointed(),
                set_by(self.method.options),
            ):
                estimator.fit(self.X, constraints=self.knowledge)
                labels = gathered(estimator.labels_)
                _bring_here(estimator, labels)
        finally:
            workers.close()
        # The preparation knows the names; new rows come as plain numbers, as after a fit in memory.
        estimator.__dict__.pop("feature_names_in_", None)
        given = {name: value for name, value in vars(self).items() if name != "workers"}
        local = given.pop("local")
        given |= {"X": local, "data": replace(self.data, X=local), "estimator": estimator}
        return LargeRun(
            **given,
            labels=labels,
            features=None,
            feature_names=[],
            seconds=time.perf_counter() - start,
        )


def gathered(values: Any) -> Any:
    """Return a whole number for every row, brought here from one partition after the other."""
    if not isinstance(values, RowValues):
        return np.asarray(values)
    n_rows = len(values)
    if n_rows > MAX_LABELS:
        file = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as the array is)
        here: Any = np.memmap(file, dtype=np.int32, mode="w+", shape=(n_rows,))
    else:
        here = np.empty(n_rows, dtype=np.int32)
    for start, stop, some in values.parts():
        here[start:stop] = some
    return here


def _bring_here(estimator: Any, labels: Any) -> None:
    """Replace what is still beside partitions, whose workers go."""
    estimator.labels_ = labels
    for name, value in vars(estimator).items():
        if isinstance(value, RowValues):
            setattr(estimator, name, np.concatenate([some for _, _, some in value.parts()]))


@dataclass(frozen=True, eq=False, repr=False)
class LargeRun(Run):
    """A fit to a table that is read block by block.

    Sizes, scores and violated statements count all rows; explanation and report look at a sample.

    Attributes
    ----------
    request, method, estimator, data, X, preparer, knowledge, notes
        As in :class:`Prepared`; the rows of ``data`` and ``X`` are read from the files.
    labels, features, feature_names, seconds
        As in :class:`Run`.
    table : PartedTable
        The files.
    """

    table: PartedTable = field(kw_only=True)

    @property
    def inputs(self) -> Iterable[PathLike]:
        """Files that were read, which no output may replace."""
        given = self.request.data
        return [*(files_of(given) if names_files(given) else ()), *self.request.inputs]

    @property
    def title(self) -> str:
        """Title of the page: the files as they were named, and the method."""
        return f"{self.data.path}: {type(self.estimator).__name__}"

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Number of rows of every cluster, by the name of the cluster."""
        counts = np.bincount(np.asarray(self.labels) + 1)
        return {str(code - 1): int(n) for code, n in enumerate(counts) if n}

    # ------------------------------------------------------------------ the sample

    @property
    def sampled(self) -> str:
        """Of which rows explanation and report speak; empty where these are all."""
        n_drawn, n_rows = int(self._sample.is_drawn.sum()), self.data.n_rows
        return "" if n_drawn == n_rows else f"a sample of {n_drawn:,} of {counted(n_rows, 'row')}"

    @cached_property
    def _sample(self) -> Sample:
        return draw(self.data.n_rows, self.knowledge.mentioned, self.request.seed)

    @property
    def sample_rows(self) -> Any:
        """Positions of the rows of the sample, ascending."""
        return self._sample.rows

    @cached_property
    def sample(self) -> Run:
        """The fit with the rows of the sample alone, those that constraints mention among them."""
        return self._of_rows(self._sample.rows)

    def _of_rows(self, rows: Any) -> Run:
        data = sampled_table(self.table, self.data, self.preparer, rows)
        estimator = copy.copy(self.estimator)
        estimator.labels_ = self.labels[rows]
        return Run(
            self.request,
            self.method,
            estimator,
            data,
            data.X if self.preparer is None else self.preparer.transform(data),
            self.preparer,
            self.knowledge.restrict(rows),
            self.notes,
            labels=estimator.labels_,
            features=None,
            feature_names=[],
            seconds=self.seconds,
        )

    @cached_property
    def explanation(self) -> Explanation:
        """What sets the clusters apart in a sample; sizes count all rows."""
        drawn = self._sample.is_drawn
        run = self.sample if drawn.all() else self._of_rows(self._sample.rows[drawn])
        found = run.explanation
        if not self.sampled:
            return found
        n_rows, sizes = self.data.n_rows, self.sizes
        profiles = tuple(
            replace(one, size=sizes[one.name], share=sizes[one.name] / n_rows)
            for one in found.clusters
        )
        note = (
            f"What sets clusters apart, typical rows and rules come from {self.sampled}; sizes "
            "count all rows."
        )
        return replace(
            found,
            clusters=profiles,
            n_rows=n_rows,
            n_outside=sizes.get("-1", 0),
            notes=(note, *found.notes),
        )

    # ------------------------------------------------------------------ what is said and written

    def tell(self) -> list[Told]:
        """Return sizes of the clusters, what they are, and which statements they keep."""
        return words(self)

    def facts(self) -> dict[str, Any]:
        """Return what came out as plain values, and how large the sample is."""
        n_drawn = int(self._sample.is_drawn.sum())
        return {**super().facts(), "sample": {"n_rows": n_drawn, "of": self.data.n_rows}}

    def row_values(self) -> dict[str, Any]:
        """Return nothing: clusters of this many rows are written into files."""
        return {}

    def page(self) -> Page:
        """Return the page of the sample, with the sizes of all clusters."""
        return self._page_of()

    def _page_of(self, **own: Any) -> Page:
        from sidelight.pictures.inner import Whole
        from sidelight.report.inner import page_of

        given = self.sample.as_given
        if self.sampled:
            n_drawn = int(self._sample.is_drawn.sum())
            given = replace(given, whole=Whole(self.data.n_rows, self.sizes, n_drawn))
        page = self.framed(page_of(given, explanation=self.explanation, **own))
        if self._sample.has_mentioned:
            return page
        return replace(
            page, sentence=f"{page.sentence} These are the statements between rows of the sample."
        )

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        """Return what can be written: labels, report and model."""
        written = super().writers(spreadsheet_safe)
        return {kind: written[kind] for kind in ("labels", "report", "model")}

    def write(self, **outputs: Any) -> dict[str, Path]:
        """Write several files, or none of them; then the checkpoint of the fit is not needed."""
        paths = super().write(**outputs)
        checkpoint = getattr(self.request, "checkpoint", None)
        if checkpoint is not None:
            Path(checkpoint).unlink(missing_ok=True)
        return paths

    def _fill_labels(self, path: Path, spreadsheet_safe: bool) -> None:
        classes = self.class_names
        fill_labels_of_parts(
            path, self.table, self.labels, classes, spreadsheet_safe=spreadsheet_safe
        )

    def _model(self, **own: Any) -> Model:
        """Return what new rows need: it does not know the rows of the fit, which are many."""
        lighter = copy.copy(self.estimator)
        for name in OF_ROWS:
            lighter.__dict__.pop(name, None)
        from sidelight.jobs._table._model import used_columns

        return Model(
            estimator=lighter,
            preparer=self.preparer,
            method=self.method.name,
            feature_names=used_columns(self.preparer, self.table.features),
            id_column=self.data.id_column,
            zero_based=None,
            **own,
        )
