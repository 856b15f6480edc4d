"""Rows on disk for methods that work on rows in memory: read whole, where they fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sidelight.engine import RowSource
from sidelight.exceptions import SidelightError

#: Share of the memory that is available that rows may take, and bytes where nobody knows it.
SHARE = 4
LARGEST = 2 * 10**9

MEMINFO = Path("/proc/meminfo")


def load_rows(source: RowSource, instead: Exception) -> Any:
    """Read all rows of a source into memory, if they fit there.

    At most a quarter of the memory that is available is taken, 2 GB where the system does not say
    how much that is.

    Parameters
    ----------
    source : RowSource
        The rows.
    instead : Exception
        Its message says what to take instead where they do not fit.
    """
    size, limit = source.n_rows * source.n_features * source.dtype.itemsize, largest_size()
    if size > limit and not source.is_sparse:
        raise SidelightError(
            f"{instead} These {source.n_rows:,} rows of {source.n_features:,} numbers take "
            f"{size / 1e9:.1f} GB, and {limit / 1e9:.1f} GB are read without being asked, a "
            "quarter of the memory that is available."
        )
    if source.is_sparse or not source.blocks:
        source.largest()  # looks at all values
        return source.to_memory()
    return source.map_reduce(lambda block: ((), (block,)))[1][0]


def largest_size() -> int:
    """Return the number of bytes that rows on disk may take in memory."""
    try:
        lines = MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return LARGEST
    available = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(available[0]) * 1024 // SHARE if available else LARGEST


def names_of(source: RowSource) -> Any:
    """Return an empty table with the columns of a source, of which scikit-learn reads the names."""
    import pyarrow as pa

    columns = getattr(source, "columns", None)
    if columns is None:
        return np.empty((0, source.n_features))
    return pa.schema([(str(name), pa.float64()) for name in columns]).empty_table()
