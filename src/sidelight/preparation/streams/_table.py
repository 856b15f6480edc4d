"""Tables in parts: files of a folder, datasets and queries, or what an engine has elsewhere."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight.engine import Engine
from sidelight.exceptions import SidelightError
from sidelight.io.inner import ArrowColumns, Part, is_on_disk, parts_of, spooled
from sidelight.preparation._reading import RawColumn, not_of_kind
from sidelight.preparation._source import Source
from sidelight.preparation.streams._passes import look_at
from sidelight.preparation.streams._schema import Places, common_schema

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class PartTable:
    """A table in parts.

    Attributes
    ----------
    schema : pyarrow.Schema
        Its columns.
    places : Places
        Where its rows are.
    engine : Engine, or sequence of Part
        Where its parts are.
    """

    schema: pa.Schema
    places: Places
    engine: Engine | Sequence[Part]

    def look(self, watches: Sequence[Any]) -> dict[str, Any]:
        """Look at some columns in all rows."""
        return look_at(watches, self.schema, self.places, self.engine)

    @property
    def source(self) -> Source:
        """The table without its rows, for their names in messages."""
        return Source(ArrowColumns(self.schema.empty_table()), None, True, self.places.row)

    def unreadable(self, name: str, kind: str) -> SidelightError:
        """Error about the first value of a column that is of another kind."""
        found: Unreadable = self.look([UnreadableWatch(name, kind)])[name]
        row = self.places.row(found.position)
        return not_of_kind(name, kind, found.text, row)


def in_parts(X: Any) -> bool:
    """Whether a table is read block by block; a single file is read column by column."""
    if isinstance(X, Engine) or _are_parts(X):
        return True
    is_file = isinstance(X, str | os.PathLike) and Path(X).is_file()
    return is_on_disk(X) and not is_file


def _are_parts(X: Any) -> bool:
    return isinstance(X, list) and bool(X) and all(isinstance(one, Part) for one in X)


def as_parts(X: Any) -> list[Part]:
    """Return the parts of a table, each with a known number of rows."""
    return [spooled(part) for part in (X if _are_parts(X) else parts_of(X, keep_types=True))]


def places_of(parts: Sequence[Part]) -> Places:
    """Return where the rows of a table in parts are."""
    return _places([part.name for part in parts], [part.n_rows or 0 for part in parts])


def _places(names: Sequence[str], sizes: Sequence[int]) -> Places:
    return Places(tuple(names), tuple(np.cumsum([0, *sizes]).tolist()))


def open_table(X: Any, dropped: Collection[str]) -> tuple[PartTable, list[str]]:
    """Return a table in parts, and the names of all of its columns.

    Parameters
    ----------
    X : path, sequence of paths, dataset, query, or Engine
        The table. Partitions of an engine are parts.
    dropped : collection of str
        Columns that are not looked at.
    """
    if isinstance(X, Engine):
        found = dict(X.map_in_order(_extent_of_part, dict.fromkeys(range(len(X.partitions())))))
        names = list(X.partitions())
        schemas = [found[number][0] for number in range(len(names))]
        places = _places(names, [found[number][1] for number in range(len(names))])
        return PartTable(common_schema(names, schemas, dropped), places, X), schemas[0].names
    parts = as_parts(X)
    schemas = [part.schema for part in parts]
    places = places_of(parts)
    schema = common_schema(places.names, schemas, dropped)
    return PartTable(schema, places, parts), list(schemas[0].names)


def _extent_of_part(part: Part, order: Any) -> tuple[pa.Schema, int]:
    """Columns and number of rows of a part; one without a number is gone through."""
    n_rows = part.n_rows
    if n_rows is None:
        n_rows = sum(batch.num_rows for batch in part.batches(part.schema.names[:1]))
    return part.schema, n_rows


@dataclass(frozen=True)
class Unreadable:
    """The first value of another kind; position -1 if there is none.

    Attributes
    ----------
    position : int
        Position of its row in the table.
    text : str
        The value.
    """

    position: int
    text: str

    def join(self, other: Unreadable) -> Unreadable:
        """The first one in both runs of rows."""
        return other if self.position < 0 else self


@dataclass(frozen=True)
class UnreadableWatch:
    """Looks for the first value that is not of a kind.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : str
        ``number``, ``date`` or ``time``.
    """

    name: str
    kind: str

    def look(self, raw: RawColumn, start: int) -> Unreadable:
        """Look at a block, of which the first row is at ``start``."""
        place = raw.first_unreadable(self.kind)
        if place is None:
            return Unreadable(-1, "")
        return Unreadable(start + place, str(raw.values[place].as_py()).strip())
