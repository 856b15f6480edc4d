"""Excel workbooks, read and written through openpyxl (extra ``[excel]``)."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sidelight._words import counted
from sidelight.exceptions import SidelightError
from sidelight.io._columns import is_text, quoted
from sidelight.io._id_column import sounds_like_ids
from sidelight.io.formats._arrow import ArrowRaw, check_header, notes_on_numbers, with_numbers

if TYPE_CHECKING:
    import pyarrow as pa

#: Size of a sheet, and of a text in a cell.
MAX_ROWS, MAX_COLUMNS, MAX_TEXT = 1_048_576, 16_384, 32_767
#: Whole numbers above this are not exact in a cell, which holds a float64.
MAX_EXACT = 2**53
#: What a cell says whose formula went wrong.
ERRORS = frozenset(
    ["#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!"]
)


def read_excel(
    path: Path, *, text_columns: Sequence[str] = (), keep_types: bool = False
) -> ArrowRaw:
    """Read the first sheet of a workbook that has something in it.

    Its first row that is not empty names the columns. Numbers, dates, times of day and yes/no stay
    what they are; a column in which they are mixed is text.

    Parameters
    ----------
    path : Path
        The file, ``.xlsx`` or ``.xlsm``.
    text_columns : sequence of str
        Columns (of ids and labels) in which texts stay texts.
    keep_types : bool, default=False
        Whether all texts stay texts. By default those that spell numbers become numbers, but for
        the first column, which may name the rows.
    """
    import pyarrow as pa

    sheet = _read_sheet(path)
    check_header(sheet.names, path)
    if not any(sheet.columns):
        raise SidelightError(f"{path} has a header line but no rows.")
    _raise_uncomputed(sheet, path)
    table = pa.table([_column(values) for values in sheet.columns], names=sheet.names)
    raw = ArrowRaw(table, notes=tuple(_notes(sheet)))
    return raw if keep_types else _with_numbers(raw, {*text_columns, sheet.names[0]})


@dataclass(frozen=True)
class Sheet:
    """Cells of a sheet.

    Attributes
    ----------
    title : str
        Name of the sheet.
    others : list of str
        Names of the other sheets that have something in them.
    names : list of str
        Names of the columns.
    columns : list of list
        Values of each column, None where a cell is empty.
    n_blank : int
        Number of empty rows between others, which are left out.
    """

    title: str
    others: list[str]
    names: list[str]
    columns: list[list[Any]]
    n_blank: int


def _read_sheet(path: Path, *, formulas: bool = False) -> Sheet:
    with _workbook(path, formulas=formulas) as book:
        sheets = sorted(book.worksheets, key=lambda sheet: sheet.sheet_state != "visible")
        filled = [sheet for sheet in sheets if next(_filled_rows(sheet), None) is not None]
        if not filled:
            raise SidelightError(f"{path} is empty: none of its sheets has something in it.")
        rows = list(_filled_rows(filled[0]))
        title, others = filled[0].title, [sheet.title for sheet in filled[1:]]
    n_blank = rows[-1][0] - rows[0][0] + 1 - len(rows)
    cells = [row for _, row in rows]
    width = max(map(len, cells))
    columns = [
        [row[place] if place < len(row) else None for row in cells] for place in range(width)
    ]
    columns = [column for column in columns if any(value is not None for value in column)]
    names = [_text(column[0]).strip() if column[0] is not None else "" for column in columns]
    return Sheet(title, others, names, [column[1:] for column in columns], n_blank)


def _filled_rows(sheet: Any) -> Iterator[tuple[int, list[Any]]]:
    """Rows that are not empty, with their numbers."""
    sheet.reset_dimensions()  # the size stored in the file is often wrong
    for number, row in enumerate(sheet.iter_rows(values_only=True)):
        values = [_value(cell) for cell in row]
        if any(value is not None for value in values):
            yield number, values


def _value(cell: Any) -> Any:
    """Value of a cell; errors of formulas and blanks are None."""
    return None if isinstance(cell, str) and (not cell.strip() or cell in ERRORS) else cell


@contextlib.contextmanager
def _workbook(path: Path, *, formulas: bool) -> Iterator[Any]:
    """Open a workbook, and turn whatever goes wrong while it is read into a sentence."""
    openpyxl = _openpyxl(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about colors, validation and other things of no use
            book = openpyxl.load_workbook(path, read_only=True, data_only=not formulas)
            with contextlib.closing(book):
                yield book
    except SidelightError:
        raise
    except Exception as error:  # a zip file of XML goes wrong in many ways
        if isinstance(error, OSError) and error.errno is not None:  # of the disk, not of the file
            raise
        raise SidelightError(
            f"{path} is not a readable Excel file: it is damaged, or protected by a password."
        ) from error


def _openpyxl(path: Path) -> Any:
    try:
        import openpyxl
    except ImportError as error:
        raise SidelightError(
            f"{path} is an Excel file, for which openpyxl is needed: pip install "
            f'"sidelight[excel]", or save it as .csv.'
        ) from error
    return openpyxl


def _raise_uncomputed(sheet: Sheet, path: Path) -> None:
    """Find columns of formulas that no spreadsheet has computed: they look empty."""
    empty = {
        name
        for name, values in zip(sheet.names, sheet.columns, strict=True)
        if all(value is None for value in values)
    }
    if not empty:
        return
    written = _read_sheet(path, formulas=True)
    for name, values in zip(written.names, written.columns, strict=True):
        if name in empty and any(str(value).startswith("=") for value in values):
            raise SidelightError(
                f"Column {name!r} of {path} holds formulas that were never computed; open the file "
                "in a spreadsheet and save it."
            )


def _column(values: list[Any]) -> pa.Array:
    """Cells as a column of one type; of several types, as text."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pa.array(values, type=pa.bool_())
    if kinds <= {int, float}:  # also an empty column
        numbers = [value if value is None else float(value) for value in values]
        return pa.array(numbers, type=pa.float64())
    if kinds <= {dt.datetime, dt.date}:
        return _date_column(values)
    if kinds == {dt.time}:
        return pa.array(values, type=pa.time64("us"))
    if kinds == {dt.timedelta}:
        return pa.array(values, type=pa.duration("us"))
    return pa.array([value if value is None else _text(value) for value in values], pa.string())


