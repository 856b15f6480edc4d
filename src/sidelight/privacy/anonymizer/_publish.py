"""Generalized columns of classes of rows, how their values are written, and rows published alike.

Published texts: how ranges, sets and single values are written, and read again.

Different ranges and sets are never written alike. A number is ``37`` and a range of numbers
``20-29``, also ``-5--2``: a minus sign between two numbers parts them. A range of dates is
``2024-01-31/2024-02-29``. A set is ``{a, b}``; in it, and in single values that could be taken for
something else, a backslash stands before every sign that has a meaning.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np

from sidelight._kernels.privacy.anonymizer.penalty import common_ancestor_of_classes
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.privacy.anonymizer._columns import Column
from sidelight.privacy.anonymizer._encode import Encoded
from sidelight.privacy.anonymizer._hierarchy import Tree

#: Any value.
ANY = "*"
#: A missing value.
NOTHING = "missing"

NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
RANGE = re.compile(rf"({NUMBER})(?:-({NUMBER}))?")

#: Exact decimals are shown up to this many; beyond, numbers are rounded outward to a thousandth of
#: the range of their column, but for its values that are far out.
MAX_DECIMALS = 6
DIGITS_OF_RANGE = 3
#: Numbers from this size on are written with an exponent.
LARGE = 1e15
_EXACT = Context(prec=1200)


def single(text: str) -> str:
    """Text of a single category, escaped if it could be read as something else."""
    escaped = text.replace("\\", "\\\\")
    return f"\\{escaped}" if escaped.startswith("{") or escaped in (ANY, NOTHING) else escaped


def several(texts: list[str]) -> str:
    """A set of categories; :data:`None` in it stands for a missing value, and comes last."""
    parts = [NOTHING if text is None else re.sub(r"([\\,{}])", r"\\\1", text) for text in texts]
    shown = [
        f"\\{part}" if text is not None and part in (NOTHING, "") else part
        for text, part in zip(texts, parts, strict=True)
    ]
    return "{" + ", ".join(shown) + "}"


def read_set(text: str) -> list[str | None]:
    """Categories that a published text stands for, None for a missing value.

    ``*`` is not read: it stands for all categories of its column.
    """
    if text == NOTHING:
        return [None]
    if not text.startswith("{"):
        plain = text[1:] if text.startswith(("\\{", f"\\{ANY}", f"\\{NOTHING}")) else text
        return [plain.replace("\\\\", "\\")]
    parts = re.findall(r"((?:\\.|[^\\,])*)(?:, |$)", text[1:-1], flags=re.DOTALL)
    if len(parts) > 1 and parts[-1] == "":
        parts.pop()
    return [
        None
        if part == NOTHING
        else re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL)
        if part != f"\\{NOTHING}"
        else NOTHING
        for part in parts
    ]


class NumberTexts:
    """Texts of the numbers of a column.

    Parameters
    ----------
    column : Column
        The column.
    """

    def __init__(self, column: Column) -> None:
        self.values = column.values
        numbers = column.values.astype(np.float64)
        self.whole = column.values.dtype.kind in "iu" or bool(
            np.all(numbers == np.trunc(numbers)) and np.abs(numbers).max(initial=0.0) < LARGE
        )
        self.decimals = None if self.whole else _decimals(numbers)
        low, high = (numbers[list(column.center)] if len(numbers) else np.zeros(2)) / 2
        width = float(high - low)
        exponent = math.floor(math.log10(width)) + 1 if width > 0 else 0
        self.unit = Decimal(1).scaleb(exponent - DIGITS_OF_RANGE)

    def exact(self, code: int) -> str:
        """A single value."""
        value = self.values[code]
        if self.whole:
            return str(int(value))
        if self.decimals is not None:
            return f"{float(value):.{self.decimals}f}"
        return str(value.item() if self.values.dtype == np.float64 else value)

    def low(self, code: int) -> str:
        """The lower end of a range: the value, or a round number that is not above it."""
        return self._rounded(code, ROUND_FLOOR)

    def high(self, code: int) -> str:
        """The upper end of a range: the value, or a round number that is not below it."""
        return self._rounded(code, ROUND_CEILING)

    def nearest(self, number: float) -> str:
        """A mean: with one decimal more than whole numbers or exact decimals have."""
        if self.whole or self.decimals is not None:
            return decimal_text(Decimal(f"{number:.{(self.decimals or 0) + 1}f}"))
        return decimal_text(Decimal(number).quantize(self.unit, context=_EXACT))

    def _rounded(self, code: int, rounding: str) -> str:
        if self.whole or self.decimals is not None:
            return self.exact(code)
        number = Decimal(float(self.values[code]))
        rounded = number.quantize(self.unit, rounding=rounding, context=_EXACT)
        return decimal_text(rounded)


def decimal_text(number: Decimal) -> str:
    """A decimal number without an exponent, unless it is very large or small."""
    if number == 0:
        return "0"
    plain = number.normalize(_EXACT)
    if -20 <= plain.adjusted() <= 15:
        return format(plain, "f")
    return format(plain, "e").replace("E", "e")


def _decimals(numbers: FloatArray) -> int | None:
    """Least number of decimals that write all numbers exactly; None if they need many."""
    if np.abs(numbers).max(initial=0.0) >= LARGE:
        return None
    for decimals in range(1, MAX_DECIMALS + 1):
        if np.array_equal(np.round(numbers, decimals), numbers):
            exact = all(float(f"{number:.{decimals}f}") == number for number in numbers.tolist())
            return decimals if exact else None
    return None


def read_range(text: str) -> tuple[float, float]:
    """Both ends of a published number or range of numbers.

    Raises
    ------
    ValueError
        If the text is none.
    """
    found = RANGE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no number or range of numbers")
    low = float(found[1])
    return low, low if found[2] is None else float(found[2])


def date_text(moment: Any, zone: str) -> str:
    """A date or moment in the form of ISO 8601."""
    text = str(moment)
    if "T" in text and "." in text:
        text = text.rstrip("0").rstrip(".")
    return text + zone


def read_dates(text: str) -> tuple[Any, Any]:
    """Both ends of a published date or range of dates."""
    low, _, high = text.partition("/")
    first = np.datetime64(low.removesuffix("Z"))
    return first, np.datetime64(high.removesuffix("Z")) if high else first


def different_texts(column: Array) -> tuple[list[str], Array]:
    """Different texts of a column, and the position of every row among them."""
    import pyarrow as pa

    encoded = pa.array(column, pa.string()).dictionary_encode()
    places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return encoded.dictionary.to_pylist(), places


def range_texts(column: Column, low: Array, high: Array) -> Array:
    """Texts of ranges, by the codes of their ends; those of equal ends are single values."""
    texts = np.empty(len(low), dtype=object)
    pairs, place = np.unique(low * (len(column.values) + 1) + high, return_inverse=True)
    lows, highs = np.divmod(pairs, len(column.values) + 1)
    made = np.empty(len(pairs), dtype=object)
    if column.kind == "date":
        ends = {
            code: date_text(column.values[code], column.zone)
            for code in np.union1d(lows, highs).tolist()
        }
        first = last = one = ends
    else:
        numbers = NumberTexts(column)
        first = {code: numbers.low(code) for code in np.unique(lows).tolist()}
        last = {code: numbers.high(code) for code in np.unique(highs).tolist()}
        one = {code: numbers.exact(code) for code in np.unique(lows[lows == highs]).tolist()}
    mark = "/" if column.kind == "date" else "-"
    for number, (a, b) in enumerate(zip(lows.tolist(), highs.tolist(), strict=True)):
        made[number] = one[a] if a == b else f"{first[a]}{mark}{last[b]}"
    texts[:] = made[place]
    return texts


@dataclass(frozen=True, eq=False)
class RowsByClass:
    """Rows by class.

    Attributes
    ----------
    members : ndarray of int
        Positions of the rows, those of a class next to each other.
    starts : ndarray of int
        Where each class begins in ``members``, and the end.
    """

    members: IntArray
    starts: IntArray

    @property
    def n(self) -> int:
        """Number of classes."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> IntArray:
        """Number of rows of every class."""
        return np.diff(self.starts)


