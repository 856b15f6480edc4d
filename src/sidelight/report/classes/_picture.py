"""The map of the rows by class: given classes stand out, rows in doubt are hollow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from sidelight._typing import Array, IntArray
from sidelight._words import counted
from sidelight.pictures import Mark, Points, Regions
from sidelight.pictures.inner import (
    DOUBTFUL,
    Links,
    Projection,
    Selection,
    class_codes,
    regions_on,
    rows_in_plane,
    shorten,
)
from sidelight.report.cards import MAX_GROUPS
from sidelight.report.classes._classified import ClassifiedRun
from sidelight.report.clusters import map_notes
from sidelight.report.plot import by_groups, plot, plot_script
from sidelight.report.tables import statements_card

#: Places to the right and upwards at which regions are found out.
REGIONS = (124, 68)


class Drawn(NamedTuple):
    """The map of the rows, its script, and what was asked of pairs and groups, one by one."""

    map: Markup
    script: Markup
    statements: Markup | None


def draw(run: ClassifiedRun) -> Drawn:
    """Draw the rows, and list what was asked of pairs and groups; labels are in the picture."""
    plane = rows_in_plane(run)
    links, selection, projection = plane.links, plane.selection, plane.projection
    rows = plane.rows
    numbers = run.truth_numbers
    names = run.names if len(run.names) <= MAX_GROUPS else ()
    drawn = plane.points(
        title="The data with its classes",
        text=f"{counted(run.n_rows, 'row')} of {counted(len(run.names), 'class', 'classes')}.",
        others=None if run.truth is None else np.append(numbers, -1)[run.truth.codes[rows]],
        names=dict(enumerate(names)),
        marks={
            Mark.WRONG: plane.ringed,
            Mark.GIVEN: run.stated[rows],
            Mark.DOUBTFUL: run.doubtful[rows] & ~run.stated[rows],
        },
        regions=_regions(run, projection),
        interactive=True,
    )
    colorings = [by_groups("cluster", "Classes found", run.clusters, label="Classes")]
    if run.truth is not None:
        colorings.append(by_groups("label", "True classes", run.truth, numbers))
    card = plot(
        "Map of the data",
        drawn,
        selection.links,
        colorings,
        axes=projection.titles,
        notes=_notes(run, links, selection, drawn, projection.note),
        marks_given=True,
    )
    listed = len(links) or run.constraints.has_groups
    return Drawn(
        card,
        plot_script(run, rows, selection.links, run.truth, about=_about(run, rows)),
        statements_card(run, links, selection, "Class") if listed else None,
    )


def _regions(run: ClassifiedRun, projection: Projection) -> Regions | None:
    """Class that a new row would get, where the picture shows all that the classifier sees."""
    if projection.kind != "plane" or run.estimator.n_features_in_ != 2:
        return None

    def color_of(points: Array) -> IntArray:
        return class_codes(run.estimator.predict(points.astype(run.rows.dtype)), run.names)

    return regions_on(projection.xy, REGIONS, color_of)


def _notes(
    run: ClassifiedRun, links: Links, selection: Selection, drawn: Points, note: str
) -> list[str]:
    notes = map_notes(run, links, selection, note, drawn)
    if run.stated.any():
        notes.append(f"Ringed: the {int(run.stated.sum()):,} rows whose class was given.")
    if run.doubtful.any():
        how = f"the best class less than {DOUBTFUL:.0%} ahead of the second"
        if not run.decisions.are_probabilities:
            how = "the smallest decision values"
        notes.append(f"Hollow: {counted(int(run.doubtful.sum()), 'row')} in doubt ({how}).")
    if drawn.regions is not None:
        notes.append("Shades: the class of a new row in this place.")
    return notes


def _about(run: ClassifiedRun, rows: IntArray) -> list[list[str]]:
    """Return what every drawn row says where it is pointed at."""
    names = run.names
    decisions, best = run.decisions, run.decisions.best_two
    about = []
    for row in rows.tolist():
        found = shorten(run.clusters.name(int(run.clusters.codes[row])))
        lines = [f"class {found}, {'given' if run.stated[row] else 'predicted'}"]
        lines += [f"{shorten(names[code])}: {decisions.shown(row, code)}" for code in best[row]]
        if run.contrast is not None and run.contrast.alone is not None and not run.stated[row]:
            alone = run.clusters.name(int(run.contrast.alone[row]))
            lines.append(f"on the labels alone: {shorten(alone)}")
        about.append(lines)
    return about
