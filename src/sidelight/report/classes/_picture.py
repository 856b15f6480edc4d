"""The map of the rows by class: given classes stand out, rows in doubt are hollow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from markupsafe import Markup

from sidelight._typing import Array, IntArray
from sidelight._words import counted
from sidelight.pictures._projection import Projection, project
from sidelight.pictures._run import shorten
from sidelight.pictures._selection import Links, Selection, select, stated_links
from sidelight.pictures.classes._decisions import DOUBTFUL, class_codes
from sidelight.pictures.svg._scatter import scatter
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


def picture(run: ClassifiedRun) -> Section:
    """Draw the rows, and list what was asked about pairs and groups."""
    rng = np.random.default_rng(0)  # the same run gives the same picture
    links = stated_links(run)
    selection = select(run, links, rng)
    projection = project(run.source, selection.rows, run.feature_names, rng)
    rows = selection.rows
    wrong = np.zeros(len(rows), dtype=bool)
    wrong[selection.links.pairs[selection.links.violated].ravel()] = True
    wrong |= np.isin(rows, run.violations.groups)
    numbers = run.truth_numbers
    drawn = scatter(
        projection,
        selection.links,
        run.clusters.codes[rows],
        None if run.truth is None else np.append(numbers, -1)[run.truth.codes[rows]],
        run.names if len(run.names) <= MAX_GROUPS else (),
        wrong,
        f"{counted(run.n_rows, 'row')} of {counted(len(run.names), 'class', 'classes')}.",
        title="The data with its classes",
        marks=_marks(run, rows),
        regions=_regions(run, projection),
    )
    n_colours = max(len(run.names), int(numbers.max(initial=-1)) + 1)
    return {
        "scatter": Markup(drawn.svg),
        "axis_titles": projection.titles,
        "notes": _notes(run, links, selection, projection, drawn.n_beyond),
        **link_switches(selection.links),
        "colours": Markup(colours(n_colours)),
        "drawn": Markup(_about(run, selection)),
        "class_chips": chips(run.clusters, np.arange(len(run.names))),
        "n_hidden_classes": max(0, len(run.names) - MAX_GROUPS),
        "truth_chips": [] if run.truth is None else chips(run.truth, numbers),
        "n_hidden_truth": 0 if run.truth is None else max(0, len(numbers) - MAX_GROUPS),
        **_pairs(run, links, selection),
    }


def _marks(run: ClassifiedRun, rows: IntArray) -> list[str]:
    """Classes of the style sheet: ``a`` where a class was given, ``u`` where it is in doubt."""
    said = zip(run.stated[rows], run.doubtful[rows], strict=True)
    return ["a" if given else "u" if doubt else "" for given, doubt in said]


def _regions(run: ClassifiedRun, projection: Projection) -> Callable[[Array], IntArray] | None:
    """Class that a new row would get, where the picture shows all that the classifier sees."""
    if projection.kind != "plane" or run.estimator.n_features_in_ != 2:
        return None

    def color_of(points: Array) -> IntArray:
        return class_codes(run.estimator.predict(points.astype(run.rows.dtype)), run.names)

    return color_of


def _notes(
    run: ClassifiedRun, links: Links, selection: Selection, projection: Projection, n_beyond: int
) -> list[str]:
    notes = picture_notes(run, links, selection, projection.note, n_beyond)
    if run.stated.any():
        notes.append(f"Ringed: the {int(run.stated.sum()):,} rows whose class was given.")
    if run.doubtful.any():
        how = f"the best class less than {DOUBTFUL:.0%} ahead of the second"
        if not run.decisions.are_probabilities:
            how = "the smallest decision values"
        notes.append(f"Hollow: {counted(int(run.doubtful.sum()), 'row')} in doubt ({how}).")
    if _regions(run, projection) is not None:
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
