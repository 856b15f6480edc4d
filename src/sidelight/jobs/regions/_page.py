"""The page of connected clusters: the map, radii, distances when joining, what sets them apart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from sidelight._words import counted, format_number
from sidelight.jobs.regions._facts import n_pieces
from sidelight.pictures.inner import Run, absorption, make_run, project, region_points
from sidelight.report.inner import (
    MAX_GROUPS,
    Page,
    Panel,
    card,
    cluster_page,
    figure,
    figures,
    group,
    row_id,
    row_names,
    side,
    table,
    text_table,
)

if TYPE_CHECKING:
    from sidelight.jobs.regions._run import RegionsRun

#: Letters of the id of a center.
MAX_CENTER = 24


def page(found: RegionsRun) -> Page:
    """Return what the page of connected clusters shows: the map before that of all clusters."""
    usual = cluster_page(found.as_given, found.explanation)
    fine, status = _status(found, usual)
    run = make_run(found.as_given)
    drawn = _map(found, run)
    beside = side(
        _radii(run),
        figures(_absorption(found.estimator), size=""),
        css="full stack" if drawn is None else "side",
    )
    own = replace(
        usual,
        fine=fine,
        status=status,
        cards=[drawn, beside, *usual.cards],
        styles=["page.css"],
        package=__package__,
    )
    return found.framed(own)


def _map(found: RegionsRun, run: Run) -> Markup | None:
    if found.relations is None:
        return None
    text = "Edges between clusters are grey; outlined nodes are centers."
    places = found.coordinates
    if places is None:
        rng = np.random.default_rng(0)
        placed = project(run.source, np.arange(run.n_rows), run.feature_names, rng)
        places = placed.xy
        text += f" No coordinates were given: nodes are placed by their attributes. {placed.note}"
    centers = getattr(run.estimator, "center_nodes_", None)
    edges, labels = found.relations.edges, np.asarray(run.estimator.labels_)
    drawn = region_points(
        places,
        edges,
        labels,
        centers,
        names_of=lambda rows: row_names(run.ids, rows),
        cluster_names=run.clusters.names,
    )
    text += f" {drawn.note[:1].upper()}{drawn.note[1:]}." if drawn.note else ""
    return figure("Connected clusters on the map", drawn, text, size="plot")


def _status(found: RegionsRun, usual: Page) -> tuple[bool | None, str]:
    """Return the line at the top: what is violated, or whether every cluster is one piece."""
    relations = found.relations
    if relations is None or relations.n_hyperedges or usual.fine is False:
        return usual.fine, usual.status
    n_broken = int(np.count_nonzero(n_pieces(found.labels, relations) > 1))
    if n_broken:
        return False, f"{counted(n_broken, 'cluster')} of several pieces"
    return True, "Every cluster is one piece"


def _radii(run: Run) -> Markup | None:
    """Return radius, size and center of every cluster."""
    estimator, clusters = run.estimator, run.clusters
    radii = getattr(estimator, "radii_", None)
    if radii is None:
        return None
    centers = getattr(estimator, "center_nodes_", None)
    rows = []
    for code, number in enumerate(clusters.numbers[:MAX_GROUPS]):
        center = -1 if centers is None else int(centers[int(number)])
        rows.append(
            (
                group(code, clusters.names[code]),
                f"{clusters.sizes[code]:,}",
                format_number(float(radii[int(number)])),
                row_id(row_names(run.ids, [center])[0], MAX_CENTER) if center >= 0 else "",
            )
        )
    text = "Radius: largest distance of a row to its center."
    bound = getattr(estimator, "lower_bound_", None)
    if bound is not None and hasattr(estimator, "radius_"):
        text += (
            f" The largest is {format_number(float(estimator.radius_))}; no connected clusters "
            f"have a largest radius below {format_number(float(bound))}."
        )
    if (hidden := len(clusters.names) - MAX_GROUPS) > 0:
        text += f" {counted(hidden, 'more cluster')} not shown."
    title, sides = "Radius of every cluster", ("left", "right", "right", "left")
    told = text_table("Cluster", "Rows", "Radius", "Center", rows=rows, justify=sides)
    return card(title, table(told, scroll="scroll tall", label=title), text, size="")


def _absorption(estimator: Any) -> Panel | None:
    values = np.asarray(getattr(estimator, "absorbed_at_", ()), np.float64)
    finite = values[np.isfinite(values)]
    if len(finite) < 2:
        return None
    text = "A sudden rise at the end tells rows that fit no cluster well."
    return Panel("Distances at which rows joined", absorption(finite), text)
