"""Blocking: which pairs of references are compared at all, and a report of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sidelight._kernels.relational.resolution.blocking import window_pairs
from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted, worded
from sidelight.constraints.inner import as_codes, plain
from sidelight.exceptions import SidelightError
from sidelight.relational.resolution._keys import Blocks, make_blocks
from sidelight.relational.resolution._references import References
from sidelight.relational.resolution._similarities import Scorer

#: By default up to this many references are all compared with each other.
ALL_PAIRS = 1_500

#: Pairs are refused beyond this number: each takes 32 bytes, and 8 more for every column.
MAX_PAIRS = 50_000_000

#: Number of the largest blocks of a key that are reported.
SHOWN_BLOCKS = 5

#: Default window of the sorted neighborhood, in different values.
WINDOW = 5

#: Numbers of default keys are found up to this similarity, even where less could join.
MIN_SIMILARITY = 0.3


@dataclass(frozen=True, eq=False)
class BlockingReport:
    """Which keys kept how many pairs.

    Attributes
    ----------
    n_references : int
        Number of references.
    n_pairs : int
        Number of pairs that are compared.
    keys : dict of ndarray
        ``key``, ``n_blocks``, ``n_pairs`` and ``n_without`` (references without a value) of every
        key.
    largest_blocks : dict of ndarray
        ``key``, ``value``, ``n_references`` and ``n_pairs`` of the blocks with the most pairs.
    """

    n_references: int
    n_pairs: int
    keys: dict[str, Array]
    largest_blocks: dict[str, Array]
    _pairs: IntArray = field(repr=False)

    @property
    def n_all_pairs(self) -> int:
        """Number of pairs of different references."""
        return self.n_references * (self.n_references - 1) // 2

    @property
    def reduction_ratio(self) -> float:
        """Share of all pairs that need no comparison."""
        return 1.0 - self.n_pairs / self.n_all_pairs if self.n_all_pairs else 0.0

    def completeness(self, truth: Any) -> float:
        """Share of the true pairs that are kept.

        Parameters
        ----------
        truth : array of shape (n_references,)
            Entity of every reference, -1 or missing where it is not known.
        """
        classes = as_codes(plain(truth), self.n_references, "truth")
        assert classes is not None
        codes = classes.codes
        sizes = np.bincount(codes[codes >= 0])
        total = int((sizes * (sizes - 1) // 2).sum())
        first, second = codes[self._pairs[:, 0]], codes[self._pairs[:, 1]]
        kept = int(((first == second) & (first >= 0)).sum())
        return kept / total if total else 1.0

    def __str__(self) -> str:
        kept = 100 * (1 - self.reduction_ratio)
        lines = [
            f"{counted(self.n_pairs, 'pair')} of {self.n_all_pairs:,} compared ({kept:.3g} %)."
        ]
        for key, blocks, pairs, without in zip(*self.keys.values(), strict=True):
            left = f", {counted(int(without), 'reference')} without a value" if without else ""
            lines.append(
                f"{key}: {counted(int(pairs), 'pair')} in {counted(int(blocks), 'block')}{left}"
            )
        largest = list(zip(*self.largest_blocks.values(), strict=True))
        for key, value, size, pairs in largest[:SHOWN_BLOCKS]:
            lines.append(
                f"  {key}={value}: {counted(int(size), 'reference')}, {counted(int(pairs), 'pair')}"
            )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class CandidatePairs:
    """Pairs of references that blocking keeps.

    Attributes
    ----------
    pairs : ndarray of shape (m, 2), int64
        Positions ``i < j``, sorted, each once.
    similarity : ndarray of shape (m,), float64
        Similarity of the attributes in [0, 1]: the weighted mean of the parts that are there.
    parts : ndarray of shape (m, n_columns), float64
        Similarity by column, NaN where one of the two has no value.
    columns : tuple of str
        Names of the columns.
    blocking : BlockingReport
        How the pairs were found.
    """

    pairs: IntArray
    similarity: FloatArray
    parts: FloatArray
    columns: tuple[str, ...]
    blocking: BlockingReport

    def __len__(self) -> int:
        return len(self.pairs)

    def find(self, pairs: Array, n: int) -> IntArray:
        """Place of every pair ``i < j`` among the candidates, -1 for pairs that are none.

        Parameters
        ----------
        pairs : ndarray of shape (p, 2)
            Pairs to look up.
        n : int
            Number of references.
        """
        key = self.pairs[:, 0] * n + self.pairs[:, 1]
        wanted = pairs[:, 0] * n + pairs[:, 1]
        place = np.searchsorted(key, wanted)
        inside = place < len(key)
        inside[inside] = key[place[inside]] == wanted[inside]
        return np.where(inside, place, -1)


def candidate_pairs(
    blocking: Any, references: References, scorer: Scorer, *, least: float, X: Any
) -> tuple[IntArray, BlockingReport]:
    """Pairs ``i < j`` that share a key, sorted, each once, and the report of it.

    Parameters
    ----------
    blocking : "auto", None or sequence of keys
        The parameter of resolvers.
    references : References
        The rows.
    scorer : Scorer
        How columns are compared, for keys that suit them.
    least : float
        Pairs whose attributes are less similar cannot join.
    X : object
        The rows as the user gave them, for keys that are functions.
    """
    n = references.n
    if isinstance(blocking, str) and blocking == "auto":
        blocking = None if n <= ALL_PAIRS else suggested_keys(scorer, least)
    if blocking is None:
        return _all_pairs(n)
    found = [make_blocks(key, references, X) for key in blocking]
    total = 0
    for blocks in found:
        total += int(blocks.pairs.sum())
    if total > MAX_PAIRS:
        _check_pair_count(max(found, key=lambda blocks: int(blocks.pairs.sum())))
    keys = [
        window_pairs(blocks.rows, blocks.starts, blocks.stop, n, int(blocks.pairs.sum()))
        for blocks in found
    ]
    joined = np.sort(np.concatenate(keys))  # faster than np.unique, which hashes
    joined = joined[np.diff(joined, prepend=-1) > 0]
    pairs = np.column_stack(np.divmod(joined, n))
    return pairs, _report(n, pairs, found)


def suggested_keys(scorer: Scorer, least: float) -> tuple[str, ...]:
    """Keys that suit the comparisons.

    The mean over columns reaches ``least`` only if one column does, so that keys of all columns
    together lose little: numbers are kept up to the difference that still gives ``least``.
    """
    keys: list[str] = []
    for name, comparison in scorer.comparisons.items():
        if comparison.kind == "name":
            keys += [f"{name}:last+initial", f"{name}:lastnear{WINDOW}"]
        elif comparison.kind == "text":
            keys += [f"{name}:prefix4", f"{name}:near{WINDOW}"]
        elif comparison.kind == "words":
            keys.append(f"{name}:words")
    if not keys:
        reach = math.sqrt(-2 * math.log(min(max(least, MIN_SIMILARITY), 1.0)))
        for name, comparison in scorer.comparisons.items():
            if comparison.kind in ("number", "date"):
                assert comparison.scale is not None
                # A little more than four digits lose, so that every such pair is kept.
                keys.append(f"{name}:within{1.001 * reach * comparison.scale:.4g}")
            elif comparison.kind == "exact":
                keys.append(name)
    if not keys:
        raise SidelightError(
            "More than a few references that are compared by functions need keys: say which pairs "
            'are compared, as in blocking=("name:prefix3",), or blocking=None for all pairs.'
        )
    return tuple(keys)


def _all_pairs(n: int) -> tuple[IntArray, BlockingReport]:
    total = n * (n - 1) // 2
    if total > MAX_PAIRS:
        raise SidelightError(
            f"{n:,} references have {_many(total)} pairs, more than the {_many(MAX_PAIRS)} that "
            'are compared at most; give keys, as in blocking=("name:last",), of which a pair has '
            "to share one."
        )
    first, second = np.triu_indices(n, 1)
    pairs = np.column_stack([first, second]).astype(np.int64)
    nothing = np.empty(0, np.int64)
    keys = {"key": np.array(["all pairs"]), "n_blocks": np.array([1])}
    keys |= {"n_pairs": np.array([total]), "n_without": np.array([0])}
    largest = dict.fromkeys(("key", "value", "n_references", "n_pairs"), nothing)
    return pairs, BlockingReport(n, total, keys, largest, pairs)


def _report(n: int, pairs: IntArray, found: list[Blocks]) -> BlockingReport:
    keys = {
        "key": np.array([blocks.key for blocks in found]),
        "n_blocks": np.array([int((blocks.sizes > 0).sum()) for blocks in found]),
        "n_pairs": np.array([int(blocks.pairs.sum()) for blocks in found]),
        "n_without": np.array([_n_without(n, blocks) for blocks in found]),
    }
    rows = []
    for blocks in found:
        counts = blocks.pairs
        for block in np.argsort(-counts, kind="stable")[:SHOWN_BLOCKS].tolist():
            size = int(blocks.sizes[block])
            rows.append((blocks.key, blocks.title(block), size, int(counts[block])))
    rows.sort(key=lambda row: -row[3])
    largest = {
        name: np.array([row[place] for row in rows])
        for place, name in enumerate(("key", "value", "n_references", "n_pairs"))
    }
    return BlockingReport(n, len(pairs), keys, largest, pairs)


def _n_without(n: int, blocks: Blocks) -> int:
    """Number of references in no block."""
    placed = np.zeros(n, bool)
    placed[blocks.rows] = True
    return n - int(placed.sum())


def _check_pair_count(blocks: Blocks) -> None:
    """Raise for keys with too many pairs, and name the block that has the most."""
    counts = blocks.pairs
    worst = int(counts.argmax())
    size = int(blocks.sizes[worst])
    both = worded(f"({blocks.key!r}, 'city')", f'"{blocks.key}&city"')
    raise SidelightError(
        f"The key '{blocks.key}={blocks.title(worst)}' has {counted(size, 'row')}, "
        f"{_many(int(counts[worst]))} pairs, of {_many(int(counts.sum()))} pairs of the key "
        f"{blocks.key!r}; at most {_many(MAX_PAIRS)} are compared. Add another key that has to "
        f"agree, as in {both}, or take a longer prefix or a smaller window."
    )


def _many(number: int) -> str:
    """A number of pairs in words."""
    for size, word in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if number >= size:
            return f"{number / size:.3g} {word}"
    return f"{number:,}"