def classes_of(labels: IntArray) -> RowsByClass:
    """Rows by class; those with -1 are in none. Every class from 0 on has rows."""
    order = np.argsort(labels, kind="stable")
    n_out = int(np.count_nonzero(labels < 0))
    sizes = np.bincount(labels[labels >= 0])
    return RowsByClass(order[n_out:], np.concatenate([[0], np.cumsum(sizes)]))


def class_texts(encoded: Encoded, classes: RowsByClass, form: str = "ranges") -> list[Array]:
    """Published text of every class, column by column.

    Parameters
    ----------
    encoded : Encoded
        The columns.
    classes : RowsByClass
        Rows by class.
    form : {"ranges", "representatives"}, default="ranges"
        Ranges and sets, or means and most frequent values.
    """
    texts = []
    for place, column in enumerate(encoded.columns):
        codes = column.codes[classes.members]
        if place in encoded.trees:
            texts.append(_node_texts(encoded.trees[place], codes, classes.starts))
        elif form == "representatives":
            texts.append(_representatives(column, codes, classes))
        elif column.is_ordered:
            texts.append(_ranges(column, codes, classes))
        else:
            texts.append(_sets(column, codes, classes))
    return texts


def _ranges(column: Column, codes: IntArray, classes: RowsByClass) -> Array:
    starts = classes.starts[:-1]
    low, high = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
    texts = np.empty(classes.n, dtype=object)
    nothing, mixed = high < 0, (low < 0) & (high >= 0)
    full = ~(nothing | mixed)
    texts[nothing], texts[mixed] = NOTHING, ANY
    texts[full] = range_texts(column, low[full], high[full])
    return texts


