"""The published table: put together, written, read again and counted before it is in its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._typing import Array
from sidelight._words import counted, listed
from sidelight.exceptions import SidelightError
from sidelight.io.inner import (
    column_names,
    column_texts,
    harmless,
    is_text,
    read_raw,
    table_format,
    write_columns,
)
from sidelight.jobs.anonymize._request import AnonymizeRequest
from sidelight.jobs.anonymize._roles import Columns, row_codes
from sidelight.privacy import AnonymityCheck, check_anonymity

if TYPE_CHECKING:
    import pyarrow as pa


class BrokenPromise(SidelightError):
    """A table that would not have been as anonymous as it was asked to be; it was not written."""


def count_rows(
    table: Any, request: AnonymizeRequest, spelled: Callable[[str], str] = str
) -> AnonymityCheck:
    """Count how many rows of a table are alike, and how diverse they are.

    ``spelled`` is how the table spells the names of the columns.
    """
    roles = request.roles
    return check_anonymity(
        table,
        [spelled(name) for name in roles["quasi"]],
        [spelled(name) for name in roles["sensitive"]],
        k=request.k,
        l=request.l,
        diversity=request.diversity,
        c=request.c,
        t=request.t,
        nominal=[spelled(name) for name in roles["sensitive"] if name in request.nominal_names],
    )


def check_promise(
    table: Any, request: AnonymizeRequest, n_rows: int, spelled: Callable[[str], str] = str
) -> AnonymityCheck:
    """Count what a table holds, and raise if that is not what was promised.

    The message tells how many classes break the promise, not whose they are.
    """
    check = count_rows(table, request, spelled)
    if check.n_rows != n_rows:
        raise _broken(f"it has {check.n_rows:,} rows instead of {n_rows:,}")
    if check.n_too_small:
        classes = counted(check.n_too_small, "class")
        raise _broken(
            f"{classes} of rows that are published alike would have fewer than k = {request.k} "
            f"rows, the smallest {check.k_reached}"
        )
    for name, n in check.n_not_diverse.items():
        if n:
            raise _broken(
                f"{counted(n, 'class')} of rows that are published alike would fall short of "
                f"l = {request.l} ({request.diversity}) in the column {name!r}"
            )
    for name, n in check.n_not_close.items():
        if n:
            raise _broken(
                f"{counted(n, 'class')} of rows that are published alike would be farther than "
                f"t = {request.t:g} from the table in the column {name!r}"
            )
    if not check:  # whatever else the count may find
        raise _broken("an independent count of its rows found a promise that it does not keep")
    return check


def _broken(why: str) -> BrokenPromise:
    return BrokenPromise(
        f"The table was not written: {why}. This is a mistake of the method and not of your data; "
        "try another seed, and please report it."
    )


def check_suppressed(n_suppressed: int, n_rows: int, share: float) -> None:
    """Raise if more rows were left out than may be."""
    if n_suppressed > share * n_rows + 1e-9:
        raise _broken(
            f"{counted(n_suppressed, 'row')} of {n_rows:,} would be left out, more than a share of "
            f"{share:g}"
        )


def put_together(columns: Columns, published: Any, kept: Array) -> pa.Table:
    """Join generalized quasi-identifiers with the other columns of the rows that are published.

    Rows are ordered by what is published of them, so that their order tells nothing else; all
    values are copied, since categories of Arrow carry those of rows that are left out.
    """
    import pyarrow as pa

    texts = _published_texts(columns, published, int(kept.sum()))
    rows = np.flatnonzero(kept)
    beside = columns.beside.take(pa.array(rows))
    for name in beside.column_names:
        texts[name] = column_texts(beside.column(name))
    by_role = [*columns.quasi.column_names, *beside.column_names]
    order = np.argsort(row_codes([texts[name] for name in by_role]), kind="stable")
    made: dict[str, Any] = {}
    for name in columns.order:
        if name in columns.quasi.column_names:
            made[name] = pa.array([texts[name][row] for row in order], pa.string())
        else:
            values = beside.column(name).take(pa.array(order)).to_pylist()
            kind = beside.column(name).type
            made[name] = pa.array(values, kind.value_type if pa.types.is_dictionary(kind) else kind)
    return pa.table(made)


def _published_texts(columns: Columns, published: Any, n_rows: int) -> dict[str, list[str]]:
    names = list(columns.quasi.column_names)
    if list(published.column_names) != names or published.num_rows != n_rows:
        raise _broken("the generalized columns are not those of the rows that are published")
    texts = {name: published.column(name).to_pylist() for name in names}
    if any(not isinstance(text, str) for values in texts.values() for text in values):
        raise _broken("a generalized value is missing")
    return texts


def fill_published(
    path: Path, table: pa.Table, request: AnonymizeRequest, *, spreadsheet_safe: bool
) -> None:
    """Write a table beside its place, read it again, and raise unless it is as promised."""
    _fill(path, table, spreadsheet_safe=spreadsheet_safe)
    kind = table_format(path)
    spelled = harmless if spreadsheet_safe and kind != "parquet" else str
    found = list(column_names(path) if kind == "csv" else read_raw(path, keep_types=True).names)
    expected = [spelled(name) for name in table.column_names]
    if found != expected:
        raise _broken(f"it has the columns {listed(found)} instead of {listed(expected)}")
    check_promise(path, request, table.num_rows, spelled)


def _fill(path: Path, table: pa.Table, *, spreadsheet_safe: bool) -> None:
    kind = table_format(path)
    if kind in ("parquet", "excel"):
        typed = {name: _typed(table.column(name)) for name in table.column_names}
        try:
            write_columns(typed, path, spreadsheet_safe=spreadsheet_safe)
        except SidelightError:  # the message would show a value of a row
            raise SidelightError(
                f"The table was not written: {path.suffix} files cannot hold it; write it as .csv "
                "or .parquet."
            ) from None
        return
    columns = {
        name: np.array(_as_printed(table.column(name)), dtype=object) for name in table.column_names
    }
    write_columns(columns, path, spreadsheet_safe=spreadsheet_safe)


def _as_printed(column: pa.ChunkedArray) -> Sequence[str]:
    """Values as text; texts with all of their blanks."""
    if is_text(column):
        return [value or "" for value in column.to_pylist()]
    return column_texts(column)


def _typed(column: pa.ChunkedArray) -> Any:
    """A column for a file that knows types: texts of plain numbers are numbers."""
    import pyarrow as pa

    values = column.to_pylist()
    if not is_text(column) or not any(values):
        return pa.array(values, column.type)
    for kind in (int, float):
        try:
            numbers = [None if not value else kind(value) for value in values]
            array = pa.array(numbers)
        except (ValueError, OverflowError):
            continue
        if all(n is None or str(n) == v for n, v in zip(numbers, values, strict=True)):
            return array
    return pa.array(values, pa.string())
