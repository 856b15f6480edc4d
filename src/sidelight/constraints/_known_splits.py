"""The value object that says which splits of the rows are known already, and not wanted again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted, listed, worded
from sidelight.constraints.algebra import _alignment as alignment
from sidelight.constraints.algebra import _canonical as canonical
from sidelight.constraints.algebra._canonical import RowIndex
from sidelight.constraints.algebra._operations import as_rows
from sidelight.constraints.algebra._split_columns import Column, given_columns, read_columns
from sidelight.constraints.exchange._values import check_same_rows, hashable, same
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    import pyarrow

#: Cells of a product have at least so many rows on average: fewer say nothing about the rows.
ROWS_PER_CELL = 3


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

    def _set(self, n_samples: int, index: RowIndex | None, columns: Sequence[Column]) -> None:
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
        told = tuple(column.note for column in columns if column.note)
        kinds = [column for column in columns if column.classes is not None]
        counts = [column for column in columns if column.classes is None]
        fields: dict[str, Any] = {
            "n_samples": n_samples,
            "names": tuple(names),
            "categorical": tuple(column.classes is not None for column in columns),
            "codes": canonical.frozen(_side_by_side(kinds, n_samples, np.int64)),
            "class_names": tuple(canonical.frozen(np.asarray(column.classes)) for column in kinds),
            "numbers": canonical.frozen(_side_by_side(counts, n_samples, np.float64)),
            "ids": None if index is None else index.ids,
            "notes": told,
            "_missing": tuple(column.missing for column in kinds),
            "_cache": {"index": index},
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _make(
        cls, n_samples: int, index: RowIndex | None, columns: Sequence[Column]
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
        """Take the splits from a table with a column per split, and perhaps a column of ids.

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
        from sidelight.constraints.exchange._splits import columns_by_id
        from sidelight.constraints.exchange._tables import table_columns, table_trouble

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
        from sidelight.constraints.exchange._splits import read_file

        index = None if ids is None else _index(ids)
        return cls._make(*read_file(path, id_column, index, numbers))

    def to_table(self) -> pyarrow.Table:
        """Splits as an Arrow table, a column per split after the column ``id``."""
        from sidelight.constraints.exchange._splits import to_table

        return to_table(self)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file with a column per split, by its ending .csv, .csv.gz, .tsv, .json, .parquet.

        The file is written beside and then renamed, so that it is never there by half.
        """
        from sidelight.constraints.exchange._splits import write_file

        write_file(self, path)

    @property
    def shape(self) -> tuple[int]:
        """``(n_samples,)``: scikit-learn's metadata routing slices what has one entry per row."""
        return (self.n_samples,)

    @property
    def row_index(self) -> RowIndex | None:
        """Where each id is; None where there are no ids."""
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
            cells of one or two rows say nothing about what they have in common.

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
        if self.has_numbers:
            raise SidelightError(_no_categories(self.number_names))
        cells = np.zeros(self.n_samples, dtype=np.int64)
        for codes, names in zip(self.codes.T, self.class_names, strict=True):
            cells = np.unique(cells * len(names) + codes, return_inverse=True)[1].reshape(-1)
        n_cells = int(cells.max(initial=-1)) + 1
        most = max(self.n_samples // ROWS_PER_CELL, 2) if max_cells is None else max_cells
        if n_cells > most:
            raise SidelightError(self._too_many(n_cells, most))
        return cells

    def _too_many(self, n_cells: int, most: int) -> str:
        rows = counted(self.n_samples, "row")
        if len(self.names) == 1:
            return (
                f"The known split {self.names[0]!r} has {n_cells:,} classes for {rows}, and at "
                f"most {most:,} can be told apart: join rare classes into one."
            )
        kinds = ", ".join(
            f"{name!r} {len(names):,}"
            for name, names in zip(self.split_names, self.class_names, strict=True)
        )
        return (
            f"The known splits together cut the {rows} into {n_cells:,} cells ({kinds} classes), "
            f"and at most {most:,} can be told apart: avoid fewer of them, join rare classes into "
            "one, or take a method that avoids them one by one instead of their product, "
            + worded(
                "ConditionalInformationBottleneck(known_as='regression').",
                "--method conditional-information-bottleneck --set known_as=regression.",
            )
        )

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
        blocks: list[FloatArray] = [np.empty((self.n_samples, 0))]
        codes, values = iter(self.codes.T), iter(self.numbers.T)
        names = iter(self.class_names)
        for categorical in self.categorical:
            if categorical:
                blocks.append(next(codes)[:, None] == np.arange(1, len(next(names))))
                continue
            column = next(values)
            offsets = column - column.mean()
            spread = float(np.sqrt(np.mean(offsets**2)))
            if spread > 1e-12 * max(float(np.abs(column).max(initial=0.0)), 1e-300):
                blocks.append(offsets[:, None] / spread)
        return np.hstack(blocks).astype(np.float64)

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

    def columns(self) -> list[Column]:
        """The splits, in the order given, with their codes or numbers."""
        codes, values = iter(self.codes.T), iter(self.numbers.T)
        classes = iter(zip(self.class_names, self._missing, strict=True))
        columns: list[Column] = []
        for name, categorical in zip(self.names, self.categorical, strict=True):
            if categorical:
                names, missing = next(classes)
                columns.append(Column(name, next(codes), names, missing))
            else:
                columns.append(Column(name, next(values), None, False))
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
            index = RowIndex(canonical.frozen(index.ids[kept]))
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
        classes = iter(self.class_names)
        return [
            f"{name!r} ({counted(len(next(classes)), 'class') if categorical else 'numbers'})"
            for name, categorical in zip(self.names, self.categorical, strict=True)
        ]

    def __repr__(self) -> str:
        return f"<KnownSplits of {counted(self.n_samples, 'row')}: {self._words()}>"

    def _words(self) -> str:
        return ", ".join(self.describe()) or "none"

    def summary(self) -> str:
        """Tell in a few lines which splits are known, their classes and what was noted."""
        lines = [f"{counted(len(self.names), 'known split')} of {counted(self.n_samples, 'row')}"]
        for column in self.columns():
            if column.classes is None:
                low, high = column.values.min(initial=np.inf), column.values.max(initial=-np.inf)
                lines.append(f"{column.name}: numbers from {low:g} to {high:g}")
                continue
            sizes = np.bincount(column.values, minlength=len(column.classes))
            largest = np.argsort(-sizes, kind="stable")[:5]
            shown = [f"{column.classes[h]} {sizes[h]:,}" for h in largest]
            more = f" and {len(sizes) - 5:,} more" if len(sizes) > 5 else ""
            lines.append(f"{column.name}: {', '.join(shown)}{more}")
        return "\n".join([*lines, *self.notes])


def as_known_splits(known: Any, n_samples: int, X: Any = None) -> KnownSplits:
    """Read what a ``fit`` was given as known splits, in the order of its rows, and check it.

    Parameters
    ----------
    known : KnownSplits, None or anything that :class:`KnownSplits` takes
        Splits to avoid. Those with ids are brought into the order of the index of ``X``.
    n_samples : int
        Number of rows of the fit.
    X : object, optional
        The rows as they were given, perhaps with an index.

    Returns
    -------
    KnownSplits
        About ``n_samples`` rows; empty for None.

    Raises
    ------
    SidelightError
        If the number of rows differs, or if a split is constant or different in all rows.

    Examples
    --------
    >>> from sidelight.constraints import as_known_splits
    >>> as_known_splits(["it", "no", "it"], 3)
    <KnownSplits of 3 rows: 'known' (2 classes)>
    >>> as_known_splits(["it", "it", "it"], 3)
    Traceback (most recent call last):
    sidelight.exceptions.SidelightError: The known split 'known' is 'it' in all 3 rows, ...
    """
    if known is None:
        return KnownSplits(n_samples=n_samples)
    splits = known if isinstance(known, KnownSplits) else _read(known, n_samples)
    if splits.ids is not None:
        splits = alignment.align(splits, X)
    if splits.n_samples != n_samples:
        raise SidelightError(
            f"The known splits are about {counted(splits.n_samples, 'row')}, and there "
            f"{'is' if n_samples == 1 else 'are'} {counted(n_samples, 'row')}; give one value of "
            "every split per row."
        )
    for column in splits.columns():
        _check_split(column)
    return splits


def _read(known: Any, n_samples: int) -> KnownSplits:
    """Splits from an array, list, mapping or table; nothing at all has the rows of the fit."""
    given, _ = given_columns(known, None)
    return KnownSplits(known) if given else KnownSplits(n_samples=n_samples)


def _check_split(column: Column) -> None:
    """Raise for a split that nothing can differ from, and for one that everything differs from."""
    n, name = len(column.values), column.name
    n_values = len(np.unique(column.values))
    if n_values < 2:
        shown = column.values[0] if column.classes is None else column.classes[column.values[0]]
        value = f"{shown:g}" if column.classes is None else repr(str(shown))
        raise SidelightError(
            f"The known split {name!r} is {value} in {_all_of(n)}, so that there is nothing to "
            "avoid: leave it out."
        )
    if column.classes is not None and n_values == n > 2:
        raise SidelightError(
            f"The known split {name!r} differs in all {n:,} rows: it is an id, not a split. Leave "
            "it out"
            + worded(f", or pass numbers=[{name!r}] to KnownSplits if it holds numbers.", ".")
        )


def _all_of(n: int) -> str:
    return "the only row" if n == 1 else f"all {n:,} rows"


def _no_categories(names: Sequence[str]) -> str:
    words = listed([repr(name) for name in names])
    several = len(names) > 1
    return (
        f"The known {'columns' if several else 'column'} {words} {'hold' if several else 'holds'} "
        f"numbers, and this method avoids classes: cut {'them' if several else 'it'} into a few "
        "classes"
        + worded(
            " (pandas.qcut), or take ConditionalInformationBottleneck.",
            ", or take --method conditional-information-bottleneck.",
        )
    )


def _free_name(name: str, taken: Sequence[str]) -> str:
    """The name, with a number where it is taken."""
    chosen, number = name, 2
    while chosen in taken:
        chosen, number = f"{name} {number}", number + 1
    return chosen


def _index(ids: Any) -> RowIndex | None:
    if ids is None:
        return None
    index = RowIndex(canonical.frozen(np.array(canonical.as_ids(ids))))
    canonical.check_unique(index)
    return index


def _side_by_side(columns: Sequence[Column], n_samples: int, dtype: Any) -> Array:
    table = np.empty((n_samples, len(columns)), dtype=dtype)
    for place, column in enumerate(columns):
        table[:, place] = column.values
    return table


def _rebuild(
    kind: type[KnownSplits],
    n_samples: int,
    ids: Array | None,
    columns: list[Column],
    notes: tuple[str, ...],
) -> KnownSplits:
    """Unpickle; arrays come back writable and are frozen again."""
    index = None if ids is None else RowIndex(canonical.frozen(ids))
    new = kind._make(n_samples, index, columns)
    object.__setattr__(new, "notes", notes)
    return new
