"""From columns of text to counts of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sidelight._words import counted, setting, worded
from sidelight.exceptions import SidelightError
from sidelight.io import Table
from sidelight.io.inner import column_texts, quoted

#: A word: at least two letters, digits or underscores, in any script.
WORD = r"(?u)\b\w\w+\b"
#: Texts of several columns are read one after the other.
BETWEEN = "\n"
#: Least number of documents of a word, and the number of documents per unit of it in small tables.
MIN_DF, DOCUMENTS_PER_DF = 7, 100


class TextPreparer:
    """Counts of the words in columns of text.

    Words are what stands between blanks and punctuation, in lower case, of at least two letters or
    digits: no language is assumed. Words of too few documents are noise, those of too many are
    the glue of the language; both are left out.

    Parameters
    ----------
    columns : sequence of str
        Columns of text; together they are the document.
    min_df : int or None, default=None
        Least number of documents that a word is in; by default 7, fewer for less than 700
        documents.
    max_df : float, default=0.5
        Largest share of the documents that a word is in.

    Attributes
    ----------
    words_ : ndarray of str
        The words that are counted, in the order of the columns.
    min_df_ : int
        Least number of documents that was used.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from pathlib import Path
    >>> from sidelight.io import Table
    >>> from sidelight.io._raw_columns import ArrowColumns
    >>> from sidelight.preparation import TextPreparer
    >>> columns = ArrowColumns(pa.table({"text": ["Red wine", "white wine, red wine", "a ship"]}))
    >>> table = Table(None, None, ("text",), Path("memory"), columns=columns)
    >>> preparer = TextPreparer(["text"], max_df=1.0)
    >>> preparer.fit_transform(table).toarray()
    array([[1., 0., 0., 1.],
           [1., 0., 1., 2.],
           [0., 1., 0., 0.]])
    >>> preparer.words_.tolist()
    ['red', 'ship', 'white', 'wine']
    """

    def __init__(
        self, columns: Sequence[str], *, min_df: int | None = None, max_df: float = 0.5
    ) -> None:
        self.columns = list(columns)
        self.min_df = min_df
        self.max_df = max_df

    def fit_transform(self, table: Table) -> Any:
        """Learn the words of a table, and count them; a CSR matrix of float64."""
        texts = self.texts(table)
        self.min_df_ = self._min_df(len(texts))
        try:
            counts = (vectorizer := self._vectorizer()).fit_transform(texts)
        except ValueError:  # so scikit-learn says that there is no word
            raise self._no_words(texts) from None
        few = counts.getnnz(axis=0) < self.min_df_
        many = counts.getnnz(axis=0) > self.max_df * len(texts)
        kept = np.flatnonzero(~few & ~many)
        if not len(kept):
            raise self._no_words(texts)
        self.words_: npt.NDArray[Any] = vectorizer.get_feature_names_out()[kept].astype(str)
        return counts[:, kept]

    def transform(self, table: Table) -> Any:
        """Count the known words of other documents."""
        return self.count(self.texts(table))

    def count(self, texts: Sequence[str]) -> Any:
        """Count the known words of texts."""
        return self._vectorizer(self.words_.tolist()).transform(texts)

    def keep(self, kept: npt.NDArray[np.bool_]) -> Self:
        """Forget all words that are not marked."""
        self.words_ = self.words_[kept]
        return self

    def get_feature_names_out(self) -> npt.NDArray[Any]:
        """Return the words."""
        return self.words_

    def texts(self, table: Table) -> list[str]:
        """Text of every document; empty where all columns are."""
        assert table.columns is not None  # read as they are
        columns = [column_texts(table.columns.column(name)) for name in self.columns]
        return [BETWEEN.join(filter(None, parts)) for parts in zip(*columns, strict=True)]

    def _min_df(self, n_documents: int) -> int:
        if self.min_df is not None:
            return self.min_df
        return min(MIN_DF, max(1, n_documents // DOCUMENTS_PER_DF))

    def _vectorizer(self, words: list[str] | None = None) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        return CountVectorizer(token_pattern=WORD, vocabulary=words, dtype=np.float64)

    def _no_words(self, texts: list[str]) -> SidelightError:
        where = f"{'columns' if len(self.columns) > 1 else 'column'} {quoted(self.columns)}"
        if not any(texts):
            return SidelightError(f"The {where} of all documents are empty.")
        return SidelightError(
            f"No word of the {where} is left: none is in at least {self.min_df_} and at most "
            f"{self.max_df:.0%} of {counted(len(texts), 'document')}. Lower "
            f"{setting('min_df')}, or raise {setting('max_df')}"
            + worded(".", ", or name other columns with --text-column.")
        )
