"""How columns are compared, and the similarity of pairs of references."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.exceptions import InvalidParameter, SidelightError
from sidelight.relational.resolution._references import ReferenceColumn, References, days_of_texts
from sidelight.relational.resolution._soft_tfidf import SoftTfidf, WordCosine, jaro_winkler
from sidelight.relational.resolution._tokens import normal_forms, read_words

#: Kinds of comparisons.
KINDS = ("name", "words", "text", "number", "date", "exact")

#: Texts of more words than this on average are compared word by word.
MANY_WORDS = 4

#: Width of the comparison of numbers, as a share of their standard deviation.
SCALE = 0.5

#: Weight of all numbers and dates together, as a share of that of the texts beside them: numbers
#: of a reference, such as a year, often differ between references to one entity.
SHARE_OF_NUMBERS = 0.1

#: Columns that both references have count as at least this share of all weights, so that equal
#: values of a minor column are not enough where all else is missing.
MIN_COVERAGE = 0.5

#: Different pairs of values that are compared in one go.
PAIRS_AT_A_TIME = 2_000_000


@dataclass(frozen=True)
class ColumnComparison:
    """How the values of a column are compared.

    Parameters
    ----------
    kind : str or callable, default="name"
        ``"name"``: names by soft TF-IDF with Jaro-Winkler, aware of initials. ``"words"``: cosine
        of TF-IDF weights. ``"text"``: Jaro-Winkler of the whole text. ``"number"`` and ``"date"``:
        ``exp(-(x - x')² / (2 scale²))``. ``"exact"``: 1 where values are equal, else 0. Or a
        function of two arrays of values, place by place, that gives similarities in [0, 1].
    weight : float, default=1.0
        Weight of the column in the mean over columns.
    scale : float or None, default=None
        Width for numbers, and in days for dates; by default half of the standard deviation,
        estimated by the quartiles.
    theta : float, default=0.9
        Words of names are close above this Jaro-Winkler similarity.

    Examples
    --------
    >>> from sidelight.relational import ColumnComparison
    >>> ColumnComparison("number", scale=2.0, weight=3.0)
    ColumnComparison(kind='number', weight=3.0, scale=2.0, theta=0.9)
    """

    kind: str | Callable[[Array, Array], Array] = "name"
    weight: float = 1.0
    scale: float | None = None
    theta: float = 0.9

    def __post_init__(self) -> None:
        if not callable(self.kind) and self.kind not in KINDS:
            raise InvalidParameter(
                f"A column is compared as {', '.join(KINDS)}, or by a function; got {self.kind!r}."
            )
        _check_number("weight", self.weight, 0.0, math.inf)
        _check_number("theta", self.theta, 0.0, 1.0)
        if self.scale is not None:
            _check_number("scale", self.scale, 0.0, math.inf)


def _check_number(name: str, value: Any, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not low < float(value) < high:
        span = f"between {low:g} and {high:g}" if high < math.inf else f"above {low:g} and finite"
        raise InvalidParameter(f"The {name} of a comparison must be a number {span}, got {value}.")


def read_comparisons(compare: Any, references: References) -> dict[str, ColumnComparison]:
    """Column to its comparison, from the parameter ``compare``."""
    columns = references.columns
    if compare == "auto":
        return _suggested_comparisons(columns)
    if not isinstance(compare, Mapping) or not compare:
        raise InvalidParameter('compare must be "auto" or a mapping of columns to comparisons.')
    unknown = [name for name in compare if str(name) not in columns]
    if unknown:
        raise SidelightError(
            f"compare names the column {unknown[0]!r}, which the table does not have; it has "
            f"{', '.join(repr(name) for name in columns)}."
        )
    return {
        str(name): how if isinstance(how, ColumnComparison) else ColumnComparison(how)
        for name, how in compare.items()
    }


def _suggested_comparisons(columns: Mapping[str, ReferenceColumn]) -> dict[str, ColumnComparison]:
    """Comparisons that suit the values of the columns."""
    n_texts = sum(column.kind == "text" for column in columns.values())
    n_numbers = len(columns) - n_texts
    weight = SHARE_OF_NUMBERS * n_texts / n_numbers if n_texts and n_numbers else 1.0
    return {
        name: ColumnComparison(_suggested(column), weight=1.0 if column.kind == "text" else weight)
        for name, column in columns.items()
    }


def _suggested(column: ReferenceColumn) -> str:
    """ColumnComparison that suits the values of a column."""
    if column.kind != "text":
        return column.kind
    if set(column.values) <= {"True", "False"}:
        return "exact"
    words = read_words(column.values).counts
    return "words" if words.sum() > MANY_WORDS * max(words.shape[0], 1) else "name"


class _Similarity(Protocol):
    """Similarity of values of a column by their codes, NaN where there is no evidence."""

    def similarity(self, a: IntArray, b: IntArray) -> FloatArray: ...


class Scorer:
    """Similarity of references by their attributes.

    Parameters
    ----------
    references : References
        The rows.
    comparisons : mapping of str to ColumnComparison
        Columns to compare.

    Attributes
    ----------
    columns : tuple of str
        Compared columns.
    comparisons : dict of str to ColumnComparison
        The comparisons, with the scales that were chosen.
    """

    def __init__(self, references: References, comparisons: Mapping[str, ColumnComparison]) -> None:
        self.columns = tuple(comparisons)
        self.comparisons: dict[str, ColumnComparison] = {}
        self._codes: list[IntArray] = []
        self._similarities: list[_Similarity] = []
        for name, comparison in comparisons.items():
            column, comparison = _matched_column(references.columns[name], comparison)
            self.comparisons[name] = comparison
            self._codes.append(column.codes)
            self._similarities.append(_similarity_of(column, comparison))
        self._weights = np.array([one.weight for one in self.comparisons.values()])

    def score(self, pairs: IntArray, done: Callable[[], None] | None = None) -> FloatArray:
        """Similarity by column of pairs of references; NaN where one of the two has no value.

        Parameters
        ----------
        pairs : ndarray of shape (m, 2)
            Positions of references.
        done : callable, optional
            Called after every column.

        Returns
        -------
        parts : ndarray of shape (m, n_columns)
            Similarities in [0, 1].
        """
        parts = np.full((len(pairs), len(self.columns)), np.nan)
        for c, (codes, similarity) in enumerate(zip(self._codes, self._similarities, strict=True)):
            a, b = codes[pairs[:, 0]], codes[pairs[:, 1]]
            given = (a >= 0) & (b >= 0)
            parts[given & (a == b), c] = 1.0
            rest = np.flatnonzero(given & (a != b))
            parts[rest, c] = _of_different(similarity, a[rest], b[rest])
            if done is not None:
                done()
        return parts

    def combine(self, parts: FloatArray) -> FloatArray:
        """Weighted mean of the parts that are there; 0 where there are none.

        Parts that have less than half of all weights together are divided by that half.
        """
        given = ~np.isnan(parts)
        weight = np.maximum(given @ self._weights, MIN_COVERAGE * self._weights.sum())
        total = np.where(given, parts, 0.0) @ self._weights
        return np.minimum(total / weight, 1.0)


def _of_different(similarity: _Similarity, a: IntArray, b: IntArray) -> FloatArray:
    """Similarities of values that differ; each pair of values is compared once."""
    if isinstance(similarity, _Gaussian | _Exact):
        return similarity.similarity(a, b)
    if not len(a):
        return np.empty(0)
    width = int(max(a.max(), b.max())) + 1
    different, place = np.unique(np.minimum(a, b) * width + np.maximum(a, b), return_inverse=True)
    found = np.empty(len(different))
    for start in range(0, len(different), PAIRS_AT_A_TIME):
        block = slice(start, start + PAIRS_AT_A_TIME)
        found[block] = similarity.similarity(*np.divmod(different[block], width))
    return found[place]


def _matched_column(
    column: ReferenceColumn, comparison: ColumnComparison
) -> tuple[ReferenceColumn, ColumnComparison]:
    """The column as the comparison reads it, and the comparison with its scale."""
    kind = comparison.kind
    if kind == "date":
        column = days_of_texts(column)
    if kind == "number" and column.kind == "text":
        raise SidelightError(
            f"The column {column.name!r} is compared as numbers but holds texts such as "
            f'{str(column.values[0])!r}; turn it into numbers, or compare it as "text" or "name".'
        )
    if kind in ("number", "date") and comparison.scale is None:
        scale = SCALE * _spread(column.numbers())
        comparison = ColumnComparison(kind, comparison.weight, scale, comparison.theta)
    return column, comparison


def _spread(numbers: FloatArray) -> float:
    """Standard deviation by the quartiles, or else of all numbers; 1 where all are the same."""
    known = np.sort(numbers[~np.isnan(numbers)])
    if not len(known) or known[0] == known[-1]:
        return 1.0
    low, high = np.percentile(known, [25, 75])
    # Numbers relative to the largest cannot overflow when they are squared.
    size = float(np.abs(known).max())
    spread = (high - low) / 1.349 if high > low else size * float(np.std(known / size))
    return float(spread)


def _similarity_of(column: ReferenceColumn, comparison: ColumnComparison) -> _Similarity:
    kind = comparison.kind
    if callable(kind):
        return _UserFunction(column, kind)
    if kind in ("number", "date"):
        assert comparison.scale is not None
        return _Gaussian(column.values, comparison.scale)
    if kind == "name":
        return SoftTfidf(column, comparison.theta)
    if kind == "words":
        return WordCosine(column)
    return _WholeText(column) if kind == "text" else _Exact()


class _Gaussian:
    """``exp(-(x - x')² / (2 scale²))``."""

    def __init__(self, values: FloatArray, scale: float) -> None:
        self.values, self.scale = np.asarray(values, dtype=np.float64) / scale, scale

    def similarity(self, a: IntArray, b: IntArray) -> FloatArray:
        offsets = np.minimum(np.abs(self.values[a] - self.values[b]), 1e3)
        return np.exp(-0.5 * offsets**2)


class _Exact:
    """0 for values that differ; equal ones are 1 before they come here."""

    def similarity(self, a: IntArray, b: IntArray) -> FloatArray:
        return np.zeros(len(a))


class _WholeText:
    """Jaro-Winkler similarity of whole texts in normal form."""

    def __init__(self, column: ReferenceColumn) -> None:
        self.texts = normal_forms(column.texts()).to_numpy(zero_copy_only=False)

    def similarity(self, a: IntArray, b: IntArray) -> FloatArray:
        return jaro_winkler(self.texts[a], self.texts[b])


class _UserFunction:
    """A function of the user."""

    def __init__(self, column: ReferenceColumn, function: Callable[[Array, Array], Array]) -> None:
        self.name, self.values, self.function = column.name, column.values, function

    def similarity(self, a: IntArray, b: IntArray) -> FloatArray:
        try:
            found = np.asarray(self.function(self.values[a], self.values[b]), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise SidelightError(
                f"The function that compares the column {self.name!r} failed: {error}. It gets two "
                "arrays of values and returns an array of their similarities, place by place."
            ) from error
        if found.shape != a.shape:
            raise SidelightError(
                f"The function that compares the column {self.name!r} returned shape {found.shape} "
                f"for {len(a)} pairs of values; it has to return one similarity per pair."
            )
        bad = np.flatnonzero(~((found >= 0) & (found <= 1)))
        if len(bad):
            first, second = self.values[a[bad[0]]], self.values[b[bad[0]]]
            raise SidelightError(
                f"The function that compares the column {self.name!r} gave {found[bad[0]]} for "
                f"{first!r} and {second!r}; similarities are between 0 and 1."
            )
        return found
