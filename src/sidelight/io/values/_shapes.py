"""Texts by their shape: ``1.234,50`` and ``9.876,00`` are written alike, as ``9.999,99``.

A column of a million texts that are numbers or dates has a few dozen shapes. What a shape means is
decided once, in plain Python; the digits of all texts of a shape are then read in one go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sidelight.io._columns import is_text

if TYPE_CHECKING:
    import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

#: Share of the values that are not missing which a column of numbers or dates has to hold.
MOST = 0.98
#: Texts of more bytes are neither numbers nor dates.
LONGEST = 48
#: Texts, spread over a column, from which columns that hold something else are recognized.
SAMPLE = 1000
#: Share of these that has to fit at least.
SAMPLE_MOST = 0.9
BLOCK_ROWS = 1 << 15

#: What stands for a missing number or date, in lower case.
MISSING_WORDS = frozenset(
    {"", "na", "n/a", "nan", "nat", "<na>", "null", "none", "nil", "missing", "unknown", "\\n"}
    | {"?", "??", "-", "--", "---", "–", "—", ".", "..", "...", "*", "n.a.", "n.a", "#na", "#n/a"}
    | {"#n/a n/a", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!"}
)

#: Each digit is a 9 in a shape; other bytes are themselves, but zero bytes, which fill up.
CLASSES = bytes.maketrans(b"012345678\0", b"999999999\1")
MIXERS = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9], dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts in one run of bytes, followed by some bytes of filling.

    Attributes
    ----------
    data : ndarray of uint8
        The bytes.
    starts, lengths : ndarray of shape (n_texts,)
        Where each text begins, and its number of bytes.
    given : ndarray of bool of shape (n_texts,)
        Whether there is a text.
    counts : ndarray of shape (n_texts,)
        How many rows have this text.
    """

    data: Bytes
    starts: Ints
    lengths: Ints
    given: npt.NDArray[np.bool_]
    counts: Ints

    def __len__(self) -> int:
        return len(self.starts)

    def digits(self, rows: Ints, places: Sequence[int]) -> Bytes:
        """Digits of some texts of one shape, one column for each of the places."""
        found = np.empty((len(rows), len(places)), dtype=np.uint8)
        starts = self.starts[rows]
        for column, place in enumerate(places):
            found[:, column] = self.data[starts + place]
        return found

    def integers(self, rows: Ints, places: Sequence[int]) -> Ints:
        """Whole numbers that some texts of one shape have at these places, at most 18 digits."""
        starts = self.starts[rows]
        value = np.zeros(len(rows), dtype=np.int64)
        for place in places:
            value *= 10
            value += self.data[starts + place]
            value -= ord("0")
        return value


