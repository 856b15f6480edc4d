"""The file formats, each read into names, columns and numbers."""

from __future__ import annotations

import csv
import gzip
import itertools
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight.exceptions import SidelightError
from sidelight.io._columns import (
    UNKNOWN_LABELS,
    first_not_a_number,
    is_number,
    number_column,
    quoted,
    repeated_ids,
    row_name,
)
from sidelight.io._id_column import sounds_like_ids

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".npy": "npy",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
}
MAX_FEATURES = 1 << 24  # each has a name, also where it occurs in no row
MAX_FIELD = csv.field_size_limit()
OWN_LABEL = "label"  # what the value in front of a libsvm line is called


class Raw(Protocol):
    """A file that has been read but whose columns have no roles yet."""

    @property
    def names(self) -> list[str]:
        """Names of the columns."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def own_label(self) -> str | None:
        """Name of a column that is a label by the format itself."""

    @property
    def has_names(self) -> bool:
        """Whether the file names its columns."""

    @property
    def zero_based(self) -> bool | None:
        """For libsvm, whether features count from 0."""

    def column(self, name: str) -> pa.ChunkedArray:
        """One column, of any type."""

    def matrix(
        self, features: Sequence[str], ids: npt.NDArray[Any] | None, path: Path
    ) -> npt.NDArray[Any] | sparse.csr_matrix:
        """The feature columns as numbers."""


def table_format(path: Path) -> Literal["csv", "parquet", "npy", "libsvm"]:
    """Tell the format by the suffix."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        suffix = Path(path.stem).suffix.lower()
        if suffix not in (".csv", ".tsv"):
            suffix = ".gz"
    if suffix not in SUFFIXES:
        raise SidelightError(
            f"Cannot tell what {path} is by its suffix {path.suffix!r}; known are .csv, .csv.gz, "
            f".tsv, .parquet, .npy, .libsvm, .svm and .svmlight."
        )
    return SUFFIXES[suffix]  # type: ignore[return-value]


def column_names(path: Path) -> list[str]:
    """Names of the columns of a table, without reading it all (not for libsvm)."""
    kind = table_format(path)
    if kind == "csv":
        return [name.strip() for name in _read_header(path)[0]]
    return read_parquet(path).names if kind == "parquet" else read_npy(path).names


#: Tables of so many columns are wide: what these hold is not guessed from whole blocks.
WIDE = 1000
#: Wide tables are read so many lines at a time, if a field takes so many bytes.
BLOCK_LINES, FIELD_BYTES = 64, 10
MAX_BLOCK = 1 << 30  # Arrow counts the bytes of a block in 32 bits

# --- CSV and Parquet, through Arrow -------------------------------------------------------------


