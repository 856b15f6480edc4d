"""Connected clusters: rows of a table that are joined along the edges of a graph."""

from __future__ import annotations

import dataclasses
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._fit.parameters import declared
from sidelight._typing import FloatArray
from sidelight._words import set_by, worded
from sidelight.constraints import Relations
from sidelight.constraints.relations import as_relations
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import Table
from sidelight.io._columns import number_column, row_name
from sidelight.io.formats._formats import read_raw
from sidelight.jobs._method import PathLike, is_path, paths_of
from sidelight.jobs._table._request import Request, numbers_text, prepare, several
from sidelight.jobs._table._run import Prepared, Run

DEFAULT = "connected-kmeans"


@dataclass(frozen=True, eq=False)
class RegionsRequest:
    """What is asked for: which rows, the graph between them, and how many clusters.

    Attributes
    ----------
    rows : Request
        The rows and all that :class:`sidelight.jobs.Request` says about them; its ``method`` is a
        regionalizer of the catalog, by default ``connected-kmeans``, and its ``k`` may be None or
        several numbers, of which the method finds one.
    edges : path-like, Relations, matrix, array-like of shape (m, 2) or None
        The graph; a path is read by :meth:`sidelight.Relations.read` by the ids of the rows. None
        means that every row is next to every other.
    coordinates : sequence of two str, array of shape (n_rows, 2), or empty
        Columns with the places of the rows on the map of the report, or the places themselves.
        Such columns are no features, unless ``rows.columns`` names them.
    """

    rows: Request
    edges: Any = None
    coordinates: Any = ()

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        return [*self.rows.inputs, *paths_of(self.edges)]

    @property
    def named_coordinates(self) -> tuple[str, ...]:
        """Columns of the coordinates; empty where they are given as numbers, or not at all."""
        given = self.coordinates
        if isinstance(given, Sequence) and all(isinstance(name, str) for name in given):
            return tuple(given)
        return ()

    def command_line(self) -> str | None:
        """Return the command that asks the same; None where something is only in memory."""
        command = self.rows.command_line()
        if command is None or not (self.edges is None or is_path(self.edges)):
            return None
        words = [] if self.edges is None else ["--edges", str(self.edges)]
        if self.named_coordinates:
            words += ["--coordinates", ",".join(self.named_coordinates)]
        return " ".join([command, shlex.join(words)]).strip()


@dataclass(frozen=True, eq=False, repr=False)
class RegionsRun(Run):
    """Connected clusters of the rows of a table.

    Attributes
    ----------
    request, method, estimator, data, X, preparer, knowledge, notes, labels, seconds
        As in :class:`sidelight.jobs.Run`.
    relations : Relations or None
        The graph between the rows.
    coordinates : ndarray of shape (n_rows, 2) or None
        Their places on the map.
    asked : RegionsRequest
        What was asked for.
    """

    relations: Relations | None = field(default=None, kw_only=True)
    coordinates: FloatArray | None = field(default=None, kw_only=True)
    asked: RegionsRequest = field(kw_only=True)

    def _cluster_facts(self) -> dict[str, Any]:
        model = self.estimator
        names = ("radii", "radius", "lower_bound", "center_nodes")
        own = {name: getattr(model, f"{name}_", None) for name in names}
        centers = own.pop("center_nodes")
        if centers is not None:
            own["centers"] = [
                self.data.row_ids[row].item() if row >= 0 else None for row in centers
            ]
        n_edges = None if self.relations is None else self.relations.n_edges
        return {**super()._cluster_facts(), "n_edges": n_edges, **own}

    @property
    def inputs(self) -> list[PathLike]:
        """Files that were read, which no output may replace."""
        return [self.data.path, *self.asked.inputs]

    def _fill_report(self, path: Path) -> None:
        from sidelight.report.relational._regions import render_regions

        told = self._report()
        unused = ("color", "anchors", "growth", "remarks")
        page = render_regions(
            relations=self.relations,
            coordinates=self.coordinates,
            **{name: value for name, value in told.items() if name not in unused},
        )
        path.write_text(page, encoding="utf-8")

    def _command(self) -> str | None:
        return self.asked.command_line()


@dataclass(frozen=True, eq=False)
class PreparedRegions:
    """A request whose rows and graph are read, but which is not fitted.

    Attributes
    ----------
    asked : RegionsRequest
        What was asked for.
    prepared : Prepared
        The rows, what is known about them, and the estimator.
    relations : Relations or None
        The graph between the rows.
    coordinates : ndarray of shape (n_rows, 2) or None
        Their places on the map.
    """

    asked: RegionsRequest
    prepared: Prepared
    relations: Relations | None
    coordinates: FloatArray | None

    def fit(self) -> RegionsRun:
        """Fit the estimator."""
        given = self.prepared
        start = time.perf_counter()
        estimator: Any = given.method.cls(**given.estimator.get_params(deep=False))
        with set_by(given.method.options):
            estimator.fit(given.X, constraints=given.knowledge, relations=self.relations)
        return RegionsRun(
            **{**vars(given), "estimator": estimator},
            labels=estimator.labels_,
            features=None,
            feature_names=[],
            seconds=time.perf_counter() - start,
            relations=self.relations,
            coordinates=self.coordinates,
            asked=self.asked,
        )


