"""Write a file completely or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from sidelight.exceptions import SidelightError


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write beside the target, then rename.

    The block gets the path of a temporary file in the same folder, with the same suffix. When the
    block ends well the temporary file takes the place of the target in one step; when it raises
    (a full disk, Ctrl-C) the temporary file is removed and the target is what it was before.
    """
    target = check_writable(path)
    if target.exists() and not target.is_file():  # a device such as /dev/stdout has no beside
        yield target
        return
    target = target.resolve()  # a symbolic link keeps pointing to the file it points to
    suffix = "".join(target.suffixes)
    temporary = target.with_name(f".{target.stem[:80]}-{secrets.token_hex(6)}{suffix}")
    try:
        yield temporary
        _flush(temporary)
        _keep_permissions(target, temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def write_together(writers: Mapping[Path, Callable[[Path], None]]) -> None:
    """Write several files, or none: all are written beside before the first is renamed."""
    with contextlib.ExitStack() as stack:
        beside = {path: stack.enter_context(atomic_write(path)) for path in writers}
        for path, write in writers.items():
            write(beside[path])


def check_writable(path: str | os.PathLike[str]) -> Path:
    """Say now, rather than after long work, that a file cannot be written there."""
    target = Path(path)
    if target.is_dir():
        raise SidelightError(f"Cannot write {target}: it is a folder; name a file in it.")
    folder = target.parent
    if not folder.is_dir():
        raise SidelightError(f"Cannot write {target}: the folder {folder} does not exist.")
    if not os.access(target if target.exists() else folder, os.W_OK):
        raise SidelightError(f"Cannot write {target}: permission denied.")
    return target


def _flush(path: Path) -> None:
    """Put the bytes on the disk: some file systems only tell here that it is full."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _keep_permissions(old: Path, new: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        new.chmod(old.stat().st_mode & 0o777)