@dataclass
class ArrowRaw:
    """Columns read by Arrow."""

    table: pa.Table
    own_label: None = None
    zero_based: None = None
    has_names: bool = True
    as_written: frozenset[str] = frozenset()
    """Columns of which numbers were left as text, since they may be ids such as 007."""

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
        return _numbers_or_text(column) if name in self.as_written else column

    def _raise_text(self, names: list[str], ids: npt.NDArray[Any] | None, path: Path) -> None:
        self._raise_repeated(names, path)
        position, value = first_not_a_number(self.table.column(names[0]))
        example = f"{names[0]!r} is {value!r} in {row_name(ids, position)}"
        which = f"Column {names[0]!r}" if len(names) == 1 else f"Columns {quoted(names)}"
        verb = "does" if len(names) == 1 else "do"
        raise SidelightError(
            f"{which} of {path} {verb} not hold numbers ({example}); leave out what is not a "
            f"feature (--drop {','.join(names[:5])}, or name the features with --columns), or turn "
            "categories into one 0/1 column each."
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


def read_parquet(path: Path) -> ArrowRaw:
    """Read a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the disk, not of the file
            raise
        raise SidelightError(f"{path} is not a readable Parquet file, or damaged.") from error
    if table.num_rows == 0:
        raise SidelightError(f"{path} has no rows.")
    _check_header(list(table.column_names), path)
    return ArrowRaw(table)


def read_csv(path: Path, *, text_columns: Sequence[str] = ()) -> ArrowRaw:
    """Read a CSV file; ``text_columns`` (ids and labels) are kept as they are written."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    header, delimiter = _read_header(path)
    names = [name.strip() for name in header]
    _check_header(names, path)
    kept = {name for name in header if name.strip() in text_columns or not name.strip()}
    kept |= {name for name in header if sounds_like_ids(name)}
    parse = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    try:
        table = _read_wide(path, parse, header, kept)
        if table is None:
            with pacsv.open_csv(path, parse_options=parse) as reader:
                guessed = dict(zip(header, reader.schema.types, strict=True))
            types = {
                name: pa.string() if name in kept else _plain_type(kind)
                for name, kind in guessed.items()
            }
            table = _read_as(path, parse, types)
    except pa.ArrowInvalid as error:
        table = _read_as_text(path, parse, header, kept, error)
    except OSError as error:
        if path.suffix.lower() != ".gz" or error.errno is not None:
            raise
        raise _not_gzip(path) from error
    if table.num_rows == 0:
        raise SidelightError(f"{path} has a header line but no rows.")
    as_written = frozenset(name.strip() for name in kept)
    return ArrowRaw(table.rename_columns(names), as_written=as_written)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """What a column is read as: Arrow guesses from the first block, where 1 may precede 1.5."""
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return kind
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)
    return pa.float64() if number else pa.string()


def _read_wide(path: Path, parse: Any, header: list[str], kept: set[str]) -> pa.Table | None:
    """A table of very many columns, or None if it has fewer.

    Arrow takes far longer to guess what a column holds than to read a few rows of it: so the first
    value that is there tells. Columns in which other values follow are read as text at first.
    """
    if len(header) < WIDE:
        return None
    return _read_as(path, parse, _types_of_first_values(path, parse, header, kept))


