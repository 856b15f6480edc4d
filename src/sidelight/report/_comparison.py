"""The candidates of a comparison side by side: scores with bars, agreement, small maps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from sidelight._words import counted
from sidelight.evaluation import Candidate, Comparison
from sidelight.evaluation.inner import agreement, codes, pair
from sidelight.evaluation.inner import figure as two_digits
from sidelight.report._charts import Box, figure, nice_ticks, svg_start
from sidelight.report._projection import project
from sidelight.report._run import Partition, sample_rows
from sidelight.report._scatter import small_map
from sidelight.report._sections import Section, colours
from sidelight.report._tables import count_together, match_classes

if TYPE_CHECKING:
    from sidelight.report._run import Given

#: Rows of a small map, maps on the page, and candidates in the table.
MAP_ROWS = 600
MOST_MAPS = 6
MOST_CANDIDATES = 60
#: The bar of a score inside its row of the table.
BAR = Box(width=220, height=22, left=2, right=2, top=0, bottom=0)
BY_NUMBER = Box(width=560, height=250, left=40, right=16, top=14, bottom=34)
#: How far lines of several methods stand apart at one number of clusters, in numbers.
APART = 0.07


def cards(comparison: Comparison, verdict: Sequence[str] | None, given: Given) -> Section:
    """Everything that the page shows about the candidates."""
    shown = leaders(comparison)
    names = list(dict.fromkeys(one.name for one in comparison.candidates))
    return {
        "verdict": [_with_code(said) for said in verdict or comparison.verdict],
        "contest": _table(comparison, names, given),
        "by_number": _by_number(comparison, names),
        "leaders": _matrix(shown),
        "maps": _maps(comparison, shown, given),
        "n_colours": max(len(names), *(one.n_clusters or 0 for one in shown)),
    }


def add_to(page: Section, comparison: Comparison, verdict: Any, given: Given) -> Section:
    """Put the candidates on the page of the chosen one."""
    own = cards(comparison, verdict, given)
    n_clusters = len(np.unique(given.estimator.labels_))
    colour = Markup(colours(max(own.pop("n_colours"), n_clusters)))
    return {**page, **own, "colours": colour}


def _with_code(sentence: str) -> Markup:
    """Set what stands between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(sentence)))


def leaders(comparison: Comparison) -> list[Candidate]:
    """Candidates that are looked at closely: the best of every method, or of the only one."""
    several = len(comparison.leaders) > 1
    return (comparison.leaders if several else comparison.scored)[:MOST_MAPS]


# --- the table --------------------------------------------------------------------------------


def _table(comparison: Comparison, names: list[str], given: Given) -> Section:
    shown = comparison.candidates[:MOST_CANDIDATES]
    truth = _truth(comparison, given)
    n = comparison.n_statements
    return {
        "rows": [_row(one, names, truth, chosen=one is comparison.best_) for one in shown],
        "n_hidden": len(comparison.candidates) - len(shown),
        "scored": n > 0,
        "truth": truth is not None,
        "title": f"{counted(len(comparison.candidates), 'candidate')}, scored by "
        + (f"{counted(n, 'statement')} that each was not told" if n else "stability alone"),
        "scale": Markup(_scale()),
    }


def _truth(comparison: Comparison, given: Given) -> npt.NDArray[np.int64] | None:
    """True classes of the rows that were compared, where known."""
    if given.truth is None or not len(given.truth.names):
        return None
    return given.truth.codes[comparison.compared]


def _row(
    one: Candidate, names: list[str], truth: npt.NDArray[np.int64] | None, *, chosen: bool
) -> Section:
    row = {
        "name": one.name,
        "number": names.index(one.name),
        "k": "" if one.k is None else str(one.k),
        "chosen": chosen,
        "status": one.status,
        "reason": one.reason,
    }
    if one.status != "scored":
        return row
    clear = abs(one.gain) >= 2 * one.gain_error
    return row | {
        "bar": Markup(_bar(one)),
        "score": pair(one.score, one.error),
        "plain": two_digits(one.plain_score),
        "plain_name": one.plain if one.plain not in (None, one.name) else None,
        "gain": pair(one.gain, one.gain_error, "+").replace("-", "−"),
        "gained": "up" if clear and one.gain > 0 else "down" if clear and one.gain < 0 else "",
        "stability": two_digits(one.stability),
        "stable": float(np.clip(np.nan_to_num(one.stability), 0.0, 1.0)),
        "seconds": f"{one.seconds:.2f} s",
        "agreement": _agreement_with(truth, one),
    }


def _agreement_with(truth: npt.NDArray[np.int64] | None, one: Candidate) -> str:
    from sidelight.evaluation import adjusted_rand_index

    if truth is None or not np.any(truth >= 0):
        return "–"
    return f"{adjusted_rand_index(truth, codes(one.labels)):.2f}"


def _bar(one: Candidate) -> str:
    """Draw a score from 0 to 1 with its standard error, chance, and the score without knowledge."""
    if np.isnan(one.score):
        return ""
    box, middle = BAR, BAR.height / 2
    at = _places([0.0, one.score, one.score - one.error, one.score + one.error])
    parts = [
        f'<svg class="score" viewBox="0 0 {box.width} {box.height}" aria-hidden="true">',
        f'<path class="chance" d="M{_places([0.5])[0]:.1f} 1V{box.height - 1}"/>',
        f'<rect x="{at[0]:.1f}" y="6" width="{max(at[1] - at[0], 1):.1f}" height="10" rx="2"/>',
        f'<path class="error" d="M{at[2]:.1f} {middle}H{at[3]:.1f}'
        f'M{at[2]:.1f} {middle - 3.5}v7M{at[3]:.1f} {middle - 3.5}v7"/>',
    ]
    if not np.isnan(one.plain_score):
        x = _places([one.plain_score])[0]
        parts.append(f'<path class="plain" d="M{x:.1f} 2l4 4.5l-4 4.5l-4 -4.5z"/>')
    return "".join(parts) + "</svg>"


