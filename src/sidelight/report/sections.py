"""The parts of the page: what each hands to the template."""

from __future__ import annotations

import datetime
import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from sidelight._words import counted, format_number
from sidelight.pictures._matching import count_together, match_classes
from sidelight.pictures._palette import palette
from sidelight.pictures._plane import Plane, rows_in_plane
from sidelight.pictures._progress import by_step, first_step
from sidelight.pictures._run import Given, Partition, Run, shorten
from sidelight.pictures._selection import Links, Selection
from sidelight.pictures._shapes import shapes
from sidelight.pictures._sizes import cluster_sizes
from sidelight.pictures.svg._points import placed
from sidelight.pictures.svg._render import svg_of
from sidelight.report._features import SHOW_ALL, feature_means
from sidelight.report.figures import figure
from sidelight.report.tables import (
    MAX_STATEMENTS,
    Tally,
    asked_in_one_sentence,
    confusion,
    outcome,
    scores,
    statements,
    tallies,
)

Section = dict[str, Any]
Facts = list[tuple[str, str]]

_MANY_LINES = 300  # from here on the picture starts with the violated constraints only
MAX_GROUPS = 50  # in a legend or across a table
_MANY_BARS = 12  # the bars of more clusters are too narrow for numbers
_WIDE_TABLE = 9  # more columns take the width of the page
_FULL_SHADE = 2.0  # standard deviations
ICONS = {"good": "M3 8.5l3.2 3.2L13 4.8", "bad": "M4 4l8 8M12 4l-8 8", "none": "M3.5 8h9"}


def heading(given: Given, title: str | None, seconds: float | None, facts: Facts) -> Section:
    """Heading: what was run and when."""
    estimator = given.estimator
    now = datetime.datetime.now().astimezone()
    facts = [("Method", type(estimator).__name__), ("Rows", f"{given.n_rows:,}"), *facts]
    if (n_iter := getattr(estimator, "n_iter_", None)) is not None:
        converged = getattr(estimator, "converged_", True)
        facts.append(("Iterations", f"{n_iter:,}" + ("" if converged else ", not converged")))
    if (objective := getattr(estimator, "objective_", None)) is not None:
        facts.append(("Objective", format_number(float(objective))))
    if seconds is not None:
        facts.append(("Fitted in", f"{seconds:.2f} s" if seconds < 100 else f"{seconds:,.0f} s"))
    return {
        "title": title or type(estimator).__name__,
        "facts": facts,
        "date": f"{now.day} {now:%B %Y, %H:%M %Z}",
        "date_iso": now.isoformat(timespec="minutes"),
    }


def outcome_in_short(run: Run) -> Section:
    """Outcome in short."""
    return {
        "sentence": asked_in_one_sentence(run),
        "status": _status(tallies(run)),
        "facts_of_its_own": [
            ("Features", f"{run.source.n_features:,}"),
            ("Clusters", f"{len(run.clusters.names):,}"),
        ],
    }


def picture_and_statements(run: Run) -> Section:
    """Draw the data and list what was asked; both number the drawn links alike."""
    plane = rows_in_plane(run)
    return {**_picture(plane), **listed_statements(run, plane.links, plane.selection)}


def _picture(plane: Plane) -> Section:
    run, links, selection, projection = plane.run, plane.links, plane.selection, plane.projection
    numbers = _class_numbers(run)
    classes = None if run.truth is None else _recode(run.truth.codes[plane.rows], numbers)
    names = run.clusters.names if len(run.clusters.names) <= MAX_GROUPS else ()
    drawn = plane.points(
        title="The data with its clusters and constraints",
        text=asked_in_one_sentence(run),
        others=classes,
        names=dict(enumerate(names)),
        shapes=shapes(run, projection),
        interactive=True,
    )
    n_colours = max(len(run.clusters.names), int(numbers.max(initial=-1)) + 1)
    return {
        "scatter": Markup(svg_of(drawn)),
        "axis_titles": projection.titles,
        "notes": picture_notes(run, links, selection, projection.note, placed(drawn).n_beyond),
        **link_switches(selection.links),
        "colours": Markup(colours(n_colours)),
        "drawn": Markup(_drawn_as_json(run, selection)),
        "cluster_chips": chips(run.clusters, np.arange(len(run.clusters.names))),
        "n_hidden_clusters": max(0, len(run.clusters.names) - MAX_GROUPS),
        "class_chips": [] if run.truth is None else chips(run.truth, numbers),
        "n_hidden_classes": 0 if run.truth is None else max(0, len(numbers) - MAX_GROUPS),
    }


