"""Cards that say what the clusters are, in the user's own units and words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from sidelight._words import counted
from sidelight.explanation import Doubt, Explanation, Profile, Rule, Trait, explain_clusters
from sidelight.explanation.inner import percent, probabilities_of, shown
from sidelight.pictures.inner import Given, Run, shorten
from sidelight.preparation import TypedColumn
from sidelight.report.cards import (
    card,
    group,
    html,
    joined,
    note,
    row_id,
    side,
    small,
    terms,
)

SHOWN_TRAITS = 8
SHOWN_CLUSTERS = 24
#: Letters of the name of a cluster, of a trait and its figures, and of a rule.
MAX_LABEL, MAX_TRAIT, MAX_RULE = 48, 80, 240
#: How the bars of traits are read.
HOW_TO_READ = Markup(
    ' Bars compare a cluster with all other rows: to the right <span class="shade up">more</span>, '
    'to the left <span class="shade down">less</span>, full length where the two do not overlap; '
    "the thin line is the 95% interval. Only differences that chance does not explain are named "
    "(5% over all comparisons)."
)
#: Probabilities of more rows take too long to ask for; distances are used instead.
MAX_PROBABILITIES = 100_000


def explain_columns(given: Given, columns: Sequence[TypedColumn] | None) -> Explanation | None:
    """Explain the clusters in the units and words of the columns; None without columns."""
    if not columns:
        return None
    labels, chances = given.estimator.labels_, None
    if given.n_rows <= MAX_PROBABILITIES:
        chances = probabilities_of(given.estimator, given.rows.to_memory(), labels)
    ids = None if given.ids is None else list(given.ids)
    return explain_clusters(columns, labels, ids=ids, X=given.rows, probabilities=chances)


def sampled(run: Given, n_rows: int) -> str:
    """Return of which rows a page speaks, where they are a sample, as a sentence."""
    return f"Drawn from a sample of {n_rows:,} of {counted(run.n_all, 'row')}."


def explained_card(run: Run, explanation: Explanation | None) -> Markup | None:
    """Describe every cluster; nothing without an explanation."""
    if explanation is None or not run.clusters.names:
        return None
    profiles = explanation.clusters
    if len(profiles) > SHOWN_CLUSTERS:
        largest = sorted(profile.size for profile in profiles)[-SHOWN_CLUSTERS]
        profiles = tuple(p for p in profiles if p.size >= largest)[:SHOWN_CLUSTERS]
    notes = explanation.rules.sentence
    if run.whole is not None:
        notes = f"{sampled(run, run.whole.n_drawn)} {notes}"
    if hidden := len(run.clusters.names) - len(profiles):
        notes += f" {counted(hidden, 'smaller cluster')} not shown."
    css = "profiles by-two" if len(profiles) in (2, 4) else "profiles"
    return card(
        "What the clusters are",
        side(*(_profile(run, explanation, one) for one in profiles), css=css),
        note(notes + HOW_TO_READ),
    )


def _profile(run: Run, explanation: Explanation, profile: Profile) -> Markup:
    """Return one cluster: what sets it apart, rows that stand for it or are in doubt, rules."""
    number = run.clusters.numbers.index(profile.name)
    name = run.clusters.names[number]
    traits = shown(profile.traits, SHOWN_TRAITS)
    said: Markup = note(profile.lack)
    if traits:
        said = html('<ul class="traits">{}</ul>', joined(map(_trait, traits)))
        if more := len(profile.traits) - len(traits):
            said += note(f"and {more} more that differ less")
    typical = [row_id(_named(run, row)) for row in explanation.typical[profile.name]]
    doubtful = explanation.doubtful[profile.name]
    rules = joined(map(_rule, explanation.rules.of(profile.name)))
    rows = [
        ("Typical", joined(typical, ", ")),
        ("In doubt", joined(_doubt(run, doubt, doubt is doubtful[-1]) for doubt in doubtful)),
        ("Rules", rules),
    ]
    form = '<article class="profile k{}" aria-label="Cluster {}"><h3>{}{}</h3>{}{}</article>'
    size = small(f"{counted(profile.size, 'row')}, {percent(profile.share)}")
    found = terms([(what, shown) for what, shown in rows if shown], css="rows")
    label = shorten(name, MAX_LABEL)
    return html(form, number, label, group(number, name), size, said, found)


def _trait(trait: Trait) -> Markup:
    """Return a trait, with a bar and its interval in per cent of the width."""

    def place(effect: float) -> str:
        return f"{50.0 + 50.0 * effect:.1f}"

    interval = f"{trait.low:+.2f} to {trait.high:+.2f}"
    return html(
        '<li title="{label}"><span class="what">{what}</span><span class="effect" role="img" '
        'aria-label="{label}"><i class="{side}" style="left:{start}%;width:{width}%"></i>'
        '<b style="left:{low}%;width:{span}%"></b></span>'
        '<span class="figures">{figures}</span></li>',
        label=f"effect {trait.effect:+.2f}, 95% interval {interval}".replace("-", "−"),
        what=shorten(trait.what, MAX_TRAIT),
        side="up" if trait.effect > 0.0 else "down",
        start=place(min(trait.effect, 0.0)),
        width=f"{50.0 * abs(trait.effect):.1f}",
        low=place(trait.low),
        span=f"{50.0 * (trait.high - trait.low):.1f}",
        figures=shorten(trait.figures, MAX_TRAIT),
    )


def _doubt(run: Run, doubt: Doubt, is_last: bool) -> Markup:
    """Return a row in doubt, with the other cluster that it may belong to."""
    number = run.clusters.numbers.index(doubt.other)
    other = group(number, run.clusters.names[number])
    form = '<span class="doubt">{} or {}{}</span> '
    return html(form, row_id(_named(run, doubt.row)), other, "" if is_last else ",")


def _rule(rule: Rule) -> Markup:
    right = f"{percent(rule.precision)} of {counted(rule.n_matching, 'row')} right"
    said = small(f"{right}, covers {percent(rule.coverage)}")
    return html('<p class="rule"><q>{}</q> {}</p>', shorten(rule.text, MAX_RULE), said)


def _named(run: Run, row: Any) -> str:
    return f"row {row}" if run.ids is None else str(row)
