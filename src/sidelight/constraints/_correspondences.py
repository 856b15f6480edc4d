"""The value object that says which rows of several views show the same object."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order

from sidelight._kernels.constraints.unionfind import join_pairs, number_components
from sidelight._typing import Array, IntArray
from sidelight._words import counted, listed
from sidelight.constraints.algebra import _canonical as canonical
from sidelight.constraints.algebra._canonical import RowIndex
from sidelight.constraints.algebra._operations import as_rows
from sidelight.constraints.algebra._plain import plain
from sidelight.constraints.exchange import _values as values
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    import pyarrow

#: So many objects with several rows of one view are told with their chains.
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
        stated = _as_positions(links, indices, counts)
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
        first = _starts(sizes)
        ends = np.column_stack(
            [first[stated[:, 0]] + stated[:, 1], first[stated[:, 2]] + stated[:, 3]]
        )
        merged, notes = canonical.merge_pairs(
            canonical.StatedPairs(ends), "link", int(first[-1]), None
        )
        ends = merged.rows
        object.__setattr__(self, "links", canonical.frozen(_by_view(ends, first)))
        object.__setattr__(self, "sizes", sizes)
        ids = tuple(None if index is None else index.ids for index in indices)
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "_cache", {"ends": ends, "indices": indices})
        told = [note.replace(" (largest weight kept)", "") for note in notes]  # links weigh nothing
        told = [*told, *self._chains()] if report else []
        object.__setattr__(self, "notes", tuple(told))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"Correspondences cannot be changed; make new ones to set {name!r}.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Correspondences cannot be changed; {name!r} stays.")

    @classmethod
    def from_ids(cls, *ids: Any) -> Correspondences:
        """Take rows of different views that have the same id for the same object.

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
        return new

    @classmethod
    def from_table(cls, table: Any, *, ids: Any = None, sizes: Any = None) -> Correspondences:
        """Take links from a table, one link per row.

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
            objects, n_objects = self._merge(self._cache["ends"])
            self._cache["n_objects"] = n_objects
            parts = np.split(objects, _starts(self.sizes)[1:-1])
            self._cache["objects"] = tuple(canonical.frozen(part.copy()) for part in parts)
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
        """Keep some rows of a view, numbered anew in the order given; the other views stay.

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
        which = _as_view(view, self.n_views)
        kept = as_rows(rows, self.sizes[which])
        sizes = tuple(len(kept) if v == which else n for v, n in enumerate(self.sizes))
        before, after = _starts(self.sizes), _starts(sizes)
        place = np.full(before[-1], -1, dtype=np.int64)
        for v, (old, new) in enumerate(zip(before[:-1], after[:-1], strict=True)):
            chosen = kept if v == which else np.arange(sizes[v])
            place[old + chosen] = new + np.arange(len(chosen))
        ends = place[self._cache["ends"]]
        ends = ends[(ends >= 0).all(axis=1)]
        objects = np.empty(after[-1], dtype=np.int64)
        objects[place[place >= 0]] = np.concatenate(self.objects)[place >= 0]
        ends = np.concatenate([ends, _rejoin(objects, ends)])
        indices = list(self._cache["indices"])
        index = indices[which]
        if index is not None:
            indices[which] = RowIndex(canonical.frozen(index.ids[kept]))
        taken = object.__new__(type(self))
        taken._set(_by_view(ends, after), sizes, tuple(indices), report=False)
        return taken

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
        arrays = self.check_views(views)
        blocks = [self._average(rows, of) for rows, of in zip(arrays, self.objects, strict=True)]
        widths = _starts([block.shape[1] for block in blocks])
        columns = tuple(np.arange(a, b) for a, b in itertools.pairwise(widths))
        return np.hstack(blocks), columns

    def check_views(self, views: Sequence[Any]) -> list[Array]:
        """Return views as arrays of floating-point numbers after comparing them with the sizes."""
        if len(views) != self.n_views:
            raise SidelightError(
                f"The correspondences are about {counted(self.n_views, 'view')}, but "
                f"{counted(len(views), 'view')} were given."
            )
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
        """Tell in a few lines how many rows are linked and what was merged or dropped."""
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
            and all(map(values.same, self.ids, other.ids))
        )

    def __hash__(self) -> int:
        return hash((self.sizes, self.links.tobytes(), *map(values.hashable, self.ids)))

    def __copy__(self) -> Correspondences:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Correspondences:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), np.array(self.links), self.sizes, self.ids, self.notes)

    # Rows can be taken, but there is nothing to go through one by one.
    __iter__ = None

    def _merge(self, ends: IntArray) -> tuple[IntArray, int]:
        """Object of every row of all views, and the number of objects."""
        return _components(int(sum(self.sizes)), ends)

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
            chain = self._chain(graph, *(_starts(self.sizes)[view] + rows[:2]).tolist())
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
        starts = _starts(self.sizes)
        views = np.searchsorted(starts, path, side="right") - 1
        rows = np.asarray(path) - starts[views]
        named = zip(views[::-1].tolist(), rows[::-1].tolist(), strict=True)
        return " - ".join(self.name_row(view, row) for view, row in named)


