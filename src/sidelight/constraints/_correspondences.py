"""The value object that holds which rows of several views show the same object."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order

from sidelight._in_memory import check_in_memory
from sidelight._typing import Array, IntArray
from sidelight._words import counted, listed
from sidelight.constraints.algebra import _canonical as canonical
from sidelight.constraints.algebra._alignment import rows_in_order
from sidelight.constraints.algebra._canonical import RowIndex
from sidelight.constraints.algebra._links import (
    as_view,
    as_views,
    by_view,
    link_positions,
    merged_rows,
    rejoin,
    starts_of,
)
from sidelight.constraints.algebra._operations import as_rows
from sidelight.constraints.algebra._plain import frozen
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    import pyarrow

#: Largest number of objects with several rows of one view that are reported with their chains.
CHAINS = 3


class Correspondences:
    """Which rows of two or more views show the same object.

    A link says that a row of one view and a row of another are the same object. Linked rows are
    merged, whatever the chain that links them, so that a view may show an object several times;
    ``notes`` tells such chains. The object never changes; everything that looks like a change
    makes a new one. (Verbeek 2004, section 5.3.)

    Parameters
    ----------
    links : array-like of shape (m, 4) or (m, 2), optional
        Rows ``(view_i, row_i, view_j, row_j)``, views counted from 0; or, for two views, pairs of
        a row of the first and a row of the second. Rows are positions, or ids in views that have
        ids.
    sizes : sequence of int, optional
        Number of rows of each view; by default that of the ids.
    ids : sequence of array-like, optional
        Your own names of the rows, one array per view, all different within a view; None for a
        view whose rows are known by position.

    Attributes
    ----------
    links : ndarray of shape (m, 4), int64
        Stated links by position, each once, the smaller view and row first, sorted.
    sizes : tuple of int
        Number of rows of each view.
    ids : tuple of ndarray or None
        Names of the rows of each view; None for a view without ids.
    notes : tuple of str
        Links that were merged or dropped, and chains that make two rows of one view one object.

    References
    ----------
    Verbeek, *Mixture models for clustering and dimension reduction* (2004), section 5.3.

    Examples
    --------
    >>> from sidelight.constraints import Correspondences
    >>> known = Correspondences([("ann", 2), ("bob", 0)], [3, 4], ids=[["ann", "bob", "cid"], None])
    >>> known
    <Correspondences of 2 views of 3 and 4 rows: 2 links, 5 objects, 2 of them in all views>
    >>> known.objects
    (array([0, 1, 2]), array([1, 3, 0, 4]))
    """

    __slots__ = ("_cache", "ids", "links", "notes", "sizes")

    links: IntArray
    sizes: tuple[int, ...]
    ids: tuple[Array | None, ...]
    notes: tuple[str, ...]
    _cache: dict[str, Any]

    def __init__(self, links: Any = None, sizes: Any = None, ids: Any = None) -> None:
        indices, counts = as_views(sizes, ids)
        stated = link_positions(links, indices, counts)
        self._set(stated, counts, indices, report=True)

    def _set(
        self,
        stated: IntArray,
        sizes: tuple[int, ...],
        indices: tuple[RowIndex | None, ...],
        *,
        report: bool,
    ) -> None:
        """Set the fields from links by position in any order."""
        first = starts_of(sizes)
        ends = np.column_stack(
            [first[stated[:, 0]] + stated[:, 1], first[stated[:, 2]] + stated[:, 3]]
        )
        merged, notes = canonical.merge_pairs(
            canonical.StatedPairs(ends), "link", int(first[-1]), None
        )
        ends = merged.rows
        object.__setattr__(self, "links", frozen(by_view(ends, first)))
        object.__setattr__(self, "sizes", sizes)
        ids = tuple(None if index is None else index.ids for index in indices)
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "_cache", {"ends": ends, "indices": indices})
        kept_notes = [
            note.replace(" (largest weight kept)", "") for note in notes
        ]  # links weigh nothing
        kept_notes = [*kept_notes, *self._chains()] if report else []
        object.__setattr__(self, "notes", tuple(kept_notes))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"Correspondences cannot be changed; make new ones to set {name!r}.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Correspondences cannot be changed; {name!r} stays.")

    @classmethod
    def from_ids(cls, *ids: Any) -> Correspondences:
        """Correspondences between rows of different views that have the same id.

        Parameters
        ----------
        *ids : array-like, one per view
            Ids of the rows of each view; each once within a view.

        Examples
        --------
        >>> from sidelight.constraints import Correspondences
        >>> Correspondences.from_ids(["ann", "bob"], ["cid", "bob", "dan"]).links
        array([[0, 1, 1, 1]])
        """
        indices, sizes = as_views(None, ids)
        found: list[IntArray] = []
        for view, index in enumerate(indices):
            assert index is not None
            free = np.ones(sizes[view], dtype=bool)
            for other in range(view):
                earlier = indices[other]
                assert earlier is not None
                rows = earlier.positions(index.ids)
                mine = np.flatnonzero(free & (rows >= 0))
                free[mine] = False
                views = np.full((2, len(mine)), [[other], [view]])
                found.append(np.column_stack([views[0], rows[mine], views[1], mine]))
        links = np.concatenate([np.empty((0, 4), np.int64), *found])
        new = object.__new__(cls)
        new._set(links, sizes, indices, report=True)
        if not len(links):
            note = "No id occurs in two views; ids that are numbers and ids that are words differ."
            object.__setattr__(new, "notes", (note,))
        return new

    @classmethod
    def from_table(cls, table: Any, *, ids: Any = None, sizes: Any = None) -> Correspondences:
        """Correspondences from a table, one link per row.

        Parameters
        ----------
        table : pandas, polars or pyarrow table, or mapping of columns
            Columns ``view_a``, ``id_a``, ``view_b`` and ``id_b``, views counted from 0; or, for
            two views, one column of ids of each, in the order of the views.
        ids : sequence of array-like, optional
            Names of the rows of each view; without them the columns hold positions.
        sizes : sequence of int, optional
            Number of rows of each view, where there are no ids.

        Examples
        --------
        >>> from sidelight.constraints import Correspondences
        >>> table = {"photo": ["p1", "p3"], "sketch": ["s2", "s1"]}
        >>> ids = [["p1", "p2", "p3"], ["s1", "s2"]]
        >>> Correspondences.from_table(table, ids=ids).links
        array([[0, 0, 1, 1],
               [0, 2, 1, 0]])
        """
        from sidelight.constraints.exchange._links import from_columns
        from sidelight.constraints.exchange._tables import table_columns, table_trouble

        return cls._from_columns(from_columns, table_columns(table), table_trouble, ids, sizes)

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], *, ids: Any = None, sizes: Any = None
    ) -> Correspondences:
        """Read a file with the columns of :meth:`from_table`: CSV, TSV, JSON or Parquet.

        A JSON file is a list of objects with the names of the columns. The file that
        ``known.write(path)`` wrote comes back equal from ``Correspondences.read(path,
        ids=known.ids, sizes=known.sizes)``.
        """
        from sidelight.constraints.exchange._links import from_columns, read_columns

        columns, trouble = read_columns(path)
        return cls._from_columns(from_columns, columns, trouble, ids, sizes)

    @classmethod
    def _from_columns(
        cls, reader: Any, columns: Any, trouble: Any, ids: Any, sizes: Any
    ) -> Correspondences:
        indices, counts = as_views(sizes, ids)
        new = object.__new__(cls)
        new._set(reader(columns, indices, counts, trouble), counts, indices, report=True)
        return new

    def to_table(self) -> pyarrow.Table:
        """Links as an Arrow table, rows named by their ids."""
        from sidelight.constraints.exchange._links import to_table

        return to_table(self)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the links to a file, by its ending .csv, .csv.gz, .tsv, .json or .parquet.

        The file is written beside and then renamed, so that it is never there by half.
        """
        from sidelight.constraints.exchange._links import write_file

        write_file(self, path)

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.sizes)

    @property
    def n_links(self) -> int:
        """Number of stated links."""
        return len(self.links)

    @property
    def objects(self) -> tuple[IntArray, ...]:
        """Object of every row of every view; linked rows share one.

        Objects are numbered by their first row, view after view.
        """
        if "objects" not in self._cache:
            objects, n_objects = merged_rows(sum(self.sizes), self._cache["ends"])
            self._cache["n_objects"] = n_objects
            parts = np.split(objects, starts_of(self.sizes)[1:-1])
            self._cache["objects"] = tuple(frozen(part.copy()) for part in parts)
        objects_: tuple[IntArray, ...] = self._cache["objects"]
        return objects_

    @property
    def n_objects(self) -> int:
        """Number of objects that some view shows."""
        _ = self.objects
        return int(self._cache["n_objects"])

    @property
    def complete(self) -> IntArray:
        """Objects that all views show, ascending."""
        return np.flatnonzero(self.counts.all(axis=1))

    @property
    def counts(self) -> IntArray:
        """Number of rows by object and view, of shape (n_objects, n_views).

        Examples
        --------
        >>> from sidelight.constraints import Correspondences
        >>> Correspondences([(0, 1), (0, 2)], [2, 3]).counts
        array([[1, 2],
               [1, 0],
               [0, 1]])
        """
        by_view = [np.bincount(rows, minlength=self.n_objects) for rows in self.objects]
        return np.stack(by_view, axis=1)

    def take(self, view: int, rows: Any) -> Correspondences:
        """Keep some rows of a view, renumbered in the order given; the other views are unchanged.

        Rows that a dropped row linked stay linked.

        Parameters
        ----------
        view : int
            The view, counted from 0.
        rows : array of positions, boolean mask or slice
            Rows to keep, each once.

        Examples
        --------
        >>> from sidelight.constraints import Correspondences
        >>> Correspondences([(0, 1), (2, 0)], [3, 2]).take(0, [2, 1]).links
        array([[0, 0, 1, 0]])
        """
        which = as_view(view, self.n_views)
        kept = as_rows(rows, self.sizes[which])
        sizes = tuple(len(kept) if v == which else n for v, n in enumerate(self.sizes))
        before, after = starts_of(self.sizes), starts_of(sizes)
        place = np.full(before[-1], -1, dtype=np.int64)
        for v, (old, new) in enumerate(zip(before[:-1], after[:-1], strict=True)):
            chosen = kept if v == which else np.arange(sizes[v])
            place[old + chosen] = new + np.arange(len(chosen))
        ends = place[self._cache["ends"]]
        ends = ends[(ends >= 0).all(axis=1)]
        objects = np.empty(after[-1], dtype=np.int64)
        objects[place[place >= 0]] = np.concatenate(self.objects)[place >= 0]
        ends = np.concatenate([ends, rejoin(objects, ends)])
        indices = list(self._cache["indices"])
        index = indices[which]
        if index is not None:
            indices[which] = RowIndex(frozen(index.ids[kept]))
        taken = object.__new__(type(self))
        taken._set(by_view(ends, after), sizes, tuple(indices), report=False)
        return taken

    def align(self, views: Sequence[Any]) -> Correspondences:
        """Bring the links into the order of the rows of data frames, by their indices.

        Every ``fit`` and :meth:`stack` do so with the views that they are given.

        Parameters
        ----------
        views : sequence of DataFrame or array
            Rows of each view. The index of a data frame names every id of its view once, in
            whatever order; what has no index, or only the numbers 0, 1, 2 ... of pandas, is in the
            order of the ids already, and so are views without ids.

        Examples
        --------
        >>> import pandas as pd
        >>> from sidelight.constraints import Correspondences
        >>> known = Correspondences.from_ids(["ann", "bob"], ["bob", "cid"])
        >>> left = pd.DataFrame({"age": [31, 30]}, index=["bob", "ann"])
        >>> known.align([left, [[1.0], [2.0]]]).links
        array([[0, 0, 1, 0]])
        """
        self._check_number(views)
        aligned = self
        for view, (index, rows) in enumerate(zip(self._cache["indices"], views, strict=True)):
            if index is None:
                continue
            places = rows_in_order(index, self.sizes[view], rows, f"view {view}", hint=False)
            aligned = aligned if places is None else aligned.take(view, places)
        return aligned

    def stack(self, views: Sequence[Any]) -> tuple[Array, tuple[IntArray, ...]]:
        """Put the views side by side, one row per object, NaN where a view does not show it.

        Parameters
        ----------
        views : sequence of array-like of shape (sizes[v], n_features_v)
            The rows of each view; NaN where a value is missing. Several rows of one object are
            averaged.

        Returns
        -------
        table : ndarray of shape (n_objects, n_features_0 + n_features_1 + ...)
            One row per object.
        columns : tuple of ndarray
            Columns of the table that belong to each view.

        Examples
        --------
        >>> from sidelight.constraints import Correspondences
        >>> known = Correspondences([(0, 1)], [1, 2])
        >>> table, columns = known.stack([[[5.0]], [[1.0, 2.0], [3.0, 4.0]]])
        >>> table
        array([[ 5.,  3.,  4.],
               [nan,  1.,  2.]])
        >>> columns
        (array([0]), array([1, 2]))
        """
        known = self.align(views)
        arrays = known.check_views(views)
        blocks = [known._average(rows, of) for rows, of in zip(arrays, known.objects, strict=True)]
        widths = starts_of([block.shape[1] for block in blocks])
        columns = tuple(np.arange(a, b) for a, b in itertools.pairwise(widths))
        return np.hstack(blocks), columns

    def check_views(self, views: Sequence[Any]) -> list[Array]:
        """Return views as arrays of floating-point numbers after comparing them with the sizes."""
        self._check_number(views)
        for v, view in enumerate(views):
            check_in_memory(view, f"View {v}")
        arrays = [np.asarray(view) for view in views]
        for v, (rows, size) in enumerate(zip(arrays, self.sizes, strict=True)):
            if rows.ndim != 2 or len(rows) != size:
                raise SidelightError(
                    f"View {v} has the shape {rows.shape}, but the correspondences are about "
                    f"{counted(size, 'row')} of it; give a table of that many rows."
                )
        kind = np.result_type(np.float32, *arrays)
        if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise SidelightError("Views hold numbers; turn other columns into numbers first.")
        return [rows.astype(kind, copy=False) for rows in arrays]

    def name_row(self, view: int, row: int) -> str:
        """Words that name a row in a message: ``'ann' of view 0``, or ``row 17 of view 1``."""
        (name,) = canonical.name_rows([row], self.ids[view])
        return f"{name} of view {view}"

    def summary(self) -> str:
        """Short text of how many rows are linked and what was merged or dropped."""
        seen = (self.counts > 0).sum(axis=1)
        lines = [repr(self)[1:-1] + "."]
        for v, rows in enumerate(self.objects):
            linked = int((seen[rows] > 1).sum())
            lines.append(f"View {v}: {linked:,} of {counted(len(rows), 'row')} linked.")
        return "\n".join([*lines, *self.notes])

    def __repr__(self) -> str:
        sizes = listed([f"{size:,}" for size in self.sizes])
        return (
            f"<Correspondences of {counted(self.n_views, 'view')} of {sizes} rows: "
            f"{counted(self.n_links, 'link')}, {counted(self.n_objects, 'object')}, "
            f"{len(self.complete):,} of them in all views>"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Correspondences):
            return NotImplemented
        return (
            self.sizes == other.sizes
            and np.array_equal(self.links, other.links)
            and all(map(canonical.same, self.ids, other.ids))
        )

    def __hash__(self) -> int:
        return hash((self.sizes, self.links.tobytes(), *map(canonical.hashable, self.ids)))

    def __copy__(self) -> Correspondences:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Correspondences:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), np.array(self.links), self.sizes, self.ids, self.notes)

    # Rows can be taken, but there is nothing to go through one by one.
    __iter__ = None

    def _check_number(self, views: Sequence[Any]) -> None:
        if len(views) != self.n_views:
            raise SidelightError(
                f"The correspondences are about {counted(self.n_views, 'view')}, but "
                f"{counted(len(views), 'view')} were given."
            )

    def _average(self, rows: Array, objects: IntArray) -> Array:
        """Means of the rows of each object, NaN where there is none."""
        observed = ~np.isnan(rows)
        shape = (self.n_objects, len(rows))
        gather = sparse.csr_array((np.ones(len(rows)), (objects, np.arange(len(rows)))), shape)
        totals = gather @ np.where(observed, rows, 0.0).astype(np.float64)
        number = gather @ observed.astype(np.float64)
        means = np.full(totals.shape, np.nan)
        np.divide(totals, number, out=means, where=number > 0)
        return means.astype(rows.dtype)

    def _chains(self) -> list[str]:
        """Sentences about objects that one view shows several times, with the chain of links."""
        several = np.argwhere(self.counts > 1)
        notes = []
        graph = None
        for which, view in several[:CHAINS].tolist():
            if graph is None:
                ends, n = self._cache["ends"], sum(self.sizes)
                graph = sparse.csr_array((np.ones(len(ends)), ends.T), shape=(n, n))
            rows = np.flatnonzero(self.objects[view] == which)
            chain = self._chain(graph, *(starts_of(self.sizes)[view] + rows[:2]).tolist())
            a, b = canonical.name_rows(rows[:2], self.ids[view])
            notes.append(f"{a} and {b} of view {view} are one object, by the links {chain}.")
        if len(several) > CHAINS:
            more = counted(len(several) - CHAINS, "object")
            notes.append(f"{more} more with several rows of one view.")
        return notes

    def _chain(self, graph: Any, first: int, last: int) -> str:
        """Shortest chain of links between two rows, by their names."""
        _, before = breadth_first_order(graph, first, directed=False)
        path = [last]
        while path[-1] != first:
            path.append(int(before[path[-1]]))
        starts = starts_of(self.sizes)
        views = np.searchsorted(starts, path, side="right") - 1
        rows = np.asarray(path) - starts[views]
        named = zip(views[::-1].tolist(), rows[::-1].tolist(), strict=True)
        return " - ".join(self.name_row(view, row) for view, row in named)


def _rebuild(
    kind: type[Correspondences],
    links: IntArray,
    sizes: tuple[int, ...],
    ids: tuple[Array | None, ...],
    notes: tuple[str, ...],
) -> Correspondences:
    """Unpickle; arrays come back writable and have to be frozen again."""
    indices = tuple(None if own is None else RowIndex(frozen(own)) for own in ids)
    new = object.__new__(kind)
    new._set(links, sizes, indices, report=False)
    object.__setattr__(new, "notes", notes)
    return new
