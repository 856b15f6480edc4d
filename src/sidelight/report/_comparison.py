"""The candidates of a comparison side by side: scores with bars, agreement, small maps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from sidelight._words import counted, two_digits
from sidelight.evaluation import Candidate, Comparison
from sidelight.evaluation.inner import agreement, codes, pair
from sidelight.pictures import Picture
from sidelight.pictures.inner import (
    Given,
    Partition,
    by_number,
    clusters_of,
    count_together,
    match_classes,
    project,
    sample_rows,
    score_bar,
    score_scale,
    shorten,
    small_map,
)
from sidelight.report.cards import (
    Cell,
    Chip,
    Panel,
    Row,
    card,
    figure,
    group,
    html,
    joined,
    legend,
    note,
    panels,
    small,
    table,
)
from sidelight.report.page import Page
from sidelight.report.text import TextTable, text_table

#: Rows of a small map, maps on the page, and candidates in the table.
MAP_ROWS = 600
MAX_MAPS = 6
MAX_CANDIDATES = 60
#: Letters of the name of a method, and of a reason.
MAX_METHOD, MAX_REASON = 40, 160
TRUTH = Markup(
    '<abbr title="Adjusted Rand index with the true classes, which no candidate was told">Truth'
    "</abbr>"
)
SCORE_NOTE = Markup(
    "The score is the mean of the shares of must-links and of cannot-links that a candidate keeps "
    "although it was not told; 0.5 is chance, ± a standard error. The diamond is the same method, "
    "with the same number of clusters, without any knowledge; the gain is "
    '<span class="shade up">shaded</span> where it is more than two standard errors. '
)


def with_candidates(
    page: Page, comparison: Comparison, verdict: Sequence[str] | None, given: Given
) -> Page:
    """Put the candidates before the chosen one, whose page is given."""
    shown = leaders(comparison)
    names = list(dict.fromkeys(one.name for one in comparison.candidates))
    curves, matrix = _by_number(comparison, names), _matrix(shown)
    said = joined(
        html("<li>{}</li>", _with_code(sentence)) for sentence in verdict or comparison.verdict
    )
    own = [
        card("What the comparison says", html("<ul>{}</ul>", said), size="full verdict"),
        _contest(comparison, names, given),
        None if curves is None else figure(*curves, size="half" if matrix else "full"),
        None
        if matrix is None
        else card(
            "Agreement between them",
            table(matrix, css="heat", scroll="scroll", label="Agreement between the candidates"),
            "Adjusted Rand index of the clusters, all knowledge used: 1 is the same clusters, 0 "
            "chance.",
            size="half" if curves else "full",
        ),
        _maps(comparison, shown, given),
        Markup('<h2 class="full divider">The chosen one</h2>'),
    ]
    n_colors = max(page.n_colors, len(names), *(one.n_clusters or 0 for one in shown))
    return replace(page, cards=[*own, *page.cards], n_colors=n_colors)


def _with_code(sentence: str) -> Markup:
    """Set what stands between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(sentence)))


def leaders(comparison: Comparison) -> list[Candidate]:
    """Candidates that are looked at closely: the best of every method, or of the only one."""
    several = len(comparison.leaders) > 1
    return (comparison.leaders if several else comparison.scored)[:MAX_MAPS]


# --- the table --------------------------------------------------------------------------------


def _contest(comparison: Comparison, names: list[str], given: Given) -> Markup:
    """Return the candidates side by side, with bars of their scores."""
    shown = comparison.candidates[:MAX_CANDIDATES]
    truth, n = _truth(comparison, given), comparison.n_statements
    scored = ((Markup(score_scale()), "Score", "Without knowledge", "Gain"), SCORE_NOTE)
    headers, text = scored if n else ((), Markup(""))
    title = f"{counted(len(comparison.candidates), 'candidate')}, scored by "
    title += f"{counted(n, 'statement')} that each was not told" if n else "stability alone"
    told = text_table(
        "Method",
        "k",
        *headers,
        "Stability",
        "Time",
        *([TRUTH] if truth is not None else []),
        rows=[
            _row(one, names, truth, scored=n > 0, chosen=one is comparison.best_) for one in shown
        ],
        justify=("left", "right", "left", "right") if n else ("left", "right"),
    )
    text += "Stability is the agreement (adjusted Rand index) of fits on overlapping parts of the "
    text += "rows."
    if n_hidden := len(comparison.candidates) - len(shown):
        text += f" {n_hidden} more candidates are not shown."
    return card(
        title, table(told, css="contest", scroll="scroll tall", label="Candidates"), note(text)
    )


def _truth(comparison: Comparison, given: Given) -> npt.NDArray[np.int64] | None:
    """True classes of the rows that were compared, where known."""
    if given.truth is None or not len(given.truth.names):
        return None
    return given.truth.codes[comparison.compared]


