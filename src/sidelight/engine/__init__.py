"""Where rows live, and how blocks of them are mapped and reduced.

An algorithm whose step is "map blocks of rows to sums, add the sums, update" is written once on
:class:`RowSource` and runs on arrays in memory and on files that do not fit there.
"""

from typing import TYPE_CHECKING

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "source": ["RowSource", "as_rows", "open_rows"],
        "_threads": ["get_threads", "threads"],
    },
)

if TYPE_CHECKING:
    from sidelight.engine._threads import get_threads as get_threads
    from sidelight.engine._threads import threads as threads
    from sidelight.engine.source import RowSource as RowSource
    from sidelight.engine.source import as_rows as as_rows
    from sidelight.engine.source import open_rows as open_rows