def _scale() -> str:
    """Draw the axis of the bars."""
    texts = "".join(
        f'<text x="{x:.1f}" y="12" style="text-anchor:{anchor}">{value}</text>'
        for x, value, anchor in zip(
            _places([0.0, 0.5, 1.0]), ("0", "0.5", "1"), ("start", "middle", "end"), strict=True
        )
    )
    return f'<svg class="score" viewBox="0 0 {BAR.width} 15" aria-hidden="true">{texts}</svg>'


def _places(values: Sequence[float]) -> list[float]:
    """Where scores lie in a bar; what lies beyond is drawn on its edge."""
    return [float(x) for x in BAR.x(np.clip(np.asarray(values), 0.0, 1.0), 0.0, 1.0)]


# --- scores by number of clusters -------------------------------------------------------------


def _by_number(comparison: Comparison, names: list[str]) -> Section | None:
    """Draw score, or stability, against the number of clusters: a line for every method."""
    points = [one for one in comparison.scored if one.k is not None]
    numbers = sorted({one.k for one in points if one.k is not None})
    if len(numbers) < 2:
        return None
    what = "Score" if comparison.n_statements else "Stability"
    box = BY_NUMBER
    values = [_value(one, what) for one in points]
    low = min(0.5, *(value - error for value, error in values))
    limits = (max(0.0, low) - 0.02, 1.04)
    left, right = numbers[0] - 0.4, numbers[-1] + 0.4
    parts = [svg_start(box, "curves", f"{what} by number of clusters", _words(points, what))]
    for tick in nice_ticks(*limits, 5):
        y = float(box.y(tick, *limits))
        parts.append(
            f'<path class="gridline" d="M{box.left} {y:.1f}H{box.width - box.right}"/>'
            f'<text class="left" x="{box.left - 8}" y="{y + 4:.1f}">{tick:g}</text>'
        )
    for number in numbers:
        x = float(box.x(number, left, right))
        parts.append(f'<text x="{x:.1f}" y="{box.base + 16:.1f}">{number}</text>')
    for place, name in enumerate(names):
        shift = APART * (place - (len(names) - 1) / 2)
        own = sorted((one.k or 0, _value(one, what)) for one in points if one.name == name)
        xy = [
            (float(box.x(k + shift, left, right)), float(box.y(v, *limits)), e) for k, (v, e) in own
        ]
        unit = box.inner_height / (limits[1] - limits[0])
        parts.append(_line(place, name, xy, unit))
    title = f"{what} by number of clusters"
    note = "Bars are standard errors." if comparison.n_statements else ""
    legend = [{"number": place, "name": name} for place, name in enumerate(names)]
    return {**figure(title, "".join(parts) + box.axis(box.base), note), "legend": legend}


def _value(one: Candidate, what: str) -> tuple[float, float]:
    if what == "Stability":
        return float(np.nan_to_num(one.stability)), 0.0
    return one.score, one.error


def _words(points: Sequence[Candidate], what: str) -> str:
    return ", ".join(f"{one.title}: {_value(one, what)[0]:.2f}" for one in points)


def _line(place: int, name: str, xy: list[tuple[float, float, float]], unit: float) -> str:
    if not xy:
        return ""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in xy)
    bars = "".join(
        f"M{x:.1f} {y - error * unit:.1f}V{y + error * unit:.1f}" for x, y, error in xy if error
    )
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>' for x, y, _ in xy)
    return (
        f'<g class="k{place}"><title>{escape(name)}</title><path class="line" d="{path}"/>'
        f'<path class="error" d="{bars}"/>{dots}</g>'
    )


# --- agreement and maps -----------------------------------------------------------------------


def _matrix(shown: Sequence[Candidate]) -> Section | None:
    """Agreement between the candidates that are looked at closely."""
    if len(shown) < 2:
        return None
    matrix = agreement([one.labels for one in shown], np.random.RandomState(0))
    names = [one.title for one in shown]
    return {
        "names": names,
        "rows": [
            {"name": name, "cells": [{"value": f"{v:.2f}", "shade": max(v, 0.0)} for v in line]}
            for name, line in zip(names, matrix.tolist(), strict=True)
        ],
    }


def _maps(comparison: Comparison, shown: Sequence[Candidate], given: Given) -> list[Section]:
    """Draw the clusters of each in the same projection and, where they match, the same colours."""
    if len(shown) < 2:
        return []
    rng = np.random.default_rng(0)
    chosen = sample_rows(len(comparison.compared), MAP_ROWS, rng)
    projection = project(given.source, comparison.compared[chosen], given.feature_names, rng)
    first = _partition(shown[0])
    maps = []
    for place, one in enumerate(shown):
        own = _partition(one)
        numbers = match_classes(count_together(own, first))
        groups = np.append(numbers, -1)[own.codes[chosen]]
        drawn = small_map(
            projection,
            np.empty((0, 2), dtype=np.int64),
            np.empty(0, dtype=bool),
            groups,
            f"scatter map-{place}",
            f"The clusters of {one.title}",
        )
        maps.append({"title": one.title, "svg": Markup(drawn), "score": pair(one.score, one.error)})
    return maps


def _partition(one: Candidate) -> Partition:
    labels = np.asarray(one.labels)
    values, found = np.unique(labels, return_inverse=True)
    outside = int(values.dtype.kind in "iu" and len(values) > 0 and values[0] == -1)
    return Partition(
        found.reshape(-1).astype(np.int64) - outside, tuple(map(str, values[outside:]))
    )
