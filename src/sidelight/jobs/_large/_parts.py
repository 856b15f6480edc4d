"""The files of a table that is read block by block: their ids, known labels and features."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from sidelight.engine.inner import NAMELESS, check_has_ids, find_ids, id_candidates
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io.inner import (
    Part,
    class_values,
    close_names,
    files_of,
    label_values,
    names_files,
    part_format,
    parts_of,
    spooled,
)
from sidelight.preparation import TablePreparer
from sidelight.preparation.inner import as_parts, places_of

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class PartedTable:
    """A table in files, each of which can be read from anywhere.

    Attributes
    ----------
    path : Path
        What the user calls it.
    parts : tuple of Part
        The files, empty ones too.
    id_column : str or None
        Column that names the rows.
    ids : ndarray of shape (n_rows,) or None
        Names of the rows.
    features : tuple of str
        Columns that are no ids, labels or classes, and not left out.
    labels, truth : ndarray of shape (n_rows,) or None
        Known labels and true classes, as a :class:`~sidelight.io.Table` has them.
    """

    path: Path
    parts: tuple[Part, ...]
    id_column: str | None
    ids: npt.NDArray[Any] | None
    features: tuple[str, ...]
    labels: npt.NDArray[Any] | None
    truth: npt.NDArray[Any] | None

    @property
    def filled(self) -> list[Part]:
        """The files that have rows."""
        return [part for part in self.parts if part.n_rows]

    @cached_property
    def starts(self) -> list[int]:
        """Position of the first row of every file, and the number of rows."""
        return list(places_of(self.parts).starts)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.starts[-1]

    @property
    def feature_parts(self) -> list[Part]:
        """The files that have rows, with the columns that become features alone."""
        return [_SomeColumns(part, self.features) for part in self.filled]


class _SomeColumns(Part):
    """Some columns of a file."""

    def __init__(self, part: Part, names: Sequence[str]) -> None:
        import pyarrow as pa

        self._part, self.name, self.chunks = part, part.name, part.chunks
        self.is_text = part.is_text
        self.schema = pa.schema([part.schema.field(name) for name in names])

    def held_bytes(self, n_columns: int, row_bytes: int) -> int:
        """Return about how many bytes reading the file holds."""
        return self._part.held_bytes(n_columns, row_bytes)

    def _read(
        self, names: list[str], rows: int, chunks: Sequence[int] | None
    ) -> Iterator[pa.RecordBatch]:
        return self._part.batches(names, rows=rows, chunks=chunks)


def open_for_model(data: Any, model: Any, id_column: str | None) -> PartedTable:
    """Open files of new rows, with the columns that a model was fitted to.

    Parameters
    ----------
    data : path, sequence of paths, dataset or query
        The files.
    model : Model
        The model.
    id_column : str or None
        Column that names the rows; by default as in the data of the model.
    """
    raw = not isinstance(model.preparer, TablePreparer)
    asked = _Plain(data, id_column, raw=raw, columns=model.feature_names)
    parts = _open(asked)
    if id_column is None and model.id_column is not None:
        there = all(model.id_column in part.schema.names for part in parts)
        asked = replace(asked, id_column=model.id_column if there else None)
    return _opened(asked, parts)


def open_labeled(data: Any, id_column: str | None) -> PartedTable:
    """Open files of rows whose labels are known, with all of their columns."""
    asked = _Plain(data, id_column)
    return _opened(asked, _open(asked))


@dataclass(frozen=True)
class _Plain:
    """What is asked about rows of which nothing is known."""

    data: Any
    id_column: str | None
    raw: bool = False
    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()
    labels: None = None
    truth: None = None
    kinds: Sequence[str] = ()
    weights: Sequence[str] = ()


def open_parts(request: Any) -> PartedTable:
    """Open the files of a request, and read what names and labels their rows."""
    return _opened(request, _open(request))


def _opened(request: Any, parts: Sequence[Part]) -> PartedTable:
    filled = [part for part in parts if part.n_rows]
    if not filled:
        raise SidelightError(f"{path_of(request.data)} has no rows.")
    names = filled[0].schema.names
    roles = [one for one in (request.labels, request.truth) if isinstance(one, str)]
    chosen = list(request.columns) if request.columns is not None else None
    for name in (*roles, *(chosen or ()), *request.drop):
        _check_column(filled, name)
    named, ids = _ids(request, filled, [*roles, *(chosen or ()), *request.kinds, *request.weights])
    aside = {*request.drop, *roles, named}
    features = tuple(name for name in (chosen or names) if name not in aside)
    return PartedTable(
        path=path_of(request.data),
        parts=tuple(parts),
        id_column=named,
        ids=ids,
        features=features,
        labels=_values(filled, request.labels, label_values),
        truth=_values(filled, request.truth, class_values),
    )


def path_of(data: Any) -> Path:
    """Return what the rows are called in messages."""
    if isinstance(data, str | os.PathLike):
        return Path(data)
    if isinstance(data, list | tuple):
        first = Path(data[0])
        return first if len(data) == 1 else Path(f"{first} and {len(data) - 1:,} more")
    return Path("rows of a query")


def _open(request: Any) -> list[Part]:
    data = request.data
    for path in files_of(data) if names_files(data) else ():
        if part_format(path) == "npy":
            raise InvalidRequest(
                f"{path} has no names of columns, and tables are read block by block from Parquet, "
                "Feather and CSV files; in Python, sidelight.engine.open_rows reads it."
            )
    if request.raw:
        return [spooled(part) for part in parts_of(data)]
    return as_parts(data)


def _ids(
    request: Any, parts: Sequence[Part], others: Sequence[str]
) -> tuple[str | None, npt.NDArray[Any] | None]:
    """Return the column that names the rows, and their names."""
    if request.id_column is not None:
        for part in parts:
            check_has_ids(part, request.id_column)
        return find_ids(parts, request.id_column, [])
    taken = {*others, *request.drop}
    named = [name for name in id_candidates(parts) if name not in taken]
    first = parts[0].schema.names[0]
    if first not in taken and first not in named and _holds_different_texts(parts, first):
        certain = [name for name in named if name.lower() == "id" or name in NAMELESS]
        found = find_ids(parts, None, certain)
        try:
            return found if found[0] is not None else find_ids(parts, first, [])
        except SidelightError:  # a text is there twice: they are texts like others
            pass
    return find_ids(parts, None, named)


def _holds_different_texts(parts: Sequence[Part], name: str) -> bool:
    """Whether a column holds texts that all differ, by its first rows."""
    import pyarrow as pa

    kinds = [part.schema.field(name).type for part in parts if name in part.schema.names]
    if len(kinds) < len(parts) or not all(map(pa.types.is_string, kinds)):
        return False
    column = next(iter(parts[0].batches([name]))).column(0)
    return column.null_count == 0 and len(column.unique()) == len(column)


def _check_column(parts: Sequence[Part], name: str) -> None:
    for part in parts:
        if name not in part.schema.names:
            raise InvalidRequest(
                f"{part.name} has no column {name!r}; {close_names(name, part.schema.names)}."
            )


def _values(
    parts: Sequence[Part], column: Any, read: Callable[[Any], npt.NDArray[Any]]
) -> npt.NDArray[Any] | None:
    """Return the classes in a column: every text is read once, rows are codes of texts."""
    if not isinstance(column, str):
        return None
    import pyarrow as pa

    pieces = [
        batch.column(0).cast(pa.string()).dictionary_encode()
        if not pa.types.is_dictionary(batch.column(0).type)
        else batch.column(0)
        for part in parts
        for batch in part.batches([column])
    ]
    whole = pa.chunked_array(pieces).unify_dictionaries().combine_chunks()
    texts = whole.dictionary.to_pylist()
    known = read(pa.chunked_array([pa.array([*texts, None], pa.string())]))
    codes = whole.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    return known[codes]
