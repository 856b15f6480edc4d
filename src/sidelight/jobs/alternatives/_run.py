"""Other splits than the known ones: clusterings of a table, each different from all before."""

from __future__ import annotations

import dataclasses
import shlex
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight._words import set_by, worded
from sidelight.cluster import find_alternatives
from sidelight.constraints import KnownSplits
from sidelight.exceptions import InvalidRequest
from sidelight.io._labels import ALTERNATIVE, ID
from sidelight.io._write_table import write_columns
from sidelight.jobs._method import PathLike, is_path
from sidelight.jobs._table._request import Request, prepare
from sidelight.jobs._table._run import PLANNED, Outcome, Prepared, Run
from sidelight.jobs.alternatives._avoided import as_list, columns_and_files, read_avoided, told_of

#: Method by default: its second and third split differ from the first as well as from the known.
DEFAULT = "conditional-information-bottleneck"
N_ALTERNATIVES = 2


@dataclass(frozen=True, eq=False)
class AlternativesRequest:
    """What is asked for: which rows, which splits to avoid, and how many other ones.

    Attributes
    ----------
    rows : Request
        The rows and all that :class:`sidelight.jobs.Request` says about them; its ``method`` is an
        alternative clusterer of the catalog, by default ``conditional-information-bottleneck``.
    avoid : str, path-like, KnownSplits, labels or table, or a sequence of names, paths and splits
        What is known already: names of columns of the data, which are then no features, unless
        ``rows.columns`` names them; files of splits by id, read by
        :meth:`sidelight.KnownSplits.read`; or splits in memory. Empty for nothing: the first
        clustering is then a plain one.
    n_alternatives : int
        Number of clusterings, each of which is avoided by the next.
    """

    rows: Request
    avoid: Any = ()
    n_alternatives: int = N_ALTERNATIVES

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        return [*self.rows.inputs, *columns_and_files(as_list(self.avoid), self.rows)[1]]

    def command_line(self) -> str | None:
        """Return the command that asks the same; None where something is only in memory."""
        command = dataclasses.replace(self.rows, command="alternatives").command_line()
        avoided = as_list(self.avoid)
        if command is None or not all(map(is_path, avoided)):
            return None
        words = [word for one in avoided for word in ("--avoid", str(one))]
        return " ".join([command, shlex.join([*words, "-n", str(self.n_alternatives)])])


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
    asked : AlternativesRequest
        What was asked for.
    """

    alternatives: tuple[Run, ...] = field(kw_only=True)
    known: KnownSplits = field(kw_only=True)
    labels: Any = field(kw_only=True)
    seconds: float = field(kw_only=True)
    asked: AlternativesRequest = field(kw_only=True)
    features: Any = field(default=None, kw_only=True)
    feature_names: list[str] = field(default_factory=list, kw_only=True)

    @property
    def names(self) -> list[str]:
        """Names of the alternatives, which are those of their columns in a file."""
        return [f"{ALTERNATIVE}{number}" for number in range(1, len(self.alternatives) + 1)]

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
        return [self.data.path, *self.asked.inputs]

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        return {
            "splits": partial(self._fill_splits, spreadsheet_safe=spreadsheet_safe),
            "report": self._fill_report,
        }

    def _fill_splits(self, path: Path, spreadsheet_safe: bool) -> None:
        columns: dict[str, Array] = {ID: np.asarray(self.data.row_ids)}
        columns.update(zip(self.names, self.labels.T, strict=True))
        write_columns(columns, path, spreadsheet_safe=spreadsheet_safe)

    def _fill_report(self, path: Path) -> None:
        from sidelight.jobs._table._explain import described_columns
        from sidelight.report.alternative._page import render_alternatives

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
            command=self.asked.command_line(),
            seconds=self.seconds,
        )
        path.write_text(page, encoding="utf-8")


@dataclass(frozen=True, eq=False)
class PreparedAlternatives:
    """A request whose rows and known splits are read, but which is not fitted.

    Attributes
    ----------
    asked : AlternativesRequest
        What was asked for.
    prepared : Prepared
        The rows, what is known about them, and the estimator.
    known : KnownSplits
        The splits to avoid.
    """

    asked: AlternativesRequest
    prepared: Prepared
    known: KnownSplits

    def fit(self) -> AlternativesRun:
        """Find the alternatives one after the other."""
        given = self.prepared
        start = time.perf_counter()
        with set_by(given.method.options):
            found = find_alternatives(
                given.estimator,
                given.X,
                self.asked.n_alternatives,
                known=None if self.known.is_empty else self.known,
                constraints=given.knowledge,
            )
        seconds = time.perf_counter() - start
        runs = tuple(
            Run(
                **{**vars(given), "estimator": one},
                labels=one.labels_,
                features=None,
                feature_names=[],
                seconds=seconds / len(found),
            )
            for one in found
        )
        return AlternativesRun(
            **{**vars(given), "estimator": found[0]},
            alternatives=runs,
            known=self.known,
            labels=np.column_stack([one.labels_ for one in found]),
            seconds=seconds,
            asked=self.asked,
        )


def prepare_alternatives(asked: AlternativesRequest) -> PreparedAlternatives:
    """Read rows and known splits, choose the method and make its estimator."""
    rows = asked.rows
    if rows.k is None:
        raise InvalidRequest(
            f"say how many clusters every split is to have: {worded('k=3', '-k 3')}, for example."
        )
    if asked.n_alternatives < 1:
        raise InvalidRequest(
            f"{worded('n_alternatives', '-n')} must be at least 1, got {asked.n_alternatives}."
        )
    avoid = as_list(asked.avoid)
    columns, files = columns_and_files(avoid, rows)
    only_avoided = [name for name in columns if name not in (rows.columns or ())]
    rows = dataclasses.replace(
        rows,
        command="alternatives",
        method=rows.method or DEFAULT,
        drop=tuple(dict.fromkeys((*rows.drop, *only_avoided))),
    )
    prepared = prepare(rows)
    known, notes = read_avoided(avoid, columns, files, rows, prepared.data)
    told = (*told_of(only_avoided), *notes)
    prepared = dataclasses.replace(
        prepared,
        request=dataclasses.replace(rows, drop=asked.rows.drop),
        notes=(*prepared.notes, *told),
    )
    return PreparedAlternatives(dataclasses.replace(asked, rows=prepared.request), prepared, known)


def alternatives(asked: AlternativesRequest) -> AlternativesRun:
    """Find splits of the rows that differ from those that are known already.

    Parameters
    ----------
    asked : AlternativesRequest
        What is asked for.

    Returns
    -------
    AlternativesRun
        The clusterings with their data, similarities, scores and ways to write them.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.jobs import AlternativesRequest, Request
    >>> from sidelight.jobs.alternatives._run import alternatives
    >>> rng = np.random.default_rng(0)
    >>> side, height = rng.integers(0, 2, (2, 60))
    >>> X = np.column_stack([9 * side, 4 * height]) + rng.normal(0, 0.3, (60, 2))
    >>> found = alternatives(AlternativesRequest(Request(X, k=2), {"side": side}, 1))
    >>> found.alternatives[0].labels.shape, round(found.similarities[0][0].nmi, 1)
    ((60,), 0.0)
    """
    return prepare_alternatives(asked).fit()


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
