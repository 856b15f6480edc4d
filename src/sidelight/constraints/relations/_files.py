"""Reading and writing tables of scored pairs and of members of hyper-edges."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from sidelight.constraints.exchange._files import (
    file_trouble,
    line_of,
    read_entries,
    text_layout,
)
from sidelight.constraints.exchange._tables import Trouble
from sidelight.constraints.relations._tables import (
    Related,
    TableOptions,
    chosen,
    id_columns_in,
    relations_of_columns,
    to_table,
)
from sidelight.exceptions import ConstraintFileError, SidelightError, UnknownIds
from sidelight.io.inner import (
    atomic_write,
    check_readable,
    column_names,
    harmless,
    is_tsv,
    read_raw,
    table_format,
)


def read_file(path: str | os.PathLike[str], options: TableOptions) -> Related:
    """Edges or hyper-edges from a file."""
    file = Path(path)
    try:
        file = check_readable(path)
        columns, trouble, spelled = _read(file)
        return relations_of_columns(columns, options._replace(spelled=spelled), trouble)
    except (ConstraintFileError, UnknownIds):
        raise
    except SidelightError as error:
        named = str(error) if str(file) in str(error) else f"{file}: {error}"
        raise ConstraintFileError(named, path=file) from error


def _read(path: Path) -> tuple[dict[str, Any], Trouble, bool]:
    """Columns, a maker of errors about the rows, and whether all was text."""
    if path.suffix.lower() == ".json":
        return _read_json(path)
    kind = table_format(path)
    if kind in ("npy", "libsvm"):
        raise ConstraintFileError(
            f"{path}: relations are kept in .csv, .csv.gz, .tsv, .json, .parquet, .feather or "
            ".xlsx files with named columns.",
            path=path,
        )
    # Ids stay as they are written: 007 is not 7.
    raw = read_raw(path, text_columns=id_columns_in(column_names(path)))
    columns = {name: raw.column(name) for name in raw.names}
    if kind != "csv":
        return columns, file_trouble(path, lambda row: (f", row {row}", None)), kind == "excel"

    def place(record: int) -> tuple[str, int | None]:
        line = line_of(path, text_layout(path), record)
        return f", line {line}", line

    return columns, file_trouble(path, place), True


def _read_json(path: Path) -> tuple[dict[str, Any], Trouble, bool]:
    entries, trouble = read_entries(path)
    if not entries:
        raise trouble(None, "there are no entries.")
    names = dict.fromkeys(name for entry in entries for name in entry)
    return {name: [entry.get(name) for entry in entries] for name in names}, trouble, False


def write_file(
    relations: Any, path: str | os.PathLike[str], *, what: str | None, spreadsheet_safe: bool
) -> None:
    """Write edges or hyper-edges to a file, completely or not at all."""
    target = Path(path)
    is_json = target.suffix.lower() == ".json"
    if not is_json and table_format(target) not in ("csv", "parquet"):
        raise ConstraintFileError(
            f"{target}: relations are written as .csv, .csv.gz, .tsv, .json or .parquet.",
            path=target,
        )
    chosen(relations, what)
    with atomic_write(path) as temporary:
        if is_json:
            write_json(to_table(relations, what), temporary)
        elif table_format(target) == "parquet":
            import pyarrow.parquet as pq

            pq.write_table(to_table(relations, what), temporary)
        else:
            change = harmless if spreadsheet_safe else None
            write_text(to_table(relations, what, change), temporary)


def write_json(table: Any, path: Path) -> None:
    """Write one entry per line, so that people and version control can read the file."""
    names = table.column_names
    rows = zip(*(table.column(name).to_pylist() for name in names), strict=True)
    entries = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows)
    with path.open("w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(entries) + "\n]\n")


def write_text(table: Any, path: Path) -> None:
    """Write CSV or TSV, compressed by the ending .gz, with plain names in the first line."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    header = ("\t" if is_tsv(path) else ",").join(table.column_names)
    options = pacsv.WriteOptions(include_header=False, delimiter="\t" if is_tsv(path) else ",")
    compression = "gzip" if path.suffix.lower() == ".gz" else None
    with pa.output_stream(str(path), compression=compression) as file:
        file.write(f"{header}\n".encode())  # Arrow would put the names in quotation marks
        pacsv.write_csv(table, file, options)
