"""Several splits of the same rows: their names, and the file that holds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight.io import Table
from sidelight.io._labels import ALTERNATIVE, ID
from sidelight.io._write_table import write_columns


def split_names(labels: Any) -> list[str]:
    """Return the names of the columns of a table of clusters."""
    return [f"{ALTERNATIVE}{number}" for number in range(1, np.shape(labels)[1] + 1)]


def sizes_of(labels: Any) -> dict[str, int]:
    """Return the number of rows of every cluster, by the name of the cluster."""
    clusters, counts = np.unique(labels, return_counts=True)
    return {str(c): int(n) for c, n in zip(clusters, counts, strict=True)}


def fill_splits(data: Table, labels: Any, path: Path, *, spreadsheet_safe: bool) -> None:
    """Write ids and clusters, a column per split."""
    columns: dict[str, Array] = {ID: np.asarray(data.row_ids)}
    columns.update(zip(split_names(labels), np.asarray(labels).T, strict=True))
    write_columns(columns, path, spreadsheet_safe=spreadsheet_safe)
