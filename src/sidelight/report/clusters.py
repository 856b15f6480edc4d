"""The page of clusters: the map, what was asked, what the clusters are, how far they agree."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from sidelight._words import counted, format_number
from sidelight.explanation import Explanation
from sidelight.pictures import Points
from sidelight.pictures.inner import (
    Given,
    Links,
    Plane,
    Run,
    Selection,
    cluster_sizes,
    count_together,
    make_run,
    match_classes,
    rows_in_plane,
    shapes,
)
from sidelight.report._features import SHOW_ALL, feature_means
from sidelight.report._mixtures import certainty_cards, saliency
from sidelight.report.cards import (
    MAX_GROUPS,
    Cell,
    Panel,
    card,
    figures,
    groups_across,
    html,
    note,
    row_id,
    side,
    strong,
    table,
)
from sidelight.report.explained import explained_card, sampled
from sidelight.report.page import Page, objective_panel
from sidelight.report.plot import beyond, by_groups, plot, plot_script
from sidelight.report.tables import (
    asked_card,
    asked_in_one_sentence,
    confusion,
    outcome,
    scores_card,
    statements_card,
    tallies,
)
from sidelight.report.text import text_table

_MANY_BARS = 12  # the bars of more clusters are too narrow for numbers
_WIDE_TABLE = 9  # more columns take the width of the page
_FULL_SHADE = 2.0  # standard deviations
#: Letters of the name of a class beside its rows.
MAX_CLASS = 32


def cluster_page(given: Given, explanation: Explanation | None = None) -> Page:
    """Return what the page of clusters shows.

    Parameters
    ----------
    given : Given
        The fitted estimator with what it was given.
    explanation : Explanation, default=None
        What the clusters are; without it the means of the features are shown.
    """
    run = make_run(given)
    plane = rows_in_plane(run)
    links, selection = plane.links, plane.selection
    kinds = tallies(run)
    text = outcome(kinds) if kinds else "no constraints"
    numbers = _class_numbers(run)
    described = explained_card(run, explanation)
    return Page(
        estimator=run.estimator,
        n_rows=run.n_all,
        sentence=asked_in_one_sentence(run),
        fine=not any(tally.violated for tally in kinds) if kinds else None,
        status=text[0].upper() + text[1:],
        facts=[
            ("Features", f"{run.source.n_features:,}"),
            ("Clusters", f"{run.n_clusters:,}"),
        ],
        cards=[
            _map(plane, numbers),
            side(
                asked_card(run),
                figures(_sizes(run), objective_panel(run.estimator), saliency(run)),
            ),
            _conditions_card(run),
            described,
            *certainty_cards(run),
            *_agreement_cards(run),
            statements_card(run, links, selection),
            _features_card(run) if described is None else None,
        ],
        n_colors=max(len(run.clusters.names), int(numbers.max(initial=-1)) + 1),
        script=plot_script(
            run,
            selection.rows,
            selection.links,
            run.truth,
            clusters=list(run.clusters.names),
            k=run.clusters.codes[selection.rows].tolist(),
        ),
    )


# --- the map ----------------------------------------------------------------------------------


def _map(plane: Plane, numbers: npt.NDArray[np.int64]) -> Markup:
    run, links, selection, projection = plane.run, plane.links, plane.selection, plane.projection
    rows = plane.rows
    names = run.clusters.names if len(run.clusters.names) <= MAX_GROUPS else ()
    drawn = plane.points(
        title="The data with its clusters and constraints",
        text=asked_in_one_sentence(run),
        others=None if run.truth is None else np.append(numbers, -1)[run.truth.codes[rows]],
        names=dict(enumerate(names)),
        shapes=shapes(run, projection),
        interactive=True,
    )
    colorings = [by_groups("cluster", "Clusters", run.clusters)]
    if run.truth is not None:
        colorings.append(by_groups("label", "True classes", run.truth, numbers))
    return plot(
        "Map of the data",
        drawn,
        selection.links,
        colorings,
        axes=projection.titles,
        notes=map_notes(run, links, selection, projection.note, drawn),
    )


def _class_numbers(run: Run) -> npt.NDArray[np.int64]:
    """Return the number of the color of every true class: that of the cluster it matches."""
    if run.truth is None or not len(run.truth.names):
        return np.zeros(0, dtype=np.int64)
    return match_classes(count_together(run.truth, run.clusters))


def map_notes(
    run: Run, links: Links, selection: Selection, projection_note: str, drawn: Points
) -> list[str]:
    """Return notes on how to read the picture, and on what it leaves out."""
    notes = [projection_note]
    if run.source is not run.rows:
        notes.append("Values that were not measured are filled with what the model expects.")
    if run.whole is not None:
        notes.append(sampled(run, run.n_rows))
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
    return notes + beyond(drawn)


# --- beside and below it ----------------------------------------------------------------------


def _sizes(run: Run) -> Panel:
    names, sizes, n_outside = run.clusters.names, run.clusters.sizes, run.clusters.n_outside
    text = ""
    if run.whole is not None:
        shown = dict(zip(run.clusters.numbers, names, strict=True))
        counts = {number: n for number, n in run.whole.sizes.items() if number != "-1"}
        names = tuple(shown.get(number, number) for number in counts)
        sizes, n_outside = np.array([*counts.values()]), run.whole.sizes.get("-1", 0)
        text = "All rows are counted. "
    if len(sizes) > _MANY_BARS:
        text += f"From {sizes.min():,} to {counted(int(sizes.max()), 'row')}."
    if n_outside:
        text += f" {counted(n_outside, 'row')} in no cluster."
    bounds = run.size_bounds
    if bounds is not None:
        text += " Marks show the bounds."
    return Panel("Cluster sizes", cluster_sizes(names, sizes, bounds), text.strip())


def _conditions_card(run: Run) -> Markup | None:
    """Tabulate what clusters hold of what every one of them has to."""
    wanted = run.conditions
    if wanted is None:
        return None
    k = len(run.estimator.cluster_sizes_)
    counts, least = wanted.counts(run.estimator.labels_, k), wanted.least_in(k)
    numbers = [int(number) for number in run.clusters.numbers][:MAX_GROUPS]
    rows = []
    for name, found, bounds in zip(wanted.names, counts, least, strict=True):
        low, high = bounds.min(), bounds.max()
        cells = [
            Cell(
                strong(f"{found[h]:,}") if found[h] == bounds[h] else f"{found[h]:,}",
                "bad" if found[h] < bounds[h] else "",
            )
            for h in numbers
        ]
        bound = str(low) if low == high else f"{low:,} to {high:,}"
        rows.append((row_id(name), bound, *cells, Cell(f"{found.sum():,}", "quiet")))
    text = "Rows of every kind by cluster; numbers in bold are at their bound."
    if n_away := len(getattr(run.estimator, "not_nearest_", ())):
        stand = "stands" if n_away == 1 else "stand"
        text += (
            f" {counted(n_away, 'row')} {stand} nearer to another cluster, which the conditions "
            "do not let them join."
        )
    across = groups_across(run.clusters, range(len(numbers)))
    told = text_table("Condition", "At least", *across, "All rows", rows=rows)
    shown = table(told, css="heat", scroll="scroll", label="Conditions by cluster")
    return card("What every cluster has to hold", shown, text)


def _agreement_cards(run: Run) -> list[Markup]:
    """Compare the clusters with the true classes."""
    if run.truth is None or not len(run.truth.names):
        return []
    title = "Clusters and true classes"
    found = confusion(run.truth, run.clusters, "True class", MAX_CLASS)
    is_wide = found.n_columns > _WIDE_TABLE
    text = "Rows of each true class by cluster; the shade is the share of the class."
    text += found.hidden
    if run.truth.n_outside:
        text += f" {run.truth.n_outside} rows have no class."
    shown = table(found.table, css="heat", scroll="scroll tall", label="True classes by cluster")
    return [
        card(title, shown, text, size="full" if is_wide else "wide-half"),
        scores_card(run, "full" if is_wide else "narrow-half"),
    ]


def _features_card(run: Run) -> Markup | None:
    """Tabulate the means of the features by cluster."""
    if len(run.clusters.names) < 1:
        return None
    found = feature_means(run.source, run.clusters)
    n_columns = min(len(run.clusters.names), MAX_GROUPS)
    rows = [
        (
            row_id(run.feature_names[feature]),
            *(
                _mean_cell(found.means[row, column], found.difference[row, column], deviation)
                for column in range(n_columns)
            ),
            Cell(_with_decimals(found.overall[row], deviation), "quiet"),
            Cell(f"{found.share[row]:.0%}", "quiet"),
        )
        for row, (feature, deviation) in enumerate(
            zip(found.features, found.deviation, strict=True)
        )
    ]
    title = "Features by cluster"
    if run.source.n_features > SHOW_ALL:
        title = (
            f"Features in which the clusters differ most ({len(rows)} of {run.source.n_features:,})"
        )
    share = html(
        '<abbr title="Share of the feature\'s variance that lies between the clusters">Explained'
        "</abbr>"
    )
    across = groups_across(run.clusters, range(n_columns))
    told = text_table("Feature", *across, "All rows", share, rows=rows)
    n_hidden = len(run.clusters.names) - n_columns
    text = html(
        'Mean of each cluster{}. <span class="shade up">Blue</span> lies above and '
        '<span class="shade down">orange</span> below the mean of all rows, fully shaded from two '
        "standard deviations on. “Explained” is the share of the feature's variance that lies "
        "between the clusters.",
        f" ({n_hidden} more clusters are not shown)" if n_hidden else "",
    )
    shown = table(told, css="heat diverging", scroll="scroll", label=title)
    return card(title, shown, note(text))


def _mean_cell(mean: float, difference: float, deviation: float) -> Cell:
    """Return the mean of a cluster, shaded by its distance from that of all rows."""
    return Cell(
        _with_decimals(mean, deviation),
        "up" if difference > 0 else "down",
        share=min(1.0, abs(float(difference)) / _FULL_SHADE),
        title=f"{difference:+.2f} standard deviations from the mean of all rows",
    )


def _with_decimals(value: Any, deviation: float) -> str:
    """Write a mean with the decimals that tell clusters apart: a hundredth of the deviation."""
    if not deviation > 0.0 or abs(value) >= 1e7:
        return format_number(value)
    decimals = min(6, max(0, 2 - math.floor(math.log10(deviation))))
    return f"{value:,.{decimals}f}".replace("-", "−")
