"""Tables, pairs and labels from and to files; every file is written beside and then renamed."""

from typing import TYPE_CHECKING

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "_atomic": ["atomic_write"],
        "_labels": ["read_labels", "write_labels"],
        "_pairs": ["read_pairs"],
        "_table": ["Table", "read_table"],
        "_write_table": ["write_table"],
    },
)

if TYPE_CHECKING:
    from sidelight.io._atomic import atomic_write as atomic_write
    from sidelight.io._labels import read_labels as read_labels
    from sidelight.io._labels import write_labels as write_labels
    from sidelight.io._pairs import read_pairs as read_pairs
    from sidelight.io._table import Table as Table
    from sidelight.io._table import read_table as read_table
    from sidelight.io._write_table import write_table as write_table
