"""Conditions on every cluster: a least number of rows with a property."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array, IntArray
from sidelight._words import counted, listed, setting
from sidelight.constraints.algebra import _alignment as alignment
from sidelight.constraints.algebra import _canonical as canonical
from sidelight.constraints.algebra._canonical import RowIndex
from sidelight.constraints.algebra._plain import frozen
from sidelight.constraints.conditions._feasibility import joint_feasible, too_many
from sidelight.constraints.conditions._given import (
    check_mapping,
    different_names,
    number_text,
    read_index,
    read_least,
    read_mask,
    same_ids,
)
from sidelight.exceptions import InfeasibleConstraints, SidelightError


class Conditions:
    r"""Conditions on every cluster: a least number of rows with a property, for several properties.

    .. math::
        |\{i \in W_j : l_i = h\}| \ge m_{jh} , \qquad h = 1, \dots, k

    with the rows :math:`W_j` that have property :math:`j` (the pivots) and the least number
    :math:`m_{jh}` of them in cluster :math:`h`. The object never changes; everything that looks
    like a change makes a new one. (Constrained Clustering, section 16.2.)

    Parameters
    ----------
    conditions : mapping of str to (mask, m), optional
        Name of every condition, with the rows that count for it and how many of them every cluster
        needs. A mask holds True or False (or 1 or 0) for every row; None stands for all rows.
        ``m`` is a number, or one number for each cluster.
    n_samples : int, optional
        Number of rows; by default that of the masks or ids.
    ids : array-like of shape (n_samples,), optional
        Your own names of the rows, all different; by default the index of a mask that is a pandas
        Series with an index of its own.

    Attributes
    ----------
    n_samples : int
        Number of rows.
    names : tuple of str
        Names of the conditions.
    members : ndarray of bool, shape (n_samples, n_conditions)
        Which rows count for which condition.
    least : tuple of int or ndarray
        How many of them every cluster needs; an array where clusters differ.
    ids : ndarray of shape (n_samples,) or None
        Names of the rows.
    notes : tuple of str
        What was left out while reading expressions.

    See Also
    --------
    sidelight.privacy.ExistentialKMeans : k-means under these conditions.
    SizeBounds : Bounds on the sizes of clusters, upper ones too.

    Examples
    --------
    >>> from sidelight.constraints import Conditions
    >>> smoker = [True, True, False, True]
    >>> wanted = Conditions({"smoker": (smoker, 1)}, n_samples=4).at_least(2)
    >>> wanted
    <Conditions on clusters of 4 rows: at least 1 of 3 'smoker', at least 2 of 4 'rows'>
    >>> wanted.counts([0, 0, 0, 1], 2)
    array([[2, 1],
           [3, 1]])
    >>> wanted.unmet([0, 0, 0, 1], 2)
    ["cluster 1 has 1 of 'rows', and needs 2"]
    """

    __slots__ = ("_cache", "ids", "least", "members", "n_samples", "names", "notes")

    n_samples: int
    names: tuple[str, ...]
    members: npt.NDArray[np.bool_]
    least: tuple[Any, ...]
    ids: Array | None
    notes: tuple[str, ...]
    _cache: dict[str, Any]

    def __init__(
        self,
        conditions: Mapping[str, tuple[Any, Any]] | None = None,
        *,
        n_samples: int | None = None,
        ids: Any = None,
    ) -> None:
        given = check_mapping(conditions)
        masks = [mask for mask, _ in given.values()]
        if ids is None:
            ids = next(
                (own for mask in masks if (own := alignment.own_ids(mask)) is not None), None
            )
        index = None if ids is None else read_index(ids)
        if n_samples is None and index is None:
            lengths = [len(mask) for mask in masks if mask is not None]
            if not lengths:
                raise SidelightError("Say how many rows there are: n_samples=... or ids=...")
            n_samples = lengths[0]
        n = canonical.number_of_rows(n_samples, index)
        self._set(
            n,
            index,
            tuple(given),
            [read_mask(mask, n, name, index) for name, (mask, _) in given.items()],
            tuple(read_least(m, name) for name, (_, m) in given.items()),
        )

    def _set(
        self,
        n: int,
        index: RowIndex | None,
        names: tuple[str, ...],
        masks: Sequence[Array],
        least: tuple[Any, ...],
        notes: tuple[str, ...] = (),
    ) -> None:
        members = np.empty((n, len(names)), dtype=bool, order="F")
        for j, mask in enumerate(masks):
            members[:, j] = mask
        fields = {
            "n_samples": n,
            "names": names,
            "members": frozen(members),
            "least": least,
            "ids": None if index is None else index.ids,
            "notes": notes,
            "_cache": {"index": index},
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _make(
        cls,
        n: int,
        index: RowIndex | None,
        names: tuple[str, ...],
        masks: Sequence[Array],
        least: tuple[Any, ...],
        notes: tuple[str, ...] = (),
    ) -> Conditions:
        """Make an object from parts in canonical form."""
        new = object.__new__(cls)
        new._set(n, index, names, masks, least, notes)
        return new

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"Conditions cannot be changed; make new ones to set {name!r}.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Conditions cannot be changed; {name!r} stays.")

    def __reduce__(self) -> tuple[Any, ...]:
        masks = [self.members[:, j] for j in range(len(self))]
        return Conditions._make, (
            self.n_samples,
            self._cache["index"],
            self.names,
            masks,
            self.least,
            self.notes,
        )

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Conditions):
            return NotImplemented
        return (
            self.names == other.names
            and np.array_equal(self.members, other.members)
            and all(map(np.array_equal, self.least, other.least))
            and same_ids(self.ids, other.ids)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        parts = [
            f"at least {number_text(m)} of {int(self.members[:, j].sum()):,} {name!r}"
            for j, (name, m) in enumerate(zip(self.names, self.least, strict=True))
        ]
        text = ", ".join(parts) or "none"
        return f"<Conditions on clusters of {counted(self.n_samples, 'row')}: {text}>"

    # --- more of them -------------------------------------------------------------------------

    @classmethod
    def from_expressions(
        cls, table: Any, expressions: str | Sequence[str], *, ids: Any = None
    ) -> Conditions:
        """Read conditions in the manner of SQL, on the columns of a table.

        ========================  =========================================================
        expression                condition
        ========================  =========================================================
        ``count(*) >= m``         at least ``m`` rows
        ``count(A >= v) >= m``    at least ``m`` rows with ``A >= v``; also ``=``, ``!=``,
                                  ``<``, ``<=``, ``>``, and several with ``and`` and ``or``
        ``max(A) >= v``           at least one row with ``A >= v``
        ``min(A) <= v``           at least one row with ``A <= v``
        ========================  =========================================================

        Everything else is refused with the reason: ``max(A) <= v`` is about every row by itself
        and not about clusters, averages and sums do not count rows.

        Parameters
        ----------
        table : pandas, polars or pyarrow table, or mapping of columns
            The rows, in the order of those that will be clustered. A missing value has no property,
            as in SQL.
        expressions : str or sequence of str
            One or several expressions. Names of columns that are not plain words stand in double
            quotation marks, texts in single ones.
        ids : array-like of shape (n_samples,), optional
            Names of the rows; by default the index of a pandas data frame that has one.

        Raises
        ------
        SidelightError
            If an expression cannot be read, or holds nothing that can be counted.

        Examples
        --------
        >>> from sidelight.constraints import Conditions
        >>> people = {"age": [17, 64, 30, 71], "sex": ["f", "m", "f", "f"]}
        >>> Conditions.from_expressions(people, ["max(age) >= 60", "count(sex = 'f') >= 2"])
        <Conditions on clusters of 4 rows: at least 1 of 2 'age >= 60', at least 2 of 3 "sex = 'f'">
        """
        from sidelight.constraints.conditions._texts import read_expressions
        from sidelight.constraints.relations._tables import columns_of

        own = alignment.own_ids(table) if ids is None else ids
        index = None if own is None else read_index(own)
        columns = columns_of(table)
        n = len(next(iter(columns.values()))) if columns else 0
        texts = [expressions] if isinstance(expressions, str) else list(expressions)
        names = None if index is None else index.ids
        read = read_expressions(columns, texts, n, names)
        return cls._make(
            canonical.number_of_rows(n, index),
            index,
            tuple(different_names([one.name for one in read.conditions])),
            [one.mask for one in read.conditions],
            tuple(one.least for one in read.conditions),
            read.notes,
        )

    def at_least(self, m: Any, mask: Any = None, *, name: str | None = None) -> Conditions:
        """Return these conditions and one more.

        Parameters
        ----------
        m : int or array-like of int, shape (n_clusters,)
            How many rows with the property every cluster needs.
        mask : array-like of bool, shape (n_samples,), default=None
            Rows with the property; all rows by default.
        name : str, optional
            Name of the condition.
        """
        index = self._cache["index"]
        if name is None:
            name = "rows" if mask is None else f"condition {len(self) + 1}"
        if name in self.names:
            raise SidelightError(f"There is a condition {name!r} already; give this one a name=.")
        return self._make(
            self.n_samples,
            index,
            (*self.names, name),
            [*self.members.T, read_mask(mask, self.n_samples, name, index)],
            (*self.least, read_least(m, name)),
            self.notes,
        )

    def restrict(self, rows: Any) -> Conditions:
        """Return the same conditions on some of the rows, in the order given.

        Parameters
        ----------
        rows : array-like of int or bool
            Positions of the rows, or a mask.
        """
        chosen = np.asarray(rows)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        index = None if self.ids is None else RowIndex(self.ids[chosen])
        masks = list(self.members[chosen].T)
        return self._make(len(chosen), index, self.names, masks, self.least, self.notes)

    @property
    def row_index(self) -> RowIndex | None:
        """Position of each id."""
        index: RowIndex | None = self._cache["index"]
        return index

    @property
    def is_empty(self) -> bool:
        """Whether there are no conditions."""
        return not any(np.any(np.asarray(m) > 0) for m in self.least)

    # --- what they mean for clusters ----------------------------------------------------------

    def least_in(self, n_clusters: int) -> IntArray:
        """Return how many rows with every property every cluster needs.

        Parameters
        ----------
        n_clusters : int
            Number of clusters.

        Returns
        -------
        least : ndarray of int64, shape (n_conditions, n_clusters)
            The numbers.

        Raises
        ------
        SidelightError
            If a condition has numbers for another number of clusters.
        """
        out = np.zeros((len(self), n_clusters), dtype=np.int64)
        for j, (name, m) in enumerate(zip(self.names, self.least, strict=True)):
            if np.ndim(m) and len(m) != n_clusters:
                raise SidelightError(
                    f"The condition {name!r} has numbers for {len(m)} clusters, and there are "
                    f"{n_clusters}: give one number for all, or {n_clusters}."
                )
            out[j] = m
        return out

    def check_feasible(self, n_clusters: int) -> None:
        """Raise unless some partition into ``n_clusters`` clusters meets all conditions.

        Every condition alone is a matter of counting; conditions that share rows are put to a
        small integer program.

        Parameters
        ----------
        n_clusters : int
            Number of clusters.

        Raises
        ------
        InfeasibleConstraints
            Naming the condition, the rows that it needs and those that there are.

        Examples
        --------
        >>> from sidelight.constraints import Conditions
        >>> wanted = Conditions({"smoker": ([True, True, False, True], 2)})
        >>> wanted.check_feasible(2)
        Traceback (most recent call last):
        sidelight.exceptions.InfeasibleConstraints: 2 clusters with at least 2 of 'smoker' each ...
        """
        least = self.least_in(n_clusters)
        have = self.members.sum(axis=0)
        for j, name in enumerate(self.names):
            if least[j].sum() > have[j]:
                raise too_many(name, self.least[j], int(have[j]), least[j])
        if not joint_feasible(self.members, least):
            raise InfeasibleConstraints(
                f"Each condition can be met alone, but {listed([repr(n) for n in self.names])} "
                f"cannot be met together by {n_clusters} clusters: ask for fewer of one of them, "
                f"or for {setting('n_clusters', n_clusters - 1)}.",
                k=n_clusters,
            )

    def counts(self, labels: Any, n_clusters: int | None = None) -> IntArray:
        """Count the rows with every property in every cluster.

        Parameters
        ----------
        labels : array-like of int, shape (n_samples,)
            Cluster of every row; -1 for rows in none.
        n_clusters : int, optional
            Number of clusters; by default up to the largest label.

        Returns
        -------
        counts : ndarray of int64, shape (n_conditions, n_clusters)
            The numbers.
        """
        codes = np.asarray(labels)
        if codes.shape != (self.n_samples,):
            raise SidelightError(
                f"labels must hold one cluster for each of the {self.n_samples} rows."
            )
        k = int(codes.max(initial=-1)) + 1 if n_clusters is None else n_clusters
        inside = codes >= 0
        out = np.zeros((len(self), k), dtype=np.int64)
        for j in range(len(self)):
            out[j] = np.bincount(codes[inside & self.members[:, j]], minlength=k)
        return out

    def unmet(self, labels: Any, n_clusters: int | None = None) -> list[str]:
        """Sentences about every cluster that has too few rows with a property.

        Parameters
        ----------
        labels : array-like of int, shape (n_samples,)
            Cluster of every row; -1 for rows in none.
        n_clusters : int, optional
            Number of clusters; by default up to the largest label.
        """
        counts = self.counts(labels, n_clusters)
        least = self.least_in(counts.shape[1])
        return [
            f"cluster {h} has {counts[j, h]} of {self.names[j]!r}, and needs {least[j, h]}"
            for j, h in np.argwhere(counts < least)
        ]

    # --- files --------------------------------------------------------------------------------

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], *, ids: Any = None, n_samples: int | None = None
    ) -> Conditions:
        """Read a table with a line for every condition and row: CSV, TSV, JSON, Parquet, Excel.

        The columns are ``condition`` (its name), ``at_least`` (a number, or one per cluster with
        semicolons between them) and ``row`` (an id or position; ``*`` for all rows). What
        ``conditions.write(path)`` wrote comes back equal with the ids, or the number of rows.

        Parameters
        ----------
        path : path-like
            The file.
        ids : array-like of shape (n_samples,), optional
            Names of all rows.
        n_samples : int, optional
            Number of rows, where the file names them by position.
        """
        from sidelight.constraints.conditions._files import read_file

        index = None if ids is None else read_index(ids)
        n = canonical.number_of_rows(n_samples, index)
        return cls._make(n, index, *read_file(path, n, index))

    def write(self, path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> None:
        """Write the table that :meth:`read` reads, as .csv, .csv.gz, .tsv, .json or .parquet.

        Parameters
        ----------
        path : path-like
            The file; it is written beside and then renamed, so that it is never there by half.
        spreadsheet_safe : bool, default=False
            Whether ids in a CSV file that a spreadsheet would run as formulas get an apostrophe in
            front; :meth:`read` finds them with and without it.
        """
        from sidelight.constraints.conditions._files import write_file

        write_file(self, path, spreadsheet_safe=spreadsheet_safe)