def _sets(column: Column, codes: IntArray, classes: RowsByClass) -> Array:
    """Sets of categories; a missing value is one of them, after all others."""
    n_values = len(column.values)
    width = n_values + 1
    of_class = np.repeat(np.arange(classes.n), classes.sizes)
    pairs = np.unique(of_class * width + np.where(codes < 0, n_values, codes))
    owner, code = np.divmod(pairs, width)
    number = np.bincount(owner, minlength=classes.n)
    first = np.concatenate([[0], np.cumsum(number)])
    singles = np.array([*(single(text) for text in column.values.tolist()), NOTHING], dtype=object)
    texts = singles[code[first[:-1]]]
    texts[(number == column.n_different) & (number > 1)] = ANY
    levels: list[Any] = [*column.values.tolist(), None]
    known: dict[bytes, str] = {}
    for c in np.flatnonzero((number > 1) & (number < column.n_different)).tolist():
        held = code[first[c] : first[c + 1]]
        key = held.tobytes()
        if key not in known:
            known[key] = several([levels[one] for one in held.tolist()])
        texts[c] = known[key]
    return texts


def _node_texts(tree: Tree, codes: IntArray, starts: IntArray) -> Array:
    leaves = tree.leaf[codes].astype(np.int32)
    nodes = common_ancestor_of_classes(leaves, starts, tree.parent, tree.depth)
    names = np.array([single(name) for name in tree.names], dtype=object)
    names[tree.leaf[-1]] = NOTHING
    root = int(np.flatnonzero(tree.depth == 0)[0])
    if tree.names[root] == ANY:
        names[root] = ANY
    return names[nodes]


def _representatives(column: Column, codes: IntArray, classes: RowsByClass) -> Array:
    """Means of numbers and dates, most frequent categories; missing where most are."""
    starts = classes.starts[:-1]
    known = codes >= 0
    n_known = np.add.reduceat(known.astype(np.int64), starts)
    missing = 2 * n_known < classes.sizes
    if not column.is_ordered:
        texts = _most_frequent(column, codes, classes)
    else:
        texts = _means(column, codes, classes, np.maximum(n_known, 1))
    texts[missing | (n_known == 0)] = NOTHING
    return texts


def _most_frequent(column: Column, codes: IntArray, classes: RowsByClass) -> Array:
    """The most frequent category, the first of several."""
    width = len(column.values) + 1
    of_class = np.repeat(np.arange(classes.n), classes.sizes)
    known = codes >= 0
    pairs, counts = np.unique(of_class[known] * width + codes[known], return_counts=True)
    owner, code = np.divmod(pairs, width)
    order = np.lexsort((code, -counts, owner))
    first = np.searchsorted(owner[order], np.arange(classes.n))
    singles = np.array([*(single(text) for text in column.values.tolist()), ""], dtype=object)
    return singles[np.append(code[order], width - 1)[np.minimum(first, len(code))]]


