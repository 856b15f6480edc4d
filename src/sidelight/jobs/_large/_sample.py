"""Some rows of a large table, for pictures and explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._typing import IntArray
from sidelight.io import Table
from sidelight.io.inner import ArrowColumns, Part
from sidelight.jobs._large._parts import PartedTable
from sidelight.preparation import TablePreparer

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows that are drawn, and rows that constraints mention that are taken besides.
SAMPLE, MENTIONED = 20_000, 20_000


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of a table, in their order.

    Attributes
    ----------
    rows : ndarray of int
        Their positions.
    is_drawn : ndarray of bool
        Which of them were drawn at random; the others are there since constraints mention them.
    has_mentioned : bool
        Whether all rows that constraints mention are there.
    """

    rows: IntArray
    is_drawn: Any
    has_mentioned: bool


def draw(n_rows: int, mentioned: IntArray, seed: int) -> Sample:
    """Draw rows at random, and take those that constraints mention, if these are few.

    Parameters
    ----------
    n_rows : int
        Number of rows of the table.
    mentioned : ndarray of int
        Rows that constraints mention.
    seed : int
        Where the random numbers begin.
    """
    drawn = np.arange(n_rows)
    if n_rows > SAMPLE:
        drawn = np.random.default_rng(seed).choice(n_rows, SAMPLE, replace=False, shuffle=False)
    few = len(mentioned) <= MENTIONED
    rows = np.union1d(drawn, mentioned) if few else np.sort(drawn)
    is_drawn = np.isin(rows, drawn)
    return Sample(rows, is_drawn, bool(few or n_rows <= SAMPLE))


def read_rows(parts: Sequence[Part], columns: Sequence[str], rows: IntArray) -> pa.Table:
    """Read some rows, of which only the stretches are read that they are in.

    Parameters
    ----------
    parts : sequence of Part
        The files, each of which can be read from anywhere.
    columns : sequence of str
        The columns.
    rows : ndarray of int
        Positions in the table, ascending.
    """
    import pyarrow as pa

    pieces, start = [], 0
    for part in parts:
        for chunk, size in enumerate(part.chunks or ()):
            first, last = np.searchsorted(rows, (start, start + size))
            if first < last:
                pieces += _taken(part, columns, chunk, rows[first:last] - start)
            start += size
    empty = pa.schema([parts[0].schema.field(name) for name in columns]).empty_table()
    tables = [pa.Table.from_batches([piece]) for piece in pieces] or [empty]
    return pa.concat_tables(map(_decoded, tables), promote_options="permissive")


def _taken(part: Part, columns: Sequence[str], chunk: int, rows: IntArray) -> list[Any]:
    """Rows of a stretch, batch by batch."""
    import pyarrow as pa

    found, start = [], 0
    for batch in part.batches(columns, chunks=[chunk]):
        first, last = np.searchsorted(rows, (start, start + batch.num_rows))
        if first < last:
            found.append(batch.take(pa.array(rows[first:last] - start)))
        start += batch.num_rows
    return found


def _decoded(table: pa.Table) -> pa.Table:
    """The same values, texts where a file has codes of texts: codes differ from file to file."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) and not field.type.ordered:
            plain = table.column(place).cast(field.type.value_type)
            table = table.set_column(place, field.name, plain)
    return table


def sampled_table(table: PartedTable, data: Table, preparer: Any, rows: IntArray) -> Table:
    """Return some rows as a table in memory, each by its name or its position in the whole.

    Parameters
    ----------
    table : PartedTable
        The files.
    data : Table
        Ids, labels and true classes of all rows.
    preparer : TablePreparer or None
        What made features of the columns.
    rows : ndarray of int
        Positions, ascending.
    """
    prepared = isinstance(preparer, TablePreparer)
    names = [p.name for p in preparer.plan_ if p.used] if prepared else list(table.features)
    columns = read_rows(table.parts, names, rows)
    X = None if prepared else np.column_stack([columns.column(n).to_numpy() for n in names])
    return Table(
        X=X,
        ids=rows if data.ids is None else data.ids[rows],
        feature_names=tuple(names),
        path=data.path,
        labels=None if data.labels is None else data.labels[rows],
        truth=None if data.truth is None else data.truth[rows],
        id_column=data.id_column,
        label_column=data.label_column,
        truth_column=data.truth_column,
        columns=ArrowColumns(columns) if prepared else None,
    )
