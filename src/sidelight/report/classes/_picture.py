"""The map of the rows by class: given classes stand out, rows in doubt are hollow."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from sidelight._typing import Array, IntArray
from sidelight._words import counted
from sidelight.pictures._plane import rows_in_plane
from sidelight.pictures._points import Mark, Points, Regions, regions_on
from sidelight.pictures._projection import Projection
from sidelight.pictures._run import shorten
from sidelight.pictures._selection import Links, Selection
from sidelight.pictures.classes._decisions import DOUBTFUL, class_codes
from sidelight.pictures.svg._points import placed
from sidelight.pictures.svg._render import svg_of
from sidelight.report.classes._classified import ClassifiedRun
from sidelight.report.sections import (
    MAX_GROUPS,
    Section,
    chips,
    colours,
    for_script,
    link_switches,
    listed_statements,
    picture_notes,
)

#: Places to the right and upwards at which regions are found out.
REGIONS = (124, 68)


def picture(run: ClassifiedRun) -> Section:
    """Draw the rows, and list what was asked about pairs and groups."""
    plane = rows_in_plane(run)
    links, selection, projection = plane.links, plane.selection, plane.projection
    rows = selection.rows
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
    n_colours = max(len(run.names), int(numbers.max(initial=-1)) + 1)
    return {
        "scatter": Markup(svg_of(drawn)),
        "axis_titles": projection.titles,
        "notes": _notes(run, links, selection, drawn, projection.note),
        **link_switches(selection.links),
        "colours": Markup(colours(n_colours)),
        "drawn": Markup(_about(run, selection)),
        "class_chips": chips(run.clusters, np.arange(len(run.names))),
        "n_hidden_classes": max(0, len(run.names) - MAX_GROUPS),
        "truth_chips": [] if run.truth is None else chips(run.truth, numbers),
        "n_hidden_truth": 0 if run.truth is None else max(0, len(numbers) - MAX_GROUPS),
        **_pairs(run, links, selection),
    }


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
    notes = picture_notes(run, links, selection, note, placed(drawn).n_beyond)
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


def _about(run: ClassifiedRun, selection: Selection) -> str:
    """What the script tells about points."""
    links, rows = selection.links, selection.rows
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
    facts: Section = {
        "ids": [shorten(name, 80) for name in run.row_names(rows)],
        "about": about,
        "links": np.column_stack([links.pairs, links.cannot, links.violated]).astype(int).tolist(),
    }
    if run.truth is not None:
        facts["classes"] = [shorten(name) for name in run.truth.names]
        facts["t"] = run.truth.codes[rows].tolist()
    return for_script(facts)


def _pairs(run: ClassifiedRun, links: Links, selection: Selection) -> Section:
    """What was asked about pairs and groups, one by one; labels are in the picture."""
    told = listed_statements(run, links, selection)
    if not len(links) and not run.constraints.has_groups:
        told["statements"] = []
    return told
