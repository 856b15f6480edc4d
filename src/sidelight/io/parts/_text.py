"""Text tables, read as a stream: what a column holds is decided by the beginning of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sidelight.exceptions import SidelightError
from sidelight.io._columns import first_line
from sidelight.io.formats._csv import CsvReader, has_codes
from sidelight.io.formats._text import encoding_of, layout_of
from sidelight.io.parts._part import Part

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.csv as pacsv

#: How Arrow says in which column a value is not what the beginning of the file promised.
CONVERSION = re.compile(r"In CSV column #(\d+):.*?invalid value '(.*)'")


class CsvPart(Part):
    """A CSV or TSV file, by the rules of :func:`sidelight.io.read_table` as far as a stream can.

    Encoding, delimiter and decimal mark are found as there. Types are those of the first block (a
    megabyte of text): a text further down a column of numbers is an error, and numbers with a
    separator of thousands stay texts.

    Parameters
    ----------
    path : Path
        The file.
    keep_types : bool
        Whether dates and codes such as 007 are kept as they are.
    """

    is_text = True

    def __init__(self, path: Path, *, keep_types: bool = False) -> None:
        import pyarrow as pa

        self.path, self.name = path, str(path)
        encoding = encoding_of(path) if path.stat().st_size < 2**24 else None
        self._reader = CsvReader(path, layout_of(path, encoding), (), keep_types)
        self._reader.check_header()
        try:
            self._types = self._reader.types()
            self._decimal = "."
            head = next(self._open(dict.fromkeys(self._types, pa.string())), None)
        except (pa.ArrowException, OSError) as error:
            raise self._explained(error) from error
        if head is None or not head.num_rows:
            self.chunks = ()
        else:
            self._decide(head)
        names, keys = self._reader.names, self._reader.keys
        self.schema = pa.schema(
            [(name, self._types[key]) for name, key in zip(names, keys, strict=False)]
        )

    def _decide(self, head: pa.RecordBatch) -> None:
        """Decide on codes, and on texts that are numbers with a decimal comma."""
        import pyarrow as pa

        for place, key in enumerate(self._reader.keys[self._reader.n_named :]):
            if any(text and text.strip() for text in head.column(key).to_pylist()):
                raise SidelightError(
                    f"Column {self._reader.n_named + place + 1} of {self.name} has no name; give "
                    "it one."
                )
        for key, kind in self._types.items():
            if pa.types.is_integer(kind):  # may turn out as fractions further down
                codes = has_codes(head.column(key))
                self._types[key] = pa.string() if codes else pa.float64()
        spelled = self._reader.decimal_commas(pa.table(head), self._types)
        if spelled:
            self._decimal = ","
            self._types |= dict.fromkeys(spelled, pa.float64())

    def _open(
        self, types: dict[str, pa.DataType], only: list[str] | None = None
    ) -> pacsv.CSVStreamingReader:
        import pyarrow.csv as pacsv

        return pacsv.open_csv(
            self.path,
            read_options=self._reader.read_options(),
            parse_options=self._reader.parse_options(),
            convert_options=pacsv.ConvertOptions(
                column_types=types, include_columns=only, decimal_point=self._decimal
            ),
        )

    def _read(
        self, names: list[str], rows: int, chunks: Sequence[int] | None
    ) -> Iterator[pa.RecordBatch]:
        keys = [self._reader.keys[self._reader.names.index(name)] for name in names]
        with self._open(self._types, keys) as reader:
            for batch in reader:
                yield batch.rename_columns(names)

    def _explained(self, error: Exception) -> Exception:
        found = CONVERSION.search(str(error))
        if found is None:
            return super()._explained(error)
        place, value = int(found.group(1)), found.group(2)
        names = self._reader.header
        column = repr(names[place]) if place < len(names) else str(place)
        return SidelightError(
            f"Column {column} of {self.name} begins with other values than {value!r} further down "
            f"({first_line(error)}). A file that is read in blocks needs one kind of value in a "
            "column: correct it, or write the table as Parquet."
        )
