"""The page of connected clusters: the map, radii, distances when joining, what sets them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from sidelight._typing import FloatArray
from sidelight._words import counted, format_number
from sidelight.constraints import Constraints, Relations
from sidelight.jobs.regions._facts import n_pieces
from sidelight.pictures._projection import project
from sidelight.pictures._run import Given, make_given, make_run
from sidelight.pictures.relational._absorption import absorption
from sidelight.pictures.relational._region_map import region_points
from sidelight.pictures.svg._render import svg_of
from sidelight.report import sections
from sidelight.report._report import _cluster_cards
from sidelight.report.figures import figure
from sidelight.report.page import row_names
from sidelight.report.sections import MAX_GROUPS, Section, status
from sidelight.report.tables import settings_of, versions
from sidelight.report.templates import render, resource


def render_regions(
    *,
    estimator: Any,
    X: Any,
    relations: Relations | None,
    coordinates: FloatArray | None,
    constraints: Constraints | None,
    labels_true: Any = None,
    ids: Sequence[Any] | None = None,
    feature_names: Sequence[str] | None = None,
    columns: Any = None,
    preparation: Sequence[tuple[str, str, str]] = (),
    title: str | None = None,
    settings: Any = None,
    command: str | None = None,
    seconds: float | None = None,
) -> str:
    """Return the report of connected clusters as HTML.

    Parameters
    ----------
    estimator : ConnectedKMeans, NetScan or ConnectedKCenter
        Fitted.
    X : array of shape (n_samples, n_features)
        The rows that it was fitted to.
    relations : Relations or None
        The graph; None where every row is next to every other.
    coordinates : ndarray of shape (n_samples, 2) or None
        Places of the rows on the map; without them the rows are placed by their attributes.
    constraints, labels_true, ids, feature_names, columns, preparation, title, settings, command, \
seconds
        As for :func:`sidelight.report.render_report`.
    """
    given = make_given(
        estimator,
        X,
        constraints=constraints,
        labels_true=labels_true,
        ids=ids,
        feature_names=feature_names,
    )
    cards = _cluster_cards(given, columns)
    n_colors = max(len(np.unique(estimator.labels_)), 1)
    if given.truth is not None:
        n_colors = max(n_colors, len(given.truth.names))
    style = resource("page.css", str(__package__)) + sections.colours(n_colors)
    context = {
        **cards,
        **sections.heading(given, title, seconds, cards["facts_of_its_own"]),
        **_map(given, relations, coordinates),
        **_radii(given),
        **_absorption(estimator),
        **_pieces(estimator, relations, cards["status"]),
        "colours": Markup(style),
        "method_line": sections.method_line(estimator),
        "settings": settings_of(estimator, settings),
        "versions": versions(),
        "preparation": preparation,
        "command": command,
    }
    return render("page.html.j2", context, str(__package__))


def _map(given: Given, relations: Relations | None, coordinates: FloatArray | None) -> Section:
    if relations is None:
        return {"region_map": None, "region_note": ""}
    note = "Edges between clusters are grey; outlined nodes are centers."
    if coordinates is None:
        rng = np.random.default_rng(0)
        placed = project(given.source, np.arange(given.n_rows), given.feature_names, rng)
        coordinates = placed.xy
        note += f" No coordinates were given: nodes are placed by their attributes. {placed.note}"
    estimator = given.estimator
    centers = getattr(estimator, "center_nodes_", None)
    drawn = region_points(
        coordinates,
        relations.edges,
        np.asarray(estimator.labels_),
        centers,
        names_of=lambda rows: row_names(given.ids, rows),
        cluster_names=make_run(given).clusters.names,
    )
    note += f" {drawn.note[:1].upper()}{drawn.note[1:]}." if drawn.note else ""
    return {
        "region_map": Markup(svg_of(drawn)),
        "region_note": note,
    }


def _pieces(estimator: Any, relations: Relations | None, asked: Section) -> Section:
    """Return the line at the top: what is violated, or whether every cluster is one piece."""
    if relations is None or relations.n_hyperedges or asked["kind"] == "bad":
        return {"status": asked}
    n_broken = int(np.count_nonzero(n_pieces(estimator.labels_, relations) > 1))
    if n_broken:
        return {"status": status(False, f"{counted(n_broken, 'cluster')} of several pieces")}
    return {"status": status(True, "Every cluster is one piece")}


def _radii(given: Given) -> Section:
    """Radius, size and center of every cluster."""
    estimator = given.estimator
    radii = getattr(estimator, "radii_", None)
    if radii is None:
        return {"radii": [], "radius_note": ""}
    run = make_run(given)
    centers = getattr(estimator, "center_nodes_", None)
    rows = []
    for code, (name, number) in enumerate(
        zip(run.clusters.names, run.clusters.numbers, strict=True)
    ):
        cluster = int(number)
        center = -1 if centers is None else int(centers[cluster])
        rows.append(
            {
                "number": code,
                "name": name,
                "size": f"{int(run.clusters.sizes[code]):,}",
                "radius": format_number(float(radii[cluster])),
                "center": row_names(given.ids, [center])[0] if center >= 0 else "",
            }
        )
    note = "Radius: largest distance of a row to its center."
    bound = getattr(estimator, "lower_bound_", None)
    if bound is not None and hasattr(estimator, "radius_"):
        note += (
            f" The largest is {format_number(float(estimator.radius_))}; no connected clusters "
            f"have a largest radius below {format_number(float(bound))}."
        )
    hidden = len(rows) - MAX_GROUPS
    if hidden > 0:
        note += f" {counted(hidden, 'more cluster')} not shown."
    return {"radii": rows[:MAX_GROUPS], "radius_note": note}


def _absorption(estimator: Any) -> Section:
    values = np.asarray(getattr(estimator, "absorbed_at_", ()), np.float64)
    finite = values[np.isfinite(values)]
    if len(finite) < 2:
        return {"absorption": None}
    note = "A sudden rise at the end tells rows that fit no cluster well."
    return {"absorption": figure("Distances at which rows joined", absorption(finite), note)}