def link_switches(links: Links) -> Section:
    """What the switches of the picture need to know about its lines."""
    any_violated = bool(links.violated.any())
    return {
        "n_must": int((~links.cannot).sum()),
        "n_cannot": int(links.cannot.sum()),
        "any_violated": any_violated,
        "start_violated_only": len(links) > _MANY_LINES and any_violated,
    }


def picture_notes(
    run: Run, links: Links, selection: Selection, projection_note: str, n_beyond: int
) -> list[str]:
    """Notes on how to read the picture, and on what it leaves out."""
    notes = [projection_note]
    if run.source is not run.rows:
        notes.append("Values that were not measured are filled with what the model expects.")
    if len(selection.rows) < run.n_rows:
        first = (
            "those that constraints mention first, then " if len(run.constraints.mentioned) else ""
        )
        notes.append(
            f"{len(selection.rows):,} of {run.n_rows:,} rows are drawn: {first}a random sample."
        )
    if len(selection.links) < len(links):
        notes.append(
            f"{len(selection.links):,} of {len(links):,} links are drawn, violated ones first."
        )
    if n_beyond:
        lie = "lies" if n_beyond == 1 else "lie"
        notes.append(f"{counted(n_beyond, 'row')} {lie} beyond the frame, drawn on its edge.")
    return notes


def listed_statements(run: Run, links: Links, selection: Selection) -> Section:
    """List what was asked, one by one."""
    found = statements(run, links, selection)
    kinds = tallies(run)
    n_rest = sum(tally.stated for tally in kinds) - len(found)
    n_violated = sum(asked["violated"] for asked in found)
    n_violated_rest = sum(tally.violated for tally in kinds) - n_violated
    note = ""
    if n_rest > 0:
        note = f"{counted(n_rest, 'more statement')}, {n_violated_rest:,} of them violated."
        if len(found) < MAX_STATEMENTS:
            note += " Satisfied labels and group members are counted but not listed."
    return {
        "statements": found,
        "statements_note": note,
        "statements_title": "What was asked, the violated first"
        if n_violated
        else "What was asked, one by one",
    }


def asked(run: Run) -> Section:
    """Count what was asked, and what follows from it."""
    kinds = tallies(run)
    remarks = list(run.constraints.notes)
    if not kinds:
        remarks.append("Nothing was known besides the data: the clusters are the method's own.")
    elif not run.constraints.is_empty:
        closure = run.constraints.closure(on_contradiction="keep")
        together = counted(closure.n_entailed_must_link, "pair")
        apart = counted(closure.n_entailed_cannot_link, "pair")
        remarks.append(f"With what follows from it: {together} together, {apart} apart.")
        if n := len(closure.contradictions):
            contradict = counted(n, "cannot-link contradicts", "cannot-links contradict")
            remarks.append(f"{contradict} the must-links: no clustering can satisfy everything.")
    if run.clusters.names != run.clusters.numbers:
        remarks.append("A cluster has the class of most of its labeled rows behind its number.")
    return {"tallies": kinds, "remarks": remarks}