def _types_of_first_values(
    path: Path, parse: Any, header: list[str], kept: set[str]
) -> dict[str, Any]:
    """What the columns hold, by the first of their values that is not missing."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    options = pacsv.ConvertOptions()
    missing = set(options.null_values)
    words = {*options.true_values, *options.false_values} - {"0", "1"}
    types = {name: pa.string() if name in kept else pa.float64() for name in header}
    unseen = [place for place, name in enumerate(header) if name not in kept]
    with open_text(path) as file:
        records = csv_records(text_lines(file, path), path, parse.delimiter)
        for _, values in itertools.islice(records, 1, BLOCK_LINES):
            seen = {place: values[place] for place in unseen if place < len(values)}
            for place, value in seen.items():
                if value in words:
                    types[header[place]] = pa.bool_()
                elif value not in missing and not is_number(value):
                    types[header[place]] = pa.string()
            unseen = [place for place in unseen if seen.get(place, "") in missing]
            if not unseen:
                break
    return types


def _read_as(path: Path, parse: Any, types: dict[str, Any]) -> pa.Table:
    import pyarrow.csv as pacsv

    block = None
    if len(types) >= WIDE:  # a line, also that of the names, must fit into a block
        names = 5 * sum(map(len, types))  # a character has four bytes at most
        block = min(MAX_BLOCK, max(BLOCK_LINES * FIELD_BYTES * len(types), names))
    return pacsv.read_csv(
        path,
        read_options=pacsv.ReadOptions(block_size=block),
        parse_options=parse,
        convert_options=pacsv.ConvertOptions(column_types=types),
    )


def _read_as_text(
    path: Path, parse: Any, header: list[str], kept: set[str], error: Exception
) -> pa.Table:
    """Find out why a file could not be read; a text among numbers is left to the caller to name."""
    import pyarrow as pa

    _raise_ragged_line(path, len(header), parse.delimiter)
    try:
        table = _read_as(path, parse, {name: pa.string() for name in header})
    except pa.ArrowInvalid as again:
        raise SidelightError(f"{path} cannot be read as CSV: {_plain(again)}.") from error
    columns = [table.column(name) for name in header]
    return pa.table(
        [
            column if name in kept else _numbers_or_text(column)
            for name, column in zip(header, columns, strict=True)
        ],
        names=header,
    )


def _numbers_or_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
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


def _read_header(path: Path) -> tuple[list[str], str]:
    """Column names, and the character between them."""
    with open_text(path) as file:
        line = next(text_lines(file, path), "")
    delimiter = delimiter_of(line, path)
    records = csv_records([line.rstrip("\r\n")], path, delimiter)
    return next((values for _, values in records), []), delimiter


def is_tsv(path: Path) -> bool:
    """Whether the name of a file says that tabs are between the values."""
    return path.name.lower().removesuffix(".gz").endswith(".tsv")


def delimiter_of(line: str, path: Path) -> str:
    """Tell what is between the values: comma, or tab or semicolon in a first line without commas.

    Tables, constraints and pairs are all read by this rule. What is in quotation marks is part of a
    value.
    """
    if is_tsv(path):
        return "\t"
    outside = re.sub(r'"[^"]*"', "", line)
    return next((mark for mark in (",", "\t", ";") if mark in outside), ",")


def _check_header(names: list[str], path: Path) -> None:
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


def _raise_ragged_line(path: Path, expected: int, delimiter: str) -> None:
    """Name the first line that has more or fewer values than the header has names."""
    with open_text(path) as file:
        for number, values in csv_records(text_lines(file, path), path, delimiter):
            if values and len(values) != expected:
                text = delimiter.join(values)
                shown = text if len(text) <= 60 else f"{text[:57]}..."
                raise SidelightError(
                    f"Line {number} of {path} has {len(values)} values where the header "
                    f"names {expected} columns: {shown}"
                )


def open_text(path: Path, mode: Literal["r", "w"] = "r") -> IO[str]:
    """Open a text file, compressed if its name says so; a byte order mark is skipped."""
    encoding = "utf-8-sig" if mode == "r" else "utf-8"
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt" if mode == "r" else "wt", encoding=encoding, newline="")
    return path.open(mode, encoding=encoding, newline="")


def text_lines(file: IO[str], path: Path) -> Iterator[str]:
    """Lines of a file, with a clear error if they are not text."""
    try:
        yield from file
    except UnicodeDecodeError as error:
        raise SidelightError(f"{path} is not UTF-8 text; save it in UTF-8.") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise _not_gzip(path) from error


def _not_gzip(path: Path) -> SidelightError:
    return SidelightError(f"{path} is not a complete gzip file.")


def csv_records(
    lines: Iterable[str], path: Path, delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """Records of a CSV file, each with the number of the line on which it ends."""
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for values in reader:
            yield reader.line_num, values
    except csv.Error as error:
        raise SidelightError(
            f"Line {reader.line_num} of {path} cannot be read: one of its values has more than "
            f"{MAX_FIELD:,} characters; perhaps a quotation mark is not closed."
        ) from error


def _plain(error: Exception) -> str:
    return str(error).split("\n")[0].rstrip(".")


# --- NumPy and libsvm -----------------------------------------------------------------------------


@dataclass
class ArrayRaw:
    """A matrix whose columns are called ``x0``, ``x1`` ..., and for libsvm the labels in front."""

    values: Any  # ndarray or csr_matrix
    labels: npt.NDArray[Any] | None = None
    zero_based: bool | None = None
    has_names: bool = False

    @property
    def own_label(self) -> str | None:
        """Name of the labels, where there are any."""
        return None if self.labels is None else OWN_LABEL

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        features = [f"x{i}" for i in range(self.values.shape[1])]
        return features if self.labels is None else [*features, OWN_LABEL]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.values.shape[0])

    def column(self, name: str) -> pa.ChunkedArray:
        """One column."""
        import pyarrow as pa

        if name == self.own_label:
            return pa.chunked_array([self.labels])
        column = self.values[:, int(name[1:])]
        if sparse.issparse(column):
            column = column.toarray().ravel()
        return pa.chunked_array([_native(column)])

    def matrix(
        self, features: Sequence[str], ids: npt.NDArray[Any] | None, path: Path
    ) -> npt.NDArray[Any] | sparse.csr_matrix:
        """The feature columns; without a copy when they are all of the columns."""
        positions = [int(name[1:]) for name in features]
        X = self.values
        if positions != list(range(X.shape[1])):
            X = X[:, positions]
        if X.dtype not in (np.float32, np.float64):
            X = _native(X).astype(np.float32 if X.dtype == np.float16 else np.float64, copy=False)
        return X


def _native(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers in the order of bytes and the width that Arrow knows."""
    kind = np.dtype(np.float64) if values.dtype.itemsize > 8 else values.dtype.newbyteorder("=")
    with np.errstate(over="ignore"):  # what is infinite then is found later, with its place
        return np.ascontiguousarray(values, dtype=kind)


