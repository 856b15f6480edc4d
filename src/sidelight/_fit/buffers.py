"""Memory that block functions write over for every tile of rows, instead of asking for new memory.

An array of half a megabyte is mapped by the system when it is asked for and given back when it is
forgotten, and every page of it is filled with zeros in between. That costs more than the arithmetic
of a tile; how much depends on settings of the allocator, which Dask changes for its workers.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array

#: Buffers larger than this in all are given back after use.
MAX_KEPT_BYTES = 8 * 2**20

#: Buffers begin on a line of the processor's cache: loops over vectors are faster there.
ALIGNMENT = 64


class Buffers:
    """Arrays by name, of which each is written over by the next one of the same name.

    They belong to one thread at a time, see :func:`buffers`.

    Examples
    --------
    >>> from sidelight._fit.buffers import Buffers
    >>> mine = Buffers()
    >>> first = mine.array("rows", (3, 2))
    >>> first[:] = 1.0
    >>> mine.array("rows", (2, 2)).tolist()  # the same memory
    [[1.0, 1.0], [1.0, 1.0]]
    """

    def __init__(self) -> None:
        self._memory: dict[tuple[str, np.dtype[Any]], Array] = {}

    def array(
        self, name: str, shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float64
    ) -> Array:
        """Return an array of this shape with whatever the memory holds."""
        shape = (shape,) if isinstance(shape, int) else shape
        key = name, np.dtype(dtype)
        size = math.prod(shape)
        memory = self._memory.get(key)
        if memory is None or len(memory) < size:
            memory = self._memory[key] = aligned_memory(size, key[1])
        return memory[:size].reshape(shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(memory.nbytes for memory in self._memory.values())


class NewArrays:
    """In the place of :class:`Buffers` where results are kept: every array is a new one."""

    def array(
        self, name: str, shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float64
    ) -> Array:
        """Return a new array."""
        return np.empty(shape, dtype=dtype)


NEW_ARRAYS = NewArrays()


def aligned_memory(size: int, dtype: np.dtype[Any]) -> Array:
    """Return a new array of one dimension that begins on a line of the processor's cache."""
    raw = np.empty(size * dtype.itemsize + ALIGNMENT, dtype=np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size * dtype.itemsize].view(dtype)


#: Buffers that nobody uses now. Threads end with every pass over the rows, these stay.
_free: deque[Buffers] = deque()


def _taken() -> Buffers:
    try:
        return _free.pop()
    except IndexError:
        return Buffers()


def _give_back(memory: Buffers) -> None:
    if memory.nbytes <= MAX_KEPT_BYTES:
        _free.append(memory)


@contextmanager
def buffers() -> Iterator[Buffers]:
    """Lend buffers to a block function until the end of the context.

    Every thread gets its own, and so does a pass inside of a pass. What was written into them is
    gone afterwards: results are copied, or are arrays of their own.
    """
    mine = _taken()
    try:
        yield mine
    finally:
        _give_back(mine)


class _Lent:
    """Buffers that are given back when the thread ends that they were lent to."""

    def __init__(self) -> None:
        self.memory = _taken()

    def __del__(self) -> None:
        if _give_back is not None:  # while the interpreter ends, modules are empty
            _give_back(self.memory)


_threads = threading.local()


def thread_buffers() -> Buffers:
    """Return buffers that this thread keeps until its end, for names that nobody else uses."""
    lent: _Lent | None = getattr(_threads, "lent", None)
    if lent is None:
        lent = _threads.lent = _Lent()
    return lent.memory
