"""Passes over the parts of a table: here, one after the other, or where an engine has them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sidelight.engine import Engine
from sidelight.io.inner import ArrowColumns, Part
from sidelight.preparation._reading import RawColumn
from sidelight.preparation._source import Source
from sidelight.preparation.streams._forest import BLOCK_ROWS, Segment
from sidelight.preparation.streams._schema import Places, RowsFrom

if TYPE_CHECKING:
    import pyarrow as pa


class Watch(Protocol):
    """What to look for in a column."""

    @property
    def name(self) -> str:
        """Name of the column."""

    def look(self, raw: RawColumn, start: int) -> Any:
        """Look at a block, of which the first row is at ``start``."""


class TableLook(tuple[Any, ...]):
    """What some columns showed in consecutive rows, in their order."""

    def join(self, other: TableLook) -> TableLook:
        """What they showed in both runs of rows."""
        return TableLook(one.join(two) for one, two in zip(self, other, strict=True))


@dataclass
class LookAtBlock:
    """Looks at some columns of a block.

    Attributes
    ----------
    watches : sequence of Watch
        What to look for.
    places : Places
        Where the rows of the table are.
    """

    watches: Sequence[Watch]
    places: Places

    def __call__(self, table: pa.Table, start: int) -> TableLook:
        source = Source(ArrowColumns(table), None, True, RowsFrom(self.places, start))
        return TableLook(
            watch.look(RawColumn(watch.name, table.column(watch.name), source), start)
            for watch in self.watches
        )


@dataclass
class LookAtPart:
    """Looks at some columns of a part; it is sent to where the parts are.

    Attributes
    ----------
    look : LookAtBlock
        What is done to a block.
    schema : pyarrow.Schema
        The columns.
    """

    look: LookAtBlock
    schema: pa.Schema

    def __call__(self, part: Part, start: int) -> Segment:
        # What has been seen of texts is seen of this part: an engine may do a part twice.
        segment = Segment(start, copy.deepcopy(self.look))
        for batch in batches_of(part, self.schema):
            segment.add(batch)
        return segment


def batches_of(part: Part, schema: pa.Schema, rows: int = BLOCK_ROWS) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a part, in columns of these types."""
    for batch in part.batches(schema.names, rows=rows):
        yield batch if batch.schema.equals(schema) else _cast(batch, schema)


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        kind = field.type
        if pa.types.is_dictionary(column.type) and not column.type.equals(kind):
            column = column.dictionary_decode()
        if pa.types.is_dictionary(kind) and not column.type.equals(kind):
            column = column.cast(kind.value_type).dictionary_encode()
        columns.append(column.cast(kind, safe=False))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def look_at(
    watches: Sequence[Watch], schema: pa.Schema, places: Places, engine: Engine | Sequence[Part]
) -> dict[str, Any]:
    """Look at some columns in all rows; return what each showed.

    Parameters
    ----------
    watches : sequence of Watch
        What to look for.
    schema : pyarrow.Schema
        All columns of the table.
    places : Places
        Where its rows are.
    engine : Engine, or sequence of Part
        Where its parts are; in this process if they are given themselves.
    """
    import pyarrow as pa

    if not watches:
        return {}
    chosen = pa.schema([schema.field(watch.name) for watch in watches])
    work = LookAtPart(LookAtBlock(watches, places), chosen)
    whole = Segment(0, work.look)
    if isinstance(engine, Engine):
        starts = dict(enumerate(places.starts[:-1]))
        for _, segment in engine.map_in_order(work, starts):
            whole.join(segment)
    else:
        for part in engine:
            for batch in batches_of(part, chosen):
                whole.add(batch)
    return dict(zip((watch.name for watch in watches), whole.result(), strict=True))
