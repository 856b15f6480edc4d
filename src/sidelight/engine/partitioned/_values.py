"""One value per row, left beside the partitions: labels, bounds, distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from sidelight._typing import Array, IntArray
from sidelight.engine.partitioned._passes import OfRows, PassRecord

if TYPE_CHECKING:
    from sidelight.engine.partitioned._rows import PartitionedRows


class RowValues(OfRows, NDArrayOperatorsMixin):
    """Values of all rows that stay beside their partitions until somebody looks at them.

    They behave like an array. A few rows are fetched alone (``values[[3, 5]]``), a copy with other
    values in a few rows costs these few; everything else brings all values here, once. Passed on to
    another pass over the same rows, they do not move.

    Attributes
    ----------
    shape : tuple of int
        Number of rows, and what there is for each.
    dtype : numpy.dtype
        Element type.

    Examples
    --------
    ``labels_`` of a fit to a Dask collection are such values: ``np.asarray(model.labels_)`` brings
    them into memory, ``model.labels_.write("labels/")`` writes a file beside each partition.
    """

    def __init__(
        self,
        source: PartitionedRows,
        record: PassRecord,
        index: int,
        shape: tuple[int, ...],
        dtype: Any,
    ) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.source = source
        self.record, self.index = record, index
        self._changed: dict[int, Any] = {}
        self._here: Array | None = None
        self._lives_here = False

    # ------------------------------------------------------------------ what needs no values

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return int(np.prod(self.shape))

    @property
    def nbytes(self) -> int:
        """Bytes of all values, wherever they are."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        where = "here" if self._here is not None else "beside the partitions"
        shape = " x ".join(f"{length:,}" for length in self.shape)
        return f"RowValues({shape} {self.dtype}, {where})"

    def copy(self) -> RowValues:
        """Return values that can be changed without changing these."""
        other = self.frozen()
        other._here = None if self._here is None else self._here.copy()
        return other

    def frozen(self) -> RowValues:
        """Return these values as they are now, for a pass that may have to be repeated later."""
        other = RowValues(self.source, self.record, self.index, self.shape, self.dtype)
        other._changed = dict(self._changed)
        if self._lives_here:
            other._here, other._lives_here = self._here, True
        return other

    def map(
        self, function: Callable[..., Any], *aligned: Any
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return totals and row values of ``function(values, *aligned)``, beside the partitions."""
        return self.source.map_reduce(_OnValues(function), aligned=(self, *aligned))

    def parts(self) -> Iterator[tuple[int, int, Array]]:
        """Yield ``(start, stop, values)`` partition by partition, one of them here at a time."""
        if self._here is not None:
            yield 0, len(self), self._here
        else:
            yield from self.source.parts_of_values(self)

    def write(self, folder: str | Path) -> list[Path]:
        """Write a ``.npy`` file beside each partition, and return the names of the files."""
        return self.source.write_values(self, Path(folder))

    # ------------------------------------------------------------------ a few rows

    @property
    def changed(self) -> tuple[IntArray, Array]:
        """Positions that hold other values than the pass has left, ascending; and these values."""
        rows = np.array(sorted(self._changed), dtype=np.int64)
        values = np.array([self._changed[row] for row in rows], dtype=self.dtype)
        return rows, values.reshape(len(rows), *self.shape[1:])

    def __getitem__(self, key: Any) -> Any:
        rows = None if self._here is not None else self._as_rows(key)
        if rows is None:
            return np.asarray(self)[key]
        taken = self.source.take_values(self, rows)
        return taken[0] if np.ndim(key) == 0 else taken

    def __setitem__(self, key: Any, new: Any) -> None:
        rows = self._as_rows(key)
        if rows is None:
            if self._here is None:
                self._here = np.array(self)
            self._here[key] = new
            self._lives_here = True
            return
        values = np.broadcast_to(np.asarray(new, dtype=self.dtype), (len(rows), *self.shape[1:]))
        if self._here is not None:
            self._here = self._here.copy()
            self._here[rows] = values
        self._changed.update(zip(rows.tolist(), values, strict=True))

    def _as_rows(self, key: Any) -> IntArray | None:
        """Return the positions that a key names, where these are a few; None otherwise."""
        if isinstance(key, slice | tuple) or key is None or key is Ellipsis:
            return None
        rows = np.asarray(key)
        if rows.dtype.kind not in "iu" and rows.size:
            return None
        rows = np.atleast_1d(rows.astype(np.int64))
        if rows.ndim != 1:
            return None
        outside = (rows < -len(self)) | (rows >= len(self))
        if np.any(outside):
            raise IndexError(f"There is no row {rows[outside][0]}; there are {len(self)}.")
        return np.where(rows < 0, rows + len(self), rows)

    # ------------------------------------------------------------------ all of them

    @property
    def is_here(self) -> bool:
        """Whether the values are those of the client, and no longer of a pass."""
        return self._lives_here

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        if self._here is None:
            self._here = self.source.pull_values(self)
            self._here.setflags(write=False)
        values = self._here if dtype is None else self._here.astype(dtype, copy=False)
        return values.copy() if copy else values

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        if out is not None and any(isinstance(one, RowValues) for one in out):
            return NotImplemented
        return getattr(ufunc, method)(*map(_pulled, inputs), **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*_pulled(args), **_pulled(kwargs))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def __iter__(self) -> Any:
        return iter(np.asarray(self))

    def __reduce__(self) -> Any:
        return np.array, (np.asarray(self),)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()


class _OnValues:
    """A function of values as a block function, for which no rows are read."""

    needs_rows = False

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, block: Any, *values: Any) -> Any:
        return self._function(*values)


def _pulled(thing: Any) -> Any:
    """Replace values beside partitions by arrays, inside of lists and mappings too."""
    if isinstance(thing, RowValues):
        return np.asarray(thing)
    if isinstance(thing, tuple | list):
        return type(thing)(map(_pulled, thing)) if type(thing) in (tuple, list) else thing
    if isinstance(thing, dict):
        return {name: _pulled(value) for name, value in thing.items()}
    return thing
