"""One column against the clusters: every cluster compared with all other rows, in words too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.explanation._chance import chance_of_total
from sidelight.explanation._columns import Units
from sidelight.explanation._format import percent, ratio
from sidelight.explanation._ranks import compare_ranks
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
    about : {"value", "level", "word", "missing"}
        What is compared: values with an order, the share of a level, the share of texts with a
        word, or the share of rows without a value.
    level : str
        The level or word; empty otherwise.
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
        How many times as frequent the level is, with its 95% interval; NaN for values.
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
        prefix = "" if self.statistic == "share" else f"{self.statistic} "
        lift = "" if math.isnan(self.lift) else f", lift {ratio(self.lift)}"
        return f"{prefix}{self.inside_text} against {self.rest_text}{lift}"


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
    values : ndarray of shape (n_rows,)
        The values, NaN where missing.
    units : Units
        How they are written.
    codes : ndarray of shape (n_rows,)
        Cluster of every row, from 0 to k - 1; -1 for rows that are compared with only.
    k : int
        Number of clusters.
    """

    about = "value"

    def __init__(
        self, name: str, values: FloatArray, units: Units, codes: IntArray, k: int
    ) -> None:
        known = ~np.isnan(values)
        self.name, self.units = name, units
        everywhere = bool(known.all())
        self.ranked = compare_ranks(
            values if everywhere else values[known], codes if everywhere else codes[known], k
        )
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
        name = "" if self.about == "missing" else self.levels[level]
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