def as_views(sizes: Any, ids: Any) -> tuple[tuple[RowIndex | None, ...], tuple[int, ...]]:
    """Index of the ids, and number of rows, of each view."""
    if ids is None and sizes is None:
        raise SidelightError(
            "The number of rows of each view is needed: pass sizes=[len(X1), len(X2)], or ids= to "
            "use your own ids."
        )
    named = [None] * len(sizes) if ids is None else list(ids)
    counts = [None] * len(named) if sizes is None else list(sizes)
    if len(named) != len(counts):
        raise SidelightError(f"There are ids of {len(named)} views and sizes of {len(counts)}.")
    if len(named) < 2:
        raise SidelightError("Correspondences are about two views or more.")
    indices: list[RowIndex | None] = []
    found: list[int] = []
    for view, (own, count) in enumerate(zip(named, counts, strict=True)):
        try:
            index = None
            if own is not None:
                index = RowIndex(canonical.frozen(np.array(canonical.as_ids(own))))
                canonical.check_unique(index)
            indices.append(index)
            found.append(canonical.number_of_rows(count, index))
        except SidelightError as error:
            raise SidelightError(f"View {view}: {error}") from error
    return tuple(indices), tuple(found)


def _as_positions(
    links: Any, indices: tuple[RowIndex | None, ...], sizes: tuple[int, ...]
) -> IntArray:
    """Links as an (m, 4) array of views and positions."""
    columns = _link_columns(links, len(sizes))
    if columns is None:
        return np.empty((0, 4), np.int64)
    ends = []
    for views, rows in (columns[:2], columns[2:]):
        which = _check_view_numbers(views, len(sizes))
        position = np.empty(len(which), np.int64)
        for view in np.unique(which).tolist():
            own = which == view
            given = rows[own].reshape(-1, 1).repeat(2, axis=1)
            what = f"links, for view {view},"
            position[own] = canonical.as_positions(given, what, indices[view], sizes[view])[:, 0]
        ends += [which, position]
    return np.column_stack(ends)


def _link_columns(links: Any, n_views: int) -> list[Array] | None:
    """View and row of both ends of every link; None where there are no links."""
    if links is None:
        return None
    if not isinstance(links, np.ndarray) and not hasattr(links, "__array__"):
        rows = [tuple(link) for link in links]
        if len({len(row) for row in rows}) > 1:
            raise SidelightError("links must be rows of two or of four entries, all of one kind.")
        columns = [plain(list(column)) for column in zip(*rows, strict=True)]
    else:
        array = np.asarray(links)
        if array.size and array.ndim != 2:
            raise SidelightError(f"links must have the shape (m, 2) or (m, 4), not {array.shape}.")
        columns = [plain(column) for column in array.T] if array.size else []
    if not columns:
        return None
    if len(columns) == 2 and n_views == 2:
        m = len(columns[0])
        return [np.zeros(m, np.int64), columns[0], np.ones(m, np.int64), columns[1]]
    if len(columns) != 4:
        pairs = ", or pairs (row_i, row_j)" if n_views == 2 else ""
        raise SidelightError(
            f"links are rows (view_i, row_i, view_j, row_j){pairs}; these have "
            f"{counted(len(columns), 'entry', 'entries')}."
        )
    return columns


def _check_view_numbers(views: Array, n_views: int) -> IntArray:
    which = canonical.whole_numbers(views, "Views in links are counted from 0")
    bad = (which < 0) | (which >= n_views)
    if bad.any():
        raise SidelightError(
            f"links name view {int(which[bad][0])}, but there are {n_views} views (0 to "
            f"{n_views - 1})."
        )
    return which


def _as_view(view: Any, n_views: int) -> int:
    (which,) = _check_view_numbers(np.asarray([view]), n_views).tolist()
    return int(which)


def _starts(sizes: Sequence[int]) -> IntArray:
    """Number of the first row of each view when all rows are counted through, and of all."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _by_view(ends: IntArray, starts: IntArray) -> IntArray:
    """Links as (view, row, view, row) from rows that are counted through all views."""
    views = np.searchsorted(starts, ends, side="right") - 1
    rows = ends - starts[views]
    return np.column_stack([views[:, 0], rows[:, 0], views[:, 1], rows[:, 1]]).astype(np.int64)


def _components(n: int, ends: IntArray) -> tuple[IntArray, int]:
    """Component of each of ``n`` rows, numbered by its first row, and how many there are."""
    parent = np.arange(n, dtype=np.int64)
    join_pairs(parent, np.ascontiguousarray(ends, dtype=np.int64))
    component = np.empty(n, dtype=np.int64)
    return component, int(number_components(parent, component))


def _rejoin(objects: IntArray, ends: IntArray) -> IntArray:
    """Links between the parts into which objects fell, from the first row of each."""
    parts, _ = _components(len(objects), ends)
    _, first_of_part = np.unique(parts, return_index=True)
    owner = objects[first_of_part]
    order = np.lexsort((first_of_part, owner))
    owner, rows = owner[order], first_of_part[order]
    new = np.flatnonzero(np.diff(owner) == 0) + 1
    heads = np.flatnonzero(np.diff(owner, prepend=-1))
    head = rows[heads[np.searchsorted(heads, new, side="right") - 1]]
    return np.column_stack([head, rows[new]]).astype(np.int64)


def _rebuild(
    kind: type[Correspondences],
    links: IntArray,
    sizes: tuple[int, ...],
    ids: tuple[Array | None, ...],
    notes: tuple[str, ...],
) -> Correspondences:
    """Unpickle; arrays come back writable and have to be frozen again."""
    indices = tuple(None if own is None else RowIndex(canonical.frozen(own)) for own in ids)
    new = object.__new__(kind)
    new._set(links, sizes, indices, report=False)
    object.__setattr__(new, "notes", notes)
    return new
