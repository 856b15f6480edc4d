"""Two rows side by side, for a person who is to say whether they belong together."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from rich import box
from rich.table import Table as RichTable

from sidelight._fit.moments import moments
from sidelight.cli._screen import plain_text
from sidelight.engine import as_rows
from sidelight.io import Table
from sidelight.io.inner import read_raw, table_format
from sidelight.jobs import Prepared

# Of many features those are shown in which the two rows differ most.
MAX_FEATURES = 20
LONGEST_TEXT = 60


class PairView:
    """Shows two rows of a table, with what differs between them marked.

    Differences of numbers are given in standard deviations (σ) of the feature. Columns of the file
    that are no numbers, such as names and remarks, are shown too: they often decide.

    Parameters
    ----------
    data : Table
        The table.
    prepared : Prepared, default=None
        How the table was read, where its numbers are compared.
    reasons : mapping of (frozenset of two positions) to str
        Why pairs are asked about.
    """

    def __init__(
        self,
        data: Table,
        prepared: Prepared | None = None,
        reasons: Mapping[frozenset[int], str] = MappingProxyType({}),
    ) -> None:
        self._data, self._reasons = data, reasons
        names, numbers = ([], None) if prepared is None else _numbers(prepared)
        self._names: list[str] = names
        self._numbers: Any = numbers
        self._deviation: Any = None if numbers is None else _deviations(numbers)
        self._others = _other_columns(data, {*names, data.id_column})

    def table(self, i: int, j: int) -> Any:
        """Lay out two rows for Rich."""
        laid_out = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
        laid_out.add_column("")
        for row in (i, j):
            justify: Any = "left" if self._numbers is None else "right"
            laid_out.add_column(plain_text(self._data.row_ids[row]), justify=justify)
        laid_out.add_column("")
        for name, column in self._others.items():
            one, other = (_text(column[row].as_py()) for row in (i, j))
            laid_out.add_row(*_cells(name, one, other, "" if one == other else "≠"))
        if self._numbers is not None:
            self._add_numbers(laid_out, i, j)
        if reason := self._reasons.get(frozenset((i, j))):
            laid_out.caption = plain_text(reason)
        return laid_out

    def _add_numbers(self, laid_out: Any, i: int, j: int) -> None:
        """Add the numbers of two rows, of many those that differ most."""
        values, apart = self._differences(i, j)
        shown = _largest(apart)
        for place in shown:
            one, other = ("" if value != value else f"{value:.6g}" for value in values[:, place])
            how = "" if one == other else "≠" if "" in (one, other) else f"≠ {apart[place]:.1f} σ"
            laid_out.add_row(*_cells(self._names[place], one, other, how))
        if len(shown) < len(apart):
            laid_out.caption = f"and {len(apart) - len(shown)} features that differ less"

    def _differences(self, i: int, j: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Values of the two rows, and their difference in standard deviations."""
        taken = self._numbers[[i, j]]
        values = np.asarray(taken.toarray() if hasattr(taken, "toarray") else taken, np.float64)
        apart = np.nan_to_num(np.abs(values[0] - values[1]))
        return values, np.divide(apart, self._deviation, out=apart, where=self._deviation > 0)


def _numbers(prepared: Prepared) -> tuple[list[str], Any]:
    """Names and values of the columns of numbers, in the units of the file."""
    data = prepared.data
    if data.columns is None:
        return list(data.feature_names), data.X
    typed = prepared.preparer.typed_columns(data)
    numbers = [column for column in typed if column.kind == "number"]
    values = np.empty((data.n_rows, len(numbers)))
    for place, column in enumerate(numbers):
        values[:, place] = column.values
    return [column.name for column in numbers], values


def _deviations(values: Any) -> npt.NDArray[Any]:
    """Standard deviation of every column; missing values do not count."""
    if isinstance(values, np.ndarray) and np.isnan(values).any():
        return np.asarray(np.nanstd(values, axis=0))
    return np.sqrt(moments(as_rows(values)).variances)


def _largest(apart: npt.NDArray[Any]) -> list[int]:
    """Places of the largest differences, in the order of the columns."""
    chosen: list[int] = np.sort(np.argsort(-apart, kind="stable")[:MAX_FEATURES]).tolist()
    return chosen


def _cells(name: str, one: str, other: str, how: str) -> list[str]:
    """A line of the table; what differs much (1 σ, or a text) stands out."""
    if not how:
        style = "dim"
    else:
        style = "yellow" if "σ" in how and float(how.strip("≠ σ")) < 1 else "bold red"
    marked = [f"[{style}]{plain_text(cell)}[/]" for cell in (one, other, how)]
    return [plain_text(name), *marked]


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = "" if value is None else str(value)
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 3]}..."


def _other_columns(data: Table, hidden: set[str | None]) -> dict[str, Any]:
    """All other columns of the file: also those that are no features often decide."""
    columns: Any = data.columns
    if data.path.is_file() and table_format(data.path) not in ("npy", "libsvm"):
        columns = read_raw(data.path, keep_types=True)
    if columns is None:
        return {}
    return {name: columns.column(name) for name in columns.names if name not in hidden}