def _date_column(values: list[Any]) -> pa.Array:
    """Dates, with a time of day if one has it."""
    import pyarrow as pa

    moments = [
        value if value is None or isinstance(value, dt.datetime) else _at_midnight(value)
        for value in values
    ]
    dates = pa.array(moments, type=pa.timestamp("us"))
    midnight = all(moment is None or moment.time() == dt.time() for moment in moments)
    return dates.cast(pa.date32()) if midnight else dates


def _at_midnight(day: dt.date) -> dt.datetime:
    return dt.datetime(day.year, day.month, day.day)


def _text(value: Any) -> str:
    """A cell as text, as the spreadsheet shows it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, dt.datetime):
        return value.isoformat(" ") if value.time() != dt.time() else value.date().isoformat()
    return str(value)


def _with_numbers(raw: ArrowRaw, kept: set[str]) -> ArrowRaw:
    """Texts that spell numbers turned into numbers."""
    from sidelight.io.values._numbers import read_number_columns

    texts = {
        name: raw.column(name)
        for name in raw.names
        if name not in kept and not sounds_like_ids(name) and is_text(raw.column(name))
    }
    found = read_number_columns(texts)
    notes = (*raw.notes, *notes_on_numbers(found))
    return ArrowRaw(with_numbers(raw.table, found), notes=notes)


def _notes(sheet: Sheet) -> Iterator[str]:
    if sheet.others:
        yield f"Read the sheet {sheet.title!r}, and not {quoted(sheet.others, limit=3)}."
    if sheet.n_blank:
        yield f"Left out {counted(sheet.n_blank, 'empty row')} between the others."


# --- writing ------------------------------------------------------------------------------------


def check_excel_output(path: Path) -> None:
    """Complain, before any work, about a workbook that cannot be written."""
    if path.suffix.lower() != ".xlsx":
        raise SidelightError(f"Excel files are written as .xlsx, not as {path}.")
    _openpyxl(path)


def write_excel(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns as a workbook of one sheet, their names in its first row.

    Texts stay texts, also those that look like numbers or formulas. Missing values and NaN are
    empty cells; what a cell cannot hold exactly (infinite and very large numbers) is text.
    """
    check_excel_output(path)
    n_rows = max(map(len, columns.values()), default=0)
    if n_rows >= MAX_ROWS or len(columns) > MAX_COLUMNS:
        raise SidelightError(
            f"{n_rows} rows and {len(columns)} columns do not fit into the sheet of an Excel file; "
            f"write {path.name} as .csv or .parquet."
        )
    book = _openpyxl(path).Workbook(write_only=True)
    sheet = book.create_sheet("Sheet1")
    lines = itertools.chain([columns], zip(*columns.values(), strict=True))
    # All cells are made before the first is written: a sheet that is left half written complains.
    rows = [[_cell(sheet, value, path) for value in row] for row in lines]
    for row in rows:
        sheet.append(row)
    book.save(path)


def _cell(sheet: Any, value: Any, path: Path) -> Any:
    """Make the cell of a value."""
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils.exceptions import IllegalCharacterError

    if value is None or value == "" or value != value:
        return None
    if isinstance(value, int) and abs(value) > MAX_EXACT:
        value = str(value)
    if isinstance(value, float) and math.isinf(value):
        value = str(value)
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise SidelightError(
            f"{value[:20]!r}... has {len(value)} letters, a cell of an Excel file at most "
            f"{MAX_TEXT}; write {path.name} as .csv or .parquet."
        )
    try:
        cell = WriteOnlyCell(sheet, value)
    except IllegalCharacterError:
        raise SidelightError(
            f"{value!r} has characters that an Excel file cannot hold; write {path.name} as .csv "
            "or .parquet."
        ) from None
    if isinstance(value, str):
        cell.data_type = "s"  # openpyxl takes "=1+1" for a formula and "#N/A" for an error
    return cell
