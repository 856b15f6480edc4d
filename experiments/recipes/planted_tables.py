"""Tables of mixed columns, as people have them, with known groups."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from experiments.recipes._planted_columns import RECIPES, Draw
from sidelight._typing import Array, IntArray
from sidelight.datasets import MixedTable
from sidelight.exceptions import InvalidParameter


@dataclass(frozen=True, eq=False, repr=False)
class PlantedTable(MixedTable):
    """A mixed table whose groups were planted, with what is known of its columns.

    Attributes
    ----------
    columns : mapping of str to list
        The columns as plain values (str, int, float, date, datetime), None where missing; ready
        for ``pandas.DataFrame``, ``polars.DataFrame`` and ``pyarrow.table``.
    target : ndarray of int64, shape (n,)
        Group of each row as a position in ``target_names``.
    target_names : tuple of str
        Names of the groups.
    ids : tuple of str
        Names of the rows; not among the columns.
    description : str
        What the rows are, and which other split is in them.
    kinds : mapping of str to str
        Kind of each column: number, yes-no, category, ordered, date, time, text or constant.
    levels : mapping of str to tuple of str
        Levels of the ordered columns, from the lowest.
    nuisance : ndarray of int64, shape (n,), or None
        The other split of the rows, which is not wanted; None where there is no other.
    id_column : str or None
        What a file calls the ids; None where it has none.
    missing_as : str
        How a file says that a value is missing.
    """

    kinds: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    nuisance: npt.NDArray[np.int64] | None = None
    id_column: str | None = None
    missing_as: str = ""

    def write(self, path: str | os.PathLike[str], *, truth_column: str | None = "group") -> None:
        """Write the table as CSV, as a person would have it.

        Parameters
        ----------
        path : path-like
            File to write.
        truth_column : str or None, default="group"
            Name of a last column with the groups; None leaves them out.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from experiments.recipes.planted_tables import make_mixed_table
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "patients.csv")
        ...     make_mixed_table("patients", 50, random_state=0).write(path)
        ...     print(path.read_text().partition(",sex")[0])
        patient,age
        """
        written: dict[str, Sequence[Any]] = {}
        if self.id_column is not None:
            written[self.id_column] = self.ids
        written |= self.columns
        if truth_column is not None:
            written[truth_column] = [self.target_names[one] for one in self.target]
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(written)
            for row in zip(*written.values(), strict=True):
                writer.writerow([self.missing_as if one is None else one for one in row])

    def __repr__(self) -> str:
        return super().__repr__().replace("MixedTable", "PlantedTable", 1)


def make_mixed_table(
    kind: str = "customers", n_rows: int = 400, *, random_state: Any = None
) -> PlantedTable:
    """Draw a table of mixed columns with known groups, as it would come from a file.

    Units differ, amounts are skewed, values are missing, and some columns only name the rows or
    are noise. In some tables another split of the rows, the ``nuisance``, shows in several
    columns too, so that clusters that follow the columns alone are partly that.

    ============ ====== ============================================================ ========
    kind         groups what is in it                                                nuisance
    ============ ====== ============================================================ ========
    customers    3      skewed income, country, dates, gaps, an id, a constant       market
    patients     2      measurements, yes/no, an ordered and a nominal category      none
    loans        3      skewed amounts, categories of many levels, ordered, dates    none
    census       2      ordered education, amounts that are mostly 0, gaps as ``?``  sex
    mushrooms    3      categories only                                              region
    events       3      dates and times with weekly and hourly cycles                year
    products     4      short titles, skewed prices, brands                          brand
    sensors      3      numbers in different units, noise in the largest             site
    ============ ====== ============================================================ ========

    Parameters
    ----------
    kind : str, default="customers"
        Which table, one of those above.
    n_rows : int, default=400
        Number of rows.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    PlantedTable
        Columns, groups, the kind of each column, and the nuisance where there is one.

    Examples
    --------
    >>> from experiments.recipes.planted_tables import make_mixed_table
    >>> table = make_mixed_table("customers", random_state=0)
    >>> table
    PlantedTable(400 rows, 10 columns, 3 classes: Customers of a shop)
    >>> table.kinds["country"], table.target_names
    ('category', ('bargain hunters', 'families', 'professionals'))
    """
    if kind not in RECIPES:
        raise InvalidParameter(f"kind must be one of {', '.join(RECIPES)}, got {kind!r}.")
    rng = check_random_state(random_state)
    recipe = RECIPES[kind]
    group = _shares(rng, n_rows, recipe.shares)
    nuisance = _shares(rng, n_rows, (0.5, 0.5)) if recipe.nuisance else None
    draw = Draw(rng, group, np.zeros_like(group) if nuisance is None else nuisance)
    recipe.fill(draw)
    return PlantedTable(
        columns={name: _plain(values) for name, values in draw.columns.items()},
        target=group,
        target_names=recipe.groups,
        ids=tuple(recipe.id_of.format(number) for number in rng.permutation(n_rows) + 10_001),
        description=f"{recipe.title}\nMade up for this package."
        + (f" The other split of the rows: {recipe.nuisance}." if recipe.nuisance else ""),
        kinds=draw.kinds,
        levels=draw.levels,
        nuisance=nuisance,
        id_column=recipe.id_column,
        missing_as=recipe.missing_as,
    )


def _shares(rng: np.random.RandomState, n: int, shares: tuple[float, ...]) -> IntArray:
    """Group numbers in random order, in proportion to the shares."""
    bounds = np.floor(np.cumsum(shares) * n + 1e-9).astype(int)
    bounds[-1] = n
    groups: IntArray = np.repeat(np.arange(len(shares)), np.diff(bounds, prepend=0))
    return rng.permutation(groups)


def _plain(values: Array) -> list[Any]:
    """A column as plain values, whole numbers as such and None where missing."""
    if values.dtype.kind == "f" and np.all(values[~np.isnan(values)] % 1 == 0):
        return [None if value != value else int(value) for value in values.tolist()]
    missing = ("", None) if values.dtype.kind == "O" else (None,)
    return [None if value in missing or value != value else value for value in values.tolist()]
