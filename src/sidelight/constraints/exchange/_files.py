"""Reading and writing constraints in the long format as CSV, JSON and Parquet."""

from __future__ import annotations

import csv
import itertools
import json
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sidelight._typing import Array
from sidelight.constraints.algebra._plain import as_words, plain
from sidelight.constraints.exchange._tables import (
    Trouble,
    from_columns,
    named_rows,
    table_columns,
    to_columns,
    to_table,
)
from sidelight.exceptions import (
    ConstraintFileError,
    InconsistentConstraints,
    SidelightError,
    UnknownIds,
)
from sidelight.io.inner import (
    Layout,
    atomic_write,
    check_readable,
    encoding_of,
    harmless,
    is_tsv,
    layout_of,
    open_text,
)

COLUMNS = ("i", "j", "kind", "weight")


def read_file(blank: Any, path: str | os.PathLike[str]) -> Any:
    """Constraints about the rows of ``blank`` from a file."""
    columns, trouble = read_columns(Path(path))
    try:
        return from_columns(blank, columns, trouble)
    except InconsistentConstraints as error:
        raise InconsistentConstraints(
            f"{path}: {error}", pair=error.pair, chain=error.chain
        ) from error


def rows_named_in(path: str | os.PathLike[str]) -> set[str]:
    """Names of rows in a file of constraints, as text."""
    return named_rows(read_columns(Path(path))[0])


def read_columns(path: Path) -> tuple[dict[str, Array], Trouble]:
    """Read the columns of a file of statements, and what reports a problem in one of its lines."""
    readers = {"csv": read_csv, "json": _read_json, "parquet": read_parquet}
    read = readers[file_format(path)]
    try:
        file = check_readable(path)
    except SidelightError as error:
        raise ConstraintFileError(str(error), path=path) from error
    return read(file)


