"""CSV files as people have them, read by Arrow.

The text of numbers and ids matters: Arrow guesses what a column holds from its first block, and
what is guessed wrong is read again as it is written.
"""

from __future__ import annotations

import itertools
import mmap
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sidelight._words import counted
from sidelight.exceptions import SidelightError
from sidelight.io._columns import first_line, is_number
from sidelight.io._id_column import sounds_like_ids
from sidelight.io.formats._arrow import (
    ArrowRaw,
    check_header,
    notes_on_numbers,
    numbers_or_text,
    with_numbers,
)
from sidelight.io.formats._text import (
    Layout,
    NotUtf8,
    csv_records,
    encoding_of,
    layout_of,
    not_gzip,
    not_one_encoding,
    open_text,
    text_lines,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from sidelight.io.values._numbers import Numbers

#: Tables of this many columns are wide: what these hold is not guessed from whole blocks.
WIDE = 1000
#: Lines of wide tables that are read at a time, and bytes that a field is assumed to take.
BLOCK_LINES, FIELD_BYTES = 64, 10
MAX_BLOCK = 1 << 30  # Arrow counts the bytes of a block in 32 bits
#: Rows from which a decimal comma is recognized.
HEAD_ROWS = 2000
#: What is not a row although it is not empty: blanks, and the mark by which DOS ended files.
NO_ROW = re.compile(r"[\s\x1a]*")
CODE = re.compile(r"0[0-9]+")


def read_csv(path: Path, *, text_columns: Sequence[str] = (), keep_types: bool = False) -> ArrowRaw:
    """Read a CSV file.

    Parameters
    ----------
    path : Path
        The file.
    text_columns : sequence of str
        Columns (of ids and labels) to keep as they are written.
    keep_types : bool, default=False
        Whether to keep dates, times and texts, and codes such as 007, as they are. By default
        texts that spell numbers become numbers, and dates stay texts.

    Returns
    -------
    ArrowRaw
        The columns: float64, bool, text, and with ``keep_types`` dates and times.
    """
    try:
        return CsvReader(path, layout_of(path), text_columns, keep_types).read()
    except NotUtf8:
        layout = layout_of(path, encoding_of(path))
        return CsvReader(path, layout, text_columns, keep_types).read()


@dataclass
class CsvReader:
    """One reading of a file, in which columns are known by their places ``0``, ``1`` ..."""

    path: Path
    layout: Layout
    text_columns: Sequence[str]
    keep_types: bool
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.header = [name.strip() for name in self.layout.header]
        self.n_named = len(self.header)
        while self.n_named > 1 and not self.header[self.n_named - 1]:
            self.n_named -= 1
        self.names = self.header[: self.n_named]
        self.keys = [str(place) for place in range(len(self.header))]
        kept = {*self.text_columns, ""}
        self.kept = {
            key
            for key, name in zip(self.keys, self.header, strict=True)
            if name in kept or sounds_like_ids(name)
        }
        if self.layout.note:
            self.notes.append(self.layout.note)

    def read(self) -> ArrowRaw:
        """Read the file."""
        self.check_header()
        table = self._table()
        if table.num_rows == 0:
            raise SidelightError(f"{self.path} has a header line but no rows.")
        table = self._without_unnamed(table)
        table = self._with_numbers(table)
        as_written = frozenset(self.header[int(key)] for key in self.kept)
        return ArrowRaw(
            table.rename_columns(self.names), as_written=as_written, notes=tuple(self.notes)
        )

    def check_header(self) -> None:
        """Check that each column has a name of its own."""
        check_header(self.names, self.path)

    # --- reading by Arrow -------------------------------------------------------------------------

    def _table(self) -> pa.Table:
        import pyarrow as pa

        types: dict[str, Any] = {}
        try:
            types = self.types()
            return self._with_codes(self._read_as(types), types)
        except pa.ArrowInvalid as error:
            self._raise_other_encoding(error)
            return self._read_as_text(types, error)
        except UnicodeDecodeError as error:
            raise not_one_encoding(self.path) from error
        except OSError as error:
            if self.path.suffix.lower() != ".gz" or error.errno is not None:
                raise
            raise not_gzip(self.path) from error

    def types(self) -> dict[str, Any]:
        """Types of the columns: by the first block, or in a wide table by the first value."""
        import pyarrow as pa
        import pyarrow.csv as pacsv

        if len(self.keys) >= WIDE:
            return self._types_of_first_values()
        with pacsv.open_csv(
            self.path, read_options=self.read_options(), parse_options=self.parse_options()
        ) as reader:
            guessed = dict(zip(self.keys, reader.schema.types, strict=True))
        if any(pa.types.is_binary(kind) for kind in guessed.values()):
            raise not_one_encoding(self.path)
        return {
            key: pa.string() if key in self.kept else self._plain_type(kind)
            for key, kind in guessed.items()
        }

    def _plain_type(self, kind: pa.DataType) -> pa.DataType:
        """Type to read a column as: Arrow guesses from the first block, where 1 may precede 1.5."""
        import pyarrow as pa

        if pa.types.is_boolean(kind) or (self.keep_types and pa.types.is_temporal(kind)):
            return kind
        if self.keep_types and pa.types.is_integer(kind):
            return pa.int64()  # read as text at first, since 007 would become 7
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)
        return pa.float64() if number else pa.string()

    def _types_of_first_values(self) -> dict[str, Any]:
        """Types of the columns of a wide table, by their first values that are not missing.

        Arrow takes far longer to guess what a column holds than to read a few rows of it. Columns
        in which other values follow are read as text at first.
        """
        import pyarrow as pa
        import pyarrow.csv as pacsv

        options = pacsv.ConvertOptions()
        missing = set(options.null_values)
        words = {*options.true_values, *options.false_values} - {"0", "1"}
        types = {key: pa.string() if key in self.kept else pa.float64() for key in self.keys}
        unseen = [place for place, key in enumerate(self.keys) if key not in self.kept]
        for _, values in itertools.islice(self._records(), 1, BLOCK_LINES):
            seen = {place: values[place] for place in unseen if place < len(values)}
            for place, value in seen.items():
                if value in words:
                    types[self.keys[place]] = pa.bool_()
                elif value not in missing and self._is_text(value):
                    types[self.keys[place]] = pa.string()
            unseen = [place for place in unseen if seen.get(place, "") in missing]
            if not unseen:
                break
        return types

    def _is_text(self, value: str) -> bool:
        return not is_number(value) or (self.keep_types and CODE.fullmatch(value) is not None)

    def _records(self) -> Any:
        """Records from the header on, each with the number of its last line."""
        start = self.layout.start
        with open_text(self.path, encoding=self.layout.encoding) as file:
            lines = itertools.islice(text_lines(file, self.path), start, None)
            yield from csv_records(lines, self.path, self.layout.delimiter, start=start)

    def _read_as(self, types: dict[str, Any], only: Sequence[str] | None = None) -> pa.Table:
        import pyarrow as pa
        import pyarrow.csv as pacsv

        written = {key: pa.string() if kind == pa.int64() else kind for key, kind in types.items()}
        return pacsv.read_csv(
            self.path,
            read_options=self.read_options(),
            parse_options=self.parse_options(),
            convert_options=pacsv.ConvertOptions(column_types=written, include_columns=only),
        )

    def read_options(self) -> Any:
        import pyarrow.csv as pacsv

        block = None
        if len(self.keys) >= WIDE:  # a line must fit into a block, also that of the names
            names = 5 * sum(map(len, self.layout.header))  # a character has four bytes at most
            block = min(MAX_BLOCK, max(BLOCK_LINES * FIELD_BYTES * len(self.keys), names))
        encoding = self.layout.encoding
        return pacsv.ReadOptions(
            block_size=block,
            encoding="utf8" if encoding.startswith("utf-8") else encoding,  # Arrow's own is quick
            column_names=self.keys,
            skip_rows=self.layout.end,
        )

    def parse_options(self) -> Any:
        import pyarrow.csv as pacsv

        return pacsv.ParseOptions(
            delimiter=self.layout.delimiter,
            newlines_in_values=self._has_quotes,
            invalid_row_handler=_skip_blank,
        )

    @cached_property
    def _has_quotes(self) -> bool:
        """Whether values below the header are in quotation marks, so that lines may end in them.

        To look for one takes far less time than Arrow saves when there is none.
        """
        if self.path.suffix.lower() == ".gz" or self.layout.encoding == "utf-16":
            return True
        with (
            self.path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            start = 0
            for _ in range(self.layout.end):  # the header is often quoted where nothing else is
                start = content.find(b"\n", start) + 1
            return content.find(b'"', start) >= 0

    # --- what does not fit ------------------------------------------------------------------------

    def _raise_other_encoding(self, error: Exception) -> None:
        """Raise a readable error if a file turns out not to be UTF-8 after its first lines."""
        if self.layout.encoding == "utf-8" and encoding_of(self.path) != "utf-8":
            raise not_one_encoding(self.path) from error

    def _raise_ragged_line(self) -> None:
        """Name the first line that has more or fewer values than the header has names."""
        expected = len(self.header)
        for number, values in self._records():
            text = self.layout.delimiter.join(values)
            if len(values) != expected and not NO_ROW.fullmatch(text):
                shown = text if len(text) <= 60 else f"{text[:57]}..."
                raise SidelightError(
                    f"Line {number} of {self.path} has {len(values)} values where the header "
                    f"names {expected} columns: {shown}"
                )

    def _read_as_text(self, types: dict[str, Any], error: Exception) -> pa.Table:
        """Read all as text, and then each column as what it holds, so that nothing is lost.

        A text among numbers is left to the caller to name.
        """
        import pyarrow as pa

        self._raise_ragged_line()
        try:
            table = self._read_as({key: pa.string() for key in self.keys})
        except pa.ArrowInvalid as again:
            raise SidelightError(f"{self.path} cannot be read as CSV: {first_line(again)}.") from (
                error
            )
        columns = [
            column if key in self.kept else self._converted(column, types.get(key))
            for key, column in zip(self.keys, table.columns, strict=True)
        ]
        return pa.table(columns, names=self.keys)

    def _converted(self, column: pa.ChunkedArray, kind: pa.DataType | None) -> pa.ChunkedArray:
        """Texts as what they were guessed to be, if they all are."""
        import pyarrow as pa

        if kind is None or pa.types.is_integer(kind) or pa.types.is_floating(kind):
            return self._numbers_or_codes(column)
        if pa.types.is_string(kind):
            return column
        try:
            return _without_missing(column).cast(kind)
        except pa.ArrowInvalid:
            return column

    def _numbers_or_codes(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Texts as numbers, unless they are not, or one begins with 0 as codes do."""
        return column if self.keep_types and has_codes(column) else numbers_or_text(column)

    def _with_codes(self, table: pa.Table, types: dict[str, Any]) -> pa.Table:
        """Whole numbers that were read as text turned into numbers, if they are no codes."""
        import pyarrow as pa

        for place, key in enumerate(self.keys if self.keep_types else ()):
            if types[key] == pa.int64():
                column = table.column(place)
                numbers = self._numbers_or_codes(column)
                if pa.types.is_string(numbers.type):  # codes, or words that Arrow takes for missing
                    numbers = self._numbers_or_codes(_without_missing(column))
                if pa.types.is_floating(numbers.type):
                    table = table.set_column(place, key, numbers)
        return table

    # --- what was decided -------------------------------------------------------------------------

    def _without_unnamed(self, table: pa.Table) -> pa.Table:
        """Leave out empty columns without a name: lines that end in a delimiter have one."""
        unnamed = self.keys[self.n_named :]
        for key in unnamed:
            values = table.column(key).unique().to_pylist()
            if any(value is not None and str(value).strip() for value in values):
                raise SidelightError(
                    f"Column {int(key) + 1} of {self.path} has no name; give it one."
                )
        if not unnamed:
            return table
        self.notes.append(
            f"Left out {counted(len(unnamed), 'empty column')} without a name at the end."
        )
        return table.select(self.keys[: self.n_named])

    def _with_numbers(self, table: pa.Table) -> pa.Table:
        """Turn texts that spell numbers into numbers.

        Where types are kept, only those for which other columns have to decide the decimal mark.
        """
        import pyarrow as pa

        from sidelight.io.values._numbers import decimal_mark, read_number_columns

        texts = {
            key: table.column(place)
            for place, (key, kind) in enumerate(zip(self.keys, table.schema.types, strict=False))
            if kind == pa.string() and key not in self.kept
        }
        if not texts or (self.keep_types and self.layout.delimiter == ","):
            return table
        n_rows = HEAD_ROWS if self.keep_types else table.num_rows
        # Where commas are between values, one in quotation marks may be anything.
        alike = self.layout.delimiter != ","
        found = read_number_columns({k: c.slice(0, n_rows) for k, c in texts.items()}, alike=alike)
        decimal = decimal_mark(found) if alike else None
        if self.keep_types:
            found = _left_open(texts, found, decimal)
        if decimal == ",":
            found |= self._with_points(table)
        self.notes += notes_on_numbers({self.names[int(key)]: r for key, r in found.items()})
        return with_numbers(table, found)

    def decimal_commas(self, head: pa.Table, types: Mapping[str, pa.DataType]) -> list[str]:
        """Return the columns of texts that are numbers with a decimal comma, by the first rows."""
        import pyarrow as pa

        from sidelight.io.values._numbers import decimal_mark, read_number_columns

        if self.layout.delimiter == ",":
            return []
        texts = {
            key: head.column(key).slice(0, HEAD_ROWS)
            for key, kind in types.items()
            if kind == pa.string() and key not in self.kept
        }
        found = read_number_columns(texts)
        if decimal_mark(found) != ",":
            return []
        plain = ("plain", "decimal comma")
        return [
            key for key, read in found.items() if not len(read.bad) and read.convention in plain
        ]

    def _with_points(self, table: pa.Table) -> dict[str, Numbers]:
        """Numbers of a file with decimal commas whose points separate thousands.

        Arrow took 1.234 for a fraction, as it should in another file.
        """
        import pyarrow as pa

        from sidelight.io.values._numbers import read_numbers

        floats = [field.name for field in table.schema if pa.types.is_floating(field.type)]
        if not floats:
            return {}
        written = self._read_as({key: pa.string() for key in self.keys}, only=floats)
        read = {key: read_numbers(written.column(key), decimal=",") for key in floats}
        return {
            key: numbers
            for key, numbers in read.items()
            if numbers is not None and "thousands point" in numbers.convention
        }


def _left_open(
    texts: dict[str, pa.ChunkedArray], head: dict[str, Numbers], decimal: str | None
) -> dict[str, Numbers]:
    """Columns that leave their decimal mark open, read by that of others; ``head`` is a sample."""
    from sidelight.io.values._numbers import read_numbers

    found = {}
    for key, few in head.items():
        if decimal is not None and few.decimal is None and few.note:
            read = read_numbers(texts[key], decimal=decimal)
            if read is not None and read.decimal is None:
                found[key] = read
    return found


def _skip_blank(row: Any) -> str:
    """Handler for a line with too few or too many values, as Arrow calls it."""
    return "skip" if NO_ROW.fullmatch(row.text) else "error"


def _without_missing(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts, of which those that Arrow takes for missing in numbers are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pacsv

    words = pa.array(pacsv.ConvertOptions().null_values, type=column.type)
    missing = pc.is_in(column, value_set=words)
    return pc.if_else(missing, None, column) if pc.any(missing).as_py() else column


def has_codes(column: pa.ChunkedArray) -> bool:
    """Whether a text of digits begins with 0, as codes do and numbers do not."""
    import pyarrow.compute as pc

    begins = column.filter(pc.starts_with(column, "0"))
    return bool(pc.any(pc.match_substring_regex(begins, "^0[0-9]+$")).as_py())