def read_npy(path: Path) -> ArrayRaw:
    """Map a NumPy file into memory."""
    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # its header is Python text, and goes wrong in as many ways
        raise _not_npy(path) from error
    if not isinstance(values, np.ndarray):  # a zip file of several arrays
        values.close()
        raise _not_npy(path)
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise SidelightError(
            f"{path} must hold a table of numbers (rows, columns), but holds shape {values.shape} "
            f"of {values.dtype}."
        )
    if 0 in values.shape:
        raise SidelightError(f"{path} has no rows or no columns: its shape is {values.shape}.")
    return ArrayRaw(values)


def _not_npy(path: Path) -> SidelightError:
    return SidelightError(f"{path} is not a NumPy .npy file of numbers, or it is damaged.")


def read_libsvm(path: Path, *, zero_based: bool | None = None) -> ArrayRaw:
    """Read a libsvm file as a sparse matrix; features count from 1 unless feature 0 occurs."""
    from sklearn.datasets import load_svmlight_file

    try:
        X, labels = load_svmlight_file(str(path), zero_based=True)
    except OverflowError as error:
        raise _too_many_features(path) from error
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        _raise_bad_libsvm_line(path)
        raise SidelightError(f"{path} cannot be read as libsvm: {_plain(error)}.") from error
    if 0 in X.shape:
        raise SidelightError(f"{path} has no rows or no features.")
    if X.shape[1] > MAX_FEATURES:
        raise _too_many_features(path)
    has_zero = bool(len(X.indices)) and int(X.indices.min()) == 0
    if zero_based is None:
        zero_based = has_zero
    elif has_zero and not zero_based:
        raise SidelightError(f"{path} counts its features from 0, but from 1 was expected.")
    return ArrayRaw(X if zero_based else X[:, 1:], labels=labels, zero_based=zero_based)


def _too_many_features(path: Path) -> SidelightError:
    return SidelightError(
        f"{path} names a feature beyond number {MAX_FEATURES:,}, and so many cannot be told apart "
        "here; number them from 1, without gaps."
    )


def _raise_bad_libsvm_line(path: Path) -> None:
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            fields = line.split("#")[0].split()
            for position, field in enumerate(fields):
                index, colon, value = field.partition(":")
                good = is_number(field) if position == 0 else bool(colon) and is_number(value)
                if not good or (position > 0 and not index.isdigit() and index != "qid"):
                    raise SidelightError(
                        f"Line {number} of {path} is not libsvm: {field!r} should be "
                        + ("a number." if position == 0 else "number:value.")
                    )
