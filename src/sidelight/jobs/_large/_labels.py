"""What every row of a large table got, in files: one for every file of rows, or one for all."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight.exceptions import InvalidRequest
from sidelight.io.inner import CLASS, CLUSTER, ID, Part, harmless, is_tsv, open_text, table_format
from sidelight.jobs._large._parts import PartedTable
from sidelight.jobs._recognize import PART

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows that are written at a time.
BLOCK_ROWS = 2**16
#: Column with the positions of rows that have no names.
ROW = "row"


def fill_labels_of_parts(
    path: Path,
    table: PartedTable,
    labels: Any,
    classes: Mapping[str, str],
    *,
    spreadsheet_safe: bool,
) -> None:
    """Write names and clusters of all rows, block by block.

    Parameters
    ----------
    path : Path
        A folder, which gets a Parquet file for every file of rows; or a CSV or Parquet file.
    table : PartedTable
        The files of rows.
    labels : array of shape (n_rows,)
        Cluster of every row.
    classes : mapping of str to str
        Class that a cluster stands for, by the name of the cluster.
    spreadsheet_safe : bool
        Whether texts in a CSV file that a spreadsheet would run get an apostrophe in front.
    """
    blocks = _LabelBlocks(table, labels, classes)
    if path.is_dir():
        names = names_of_parts(table.parts)
        for number, name in enumerate(names):
            _write_parquet(path / f"{name}.parquet", blocks, [number], table.id_column or ROW)
    elif table_format(path) == "parquet":
        _write_parquet(path, blocks, range(len(table.parts)), ID)
    elif table_format(path) == "csv":
        _write_csv(path, blocks, spreadsheet_safe)
    else:
        raise InvalidRequest(
            "Labels of rows that are read block by block are written into a folder, a .csv or a "
            f".parquet file, not into {path.suffix}."
        )


def names_of_parts(parts: Sequence[Part]) -> list[str]:
    """Return a name for the labels of every file: its own without the ending, if all differ."""
    names = [Path(part.name).name for part in parts]
    plain = [name.removesuffix(".gz").rpartition(".")[0] or name for name in names]
    if len(set(plain)) == len(plain) and not any(" " in part.name for part in parts[:1]):
        return plain
    digits = len(str(len(parts)))
    return [f"part-{number:0{digits}}" for number in range(len(parts))]


class _LabelBlocks:
    """Names and clusters of the rows, a few at a time."""

    def __init__(self, table: PartedTable, labels: Any, classes: Mapping[str, str]) -> None:
        self.table, self.labels, self.classes = table, labels, classes

    def of(self, number: int) -> Iterator[tuple[Any, Any]]:
        """Yield names (an Arrow array) and clusters of the rows of a file."""
        import pyarrow as pa

        start, stop = self.table.starts[number], self.table.starts[number + 1]
        ids = self.table.ids
        for first in range(start, stop, BLOCK_ROWS):
            last = min(first + BLOCK_ROWS, stop)
            names = np.arange(first, last) if ids is None else ids[first:last]
            yield pa.array(names, self.kind), self.labels[first:last]

    @property
    def kind(self) -> pa.DataType:
        """Type of the names."""
        import pyarrow as pa

        ids = self.table.ids
        if ids is None:
            return pa.int64()
        return pa.from_numpy_dtype(ids.dtype) if ids.dtype.kind in "iu" else pa.string()

    def class_column(self, clusters: Any) -> Any:
        """Return the classes that clusters stand for; None where they stand for none."""
        if not self.classes:
            return None
        low = -1
        names = [self.classes.get(str(cluster), "") for cluster in range(low, self._most + 1)]
        return np.array(names, dtype=object)[np.asarray(clusters) - low]

    @property
    def _most(self) -> int:
        return int(max(self.labels.max(initial=0), *map(int, self.classes)))


def _write_parquet(path: Path, blocks: _LabelBlocks, numbers: Sequence[int], name: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [pa.field(name, blocks.kind), pa.field(CLUSTER, pa.int64())]
    fields += [pa.field(CLASS, pa.string())] if blocks.classes else []
    schema = pa.schema(fields, metadata={PART: b"labels"})
    with pq.ParquetWriter(path, schema) as writer:
        for number in numbers:
            for ids, clusters in blocks.of(number):
                columns = [ids, pa.array(np.asarray(clusters, dtype=np.int64))]
                if blocks.classes:
                    columns.append(pa.array(blocks.class_column(clusters), pa.string()))
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def _write_csv(path: Path, blocks: _LabelBlocks, spreadsheet_safe: bool) -> None:
    header = [ID, CLUSTER, *([CLASS] if blocks.classes else [])]
    with open_text(path, "w") as file:
        writer = csv.writer(file, delimiter="\t" if is_tsv(path) else ",", lineterminator="\n")
        writer.writerow(header)
        for number in range(len(blocks.table.parts)):
            for ids, clusters in blocks.of(number):
                columns = [ids.to_pylist(), np.asarray(clusters).tolist()]
                if blocks.classes:
                    columns.append(blocks.class_column(clusters).tolist())
                if spreadsheet_safe:
                    columns = [[*map(harmless, one)] for one in columns]
                writer.writerows(zip(*columns, strict=True))
