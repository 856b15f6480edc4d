"""The page of other splits: maps side by side, old against new, similarities, what clusters are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from sidelight._typing import Array
from sidelight._words import counted, listed
from sidelight.constraints import Constraints, KnownSplits
from sidelight.evaluation import SplitSimilarity
from sidelight.pictures._points import small_map
from sidelight.pictures._projection import project
from sidelight.pictures._run import Given, Partition, Run, make_run, sample_rows, shorten
from sidelight.preparation import TypedColumn
from sidelight.report.cards import (
    MAX_GROUPS,
    Panel,
    card,
    chips,
    figures,
    html,
    legend,
    meter,
    panels,
    table,
)
from sidelight.report.explained import explained_card
from sidelight.report.page import Page, objective_panel
from sidelight.report.tables import confusion, scores_card
from sidelight.report.text import text_table

if TYPE_CHECKING:
    from sidelight.jobs.alternatives._run import AlternativesRun

#: Most points of a small map.
MAX_POINTS = 1200
#: Colored parts of a column of numbers.
PARTS = 5
#: Known splits with an alternative that tells at most so much of them are avoided.
AVOIDED = 0.1
#: Letters of the name of a split: above a map or in a list, in a title, above or in a table.
MAX_NAME, MAX_TITLE, MAX_HEAD = 40, 32, 24


def page(found: AlternativesRun) -> Page:
    """Return what the page of several splits of the same rows shows."""
    known, n_rows = found.known, found.data.n_rows
    columns = found.alternatives[0].columns
    titles = {name: f"alternative {n}" for n, name in enumerate(found.names, start=1)}
    # What is known about rows is in the fits; the splits are compared over all rows.
    nothing = Constraints(n_samples=n_rows)
    runs = [make_run(replace(one.as_given, constraints=nothing)) for one in found.alternatives]
    old = {column.name: _partition(column) for column in known.columns()}
    new = dict(zip(titles.values(), (run.clusters for run in runs), strict=True))
    own: list[Markup | None] = []
    for place, (name, run) in enumerate(zip(new, runs, strict=True)):
        before = old | dict(list(new.items())[:place])
        own += _alternative(name, run, before, columns)
    fine, status = _status(found)
    return found.framed(
        Page(
            estimator=found.estimator,
            n_rows=n_rows,
            sentence=_sentence(n_rows, known, len(runs)),
            fine=fine,
            status=status,
            facts=[("Known", f"{len(known.names):,}"), ("Found", f"{len(runs):,}")],
            cards=[
                _maps(runs[0], old, new),
                _similarities(found, titles),
                *(html('<p class="note full">{}</p>', text) for text in known.notes),
                *own,
            ],
            n_colors=max(len(split.names) for split in (*old.values(), *new.values())),
            styles=["page.css"],
            package=__package__,
        )
    )


def _sentence(n_rows: int, known: KnownSplits, n_found: int) -> str:
    rows, splits = counted(n_rows, "row"), counted(n_found, "split")
    if known.is_empty:
        return f"{rows}; {splits}, the first without anything to avoid, each unlike those before."
    return f"{rows}; {splits} that {'differs' if n_found == 1 else 'differ'} from " + (
        f"{listed(known.describe())}."
    )


def _status(found: AlternativesRun) -> tuple[bool | None, str]:
    """Return whether the alternatives tell little of the splits that were to be avoided."""
    told = [
        one.nmi_reference
        for similar in found.similarities
        for one in similar
        if one.name in found.known.names
    ]
    if not told:
        return None, "Nothing was to be avoided"
    if round(max(told), 3) <= AVOIDED:
        return True, f"Known splits avoided: at most {round(max(told), 3):.0%} of one is told"
    return None, f"{round(max(told), 3):.0%} of a known split is told again"


def _alternative(
    name: str, run: Run, before: Mapping[str, Partition], columns: Sequence[TypedColumn] | None
) -> list[Markup | None]:
    """Return what the clusters of a split are, and how they go with the splits before."""
    cards = [
        html('<h2 class="full part">{}</h2>', name.capitalize()),
        explained_card(run, columns),
    ]
    for other, split in before.items():
        counts = confusion(split, run.clusters, shorten(other, MAX_HEAD), MAX_HEAD)
        title = f"{shorten(other, MAX_TITLE)} against {name}"
        text = (
            "The shade is the share of the row; independent splits have the same shades in all "
            f"rows.{counts.hidden}"
        )
        shown = table(counts.table, css="heat", scroll="scroll tall", label=title)
        cards.append(card(title, shown, text, size="half"))
    cards.append(figures(objective_panel(run.estimator), size="half"))
    if run.truth is not None and ((run.truth.codes >= 0) & (run.clusters.codes >= 0)).any():
        cards.append(scores_card(run, "half"))
    return cards


def _similarities(found: AlternativesRun, titles: Mapping[str, str]) -> Markup | None:
    """Return what every split has in common with those before."""
    rows = [
        (name, shorten(titles.get(one.name, one.name), MAX_NAME), *_similarity(one))
        for name, similar in zip(titles.values(), found.similarities, strict=True)
        for one in similar
    ]
    if not rows:
        return None
    measures = ("Variation of information", "Largest possible", "Share")
    normalized = ("NMI, mean of both entropies", "NMI, entropy of the other")
    sides = ("left", "left", "right", "right", "left", "right")
    told = text_table("Split", "Beside", *measures, *normalized, rows=rows, justify=sides)
    title = "How much the splits have in common"
    return card(
        title,
        table(told, css="scores similar", scroll="scroll", label=title),
        "Variation of information, in nats, is 0 for the same split and largest, the sum of both "
        "entropies, for independent ones. Normalized mutual information (NMI) is 0 for independent "
        "splits; over the entropy of the other split it is the share of that split which the "
        "clusters tell, and for a column of numbers the share of its variance.",
    )


def _similarity(one: SplitSimilarity) -> tuple[object, ...]:
    """Return measures of a pair of splits; numbers have a share of their variance only."""
    if np.isnan(one.variation_of_information):
        return "–", "–", "", "–", f"{one.nmi_reference:.3f}"
    share = one.variation_of_information / max(one.largest, 1e-12)
    return (
        f"{one.variation_of_information:.3f}",
        f"{one.largest:.3f}",
        meter(share, f"{100 * share:.0f}% of the largest"),
        f"{one.nmi:.3f}",
        f"{one.nmi_reference:.3f}",
    )


def _partition(column: Any) -> Partition:
    """A known split as groups; numbers in parts of equal size."""
    if column.classes is not None:
        return Partition(column.values, tuple(map(str, column.classes.tolist())))
    edges = np.unique(np.quantile(column.values, np.arange(1, PARTS) / PARTS))
    codes = np.searchsorted(edges, column.values, side="right")
    used, codes = np.unique(codes, return_inverse=True)
    names = [_part(edges, int(part)) for part in used]
    return Partition(codes.reshape(-1).astype(np.int64), tuple(names))


def _part(edges: Array, part: int) -> str:
    if part == 0:
        return f"below {edges[0]:.4g}"
    if part == len(edges):
        return f"{edges[-1]:.4g} and more"
    return f"{edges[part - 1]:.4g} to {edges[part]:.4g}"


def _maps(given: Given, old: Mapping[str, Partition], new: Mapping[str, Partition]) -> Markup:
    """Return the same small map for every split, colored by it."""
    rng = np.random.default_rng(0)
    rows = sample_rows(given.n_rows, MAX_POINTS, rng)
    placed = project(given.source, rows, given.feature_names, rng)
    shown = []
    for name, split in {**old, **new}.items():
        picture = small_map(
            placed.xy, split.codes[rows], "scatter small", f"The rows colored by {name}"
        )
        key = legend(chips(split), len(split.names) - MAX_GROUPS)
        aside, css = ("known", "old") if name in old else ("found", "new")
        shown.append(Panel(shorten(name, MAX_NAME), picture, key, aside, css))
    text = placed.note
    if len(rows) < given.n_rows:
        text += f" {len(rows):,} of {counted(given.n_rows, 'row')} are drawn."
    return card("The same rows, colored by every split", panels(*shown), text)
