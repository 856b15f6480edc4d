"""From columns of yes and no to zeros and ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._fit.thresholds import share_of_maximum
from sidelight._typing import IntArray
from sidelight._words import worded
from sidelight.exceptions import SidelightError
from sidelight.io import Table
from sidelight.io.inner import close_names, column_texts, id_values, quoted, read_raw, row_name
from sidelight.preparation._cells import CellReader
from sidelight.preparation._source import as_source


class BinaryPreparer:
    """Columns of a table as zeros and ones: 0 and 1, yes and no, marks and blanks, large numbers.

    Parameters
    ----------
    above : float or None, default=None
        Share of the largest value of a column above which a number is 1; None where columns hold
        zeros and ones, or words for them.
    long : sequence of str or None, default=None
        Where the table has a line per one: the columns that name its row and its column.

    Attributes
    ----------
    columns_ : list of str
        Names of the columns.
    thresholds_ : dict of str to float
        Numbers above which values of a column are 1; empty unless ``above`` is given.
    is_sparse_ : bool
        Whether the rows were sparse.
    notes_ : list of str
        What was decided about the rows that were read last, as sentences.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pathlib import Path
    >>> from sidelight.io import Table
    >>> from sidelight.io._raw_columns import ArrowColumns
    >>> from sidelight.preparation import BinaryPreparer
    >>> columns = ArrowColumns(pa.table({"tea": ["x", None], "milk": ["no", "yes"]}))
    >>> table = Table(None, None, ("tea", "milk"), Path("memory"), columns=columns)
    >>> BinaryPreparer().fit_transform(table)
    array([[1, 0],
           [0, 1]], dtype=uint8)
    """

    def __init__(self, above: float | None = None, *, long: Sequence[str] | None = None) -> None:
        self.above = above
        self.long = None if long is None else list(long)

    def fit_transform(self, table: Table) -> Any:
        """Learn columns and thresholds of a table, and read it; sparse rows stay sparse."""
        self.columns_ = list(table.feature_names)
        self.thresholds_: dict[str, float] = {}
        return self._read(table, is_new=False)

    def fit_long(self, columns: Sequence[str]) -> Self:
        """Learn the columns of a table with a line per one."""
        self.columns_ = list(columns)
        self.thresholds_ = {}
        self.is_sparse_ = True
        self.notes_: list[str] = []
        return self

    def transform(self, table: Table) -> Any:
        """Read the same columns of other rows."""
        return self._read(table, is_new=True)

    def get_feature_names_out(self) -> npt.NDArray[Any]:
        """Return the names of the columns."""
        return np.array(self.columns_, dtype=object)

    def _read(self, table: Table, *, is_new: bool) -> Any:
        self.is_sparse_ = sparse.issparse(table.X)
        self.notes_ = []
        if self.is_sparse_:
            return self._sparse_bits(table, is_new=is_new)
        reader = CellReader(table, self.above, self.thresholds_, is_new)
        columns = as_source(table).columns
        X = np.empty((table.n_rows, len(self.columns_)), np.uint8)
        for place, name in enumerate(self.columns_):
            X[:, place] = reader.read(name, columns.column(name))
        self.notes_ = reader.notes
        return X

    def _sparse_bits(self, table: Table, *, is_new: bool) -> Any:
        """Read sparse rows; values that are not stored are 0."""
        X = sparse.csr_matrix(table.X)
        if self.above is not None:
            if not is_new:
                largest = np.maximum(share_of_maximum(X, self.above, "above"), 0.0)
                self.thresholds_ = dict(zip(self.columns_, largest.tolist(), strict=True))
            least = np.array(list(self.thresholds_.values()))
            large = X.data > least[X.indices]
            X = sparse.csr_matrix((large.astype(np.uint8), X.indices, X.indptr), X.shape)
            X.eliminate_zeros()
            return X
        wrong = np.flatnonzero((X.data != 0.0) & (X.data != 1.0))
        if len(wrong):
            row = int(np.searchsorted(X.indptr, wrong[0], side="right")) - 1
            name = self.columns_[int(X.indices[wrong[0]])]
            advice = f"; call large numbers 1 with {worded('above=0.25', '--above 0.25')}"
            raise SidelightError(
                f"Column {name!r} of {table.path} holds {X.data[wrong[0]]:.6g} in "
                f"{row_name(table.ids, row)}, which is neither 0 nor 1{'' if is_new else advice}."
            )
        X = X.astype(np.uint8)
        X.eliminate_zeros()
        return X

    def read_long(self, path: Path) -> Table:
        """Read the lines of new rows, a line per one; columns that are not known are left out."""
        assert self.long is not None  # such tables only
        source = read_raw(path, text_columns=self.long, keep_types=True)
        for name in self.long:
            if name not in source.names:
                raise SidelightError(
                    f"{path} has no column {name!r}; {close_names(name, source.names)}."
                )
        ids, _, rows = distinct_names(source.column(self.long[0]), self.long[0], path)
        names, _, codes = distinct_names(source.column(self.long[1]), self.long[1], path)
        place = {name: number for number, name in enumerate(self.columns_)}
        columns = np.array([place.get(str(name), -1) for name in names.tolist()])
        used = columns[codes] >= 0
        ones = np.ones(int(used.sum()), np.uint8)
        places = (rows[used], columns[codes][used])
        X = sparse.csr_matrix((ones, places), (len(ids), len(self.columns_)))
        X.sum_duplicates()
        X.data[:] = 1
        new = [str(name) for name, column in zip(names, columns, strict=True) if column < 0]
        notes = [f"Not used, since the model was fitted without: {quoted(new)}."] if new else []
        return Table(X, ids, tuple(self.columns_), path, id_column=self.long[0], notes=tuple(notes))


def distinct_names(
    column: Any, name: str, path: Path
) -> tuple[npt.NDArray[Any], IntArray, IntArray]:
    """Return different names as they come, the place where each comes first, and their codes."""
    texts = column_texts(column)
    if "" in texts:
        raise SidelightError(
            f"Column {name!r} of {path} is empty in {texts.count('')} of {len(texts)} lines, the "
            f"first is data row {texts.index('') + 1}; every line names a row and a column."
        )
    seen: dict[str, int] = {}
    codes = np.array([seen.setdefault(text, len(seen)) for text in texts], np.int64)
    _, first = np.unique(codes, return_index=True)
    return id_values(column.take(first), name, path), first, codes
