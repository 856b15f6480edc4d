"""A journal of what the passes of a fit gave, from which an interrupted fit goes on.

A fit is a function of its parameters, its random numbers and what its passes over the rows return.
So the totals of every pass are all that has to survive: they are appended to a file, one entry a
pass, and a fit that is started again is given them instead of passing over the rows, until it comes
to where it was. Row values are not kept: they are made again beside the partitions when a pass
needs them (:mod:`sidelight.engine.partitioned._orders`), the same up to rounding.

An entry is a line of JSON that says what the step was and how its arrays are nested, the arrays as
``.npy``, and a checksum. An entry that was cut off while it was written is dropped.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from sidelight._words import worded
from sidelight.exceptions import SidelightError

#: First bytes of a journal, with the version of its form.
MAGIC = b"sidelight-journal-1\n"

#: Length and checksum before every entry.
HEAD = struct.Struct("<QI")


class Journal:
    """Steps of fits with what they gave, in a file.

    Parameters
    ----------
    path : Path
        The file.
    resume : bool
        Whether to go on from the steps in the file, where there is one.

    Attributes
    ----------
    n_replayed : int
        Steps that were taken from the file.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        self.path, self.n_replayed = path, 0
        self._file: BinaryIO | None = None
        self._ahead: list[tuple[str, Any, list[bytes]]] = []
        if path.exists():
            if not resume:
                raise SidelightError(
                    f"There is a checkpoint {path} already: {worded('resume=True', '--resume')} "
                    "goes on from it; remove the file to begin anew."
                )
            self._file = path.open("r+b")
            self._read()
        else:
            self._file = path.open("x+b")
            self._file.write(MAGIC)
            self._flush()

    def _read(self) -> None:
        """Read all entries that are whole, and cut off what follows them."""
        assert self._file is not None
        if self._file.read(len(MAGIC)) != MAGIC:
            raise SidelightError(
                f"{self.path} is no checkpoint of Sidelight, or of another version."
            )
        end = self._file.tell()
        while True:
            head = self._file.read(HEAD.size)
            if len(head) < HEAD.size:
                break
            length, checksum = HEAD.unpack(head)
            body = self._file.read(length)
            if len(body) < length or zlib.crc32(body) != checksum:
                break
            end = self._file.tell()
            self._ahead.append(_parse(body))
        self._ahead.reverse()
        self._file.seek(end)
        self._file.truncate()

    @property
    def is_replaying(self) -> bool:
        """Whether there are steps in the file that have not been taken yet."""
        return bool(self._ahead)

    def step(self, what: str, compute: Callable[[], Any]) -> Any:
        """Return what a step gives: from the file, or computed and appended.

        Parameters
        ----------
        what : str
            What is done; the file has to say the same.
        compute : callable
            Does it.
        """
        if self._file is None:  # row values that are looked at after the fit
            return compute()
        if self._ahead:
            before, form, arrays = self._ahead.pop()
            self.n_replayed += 1
            if before != what:
                raise SidelightError(
                    f"The checkpoint {self.path} is of another fit: step {self.n_replayed} was "
                    f"{before!r} there and is {what!r} now. Take the same data, method and "
                    "parameters, or begin anew without it."
                )
            return compute() if form is None else _decoded(form, arrays)
        value = compute()
        if self._file is not None:  # what is asked for after the end is not part of the fit
            self._append(what, value)
        return value

    def _append(self, what: str, value: Any) -> None:
        assert self._file is not None
        arrays: list[bytes] = []
        try:
            form = _encoded(value, arrays)
        except TypeError:
            form, arrays = None, []  # what has no form in the file is computed again
        line = json.dumps([what, form, [len(one) for one in arrays]]).encode() + b"\n"
        body = b"".join([line, *arrays])
        self._file.write(HEAD.pack(len(body), zlib.crc32(body)))
        self._file.write(body)
        self._flush()

    def _flush(self) -> None:
        assert self._file is not None
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self, *, remove: bool = False) -> None:
        """Close the file; remove it where nothing is left to resume."""
        self._ahead.clear()
        if self._file is not None:
            self._file.close()
            self._file = None
        if remove:
            self.path.unlink(missing_ok=True)


def _parse(body: bytes) -> tuple[str, Any, list[bytes]]:
    line, _, rest = body.partition(b"\n")
    what, form, lengths = json.loads(line)
    ends = np.cumsum([0, *lengths])
    return what, form, [rest[a:b] for a, b in itertools.pairwise(ends)]


def _encoded(value: Any, arrays: list[bytes]) -> Any:
    """Return how arrays are nested, and append the arrays."""
    if value is None or isinstance(value, str | bool | int | float):
        return ["value", value]
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return [kind, [_encoded(one, arrays) for one in value]]
    if isinstance(value, sparse.csr_array):
        parts = (value.data, value.indices, value.indptr, np.array(value.shape))
        return ["csr", [_encoded(one, arrays) for one in parts]]
    if isinstance(value, np.dtype) and value.kind != "V":
        return ["dtype", value.str]
    if isinstance(value, np.ndarray | np.generic) and np.asarray(value).dtype.kind in "biufSU":
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.asarray(value), allow_pickle=False)
        arrays.append(buffer.getvalue())
        return ["array" if isinstance(value, np.ndarray) else "scalar", len(arrays) - 1]
    raise TypeError(f"{type(value).__name__} has no form in a journal.")


def _decoded(form: Any, arrays: list[bytes]) -> Any:
    kind, inner = form
    if kind == "value":
        return inner
    if kind == "dtype":
        return np.dtype(inner)
    if kind in ("array", "scalar"):
        found = np.lib.format.read_array(io.BytesIO(arrays[inner]), allow_pickle=False)
        return found if kind == "array" else found[()]
    parts = [_decoded(one, arrays) for one in inner]
    if kind == "csr":
        data, indices, indptr, shape = parts
        return sparse.csr_array((data, indices, indptr), shape=tuple(shape))
    return tuple(parts) if kind == "tuple" else parts
