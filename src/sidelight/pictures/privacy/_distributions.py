"""Distributions of quasi-identifiers before and after, for a page that anybody may see.

Bars stand for at least ``k`` rows each: rarer values are merged with others, so that no bar tells
about fewer rows than the published table does. Shares are rounded to whole per cent.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._typing import FloatArray
from sidelight._words import format_number
from sidelight.io.inner import column_texts, is_text, number_column
from sidelight.pictures.kinds._bars import Bars, Series
from sidelight.pictures.kinds._scales import nice_ticks

if TYPE_CHECKING:
    import pyarrow as pa

#: Most bars of a column.
BARS = 12
OTHERS = "others"
_NUMBER = r"[-+−]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_DATE = r"\d{4}-\d\d-\d\d(?:[ T][\d:.]+)?"
RANGE = re.compile(rf"({_NUMBER})(?:(?:-|–|\.\.| to )({_NUMBER}))?")
DATES = re.compile(rf"({_DATE})(?:/({_DATE}))?")


@dataclass(frozen=True)
class Distribution:
    """Shares of the rows of a column, by bar.

    Attributes
    ----------
    name : str
        Name of the column.
    labels : list of str
        What the bars stand for.
    before, after : ndarray
        Shares of the rows as they were and as they are published, in per cent. A published range
        counts for all bars that it covers, in equal parts.
    elsewhere : float
        Share of the published rows, in per cent, that count for no bar: sets, groups and ``*``.
    """

    name: str
    labels: list[str]
    before: FloatArray
    after: FloatArray
    elsewhere: float


def distribution_of(
    name: str, original: pa.ChunkedArray, published: Sequence[str], k: int
) -> Distribution | None:
    """Compare a column with its published values; None where too few rows are alike."""
    numbers = _numbers(original)
    if numbers is not None:
        return _of_numbers(name, numbers, published, k, plain=_is_date(original))
    return _of_words(name, column_texts(original), published, k)


def _numbers(column: pa.ChunkedArray) -> FloatArray | None:
    """Values as numbers, dates as years; None for words."""
    import pyarrow as pa

    if _is_date(column):
        values = column.to_pylist()
        return np.array([np.nan if value is None else _year(value) for value in values])
    if is_text(column) or pa.types.is_boolean(column.type):
        return None
    found = number_column(column)
    return None if found is None else found.astype(np.float64)


def _is_date(column: pa.ChunkedArray) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_date(column.type) or pa.types.is_timestamp(column.type))


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


def _of_numbers(
    name: str, values: FloatArray, published: Sequence[str], k: int, *, plain: bool
) -> Distribution | None:
    known = values[np.isfinite(values)]
    if len(known) < k:
        return None
    low, high = np.quantile(known, [0.02, 0.98])
    inner = np.unique(nice_ticks(float(low), float(high), BARS - 5))
    counts = np.bincount(np.searchsorted(inner, known, side="right"), minlength=len(inner) + 1)
    edges = _merged_edges(inner, counts, k)
    before = np.bincount(np.searchsorted(edges, known, side="right"), minlength=len(edges) + 1)
    after, elsewhere = np.zeros(len(edges) + 1), 0.0
    for text, n in Counter(published).items():
        ends = range_of(text)
        if ends is None:
            elsewhere += n
        else:
            after += n * _covered(edges, *ends)
    return Distribution(
        name,
        _bin_labels(edges, plain),
        _per_cent(before, len(known)),
        _per_cent(after, max(len(published), 1)),
        float(np.round(100 * elsewhere / max(len(published), 1))),
    )


def _merged_edges(edges: FloatArray, counts: Any, k: int) -> FloatArray:
    """Edges between bins of at least ``k`` rows each; the outermost bins have no other end."""
    kept, held = [], 0
    for edge, count in zip(edges.tolist(), counts[:-1].tolist(), strict=True):
        held += count
        if held >= k:
            kept.append(edge)
            held = 0
    held += int(counts[-1])
    if held < k and kept:  # the last bin goes to the one before it
        kept.pop()
    return np.array(kept, np.float64)


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


def _of_words(
    name: str, texts: Sequence[str], published: Sequence[str], k: int
) -> Distribution | None:
    counts = Counter(texts)
    shown = [(text, n) for text, n in counts.most_common(BARS) if n >= k and text]
    n_others = len(texts) - sum(n for _, n in shown)
    while 0 < n_others < k and shown:  # the rest of all others would tell about few rows
        n_others += shown.pop()[1]
    if not shown:
        return None
    printed = Counter(published)
    labels = [text for text, _ in shown]
    before = [n for _, n in shown]
    after = [printed.get(text, 0) for text in labels]
    if n_others:
        hidden = set(counts) - set(labels)
        labels, before = [*labels, OTHERS], [*before, n_others]
        after = [*after, sum(n for text, n in printed.items() if text in hidden)]
    n_published = max(len(published), 1)
    elsewhere = float(np.round(100 * (len(published) - sum(after)) / n_published))
    return Distribution(
        name,
        labels,
        _per_cent(np.array(before), len(texts)),
        _per_cent(np.array(after), n_published),
        elsewhere,
    )


def _per_cent(counts: Any, of: int) -> FloatArray:
    return np.round(100.0 * np.asarray(counts, np.float64) / of)


def width_text(original: pa.ChunkedArray, published: Sequence[str]) -> str:
    """Median width of the published ranges; nothing where fewer than half of the rows have one."""
    wide = widths(published)
    if 2 * len(wide) <= len(published):
        return ""
    text = format_number(float(np.median(wide)))
    return f"{text} years" if _is_date(original) else text


def widths(published: Sequence[str]) -> FloatArray:
    """Widths of the published ranges of numbers or dates, a value for every row that has one."""
    found = [(range_of(text), n) for text, n in Counter(published).items()]
    return np.concatenate(
        [np.empty(0), *(np.full(n, ends[1] - ends[0]) for ends, n in found if ends is not None)]
    )


def before_and_after(found: Distribution, number: int) -> Bars:
    """Two bars for every label: rows as they were, and as they are published."""
    said = [
        f"{label}: {before:.0f}% before, {after:.0f}% after"
        for label, before, after in zip(found.labels, found.before, found.after, strict=True)
    ]
    return Bars(
        title=f"{found.name} before and after",
        text=", ".join(said),
        series=[Series("before", found.before, "before"), Series("after", found.after, "after")],
        names=found.labels,
        titles=said,
        texts=[f"{before:.0f}%" for before in found.before],
        axis_titles=(found.name, "share of the rows in per cent"),
        css=f"spread spread{number}",
        largest=max(float(found.before.max()), float(found.after.max()), 1.0),
        below=True,
    )
