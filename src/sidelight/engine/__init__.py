"""Where rows live, and how blocks of them are mapped and reduced.

An algorithm whose step is "map blocks of rows to sums, add the sums, update" is written once on
:class:`RowSource` and runs on arrays in memory and on files that do not fit there.
"""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