def write_file(known: Any, path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> None:
    """Write all statements to a file, completely or not at all."""
    writers: dict[str, Callable[[Any, Path], None]] = {
        "csv": partial(_write_csv, spreadsheet_safe=spreadsheet_safe),
        "json": _write_json,
        "parquet": _write_parquet,
    }
    write = writers[file_format(Path(path))]
    with atomic_write(path) as temporary:
        write(known, temporary)


def file_format(path: Path) -> str:
    """Format of a file by its ending: csv, json or parquet."""
    name = path.name.lower()
    for ending in (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".json", ".parquet"):
        if name.endswith(ending):
            return ending.split(".")[1].replace("tsv", "csv")
    raise ConstraintFileError(
        f"{path}: constraints are kept in .csv, .csv.gz, .tsv, .json or .parquet files; "
        "give the file one of these endings.",
        path=path,
    )


def file_trouble(path: Path, place: Callable[[int], tuple[str, int | None]]) -> Trouble:
    """Maker of errors about a file; ``place`` gives the place of a record as words and a line."""

    def trouble(record: int | None, problem: str, ids: Sequence[Any] = ()) -> SidelightError:
        words, line = ("", None) if record is None else place(record)
        message = f"{path}{words}: {problem}"
        if ids:
            return UnknownIds(message, ids=ids)
        return ConstraintFileError(message, path=path, line=line)

    return trouble


def read_csv(path: Path) -> tuple[dict[str, Array], Trouble]:
    """Columns of a text file as words, and a maker of errors about its lines."""

    def place(record: int) -> tuple[str, int | None]:
        line = line_of(path, layout, record)
        return f", line {line}", line

    trouble = file_trouble(path, place)
    layout = text_layout(path)
    records: list[list[str]] = []
    try:
        with open_text(path, encoding=layout.encoding) as file:
            lines = itertools.islice(file, layout.start, None)
            reader = csv.reader(lines, delimiter=layout.delimiter, strict=True)
            records = [record for record in reader if record]
    except csv.Error as error:
        line = layout.start + reader.line_num
        raise ConstraintFileError(
            f"{path}, line {line}: this cannot be read as CSV; a quotation mark is not closed, or "
            "stands where it should not.",
            path=path,
            line=line,
        ) from error
    except UnicodeDecodeError as error:
        raise trouble(None, "this is not text in one encoding; save the file as UTF-8.") from error
    header, body = (records[0], records[1:]) if records else ([], [])
    width = len(header)
    if set(map(len, body)) - {width}:
        bad = next(place for place, record in enumerate(body) if len(record) != width)
        raise trouble(bad, f"{len(body[bad])} fields where the header has {width}.")
    columns = list(zip(*body, strict=True)) if body else [()] * width
    return {
        name: as_words(list(column)) for name, column in zip(header, columns, strict=True)
    }, trouble


def text_layout(path: Path) -> Layout:
    """Encoding of a file and what is between its values, as for tables."""
    encoding = _encoding(path)
    try:
        return layout_of(path, encoding)
    except SidelightError as error:
        raise ConstraintFileError(str(error), path=path) from error


def _encoding(path: Path) -> str:
    """Encoding of a file, as for tables."""
    try:
        return encoding_of(path)
    except SidelightError as error:
        raise ConstraintFileError(str(error), path=path) from error


def line_of(path: Path, layout: Layout, record: int) -> int:
    """Line on which a record of a CSV file starts; the header is not a record."""
    with open_text(path, encoding=layout.encoding) as file:
        lines = itertools.islice(file, layout.start, None)
        reader = csv.reader(lines, delimiter=layout.delimiter)
        seen, start = -1, 1
        for fields in reader:
            if fields:
                if seen == record:
                    break
                seen += 1
            start = reader.line_num + 1
    return layout.start + start


def _read_json(path: Path) -> tuple[dict[str, Array], Trouble]:
    entries, trouble = read_entries(path, ("i", "j", "kind"))
    names = dict.fromkeys([*COLUMNS, *(name for entry in entries for name in entry)])
    return {name: plain([entry.get(name) for entry in entries]) for name in names}, trouble


def read_entries(path: Path, needed: Sequence[str] = ()) -> tuple[list[dict[str, Any]], Trouble]:
    """Read a list of objects that all have the needed names, and a maker of errors about them."""
    trouble = file_trouble(path, lambda record: (f", entry {record + 1}", None))
    words = f"with {', '.join(needed[:-1])} and {needed[-1]}" if needed else "with named values"
    try:
        entries = json.loads(path.read_text(encoding=_encoding(path)))
    except json.JSONDecodeError as error:
        raise ConstraintFileError(
            f"{path}, line {error.lineno}: this is not JSON ({error.msg}).",
            path=path,
            line=error.lineno,
        ) from error
    except RecursionError as error:
        raise trouble(None, "this is nested too deeply; a list of objects is needed.") from error
    except UnicodeDecodeError as error:
        raise trouble(None, "this is not text in one encoding; save the file as UTF-8.") from error
    if not isinstance(entries, list):
        raise trouble(None, f"a list of objects {words} is needed.")
    for record, entry in enumerate(entries):
        if not isinstance(entry, dict) or not entry.keys() >= set(needed):
            raise trouble(record, f"this is not an object {words}.")
    return entries, trouble


def read_parquet(path: Path) -> tuple[dict[str, Array], Trouble]:
    """Columns of a Parquet file, and a maker of errors about its rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    trouble = file_trouble(path, lambda record: (f", row {record}", None))
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise trouble(None, "this is not a Parquet file that can be read.") from error
    return table_columns(table), trouble


def _write_csv(known: Any, path: Path, *, spreadsheet_safe: bool) -> None:
    columns = to_columns(known)
    i, j = (
        [*map(harmless, names)] if spreadsheet_safe else names for names in (columns.i, columns.j)
    )
    weights = map(_weight_text, columns.weight)
    # A lone carriage return ends a line for readers, but the writer does not quote it by itself.
    returns = any("\r" in str(word) for words in (i, j) for word in words)
    with open_text(path, "w") as file:
        # The dialect "unix" quotes everything.
        style = csv.unix_dialect if returns else csv.excel
        between = "\t" if is_tsv(path) else ","
        writer = csv.writer(file, style, delimiter=between, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(zip(i, j, columns.kind, weights, strict=True))


def _weight_text(weight: float | None) -> str:
    if weight is None:
        return ""
    return str(int(weight)) if weight.is_integer() else repr(weight)


def _write_json(known: Any, path: Path) -> None:
    """Write one entry per line, so that people and version control can read the file."""
    entries = (
        json.dumps(
            {name: value for name, value in zip(COLUMNS, entry, strict=True) if value is not None},
            ensure_ascii=False,
        )
        for entry in zip(*to_columns(known), strict=True)
    )
    with path.open("w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(entries) + "\n]\n")


def _write_parquet(known: Any, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(to_table(known), path)
