"""Texts as words: normal forms, tables of words, and their TF-IDF weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sidelight._typing import Array, IntArray

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class TokenTable:
    """Words of texts.

    Attributes
    ----------
    counts : csr_array of shape (n_texts, n_words), int64
        How often each word is in a text; sorted indices.
    words : ndarray of shape (n_words,) of str objects
        The different words, sorted.
    """

    counts: sparse.csr_array
    words: Array

    def weights(self, frequencies: IntArray) -> sparse.csr_array:
        """TF-IDF weights ``log(tf + 1) log(N / df)``, every text of length 1.

        Texts of words that all texts have would have no weights at all: theirs are ``log(tf + 1)``.

        Parameters
        ----------
        frequencies : ndarray of shape (n_texts,)
            Number of references with each text; ``N`` and ``df`` count references.
        """
        total = max(int(frequencies.sum()), 1)
        rows = np.repeat(np.arange(self.counts.shape[0]), np.diff(self.counts.indptr))
        df = np.bincount(self.counts.indices, weights=frequencies[rows], minlength=len(self.words))
        tf = np.log(self.counts.data + 1.0)
        values = tf * np.log(total / np.maximum(df, 1.0))[self.counts.indices]
        lengths = _row_lengths(values, rows, self.counts.shape[0])
        values = np.where(lengths[rows] > 0, values, tf)
        lengths = _row_lengths(values, rows, self.counts.shape[0])
        weights = self.counts.astype(np.float64)
        weights.data = values / lengths[rows]
        return weights


def _row_lengths(values: Array, rows: IntArray, n: int) -> Array:
    return np.sqrt(np.bincount(rows, weights=values**2, minlength=n))


def normal_forms(texts: Array) -> pa.Array:
    """Texts in lower case, without accents, with single blanks between letters and digits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pc.utf8_lower(pc.utf8_normalize(pa.array(texts, pa.large_string()), form="NFKD"))
    plain = pc.replace_substring_regex(plain, r"\p{M}+", "")
    plain = pc.replace_substring_regex(plain, r"[^\p{L}\p{N}]+", " ")
    return pc.utf8_trim_whitespace(plain)


def first_names_first(texts: Array) -> Array:
    """Names with what is before a comma at their end: "Wang, Wei" is "Wei Wang"."""
    import pyarrow as pa
    import pyarrow.compute as pc

    given = pa.array(texts, pa.large_string())
    turned = pc.replace_substring_regex(given, r"^([^,]*),(.*)$", r"\2 \1")
    return turned.to_numpy(zero_copy_only=False)


def read_words(texts: Array) -> TokenTable:
    """Words of every text, in normal form."""
    import pyarrow.compute as pc

    split = pc.utf8_split_whitespace(normal_forms(texts))
    of_text = pc.list_parent_indices(split).to_numpy(zero_copy_only=False)
    encoded = pc.list_flatten(split).dictionary_encode()
    found = encoded.dictionary.to_numpy(zero_copy_only=False).astype(object)
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    order = np.argsort(found, kind="stable")
    rank = np.empty(len(found), np.int64)
    rank[order] = np.arange(len(found))
    words, codes = found[order], rank[codes]
    kept = words[codes] != "" if len(codes) else np.empty(0, bool)
    ones = np.ones(int(kept.sum()), np.int64)
    counts = sparse.csr_array(
        (ones, (of_text[kept], codes[kept])), shape=(len(texts), max(len(words), 1))
    )
    counts.sum_duplicates()
    counts.sort_indices()
    return TokenTable(counts, words if len(words) else np.array([""], dtype=object))
