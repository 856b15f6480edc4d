"""Columns read by Arrow, and the files that are Arrow's own: Parquet and Feather."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sidelight._words import worded
from sidelight.exceptions import SidelightError
from sidelight.io._columns import (
    UNKNOWN_LABELS,
    first_not_a_number,
    is_number,
    is_text,
    number_column,
    quoted,
    repeated_ids,
    row_name,
)
from sidelight.io._id_column import sounds_like_ids

if TYPE_CHECKING:
    import pyarrow as pa

    from sidelight.io.values._numbers import Numbers


@dataclass
class ArrowRaw:
    """Columns read by Arrow."""

    table: pa.Table
    own_label: None = None
    zero_based: None = None
    has_names: bool = True
    as_written: frozenset[str] = frozenset()
    """Columns of which numbers were left as text, since they may be ids such as 007."""
    notes: tuple[str, ...] = ()
    """What was decided while reading, as sentences for the user."""

    @cached_property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.table.column_names)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.table.num_rows)

    def column(self, name: str) -> pa.ChunkedArray:
        """One column."""
        return self.table.column(name)

    def matrix(
        self, features: Sequence[str], ids: npt.NDArray[Any] | None, path: Path
    ) -> npt.NDArray[Any]:
        """The feature columns side by side; float32 only if all of them are."""
        values = {name: number_column(self._numbers(name)) for name in features}
        text = [name for name in features if values[name] is None]
        if text:
            self._raise_text(text, ids, path)
        dtype = np.result_type(*(column.dtype for column in values.values() if column is not None))
        X = np.empty((self.table.num_rows, len(features)), dtype=dtype)
        for position, name in enumerate(features):
            X[:, position] = values.pop(name)
        return X

    def _numbers(self, name: str) -> pa.ChunkedArray:
        column = self.table.column(name)
        return numbers_or_text(column) if name in self.as_written else column

    def _raise_text(self, names: list[str], ids: npt.NDArray[Any] | None, path: Path) -> None:
        self._raise_repeated(names, path)
        position, value = _first_bad(self.table.column(names[0]))
        example = f"{names[0]!r} is {value!r} in {row_name(ids, position)}"
        which = f"Column {names[0]!r}" if len(names) == 1 else f"Columns {quoted(names)}"
        verb = "does" if len(names) == 1 else "do"
        raise SidelightError(
            f"{which} of {path} {verb} not hold numbers ({example}); leave out what is not a "
            f"feature (--drop {','.join(names[:5])}, or name the features with --columns), or have "
            "the columns prepared: "
            + worded(
                "sidelight.preparation.TablePreparer, or prepare=True of a request.",
                "no --raw, and a method that does not read them as they are.",
            )
        )

    def _raise_repeated(self, names: list[str], path: Path) -> None:
        """Name what occurs twice in a column of text that else would name the rows."""
        for name in names:
            says_so = sounds_like_ids(name)
            if says_so or name == self.names[0]:
                twice = repeated_ids(self.table.column(name), 1 if says_so else 1 / 3)
                if twice:
                    raise SidelightError(
                        f"Column {name!r} of {path} looks like ids, but names rows twice: {twice}; "
                        "make the ids different, say which other column holds them (--id-column), "
                        f"or leave it out: --drop {name}."
                    )


def _first_bad(column: pa.ChunkedArray) -> tuple[int, str]:
    """Position and text of the first value that is not a number as the others are."""
    from sidelight.io.values._numbers import read_numbers

    read = read_numbers(column) if is_text(column) else None
    if read is None or not len(read.bad):
        return first_not_a_number(column)
    position = int(read.bad[0])
    return position, column[position].as_py()


def numbers_or_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts as numbers, if all that are not missing are plain numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return column.cast(pa.float64())  # most columns, and much the fastest
    except pa.ArrowInvalid:
        text = pc.utf8_trim_whitespace(column)
        missing = pc.is_in(text, value_set=pa.array(UNKNOWN_LABELS))
    try:
        return pc.if_else(missing, None, text).cast(pa.float64())
    except pa.ArrowInvalid:
        return column


def with_numbers(table: pa.Table, found: Mapping[str, Numbers]) -> pa.Table:
    """A table with numbers in place of texts, for columns in which all values are readable.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    found : dict of str to Numbers
        What columns of texts spell.
    """
    import pyarrow as pa

    for name, read in found.items():
        if not len(read.bad):
            numbers = pa.chunked_array([pa.array(read.values, from_pandas=True)])
            table = table.set_column(table.column_names.index(name), name, numbers)
    return table


def notes_on_numbers(found: Mapping[str, Numbers]) -> list[str]:
    """Notes on how texts were read as numbers."""
    ways: dict[str, list[str]] = {}
    for name, read in found.items():
        if not len(read.bad) and read.convention != "plain":
            how = f"{read.convention} ({read.note})" if read.note else read.convention
            ways.setdefault(how, []).append(name)
    return [f"Read as numbers, written with {how}: {quoted(names)}." for how, names in ways.items()]


def read_parquet(path: Path) -> ArrowRaw:
    """Read a Parquet file."""
    import pyarrow.parquet as pq

    return _read(path, pq.read_table, "Parquet")


def read_feather(path: Path) -> ArrowRaw:
    """Read a Feather file, which is what Arrow calls its own format."""
    return _read(path, _read_ipc, "Feather")


def _read_ipc(path: Path) -> pa.Table:
    import pyarrow as pa
    import pyarrow.feather as feather

    try:
        return feather.read_table(path)
    except pa.ArrowInvalid:  # the other of Arrow's two ways to write a file
        with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as reader:
            return reader.read_all()


def _read(path: Path, read: Any, name: str) -> ArrowRaw:
    import pyarrow as pa

    try:
        table = read(path)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the disk, not of the file
            raise
        raise SidelightError(f"{path} is not a readable {name} file, or damaged.") from error
    if table.num_rows == 0:
        raise SidelightError(f"{path} has no rows.")
    check_header(list(table.column_names), path)
    return ArrowRaw(with_plain_types(table))


def with_plain_types(table: pa.Table) -> pa.Table:
    """The table with texts and categories as most functions take them.

    Polars hands over views of texts, and categories that are counted by unsigned numbers.
    """
    plain = plain_schema(table.schema)
    return table if plain.types == table.schema.types else table.cast(plain)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with the types of texts and categories that most functions take."""
    import pyarrow as pa

    return pa.schema([field.with_type(_plain_type(field.type)) for field in schema])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        counted = pa.int32() if pa.types.is_unsigned_integer(kind.index_type) else kind.index_type
        return pa.dictionary(counted, _plain_type(kind.value_type), kind.ordered)
    if str(kind) == "string_view":  # by its name, which older versions do not know
        return pa.large_string()
    return pa.large_binary() if str(kind) == "binary_view" else kind


def check_header(names: list[str], path: Path) -> None:
    """Check that each column has a name of its own."""
    if not names:
        raise SidelightError(f"{path} has no header line with the names of its columns.")
    whole = all(name.lstrip("-").isdigit() for name in names)
    counted = [str(i) for i in range(len(names))], [str(i + 1) for i in range(len(names))]
    fractions = [n for n in names if is_number(n) and any(mark in n for mark in ".eE")]
    if fractions or (whole and names not in counted):
        raise SidelightError(
            f"The first line of {path} looks like data ({quoted(names, limit=3)}); add a line with "
            "the names of the columns above it."
        )
    repeated = sorted(name for name, n in Counter(names).items() if n > 1)
    if repeated:
        raise SidelightError(
            f"{path} has several columns called {quoted(repeated)}; give them different names."
        )
    if "" in names[1:]:
        raise SidelightError(f"Column {names.index('', 1) + 1} of {path} has no name; give it one.")
