"""Texts of a column as codes of their levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sidelight._typing import IntArray
from sidelight.preparation._vocabulary import MISSING

#: Up to this many levels, those that are equally frequent are in the order of their names.
MAX_SORTED = 10_000
#: Texts by which their length is judged.
EXAMPLES = 1000


class Levels(Protocol):
    """The different texts of a column, and how often each is there."""

    @property
    def levels(self) -> list[str]:
        """The different texts without blanks at their ends, the most frequent first."""

    @property
    def counts(self) -> IntArray:
        """Rows of every level."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_missing(self) -> int:
        """Rows without a text."""

    @property
    def n_levels(self) -> int:
        """How many texts differ, also those that are not listed."""

    @property
    def number(self) -> str:
        """That number in words: whether it is an estimate."""

    @property
    def examples(self) -> Sequence[str]:
        """Some levels that show what texts there are."""


@dataclass(frozen=True, eq=False)
class Coded:
    """Texts as codes.

    Attributes
    ----------
    codes : ndarray of shape (n_rows,)
        Position in ``levels``, int32; -1 where the text is missing.
    levels : list of str
        The different texts without blanks at their ends, the most frequent first.
    counts : ndarray
        Rows of every level.
    """

    codes: npt.NDArray[np.int32]
    levels: list[str]
    counts: IntArray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def n_missing(self) -> int:
        """Rows without a text."""
        return len(self.codes) - int(self.counts.sum())

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.levels)

    @property
    def number(self) -> str:
        """Number of levels in words."""
        return f"{self.n_levels:,}"

    @property
    def examples(self) -> Sequence[str]:
        """Levels that show what texts there are."""
        return self.levels[:EXAMPLES]


def is_missing(text: str) -> bool:
    """Whether a text stands for a missing value."""
    return len(text) <= 4 and text.lower() in MISSING


def encode_texts(column: Any) -> Coded:
    """Codes and levels of an Arrow column of any type that can be written as text."""
    values, codes = _dictionary(column)
    places, names = distinct_texts(values)
    codes = np.append(places, -1)[codes]
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    order = by_frequency(counts, names)
    ranks = np.full(len(names) + 1, -1, dtype=np.int32)
    ranks[order] = np.arange(len(order))
    return Coded(ranks[codes], [names[place] for place in order], counts[order])


def distinct_texts(values: list[Any]) -> tuple[IntArray, list[str]]:
    """Different texts of some values, and the place of each value among them (-1: missing)."""
    kept: dict[str, int] = {}
    texts = ["" if value is None else text_of(value) for value in values]
    places = [-1 if is_missing(text) else kept.setdefault(text, len(kept)) for text in texts]
    return np.array(places, dtype=np.int64), list(kept)


def recode(coded: Coded, levels: tuple[str, ...], other: int) -> npt.NDArray[np.int32]:
    """Codes in given levels; ``other`` for levels that are not among them, -1 where missing."""
    places = {level: place for place, level in enumerate(levels)}
    mapping = [places.get(level, other) for level in coded.levels]
    return np.array([*mapping, -1], dtype=np.int32)[coded.codes]


def by_frequency(counts: IntArray, names: list[str]) -> list[int]:
    """Places of the levels that occur, the most frequent first."""
    if len(names) <= MAX_SORTED:
        order = sorted(range(len(names)), key=lambda place: (-counts[place], names[place]))
    else:  # that many levels are not distinguished, and their order does not matter
        order = np.argsort(-counts, kind="stable").tolist()
    return order[: int(np.count_nonzero(counts))]


def one_dictionary(column: Any) -> Any:
    """The column as places among its different values.

    In one piece: of several, Arrow would copy all values that were seen before for each.
    """
    import pyarrow as pa

    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # too many characters for one piece
        return whole.dictionary_encode()
    return pa.chunked_array([whole.dictionary_encode()])


def _dictionary(column: Any) -> tuple[list[Any], IntArray]:
    """Different values of a column, and the place of each row among them (-1: missing)."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = one_dictionary(column)
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return [], np.zeros(0, dtype=np.int64)
    codes = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in column.chunks]
    return column.chunk(0).dictionary.to_pylist(), np.concatenate(codes).astype(np.int64)


def text_of(value: Any) -> str:
    """A value as text, without blanks at its ends; empty where it is missing."""
    if isinstance(value, float):
        return "" if value != value else f"{value:.15g}"
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace").strip()
    return str(value).strip()
