"""Counts of the different values of a column.

Up to ``MAX_LEVELS`` different values all are counted, in the order in which they come first. Of
more, the frequent ones are kept by the rule of Misra and Gries (1982), which can be joined (Agarwal
et al., 2012): the count of the first value beyond the most frequent ``MAX_LEVELS`` is taken from
all. A count is then too low by at most n / MAX_LEVELS, 0.003 % of the rows, and how many values
differ is estimated, to about 1 %, from the smallest of their hashes (Bar-Yossef et al., 2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._typing import IntArray
from sidelight.preparation._texts import text_of
from sidelight.preparation._vocabulary import MISSING

#: Different values that are counted, and hashes that are kept of more.
MAX_LEVELS, HASHES = 2**15, 2**14
#: An odd number, of whose powers a hash of a text is made, and its inverse modulo 2^64.
BASE = 0x9E3779B97F4A7C15
INVERSE = pow(BASE, -1, 2**64)


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """Different values and how often each is there.

    Attributes
    ----------
    values : pyarrow.Array
        Different values, in the order in which they come first.
    counts : ndarray of int
        Number of rows of each; too low by at most ``lost``.
    n_rows : int
        Number of rows.
    lost : int
        Bound on what a count may be too low by; 0 as long as all values are counted.
    hashes : ndarray of uint64 or None
        The smallest hashes of the values, where not all are counted.
    """

    values: Any
    counts: IntArray
    n_rows: int
    lost: int = 0
    hashes: Any = None

    @classmethod
    def of(cls, column: Any) -> LevelCounts:
        """Count the values of an Arrow array."""
        import pyarrow as pa

        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        counts = np.bincount(codes[codes >= 0], minlength=len(column.dictionary))
        return cls(column.dictionary, counts, len(column))._used()._bounded()

    def join(self, other: LevelCounts) -> LevelCounts:
        """Count the values of both."""
        import pyarrow as pa

        both = pa.chunked_array([self.values, other.values]).combine_chunks().dictionary_encode()
        codes = both.indices.to_numpy(zero_copy_only=False)
        counts = np.zeros(len(both.dictionary), dtype=np.int64)
        counts[codes[: len(self.values)]] += self.counts
        counts[codes[len(self.values) :]] += other.counts
        hashes = None
        if self.hashes is not None or other.hashes is not None:
            hashes = _smallest(self._hashed(), other._hashed())
        joined = LevelCounts(
            both.dictionary,
            counts,
            self.n_rows + other.n_rows,
            self.lost + other.lost,
            hashes,
        )
        return joined._bounded()

    @property
    def n_different(self) -> int:
        """Number of different values; an estimate where not all are counted."""
        if self.hashes is None or len(self.hashes) < HASHES:
            return len(self.values) if self.hashes is None else len(self.hashes)
        return round((HASHES - 1) / (float(self.hashes[-1]) / 2.0**64))

    def _used(self) -> LevelCounts:
        """Without values of a dictionary that do not occur, in the order of their first rows."""
        import pyarrow as pa

        used = np.flatnonzero(self.counts)
        if len(used) == len(self.counts):
            return self
        return LevelCounts(self.values.take(pa.array(used)), self.counts[used], self.n_rows)

    def _bounded(self) -> LevelCounts:
        import pyarrow as pa

        if len(self.values) <= MAX_LEVELS:
            return self
        beyond = int(np.partition(self.counts, -MAX_LEVELS - 1)[-MAX_LEVELS - 1])
        left = self.counts - beyond
        gaps = _stand_for_gaps(self.values)  # gaps are counted exactly
        left[gaps] = self.counts[gaps]
        kept = np.flatnonzero(left > 0)
        return LevelCounts(
            self.values.take(pa.array(kept)),
            left[kept],
            self.n_rows,
            self.lost + beyond,
            self._hashed(),
        )

    def _hashed(self) -> Any:
        return _smallest(hashes_of(self.values)) if self.hashes is None else self.hashes


def _stand_for_gaps(values: Any) -> Any:
    """Whether texts stand for missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return np.zeros(len(values), dtype=bool)
    plain = pc.utf8_lower(pc.utf8_trim_whitespace(values))
    found = pc.is_in(plain, value_set=pa.array(sorted(MISSING), kind))
    return found.to_numpy(zero_copy_only=False)


def _smallest(*hashes: Any) -> Any:
    return np.unique(np.concatenate(hashes))[:HASHES]


def hashes_of(values: Any) -> Any:
    """64-bit hashes of the texts of an Arrow array without gaps."""
    import pyarrow as pa

    if not pa.types.is_large_string(values.type):
        if not pa.types.is_string(values.type):
            values = pa.array([text_of(value) for value in values.to_pylist()], pa.string())
        values = values.cast(pa.large_string())
    n = len(values)
    offsets = np.frombuffer(values.buffers()[1], np.int64)[values.offset : values.offset + n + 1]
    data = values.buffers()[2]
    letters = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    letters = letters[offsets[0] : offsets[-1]].astype(np.uint64) + np.uint64(1)
    starts, ends = offsets[:-1] - offsets[0], offsets[1:] - offsets[0]
    sums = np.zeros(len(letters) + 1, dtype=np.uint64)
    np.cumsum(letters * _powers(BASE, len(letters)), out=sums[1:])
    # A polynomial of the letters of each text, brought to its own beginning.
    found = (sums[ends] - sums[starts]) * _powers(INVERSE, len(letters) + 1)[starts]
    return mixed(found ^ (ends - starts).astype(np.uint64))


def _powers(base: int, n: int) -> Any:
    found = np.full(n, base, dtype=np.uint64)
    found[:1] = 1
    return np.multiply.accumulate(found) if n else found


def mixed(words: Any) -> Any:
    """Scramble 64-bit words (the last step of SplitMix64): different ones stay different."""
    words = words + np.uint64(BASE)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
