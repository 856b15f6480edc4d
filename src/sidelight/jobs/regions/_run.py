"""Connected clusters: rows of a table that are joined along the edges of a graph."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._fit.parameters import declared
from sidelight._typing import FloatArray
from sidelight._words import worded
from sidelight.constraints import Relations, as_relations
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import Table
from sidelight.io.inner import number_column, read_raw, row_name
from sidelight.jobs._method import is_path
from sidelight.jobs._options import write_numbers
from sidelight.jobs._table._request import prepare as prepare_rows
from sidelight.jobs._table._request import several
from sidelight.jobs._table._run import Prepared, Run
from sidelight.jobs.regions._request import RegionsRequest

if TYPE_CHECKING:
    from sidelight.report.inner import Page


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

    Examples
    --------
    >>> from sidelight import jobs
    >>> rows, edges = [[0.0], [0.2], [5.0], [5.1]], [(0, 1), (1, 2), (2, 3)]
    >>> found = jobs.run("regions", data=rows, k=2, edges=edges)
    >>> found.labels.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """

    relations: Relations | None = field(default=None, kw_only=True)
    coordinates: FloatArray | None = field(default=None, kw_only=True)

    def _cluster_facts(self) -> dict[str, Any]:
        own = self.fitted("radii", "radius", "lower_bound", "center_nodes")
        centers = own.pop("center_nodes")
        if centers is not None:
            own["centers"] = [
                self.data.row_ids[row].item() if row >= 0 else None for row in centers
            ]
        n_edges = None if self.relations is None else self.relations.n_edges
        return {**super()._cluster_facts(), "n_edges": n_edges, **own}

    def page(self) -> Page:
        page: Page = self.module("_page").page(self)
        return page


@dataclass(frozen=True, eq=False)
class PreparedRegions(Prepared):
    """A request whose rows and graph are read, but which is not fitted.

    Attributes
    ----------
    request, method, estimator, data, X, preparer, knowledge, notes
        As in :class:`Prepared`.
    relations : Relations or None
        The graph between the rows.
    coordinates : ndarray of shape (n_rows, 2) or None
        Their places on the map.
    """

    relations: Relations | None = field(default=None, kw_only=True)
    coordinates: FloatArray | None = field(default=None, kw_only=True)

    def _fit_params(self) -> dict[str, Any]:
        return {"relations": self.relations}

    def _result(self, estimator: Any) -> type[Run]:
        return RegionsRun


def prepare(request: RegionsRequest) -> PreparedRegions:
    """Read rows and graph, and make the estimator."""
    named = request.named_coordinates
    if len(named) not in (0, 2):
        raise InvalidRequest(
            f"a map has two coordinates, got {len(named)}: {worded('coordinates', '--coordinates')}"
            " names two columns, such as east,north."
        )
    places = [name for name in named if name not in (request.columns or ())]
    asked = dataclasses.replace(request, k=None) if _searches(request.k) else request
    rows: Any = prepare_rows(asked, aside=places, kind=PreparedRegions)
    relations, notes = _graph(request.edges, rows)
    ready: PreparedRegions = dataclasses.replace(
        rows,
        request=dataclasses.replace(request, raw=rows.request.raw),
        estimator=_with_number(rows, request.k),
        notes=(*rows.notes, *notes),
        relations=relations,
        coordinates=_coordinates(request, rows.data),
    )
    return ready


def _searches(k: Any) -> bool:
    """Return whether the number of clusters is to be found."""
    return k is None or several(k)


def _with_number(prepared: Prepared, k: Any) -> Any:
    """Return the estimator; it finds the number of clusters where none, or a range, is given."""
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
            f"got {write_numbers(k)}."
        )
    return estimator.set_params(n_clusters=(numbers[0], numbers[-1]))


def _graph(edges: Any, prepared: Prepared) -> tuple[Relations | None, tuple[str, ...]]:
    """Return the graph between the rows, by their ids."""
    data = prepared.data
    if edges is None:
        return None, ("No edges were given: every row is next to every other.",)
    if is_path(edges):
        relations = Relations.read(edges, ids=data.row_ids)
    else:
        relations = as_relations(edges, data.n_rows, prepared.request.data)
    return relations, relations.notes


def _coordinates(request: RegionsRequest, data: Table) -> FloatArray | None:
    """Return the places of the rows on the map."""
    names = request.named_coordinates
    if not names:
        if request.coordinates is None or not len(request.coordinates):
            return None
        places = np.asarray(request.coordinates, np.float64)
        if places.shape != (data.n_rows, 2) or not np.isfinite(places).all():
            raise InvalidRequest(
                f"coordinates hold two finite numbers for each of the {data.n_rows} rows, got "
                f"shape {places.shape}."
            )
        return places
    if request.path is None:
        raise InvalidRequest(
            "columns of coordinates are named only where the rows are a file; give an array."
        )
    raw = read_raw(request.path, keep_types=False)
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
