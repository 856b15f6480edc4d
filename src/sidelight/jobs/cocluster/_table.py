"""Tables with two sides: a column per property, or a line per one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._typing import IntArray
from sidelight._words import counted, worded
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import Table
from sidelight.io.inner import (
    check_readable,
    class_values,
    close_names,
    column_texts,
    is_text,
    number_column,
    quoted,
    read_dates,
    read_numbers,
    row_name,
)
from sidelight.jobs._table._features import IN_MEMORY, is_frame, raw_columns
from sidelight.jobs._table._rows import read_rows
from sidelight.preparation import BinaryPreparer
from sidelight.preparation.inner import distinct_names

if TYPE_CHECKING:
    from sidelight.jobs.cocluster._run import CoclusterRequest

#: Runs of digits, which names are ordered by as numbers.
DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, eq=False)
class BinaryTable:
    """A table of zeros and ones.

    Attributes
    ----------
    X : ndarray of uint8 or csr_matrix, shape (n_rows, n_columns)
        The zeros and ones.
    data : Table
        Ids, true classes and file of the rows; its feature names are those of the columns.
    row_scores : ndarray of shape (n_rows,) or None
        Values that order the rows.
    notes : tuple of str
        Decisions made while reading, as sentences for the user.
    preparer : BinaryPreparer
        What reads new rows in the same way.
    """

    X: Any
    data: Table
    row_scores: npt.NDArray[Any] | None
    notes: tuple[str, ...]
    preparer: BinaryPreparer


def read_binary(asked: CoclusterRequest) -> BinaryTable:
    """Read the table that a request names, in whichever of the two forms it is."""
    found = _read_wide(asked) if asked.long is None else _read_long(asked)
    n_rows, n_columns = found.X.shape
    if not n_rows or not n_columns:
        raise SidelightError(f"{found.data.path} has no rows or no columns to cluster.")
    return replace(found, notes=(*found.notes, *_empty_notes(found)))


# --- a column per property --------------------------------------------------------------------


def _read_wide(asked: CoclusterRequest) -> BinaryTable:
    ordered_by = [asked.row_order] if isinstance(asked.row_order, str) else []
    frame = is_frame(asked.data)
    if ordered_by and asked.path is None and not frame:
        raise InvalidRequest("row_order names a column only where the data has named columns.")
    data = read_rows(asked, aside=ordered_by)
    preparer = BinaryPreparer(asked.above)
    X = preparer.fit_transform(data)
    scores = None
    if ordered_by:
        column = raw_columns(asked.data, ordered_by).column(ordered_by[0])
        scores = order_values(column, ordered_by[0], data)
    notes = (*data.notes, *preparer.notes_)
    return BinaryTable(X, replace(data, columns=None, X=X), scores, notes, preparer)


# --- a line per one ---------------------------------------------------------------------------


def _read_long(asked: CoclusterRequest) -> BinaryTable:
    """Two columns name the row and the column of a one; others tell of the rows, or are unused."""
    names = tuple(asked.long or ())
    _check_long(asked, names)
    path = asked.path or IN_MEMORY
    if asked.path is not None:
        check_readable(path)
    source = raw_columns(asked.data, names)
    of_rows = [name for name in (asked.truth, asked.row_order) if isinstance(name, str)]
    for name in (*names, *of_rows):
        if name not in source.names:
            raise SidelightError(
                f"{path} has no column {name!r}; {close_names(name, source.names)}."
            )
    ids, first, rows = distinct_names(source.column(names[0]), names[0], path)
    labels, _, columns = distinct_names(source.column(names[1]), names[1], path)
    order = natural_order(labels)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    ones = np.ones(len(rows), np.int64)
    counts = sparse.csr_matrix((ones, (rows, place[columns])), (len(ids), len(labels)))
    counts.sum_duplicates()
    X = sparse.csr_matrix(
        (np.ones(counts.nnz, np.uint8), counts.indices, counts.indptr), counts.shape
    )
    truth = scores = None
    if isinstance(asked.truth, str):
        truth = class_values(source.column(asked.truth))
        _check_constant(truth, first, rows, ids, asked.truth, path)
        truth = truth[first]
    data = Table(
        X,
        ids,
        tuple(str(labels[one]) for one in order),
        path,
        truth=truth,
        truth_column=asked.truth if truth is not None else None,
        id_column=names[0],
    )
    if isinstance(asked.row_order, str):
        column = source.column(asked.row_order)
        texts = np.array(column_texts(column), object)
        _check_constant(texts, first, rows, ids, asked.row_order, path)
        scores = order_values(column.take(first), asked.row_order, data)
    notes = _long_notes(source, (*names, *of_rows), len(rows), X.nnz)
    preparer = BinaryPreparer(long=names).fit_long(data.feature_names)
    return BinaryTable(X, data, scores, notes, preparer)


def _check_long(asked: CoclusterRequest, names: tuple[str, ...]) -> None:
    option = worded("long", "--long")
    if len(names) != 2 or names[0] == names[1]:
        example = worded("('customer', 'product')", "customer,product")
        raise InvalidRequest(
            f"{option} names two columns, that of the rows and that of the columns, such as "
            f"{example}; got {quoted(names)}."
        )
    useless = {
        worded("above", "--above"): asked.above is not None,
        worded("id_column", "--id-column"): asked.id_column is not None,
        worded("columns", "--columns"): asked.columns is not None,
        worded("drop", "--drop"): bool(asked.drop),
    }
    given = [name for name, is_given in useless.items() if is_given]
    if given:
        raise InvalidRequest(
            f"{given[0]} has no use with {option}, which names the only two columns that are read: "
            "every line is a one."
        )
    if asked.path is None and not is_frame(asked.data):
        raise InvalidRequest(f"{option} needs a file or a data frame, which has named columns.")


def _check_constant(
    values: npt.NDArray[Any], first: IntArray, rows: IntArray, ids: Any, name: str, path: Path
) -> None:
    differs = np.flatnonzero(values != values[first][rows])
    if len(differs):
        row = int(rows[differs[0]])
        raise SidelightError(
            f"Column {name!r} of {path} says both {str(values[first[row]])!r} and "
            f"{str(values[differs[0]])!r} of {row_name(ids, row)}; it has to say the same in every "
            "line of a row."
        )


def _long_notes(source: Any, used: Sequence[str], n_lines: int, n_ones: int) -> tuple[str, ...]:
    notes = list(getattr(source, "notes", ()))
    if n_ones < n_lines:
        verb = "says" if n_lines - n_ones == 1 else "say"
        again = counted(n_lines - n_ones, "line")
        notes.append(f"{again} {verb} again what another said; a one is a one.")
    others = [name for name in source.names if name not in used]
    if others:
        notes.append(f"Not used: {quoted(others)}.")
    return tuple(notes)


# --- order ------------------------------------------------------------------------------------


def order_values(column: Any, name: str, data: Table) -> npt.NDArray[Any]:
    """Values that order the rows: numbers, dates, or names in their natural order."""
    texts = column_texts(column)
    if "" in texts:
        raise SidelightError(
            f"Column {name!r} of {data.path}, which orders the rows, is empty in "
            f"{row_name(data.ids, texts.index(''))}; fill it in."
        )
    scores = _scores(column, texts)
    order = np.argsort(scores, kind="stable")
    same = np.flatnonzero(np.diff(scores[order]) == 0)
    if len(same):
        one, other = (row_name(data.ids, int(order[same[0] + step])) for step in (0, 1))
        raise SidelightError(
            f"Column {name!r} of {data.path} orders the rows, but {one} and {other} are both at "
            f"{texts[int(order[same[0]])]!r}, so that neither comes first; give every row a place "
            "of its own."
        )
    return scores


def _scores(column: Any, texts: list[str]) -> npt.NDArray[Any]:
    import pyarrow as pa

    numbers = number_column(column)
    if numbers is not None:
        return np.asarray(numbers, np.float64)
    dates = read_dates(column)
    if dates is not None and not len(dates.bad):
        return dates.seconds
    if is_text(column):
        read = read_numbers(pa.chunked_array([texts]))
        if read is not None and not len(read.bad):
            return read.values
    distinct, codes = np.unique(np.array(texts), return_inverse=True)
    place = np.empty(len(distinct), np.int64)
    place[natural_order(distinct)] = np.arange(len(distinct))
    return place[codes.reshape(-1)]


def natural_order(names: npt.NDArray[Any]) -> IntArray:
    """Places of names in their natural order: ``w2`` before ``w10``, dates by time.

    Examples
    --------
    >>> import numpy as np
    >>> names = np.array(["w10", "w9", "w1"])
    >>> names[natural_order(names)].tolist()
    ['w1', 'w9', 'w10']
    """
    if names.dtype.kind in "iuf":
        return np.argsort(names, kind="stable")
    import pyarrow as pa

    texts = names.tolist()
    dates = read_dates(pa.chunked_array([texts]))
    if dates is not None and not len(dates.bad):
        return np.argsort(dates.seconds, kind="stable")
    keys = [[(not part.isdecimal(), _key(part)) for part in DIGITS.split(text)] for text in texts]
    return np.array(sorted(range(len(texts)), key=keys.__getitem__), np.int64)


def _key(part: str) -> Any:
    return int(part) if part.isdecimal() else part.lower()


# --- what is empty ----------------------------------------------------------------------------


def _empty_notes(found: BinaryTable) -> list[str]:
    """Notes on rows and columns without a one, which no co-cluster can cover."""
    names = {
        "row": found.data.row_ids.tolist(),
        "column": list(found.data.feature_names),
    }
    notes = []
    for axis, noun in ((1, "row"), (0, "column")):
        totals = np.asarray(found.X.sum(axis=axis, dtype=np.int64)).ravel()
        empty = np.flatnonzero(totals == 0).tolist()
        if empty:
            verb = "holds" if len(empty) == 1 else "hold"
            shown = quoted([names[noun][place] for place in empty])
            notes.append(f"{counted(len(empty), noun)} {verb} only zeros: {shown}.")
    return notes
