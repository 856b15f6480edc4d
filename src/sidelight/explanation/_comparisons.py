"""One column against the clusters: every cluster compared with all other rows, in words too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sidelight._typing import Array, FloatArray
from sidelight.explanation._chance import chance_of_total
from sidelight.explanation._columns import Units
from sidelight.explanation._conditions import ValueInterval
from sidelight.explanation._format import percent, ratio
from sidelight.explanation._ranges import best_ranges, count_ranges
from sidelight.explanation._ranks import Sorted, compare_ranks
from sidelight.explanation._shares import Shares

#: Smaller clusters are not described: their few rows speak for themselves.
FEWEST_ROWS = 5

_MORE_AND_LESS = {
    "number": ("higher", "lower"),
    "ordered": ("higher", "lower"),
    "date": ("later", "earlier"),
    "time": ("later", "earlier"),
}


@dataclass(frozen=True)
class Trait:
    """One way in which a cluster differs from all other rows.

    Attributes
    ----------
    column : str
        Name of the column.
    about : {"value", "range", "level", "word", "missing"}
        What is compared: values with an order, the share of a range of them, the share of a level,
        the share of texts with a word, or the share of rows without a value.
    level : str
        The range, the level or the word; empty otherwise.
    statistic : {"median", "mean", "mean level", "share"}
        What ``inside`` and ``rest`` are.
    inside, rest : float
        Statistic of the cluster and of all other rows; in seconds for dates (since 1970) and times
        (since midnight), the position of the level for ordered categories.
    inside_text, rest_text : str
        The same as people write it.
    effect, low, high : float
        Size of the difference from -1 to 1 with its 95% interval: Cliff's delta for values,
        the sine of half of Cohen's h for shares.
    lift, lift_low, lift_high : float
        How many times as frequent the range, level or word is, with its 95% interval; NaN for
        values, and where one of the shares is 0.
    chance : float
        Probability that columns without any relation to the clusters show a difference as
        improbable as this one anywhere, bounded by Holm's correction.
    what : str
        The trait in words, as in "higher income".
    """

    column: str
    about: str
    level: str
    statistic: str
    inside: float
    rest: float
    inside_text: str
    rest_text: str
    effect: float
    low: float
    high: float
    lift: float
    lift_low: float
    lift_high: float
    chance: float
    what: str

    @property
    def text(self) -> str:
        """The trait with its figures, as in "higher income (median 71,200 against 38,000)"."""
        return f"{self.what} ({self.figures})"

    @property
    def figures(self) -> str:
        """Figures of the cluster and of all other rows."""
        if self.statistic != "share":
            return f"{self.statistic} {self.inside_text} against {self.rest_text}"
        lift = self.lift_text if math.isnan(self.lift) else f"lift {self.lift_text}"
        return f"{self.inside_text} against {self.rest_text}, {lift}"

    @property
    def lift_text(self) -> str:
        """The lift; words where one of the shares is 0, and nothing for values."""
        if self.statistic != "share":
            return ""
        if self.rest == 0.0:
            return "only here"
        return "never here" if self.inside == 0.0 else ratio(self.lift)


class ColumnDifferences:
    """Differences of a column by cluster and level, arrays of shape (k, n_levels).

    Attributes
    ----------
    effect, low, high : ndarray
        Sizes of the differences and their intervals.
    possible : ndarray of bool
        Whether there are rows enough to compare.
    """

    about: str
    effect: FloatArray
    low: FloatArray
    high: FloatArray
    possible: Array

    def describe(self, cluster: int, level: int, chance: float) -> Trait:
        """One of the differences in words."""
        raise NotImplementedError


class ValueComparison(ColumnDifferences):
    """Values with an order, compared by their ranks; one "level" that is the whole column.

    Parameters
    ----------
    name : str
        Name of the column.
    units : Units
        How its values are written.
    column : Sorted
        The values that are known.
    """

    about = "value"

    def __init__(self, name: str, units: Units, column: Sorted) -> None:
        self.name, self.units = name, units
        self.ranked = compare_ranks(column)
        found = self.ranked
        self.effect, self.low, self.high = (
            one[:, None] for one in (found.delta, found.low, found.high)
        )
        enough = (found.sizes >= FEWEST_ROWS) & (found.sizes < found.n_rows)
        self.possible = enough[:, None]

    def describe(self, cluster: int, level: int, chance: float) -> Trait:
        """The difference in words, by medians, or by means where the medians are the same."""
        found, units = self.ranked, self.units
        statistic = "median"
        inside, rest = found.medians[cluster], found.rest_medians[cluster]
        texts = units.pair(inside, rest)
        if texts[0] == texts[1]:
            statistic = "mean level" if units.kind == "ordered" else "mean"
            inside, rest = found.means[cluster], found.rest_means[cluster]
            texts = units.means(inside, rest)
        effect = float(found.delta[cluster])
        more = _MORE_AND_LESS[units.kind][effect < 0.0]
        if units.kind == "time":
            inside, rest = ((one + units.origin) % 86_400.0 for one in (inside, rest))
        return Trait(
            column=self.name,
            about=self.about,
            level="",
            statistic=statistic,
            inside=float(inside),
            rest=float(rest),
            inside_text=texts[0],
            rest_text=texts[1],
            effect=effect,
            low=float(found.low[cluster]),
            high=float(found.high[cluster]),
            lift=np.nan,
            lift_low=np.nan,
            lift_high=np.nan,
            chance=chance,
            what=f"{more} {self.name}",
        )


class ShareComparison(ColumnDifferences):
    """Levels, words or missing values, compared by their shares.

    Parameters
    ----------
    name : str
        Name of the column.
    about : {"level", "word", "missing"}
        What the levels are.
    levels : sequence of str
        Their names.
    shares : Shares
        Their counts.
    """

    _WORDS: ClassVar[dict[str, str]] = {
        "range": "{more} often {level}",
        "level": "{more} often {name} = {level}",
        "word": "{more} often “{level}” in {name}",
        "missing": "{more} often without {name}",
    }

    def __init__(self, name: str, about: str, levels: Sequence[str], shares: Shares) -> None:
        self.name, self.about, self.levels, self.shares = name, about, levels, shares
        self.effect, self.low, self.high = shares.effect()
        self._lifts = shares.lift()
        enough = (shares.sizes >= FEWEST_ROWS) & (shares.sizes < shares.n_rows)
        self.possible = enough[:, None] & (shares.level > 0) & (shares.level < shares.n_rows)
        if about == "level" and len(levels) == 2:  # one question with two names
            self.possible &= self.effect > 0.0

    def chances(self, tested: Array) -> FloatArray:
        """Probability of the tested differences under chance."""
        return self.shares.chances(tested)

    def describe(self, cluster: int, level: int, chance: float) -> Trait:
        """The difference in words, with the lift."""
        at = cluster, level
        inside, rest = float(self.shares.share[at]), float(self.shares.rest_share[at])
        effect = float(self.effect[at])
        lift, lift_low, lift_high = (float(one[at]) for one in self._lifts)
        name = self._level_name(cluster, level)
        what = self._WORDS[self.about].format(
            more="more" if effect > 0.0 else "less", name=self.name, level=name
        )
        return Trait(
            column=self.name,
            about=self.about,
            level=name,
            statistic="share",
            inside=inside,
            rest=rest,
            inside_text=percent(inside),
            rest_text=percent(rest),
            effect=effect,
            low=float(self.low[at]),
            high=float(self.high[at]),
            lift=lift,
            lift_low=lift_low,
            lift_high=lift_high,
            chance=chance,
            what=what,
        )

    def _level_name(self, cluster: int, level: int) -> str:
        return "" if self.about == "missing" else self.levels[level]


class RangeComparison(ShareComparison):
    """Shares of ranges of values: the one in which a cluster is, and the one in which it is not.

    Parameters
    ----------
    name : str
        Name of the column.
    units : Units
        How its values are written.
    column : Sorted
        The values that are known.
    """

    def __init__(self, name: str, units: Units, column: Sorted) -> None:
        self._ranges, shares = best_ranges(column)
        super().__init__(name, "range", (), shares)
        self.units = units
        self._distinct = column.values[column.starts]
        first, last = self._ranges[..., 0], self._ranges[..., 1]
        self.possible &= (first >= 0) & (self.effect * [1.0, -1.0] > 0.0)
        if units.kind == "ordered":  # a single level is compared as such
            self.possible &= first < last

    def chances(self, tested: Array) -> FloatArray:
        """Probability that any range of the column has a difference as improbable by chance."""
        return np.minimum(1.0, count_ranges(len(self._distinct)) * super().chances(tested))

    def _level_name(self, cluster: int, level: int) -> str:
        first, last = self._ranges[cluster, level].tolist()
        values, units = self._distinct, self.units
        alone = f"{values[first]:g}"
        if first == last and units.kind == "number" and float(alone) == values[first]:
            return f"{self.name} = {alone}"
        found = ValueInterval(self.name, units)
        if units.kind == "ordered":
            low, high = values[[first, last]].tolist()
            return found.above(low, units.one(low)).below(high, units.one(high)).bounds()
        if first > 0:
            found = found.above(*units.threshold(*values[first - 1 : first + 1].tolist()))
        if last < len(values) - 1:
            found = found.below(*units.threshold(*values[last : last + 2].tolist()))
        return found.bounds()


def chances_of_values(compared: Sequence[ValueComparison], tested: Sequence[Array]) -> FloatArray:
    """Probability of differences of values under chance, for all columns at once.

    Parameters
    ----------
    compared : sequence of ValueComparison
        The columns.
    tested : sequence of ndarray of shape (k, 1)
        The clusters to test in each.

    Returns
    -------
    ndarray
        Two-sided probabilities in the order of the columns, then of the clusters.
    """
    places = [np.flatnonzero(one) for one in tested]
    n_tests = sum(map(len, places))
    n_ranks = max((len(one.ranked.ranks) for one in compared), default=0)
    ranks, counts = np.ones((n_tests, n_ranks)), np.zeros((n_tests, n_ranks))
    totals, sizes = np.empty(n_tests), np.empty(n_tests)
    row = 0
    for one, clusters in zip(compared, places, strict=True):
        if not len(clusters):
            continue
        found = one.ranked
        up = found.delta[clusters] > 0.0
        size = found.sizes[clusters].astype(np.float64)
        rows = slice(row, row + len(clusters))
        n = len(found.ranks)
        ranks[rows, :n] = np.where(up[:, None], found.ranks, 1.0 - found.ranks[::-1])
        ranks[rows, n:] = ranks[rows, n - 1 : n]
        counts[rows, :n] = np.where(up[:, None], found.counts, found.counts[::-1])
        totals[rows] = np.where(up, found.totals[clusters], size - found.totals[clusters])
        sizes[rows] = size
        row += len(clusters)
    return np.minimum(1.0, 2.0 * chance_of_total(ranks, counts, totals, sizes))
