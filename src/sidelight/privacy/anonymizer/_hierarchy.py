"""Hierarchies of values: from single values to ever wider groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Hierarchy:
    """A tree of values: which wider value may be published in place of several.

    Made by :meth:`from_table`, :meth:`from_nested`, :meth:`from_intervals` or :meth:`read`.
    """

    @classmethod
    def from_table(cls, rows: Any) -> Hierarchy:
        """Make a hierarchy from lines ``value, parent, grandparent, ...``, one per value.

        Parameters
        ----------
        rows : sequence of sequences, data frame or Arrow table
            One line per value, from the value to the widest group.
        """
        raise NotImplementedError

    @classmethod
    def from_nested(cls, tree: Mapping[str, Any]) -> Hierarchy:
        """Make a hierarchy from nested dicts of groups down to lists of values.

        Parameters
        ----------
        tree : mapping
            Group to its parts: another mapping, or a list of values.
        """
        raise NotImplementedError

    @classmethod
    def from_intervals(cls, *levels: Sequence[float]) -> Hierarchy:
        """Make a hierarchy of numbers from the bounds of ever wider intervals.

        Parameters
        ----------
        *levels : sequences of float
            Bounds of the intervals of each level, the finest first; bounds of a level are among
            those of the finer one.
        """
        raise NotImplementedError

    @classmethod
    def read(cls, path: Any) -> Hierarchy:
        """Read a hierarchy from a file with lines ``value;parent;grandparent;...``.

        Parameters
        ----------
        path : path-like
            A file of comma, semicolon or tab separated values, without a header, as ARX has them.
        """
        raise NotImplementedError
