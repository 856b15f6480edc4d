"""A file to which one line of JSON is appended for every answer, safely, the moment it is given."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from sidelight.exceptions import ConstraintFileError, SidelightError
from sidelight.io.inner import check_writable

FORMAT = "sidelight-answers-1"
START = json.dumps({"format": FORMAT})[:-1].encode()  # what every file begins with


class AnswerLog:
    """An append-only file of JSON lines; the first identifies the data that the answers are about.

    A line is on the disk when :meth:`append` returns. Only the last line can be incomplete, when
    the process was killed while it was written, before :meth:`append` returned; it is
    ignored on reading and cut off by the first :meth:`append`. Opening changes nothing in a file
    that is there.

    Parameters
    ----------
    path : path-like
        The file; made if it does not exist.
    header : dict
        What the answers are about; an existing file must say the same.
    """

    def __init__(self, path: str | os.PathLike[str], header: dict[str, Any]) -> None:
        self.path = check_writable(path)
        is_new = not self.path.exists()
        if not (is_new or self.path.is_file()):
            raise SidelightError(f"{self.path} is a pipe or a device; answers are kept in a file.")
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            self._lock()
            content = self._read_all()
            self._lines, self._end = _complete_lines(content)
            if self._lines:
                self._check_header(header)
            elif not START.startswith(content[: len(START)]):  # not even a torn first line of ours
                self._raise_not_recorded()
            self._missing = self._missing_before({"format": FORMAT, **header})
            if is_new and not content:
                self._write_first_line()
        except BaseException:
            os.close(self._file)
            raise

    def _write_first_line(self) -> None:
        try:
            self._write(b"")
        except OSError:  # no room: leave no empty file behind
            self.path.unlink(missing_ok=True)
            raise
        _sync_folder(self.path.parent)

    def _lock(self) -> None:
        """Lock the file: an undo in a second process would take back an answer of this one."""
        try:
            import fcntl
        except ImportError:  # not on Windows
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise SidelightError(
                f"{self.path} is in use: questions are being asked with it elsewhere; finish "
                "there, or use another file."
            ) from error

    def _read_all(self) -> bytes:
        with open(self._file, "rb", closefd=False) as file:
            return file.read()

    def _check_header(self, header: dict[str, Any]) -> None:
        found = self._parse(1)
        if found.get("format") != FORMAT:
            self._raise_not_recorded()
        named = found.get("named_by_ids")
        if named != header["named_by_ids"]:
            ways = {True: "ids", False: "positions"}
            raise ConstraintFileError(
                f"{self.path} names rows by their {ways.get(bool(named))}, but the data has "
                f"{'ids' if header['named_by_ids'] else 'none'}; use the same id column as before.",
                path=self.path,
                line=1,
            )
        # Rows that are known by position only must be all there, in the same order.
        if not named and found.get("n_rows") != header["n_rows"]:
            raise ConstraintFileError(
                f"{self.path} holds answers about {found.get('n_rows')} rows without ids, but "
                f"there are {header['n_rows']} rows now; use the same data as before.",
                path=self.path,
                line=1,
            )

    def _raise_not_recorded(self) -> NoReturn:
        raise ConstraintFileError(
            f"{self.path} is not a file of answers that this version of Sidelight has written; "
            "name another file.",
            path=self.path,
            line=1,
        )

    def _parse(self, number: int) -> dict[str, Any]:
        try:
            record = json.loads(self._lines[number - 1])
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise ConstraintFileError(
                f"Line {number} of {self.path} is damaged (not a JSON object); remove it, or "
                "restore the file.",
                path=self.path,
                line=number,
            )
        return record

    def _missing_before(self, header: dict[str, Any]) -> bytes:
        """What the next line needs before it: the first line, or the end of the last one."""
        if not self._lines:
            return _as_line(header)
        return b"" if self._lines[-1].endswith(b"\n") else b"\n"

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Number and content of every line that was there at the opening, but for the first."""
        for number in range(2, len(self._lines) + 1):
            yield number, self._parse(number)

    def append(self, record: dict[str, Any]) -> None:
        """Write a line and wait until it is on the disk; on failure no answer is lost or added."""
        self._write(_as_line(record))

    def _write(self, line: bytes) -> None:
        content = self._missing + line
        try:
            if os.fstat(self._file).st_size > self._end:  # a torn line
                os.ftruncate(self._file, self._end)
            rest = content
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError:  # a full disk
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise
        self._missing = b""
        self._end += len(content)

    def close(self) -> None:
        """Close the file; harmless if it is closed."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _as_line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def _complete_lines(content: bytes) -> tuple[list[bytes], int]:
    """Lines without a torn last one, and where they end."""
    lines = content.splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        try:
            json.loads(lines[-1])
        except ValueError:
            lines.pop()
    return lines, sum(map(len, lines))


def _sync_folder(folder: Path) -> None:
    """Put the name of a new file on the disk, where the system lets one do that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