def _row(
    one: Candidate,
    names: list[str],
    truth: npt.NDArray[np.int64] | None,
    *,
    scored: bool,
    chosen: bool,
) -> Row:
    """Return a candidate with its figures, or with the reason why it has none."""
    name = group(names.index(one.name), one.name, MAX_METHOD)
    if chosen:
        name += Markup(' <b class="pick">chosen</b>')
    cells: list[object] = [name, "" if one.k is None else str(one.k)]
    css = "chosen" if chosen else ""
    if one.status != "scored":
        reason = f": {shorten(one.reason, MAX_REASON)}" if one.reason else ""
        cells.append(Cell(f"{one.status}{reason}", "quiet", span=8 if scored else 4))
        return Row(cells, css)
    if scored:
        gain: str = pair(one.gain, one.gain_error, "+").replace("-", "−")
        if abs(one.gain) >= 2 * one.gain_error and one.gain:
            gain = html('<span class="shade {}">{}</span>', "up" if one.gain > 0 else "down", gain)
        is_other = one.plain not in (None, one.name)
        plain = html(
            "{}{}", two_digits(one.plain_score), small(f"({one.plain})") if is_other else ""
        )
        cells += [Markup(score_bar(one)), pair(one.score, one.error), plain, gain]
    stable = float(np.clip(np.nan_to_num(one.stability), 0.0, 1.0))
    bar = html('<span class="stable" style="--v:{}"><span></span></span>', f"{stable:.3f}")
    cells += [bar + two_digits(one.stability), Cell(f"{one.seconds:.2f} s", "quiet")]
    return Row([*cells, *([_agreement_with(truth, one)] if truth is not None else [])], css)


def _agreement_with(truth: npt.NDArray[np.int64] | None, one: Candidate) -> str:
    from sidelight.evaluation import adjusted_rand_index

    if truth is None or not np.any(truth >= 0):
        return "–"
    return f"{adjusted_rand_index(truth, codes(one.labels)):.2f}"


# --- scores by number of clusters -------------------------------------------------------------


def _by_number(comparison: Comparison, names: list[str]) -> tuple[str, Picture, Markup, str] | None:
    """Draw score, or stability, against the number of clusters: a line for every method."""
    points = [one for one in comparison.scored if one.k is not None]
    numbers = sorted({one.k for one in points if one.k is not None})
    if len(numbers) < 2:
        return None
    what = "Score" if comparison.n_statements else "Stability"
    title = f"{what} by number of clusters"
    own = {
        name: [
            (k, value, error)
            for k, (value, error) in sorted(
                (one.k or 0, _value(one, what)) for one in points if one.name == name
            )
        ]
        for name in names
    }
    picture = by_number(own, title, _words(points, what))
    text = "Bars are standard errors." if comparison.n_statements else ""
    key = legend((Chip(place, name) for place, name in enumerate(names)), limit=MAX_METHOD)
    return title, picture, key, text


def _value(one: Candidate, what: str) -> tuple[float, float]:
    if what == "Stability":
        return float(np.nan_to_num(one.stability)), 0.0
    return one.score, one.error


def _words(points: Sequence[Candidate], what: str) -> str:
    return ", ".join(f"{one.title}: {_value(one, what)[0]:.2f}" for one in points)


# --- agreement and maps -----------------------------------------------------------------------


def _matrix(shown: Sequence[Candidate]) -> TextTable | None:
    """Return the agreement between the candidates that are looked at closely."""
    if len(shown) < 2:
        return None
    matrix = agreement([one.labels for one in shown], np.random.RandomState(0))
    names = [one.title for one in shown]
    headers = [html('<abbr title="{}">{}</abbr>', name, n) for n, name in enumerate(names, start=1)]
    rows = [
        (f"{n} {name}", *(Cell(f"{value:.2f}", share=max(value, 0.0)) for value in line))
        for n, (name, line) in enumerate(zip(names, matrix.tolist(), strict=True), start=1)
    ]
    return text_table("", *headers, rows=rows)


def _maps(comparison: Comparison, shown: Sequence[Candidate], given: Given) -> Markup | None:
    """Draw the clusters of each in the same projection and, where they match, the same colors."""
    if len(shown) < 2:
        return None
    rng = np.random.default_rng(0)
    chosen = sample_rows(len(comparison.compared), MAP_ROWS, rng)
    projection = project(given.source, comparison.compared[chosen], given.feature_names, rng)
    first = _partition(shown[0])
    maps = []
    for place, one in enumerate(shown):
        own = _partition(one)
        numbers = match_classes(count_together(own, first))
        groups = np.append(numbers, -1)[own.codes[chosen]]
        title, css, size = f"The clusters of {one.title}", f"scatter map-{place}", (560, 380)
        drawn = small_map(projection.xy, groups, css, title, size=size, equal=False)
        maps.append(Panel(one.title, drawn, aside=pair(one.score, one.error)))
    text = "The same rows in the same projection; clusters that match have the same color."
    return card("Their clusters side by side", panels(*maps), text)


def _partition(one: Candidate) -> Partition:
    return clusters_of(np.asarray(one.labels))
