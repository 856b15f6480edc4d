"""Matrices of numbers on disk: blocks sized by a memory budget, read when their turn comes."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array
from sidelight.engine._budget import check_budget
from sidelight.engine._extent import SQUARED, largest_by_column, too_large
from sidelight.engine._source import RowSource, equal_blocks, floating_dtype
from sidelight.exceptions import SidelightError
from sidelight.io.inner import row_name

#: Blocks that may be in memory at the same time; a block takes this part of the budget. Fixed, so
#: that blocks do not depend on the number of threads.
BLOCKS_IN_BUDGET = 16

#: With a row of a memory map so many bytes around it become part of the process.
AROUND = 2**16

#: Held while a thread raises the largest values of a source.
_LARGEST = threading.Lock()


class DiskRows(RowSource):
    """Base of files of rows: blocks from the memory budget, and a search for missing values."""

    max_parallel: int = BLOCKS_IN_BUDGET
    _missing_allowed = False

    def with_missing(self) -> Self:
        """Return the same rows, where NaN stands for a value that was not measured."""
        rows = copy.copy(self)
        rows._missing_allowed = True
        rows._checked = self._checked[:]
        return rows

    @property
    def is_kept(self) -> bool:
        """Whether all blocks were decoded and need not be again; never where nothing is decoded."""
        return False

    def kept_apart(self, n_rows: int) -> Self:
        """Return the same rows, of which some are read elsewhere.

        Parameters
        ----------
        n_rows : int
            Number of rows that are read there.
        """
        return copy.copy(self)

    def _set_blocks(self, blocks: list[tuple[int, int]]) -> None:
        self._blocks = blocks
        self._checked = bytearray(len(blocks))
        self._largest = np.zeros(self.n_features, dtype=self.dtype)

    @property
    def is_checked(self) -> bool:
        """Whether all blocks have been looked at for values that cannot be used."""
        return all(self._checked)

    def largest(self) -> Array:
        """Return the largest ``|x|`` of every column; the file is read unless it has been."""
        if not self.is_checked:
            self.map_reduce(lambda block: ((), ()))
        return self._largest

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows that are in memory together."""
        return self._blocks

    def _check(self, number: int, block: Array) -> Array:
        """Check a block for values that cannot be used, when it is read for the first time."""
        if self._checked[number]:
            return block
        bad = np.isinf(block) if self._missing_allowed else ~np.isfinite(block)
        if bad.any():
            found = "infinity" if self._missing_allowed else "NaN or infinity"
            raise SidelightError(
                f"{self._name()} holds {found} in {self._first_place(number, bad)}; "
                "drop such rows, or fill in the missing values first."
            )
        largest = largest_by_column(block)
        limit = SQUARED[self.dtype.itemsize].largest
        if largest.max(initial=0.0) > limit:
            raise SidelightError(
                f"{self._name()} holds a value of {largest.max():.0e} in size in "
                f"{self._first_place(number, np.abs(block) == largest.max())}; "
                f"{too_large(self.dtype)}."
            )
        with _LARGEST:
            np.maximum(self._largest, largest, out=self._largest)
        self._checked[number] = 1
        return block

    def _first_place(self, number: int, where: Array) -> str:
        """Return the words for the first place of a block where this holds."""
        row, column = np.argwhere(where)[0]
        position = self._blocks[number][0] + row
        return f"{row_name(self.ids, position)}, {self._column_name(column)}"

    @property
    def name(self) -> str:
        """What the rows are called in messages."""
        return self._name()

    def _name(self) -> str:
        raise NotImplementedError

    def _column_name(self, column: int) -> str:
        return f"column {column}"


class MappedRows(DiskRows):
    """A memory map: blocks are views, the system's cache decides what stays in memory."""

    def __init__(
        self, X: Array, *, memory_budget: int | str | None = None, dtype: Any = None
    ) -> None:
        check_matrix(X.shape, X.dtype, "The memory map")
        self._X = X
        self.n_rows, self.n_features = X.shape
        self.dtype = floating_dtype(X.dtype if dtype is None else dtype)
        row_bytes = max(1, self.n_features * self.dtype.itemsize)
        budget = check_budget(memory_budget)
        rows = max(1, budget // (BLOCKS_IN_BUDGET * row_bytes))
        self._set_blocks(equal_blocks(self.n_rows, rows))
        self._rows_per_take = max(1, budget // (4 * max(AROUND, row_bytes)))

    def take(self, rows: npt.ArrayLike) -> Array:
        """Return a copy of the rows at these positions."""
        positions = np.asarray(rows, dtype=np.intp)
        taken = np.empty((len(positions), self.n_features), dtype=self.dtype)
        for start, stop in equal_blocks(len(positions), self._rows_per_take):
            taken[start:stop] = self._mapped()[positions[start:stop]]
        return taken

    def _mapped(self) -> Array:
        """Return the map to read from."""
        return self._X

    def read(self, task: tuple[int, ...]) -> Iterator[Array]:
        for number in task:
            start, stop = self._blocks[number]
            yield self._check(number, self._load(start, stop))

    def _load(self, start: int, stop: int) -> Array:
        return np.ascontiguousarray(np.asarray(self._mapped()[start:stop]), dtype=self.dtype)

    def _name(self) -> str:
        return "The memory map"


class NpyRows(MappedRows):
    """A ``.npy`` file: blocks are read into memory, so that no more than the budget is used."""

    def __init__(
        self, path: Path, *, memory_budget: int | str | None = None, dtype: Any = None
    ) -> None:
        self.path = path
        mapped = map_npy(path)
        super().__init__(mapped, memory_budget=memory_budget, dtype=dtype)
        self._offset = getattr(mapped, "offset", 0)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_X": None}  # the file is mapped again where the source goes

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._X = map_npy(self.path)

    def _mapped(self) -> Array:
        """Return a new map, which gives back what it has read when it is gone."""
        return map_npy(self.path)

    def _load(self, start: int, stop: int) -> Array:
        if not self._X.flags.c_contiguous:
            return super()._load(start, stop)
        stored = self._X.dtype
        values = np.fromfile(
            self.path,
            dtype=stored,
            count=(stop - start) * self.n_features,
            offset=self._offset + start * self.n_features * stored.itemsize,
        )
        return values.reshape(stop - start, self.n_features).astype(self.dtype, copy=False)

    def _name(self) -> str:
        return str(self.path)


def check_matrix(shape: tuple[int, ...], dtype: np.dtype[Any], name: str) -> None:
    if len(shape) != 2:
        raise SidelightError(f"{name} holds an array of shape {shape}; rows must be a matrix.")
    if dtype.kind not in "biuf":
        raise SidelightError(f"{name} holds {dtype}, not numbers.")


def map_npy(path: Path) -> Array:
    """Map a ``.npy`` file with a matrix of numbers."""
    try:
        mapped = np.load(path, mmap_mode="r")
    except (ValueError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise SidelightError(f"{path} is not a .npy file with numbers: {error}") from error
    check_matrix(mapped.shape, mapped.dtype, str(path))
    return mapped
