"""Which files a path, a folder, a pattern or a list of these stands for."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeGuard

from sidelight.exceptions import SidelightError
from sidelight.io.formats._formats import SUFFIXES, table_format

#: Formats that are read in blocks.
IN_BLOCKS = ("parquet", "feather", "csv", "npy")
READ_IN_BLOCKS = (
    "Parquet, Feather (.feather, .arrow, .ipc), CSV (.csv, .csv.gz, .tsv) and .npy files"
)

DIGITS = re.compile(r"(\d+)")


def is_path(values: Any) -> TypeGuard[str | os.PathLike[str]]:
    """Whether values are a path or a pattern of paths."""
    return isinstance(values, str | os.PathLike)


def names_files(values: Any) -> bool:
    """Whether values name files: a path, a folder, a pattern, or a list of these."""
    if is_path(values):
        return True
    return isinstance(values, list | tuple) and bool(values) and all(map(is_path, values))


def files_of(X: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Return the files that hold the rows, in the order of their rows.

    Files of a folder and of a pattern are in the natural order of their names (``part-2`` before
    ``part-10``); those of a list in its order. What is hidden or begins with ``_``, as what Spark
    and Dask write beside their data, is no file of rows, and neither is what is no table
    (``README.md``).

    Parameters
    ----------
    X : path, or sequence of paths
        A file, a folder, a pattern such as ``"big/*.parquet"``, or a list of these.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    SidelightError
        If a file is of a format that is not read in blocks, or a folder has folders in it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sidelight.io.inner import files_of
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("part-10.csv", "part-2.csv", "_SUCCESS"):
    ...         Path(folder, name).touch()
    ...     [file.name for file in files_of(folder)]
    ['part-2.csv', 'part-10.csv']
    """
    if not isinstance(X, str | os.PathLike):
        return [file for one in X for file in files_of(one)]
    path = Path(X)
    if path.is_dir():
        return _files_in(path)
    if path.exists():
        _check_in_blocks(path)
        return [path]
    text = os.fspath(X)
    if not glob.has_magic(text):
        raise FileNotFoundError(f"There is no file {text}.{_remote(text)}")
    found = [Path(one) for one in glob.glob(text, recursive=True)]
    found = sorted((one for one in found if _is_shown(one)), key=natural_key)
    if not found:
        raise FileNotFoundError(f"There is no file {text}: nothing fits this pattern.")
    return [file for one in found for file in files_of(one)]


def natural_key(path: Path) -> list[Any]:
    """Key by which files are sorted: numbers in their names count as numbers."""
    return [
        [(not piece.isdecimal(), int(piece) if piece.isdecimal() else piece) for piece in pieces]
        for pieces in (DIGITS.split(part) for part in path.parts)
    ]


def _files_in(folder: Path) -> list[Path]:
    shown = sorted(filter(_is_shown, folder.iterdir()), key=natural_key)
    folders = [one for one in shown if one.is_dir()]
    keyed = [one.name for one in folders if "=" in one.name]
    if keyed:
        raise SidelightError(
            f"{folder} is cut by a key ({keyed[0]!r}), which would be lost: "
            f'pyarrow.dataset.dataset({str(folder)!r}, partitioning="hive") has it as a column.'
        )
    if folders:
        raise SidelightError(
            f"{folder} has folders in it, such as {folders[0].name!r}: name the files by a "
            f"pattern, such as {str(folder / '**' / '*.parquet')!r}."
        )
    files = [one for one in shown if _is_table(one)]
    if not files:
        raise FileNotFoundError(f"There is no table in the folder {folder}.")
    for one in files:
        _check_in_blocks(one)
    return files


def _is_shown(path: Path) -> bool:
    return not path.name.startswith((".", "_"))


def _is_table(path: Path) -> bool:
    suffix = path.suffix.lower()
    return (Path(path.stem).suffix.lower() if suffix == ".gz" else suffix) in {*SUFFIXES, ".pq"}


def part_format(path: Path) -> str:
    """Format of a file by its suffix, where ``.pq`` is Parquet."""
    return "parquet" if path.suffix.lower() == ".pq" else table_format(path)


def _check_in_blocks(path: Path) -> None:
    if not _is_table(path) or part_format(path) not in IN_BLOCKS:
        raise SidelightError(
            f"Rows are read in blocks from {READ_IN_BLOCKS}, not from "
            f"{path.suffix or 'a file without a suffix'} ({path}): convert it, or give the rows "
            "that sidelight.io.read_table(path).X has in memory."
        )


def _remote(text: str) -> str:
    if "://" not in text:
        return ""
    return f" Where it is an address, give pyarrow.dataset.dataset({text!r})."
