"""The value object that holds the known splits of the rows, which a new one should differ from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted
from sidelight.constraints.algebra import _alignment as alignment
from sidelight.constraints.algebra import _canonical as canonical
from sidelight.constraints.algebra._canonical import RowIndex, check_same_rows, hashable, same
from sidelight.constraints.algebra._operations import as_rows
from sidelight.constraints.algebra._plain import frozen
from sidelight.constraints.splits import _design, _shown
from sidelight.constraints.splits._columns import CodedSplit, given_columns, read_columns
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    import pyarrow


class KnownSplits:
    """Splits of the rows that are known already, and that a new clustering is to differ from.

    A split is categorical, such as the country of every customer or the clusters of an earlier
    fit, or it is a column of numbers that the result must not follow, such as the age. The object
    never changes; everything that looks like a change makes a new one. (Constrained Clustering,
    section 11.2.)

    Parameters
    ----------
    known : array-like, mapping, list of array-likes or table, optional
        One labeling of the rows; ``{name: labels}`` or a list for several; a table of pandas,
        polars or Arrow, or an array of two dimensions, with a column per split. Labels are of any
        type that has a text. A missing value is a class of its own, and ``notes`` tells it; so is
        -1, the noise of some clusterings. Columns of fractions are taken for numbers.
    ids : array-like of shape (n_samples,), optional
        Your own names of the rows, all different; by default the index of a pandas object that has
        one of its own. A data frame is put in their order by its index, see :meth:`align`.
    numbers : sequence of str, array-like, mapping or table, optional
        Names of the columns of ``known`` that hold numbers, and of no others; or further columns,
        all of them numbers.
    n_samples : int, optional
        Number of rows; by default that of the labels.

    Attributes
    ----------
    n_samples : int
        Number of rows.
    names : tuple of str
        Names of the splits, categorical and numeric, in the order given.
    categorical : tuple of bool
        Whether a split is categorical.
    codes : ndarray of shape (n_samples, number of categorical splits), int64
        Class of every row in every categorical split.
    class_names : tuple of ndarray
        Names of the classes of every categorical split, by code.
    numbers : ndarray of shape (n_samples, number of numeric splits), float64
        Values of the numeric splits.
    ids : ndarray of shape (n_samples,) or None
        Names of the rows.
    notes : tuple of str
        Missing values and columns that were taken for numbers.

    References
    ----------
    Basu, Davidson and Wagstaff (eds.), *Constrained Clustering* (2009), chapter 11.

    Examples
    --------
    >>> from sidelight import KnownSplits
    >>> known = KnownSplits({"country": ["it", "no", "it", "no"], "age": [31.5, 40.0, 52.5, 28.0]})
    >>> known
    <KnownSplits of 4 rows: 'country' (2 classes), 'age' (numbers)>
    >>> known.codes.T
    array([[0, 1, 0, 1]])
    >>> known.class_names[0].tolist()
    ['it', 'no']
    """

    __slots__ = (
        "_cache",
        "_missing",
        "categorical",
        "class_names",
        "codes",
        "ids",
        "n_samples",
        "names",
        "notes",
        "numbers",
    )

    n_samples: int
    names: tuple[str, ...]
    categorical: tuple[bool, ...]
    codes: IntArray
    class_names: tuple[Array, ...]
    numbers: FloatArray
    ids: Array | None
    notes: tuple[str, ...]
    _missing: tuple[bool, ...]
    _cache: dict[str, Any]

    def __init__(
        self,
        known: Any = None,
        *,
        ids: Any = None,
        numbers: Any = None,
        n_samples: int | None = None,
    ) -> None:
        given, found = given_columns(known, numbers)
        index = _index(found if ids is None else ids)
        columns = read_columns(given)
        n = canonical.number_of_rows(n_samples, index, *(column.values for column in columns))
        self._set(n, index, columns)

    def _set(self, n_samples: int, index: RowIndex | None, columns: Sequence[CodedSplit]) -> None:
        for column in columns:
            if len(column.values) != n_samples:
                raise SidelightError(
                    f"The known split {column.name!r} has {counted(len(column.values), 'value')} "
                    f"for {counted(n_samples, 'row')}; give one value per row."
                )
        names = [column.name for column in columns]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise SidelightError(f"Two known splits are called {twice[0]!r}; rename one of them.")
        notes = tuple(column.note for column in columns if column.note)
        kinds = [column for column in columns if column.classes is not None]
        counts = [column for column in columns if column.classes is None]
        fields: dict[str, Any] = {
            "n_samples": n_samples,
            "names": tuple(names),
            "categorical": tuple(column.classes is not None for column in columns),
            "codes": frozen(_side_by_side(kinds, n_samples, np.int64)),
            "class_names": tuple(frozen(np.asarray(column.classes)) for column in kinds),
            "numbers": frozen(_side_by_side(counts, n_samples, np.float64)),
            "ids": None if index is None else index.ids,
            "notes": notes,
            "_missing": tuple(column.missing for column in kinds),
            "_cache": {"index": index},
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _make(
        cls, n_samples: int, index: RowIndex | None, columns: Sequence[CodedSplit]
    ) -> KnownSplits:
        """Make an object from columns that were read already."""
        new = object.__new__(cls)
        new._set(n_samples, index, columns)
        return new

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"KnownSplits cannot be changed; make new ones to set {name!r}.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"KnownSplits cannot be changed; {name!r} stays.")

    @classmethod
    def from_table(
        cls, table: Any, *, id_column: str | None = None, ids: Any = None, numbers: Any = None
    ) -> KnownSplits:
        """Known splits from a table with a column per split, and perhaps a column of ids.

        Parameters
        ----------
        table : pandas, polars or pyarrow table, or mapping of columns
            One row per row of the data.
        id_column : str, optional
            Column with the ids of the rows; without it, the rows are those of the data in their
            order, or the index of a pandas table names them.
        ids : array-like of shape (n_samples,), optional
            Ids of all rows of the data, in their order, to which the rows of the table are brought
            by ``id_column``. A row that the table leaves out has a missing value.
        numbers : sequence of str, optional
            Names of the columns that hold numbers, and of no others.

        Examples
        --------
        >>> from sidelight import KnownSplits
        >>> table = {"who": ["bob", "ann"], "country": ["no", "it"]}
        >>> KnownSplits.from_table(table, id_column="who", ids=["ann", "bob"]).codes.T
        array([[0, 1]])
        """
        from sidelight.constraints.exchange._tables import table_columns, table_trouble
        from sidelight.constraints.splits._files import columns_by_id

        if id_column is None:
            return cls(table, ids=ids, numbers=numbers)
        index = None if ids is None else _index(ids)
        return cls._make(
            *columns_by_id(table_columns(table), id_column, index, numbers, table_trouble)
        )

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        ids: Any = None,
        id_column: str | None = None,
        numbers: Any = None,
    ) -> KnownSplits:
        """Read a file with a column of ids and one column per split: CSV, TSV, JSON or Parquet.

        Parameters
        ----------
        path : path-like
            The file. A JSON file is a list of objects with the names of the columns.
        ids : array-like of shape (n_samples,), optional
            Ids of all rows of the data, in their order; by default those of the file. A row that
            the file leaves out has a missing value.
        id_column : str, optional
            Column with the ids; by default the column called ``id``, or else the first one. A
            file with one column has no ids: its rows are those of the data, in their order.
        numbers : sequence of str, optional
            Names of the columns that hold numbers, and of no others; by default those with
            fractions.

        Notes
        -----
        The file that ``known.write(path)`` wrote comes back equal from ``KnownSplits.read(path,
        ids=known.ids, numbers=known.number_names)``, where there are ids.
        """
        from sidelight.constraints.splits._files import read_file

        index = None if ids is None else _index(ids)
        return cls._make(*read_file(path, id_column, index, numbers))

    def to_table(self) -> pyarrow.Table:
        """Splits as an Arrow table, a column per split after the column ``id``."""
        from sidelight.constraints.splits._files import to_table

        return to_table(self)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file with a column per split, by its ending .csv, .csv.gz, .tsv, .json, .parquet.

        The file is written beside and then renamed, so that it is never there by half.
        """
        from sidelight.constraints.splits._files import write_file

        write_file(self, path)

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
    def is_empty(self) -> bool:
        """Whether no split is known."""
        return not self.names

    @property
    def has_numbers(self) -> bool:
        """Whether some split is a column of numbers."""
        return not all(self.categorical)

    @property
    def split_names(self) -> tuple[str, ...]:
        """Names of the categorical splits, in the order of the columns of ``codes``."""
        kinds = zip(self.names, self.categorical, strict=True)
        return tuple(name for name, categorical in kinds if categorical)

    @property
    def number_names(self) -> tuple[str, ...]:
        """Names of the numeric splits, in the order of the columns of ``numbers``."""
        kinds = zip(self.names, self.categorical, strict=True)
        return tuple(name for name, categorical in kinds if not categorical)

    def product(self, max_cells: int | None = None) -> IntArray:
        """Return the cell of every row in the product of all categorical splits.

        Parameters
        ----------
        max_cells : int, optional
            Largest number of cells that occur; by default a third of the number of rows, since
            cells of one or two rows carry no information on what they have in common.

        Returns
        -------
        cells : ndarray of int64, shape (n_samples,)
            Cells that occur, numbered in the order of the classes.

        Raises
        ------
        SidelightError
            If there are more cells, or if a split is a column of numbers.

        Examples
        --------
        >>> from sidelight import KnownSplits
        >>> known = KnownSplits([["a", "a", "b", "b", "a"], [1, 2, 1, 1, 2]])
        >>> known.product(max_cells=3)
        array([0, 1, 2, 2, 1])
        """
        return _design.product(self, max_cells)

    def design(self) -> FloatArray:
        """Return the splits as columns of a regression, without the constant column.

        Categorical splits give an indicator of every class but the first, numeric ones their
        values with mean 0 and variance 1; a column that does not vary gives none.

        Examples
        --------
        >>> from sidelight import KnownSplits
        >>> KnownSplits({"size": ["s", "m", "l"], "age": [1.5, 2.5, 3.5]}).design().round(2)
        array([[ 0.  ,  1.  , -1.22],
               [ 1.  ,  0.  ,  0.  ],
               [ 0.  ,  0.  ,  1.22]])
        """
        return _design.design(self)

    def adding(self, name: str, labels: Any) -> KnownSplits:
        """Return the splits with one more.

        Parameters
        ----------
        name : str
            Name of the new split; a number is appended where the name is taken.
        labels : array-like of shape (n_samples,)
            Class of every row, in the order of the rows.

        Examples
        --------
        >>> from sidelight import KnownSplits
        >>> KnownSplits({"country": ["it", "no"]}).adding("cluster", [0, 1]).names
        ('country', 'cluster')
        """
        chosen = _free_name(str(name), self.names)
        (column,) = read_columns(given_columns({chosen: labels}, ())[0])
        return self._make(self.n_samples, self.row_index, [*self.columns(), column])

    def __or__(self, other: KnownSplits) -> KnownSplits:
        """The splits of both, about the same rows; a name that both have gets a number."""
        check_same_rows(self, other)
        joined = list(self.columns())
        for column in other.columns():
            taken = [one.name for one in joined]
            joined.append(column._replace(name=_free_name(column.name, taken)))
        new = self._make(self.n_samples, self.row_index, joined)
        object.__setattr__(new, "notes", (*self.notes, *other.notes))
        return new

    def under(self, ids: Any) -> KnownSplits:
        """Return the same splits of the same rows in the same order, under other ids or None."""
        new = self._make(self.n_samples, _index(ids), self.columns())
        object.__setattr__(new, "notes", self.notes)
        return new

    def columns(self) -> list[CodedSplit]:
        """The splits, in the order given, with their codes or numbers."""
        codes, values = iter(self.codes.T), iter(self.numbers.T)
        classes = iter(zip(self.class_names, self._missing, strict=True))
        columns: list[CodedSplit] = []
        for name, categorical in zip(self.names, self.categorical, strict=True):
            if categorical:
                names, missing = next(classes)
                columns.append(CodedSplit(name, next(codes), names, missing))
            else:
                columns.append(CodedSplit(name, next(values), None, False))
        return columns

    def restrict(self, rows: Any) -> KnownSplits:
        """Keep some of the rows, in the order given; classes that no longer occur are dropped.

        Parameters
        ----------
        rows : array of positions, boolean mask or slice
            Rows to keep, each once.

        Examples
        --------
        >>> from sidelight import KnownSplits
        >>> KnownSplits(["it", "no", "se"]).restrict([2, 1]).class_names[0].tolist()
        ['no', 'se']
        """
        kept = as_rows(rows, self.n_samples)
        index = self.row_index
        if index is not None:
            index = RowIndex(frozen(index.ids[kept]))
        return self._make(len(kept), index, [column.take(kept) for column in self.columns()])

    def __getitem__(self, key: Any) -> KnownSplits:
        """Restrict to some rows: positions, a mask or a slice, or what scikit-learn asks for."""
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # scikit-learn indexes whatever has a shape as array[rows, ...]
        return self.restrict(key)

    # Rows can be picked, but there is nothing to go through one by one.
    __iter__ = None

    def align(self, rows: Any) -> KnownSplits:
        """Bring the splits into the order of the rows of a data frame, by its index.

        Every ``fit`` does so with the rows it is given.

        Parameters
        ----------
        rows : DataFrame, Series or array
            Rows whose index names every id once, in whatever order. What has no index, or only the
            numbers 0, 1, 2 ... of pandas, is in the order of the ids already.
        """
        aligned: KnownSplits = alignment.align(self, rows, "rows", hint=False)
        return aligned

    def _state(self) -> tuple[Any, ...]:
        return (self.n_samples, self.names, self.categorical, self.codes, self.numbers, self.ids)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KnownSplits):
            return NotImplemented
        if self is other:
            return True
        return all(map(same, self._state(), other._state())) and all(
            map(same, self.class_names, other.class_names)
        )

    def __hash__(self) -> int:
        return hash(tuple(map(hashable, (*self._state(), *self.class_names))))

    def __copy__(self) -> KnownSplits:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> KnownSplits:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.n_samples, self.ids, self.columns(), self.notes)

    def describe(self) -> list[str]:
        """Name every split, with its number of classes."""
        return _shown.describe(self)

    def __repr__(self) -> str:
        return _shown.line(self)

    def summary(self) -> str:
        """Short text of the known splits, their classes, and notes."""
        return _shown.summarize(self)


def _free_name(name: str, taken: Sequence[str]) -> str:
    """The name, with a number where it is taken."""
    chosen, number = name, 2
    while chosen in taken:
        chosen, number = f"{name} {number}", number + 1
    return chosen


def _index(ids: Any) -> RowIndex | None:
    if ids is None:
        return None
    index = RowIndex(frozen(np.array(canonical.as_ids(ids))))
    canonical.check_unique(index)
    return index


def _side_by_side(columns: Sequence[CodedSplit], n_samples: int, dtype: Any) -> Array:
    table = np.empty((n_samples, len(columns)), dtype=dtype)
    for place, column in enumerate(columns):
        table[:, place] = column.values
    return table


def _rebuild(
    kind: type[KnownSplits],
    n_samples: int,
    ids: Array | None,
    columns: list[CodedSplit],
    notes: tuple[str, ...],
) -> KnownSplits:
    """Unpickle; arrays come back writable and are frozen again."""
    index = None if ids is None else RowIndex(frozen(ids))
    new = kind._make(n_samples, index, columns)
    object.__setattr__(new, "notes", notes)
    return new