def charts(run: Run) -> Section:
    """Draw the sizes and the objective."""
    sizes = run.clusters.sizes
    note = ""
    if len(sizes) > _MANY_BARS:
        note = f"From {sizes.min():,} to {counted(int(sizes.max()), 'row')}."
    if run.clusters.n_outside:
        note += f" {counted(run.clusters.n_outside, 'row')} in no cluster."
    bounds = run.size_bounds
    if bounds is not None:
        note += " Marks show the bounds."
    sized = figure("Cluster sizes", cluster_sizes(run.clusters.names, sizes, bounds), note.strip())
    return {"sizes": sized, **objective(run.estimator)}


def conditions(run: Run) -> Section:
    """Tabulate what clusters hold of what every one of them has to."""
    wanted = run.conditions
    if wanted is None:
        return {"conditions": None}
    k = len(run.estimator.cluster_sizes_)
    counts, least = wanted.counts(run.estimator.labels_, k), wanted.least_in(k)
    numbers = [int(number) for number in run.clusters.numbers][:MAX_GROUPS]
    columns = [{"number": h, "name": run.clusters.name(h)} for h in range(len(numbers))]
    rows = [
        {
            "name": name,
            "least": str(least[j].min())
            if least[j].min() == least[j].max()
            else f"{least[j].min():,} to {least[j].max():,}",
            "cells": [
                {
                    "count": f"{counts[j, h]:,}",
                    "tight": bool(counts[j, h] == least[j, h]),
                    "unmet": bool(counts[j, h] < least[j, h]),
                }
                for h in numbers
            ],
            "total": f"{counts[j].sum():,}",
        }
        for j, name in enumerate(wanted.names)
    ]
    n_away = len(getattr(run.estimator, "not_nearest_", ()))
    stand = "stands" if n_away == 1 else "stand"
    note = "Rows of every kind by cluster; numbers in bold are at their bound."
    if n_away:
        note += (
            f" {counted(n_away, 'row')} {stand} nearer to another cluster, which the conditions "
            "do not let them join."
        )
    return {"conditions": {"columns": columns, "rows": rows, "note": note}}


def objective(estimator: Any) -> Section:
    """Draw the minimized objective, or the log-likelihood, by iteration."""
    title = "Objective"
    history = np.asarray(getattr(estimator, "history_", ()), dtype=np.float64).ravel()
    if hasattr(estimator, "score_samples"):  # a density: likelihoods rise
        title, history = "Log-likelihood per row", -history
    finite = history[np.isfinite(history)]
    if not len(finite):
        return {"objective": None}
    ends = f"From {format_number(finite[0])} to {format_number(finite[-1])}."
    picture = by_step({title: history}, title, first=first_step(estimator))
    return {"objective": figure(picture.title, picture, ends)}


def agreement(run: Run) -> Section:
    """Compare the clusters with the known labels."""
    if run.truth is None or not len(run.truth.names):
        return {"confusion": None}
    table = confusion(run.truth, run.clusters, MAX_GROUPS)
    found = scores(run)
    return {
        "confusion": {**table, "wide": len(table["columns"]) > _WIDE_TABLE},
        "n_unknown": run.truth.n_outside,
        "scores": found,
        "scores_unmentioned": any(score["unmentioned"] is not None for score in found),
    }


def features(run: Run) -> Section:
    """Tabulate the means of the features by cluster."""
    if len(run.clusters.names) < 1:
        return {"features": None}
    table = feature_means(run.source, run.clusters)
    n_columns = min(len(run.clusters.names), MAX_GROUPS)
    rows = [
        {
            "name": run.feature_names[feature],
            "overall": _with_decimals(table.overall[row], table.deviation[row]),
            "share": f"{table.share[row]:.0%}",
            "cells": [
                {
                    "mean": _with_decimals(table.means[row, column], table.deviation[row]),
                    "difference": float(table.difference[row, column]),
                    "shade": min(1.0, abs(float(table.difference[row, column])) / _FULL_SHADE),
                }
                for column in range(n_columns)
            ],
        }
        for row, feature in enumerate(table.features)
    ]
    title = "Features by cluster"
    if run.source.n_features > SHOW_ALL:
        title = (
            f"Features in which the clusters differ most ({len(rows)} of {run.source.n_features:,})"
        )
    return {
        "features": {
            "title": title,
            "columns": [{"number": c, "name": run.clusters.names[c]} for c in range(n_columns)],
            "n_hidden_columns": len(run.clusters.names) - n_columns,
            "rows": rows,
        }
    }


