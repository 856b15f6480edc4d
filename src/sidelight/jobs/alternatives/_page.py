"""The page of other splits: maps side by side, old against new, similarities, what clusters are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from sidelight._words import counted, listed
from sidelight.constraints import Constraints, KnownSplits
from sidelight.evaluation import SplitSimilarity
from sidelight.explanation import Explanation
from sidelight.pictures.inner import (
    Given,
    Partition,
    Run,
    known_partitions,
    make_run,
    project,
    sample_rows,
    shorten,
    small_map,
)
from sidelight.report.inner import (
    MAX_GROUPS,
    Page,
    Panel,
    card,
    chips,
    confusion,
    explained_card,
    figures,
    html,
    legend,
    meter,
    objective_panel,
    panels,
    scores_card,
    table,
    text_table,
)

if TYPE_CHECKING:
    from sidelight.jobs.alternatives._run import AlternativesRun

#: Most points of a small map.
MAX_POINTS = 1200
#: Known splits with an alternative that tells at most so much of them are avoided.
AVOIDED = 0.1
#: Letters of the name of a split: above a map or in a list, in a title, above or in a table.
MAX_NAME, MAX_TITLE, MAX_HEAD = 40, 32, 24


def page(found: AlternativesRun) -> Page:
    """Return what the page of several splits of the same rows shows."""
    known, n_rows = found.known, found.data.n_rows
    titles = {name: f"alternative {n}" for n, name in enumerate(found.names, start=1)}
    # What is known about rows is in the fits; the splits are compared over all rows.
    nothing = Constraints(n_samples=n_rows)
    runs = [make_run(replace(one.as_given, constraints=nothing)) for one in found.alternatives]
    old = dict(known_partitions(known))
    new = dict(zip(titles.values(), (run.clusters for run in runs), strict=True))
    own: list[Markup | None] = []
    before = dict(old)
    for name, run, one in zip(new, runs, found.alternatives, strict=True):
        own += _alternative(name, run, before, one.explanation)
        before[name] = run.clusters
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
    name: str, run: Run, before: Mapping[str, Partition], explanation: Explanation
) -> list[Markup | None]:
    """Return what the clusters of a split are, and how they go with the splits before."""
    cards = [
        html('<h2 class="full part">{}</h2>', name.capitalize()),
        explained_card(run, explanation),
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
