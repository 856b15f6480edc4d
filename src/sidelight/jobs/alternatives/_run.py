"""Other splits than the known ones: clusterings of a table, each different from all before."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._words import set_by, worded
from sidelight.cluster import find_alternatives
from sidelight.constraints import KnownSplits
from sidelight.exceptions import InvalidRequest
from sidelight.jobs._method import PathLike
from sidelight.jobs._table._model import Model, fill_model, rows_digest, used_columns
from sidelight.jobs._table._request import prepare as prepare_rows
from sidelight.jobs._table._run import PLANNED, Outcome, Prepared, Run
from sidelight.jobs._table._splits import fill_splits, split_names
from sidelight.jobs._tell import Told
from sidelight.jobs.alternatives._avoided import (
    as_list,
    columns_and_files,
    notes_on_columns,
    read_avoided,
)
from sidelight.jobs.alternatives._request import AlternativesRequest


@dataclass(frozen=True, eq=False, repr=False)
class AlternativesRun(Outcome, Prepared):
    """Several clusterings of the rows of a table, each different from all before.

    Attributes
    ----------
    request, method, estimator, data, X, preparer, knowledge, notes
        As in :class:`sidelight.jobs.Run`; the estimator is that of the first alternative.
    alternatives : tuple of Run
        The clusterings, in the order in which they were found.
    known : KnownSplits
        The splits that were known before.
    labels : ndarray of int32, shape (n_rows, n_alternatives)
        Cluster of every row in every alternative.
    seconds : float
        Time of all fits.
    """

    request: AlternativesRequest
    alternatives: tuple[Run, ...] = field(kw_only=True)
    known: KnownSplits = field(kw_only=True)
    labels: Any = field(kw_only=True)
    seconds: float = field(kw_only=True)
    features: Any = field(default=None, kw_only=True)
    feature_names: list[str] = field(default_factory=list, kw_only=True)

    @property
    def names(self) -> list[str]:
        """Names of the alternatives, which are those of their columns in a file."""
        return split_names(self.labels)

    @property
    def avoided_columns(self) -> dict[str, bool] | None:
        """Avoided columns of the data, and whether they hold numbers; None if others are avoided.

        New rows have the same columns, but no splits from files or memory.
        """
        columns, _ = columns_and_files(as_list(self.request.avoid), self.request)
        if tuple(columns) != self.known.names:
            return None
        return {name: name in self.known.number_names for name in columns}

    @cached_property
    def similarities(self) -> list[list[Any]]:
        """Similarity of every alternative to the known splits and to the alternatives before."""
        from sidelight.evaluation import similarity_to_splits

        splits, found = self.known, []
        for name, one in zip(self.names, self.alternatives, strict=True):
            found.append(similarity_to_splits(one.labels, splits))
            splits = splits.adding(name, one.labels)
        return found

    def facts(self) -> dict[str, Any]:
        """Return what came out as plain values: sizes, similarities to known splits, scores."""
        return {
            "data": str(self.data.path),
            "method": self.method.name,
            "parameters": _plain_parameters(self.estimator),
            "n_rows": self.data.n_rows,
            "n_features": len(self.features_in),
            "preparation": [dict(zip(PLANNED, row, strict=True)) for row in self.plan],
            "seconds": self.seconds,
            "avoided": [
                {"name": column.name, "n_classes": _n_classes(column)}
                for column in self.known.columns()
            ],
            "alternatives": [
                {
                    "name": name,
                    "sizes": one.sizes,
                    "objective": one.estimator.objective_,
                    "n_iter": one.estimator.n_iter_,
                    "converged": one.estimator.converged_,
                    "scores": one.scores or None,
                    "similar_to": [_similarity(found) for found in similar],
                }
                for name, one, similar in zip(
                    self.names, self.alternatives, self.similarities, strict=True
                )
            ],
        }

    @property
    def inputs(self) -> Iterable[PathLike]:
        """Files that were read, which no output may replace."""
        return [self.data.path, *self.request.inputs]

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        fill = partial(fill_splits, self.data, self.labels, spreadsheet_safe=spreadsheet_safe)
        return {"splits": fill, "report": self._fill_report, "model": self._fill_model}

    def tell(self) -> list[Told]:
        """Return every split with its sizes, its clusters and how near it is to the others."""
        from sidelight.jobs.alternatives._words import words

        return words(self)

    def _fill_model(self, path: Path) -> None:
        data = self.data
        model = Model(
            estimator=self.estimator,
            preparer=self.preparer,
            method=self.method.name,
            feature_names=used_columns(self.preparer, data.feature_names),
            id_column=data.id_column,
            zero_based=data.zero_based,
            splits=[one.estimator for one in self.alternatives],
            avoided=self.avoided_columns,
            fit_rows=rows_digest(self.X),
        )
        fill_model(model, path)

    def _fill_report(self, path: Path) -> None:
        from sidelight.jobs._table._explain import described_columns
        from sidelight.jobs.alternatives._page import render_alternatives

        data = self.data
        page = render_alternatives(
            [one.estimator for one in self.alternatives],
            self.X,
            known=self.known,
            labels_true=data.truth,
            ids=None if data.ids is None else data.ids.tolist(),
            feature_names=self.features_in,
            columns=described_columns(self.alternatives[0]),
            preparation=self.plan,
            title=f"{data.path.name}: other splits",
            settings={"data": str(data.path), "scale": self.scale},
            command=self.request.command_line(),
            seconds=self.seconds,
        )
        path.write_text(page, encoding="utf-8")


@dataclass(frozen=True, eq=False)
class PreparedAlternatives(Prepared):
    """A request whose rows and known splits are read, but which is not fitted.

    Attributes
    ----------
    request, method, estimator, data, X, preparer, knowledge, notes
        As in :class:`Prepared`.
    known : KnownSplits or None
        The splits to avoid.
    """

    request: AlternativesRequest
    known: KnownSplits | None = field(default=None, kw_only=True)

    def run(self) -> AlternativesRun:  # type: ignore[override]
        """Find the alternatives one after the other."""
        assert self.known is not None  # it was read
        start = time.perf_counter()
        with set_by(self.method.options):
            found = find_alternatives(
                self.estimator,
                self.X,
                self.request.number,
                known=None if self.known.is_empty else self.known,
                constraints=self.knowledge,
            )
        seconds = time.perf_counter() - start
        given = {one.name: getattr(self, one.name) for one in dataclasses.fields(Prepared)}
        runs = tuple(
            Run(
                **{**given, "estimator": one},
                labels=one.labels_,
                features=None,
                feature_names=[],
                seconds=seconds / len(found),
            )
            for one in found
        )
        return AlternativesRun(
            **{**given, "estimator": found[0]},
            alternatives=runs,
            known=self.known,
            labels=np.column_stack([one.labels_ for one in found]),
            seconds=seconds,
        )


def prepare(request: AlternativesRequest) -> PreparedAlternatives:
    """Read rows and known splits, choose the method and make its estimator.

    Parameters
    ----------
    request : AlternativesRequest
        What is asked for.

    Returns
    -------
    PreparedAlternatives
        All that the search needs; ``run()`` does it.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import jobs
    >>> rng = np.random.default_rng(0)
    >>> side, height = rng.integers(0, 2, (2, 60))
    >>> X = np.column_stack([9 * side, 4 * height]) + rng.normal(0, 0.3, (60, 2))
    >>> found = jobs.run("alternatives", data=X, k=2, avoid={"side": side}, number=1, raw=True)
    >>> found.alternatives[0].labels.shape, round(found.similarities[0][0].nmi, 1)
    ((60,), 0.0)
    """
    if request.k is None:
        raise InvalidRequest(
            f"say how many clusters every split is to have: {worded('k=3', '-k 3')}, for example."
        )
    avoid = as_list(request.avoid)
    columns, files = columns_and_files(avoid, request)
    only_avoided = [name for name in columns if name not in (request.columns or ())]
    # Files of splits name rows too, but only constraints tell which column holds the ids.
    asked = dataclasses.replace(request, avoid=())
    found: Any = prepare_rows(asked, aside=only_avoided, kind=PreparedAlternatives)
    known, notes = read_avoided(avoid, columns, files, request, found.data)
    notes = (*found.notes, *notes_on_columns(only_avoided), *notes)
    ready: PreparedAlternatives = dataclasses.replace(
        found,
        request=dataclasses.replace(found.request, avoid=request.avoid),
        notes=notes,
        known=known,
    )
    return ready


def _plain_parameters(estimator: Any) -> dict[str, Any]:
    return {
        name: value if not hasattr(value, "get_params") else repr(value)
        for name, value in estimator.get_params(deep=False).items()
    }


def _n_classes(column: Any) -> int | None:
    return None if column.classes is None else len(column.classes)


def _similarity(found: Any) -> dict[str, Any]:
    """Similarity by name, without what numbers do not have."""
    return {
        name: None if isinstance(value, float) and np.isnan(value) else value
        for name, value in found._asdict().items()
    }
