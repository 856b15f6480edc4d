"""What was decoded stays: in memory where all of it fits, else in a file without a name."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sidelight._typing import Array

#: A table is kept on disk where this many times its size is free.
ROOM = 3

#: This share of a file system stays free, however small the table.
LEFT_FREE = 0.1

#: Kinds of file systems that are memory, and where Linux lists the file systems.
IN_MEMORY = {"tmpfs", "ramfs"}
MOUNTS = Path("/proc/mounts")


class BlockStore:
    """Blocks of a table that take longer to make than to read: decoded, or prepared.

    Blocks stay in memory where those of the whole table fit into half of the memory budget, else in
    one temporary file in the folder that :mod:`tempfile` chooses (``TMPDIR``), where that has room.
    The file has no name as soon as it is open, so that nothing is left behind, not even by a
    process that is killed. If it cannot be written, nothing is kept and ``get`` finds nothing.

    Several threads may use it at a time. A copy in another process begins empty, with a file of its
    own; a fork reads what was there, and adds nothing.

    Parameters
    ----------
    n_bytes : int
        Bytes of all blocks of the table.
    budget : int
        Bytes that blocks may take in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.engine._store import BlockStore
    >>> store = BlockStore(16, budget=32)
    >>> store.put(0, np.ones((1, 2)))
    >>> store.get(0), store.get(1)
    (array([[1., 1.]]), None)
    """

    def __init__(self, n_bytes: int, budget: int) -> None:
        self._n_bytes = n_bytes
        self._in_memory = 2 * n_bytes <= budget
        self._begin()

    def __getstate__(self) -> dict[str, Any]:
        return {"_n_bytes": self._n_bytes, "_in_memory": self._in_memory}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._blocks: dict[int, Array | _Spot] = {}
        self._claimed: set[int] = set()
        self._file: _NamelessFile | None = None
        self._end = 0
        self._adds = True

    def narrowed(self, n_bytes: int) -> BlockStore:
        """Return an empty store for some rows of the table.

        Parameters
        ----------
        n_bytes : int
            Bytes of their blocks. They stay in memory only if all of the table would.
        """
        store = BlockStore(n_bytes, 0)
        store._in_memory = self._in_memory
        return store

    def __contains__(self, number: int) -> bool:
        return number in self._blocks

    def get(self, number: int) -> Array | None:
        """Return a block, or None if it is not kept."""
        file, kept = self._file, self._blocks.get(number)
        if not isinstance(kept, _Spot):
            return kept
        block = np.empty(kept.shape, dtype=kept.dtype)
        return block if file is not None and file.read(block, kept.offset) else None

    def put(self, number: int, block: Array) -> None:
        """Keep a block, if there is room.

        Parameters
        ----------
        number : int
            What it is called: any number that no other block of the table has.
        block : ndarray
            The block, which is not changed any more.
        """
        if self._in_memory:
            self._blocks[number] = block
            return
        found = self._claim(number, block)
        if found is None:
            return
        file, place = found
        try:
            file.write(np.ascontiguousarray(block), place.offset)
        except OSError:  # the disk is full, or gone
            self._give_up()
            return
        with self._lock:  # a block is there once all of it is
            if self._adds:
                self._blocks[number] = place

    def _claim(self, number: int, block: Array) -> tuple[_NamelessFile, _Spot] | None:
        """Return where a block goes, unless it is there, or on its way from another thread."""
        if not self._adds or os.getpid() != self._process:  # a fork shares the file
            return None
        with self._lock:
            if not self._adds or number in self._claimed:
                return None
            if self._file is None:
                self._file = open_file(self._n_bytes)
                self._adds = self._file is not None
            if self._file is None:
                return None
            self._claimed.add(number)
            place = _Spot(self._end, block.shape, block.dtype)
            self._end += block.nbytes
            return self._file, place

    def keep_no_more(self) -> None:
        """Write nothing: the rows are read once, and what is kept would not be read again."""
        self._adds = False

    def _give_up(self) -> None:
        """Give the room back; threads that are reading finish with the file of before."""
        with self._lock:
            self._adds, self._file, self._blocks = False, None, {}


class _Spot(NamedTuple):
    """Where a block is in the file."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class _NamelessFile:
    """A temporary file that is gone when nothing uses it any more, whatever ends the process."""

    def __init__(self) -> None:
        file = tempfile.TemporaryFile(prefix="sidelight-", buffering=0)  # noqa: SIM115
        self._number = file.fileno()
        weakref.finalize(self, file.close)

    def write(self, block: Array, offset: int) -> None:
        """Write all of a block."""
        content = _bytes_of(block)
        while content:
            done = os.pwrite(self._number, content, offset)
            content, offset = content[done:], offset + done

    def read(self, block: Array, offset: int) -> bool:
        """Fill a block; return whether all of it was there."""
        content = _bytes_of(block)
        while content:
            try:
                done = os.preadv(self._number, [content], offset)
            except OSError:
                return False
            if not done:
                return False
            content, offset = content[done:], offset + done
        return True


def _bytes_of(block: Array) -> memoryview:
    return block.reshape(-1).view(np.uint8).data


def open_file(n_bytes: int) -> _NamelessFile | None:
    """Return a new temporary file, or None where there is no good place for it.

    Parameters
    ----------
    n_bytes : int
        What it is to hold.
    """
    if not (hasattr(os, "pwrite") and hasattr(os, "preadv")):
        return None
    try:
        folder = tempfile.gettempdir()
        disk = shutil.disk_usage(folder)
        left = disk.free - n_bytes
        if left < max((ROOM - 1) * n_bytes, LEFT_FREE * disk.total) or _is_memory(folder):
            return None
        return _NamelessFile()
    except OSError:
        return None


def _is_memory(folder: str) -> bool:
    """Whether a folder is in a file system in memory, where the system lists its own."""
    try:
        lines = MOUNTS.read_text(errors="replace").splitlines()
    except OSError:
        return False
    path = Path(folder).resolve()
    kind, depth = "", -1
    for line in lines:
        _, place, found, *_ = line.split(" ")
        mounted = Path(place.replace("\\040", " "))
        if path.is_relative_to(mounted) and len(mounted.parts) >= depth:  # the last one covers
            kind, depth = found, len(mounted.parts)
    return kind in IN_MEMORY
