"""The value object that holds the constraints on rows: links, labels and groups."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import worded
from sidelight.constraints import _shown
from sidelight.constraints.algebra import _alignment as alignment
from sidelight.constraints.algebra import _canonical as canonical
from sidelight.constraints.algebra import _operations as algebra
from sidelight.constraints.algebra._canonical import RowIndex, StatedPairs, Statements
from sidelight.constraints.algebra._closure import Closure, close, feasibility
from sidelight.constraints.algebra._contraction import Contraction, contract_array
from sidelight.constraints.algebra._plain import as_codes, frozen, plain
from sidelight.constraints.algebra._violations import Violations, find_violations
from sidelight.constraints.algebra._witness import explain, find_witness
from sidelight.constraints.exchange import _describe as words
from sidelight.exceptions import InconsistentConstraints, SidelightError

if TYPE_CHECKING:
    import pyarrow

    from sidelight.assignment import Feasibility
    from sidelight.constraints._quality import Quality


class Constraints:
    """Constraints on rows: must-links, cannot-links, partial labels, groups.

    The object never changes; everything that looks like a change makes a new one. Pairs are kept
    as positions ``i < j``, sorted and unique; a repeated pair keeps its largest weight.

    Parameters
    ----------
    must_link, cannot_link : array-like of shape (m, 2), optional
        Rows that belong together, and rows that must be apart: positions, or ids when ``ids`` is
        given.
    n_samples : int, optional
        Number of rows; by default that of ids, labels or groups.
    must_link_weight, cannot_link_weight : array-like of shape (m,) or float, optional
        Confidence in each pair, positive; 1 by default.
    labels : array-like of shape (n_samples,), optional
        Known classes, of any type that has a text (numbers, words, bytes, dates, tuples ...);
        -1, None, NaN, NaT, NA or an empty word where the class is not known. Rows of one class
        belong together, rows of two classes must be apart. Classes are compared by their text.
        The word "nan" is what NumPy makes of a missing value among words: it is taken for unknown,
        with a warning.
    groups : array-like of shape (n_samples,), optional
        Known groups (chunklets), with the same words for unknown. Rows of one group belong
        together; two groups may or may not.
        Labels and groups may also be a mapping from ids to classes, or a pandas Series whose index
        holds the ids; rows that they leave out are unknown.
    ids : array-like of shape (n_samples,), optional
        Your own names of the rows, all different; by default the index of labels or groups that
        are a pandas Series with an index of its own. A data frame is put in their order by its
        index, see :meth:`align`.

    Attributes
    ----------
    n_samples : int
        Number of rows.
    must_link, cannot_link : ndarray of shape (m, 2), int64
        Stated pairs of positions.
    must_link_weight, cannot_link_weight : ndarray of shape (m,), float64
        Their weights.
    labels, groups : ndarray of shape (n_samples,), int64, or None
        Codes into the names, -1 for unknown; None where nothing is known.
    label_names, group_names : ndarray
        Sorted names of the classes and groups.
    ids : ndarray of shape (n_samples,) or None
        Names of the rows.
    notes : tuple of str
        What was merged or dropped while reading the statements.

    References
    ----------
    Basu, Davidson and Wagstaff (eds.), *Constrained Clustering* (2009), chapter 1.

    Examples
    --------
    >>> from sidelight import Constraints
    >>> known = Constraints([("ann", "bob")], [("bob", "cid")], ids=["ann", "bob", "cid", "dan"])
    >>> known
    <Constraints on 4 rows 'ann' to 'dan': 1 must-link, 1 cannot-link>
    >>> known.components()
    array([0, 0, 1, 2])
    >>> known.closure().n_entailed_cannot_link
    2
    """

    __slots__ = (*canonical.FIELDS, "_cache", "notes")

    n_samples: int
    must_link: IntArray
    cannot_link: IntArray
    must_link_weight: FloatArray
    cannot_link_weight: FloatArray
    labels: IntArray | None
    label_names: Array
    groups: IntArray | None
    group_names: Array
    ids: Array | None
    notes: tuple[str, ...]
    _cache: dict[str, Any]

    def __init__(
        self,
        must_link: Any = None,
        cannot_link: Any = None,
        *,
        n_samples: int | None = None,
        must_link_weight: Any = None,
        cannot_link_weight: Any = None,
        labels: Any = None,
        groups: Any = None,
        ids: Any = None,
    ) -> None:
        labels, groups = map(alignment.with_rows, (labels, groups))
        names = ids
        if ids is None:
            names = alignment.adopted_ids((must_link, cannot_link), labels=labels, groups=groups)
        index = None
        if names is not None:
            index = RowIndex(frozen(np.array(canonical.as_ids(names))))
            canonical.check_unique(index)
        n = canonical.number_of_rows(n_samples, index, labels, groups)
        label_values, group_values = (
            None if given is None else alignment.by_id(given, index, n, what, ids)
            for given, what in ((labels, "labels"), (groups, "groups"))
        )
        stated = Statements(
            StatedPairs(canonical.as_positions(must_link, "must_link", index, n), must_link_weight),
            StatedPairs(
                canonical.as_positions(cannot_link, "cannot_link", index, n), cannot_link_weight
            ),
            as_codes(label_values, n, "labels"),
            as_codes(group_values, n, "groups"),
        )
        self._set(**canonical.canonical_fields(n, index, stated, report=True))

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"Constraints cannot be changed; make a new one to set {name!r}.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Constraints cannot be changed; {name!r} stays.")

    @classmethod
    def from_labels(cls, y: Any, ids: Any = None) -> Constraints:
        """Constraints from known classes; -1, None, NaN or an empty word where unknown."""
        return cls(labels=y, ids=ids)

    @classmethod
    def from_groups(cls, g: Any, ids: Any = None) -> Constraints:
        """Constraints from groups of rows (chunklets); -1 and the like for rows in no group."""
        return cls(groups=g, ids=ids)

    @classmethod
    def from_table(
        cls, table: Any, *, ids: Any = None, n_samples: int | None = None
    ) -> Constraints:
        """Constraints from a table in the long format, one statement per row.

        Parameters
        ----------
        table : pandas, polars or pyarrow table, or mapping of columns
            Columns ``i``, ``j``, ``kind`` and optionally ``weight``. The kinds are ``must-link``
            and ``cannot-link`` (also ML and CL, same and different, +1 and -1), ``label`` (``j``
            is the class of ``i``) and ``group`` (``j`` is the group of ``i``).
        ids : array-like, optional
            Names of all rows; without them ``i`` and ``j`` are positions.
        n_samples : int, optional
            Number of rows, where there are no ids.

        Examples
        --------
        >>> from sidelight import Constraints
        >>> table = {"i": ["ann", "bob"], "j": ["bob", "cid"], "kind": ["same", "different"]}
        >>> Constraints.from_table(table, ids=["ann", "bob", "cid"])
        <Constraints on 3 rows 'ann' to 'cid': 1 must-link, 1 cannot-link>
        """
        from sidelight.constraints.exchange._tables import (
            from_columns,
            table_columns,
            table_trouble,
        )

        blank = cls(n_samples=n_samples, ids=ids)
        return from_columns(blank, table_columns(table), table_trouble)

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], *, ids: Any = None, n_samples: int | None = None
    ) -> Constraints:
        """Read a file in the long format of :meth:`from_table`: CSV, TSV, JSON or Parquet.

        A JSON file is a list of objects with the names of the columns. What ``known.write(path)``
        wrote comes back equal from ``Constraints.read(path, ids=known.ids)``, or with
        ``n_samples=known.n_samples`` where there are no ids.
        """
        from sidelight.constraints.exchange._files import read_file

        return read_file(cls(n_samples=n_samples, ids=ids), path)

    def to_table(self) -> pyarrow.Table:
        """Statements as an Arrow table in the long format, rows named by their ids."""
        from sidelight.constraints.exchange._tables import to_table

        return to_table(self)

    def write(self, path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> None:
        """Write a file in the long format, by its ending .csv, .csv.gz, .tsv, .json or .parquet.

        The file is written beside and then renamed, so that it is never there by half. With
        ``spreadsheet_safe``, texts in a CSV file that a spreadsheet would run as formulas (they
        begin with ``=``, ``+``, ``-`` or ``@`` and are no numbers) get an apostrophe in front;
        :meth:`read` finds their rows with and without it.
        """
        from sidelight.constraints.exchange._files import write_file

        write_file(self, path, spreadsheet_safe=spreadsheet_safe)

    @classmethod
    def sample(
        cls,
        y: Any,
        n: int | None = None,
        *,
        protocol: str = "random",
        level: float | None = None,
        fraction: float | None = None,
        size: int | None = None,
        n_teachers: int | None = None,
        random_state: Any = None,
        ids: Any = None,
    ) -> Constraints:
        """Draw constraints that a known labeling satisfies, by a protocol of the literature.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Classes; rows of unknown class (-1) are never drawn.
        n : int, optional
            Number of pairs.
        protocol : {"random", "level", "disjoint", "balanced", "chunklets", "teachers"}
            See :mod:`sidelight.constraints._sampling`.
        level : float, optional
            Pairs per row, for the protocol ``"level"``.
        fraction : float, optional
            Share of the rows that are in chunklets.
        size : int, optional
            Rows of a chunklet, or rows that a teacher sees.
        n_teachers : int, optional
            Number of teachers.
        random_state : int, RandomState or None
            Seed of the draw.
        ids : array-like, optional
            Names of the rows.
        """
        from sidelight.constraints import _sampling as sampling

        ids = alignment.own_ids(y) if ids is None else ids
        blank = cls(n_samples=len(plain(y)), ids=ids)
        classes = as_codes(plain(y), blank.n_samples, "y")
        if classes is None:
            what = worded("y", "the column of classes")
            raise SidelightError(f"{what} knows no class, so that nothing can be drawn from it.")
        if protocol == "chunklets":
            groups = sampling.sample_chunklets(
                classes.codes, fraction=fraction, size=size, random_state=random_state
            )
            return cls(groups=groups, ids=ids)
        must_link, cannot_link = sampling.sample_pairs(
            classes.codes,
            n,
            protocol=protocol,
            level=level,
            size=size,
            n_teachers=n_teachers,
            random_state=random_state,
        )
        return blank._derive(Statements(StatedPairs(must_link), StatedPairs(cannot_link)))

    def _derive(
        self, statements: Statements, rows: IntArray | None = None, *, report: bool = False
    ) -> Constraints:
        """Make an object about the same rows, or about some of them, from other statements.

        With ``report`` its notes list which of the statements were merged or dropped.
        """
        n, index = self.n_samples, self._cache["index"]
        if rows is not None:
            n = len(rows)
            index = None if index is None else RowIndex(frozen(index.ids[rows]))
        new = object.__new__(type(self))
        new._set(**canonical.canonical_fields(n, index, statements, report=report))
        return new

    @property
    def shape(self) -> tuple[int]:
        """``(n_samples,)``: scikit-learn's metadata routing slices what has one entry per row."""
        return (self.n_samples,)

    @property
    def row_index(self) -> RowIndex | None:
        """Position of each id; None where there are no ids."""
        index: RowIndex | None = self._cache["index"]
        return index

    @property
    def n_pairs(self) -> int:
        """Number of stated pairs."""
        return sum(len(getattr(self, kind.field)) for kind in canonical.PAIR_KINDS)

    @property
    def has_labels(self) -> bool:
        """Whether the class of some row is known."""
        return self.labels is not None

    @property
    def has_groups(self) -> bool:
        """Whether some row is in a group."""
        return self.groups is not None

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is known."""
        return self.n_pairs == 0 and not self.has_labels and not self.has_groups

    @property
    def counts(self) -> dict[str, int]:
        """Number of statements by kind: must-links, cannot-links, labels, members of groups.

        Examples
        --------
        >>> from sidelight import Constraints
        >>> Constraints([(0, 3)], labels=[-1, 7, -1, -1]).counts
        {'must_link': 1, 'cannot_link': 0, 'labels': 1, 'groups': 0}
        """
        counts = {kind: len(getattr(self, kind)) for kind in ("must_link", "cannot_link")}
        for kind, codes in (("labels", self.labels), ("groups", self.groups)):
            counts[kind] = 0 if codes is None else int(np.count_nonzero(codes >= 0))
        return counts

    @property
    def mentioned(self) -> IntArray:
        """Positions of the rows that some statement mentions, ascending.

        Examples
        --------
        >>> from sidelight import Constraints
        >>> Constraints([(0, 3)], labels=[-1, 7, -1, -1]).mentioned
        array([0, 1, 3])
        """
        if "mentioned" not in self._cache:
            marked = np.zeros(self.n_samples, dtype=bool)
            for kind in canonical.PAIR_KINDS:
                marked[getattr(self, kind.field)] = True
            for kind in canonical.CLASS_KINDS:
                codes = getattr(self, kind.field)
                if codes is not None:
                    marked |= codes >= 0
            self._cache["mentioned"] = frozen(np.flatnonzero(marked))
        rows: IntArray = self._cache["mentioned"]
        return rows

    def position(self, row_id: Any) -> int:
        """Position of the row with this id (or of this position, when there are no ids)."""
        (row,) = canonical.as_positions(
            [(row_id, row_id)], "position", self._cache["index"], self.n_samples
        )
        return int(row[0])

    def id_of(self, position: int) -> Any:
        """Id of a row; its position when there are no ids."""
        row = canonical.as_row(position, self.n_samples)
        return row if self.ids is None else self.ids[row : row + 1].tolist()[0]

    def name_rows(self, positions: Any) -> list[str]:
        """Words that name rows in a message: ``'ann'`` by id, or ``row 17`` without ids."""
        return canonical.name_rows(positions, self.ids)

    def describe_pairs(self, pairs: Any) -> list[str]:
        """Words that name pairs in a message, such as ``'ann' - 'bob'``."""
        return [" - ".join(self.name_rows(pair)) for pair in pairs]

    def __repr__(self) -> str:
        return _shown.line(self)

    def _repr_html_(self) -> str:
        return _shown.table(self)

    def summary(self) -> str:
        """Short text of what is stated, what follows, and what was merged or dropped."""
        return words.summarize(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constraints):
            return NotImplemented
        return self is other or all(
            map(canonical.same, canonical.state(self), canonical.state(other))
        )

    def __hash__(self) -> int:
        if "hash" not in self._cache:
            self._cache["hash"] = hash(tuple(map(canonical.hashable, canonical.state(self))))
        return int(self._cache["hash"])

    def __copy__(self) -> Constraints:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Constraints:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return canonical.rebuild, (type(self), canonical.state(self), self.notes)

    def __or__(self, other: Constraints) -> Constraints:
        """Union of the statements; a pair that both state keeps its larger weight.

        Groups are distinguished by their names; two groups that share a row become one.
        """
        canonical.check_same_rows(self, other)
        return self._derive(algebra.unite(self, other))

    def __and__(self, other: Constraints) -> Constraints:
        """Intersection of the statements; a pair keeps its smaller weight."""
        canonical.check_same_rows(self, other)
        return self._derive(algebra.intersect(self, other))

    def __sub__(self, other: Constraints) -> Constraints:
        """Difference of the statements: those that the other does not state."""
        canonical.check_same_rows(self, other)
        return self._derive(algebra.subtract(self, other))

    def restrict(self, rows: Any) -> Constraints:
        """Constraints on some of the rows, renumbered in the order given.

        Statements inside the subset stay as they are. What the others entailed between kept rows
        is kept too: the pieces of a must-link component that fell apart with the dropped rows are
        joined by new must-links, a component that lost its labeled rows gets its class back on
        its first kept row, and components that lost what kept them apart get a cannot-link
        between their first kept rows. A new link weighs as much as the lightest statement behind
        it (1 if there are only labels and groups).

        Parameters
        ----------
        rows : array of positions, boolean mask or slice
            Rows to keep, each once.

        Examples
        --------
        >>> from sidelight import Constraints
        >>> known = Constraints([(0, 1), (1, 2)], [(2, 3)], n_samples=4)
        >>> known.restrict([0, 2, 3]).must_link
        array([[0, 1]])
        """
        kept = algebra.as_rows(rows, self.n_samples)
        return self._derive(algebra.restrict(self, kept), rows=kept)

    def align(self, rows: Any) -> Constraints:
        """Bring the constraints into the order of the rows of a data frame, by its index.

        Every ``fit`` does so with the rows it is given. Do it yourself where a step in between
        forgets the index: in a pipeline, or before comparing with ``labels_``.

        Parameters
        ----------
        rows : DataFrame, Series or array
            Rows whose index names every id once, in whatever order. What has no index, or only the
            numbers 0, 1, 2 ... of pandas, is in the order of the ids already.

        Returns
        -------
        Constraints
            The same statements, about the same ids.

        Examples
        --------
        >>> import pandas as pd
        >>> from sidelight import Constraints
        >>> known = Constraints([("ann", "bob")], ids=["ann", "bob", "cid"])
        >>> rows = pd.DataFrame({"age": [40, 31, 30]}, index=["cid", "bob", "ann"])
        >>> known.align(rows).must_link
        array([[1, 2]])
        """
        aligned: Constraints = alignment.align(self, rows, "rows", hint=False)
        return aligned

    def __getitem__(self, key: Any) -> Constraints:
        """Restrict to some rows: positions, a mask or a slice, or what scikit-learn asks for."""
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # scikit-learn indexes whatever has a shape as array[rows, ...]
        return self.restrict(key)

    # Rows can be picked, but there is nothing to go through one by one.
    __iter__ = None

    def closure(self, on_contradiction: Literal["raise", "keep"] = "raise") -> Closure:
        """Close the statements: must-link components and the conflicts between them.

        Parameters
        ----------
        on_contradiction : {"raise", "keep"}
            Raise :class:`~sidelight.exceptions.InconsistentConstraints` with the shortest chain
            that contradicts a cannot-link or joins two classes, or list them in the result.
        """
        if on_contradiction not in ("raise", "keep"):
            raise ValueError(f"on_contradiction is 'raise' or 'keep', not {on_contradiction!r}.")
        if on_contradiction == "raise":
            error = self.contradiction()
            if error is not None:
                raise error
        if "closure" not in self._cache:
            self._cache["closure"] = close(self)
        closure: Closure = self._cache["closure"]
        return closure

    def contradiction(self) -> InconsistentConstraints | None:
        """Error that shows the shortest contradiction, or None for a consistent set."""
        closure = self.closure(on_contradiction="keep")
        if not len(closure.contradictions):
            return None
        if "witness" not in self._cache:
            self._cache["witness"] = find_witness(self, closure)
        return explain(self._cache["witness"], self)

    def components(self) -> IntArray:
        """Must-link component of each row, numbered by smallest row, contradictions or not."""
        return self.closure(on_contradiction="keep").component

    def reduce(self, X: Any, sample_weight: Any = None) -> Contraction:
        """Contract the rows of X to one weighted mean per must-link component."""
        known: Constraints = alignment.align(self, X)
        alignment.check_one_index(sample_weight, X, "sample_weight")
        return contract_array(X, known.closure(on_contradiction="keep"), sample_weight)

    def violations(self, labels: Any) -> Violations:
        """Find what a clustering does not keep.

        Parameters
        ----------
        labels : array-like of shape (n_samples,)
            Cluster of each row; -1 is noise, together with nothing. A pandas Series is taken by
            its index, anything else in the order of the ids.
        """
        given = alignment.by_row(labels, self.row_index, self.n_samples, "labels")
        return find_violations(self, given)

    def feasibility(self, k: int, *, time_limit: float = 10.0) -> Feasibility:
        """Whether ``k`` clusters can satisfy the cannot-links: yes, no or unknown.

        The answer comes from fast bounds where they decide, otherwise from an exact search of at
        most ``time_limit`` seconds. Rows stand for their components in what proves the answer.
        """
        return feasibility(self.closure(), k, time_limit)

    def check_feasible(self, k: int, *, time_limit: float = 10.0) -> Feasibility:
        """Raise :class:`~sidelight.exceptions.InfeasibleConstraints` if ``k`` is too small.

        Where the time limit leaves it unknown, nothing is raised.
        """
        found = self.feasibility(k, time_limit=time_limit)
        if found.answer == "no":
            from sidelight.assignment.inner import infeasible

            raise infeasible(found, lambda row: self.name_rows([row])[0])
        return found

    def flip(self, fraction: float, random_state: Any = None) -> Constraints:
        """Turn a fraction of the pairs into their opposite, to see what noise does."""
        return self._derive(algebra.flip(self, fraction, random_state))

    def split(
        self, test_size: float = 0.3, n_splits: int | None = None, random_state: Any = None
    ) -> Any:
        """Split into what is used and what is held out, without leaking through the closure.

        Returns ``(train, held_out)``, or a list of such pairs when ``n_splits`` is given.
        """
        from sidelight.constraints._splitting import split_constraints

        return split_constraints(
            self, test_size=test_size, n_splits=n_splits, random_state=random_state
        )

    def quality(self, X: Any, labels: Any = None) -> Quality:
        """Measure how informative and how coherent the constraints are on the data."""
        from sidelight.constraints._quality import measure_quality

        alignment.check_one_index(labels, X, "labels")
        return measure_quality(alignment.align(self, X), X, labels=labels)
