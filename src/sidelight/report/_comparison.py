"""The candidates of a comparison side by side: scores with bars, agreement, small maps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from sidelight._words import counted, two_digits
from sidelight.evaluation import Candidate, Comparison
from sidelight.evaluation.inner import agreement, codes, pair
from sidelight.pictures._matching import count_together, match_classes
from sidelight.pictures._points import small_map
from sidelight.pictures._projection import project
from sidelight.pictures._run import Given, Partition, clusters_of, sample_rows
from sidelight.pictures._scores import by_number
from sidelight.pictures.svg._comparison import score_bar, score_scale
from sidelight.pictures.svg._render import svg_of
from sidelight.report.figures import figure
from sidelight.report.sections import Section, colours

#: Rows of a small map, maps on the page, and candidates in the table.
MAP_ROWS = 600
MAX_MAPS = 6
MAX_CANDIDATES = 60


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
    return (comparison.leaders if several else comparison.scored)[:MAX_MAPS]


# --- the table --------------------------------------------------------------------------------


def _table(comparison: Comparison, names: list[str], given: Given) -> Section:
    shown = comparison.candidates[:MAX_CANDIDATES]
    truth = _truth(comparison, given)
    n = comparison.n_statements
    return {
        "rows": [_row(one, names, truth, chosen=one is comparison.best_) for one in shown],
        "n_hidden": len(comparison.candidates) - len(shown),
        "scored": n > 0,
        "truth": truth is not None,
        "title": f"{counted(len(comparison.candidates), 'candidate')}, scored by "
        + (f"{counted(n, 'statement')} that each was not told" if n else "stability alone"),
        "scale": Markup(score_scale()),
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
        "bar": Markup(score_bar(one)),
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


# --- scores by number of clusters -------------------------------------------------------------


def _by_number(comparison: Comparison, names: list[str]) -> Section | None:
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
    note = "Bars are standard errors." if comparison.n_statements else ""
    legend = [{"number": place, "name": name} for place, name in enumerate(names)]
    return {**figure(title, picture, note), "legend": legend}


def _value(one: Candidate, what: str) -> tuple[float, float]:
    if what == "Stability":
        return float(np.nan_to_num(one.stability)), 0.0
    return one.score, one.error


def _words(points: Sequence[Candidate], what: str) -> str:
    return ", ".join(f"{one.title}: {_value(one, what)[0]:.2f}" for one in points)


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
            projection.xy,
            groups,
            f"scatter map-{place}",
            f"The clusters of {one.title}",
            size=(560, 380),
            equal=False,
        )
        maps.append(
            {"title": one.title, "svg": Markup(svg_of(drawn)), "score": pair(one.score, one.error)}
        )
    return maps


def _partition(one: Candidate) -> Partition:
    return clusters_of(np.asarray(one.labels))
