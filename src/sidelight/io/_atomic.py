"""Write a file completely or not at all."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from pathlib import Path

from sidelight.exceptions import InvalidRequest, SidelightError


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a temporary file in the same folder, then rename it to the target.

    The block gets the path of a temporary file in the same folder, with the same suffix. When the
    block ends well the temporary file takes the place of the target in one step; when it raises
    (a full disk, Ctrl-C) the temporary file is removed and the target is what it was before.
    """
    target = check_writable(path)
    if target.exists() and not target.is_file():  # a device such as /dev/stdout has no beside
        yield target
        return
    target = Path(os.path.realpath(target))  # a link keeps pointing to the file it points to
    suffix = "".join(target.suffixes[-2:])
    suffix = suffix if len(suffix) <= 20 else target.suffix  # the name may be as long as allowed
    temporary = target.with_name(f".sidelight-{secrets.token_hex(6)}{suffix}")
    try:
        yield temporary
        _flush(temporary)
        _keep_permissions(target, temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_folder(
    path: str | os.PathLike[str], is_ours: Callable[[Path], bool] = lambda file: False
) -> Iterator[Path]:
    """Write the files of a folder, all of them or none.

    The block gets a hidden folder beside the files that are there. When it ends well each file
    takes its place in one step, and files of ours that are not written again are removed; when it
    raises, what was there before is all that is there.
    """
    target = check_folder(path)
    existed = target.is_dir()
    target.mkdir(exist_ok=True)
    hidden = target / f".sidelight-{secrets.token_hex(6)}"
    try:
        hidden.mkdir()
        yield hidden
        files = sorted(hidden.iterdir())
        for file in files:
            _flush(file)
        for file in files:
            os.replace(file, target / file.name)
        written = {file.name for file in files}
        for file in target.iterdir():
            if file.name not in written and file.is_file() and is_ours(file):
                file.unlink()
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        if not existed:
            with contextlib.suppress(OSError):  # it holds what was written
                target.rmdir()


def check_folder(path: str | os.PathLike[str]) -> Path:
    """Raise before long work if files cannot be written into a folder, which may not be there."""
    target = check_name(path)
    mode = _mode(target)
    if mode is not None and not stat.S_ISDIR(mode):
        raise SidelightError(f"Cannot write files into {target}: it is a file, not a folder.")
    folder = target if mode is not None else Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        raise SidelightError(f"Cannot write {target}: the folder {target.parent} does not exist.")
    if not os.access(folder, os.W_OK):
        raise SidelightError(f"Cannot write {target}: the folder {folder} is read-only.")
    return target


def write_together(
    writers: Mapping[Path, Callable[[Path], None]],
    folders: Container[Path] = (),
    is_ours: Callable[[Path], bool] = lambda file: False,
) -> None:
    """Write several files, or none: all temporary files are written before the first is renamed.

    Those of ``folders`` are folders of files, of which ``is_ours`` knows the ones to replace.
    """
    with contextlib.ExitStack() as stack:
        beside = {
            path: stack.enter_context(
                atomic_folder(path, is_ours) if path in folders else atomic_write(path)
            )
            for path in writers
        }
        for path, write in writers.items():
            write(beside[path])


def check_writable(path: str | os.PathLike[str]) -> Path:
    """Raise before long work if a file cannot be written there."""
    target = check_name(path)
    mode = _mode(target)
    if mode is not None and stat.S_ISDIR(mode):
        raise SidelightError(f"Cannot write {target}: it is a folder; name a file in it.")
    if mode is None or stat.S_ISREG(mode):  # written beside its place: that needs the folder
        folder = Path(os.path.realpath(target)).parent
        shown = folder if target.is_symlink() else target.parent
        if not folder.is_dir():
            raise SidelightError(f"Cannot write {target}: the folder {shown} does not exist.")
        if not os.access(folder, os.W_OK):
            raise SidelightError(f"Cannot write {target}: the folder {shown} is read-only.")
    if mode is not None and not os.access(target, os.W_OK):
        raise SidelightError(f"Cannot write {target}: permission denied.")
    return target


def check_can_be_read_again(path: str | os.PathLike[str]) -> None:
    """Raise on a pipe or a device, where a file cannot be checked before it is in its place."""
    target = Path(path)
    if target.exists() and not target.is_file() and not target.is_dir():
        raise SidelightError(
            f"Cannot write {target}: it is a pipe or a device, and the table is checked in a file "
            "before it is in its place; name a file."
        )


def check_name(path: str | os.PathLike[str]) -> Path:
    """Raise on a name that is not text: neither Arrow nor messages can use such names."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        raise SidelightError(
            f"The name {os.fspath(path)!a} is not UTF-8; use another one."
        ) from None
    return Path(path)


def _mode(path: Path) -> int | None:
    """File mode at a path; None where there is no file yet."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise SidelightError(
            f"Cannot write {path}: the folder {path.parent} does not exist."
        ) from None
    except OSError as error:  # a loop of links, a name that is too long, no way into the folder
        reason = (error.strerror or str(error)).lower()
        raise SidelightError(f"Cannot write {path}: {reason}.") from error


def check_apart(
    outputs: Iterable[str | os.PathLike[str]], inputs: Iterable[str | os.PathLike[str]]
) -> None:
    """Raise if an output is an input, or the same file as another output, by whatever name."""
    written = [Path(path) for path in outputs]
    for path, source in itertools.product(written, map(Path, inputs)):
        if is_same_file(path, source):
            also = "" if path == source else f" the same file as {source}, which"
            raise InvalidRequest(
                f"Cannot write {path}: it is{also} {'is ' if also else ''}read here and would be "
                "lost; name another file."
            )
    for one, other in itertools.combinations(written, 2):
        if is_same_file(one, other):
            raise InvalidRequest(
                f"Cannot write {one} twice; give every output a file of its own."
                if one == other
                else f"Cannot write both {one} and {other}: they are the same file."
            )


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, also through symbolic and hard links."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return False


def _flush(path: Path) -> None:
    """Flush the bytes to the disk: some file systems report only here that it is full."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _keep_permissions(old: Path, new: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        new.chmod(old.stat().st_mode & 0o777)
