"""Prepared rows of tables larger than memory: features are written when a block is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._typing import Array
from sidelight.engine import RowSource
from sidelight.engine.inner import (
    BlockStore,
    FileRows,
    JoinedRows,
    check_budget,
    find_ids,
    id_candidates,
)
from sidelight.exceptions import SidelightError
from sidelight.io.inner import ArrowColumns, Part, spooled
from sidelight.preparation._source import Source
from sidelight.preparation.streams._schema import Places, RowsFrom
from sidelight.preparation.streams._table import as_parts, places_of

if TYPE_CHECKING:
    from sidelight.preparation._preparer import TablePreparer

#: Element type of features.
DTYPE = np.dtype(np.float64)


def prepared_rows(
    X: Any,
    preparer: TablePreparer,
    *,
    id_column: str | None = None,
    memory_budget: int | str | None = None,
) -> RowSource:
    """Features of a table on disk, block by block: what a fit reads its rows from.

    The features of a block are kept when it is read for the first time: in memory where all of the
    table fits into half of the memory budget, else in a temporary file (in ``TMPDIR``) that is gone
    together with the rows. Without room for such a file, they are made anew whenever they are read.

    Parameters
    ----------
    X : path, sequence of paths, pyarrow.dataset.Dataset, polars.LazyFrame, DuckDB relation
        The table: a file, a folder, a pattern such as ``"big/*.parquet"``, a dataset or a query.
    preparer : TablePreparer
        The fitted preparer.
    id_column : str, default=None
        Column that names the rows, in which ids of constraints are looked up. By default a column
        that is no feature, holds whole numbers or text, each there once, and is called like ids.
    memory_budget : int or str, default=None
        Bytes, or a size such as ``"2GB"``, that blocks may take at the same time; 256 MB by
        default.

    Returns
    -------
    RowSource
        The rows, with ``ids`` where a column names them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sidelight.cluster import KMeans
    >>> from sidelight.preparation import TablePreparer, prepared_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for month in (1, 2):
    ...         lines = "".join(f"{i % 9},{'xy'[i % 2]}\\n" for i in range(month, month + 20))
    ...         _ = Path(folder, f"{month}.csv").write_text("amount,shop\\n" + lines)
    ...     preparer = TablePreparer().fit(folder)
    ...     rows = prepared_rows(folder, preparer)
    ...     labels = KMeans(n_clusters=2, random_state=0).fit_predict(rows)
    >>> rows.shape, labels.shape
    ((40, 2), (40,))
    """
    filled = [part for part in as_parts(X) if part.n_rows]
    if not filled:
        raise SidelightError("The table has no rows.")
    candidates = _id_candidates(filled, preparer) if id_column is None else []
    files = prepared_files(filled, preparer, memory_budget=memory_budget)
    _, ids = find_ids(filled, id_column, candidates)
    for file, start in zip(files, places_of(filled).starts, strict=False):
        file.ids = None if ids is None else ids[start : start + file.n_rows]
    rows: RowSource = files[0] if len(files) == 1 else JoinedRows(files)
    rows.ids = ids
    return rows


def _id_candidates(parts: Sequence[Part], preparer: TablePreparer) -> list[str]:
    """Columns that are no features and may name the rows; fractions do not."""
    import pyarrow as pa

    used = {part.plan.name for part in preparer._parts}
    first = parts[0]
    return [
        name
        for name in id_candidates(parts)
        if name not in used
        and (first.is_text or not pa.types.is_floating(first.schema.field(name).type))
    ]


def rows_of(
    parts: Sequence[Part], preparer: TablePreparer, memory_budget: int | str | None = None
) -> RowSource:
    """Return the prepared rows of parts, by their positions.

    Parameters
    ----------
    parts : sequence of Part
        The parts that have rows.
    preparer : TablePreparer
        The fitted preparer.
    memory_budget : int or str, default=None
        Bytes that blocks may take at the same time.
    """
    if not parts:
        raise SidelightError("The table has no rows.")
    files = prepared_files(parts, preparer, memory_budget=memory_budget)
    return files[0] if len(files) == 1 else JoinedRows(files)


def prepared_files(
    parts: Sequence[Part],
    preparer: TablePreparer,
    *,
    memory_budget: int | str | None = None,
    workers: int = 1,
) -> list[PreparedFile]:
    """Features of the parts of a table, each by itself.

    Parameters
    ----------
    parts : sequence of Part
        The parts, each with rows, whose number is known.
    preparer : TablePreparer
        The fitted preparer.
    memory_budget : int or str, default=None
        Bytes that blocks may take at the same time: of all parts, or of those of a worker.
    workers : int, default=1
        Number of workers that share the parts, each with a budget of its own.
    """
    for part in parts:
        preparer.check_columns(part.schema.names, part.name)
    places = places_of(parts)
    n_values = -(-places.n_rows // workers) * len(preparer.get_feature_names_out())
    store = BlockStore(n_values * DTYPE.itemsize, check_budget(memory_budget))
    return [
        PreparedFile(part, preparer, places, start, memory_budget=memory_budget, store=store)
        for part, start in zip(parts, places.starts, strict=False)
    ]


def prepare_part(
    part: Part,
    preparer: TablePreparer,
    *,
    id_column: str | None = None,
    memory_budget: int | str | None = None,
) -> RowSource:
    """Features of one part of a table, where the part is: a partition of an engine.

    Parameters
    ----------
    part : Part
        The part.
    preparer : TablePreparer
        The fitted preparer.
    id_column : str, default=None
        Column that names the rows; without it they go by position.
    memory_budget : int or str, default=None
        Bytes that blocks may take at the same time.
    """
    preparer.check_columns(part.schema.names, part.name)
    readable = spooled(part)
    rows = PreparedFile(readable, preparer, places_of([readable]), 0, memory_budget=memory_budget)
    if id_column is not None and len(rows):
        _, rows.ids = find_ids([readable], id_column, [])
    return rows


class PreparedFile(FileRows):
    """Features of a file: a block is prepared when its rows are read.

    Parameters
    ----------
    part : Part
        The file.
    preparer : TablePreparer
        The fitted preparer.
    places : Places
        Where the rows of the table are, for messages.
    start : int
        Position of the first row of the file.
    memory_budget : int or str, default=None
        Bytes that blocks may take at the same time.
    store : BlockStore, default=None
        What keeps the blocks of the table; by default one for this file.
    """

    def __init__(
        self,
        part: Part,
        preparer: TablePreparer,
        places: Places,
        start: int,
        *,
        memory_budget: int | str | None = None,
        store: BlockStore | None = None,
    ) -> None:
        self._preparer, self._places = preparer, places
        self._needed = [column.plan.name for column in preparer._parts]
        features = preparer.get_feature_names_out().tolist()
        super().__init__(
            part,
            features,
            DTYPE,
            memory_budget=memory_budget,
            store=store,
            start=start,
        )

    def _stream(self, chunk: int) -> Iterator[Array]:
        import pyarrow as pa

        start = self._first_row + int(self._starts[chunk])
        rows, asked = self._rows_per_block, self._needed
        for batch in self._part.batches(asked, rows=rows, chunks=[chunk]):
            columns = ArrowColumns(pa.Table.from_batches([batch]))
            place = RowsFrom(self._places, start)
            start += batch.num_rows
            source = Source(columns, None, True, place)
            yield self._preparer.features_of_block(source, warns=not all(self._checked))