def _with_decimals(value: float, deviation: float) -> str:
    """Write a mean with the decimals that tell clusters apart: a hundredth of the deviation."""
    if not deviation > 0.0 or abs(value) >= 1e7:
        return format_number(value)
    decimals = min(6, max(0, 2 - math.floor(math.log10(deviation))))
    return f"{value:,.{decimals}f}".replace("-", "−")


def method_line(estimator: Any) -> str:
    """Line on the method and its source."""
    if not hasattr(estimator, "__sidelight_tags__"):
        return ""
    tags = estimator.__sidelight_tags__()
    return f"{tags.summary[:1].upper()}{tags.summary[1:]}. {tags.source}."


def _status(kinds: list[Tally]) -> Section:
    if not kinds:
        return status(None, "No constraints")
    text = outcome(kinds)
    return status(not any(tally.violated for tally in kinds), text[0].upper() + text[1:])


def status(fine: bool | None, text: str) -> Section:
    """The line at the top of the page: good, bad or neither."""
    kind = "none" if fine is None else "good" if fine else "bad"
    return {"kind": kind, "icon": ICONS[kind], "text": text}


def _class_numbers(run: Run) -> npt.NDArray[np.int64]:
    if run.truth is None or not len(run.truth.names):
        return np.zeros(0, dtype=np.int64)
    return match_classes(count_together(run.truth, run.clusters))


def _recode(codes: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.append(numbers, -1)[codes]


def chips(groups: Partition, numbers: npt.NDArray[np.int64]) -> list[Section]:
    """Return number and name of the groups, as the key of a picture shows them."""
    order = np.argsort(numbers, kind="stable")[:MAX_GROUPS]
    chips = [
        {
            "number": int(numbers[code]),
            "name": groups.names[code],
            "size": f"{groups.sizes[code]:,}",
        }
        for code in order
    ]
    if groups.n_outside:
        chips.append({"number": -1, "name": "none", "size": f"{groups.n_outside:,}"})
    return chips


def colours(n_groups: int) -> str:
    """Write the style sheet of the groups: a colour by number, for both kinds of page."""
    n_colours = min(n_groups, MAX_GROUPS)

    def variables(mode: str) -> str:
        return "".join(f"--c{n}:{c};" for n, c in enumerate(palette(n_colours, mode)))

    rules = "".join(
        f'.k{n},[data-colour="label"] .t{n}{{--g:var(--c{n % n_colours})}}' for n in range(n_groups)
    )
    return (
        f":root{{{variables('light')}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{variables('dark')}}}}}{rules}"
        '[data-colour="label"] .tx{--g:var(--faint)}'
    )


def _drawn_as_json(run: Run, selection: Selection) -> str:
    """Write what the script tells about points."""
    links = selection.links
    facts: Section = {
        "ids": [shorten(name, 80) for name in run.row_names(selection.rows)],
        "clusters": [shorten(name) for name in run.clusters.names],
        "k": run.clusters.codes[selection.rows].tolist(),
        "links": np.column_stack([links.pairs, links.cannot, links.violated]).astype(int).tolist(),
    }
    if run.truth is not None:
        facts["classes"] = [shorten(name) for name in run.truth.names]
        facts["t"] = run.truth.codes[selection.rows].tolist()
    return for_script(facts)


def for_script(facts: Section) -> str:
    """Write facts for the script of the page; no text in them can end the script element."""
    text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
