"""The report of a learned distance, projection or selection: rows and pairs before and after."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from sidelight._fit.moments import moments
from sidelight._typing import Array
from sidelight._words import counted, listed, statements
from sidelight.engine import as_rows
from sidelight.pictures import Points
from sidelight.pictures.inner import (
    MAX_PAIRS,
    Given,
    Links,
    Mapped,
    PairDistances,
    Partition,
    Projection,
    fill_up,
    known_distances,
    link_lines,
    pair_distances,
    project,
    sample_rows,
    small_map,
    some_of,
)
from sidelight.report.cards import (
    MAX_GROUPS,
    Panel,
    card,
    chips,
    figure,
    figures,
    legend,
    named_values,
    note,
    table,
)
from sidelight.report.maps._colors import coloring_of
from sidelight.report.page import Page, objective_panel
from sidelight.report.ranked import merits, ranking_sentence, score_text
from sidelight.report.text import text_table

MAX_DRAWN = 2_000
MAX_LINKED = 1_500  # of the drawn rows: the rest shows what else there is
MAX_LINES = 400
MAX_ROWS = 20_000  # are mapped to see how they spread
MAX_BARS = 30
PAIRS_NOTE = Markup(
    'Distances are in units of the mean distance of two random rows. <span class="shade together">'
    'Upwards</span>: pairs that belong together; <span class="shade apart">downwards</span>: pairs '
    "that do not. “In order” is how often a pair of the first kind is closer than one of the "
    "second; 50% is chance."
)


def map_page(given: Given) -> Page:
    """Return what the page of a learned distance, projection or selection shows."""
    mapped = Mapped(given)
    known = known_distances(mapped)
    n_out = len(_names_out(given))
    said = statements(given.constraints.counts)
    sentence = f"{counted(given.n_rows, 'row')}, {counted(given.source.n_features, 'feature')} in, "
    sentence += f"{n_out:,} out; "
    sentence += f"known: {listed(said)}." if said else "nothing else was known."
    fine, status = order_of_pairs(known) or (None, "No pairs of both kinds to compare")
    coloring = coloring_of(given, None)
    groups = None if coloring is None else coloring.groups
    bars = _feature_bars(mapped), _spread(mapped), objective_panel(given.estimator)
    return Page(
        estimator=given.estimator,
        n_rows=given.n_rows,
        sentence=sentence,
        fine=fine,
        status=status,
        facts=[("Features in", f"{given.source.n_features:,}"), ("Features out", f"{n_out:,}")],
        cards=[
            *_maps(mapped, groups),
            *pairs_before_and_after(mapped, known, "after"),
            figures(*bars, size="half"),
        ],
        n_colors=1 if groups is None else len(groups.names),
    )


def order_of_pairs(known: PairDistances) -> tuple[bool | None, str] | None:
    """Return the line at the top of the page, where pairs of both kinds are known."""
    before, after = known.order("before"), known.order("after")
    if before is None or after is None:
        return None
    # Equal as they are shown is neither good nor bad.
    gain = round(100 * after) - round(100 * before)
    return (gain > 0 if gain else None), f"Known pairs in order: {after:.0%}, before {before:.0%}"


# --- the two maps -----------------------------------------------------------------------------


def _maps(mapped: Mapped, groups: Partition | None) -> list[Markup]:
    """Return the same rows before and after, with the known pairs between them."""
    given = mapped.given
    rng = np.random.default_rng(0)
    links = np.concatenate([some_of(pairs, MAX_LINES // 2) for pairs in mapped.pairs])
    cannot = np.repeat([False, True], [min(len(p), MAX_LINES // 2) for p in mapped.pairs])
    rows = _drawn_rows(given, links, rng)
    kept = np.isin(links, rows).all(axis=1)
    links, cannot = np.searchsorted(rows, links[kept]), cannot[kept]
    codes = np.zeros(len(rows), np.int64) if groups is None else groups.codes[rows]
    image = as_rows(mapped.image(rows))
    everywhere = np.arange(len(rows))
    before = project(as_rows(given.source.take(rows)), everywhere, given.feature_names, rng)
    after = project(image, everywhere, _names_out(given), rng)
    lines = link_lines(Links(links, cannot, np.zeros(len(links), bool), np.ones(len(links))))

    def drawn(when: str, projection: Projection, title: str) -> Points:
        css, size = f"scatter {when}", (560, 380)
        return small_map(projection.xy, codes, css, title, lines=lines, size=size, equal=False)

    notes = [after.note]
    if len(links):
        notes.append("Lines join known pairs; dashed ones do not belong together.")
    if len(rows) < given.n_rows:
        notes.append(f"{len(rows):,} of {given.n_rows:,} rows are drawn.")
    key = None
    if groups is not None:
        key = legend(chips(groups), len(groups.names) - MAX_GROUPS)
    return [
        figure(
            "Before: the rows as they were given",
            drawn("before", before, "The rows as they were given"),
            before.note,
            size="half",
        ),
        figure(
            "After: the rows as the method sees them",
            drawn("after", after, "The rows after the map"),
            key,
            " ".join(notes),
            size="half",
        ),
    ]


def _drawn_rows(given: Given, links: Array, rng: np.random.Generator) -> Array:
    """Choose rows of known pairs first, then others at random."""
    linked = np.unique(links)
    if len(linked) > MAX_LINKED:
        linked = np.sort(rng.choice(linked, MAX_LINKED, replace=False))
    return fill_up(linked, given.n_rows, MAX_DRAWN, rng)


# --- pairs ------------------------------------------------------------------------------------


def pairs_before_and_after(mapped: Mapped, known: PairDistances, after: str) -> list[Markup]:
    """Return distances of pairs before and after, as pictures and as a table.

    ``after`` says what the method made of the rows.
    """
    is_known = known.order("after") is not None
    rows = [_pair_row("Known pairs", known)] if is_known else []
    unmentioned = _pairs_by_truth(mapped)
    if unmentioned is not None and unmentioned.order("after") is not None:
        rows.append(_pair_row("Pairs of rows that nothing was said about", unmentioned))
    shown = known if is_known else unmentioned
    if shown is None or not rows:
        return []
    charts = [
        Panel(f"Distances of pairs {when}", picture)
        for when, picture in zip(("before", "after"), pair_distances(shown), strict=True)
    ]
    headers = ("Pairs", "Together", "Apart", "In order before", f"In order {after}")
    medians = ("Median distance together", "Median distance apart")
    told = text_table(*headers, *medians, rows=rows)
    title = "Pairs that belong together should be the closer ones"
    listing = table(told, scroll="scroll", label="Distances of pairs before and after")
    text = PAIRS_NOTE
    if after == "after":
        text += " The known pairs are what the method learned from"
        text += "; the others are a fair test." if len(rows) > 1 else "."
    return [figures(*charts, size="half"), card(title, listing, note(text))]


def _pair_row(name: str, kinds: PairDistances) -> tuple[str, ...]:
    return (
        name,
        f"{len(kinds.together.after):,}",
        f"{len(kinds.apart.after):,}",
        f"{kinds.order('before'):.1%}",
        f"{kinds.order('after'):.1%}",
        kinds.together.medians,
        kinds.apart.medians,
    )


def _pairs_by_truth(mapped: Mapped) -> PairDistances | None:
    """Return random pairs of rows with a known class that no constraint mentions."""
    given = mapped.given
    if given.truth is None:
        return None
    free = np.setdiff1d(np.flatnonzero(given.truth.codes >= 0), given.constraints.mentioned)
    if len(free) < 2:
        return None
    rng = np.random.default_rng(1)
    pairs = free[rng.integers(len(free), size=(2 * MAX_PAIRS, 2))]
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = given.truth.codes[pairs[:, 0]] == given.truth.codes[pairs[:, 1]]
    return PairDistances(mapped.distances(pairs[same]), mapped.distances(pairs[~same]))


# --- features ---------------------------------------------------------------------------------


def _feature_bars(mapped: Mapped) -> Panel | None:
    """Return how much every feature counts, or how the features are ranked."""
    given = mapped.given
    estimator = given.estimator
    if hasattr(estimator, "ranking_") and hasattr(estimator, "get_support"):
        return _ranking(given)
    components = getattr(estimator, "components_", None)
    if components is None or components.shape[1] != given.source.n_features:
        return None
    deviation = np.sqrt(moments(given.source).variances)
    weights = np.linalg.norm(np.asarray(components, np.float64), axis=0) * deviation
    weights = weights / max(float(weights.max()), 1e-300)
    order = np.argsort(-weights, kind="stable")[:MAX_BARS]
    return named_values(
        "What the features count for",
        [given.feature_names[j] for j in order],
        weights[order],
        [f"{weights[j]:.2f}" for j in order],
        note="How far a row moves when the feature changes by its standard deviation, relative to "
        "the feature that counts most.",
        of=given.source.n_features,
    )


def _ranking(given: Given) -> Panel:
    estimator = given.estimator
    order = np.argsort(estimator.ranking_, kind="stable")[:MAX_BARS]
    scores = np.asarray(estimator.scores_, np.float64)[order]
    kept = estimator.get_support()
    return named_values(
        "Ranking of the features, the best first",
        [given.feature_names[j] for j in order],
        merits(estimator, scores),
        [score_text(float(score)) for score in scores],
        note="The longer the bar, the better; the numbers are scores. "
        f"{ranking_sentence(estimator)} "
        f"The {int(kept.sum()):,} kept features are drawn in full colour.",
        of=given.source.n_features,
        kept=kept[order].tolist(),
    )


def _spread(mapped: Mapped) -> Panel | None:
    """Return how much the rows vary along each new dimension, where these are new."""
    given = mapped.given
    if hasattr(given.estimator, "get_support"):
        return None
    rows = sample_rows(given.n_rows, MAX_ROWS, np.random.default_rng(2))
    variance = moments(as_rows(mapped.image(rows))).variances
    shares = variance / max(float(variance.sum()), 1e-300)
    shown = shares[:MAX_BARS]
    return named_values(
        "Variance along the new dimensions",
        _names_out(given)[: len(shown)],
        shown,
        [f"{share:.0%}" for share in shown],
        note="Share of the variance of the mapped rows.",
        of=len(shares),
        css="spread",
    )


def _names_out(given: Given) -> list[str]:
    names = given.estimator.get_feature_names_out(np.asarray(given.feature_names, dtype=object))
    return [str(name) for name in names]