@dataclass(frozen=True, eq=False)
class Shapes:
    """The shapes of texts.

    Attributes
    ----------
    names : list of str
        The shapes. A first digit that is 0 stays a 0, since it may tell a code from a number.
    places : list of list of int
        For each shape, at which bytes its digits are.
    codes : ndarray of shape (n_texts,)
        Shape of each text; -1 where there is none, -2 where it is too long to have one.
    counts : ndarray of shape (n_shapes,)
        How many rows have each shape.
    """

    names: list[str]
    places: list[list[int]]
    codes: npt.NDArray[np.int32]
    counts: Ints

    def having(self, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Texts that have one of the chosen shapes."""
        found: npt.NDArray[np.bool_] = np.append(chosen, False)[np.maximum(self.codes, -1)]
        return found

    def rows(self) -> Iterator[tuple[int, Ints]]:
        """Each shape with texts that have it, in blocks that fit into a cache."""
        few = len(self.names) < np.iinfo(np.int16).max
        codes = self.codes.astype(np.int16 if few else np.int32)  # short ones sort in linear time
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(-1, len(self.names)), side="right")
        for code in range(len(self.names)):
            for start in range(ends[code], ends[code + 1], BLOCK_ROWS):
                yield code, order[start : min(start + BLOCK_ROWS, ends[code + 1])]


def distinct_texts(column: pa.ChunkedArray) -> tuple[Texts, Ints | None]:
    """Texts of a column, each once where many occur again, and which of them each row has.

    The second is None where each row has its own, and negative where a row has none.
    """
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        if not _repeats(column):
            return _texts(column), None
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return _texts(pa.chunked_array([], type=pa.string())), np.zeros(0, dtype=np.int64)
    codes = np.concatenate(
        [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in column.chunks]
    ).astype(np.int64)
    words = _texts(pa.chunked_array([column.chunk(0).dictionary]))
    counts = np.bincount(codes[codes >= 0], minlength=len(words))
    return Texts(words.data, words.starts, words.lengths, words.given, counts), codes


def spread(n: int, n_wanted: int) -> Ints:
    """About ``n_wanted`` positions in ``range(n)``, evenly spread but in no fixed step."""
    if n <= n_wanted:
        return np.arange(n)
    steps = np.arange(n_wanted) * 0.6180339887498949 % 1  # the golden section hits no period
    return np.unique((steps * n).astype(np.int64))


def sampled(texts: Texts, codes: Ints | None) -> Texts:
    """Texts of some rows, spread over all of them, by which most other columns are recognized."""
    if codes is None:
        rows = spread(len(texts), SAMPLE)
    else:
        rows = codes[spread(len(codes), SAMPLE)]
        rows = rows[rows >= 0]
    return Texts(
        texts.data,
        texts.starts[rows],
        texts.lengths[rows],
        texts.given[rows],
        np.ones(len(rows), dtype=np.int64),
    )


def shapes_of(texts: Texts) -> Shapes:
    """Find the shapes of texts."""
    codes = np.full(len(texts), -1, dtype=np.int32)
    codes[texts.lengths > LONGEST] = -2
    codes[~texts.given] = -1
    fitting = np.flatnonzero(texts.given & (texts.lengths <= LONGEST))
    longest = int(texts.lengths[fitting].max(initial=1))
    width = 8 * -(-longest // 8)
    known: dict[bytes, int] = {}
    plain = np.frombuffer(texts.data.tobytes().translate(CLASSES), dtype=np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(plain, width)
    for start in range(0, len(fitting), BLOCK_ROWS):
        rows = fitting[start : start + BLOCK_ROWS]
        found, inverse = _distinct_rows(_matrix(texts, windows, rows))
        new = np.array([known.setdefault(shape.tobytes(), len(known)) for shape in found])
        codes[rows] = new[inverse]
    names = [shape.rstrip(b"\0") for shape in known]
    weights = texts.counts[fitting]
    counts = np.bincount(codes[fitting], weights, len(known)).astype(np.int64)
    digits = [[place for place, byte in enumerate(name) if byte in b"09"] for name in names]
    return Shapes([name.decode("utf-8", "replace") for name in names], digits, codes, counts)


def too_many_misfits(texts: Texts, fits: npt.NDArray[np.bool_], n_missing: int) -> bool:
    """Whether fewer than most of the rows that are not missing fit."""
    n_fitting = int(texts.counts[fits].sum())
    n_given = int(texts.counts[texts.given].sum()) - n_missing
    return n_fitting == 0 or n_fitting < MOST * n_given


def is_missing(shape: str) -> bool:
    """Whether a shape is a word for a missing value."""
    return shape.strip().lower() in MISSING_WORDS


def per_row(values: npt.NDArray[Any], codes: Ints | None) -> npt.NDArray[Any]:
    """Values of the rows from those of the different texts; NaN where a row has none."""
    if codes is None:
        return values
    if len(values) == 0:
        return np.full(len(codes), np.nan)
    found = values[codes]
    found[codes < 0] = np.nan
    return found


def rows_with(texts: npt.NDArray[np.bool_], codes: Ints | None) -> Ints:
    """Rows whose text is one of these."""
    if codes is None:
        return np.flatnonzero(texts)
    if not texts.any():
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(texts[codes] & (codes >= 0))


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether a large column seems to have far fewer different texts than rows."""
    n = len(column)
    if n < 4 * SAMPLE:
        return False
    # Of m texts that are drawn from d different ones, about m²/2d were drawn before.
    n_repeated = SAMPLE - len(column.take(spread(n, SAMPLE)).unique())
    return n_repeated > max(3, 2 * SAMPLE**2 / n)


def _texts(column: pa.ChunkedArray) -> Texts:
    """Texts of a column, one after another."""
    import pyarrow as pa

    if not is_text(column):
        raise TypeError(f"texts are needed, not {column.type}")
    parts, starts, lengths, given, shift = [], [], [], [], 0
    for chunk in column.chunks:
        kind = np.int64 if pa.types.is_large_string(chunk.type) else np.int32
        valid, offsets, data = chunk.buffers()
        n = len(chunk)
        ends = np.zeros(n + 1, dtype=np.int64)
        if n:
            ends[:] = np.frombuffer(offsets, dtype=kind)[chunk.offset : chunk.offset + n + 1]
        used = np.zeros(0, dtype=np.uint8)
        if data is not None:
            used = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]]
        parts.append(used)
        starts.append(ends[:-1] - ends[0] + shift)
        lengths.append(np.diff(ends))
        given.append(_is_given(chunk) if valid is not None else np.ones(n, dtype=bool))
        shift += len(used)
    filling = np.zeros(LONGEST + 8, dtype=np.uint8)
    empty = [np.zeros(0, dtype=np.int64)]
    places = np.concatenate(starts or empty)
    return Texts(
        np.concatenate([*parts, filling]),
        places,
        np.concatenate(lengths or empty),
        np.concatenate(given or [np.zeros(0, dtype=bool)]),
        np.ones(len(places), dtype=np.int64),
    )


def _is_given(chunk: pa.Array) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = chunk.is_valid().to_numpy(zero_copy_only=False)
    return found


def _matrix(texts: Texts, windows: Bytes, rows: Ints) -> Bytes:
    """Shapes of some texts as rows of bytes, filled up with zeros."""
    starts, lengths = texts.starts[rows], texts.lengths[rows]
    matrix: Bytes = windows[starts]
    matrix[np.arange(matrix.shape[1]) >= lengths[:, None]] = 0
    is_digit = matrix == ord("9")
    first = is_digit.argmax(axis=1)
    zero = (texts.data[starts + first] == ord("0")) & (first < lengths)
    matrix[np.flatnonzero(zero), first[zero]] = ord("0")
    return matrix


def _distinct_rows(matrix: Bytes) -> tuple[Bytes, Ints]:
    """Different rows of a matrix, and which of them each row is."""
    words = matrix.view(np.uint64)
    keys = np.zeros(len(words), dtype=np.uint64)
    for column in words.T:
        keys = (keys ^ column) * MIXERS[0]
        keys ^= keys >> np.uint64(29)
        keys *= MIXERS[1]
    found = np.unique(keys)
    inverse = np.searchsorted(found, keys)
    first = np.empty(len(found), dtype=np.int64)
    first[inverse[::-1]] = np.arange(len(keys))[::-1]
    if not np.array_equal(words[first[inverse]], words):  # two rows with one key
        different, inverse = np.unique(matrix, axis=0, return_inverse=True)
        return different, inverse.reshape(-1)
    return matrix[first], inverse
