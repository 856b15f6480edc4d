"""Bi-sets of a 0/1 table, and the search for those that satisfy what is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from sidelight._fit.parameters import Count, Parameter, Whole
from sidelight._in_memory import check_in_memory
from sidelight._kernels.cluster.coclustering import admission
from sidelight._kernels.cluster.coclustering.admission import admit
from sidelight._kernels.cluster.coclustering.bits import ALL
from sidelight._kernels.cluster.coclustering.concepts import (
    mine,
    pack,
    sizes,
    unpack,
    write_indices,
)
from sidelight._progress import stage_progress
from sidelight._typing import Array, IntArray
from sidelight._words import counted, setting
from sidelight.cluster.coclustering._binary import as_binary
from sidelight.cluster.coclustering._sides import TwoSides, prepare
from sidelight.cluster.coclustering._statements import TableStatements, Variant, gather
from sidelight.constraints import Constraints, CrossLinks, Ordering
from sidelight.exceptions import SidelightError


@dataclass(frozen=True, eq=False, repr=False)
class Concepts:
    """Bi-sets of a table: pairs of a set of rows and a set of columns that have a one in common.

    Made by :func:`mine_concepts`. Sets are kept as bits, eight elements to a byte; arrays and
    sparse matrices are made when they are asked for.

    Attributes
    ----------
    row_words, column_words : ndarray of uint64, shape (n_concepts, n_words)
        Sets of rows and of columns: element ``i`` is bit ``i % 64`` of word ``i // 64``.
    n_rows, n_columns : int
        Size of the table.

    Examples
    --------
    >>> from sidelight.cluster import mine_concepts
    >>> concepts = mine_concepts([[1, 1, 0], [1, 1, 1]])
    >>> concepts
    <Concepts: 2 bi-sets of 2 rows and 3 columns>
    >>> [(rows.tolist(), columns.tolist()) for rows, columns in concepts]
    [([0, 1], [0, 1]), ([1], [0, 1, 2])]
    """

    row_words: Array
    column_words: Array
    n_rows: int
    n_columns: int

    def __len__(self) -> int:
        return len(self.row_words)

    def __repr__(self) -> str:
        table = f"{counted(self.n_rows, 'row')} and {counted(self.n_columns, 'column')}"
        return f"<Concepts: {counted(len(self), 'bi-set')} of {table}>"

    def __getitem__(self, place: int) -> tuple[IntArray, IntArray]:
        """Rows and columns of one bi-set."""
        return (
            np.flatnonzero(unpack(self.row_words[place][None], self.n_rows)[0]),
            np.flatnonzero(unpack(self.column_words[place][None], self.n_columns)[0]),
        )

    def __iter__(self) -> Iterator[tuple[IntArray, IntArray]]:
        return (self[place] for place in range(len(self)))

    @property
    def row_sizes(self) -> IntArray:
        """Number of rows of every bi-set."""
        return np.asarray(sizes(self.row_words))

    @property
    def column_sizes(self) -> IntArray:
        """Number of columns of every bi-set."""
        return np.asarray(sizes(self.column_words))

    def rows(self) -> sparse.csr_array:
        """0/1 matrix of the rows of every bi-set, shape (n_concepts, n_rows)."""
        return _matrix(self.row_words, self.n_rows)

    def columns(self) -> sparse.csr_array:
        """0/1 matrix of the columns of every bi-set, shape (n_concepts, n_columns)."""
        return _matrix(self.column_words, self.n_columns)


def _matrix(words: Any, n_elements: int) -> sparse.csr_array:
    indptr = np.zeros(len(words) + 1, np.int64)
    np.cumsum(sizes(words), out=indptr[1:])
    indices = write_indices(words, indptr)
    ones = np.ones(len(indices), np.uint8)
    return sparse.csr_array((ones, indices, indptr), shape=(len(words), n_elements))


#: Concepts that are found before Ctrl-C and the limits are looked at.
CHUNK = 8_192

#: Nodes of the search before Ctrl-C is looked at, where few of them are concepts.
NODES = 200_000

#: Most memory for bi-sets.
MAX_BYTES = 2 * 1024**3


@dataclass(frozen=True, eq=False)
class Found:
    """Bi-sets that satisfy what is known, and why elements have lost theirs.

    Attributes
    ----------
    concepts : Concepts
        The bi-sets.
    removed : ndarray of bool, shape (5, n_rows + n_columns)
        Whether a kind of constraint (``admission.MUST_LINK`` and so on) removed a bi-set that
        covers an element.
    emptied : ndarray of bool, shape (n_rows + n_columns,)
        Elements that have ones of which none is left in the table of joined elements.
    """

    concepts: Concepts
    removed: Array
    emptied: Array

    def covers(self) -> Array:
        """Whether every row and column is in some bi-set, shape (n_rows + n_columns,)."""
        sets = self.concepts
        every = [
            np.bitwise_or.reduce(words, axis=0) for words in (sets.row_words, sets.column_words)
        ]
        return np.concatenate(
            [
                unpack(words[None], n)[0].astype(bool)
                for words, n in zip(every, (sets.n_rows, sets.n_columns), strict=True)
            ]
        )


def mine_concepts(
    X: Any,
    *,
    min_rows: int = 1,
    min_columns: int = 1,
    max_concepts: int = 1_000_000,
    constraints: Constraints | None = None,
    column_constraints: Constraints | None = None,
    cross_constraints: CrossLinks | None = None,
    row_order: Ordering | None = None,
    column_order: Ordering | None = None,
    verbose: int | bool = 0,
) -> Concepts:
    """Find all formal concepts of a 0/1 table: its largest rectangles of ones.

    A formal concept is a set of rows ``T`` and a set of columns ``G`` such that ``T`` are all rows
    with ones in every column of ``G``, and ``G`` all columns with ones in every row of ``T``.
    Their number can grow exponentially with the table; minimum sizes keep it small, and are used
    during the search.

    The concepts are those of D-Miner (Besson, Robardet, Boulicaut, Rome 2005; Constrained
    Clustering, section 6.3); they are found by Close by One (Kuznetsov 1993) over bitsets, which
    goes through the columns, or the rows where they are fewer.

    Parameters
    ----------
    X : array, CSR matrix or data frame of shape (n_rows, n_columns)
        Zeros and ones.
    min_rows, min_columns : int >= 0, default=1
        Fewest rows and columns of a concept. With 0 the two trivial ones are kept: all rows with
        the columns that they share, and all columns with the rows that have all of them.
    max_concepts : int >= 1, default=1000000
        Most concepts; more raise an error.
    constraints, column_constraints, cross_constraints, row_order, column_order
        Side information, as in :meth:`CDKMeans.fit`. Concepts that hold only one of two elements
        that belong together, both of two that must be apart, or members with other gaps than an
        order allows, are left out. Cannot-links and smallest gaps end a branch of the search; the
        others are checked as concepts are found.
    verbose : int, default=0
        Whether to show progress.

    Returns
    -------
    concepts : Concepts
        The bi-sets, in the order in which they were found.

    Examples
    --------
    >>> from sidelight.cluster import mine_concepts
    >>> len(mine_concepts([[1, 0, 1], [0, 1, 1], [1, 1, 0]]))
    6
    >>> len(mine_concepts([[1, 0, 1], [0, 1, 1], [1, 1, 0]], min_rows=2))
    3
    """
    for name, value, kind in (
        ("min_rows", min_rows, Whole),
        ("min_columns", min_columns, Whole),
        ("max_concepts", max_concepts, Count),
    ):
        Parameter(name, kind, kind, "").check(value)
    check_in_memory(X)
    names = getattr(X, "columns", None)
    rows = check_array(X, accept_sparse="csr")
    # Side information of rows and columns, with ids and orders brought to positions.
    known = gather(
        X,
        Constraints(n_samples=rows.shape[0]) if constraints is None else constraints.align(X),
        rows.shape[1],
        None if names is None else np.array([str(name) for name in names]),
        columns=column_constraints,
        cross=cross_constraints,
        row_order=row_order,
        column_order=column_order,
    )
    # As published: concepts that violate a constraint are left out, not mended.
    return find_bi_sets(
        as_binary(rows, X),
        known,
        variant="published",
        min_rows=min_rows,
        min_columns=min_columns,
        max_concepts=max_concepts,
        description="Search for concepts",
        verbose=verbose,
    ).concepts


def find_bi_sets(
    table: Array,
    known: TableStatements,
    *,
    variant: Variant,
    min_rows: int,
    min_columns: int,
    max_concepts: int,
    description: str,
    verbose: int | bool,
) -> Found:
    """Find the bi-sets of a table that satisfy what is known.

    With ``variant="default"`` those of the table in which elements that belong together are one;
    they may have elements that must be apart.
    """
    sides = prepare(table, known, variant)
    turned = sides.rows.n_elements < sides.columns.n_elements
    search = _BiSetSearch(sides, known, variant, min_rows, min_columns, turned)
    most = max(1, min(max_concepts, MAX_BYTES // search.bytes_each))
    kept: list[tuple[Array, Array]] = []
    n_kept = 0
    with stage_progress(description, verbose=verbose) as progress:
        for rows, columns in search.chunks():
            kept.append((rows, columns))
            n_kept += len(rows)
            progress.step(n_steps=len(rows))
            if n_kept > most:
                raise _too_many(kept, most, max_concepts)
    words = [np.concatenate(part) for part in zip(*kept, strict=True)]
    if search.mend:
        words = _without_copies(*words)
    emptied = np.concatenate(
        [
            _emptied(table, sides.table, sides.rows.element),
            _emptied(table.T, sides.table.T, sides.columns.element),
        ]
    )
    return Found(Concepts(words[0], words[1], *table.shape), search.removed(), emptied)


def _emptied(table: Array, joined: Array, element: IntArray) -> Array:
    """Rows that have ones, of whose element none is left."""
    left = np.asarray(joined.any(axis=1))
    return np.asarray(table.any(axis=1)) & ~left[element]


class _BiSetSearch:
    """Search for bi-sets over the elements of two sides, by the side with fewer of them."""

    def __init__(
        self,
        sides: TwoSides,
        known: TableStatements,
        variant: Variant,
        min_rows: int,
        min_columns: int,
        turned: bool,
    ) -> None:
        self.sides, self.turned = sides, turned
        published = variant == "published"
        self.edges = known.edges if published else known.edges[:0]
        self.mend = not published and len(sides.joined) > 0
        self.objects, self.attributes = sides.rows, sides.columns
        self.least = (min_rows, min_columns)
        table = sides.table
        if turned:
            self.objects, self.attributes = sides.columns, sides.rows
            self.least = (min_columns, min_rows)
            table = table.T
        self.by_object = pack(np.ascontiguousarray(table))
        self.by_attribute = pack(np.ascontiguousarray(table.T))
        self._removed = [
            np.zeros((5, words.shape[1]), np.uint64)
            for words in (self.by_attribute, self.by_object)
        ]
        self._pruned = [words[:2].copy() for words in self._removed]

    @property
    def bytes_each(self) -> int:
        """Memory for one bi-set."""
        return 8 * sum(_words_for(side.n_original) for side in (self.objects, self.attributes))

    def chunks(self) -> Iterator[tuple[Array, Array]]:
        """Bi-sets as bits of rows and of columns, some at a time; at least one chunk."""
        widths = [_words_for(side.n_original) for side in (self.objects, self.attributes)]
        for found, n_found in self._concepts():
            objects, attributes = (np.empty((n_found, width), np.uint64) for width in widths)
            n_kept = self._admit(found, n_found, (objects, attributes))
            kept = objects[:n_kept], attributes[:n_kept]
            yield kept[::-1] if self.turned else kept

    def removed(self) -> Array:
        """Whether a kind of constraint removed a bi-set that covers an element."""
        flags = []
        for side, words, pruned in zip(
            (self.objects, self.attributes), self._removed, self._pruned, strict=True
        ):
            of_elements = unpack(words, side.n_elements).astype(bool)
            early = unpack(pruned, side.n_elements).astype(bool)
            of_elements[[admission.CANNOT_LINK, admission.COLUMN_ORDER]] |= early
            flags.append(of_elements[:, side.element])
        if not self.turned:
            return np.concatenate(flags, axis=1)
        both = np.concatenate(flags[::-1], axis=1)
        orders = [admission.ROW_ORDER, admission.COLUMN_ORDER]
        both[orders] = both[orders[::-1]]
        return both

    def _concepts(self) -> Iterator[tuple[tuple[Array, Array], int]]:
        """Concepts of the table of elements, in buffers that are used again."""
        n_attributes, n_words = self.by_attribute.shape
        n_other = self.by_object.shape[1]
        stack = [
            np.empty((64 * (n_attributes + 1), width), np.uint64)
            for width in (n_words, n_other, n_other)
        ]
        start = np.zeros(len(stack[0]), np.int64)
        everything = _all_of(len(self.by_object), n_words)
        stack[0][0], stack[2][0] = everything, _all_of(n_attributes, n_other)
        stack[1][0] = np.bitwise_and.reduce(self.by_object, axis=0)
        found = np.empty((CHUNK, n_words), np.uint64), np.empty((CHUNK, n_other), np.uint64)
        attributes = self.attributes
        prune = len(self.edges) and np.any(attributes.vertex >= 0)
        apart = self._apart() if prune else np.empty((0, n_other), np.uint64)
        lowest = attributes.gaps[0]
        top = int(self.objects.n_original >= self.least[0])
        if not top:
            yield found, 0
        while top:
            top, n_found = mine(
                self.by_attribute,
                self.by_object,
                self.objects.weight,
                attributes.weight,
                *self.least,
                apart,
                attributes.at if lowest > 0 else attributes.at[:0],
                lowest,
                bool(attributes.gaps[2]),
                stack[0],
                stack[1],
                stack[2],
                start,
                top,
                *found,
                self._pruned[0],
                self._pruned[1],
                NODES,
            )
            yield found, n_found
            if top + n_attributes > len(start):
                stack = [np.concatenate([part, np.empty_like(part)]) for part in stack]
                start = np.concatenate([start, np.zeros_like(start)])

    def _admit(self, found: tuple[Array, Array], n_found: int, kept: tuple[Array, Array]) -> int:
        objects, attributes = self.objects, self.attributes
        n_kept: int = admit(
            *found,
            n_found,
            objects.vertex,
            attributes.vertex,
            self.edges,
            self._joined(),
            self.mend,
            objects.at,
            objects.gaps,
            attributes.at,
            attributes.gaps,
            objects.indptr,
            objects.members,
            attributes.indptr,
            attributes.members,
            *self.least,
            *kept,
            *self._removed,
        )
        return n_kept

    def _joined(self) -> IntArray:
        """Elements that go together, with the objects before the attributes."""
        joined = self.sides.joined
        if not self.turned:
            return joined
        n_rows, n_columns = self.sides.rows.n_elements, self.sides.columns.n_elements
        return np.where(joined < n_rows, joined + n_columns, joined - n_rows)

    def _apart(self) -> Array:
        """Attributes that must not go with each attribute."""
        vertex = self.attributes.vertex
        with_edges = unpack(self.edges, len(self.edges)).astype(bool)
        apart = np.zeros((len(vertex), len(vertex)), dtype=bool)
        ends = np.flatnonzero(vertex >= 0)
        apart[np.ix_(ends, ends)] = with_edges[np.ix_(vertex[ends], vertex[ends])]
        return np.asarray(pack(apart))


def _words_for(n_elements: int) -> int:
    return (n_elements + 63) // 64


def _all_of(n_elements: int, n_words: int) -> Array:
    """The set of all elements."""
    words = np.full(n_words, ALL, np.uint64)
    if n_elements % 64:
        words[-1] = np.uint64((1 << (n_elements % 64)) - 1)
    return words


def _without_copies(rows: Array, columns: Array) -> list[Array]:
    """Drop bi-sets that several concepts were parted into."""
    both = np.ascontiguousarray(np.concatenate([rows, columns], axis=1))
    keys = both.view(f"V{both.shape[1] * 8}").ravel()
    first = np.sort(np.unique(keys, return_index=True)[1])
    return [rows[first], columns[first]]


def _too_many(kept: list[tuple[Array, Array]], most: int, max_concepts: int) -> SidelightError:
    """Error with the number of bi-sets, and with least sizes that would leave half of them."""
    sample = [Concepts(rows, columns, 0, 0) for rows, columns in kept[:20]]
    rows, columns = (
        int(np.median(np.concatenate([getattr(one, name) for one in sample]))) + 1
        for name in ("row_sizes", "column_sizes")
    )
    limit = (
        setting("max_concepts", f"{max_concepts}")
        if most == max_concepts
        else f"the {most:,} that fit into {MAX_BYTES // 1024**3} GiB"
    )
    return SidelightError(
        f"The table has more bi-sets than {limit}, and the search was ended. Ask for larger ones: "
        f"half of the {counted(sum(len(one) for one in sample), 'bi-set')} found first would stay "
        f"with {setting('min_rows', rows)}, half with {setting('min_columns', columns)}. Or raise "
        f"{setting('max_concepts')}, or make the table emptier with a higher threshold."
    )
