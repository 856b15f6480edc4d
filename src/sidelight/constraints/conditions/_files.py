"""Conditions in files: a line for every condition and row."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight.constraints.algebra._canonical import RowIndex
from sidelight.constraints.algebra._plain import text_of
from sidelight.constraints.exchange._files import file_trouble, line_of, read_entries, text_layout
from sidelight.constraints.exchange._tables import Trouble
from sidelight.constraints.relations._files import write_json, write_text
from sidelight.exceptions import ConstraintFileError, SidelightError
from sidelight.io.inner import atomic_write, check_readable, harmless, read_raw, table_format

COLUMNS = ("condition", "at_least", "row")
#: Stands for all rows.
ALL = "*"
#: Between the numbers of several clusters.
MARK = ";"


def read_file(
    path: str | os.PathLike[str], n_rows: int, index: RowIndex | None
) -> tuple[tuple[str, ...], list[Array], tuple[Any, ...]]:
    """Names, masks and least numbers of the conditions in a file."""
    try:
        file = check_readable(path)
        columns, trouble = _read(file)
    except ConstraintFileError:
        raise
    except SidelightError as error:
        named = str(error) if str(path) in str(error) else f"{path}: {error}"
        raise ConstraintFileError(named, path=Path(path)) from error
    missing = [name for name in COLUMNS if name not in columns]
    if missing:
        raise trouble(None, f"there is no column {missing[0]!r}; conditions have {COLUMNS}.")
    rows = _positions(columns["row"], n_rows, index, trouble)
    names = list(dict.fromkeys(columns["condition"]))
    masks = {name: np.zeros(n_rows, dtype=bool) for name in names}
    least: dict[str, Any] = {}
    for record, (name, text) in enumerate(
        zip(columns["condition"], columns["at_least"], strict=True)
    ):
        if least.setdefault(name, text) != text:
            raise trouble(record, f"{name!r} is to hold {least[name]} and {text} at least.")
    number = {name: _least(text, name, trouble) for name, text in least.items()}
    of_all = np.array([text == ALL for text in columns["row"]], dtype=bool)
    codes = np.array([names.index(name) for name in columns["condition"]], dtype=np.int64)
    for j, name in enumerate(names):
        own = codes == j
        masks[name][rows[own & ~of_all]] = True
        if np.any(own & of_all):
            masks[name][:] = True
    return tuple(names), [masks[name] for name in names], tuple(number[name] for name in names)


def _read(path: Path) -> tuple[dict[str, list[str]], Trouble]:
    """The columns as text, and a maker of errors about the lines."""
    if path.suffix.lower() == ".json":
        entries, trouble = read_entries(path, COLUMNS)
        return {name: [_text(e[name]) for e in entries] for name in COLUMNS}, trouble
    kind = table_format(path)
    if kind in ("npy", "libsvm"):
        raise ConstraintFileError(
            f"{path}: conditions are kept in .csv, .csv.gz, .tsv, .json, .parquet, .feather or "
            ".xlsx files with named columns.",
            path=path,
        )
    raw = read_raw(path, text_columns=COLUMNS)
    columns = {
        name: [_text(v) for v in raw.column(name).to_pylist()]
        for name in COLUMNS
        if name in raw.names
    }

    def place(record: int) -> tuple[str, int | None]:
        if kind != "csv":
            return f", row {record}", None
        line = line_of(path, text_layout(path), record)
        return f", line {line}", line

    return columns, file_trouble(path, place)


def _text(value: Any) -> str:
    return "" if value is None else text_of(value)


def _least(text: str, name: str, trouble: Trouble) -> Any:
    try:
        numbers = [int(part) for part in text.split(MARK)]
    except ValueError:
        numbers = [-1]
    if min(numbers) < 0:
        raise trouble(
            None,
            f"{name!r}: at_least is {text!r}, which is no whole number of rows, nor one per "
            f"cluster with {MARK!r} between them.",
        )
    if len(numbers) == 1:
        return numbers[0]
    least = np.array(numbers, dtype=np.int64)
    least.flags.writeable = False
    return least


def _positions(texts: list[str], n_rows: int, index: RowIndex | None, trouble: Trouble) -> Array:
    """Positions of the rows that lines name; 0 for all rows."""
    if index is None:
        places = {str(row): row for row in range(n_rows)}
    else:
        places = {}
        for row, value in enumerate(index.ids.tolist()):
            places[text_of(value)] = row
            places.setdefault(harmless(text_of(value)), row)
    out = np.zeros(len(texts), dtype=np.int64)
    for record, name in enumerate(texts):
        if name == ALL:
            continue
        if name not in places:
            what = f"among the {n_rows} rows" + ("" if index is None else " by their ids")
            raise trouble(record, f"{name!r} does not occur {what}.", [name])
        out[record] = places[name]
    return out


def write_file(conditions: Any, path: str | os.PathLike[str], *, spreadsheet_safe: bool) -> None:
    """Write conditions to a file, completely or not at all."""
    target = Path(path)
    is_json = target.suffix.lower() == ".json"
    if not is_json and table_format(target) not in ("csv", "parquet"):
        raise ConstraintFileError(
            f"{target}: conditions are written as .csv, .csv.gz, .tsv, .json or .parquet.",
            path=target,
        )
    change = spreadsheet_safe and table_format(target) == "csv" if not is_json else False
    table = _to_table(conditions, change)
    with atomic_write(path) as temporary:
        if is_json:
            write_json(table, temporary)
        elif table_format(target) == "parquet":
            import pyarrow.parquet as pq

            pq.write_table(table, temporary)
        else:
            write_text(table, temporary)


def _to_table(conditions: Any, change: bool) -> Any:
    import pyarrow as pa

    names: list[str] = []
    least: list[str] = []
    rows: list[str] = []
    ids = range(conditions.n_samples) if conditions.ids is None else conditions.ids.tolist()
    texts = [text_of(one) for one in ids]
    if ALL in texts:
        raise SidelightError(f"The id {ALL!r} stands for all rows in a file; rename it.")
    shown = [harmless(text) for text in texts] if change else texts
    for name, m, mask in zip(conditions.names, conditions.least, conditions.members.T, strict=True):
        own = [ALL] if mask.all() else [shown[row] for row in np.flatnonzero(mask)]
        if not own:
            raise SidelightError(
                f"No row counts for {name!r}: a file of rows cannot hold this condition."
            )
        names += [name] * len(own)
        least += [str(m) if np.ndim(m) == 0 else MARK.join(map(str, m))] * len(own)
        rows += own
    return pa.table({"condition": names, "at_least": least, "row": rows})