def _means(column: Column, codes: IntArray, classes: RowsByClass, n_known: IntArray) -> Array:
    """Means from the places of the values on the whole range, in the digits of the column."""
    starts = classes.starts[:-1]
    position = np.append(column.shares, 0.0)[codes]
    mean = np.add.reduceat(position, starts) / n_known
    low, high = column.values[0], column.values[-1]
    if column.kind == "date":
        width = int(high.astype(np.int64)) - int(low.astype(np.int64))
        moments = low + np.round(mean * width).astype(np.int64).astype(
            column.values.dtype.str.replace("M8", "m8")
        )
        return np.array([date_text(moment, column.zone) for moment in moments], dtype=object)
    half = float(low) / 2 + mean * (float(high) / 2 - float(low) / 2)
    style = NumberTexts(column)
    different, place = np.unique(half * 2, return_inverse=True)
    texts = np.array([style.nearest(value) for value in different.tolist()], dtype=object)
    return texts[place]


def published_alike(texts: list[Array], labels: IntArray) -> tuple[IntArray, IntArray]:
    """Labels by what is published, numbered by first appearance, and a class of each.

    Returns
    -------
    labels : ndarray of int
        Two rows have the same label if and only if they are published alike; -1 stays.
    kept : ndarray of int
        For every new label one of the old ones, whose texts are the same.
    """
    n_old = len(texts[0])
    codes = np.zeros(n_old, np.int64)
    for column in texts:
        _, of_column = different_texts(column)
        _, codes = np.unique(codes * (of_column.max() + 1) + of_column, return_inverse=True)
    placed = labels >= 0
    joined = codes[labels[placed]]
    _, first, place = np.unique(joined, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    new = np.full(len(labels), -1, np.int64)
    new[placed] = rank[place]
    kept = np.empty(len(first), np.int64)
    kept[rank] = labels[placed][first]
    return new, kept


def as_given(columns: list[Array], names: list[str], X: Any, rows: IntArray) -> Any:
    """Columns of texts as the kind of table that ``X`` is, for some of its rows."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        import pandas as pd

        return pd.DataFrame(dict(enumerate(columns)), index=X.index[rows], dtype=object).set_axis(
            X.columns, axis=1
        )
    if hasattr(X, "get_columns"):
        import polars as pl

        return pl.DataFrame(
            {
                name: pl.Series(column, dtype=pl.String)
                for name, column in zip(names, columns, strict=True)
            }
        )
    if hasattr(X, "column_names"):
        import pyarrow as pa

        return pa.table(
            {name: pa.array(c, pa.string()) for name, c in zip(names, columns, strict=True)}
        )
    if isinstance(X, dict):
        return {name: column.tolist() for name, column in zip(names, columns, strict=True)}
    return np.column_stack(columns).astype(object)


def class_summaries(encoded: Encoded, classes: RowsByClass) -> tuple[Array, ...]:
    """Ranges, sets and nodes of classes, as the search for the nearest class takes them."""
    num, cat, _, tree, parent, depth, _ = encoded.arrays
    starts = classes.starts[:-1]
    rows = num[classes.members]
    low, high = np.minimum.reduceat(rows, starts), np.maximum.reduceat(rows, starts)
    n_cat = cat.shape[1]
    of_class = np.repeat(np.arange(classes.n), classes.sizes)
    pairs, numbers = [], np.zeros((classes.n, n_cat), np.int64)
    for j in range(n_cat):
        width = int(encoded.arrays[2][j])
        different = np.unique(of_class * width + cat[classes.members, j])
        owner, code = np.divmod(different, width)
        numbers[:, j] = np.bincount(owner, minlength=classes.n)
        pairs.append((owner * n_cat + j, code))
    order = np.argsort(np.concatenate([np.zeros(0, np.int64), *(owner for owner, _ in pairs)]))
    sets = np.concatenate([np.zeros(0, np.int64), *(code for _, code in pairs)])[order]
    ends = np.concatenate([[0], np.cumsum(numbers.ravel())])
    set_starts = ends[np.arange(classes.n)[:, None] * n_cat + np.arange(n_cat + 1)]
    nodes = [
        common_ancestor_of_classes(tree[classes.members, j], classes.starts, parent, depth)
        for j in range(tree.shape[1])
    ]
    node = np.column_stack(nodes) if nodes else np.zeros((classes.n, 0), np.int64)
    return low, high, sets, set_starts, node
