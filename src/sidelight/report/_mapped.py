"""The report of a learned distance, projection or selection: rows and pairs before and after."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from sidelight._fit.moments import moments
from sidelight._typing import Array
from sidelight._words import counted, format_number, listed, statements
from sidelight.engine import as_rows
from sidelight.pictures._histograms import pair_distances
from sidelight.pictures._pairs import MAX_PAIRS, Mapped, PairDistances, known_distances, some_of
from sidelight.pictures._points import link_lines, small_map
from sidelight.pictures._projection import project
from sidelight.pictures._run import Given, Partition, sample_rows
from sidelight.pictures._selection import Links, fill_up
from sidelight.report.figures import bar_figure, figure
from sidelight.report.sections import MAX_GROUPS, Section, chips, colours, objective, status

MAX_DRAWN = 2_000
MAX_LINKED = 1_500  # of the drawn rows: the rest shows what else there is
MAX_LINES = 400
MAX_ROWS = 20_000  # are mapped to see how they spread
MAX_BARS = 30


def cards(given: Given) -> Section:
    """Everything the page of a map shows."""
    mapped = Mapped(given)
    known = known_distances(mapped)
    return {
        **_in_short(given, known),
        **_maps(mapped),
        **pairs_before_and_after(mapped, known),
        **_feature_bars(mapped),
        **_spread(mapped),
        **objective(given.estimator),
    }


def _in_short(given: Given, known: PairDistances) -> Section:
    n_out = len(_names_out(given))
    said = statements(given.constraints.counts)
    sentence = f"{counted(given.n_rows, 'row')}, {counted(given.source.n_features, 'feature')} in, "
    sentence += f"{n_out:,} out; "
    sentence += f"known: {listed(said)}." if said else "nothing else was known."
    return {
        "sentence": sentence,
        "status": order_of_pairs(known) or status(None, "No pairs of both kinds to compare"),
        "facts_of_its_own": [
            ("Features in", f"{given.source.n_features:,}"),
            ("Features out", f"{n_out:,}"),
        ],
    }


def order_of_pairs(known: PairDistances) -> Section | None:
    """The line at the top of the page, where pairs of both kinds are known."""
    before, after = known.order("before"), known.order("after")
    if before is None or after is None:
        return None
    text = f"Known pairs in order: {after:.0%}, before {before:.0%}"
    # Equal as they are shown is neither good nor bad.
    gain = round(100 * after) - round(100 * before)
    return status(gain > 0 if gain else None, text)


# --- the two maps -----------------------------------------------------------------------------


def _maps(mapped: Mapped) -> Section:
    given = mapped.given
    rng = np.random.default_rng(0)
    links = np.concatenate([some_of(pairs, MAX_LINES // 2) for pairs in mapped.pairs])
    cannot = np.repeat([False, True], [min(len(p), MAX_LINES // 2) for p in mapped.pairs])
    rows = _drawn_rows(given, links, rng)
    kept = np.isin(links, rows).all(axis=1)
    links, cannot = np.searchsorted(rows, links[kept]), cannot[kept]
    groups = _groups(given)
    codes = np.zeros(len(rows), np.int64) if groups is None else groups.codes[rows]
    image = as_rows(mapped.image(rows))
    everywhere = np.arange(len(rows))
    before = project(as_rows(given.source.take(rows)), everywhere, given.feature_names, rng)
    after = project(image, everywhere, _names_out(given), rng)
    notes = ["Lines join known pairs; dashed ones do not belong together."] if len(links) else []
    if len(rows) < given.n_rows:
        notes.append(f"{len(rows):,} of {given.n_rows:,} rows are drawn.")
    kept_pairs = Links(links, cannot, np.zeros(len(links), bool), np.ones(len(links)))
    lines = link_lines(kept_pairs)
    pictures = {
        "before": (before, "The rows as they were given", "Before: the rows as they were given"),
        "after": (after, "The rows after the map", "After: the rows as the method sees them"),
    }
    figures = {
        when: figure(
            heading,
            small_map(
                projection.xy,
                codes,
                f"scatter {when}",
                title,
                lines=lines,
                size=(560, 380),
                equal=False,
            ),
            projection.note,
        )
        for when, (projection, title, heading) in pictures.items()
    }
    figures["after"]["note"] = " ".join([after.note, *notes])
    return {
        **figures,
        "chips": [] if groups is None else chips(groups, np.arange(len(groups.names))),
        "n_hidden": 0 if groups is None else max(0, len(groups.names) - MAX_GROUPS),
        "colours": Markup(colours(1 if groups is None else max(len(groups.names), 1))),
    }


def _drawn_rows(given: Given, links: Array, rng: np.random.Generator) -> Array:
    """Choose rows of known pairs first, then others at random."""
    linked = np.unique(links)
    if len(linked) > MAX_LINKED:
        linked = np.sort(rng.choice(linked, MAX_LINKED, replace=False))
    return fill_up(linked, given.n_rows, MAX_DRAWN, rng)


def _groups(given: Given) -> Partition | None:
    """What the points are coloured by: classes to compare with, else known labels."""
    if given.truth is not None and len(given.truth.names):
        return given.truth
    known = given.constraints
    if known.labels is None or known.label_names is None:
        return None
    return Partition(known.labels, tuple(str(name) for name in known.label_names))


# --- pairs ------------------------------------------------------------------------------------


def pairs_before_and_after(mapped: Mapped, known: PairDistances) -> Section:
    rows = [_pair_row("Known pairs", known)] if known.order("after") is not None else []
    unmentioned = _pairs_by_truth(mapped)
    if unmentioned is not None and unmentioned.order("after") is not None:
        rows.append(_pair_row("Pairs of rows that nothing was said about", unmentioned))
    shown = known if known.order("after") is not None else unmentioned
    if shown is None or not rows:
        return {"pair_rows": []}
    charts = {
        f"distances_{when}": figure(f"Distances of pairs {when}", picture)
        for when, picture in zip(("before", "after"), pair_distances(shown), strict=True)
    }
    return {"pair_rows": rows, **charts}


def _pair_row(name: str, kinds: PairDistances) -> Section:
    return {
        "name": name,
        "n_together": len(kinds.together.after),
        "n_apart": len(kinds.apart.after),
        "order_before": f"{kinds.order('before'):.1%}",
        "order_after": f"{kinds.order('after'):.1%}",
        "together": kinds.together.medians,
        "apart": kinds.apart.medians,
    }


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


def _feature_bars(mapped: Mapped) -> Section:
    given = mapped.given
    estimator = given.estimator
    if hasattr(estimator, "ranking_") and hasattr(estimator, "get_support"):
        return _ranking(given)
    components = getattr(estimator, "components_", None)
    if components is None or components.shape[1] != given.source.n_features:
        return {"bars": None}
    deviation = np.sqrt(moments(given.source).variances)
    weights = np.linalg.norm(np.asarray(components, np.float64), axis=0) * deviation
    weights = weights / max(float(weights.max()), 1e-300)
    order = np.argsort(-weights, kind="stable")[:MAX_BARS]
    found = bar_figure(
        "What the features count for",
        [given.feature_names[j] for j in order],
        weights[order],
        [f"{weights[j]:.2f}" for j in order],
        note="How far a row moves when the feature changes by its standard deviation, relative to "
        "the feature that counts most.",
        of=given.source.n_features,
    )
    return {"bars": found}


def _ranking(given: Given) -> Section:
    estimator = given.estimator
    order = np.argsort(estimator.ranking_, kind="stable")[:MAX_BARS]
    scores = np.asarray(estimator.scores_, np.float64)[order]
    kept = estimator.get_support()
    best = "smallest" if scores[0] < scores[-1] else "largest"
    found = bar_figure(
        "Ranking of the features, the best first",
        [given.feature_names[j] for j in order],
        _merits(scores),
        [format_number(float(score)) for score in scores],
        note=f"The longer the bar, the better; the numbers are the scores, the {best} the best. "
        f"The {int(kept.sum()):,} kept features are drawn in full colour.",
        of=given.source.n_features,
        kept=kept[order].tolist(),
    )
    return {"bars": found}


def _merits(scores: Array) -> Array:
    """Lengths of the bars of ranked features: 1 for the best score, 0 for the worst."""
    finite = np.isfinite(scores)
    merits = np.zeros(len(scores))
    if finite.any():
        shown = scores[finite]
        worst = shown[-1] if shown[0] < shown[-1] else min(float(shown[-1]), 0.0)
        merits[finite] = np.abs(shown - worst)
    return merits


def _spread(mapped: Mapped) -> Section:
    """How much the rows vary along each new dimension, where these are new."""
    given = mapped.given
    if hasattr(given.estimator, "get_support"):
        return {"spread": None}
    rows = sample_rows(given.n_rows, MAX_ROWS, np.random.default_rng(2))
    variance = moments(as_rows(mapped.image(rows))).variances
    shares = variance / max(float(variance.sum()), 1e-300)
    shown = shares[:MAX_BARS]
    found = bar_figure(
        "Variance along the new dimensions",
        _names_out(given)[: len(shown)],
        shown,
        [f"{share:.0%}" for share in shown],
        note="Share of the variance of the mapped rows.",
        of=len(shares),
        name="spread",
    )
    return {"spread": found}


def _names_out(given: Given) -> list[str]:
    names = given.estimator.get_feature_names_out(np.asarray(given.feature_names, dtype=object))
    return [str(name) for name in names]