def prepare_regions(asked: RegionsRequest) -> PreparedRegions:
    """Read rows and graph, and make the estimator."""
    rows = asked.rows
    named = asked.named_coordinates
    if len(named) not in (0, 2):
        raise InvalidRequest(
            f"a map has two coordinates, got {len(named)}: {worded('coordinates', '--coordinates')}"
            " names two columns, such as east,north."
        )
    only_places = [name for name in named if name not in (rows.columns or ())]
    rows = dataclasses.replace(
        rows,
        command="regions",
        method=rows.method or DEFAULT,
        drop=tuple(dict.fromkeys((*rows.drop, *only_places))),
    )
    prepared = prepare(dataclasses.replace(rows, k=None) if _searches(rows.k) else rows)
    prepared = dataclasses.replace(prepared, request=rows, estimator=_with_number(prepared, rows.k))
    relations, notes = _graph(asked.edges, prepared)
    prepared = dataclasses.replace(prepared, notes=(*prepared.notes, *notes))
    return PreparedRegions(
        dataclasses.replace(asked, rows=rows),
        prepared,
        relations,
        _coordinates(asked, prepared.data),
    )


def regions(asked: RegionsRequest) -> RegionsRun:
    """Cluster rows so that every cluster is one piece of a graph.

    Parameters
    ----------
    asked : RegionsRequest
        What is asked for.

    Returns
    -------
    RegionsRun
        The fitted estimator with its data, scores and ways to write them.

    Examples
    --------
    >>> from sidelight.jobs import RegionsRequest, Request
    >>> from sidelight.jobs.regions._run import regions
    >>> rows = Request([[0.0], [0.2], [5.0], [5.1]], k=2)
    >>> found = regions(RegionsRequest(rows, edges=[(0, 1), (1, 2), (2, 3)]))
    >>> found.labels.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """
    return prepare_regions(asked).fit()


def _searches(k: Any) -> bool:
    """Whether the number of clusters is to be found."""
    return k is None or several(k)


def _with_number(prepared: Prepared, k: Any) -> Any:
    """The estimator; it finds the number of clusters where none, or a range, is given."""
    estimator, method = prepared.estimator, prepared.method
    if not _searches(k):
        return estimator
    finds = "auto" in declared(method.cls)["n_clusters"].type_text
    if not finds:
        raise InvalidRequest(
            f"say how many clusters {method.cls.__name__} is to find, one number: "
            f"{worded('k=3', '-k 3')}, for example."
        )
    if k is None:
        return estimator.set_params(n_clusters="auto")
    numbers = sorted(int(number) for number in k)
    if numbers != list(range(numbers[0], numbers[-1] + 1)):
        raise InvalidRequest(
            f"numbers of clusters to try are a range, such as {worded('range(2, 9)', '-k 2:8')}; "
            f"got {numbers_text(k)}."
        )
    return estimator.set_params(n_clusters=(numbers[0], numbers[-1]))


def _graph(edges: Any, prepared: Prepared) -> tuple[Relations | None, tuple[str, ...]]:
    """The graph between the rows, by their ids."""
    data = prepared.data
    if edges is None:
        return None, ("No edges were given: every row is next to every other.",)
    if is_path(edges):
        relations = Relations.read(edges, ids=data.row_ids)
    else:
        relations = as_relations(edges, data.n_rows, prepared.request.data)
    return relations, relations.notes


def _coordinates(asked: RegionsRequest, data: Table) -> FloatArray | None:
    """Places of the rows on the map."""
    names = asked.named_coordinates
    if not names:
        if asked.coordinates is None or not len(asked.coordinates):
            return None
        places = np.asarray(asked.coordinates, np.float64)
        if places.shape != (data.n_rows, 2) or not np.isfinite(places).all():
            raise InvalidRequest(
                f"coordinates hold two finite numbers for each of the {data.n_rows} rows, got "
                f"shape {places.shape}."
            )
        return places
    if asked.rows.path is None:
        raise InvalidRequest(
            "columns of coordinates are named only where the rows are a file; give an array."
        )
    raw = read_raw(asked.rows.path, keep_types=False)
    places = np.empty((data.n_rows, 2))
    for place, name in enumerate(names):
        values = number_column(raw.column(name))
        if values is None:
            raise SidelightError(f"The coordinates in {name!r} of {data.path} are no numbers.")
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            where = row_name(data.ids, int(bad[0]))
            raise SidelightError(
                f"The coordinate {name!r} of {where} in {data.path} is missing; fill it in, or "
                "leave the coordinates out."
            )
        places[:, place] = values
    return places
