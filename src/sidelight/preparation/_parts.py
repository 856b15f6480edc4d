r"""Features of one column, by its kind.

A column counts as one feature in a squared Euclidean distance, whatever its kind. With ``mismatch``
the squared distance of two rows in different categories (2 where numbers have variance 1, 1 where
they have range 1):

* numbers, dates and ordered levels: :math:`(x - c) / s`, and beside it a column that marks what was
  missing;
* levels: a column each, :math:`\sqrt{mismatch / 2}` where the row has the level; two levels need
  one column;
* cycles of dates and times: a sine and a cosine of amplitude :math:`\sqrt{mismatch / 2}`, of total
  variance :math:`mismatch / 2` as that of numbers; the m parts of a date are divided by
  :math:`\sqrt m`;
* texts: a direction of length :math:`\sqrt{mismatch / 2}`, so that texts without a common word are
  as far apart as two categories.

A weight w multiplies all by :math:`\sqrt w`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array, FloatArray
from sidelight._words import counted
from sidelight.exceptions import SidelightError
from sidelight.preparation._calendar import DAY, YEAR, Calendar, month_of, weekday_of
from sidelight.preparation._known import ColumnValues
from sidelight.preparation._plan import ColumnPlan
from sidelight.preparation._reading import levels_of
from sidelight.preparation._redundant import Aspect
from sidelight.preparation._scale import Scale, Spread
from sidelight.preparation._typed import TypedColumn
from sidelight.preparation.streams._forest import summarize

#: Kinds of columns whose values have differences.
MEASURED = ("number", "ordered", "date", "time")
DATED = ("date", "time")
#: Largest number of words of texts, and of directions that are kept of them.
MAX_WORDS, DIRECTIONS = 2000, 20


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """What the features of a column need to know of all of its values.

    Attributes
    ----------
    spread : Spread or None
        That of numbers, ranks, or days.
    calendar : Calendar or None
        What dates or times of day have in common.
    texts : list of str
        Texts that show the words of a column.
    """

    spread: Spread | None = None
    calendar: Calendar | None = None
    texts: Sequence[str] = ()


def facts_in_memory(
    plan: ColumnPlan, column: TypedColumn, extent: tuple[float, float], scale: Scale
) -> ColumnFacts:
    """Facts of a column in memory.

    Parameters
    ----------
    plan : ColumnPlan
        The decision on the column.
    column : TypedColumn
        Its values.
    extent : (float, float)
        Smallest and largest of its :func:`measured` values, where it has such.
    scale : Scale
        How they are made comparable.
    """
    if plan.kind == "text":
        return ColumnFacts(texts=column.values.tolist())
    if plan.kind not in MEASURED:
        return ColumnFacts()
    with np.errstate(over="ignore", invalid="ignore"):
        spread = Spread.of(measured(plan, column.values), extent, scale)
    if plan.kind not in DATED:
        return ColumnFacts(spread)
    seconds = column.values
    return ColumnFacts(spread, summarize(lambda rows: Calendar.of(seconds[rows]), len(seconds)))


def measured(plan: ColumnPlan, values: npt.NDArray[Any]) -> FloatArray:
    """Numbers whose differences count: logarithms of skewed ones, ranks, days; NaN for gaps."""
    if plan.kind in DATED:
        return np.asarray(values / DAY)
    if values.dtype.kind == "i":  # ranks
        return np.where(values < 0, np.nan, values)
    if plan.log_scale:
        return np.log1p(np.maximum(values, 0.0) / plan.log_scale)
    return values


def extent_of(plan: ColumnPlan, raw: ColumnValues) -> tuple[float, float]:
    """Smallest and largest of the :func:`measured` values of a column; 0 where it has none."""
    if plan.kind == "ordered":
        ranks = [plan.levels.index(level) for level in raw.coded.levels]
        return float(min(ranks)), float(max(ranks))
    values = raw.numbered if plan.kind == "number" else raw.dated if plan.kind in DATED else None
    if values is None:
        return 0.0, 0.0
    low, high = measured(plan, np.array(values.extent)).tolist()
    return low, high


def make_part(plan: ColumnPlan, facts: ColumnFacts, scale: Scale) -> ColumnFeatures:
    """Fit the features of a column."""
    if plan.kind in ("number", "ordered"):
        return NumberPart(plan, facts, scale)
    if plan.kind in DATED:
        return DatePart(plan, facts, scale)
    if plan.kind == "text":
        return TextPart(plan, facts, scale)
    return LevelPart(plan, scale)


class ColumnFeatures(Protocol):
    """Features of one column."""

    plan: ColumnPlan
    #: Value of the last feature where the column has a gap; 0 if that is not marked.
    mark: float

    @property
    def names(self) -> list[str]:
        """Names of the features."""

    def fill(self, block: Array, values: npt.NDArray[Any]) -> None:
        """Write the features of some rows into their block."""

    def plain(self, values: npt.NDArray[Any]) -> FloatArray:
        """The same features in units of the table: not scaled, levels as 0 and 1."""

    def aspects(self, values: npt.NDArray[Any]) -> Iterator[Aspect]:
        """What counts in a distance, in some rows."""

    def share(self, shares: Mapping[str, float]) -> None:
        """Take less of the weight of parts that other columns say too."""


class NumberPart:
    """Numbers, or ranks of ordered levels: centered and scaled, gaps at the mean and marked."""

    def __init__(self, plan: ColumnPlan, facts: ColumnFacts, scale: Scale) -> None:
        assert facts.spread is not None
        self.plan = plan
        with np.errstate(over="ignore", invalid="ignore"):
            self.center, self.scale = scale.center_and_scale(facts.spread)
        if not (np.isfinite(self.scale) and np.isfinite(self.center)):
            raise SidelightError(
                f"The numbers of column {plan.name!r} are too large to be scaled; write them in a "
                "larger unit."
            )
        self.filled = (facts.spread.mean - self.center) / self.scale
        self.gain = float(np.sqrt(plan.weight))
        self.keep_missing = scale.keep_missing
        self.mark = 0.0
        if plan.n_missing and not scale.keep_missing:
            self.mark = scale.entry * self.gain

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        name = self.plan.name
        return [name, f"{name} (missing)"] if self.mark else [name]

    def aspects(self, values: npt.NDArray[Any]) -> Iterator[Aspect]:
        """The numbers, or ranks."""
        yield Aspect(self.plan.name, "", measured(self.plan, values), self.plan.weight)

    def share(self, shares: Mapping[str, float]) -> None:
        """Take less of the weight."""
        self.gain *= float(np.sqrt(shares[""]))
        self.mark *= float(np.sqrt(shares[""]))
        self.plan = replace(self.plan, weight=self.plan.weight * shares[""])

    def fill(self, block: Array, values: npt.NDArray[Any]) -> None:
        """Write the features of some rows into their block."""
        x = (measured(self.plan, values) - self.center) / self.scale
        if not self.keep_missing:
            missing = np.isnan(x)
            if missing.any():
                x[missing] = self.filled
            if self.mark:
                block[:, 1] = missing * self.mark
        block[:, 0] = x * self.gain

    def plain(self, values: npt.NDArray[Any]) -> FloatArray:
        """The unscaled numbers, or ranks; with an indicator of missing ones if there were any."""
        x = values if values.dtype.kind == "f" else np.where(values < 0, np.nan, values)
        return np.column_stack([x, np.isnan(x)]) if self.mark else x[:, None]


class LevelPart:
    """Levels: a column each, and one for missing values where there are some."""

    mark = 0.0  # gaps are a level

    def __init__(self, plan: ColumnPlan, scale: Scale) -> None:
        self.plan = plan
        self.keep_missing = scale.keep_missing
        self.entry = scale.entry * float(np.sqrt(plan.weight))
        self.levels = [f"{plan.name}={level}" for level in levels_of(plan)]
        self.has_missing = bool(plan.n_missing) and not scale.keep_missing
        if self.has_missing:
            self.levels.append(f"{plan.name} (missing)")
        # Two columns of which one is the other turned round are one, √2 times as long.
        self.single = len(self.levels) == 2
        self.names = self.levels[1:] if self.single else self.levels

    def aspects(self, values: npt.NDArray[Any]) -> Iterator[Aspect]:
        """The levels, without an order."""
        codes = np.where(values < 0, np.nan, values)
        yield Aspect(self.plan.name, "", codes, self.plan.weight, ordered=False)

    def share(self, shares: Mapping[str, float]) -> None:
        """Take less of the weight."""
        self.entry *= float(np.sqrt(shares[""]))
        self.plan = replace(self.plan, weight=self.plan.weight * shares[""])

    def fill(self, block: Array, values: npt.NDArray[Any]) -> None:
        """Write the features of some rows into their block."""
        missing = values < 0
        codes = np.where(missing, len(self.levels) - 1, values) if self.has_missing else values
        if self.single:
            middle = 0.5 if not self.has_missing else 1.0  # between both: half as far from each
            column = np.where(missing, middle, codes) * (np.sqrt(2.0) * self.entry)
            block[:, 0] = column
        else:
            block[:] = 0.0
            there = np.flatnonzero(codes >= 0)
            block[there, codes[there]] = self.entry
        if self.keep_missing and missing.any():
            block[missing] = np.nan

    def plain(self, values: npt.NDArray[Any]) -> FloatArray:
        """1 where a row has the level, else 0."""
        codes = np.where(values < 0, len(self.levels) - 1, values) if self.has_missing else values
        places = np.arange(len(self.levels))[int(self.single) :]
        return (codes[:, None] == places).astype(np.float64)


class DatePart:
    """Dates and times of day: the trend, and the cycles that their span can show."""

    def __init__(self, plan: ColumnPlan, facts: ColumnFacts, scale: Scale) -> None:
        assert facts.spread is not None
        assert facts.calendar is not None
        self.keep_missing = scale.keep_missing
        self.cycles = facts.calendar.cycles(plan.kind)
        self.plan = replace(plan, how=_date_words(plan, facts.calendar, self.cycles))
        self.has_trend = plan.kind == "date"
        self.center, self.scale = scale.center_and_scale(facts.spread)
        self.filled = (facts.spread.mean - self.center) / self.scale
        parts = [*(["trend"] if self.has_trend else []), *self.cycles]
        self.weights = dict.fromkeys(parts, plan.weight / len(parts))
        self.amplitude = scale.entry if scale.mismatch == 2.0 else 0.5
        self.mark = 0.0
        if plan.n_missing and not scale.keep_missing:
            self.mark = scale.entry * float(np.sqrt(plan.weight))

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        name = self.plan.name
        found = [f"{name} (days)"] if self.has_trend else []
        for cycle in self.cycles:
            found += [f"{name} ({cycle}, sin)", f"{name} ({cycle}, cos)"]
        return [*found, f"{name} (missing)"] if self.mark else found

    def aspects(self, values: npt.NDArray[Any]) -> Iterator[Aspect]:
        """Trend and cycles, and the day of the month, which is no feature."""
        days = np.floor(values / DAY)
        of_month = _day_of_month(values)
        found = {
            "trend": values,
            "season": month_of(values) + of_month / 32.0,
            "weekday": weekday_of(values),
            "hour": values - DAY * days,
        }
        for part, weight in self.weights.items():
            yield Aspect(self.plan.name, part, found[part], weight)
        if self.has_trend:
            yield Aspect(self.plan.name, "day of the month", of_month, 0.0)

    def share(self, shares: Mapping[str, float]) -> None:
        """Take less of the weight of some parts."""
        for part, share in shares.items():
            self.weights[part] *= share
        self.plan = replace(self.plan, weight=sum(self.weights.values()))

    def fill(self, block: Array, values: npt.NDArray[Any]) -> None:
        """Write the features of some rows into their block."""
        missing = np.isnan(values)
        place = 0
        if self.has_trend:
            trend = (values / DAY - self.center) / self.scale
            block[:, 0] = trend if self.keep_missing else _filled(trend, missing, self.filled)
            block[:, 0] *= np.sqrt(self.weights["trend"])
            place = 1
        for cycle in self.cycles:
            angle = 2 * np.pi * _phase(cycle, values)
            gain = np.sqrt(self.weights[cycle])
            for wave in (np.sin(angle), np.cos(angle)):
                column = wave if self.keep_missing else _filled(wave, missing, 0.0)
                block[:, place] = column * (self.amplitude * gain)
                place += 1
        if self.mark:
            block[:, place] = missing * self.mark

    def plain(self, values: npt.NDArray[Any]) -> FloatArray:
        """Days since 1970, sines and cosines of the cycles, 1 where missing."""
        columns = [values / DAY] if self.has_trend else []
        for cycle in self.cycles:
            angle = 2 * np.pi * _phase(cycle, values)
            columns += [np.sin(angle), np.cos(angle)]
        columns += [np.isnan(values)] if self.mark else []
        return np.column_stack(columns)


def _date_words(plan: ColumnPlan, calendar: Calendar, cycles: list[str]) -> str:
    """Span of the dates and the parts that count."""
    if plan.kind == "time":
        parts = ["hour of the day"]
    else:
        ends = np.array(calendar.seconds)
        first, last = (ends // DAY).astype("datetime64[D]").astype(str)
        parts = [f"{first} to {last}: {', '.join(['trend', *cycles])}"]
    return "; ".join([*parts, *filter(None, [plan.how])])


def _day_of_month(seconds: npt.NDArray[Any]) -> FloatArray:
    """Day of the month, from 1; NaN where missing."""
    found = np.full(len(seconds), np.nan)
    known = ~np.isnan(seconds)
    days = np.floor(seconds[known] / DAY).astype("datetime64[D]")
    found[known] = 1 + (days - days.astype("datetime64[M]").astype("datetime64[D]")).astype(int)
    return found


def _filled(values: FloatArray, missing: npt.NDArray[np.bool_], value: float) -> FloatArray:
    return np.where(missing, value, values)


def _phase(cycle: str, seconds: FloatArray) -> FloatArray:
    """Place in a cycle, from 0 to 1; that of weekdays begins on Monday."""
    if cycle == "season":
        return seconds / YEAR % 1.0
    if cycle == "weekday":
        return weekday_of(seconds) / 7
    return seconds / DAY % 1.0


class TextPart:
    """Texts: TF-IDF of their words, in the directions in which they differ most."""

    mark = 0.0  # texts without words are not marked

    def __init__(self, plan: ColumnPlan, facts: ColumnFacts, scale: Scale) -> None:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        self.plan = plan
        self.entry = scale.entry * float(np.sqrt(plan.weight))
        present = [text for text in facts.texts if text]
        self.vectorizer = TfidfVectorizer(
            lowercase=True,
            strip_accents="unicode",
            token_pattern=r"(?u)\b[^\W\d_]\w+\b",
            min_df=min(max(2, len(present) // 1000), 10),
            max_df=0.5,
            max_features=MAX_WORDS,
            sublinear_tf=True,
        )
        try:
            words = self.vectorizer.fit_transform(present)
        except ValueError:  # no word at all, or none in several rows but not in most of them
            raise NoWords(plan.name) from None
        self.plan = replace(plan, how=counted(words.shape[1], "word"))
        self.directions: Any = None
        if words.shape[1] > DIRECTIONS and len(present) > DIRECTIONS:
            self.directions = TruncatedSVD(DIRECTIONS, random_state=0).fit(words)
            self.names = [f"{plan.name} (words {place})" for place in range(DIRECTIONS)]
        else:
            self.names = [
                f"{plan.name}: {word}" for word in self.vectorizer.get_feature_names_out()
            ]

    def fill(self, block: Array, values: npt.NDArray[Any]) -> None:
        """Write the features of some rows into their block."""
        words = self.vectorizer.transform(values.tolist())
        rows = words.toarray() if self.directions is None else self.directions.transform(words)
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        block[:] = rows * (self.entry / np.where(length > 0, length, 1.0))

    def aspects(self, values: npt.NDArray[Any]) -> Iterator[Aspect]:
        """Nothing: texts are not compared with other columns."""
        return iter(())

    def share(self, shares: Mapping[str, float]) -> None:
        """Leave the weight alone."""

    def plain(self, values: npt.NDArray[Any]) -> FloatArray:
        """Weights of the words, of length 1."""
        block = np.empty((len(values), len(self.names)))
        self.fill(block, values)
        return block / self.entry


class NoWords(SidelightError):
    """A text column has no word that occurs in several rows."""
