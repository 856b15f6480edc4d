"""Distributions of published quasi-identifiers, for a page that anybody may see.

All is computed from the published values: bars of the rows as they were would tell where in its
range a value is.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sidelight._typing import FloatArray
from sidelight._words import format_number
from sidelight.pictures.kinds._bars import Bars, Series
from sidelight.pictures.kinds._scales import nice_ticks

#: What a column holds.
Kind = Literal["number", "date", "word"]
#: Most bars of a column.
BARS = 12
OTHERS = "others"
ANY, NOTHING = "*", "missing"
_NUMBER = r"[-+−]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_DATE = r"\d{4}-\d\d-\d\d(?:[ T][\d:.]+)?"
RANGE = re.compile(rf"({_NUMBER})(?:(?:-|–|\.\.| to )({_NUMBER}))?")
DATES = re.compile(rf"({_DATE})(?:/({_DATE}))?")


@dataclass(frozen=True)
class Distribution:
    """Shares of the published rows of a column, by bar.

    Attributes
    ----------
    name : str
        Name of the column.
    labels : list of str
        What the bars stand for.
    shares : ndarray
        Shares of the rows, in whole per cent. A published range counts for all bars that it covers,
        in equal parts.
    elsewhere : float
        Share of the rows, in per cent, that count for no bar: sets, groups and ``*``.
    """

    name: str
    labels: list[str]
    shares: FloatArray
    elsewhere: float


def distribution_of(name: str, kind: Kind, published: Sequence[str]) -> Distribution | None:
    """Shares of a published column; None where no value or range is published."""
    if kind == "word":
        return _of_words(name, published)
    return _of_numbers(name, published, plain=kind == "date")


def _year(day: dt.date) -> float:
    return day.year + (day.timetuple().tm_yday - 1) / 366


def range_of(text: str) -> tuple[float, float] | None:
    """Ends of a published range of numbers or dates (in years); None for other texts.

    Examples
    --------
    >>> range_of("20-29"), range_of("-5--3"), range_of("37.5"), range_of("*")
    ((20.0, 29.0), (-5.0, -3.0), (37.5, 37.5), None)
    """
    if days := DATES.fullmatch(text):
        ends = [_year(dt.date.fromisoformat(end[:10])) for end in days.groups() if end]
        return ends[0], ends[-1]
    if found := RANGE.fullmatch(text):
        ends = [float(end.replace(",", "").replace("−", "-")) for end in found.groups() if end]
        return ends[0], ends[-1]
    return None


def _of_numbers(name: str, published: Sequence[str], *, plain: bool) -> Distribution | None:
    found = [(range_of(text), n) for text, n in Counter(published).items()]
    counts = [(ends, n) for ends, n in found if ends is not None]
    if not counts:
        return None
    elsewhere = len(published) - sum(n for _, n in counts)
    ends = np.repeat([ends for ends, _ in counts], [n for _, n in counts], axis=0)
    low, high = np.quantile(ends, [0.02, 0.98])
    edges = np.unique(nice_ticks(float(low), float(high), BARS - 5))
    shares = np.zeros(len(edges) + 1)
    for (first, last), n in counts:
        shares += n * _covered(edges, first, last)
    return Distribution(
        name,
        _bin_labels(edges, plain),
        _per_cent(shares, len(published)),
        float(_per_cent(elsewhere, len(published))),
    )


def _covered(edges: FloatArray, low: float, high: float) -> FloatArray:
    """Share of a range in every bin."""
    if not high > low:
        return np.bincount(
            np.searchsorted(edges, [low], side="right"), minlength=len(edges) + 1
        ).astype(np.float64)
    ends = np.clip(np.concatenate([[low], edges, [high]]), low, high)
    return np.diff(ends) / (high - low)


def _bin_labels(edges: FloatArray, plain: bool) -> list[str]:
    """Bins in words; years are ``plain`` numbers, without a mark of thousands."""
    if not len(edges):
        return ["all"]
    texts = [f"{edge:g}" if plain else format_number(edge) for edge in edges.tolist()]
    between = [f"{low} to {high}" for low, high in itertools.pairwise(texts)]
    return [f"below {texts[0]}", *between, f"{texts[-1]} or more"]


def _of_words(name: str, published: Sequence[str]) -> Distribution | None:
    counts = Counter(text for text in published if is_single(text, "word"))
    shown = counts.most_common(BARS)
    if not shown:
        return None
    labels, numbers = [text for text, _ in shown], [n for _, n in shown]
    if n_others := sum(counts.values()) - sum(numbers):
        labels, numbers = [*labels, OTHERS], [*numbers, n_others]
    elsewhere = len(published) - sum(numbers)
    return Distribution(
        name,
        labels,
        _per_cent(np.array(numbers), len(published)),
        float(_per_cent(elsewhere, len(published))),
    )


def _per_cent(counts: Any, of: int) -> FloatArray:
    return np.round(100.0 * np.asarray(counts, np.float64) / of)


def is_single(text: str, kind: Kind, groups: Collection[str] = ()) -> bool:
    """Whether a published text is one value; ``groups`` are those of a hierarchy."""
    if text == ANY or text in groups or (kind == "word" and text.startswith("{")):
        return False
    ends = None if kind == "word" else range_of(text)
    return ends is None or ends[0] == ends[1]


def width_text(kind: Kind, published: Sequence[str]) -> str:
    """Median width of the published ranges; nothing where fewer than half of the rows have one."""
    wide = widths(published) if kind != "word" else np.empty(0)
    if 2 * len(wide) <= len(published):
        return ""
    text = format_number(float(np.median(wide)))
    return f"{text} years" if kind == "date" else text


def widths(published: Sequence[str]) -> FloatArray:
    """Widths of the published ranges of numbers or dates, a value for every row that has one."""
    found = [(range_of(text), n) for text, n in Counter(published).items()]
    return np.concatenate(
        [np.empty(0), *(np.full(n, ends[1] - ends[0]) for ends, n in found if ends is not None)]
    )


def share_bars(found: Distribution, number: int) -> Bars:
    """A bar for every label."""
    said = [
        f"{label}: {share:.0f}%" for label, share in zip(found.labels, found.shares, strict=True)
    ]
    return Bars(
        title=f"{found.name} as published",
        text=", ".join(said),
        series=[Series("published", found.shares, "after")],
        names=found.labels,
        titles=said,
        texts=[f"{share:.0f}%" for share in found.shares],
        axis_titles=(found.name, "share of the rows in per cent"),
        css=f"spread spread{number}",
        largest=max(float(found.shares.max()), 1.0),
        below=True,
    )
