"""Keys of blocking: which references share a block, or are near each other in an order."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight._words import worded
from sidelight.constraints.inner import as_codes, plain, text_of
from sidelight.exceptions import SidelightError
from sidelight.relational.resolution._references import ReferenceColumn, References
from sidelight.relational.resolution._tokens import first_names_first, normal_forms, read_words

#: Words that more references have than this are no keys of their own.
COMMON_WORD = 50

FORMS = (
    '"column" (the same value), "column:prefix3" (first letters), "column:last" (last word), '
    '"column:last+initial" (last word and first letter), "column:words" (a rare word in common), '
    '"column:near5" (at most 5 different values apart in sorted order), "column:lastnear5" (the '
    'same, sorted by the last word), "column:within2.5" (numbers at most 2.5 apart)'
)


def forms() -> str:
    """Description of the forms that a key can have."""
    several = worded(
        "a tuple of keys that all have to agree, or a function of X that gives one value per row",
        'or several that all have to agree as "A&B"',
    )
    return f"{FORMS}, {several}"


@dataclass(frozen=True, eq=False)
class Blocks:
    """References by block.

    Attributes
    ----------
    key : str
        The key that makes them.
    rows : ndarray of int64
        References, block after block; one may be in several.
    starts : ndarray of shape (n_blocks + 1,), int64
        Where each block starts in ``rows``.
    stop : ndarray of shape (n_blocks,), int64
        Blocks are also paired with the ones after them up to here, exclusive.
    title : callable
        Name of a block by its number.
    """

    key: str
    rows: IntArray
    starts: IntArray
    stop: IntArray
    title: Callable[[int], str]

    @property
    def sizes(self) -> IntArray:
        """Number of references of every block."""
        return np.diff(self.starts)

    @property
    def pairs(self) -> IntArray:
        """Number of pairs of every block, its window included."""
        sizes = self.sizes
        later = self.starts[np.maximum(self.stop, np.arange(len(sizes)) + 1)] - self.starts[1:]
        return sizes * (sizes - 1) // 2 + sizes * later


def make_blocks(key: Any, references: References, X: Any) -> Blocks:
    """Blocks of one key.

    Parameters
    ----------
    key : str, tuple or callable
        See :func:`forms`.
    references : References
        The rows.
    X : object
        The rows as the user gave them, for functions.
    """
    if isinstance(key, tuple | list):
        return _conjunction(key, references, X)
    if isinstance(key, str):
        column, how = _parse(key, references)
        if how.startswith(("near", "lastnear")):
            return _near(key, column, how)
        if how.startswith("within"):
            return _within(key, column, float(how[6:]))
        if how == "words":
            return _words(key, column)
    codes, titles = _codes(key, references, X)
    name = _name(key)
    return _blocks(name, np.flatnonzero(codes >= 0), codes[codes >= 0], len(titles), titles)


def _parse(key: str, references: References) -> tuple[ReferenceColumn, str]:
    """Column and form of a key."""
    if key in references.columns:
        return references.columns[key], ""
    name, colon, how = key.rpartition(":")
    if not colon or name not in references.columns:
        raise SidelightError(
            f"The key {key!r} names no column; the table has "
            f"{', '.join(map(repr, references.columns))}. A key is {forms()}."
        )
    number = r"\d+(\.\d*)?(e[+-]?\d+)?"
    if not re.fullmatch(
        rf"prefix[1-9]\d*|last|last\+initial|words|(last)?near\d+|within{number}", how
    ):
        raise SidelightError(f"{how!r} is no form of a key ({key!r}). A key is {forms()}.")
    return references.columns[name], how


def _name(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, tuple | list):
        return " & ".join(_name(one) for one in key)
    return getattr(key, "__name__", "function")


def _codes(key: Any, references: References, X: Any) -> tuple[IntArray, Array]:
    """Block of every reference, -1 for none, and the titles of the blocks."""
    if callable(key):
        classes = as_codes(plain(key(X)), references.n, f"the key {_name(key)!r}")
        assert classes is not None
        return classes.codes, classes.names.astype(object)
    if not isinstance(key, str):
        raise SidelightError(f"{key!r} is no key of blocking. A key is {forms()}.")
    column, how = _parse(key, references)
    if how.startswith(("near", "lastnear", "within")) or how == "words":
        raise SidelightError(
            f"The key {key!r} makes no blocks of its own, so that it cannot agree with others in "
            "a tuple; give it by itself."
        )
    titles = _block_titles(column, how)
    names, of_value = np.unique(titles.astype(str), return_inverse=True)
    codes = np.append(of_value, -1)[column.codes]
    if len(names) and names[0] == "":
        codes = np.where(codes == 0, -1, codes)
    return codes, names.astype(object)


def _block_titles(column: ReferenceColumn, how: str) -> Array:
    """Name of the block of every different value; empty for values without one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = column.texts()
    if (how and column.kind == "date") or (how.startswith("last") and column.kind == "number"):
        raise SidelightError(
            f"The key '{column.name}:{how}' is for texts, but the column holds {column.kind}s."
        )
    if column.kind != "text":
        return np.array([text[: int(how[6:])] for text in texts], object) if how else texts
    if how.startswith("last"):
        texts = first_names_first(texts)
    forms = normal_forms(texts)
    if how.startswith("prefix"):
        forms = pc.utf8_slice_codeunits(forms, 0, int(how[6:]))
    if how.startswith("last"):
        initial = pc.utf8_slice_codeunits(forms, 0, 1)
        forms = pc.replace_substring_regex(forms, r"^.* ", "")
        if how == "last+initial":
            blank = pa.scalar(" ", pa.large_string())
            forms = pc.binary_join_element_wise(forms, initial, blank)
    return np.asarray(pc.utf8_trim_whitespace(forms).to_numpy(zero_copy_only=False))


