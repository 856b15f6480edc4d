"""The file formats: which one a file has, and how it is read into columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy.typing as npt
from scipy import sparse

from sidelight.exceptions import SidelightError
from sidelight.io.formats._arrays import ArrayRaw, read_libsvm, read_npy
from sidelight.io.formats._arrow import ArrowRaw, read_feather, read_parquet
from sidelight.io.formats._csv import read_csv
from sidelight.io.formats._excel import read_excel
from sidelight.io.formats._text import layout_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "SUFFIXES",
    "ArrayRaw",
    "ArrowRaw",
    "Raw",
    "column_names",
    "read_csv",
    "read_excel",
    "read_feather",
    "read_libsvm",
    "read_npy",
    "read_parquet",
    "read_raw",
    "table_format",
]

Format = Literal["csv", "parquet", "feather", "excel", "npy", "libsvm"]

SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".ipc": "feather",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".npy": "npy",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
}
#: Files of spreadsheets that are not read, and whose they are.
OTHER_SPREADSHEETS = {
    ".xls": "an old Excel file",
    ".xlsb": "a binary Excel file",
    ".ods": "an OpenDocument spreadsheet",
    ".numbers": "a Numbers spreadsheet",
}


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

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on decisions while reading, as sentences for the user."""

    def column(self, name: str) -> pa.ChunkedArray:
        """One column, of any type."""

    def matrix(
        self, features: Sequence[str], ids: npt.NDArray[Any] | None, path: Path
    ) -> npt.NDArray[Any] | sparse.csr_matrix:
        """The feature columns as numbers."""


def table_format(path: Path) -> Format:
    """Format of a file by its suffix."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        suffix = Path(path.stem).suffix.lower()
        if suffix not in (".csv", ".tsv"):
            suffix = ".gz"
    if suffix in OTHER_SPREADSHEETS:
        raise SidelightError(
            f"{path} is {OTHER_SPREADSHEETS[suffix]}, which cannot be read; open it in a "
            "spreadsheet program and save it as .xlsx or .csv."
        )
    if suffix not in SUFFIXES:
        raise SidelightError(
            f"Cannot tell what {path} is by its suffix {path.suffix!r}; known are .csv, .csv.gz, "
            ".tsv, .xlsx, .xlsm, .parquet, .feather, .arrow, .ipc, .npy, .libsvm, .svm and "
            ".svmlight."
        )
    return SUFFIXES[suffix]


def read_raw(
    path: Path,
    *,
    text_columns: Sequence[str] = (),
    keep_types: bool = False,
    zero_based: bool | None = None,
) -> Raw:
    """Read a table, whatever its format.

    Parameters
    ----------
    path : Path
        The file.
    text_columns : sequence of str
        Columns (of ids and labels) that a text file keeps as they are written.
    keep_types : bool, default=False
        Whether dates, texts and codes are kept as they are, instead of turning texts that spell
        numbers into numbers.
    zero_based : bool, optional
        For a libsvm file, whether its first feature has the number 0; found out by default.
    """
    kind = table_format(path)
    if kind == "csv":
        return read_csv(path, text_columns=text_columns, keep_types=keep_types)
    if kind == "excel":
        return read_excel(path, text_columns=text_columns, keep_types=keep_types)
    if kind == "libsvm":
        return read_libsvm(path, zero_based=zero_based)
    if kind == "npy":
        return read_npy(path)
    return read_parquet(path) if kind == "parquet" else read_feather(path)


def column_names(path: Path) -> list[str]:
    """Names of the columns of a table; of a text file only the header is read (not for libsvm)."""
    kind = table_format(path)
    if kind == "csv":
        names = [name.strip() for name in layout_of(path).header]
        while len(names) > 1 and not names[-1]:  # of an empty column at the end
            names.pop()
        return names
    return read_raw(path).names
