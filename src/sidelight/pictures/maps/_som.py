"""Pictures of self-organizing maps: distances between nodes, columns, hits, and the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from sidelight._typing import Array
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._rows import plane_of, position_of, readable, sampled_note
from sidelight.pictures._run import feature_names_of, sample_rows
from sidelight.pictures._selection import MAX_POINTS
from sidelight.pictures.kinds._cells import Nodes
from sidelight.pictures.kinds._points import Lines, Mark, Points
from sidelight.pictures.maps._grids import grid_cells, mean_distances, node_places

MapKind: TypeAlias = Literal["u-matrix", "component", "hits", "grid"]
KINDS = ("u-matrix", "component", "hits", "grid")


def check_map(model: Any, kind: str) -> None:
    """Raise for what is no map of one or two axes."""
    if not hasattr(model, "node_positions_"):
        raise InvalidRequest(
            f"{type(model).__name__} is no fitted self-organizing map: it has no nodes to draw."
        )
    if kind not in KINDS:
        raise InvalidRequest(f"kind is one of {', '.join(map(repr, KINDS))}, not {kind!r}.")
    n_axes = model.node_positions_.shape[1]
    if n_axes > 2 and kind != "grid":
        raise InvalidRequest(f"The grid has {n_axes} axes; cells are drawn for one or two.")


def map_cells(
    model: Any, kind: MapKind, winners: Any, feature: Any, names: Sequence[str] | None, X: Any
) -> Nodes:
    """Cells of a fitted map, with a value of every node.

    The parameters are those of ``MapDisplay.from_estimator``; winners are the nodes of the rows.
    """
    means = np.asarray(model.means_, np.float64)
    look: Literal["color", "grey", "size"] = "color"
    note = ""
    if kind == "u-matrix":
        values, title, look = (
            mean_distances(means, model.edges_),
            "distance to the neighbors",
            "grey",
        )
    elif kind == "hits":
        values = np.bincount(winners, minlength=len(means)).astype(np.float64)
        title, look = "rows", "size"
        note = f"largest cell: {max(float(values.max()), 1.0):.0f} rows"
    else:
        values, title = _component(
            means, feature, feature_names_of(names, X, model, means.shape[1])
        )
    nodes = node_places(model)
    assert nodes is not None  # a map of more axes was refused
    cells = grid_cells(
        nodes,
        model.edges_,
        values,
        hexagonal=model.topology == "hexagonal",
        title=kind,
        value_title=title,
    )
    titles = ("first coordinate of the map", "second coordinate of the map")
    return replace(cells, look=look, axis_titles=titles, heading=type(model).__name__, note=note)


def _component(means: Array, feature: Any, names: Sequence[str]) -> tuple[Array, str]:
    if feature is None:
        raise InvalidRequest("A component plane shows one column: give feature, a name or number.")
    column = position_of(feature, names, "column", "a name or number")
    return means[:, column], names[column]


def grid_over_rows(
    model: Any, X: Any, names: Sequence[str] | None, features: Sequence[Any] | None
) -> Points:
    """Nodes and rows in one plane of the data.

    The parameters are those of ``MapDisplay.from_estimator``; the rows are as the map got them.
    """
    if X is None:
        raise InvalidRequest("A grid is drawn over rows: give X.")
    source = readable(X)
    rng = np.random.default_rng(0)  # the same rows give the same picture
    rows = sample_rows(source.n_rows, MAX_POINTS, rng)
    known = feature_names_of(names, X, model, model.means_.shape[1])
    projection = plane_of(source, rows, known, rng, features)
    nodes = projection.place(model.means_)
    if projection.kind == "strip":
        nodes[:, 1] = 0.0
    is_node = np.arange(len(rows) + len(nodes)) >= len(rows)
    return Points(
        title="The nodes among the rows",
        text=f"{len(rows)} rows and {len(nodes)} nodes.",
        heading=type(model).__name__,
        note=sampled_note(len(rows), source.n_rows),
        xy=np.concatenate([projection.xy, nodes]),
        codes=np.full(len(is_node), -1),
        rows=rows,
        marks={Mark.NODE: is_node},
        lines=[Lines("edges", model.edges_ + len(rows), "ink", label=None)],
        axes=projection.kind,
        axis_titles=projection.axis_titles,
    )