def _conjunction(keys: Any, references: References, X: Any) -> Blocks:
    """Blocks of references that agree in all keys."""
    if not keys:
        raise SidelightError(f"A tuple of keys that have to agree is empty. A key is {forms()}.")
    codes = np.zeros(references.n, np.int64)
    for key in keys:
        more, _ = _codes(key, references, X)
        joined = codes * (int(more.max(initial=0)) + 1) + more
        _, ranks = np.unique(joined, return_inverse=True)
        codes = np.where((codes >= 0) & (more >= 0), ranks, -1)
    used, first, ranks = np.unique(codes, return_index=True, return_inverse=True)
    skip = int(len(used) > 0 and used[0] == -1)
    codes, first = ranks - skip, first[skip:]
    parts = [_codes(key, references, X) for key in keys]

    def title(block: int) -> str:
        row = first[block]
        return " & ".join(str(names[of_row[row]]) for of_row, names in parts)

    placed = np.flatnonzero(codes >= 0)
    made = _blocks(_name(keys), placed, codes[placed], len(first), None)
    return Blocks(made.key, made.rows, made.starts, made.stop, title)


def _blocks(key: str, rows: IntArray, codes: IntArray, n_blocks: int, titles: Any) -> Blocks:
    order = np.argsort(codes, kind="stable")
    starts = np.zeros(n_blocks + 1, np.int64)
    np.cumsum(np.bincount(codes, minlength=n_blocks), out=starts[1:])
    stop = np.arange(1, n_blocks + 1)
    return Blocks(key, rows[order], starts, stop, lambda block: str(titles[block]))


def _words(key: str, column: ReferenceColumn) -> Blocks:
    """Blocks of references with a rare word in common."""
    words = read_words(column.texts())
    entries = words.counts.tocoo()
    df = np.bincount(entries.col, weights=column.counts[entries.row], minlength=len(words.words))
    rare = (df <= COMMON_WORD) & (df > 1)
    by_value = words.counts[:, np.flatnonzero(rare)]
    placed = np.flatnonzero(column.codes >= 0)
    found = by_value[column.codes[placed]].tocoo()
    titles = words.words[rare]
    rows, codes = placed[found.row].astype(np.int64), found.col.astype(np.int64)
    return _blocks(key, rows, codes, len(titles), titles)


def _near(key: str, column: ReferenceColumn, how: str) -> Blocks:
    """Sorted neighborhood: every different value with a number of next ones."""
    window = int(how.removeprefix("last").removeprefix("near"))
    blocks = _sorted_blocks(key, column, last_first=how.startswith("last"))
    n_blocks = len(blocks.sizes)
    stop = np.minimum(np.arange(n_blocks) + 1 + window, n_blocks)
    return Blocks(key, blocks.rows, blocks.starts, stop, blocks.title)


def _within(key: str, column: ReferenceColumn, width: float) -> Blocks:
    """Numbers, or days, that are at most ``width`` apart."""
    if column.kind == "text":
        raise SidelightError(
            f"The key {key!r} is for numbers and dates, but the column {column.name!r} holds texts."
        )
    blocks = _sorted_blocks(key, column, last_first=False)
    values = np.asarray(column.values, dtype=np.float64)
    stop = np.searchsorted(values, values + width, side="right")
    return Blocks(key, blocks.rows, blocks.starts, stop.astype(np.int64), blocks.title)


def _sorted_blocks(key: str, column: ReferenceColumn, *, last_first: bool) -> Blocks:
    """References by their value, in increasing order; names perhaps by their last word first."""
    import pyarrow.compute as pc

    if column.kind == "text":
        forms = normal_forms(first_names_first(column.values) if last_first else column.values)
        if last_first:
            forms = pc.replace_substring_regex(forms, r"^(.*) ([^ ]+)$", r"\2 \1")
        texts = np.asarray(forms.to_numpy(zero_copy_only=False)).astype(str)
        titles, ranks = np.unique(texts, return_inverse=True)
    else:
        titles, ranks = column.values, np.arange(len(column.values))
    placed = np.flatnonzero(column.codes >= 0)
    named: Any = [text_of(title) for title in titles.tolist()]
    return _blocks(key, placed, ranks[column.codes[placed]], len(titles), named)
