"""Whether a request is about a table that is read block by block."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sidelight import catalog
from sidelight._words import worded
from sidelight.catalog import Method
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io.inner import files_of, is_on_disk, part_format

#: A single file of more bytes than this, as they are in memory, is read in blocks.
MAX_IN_MEMORY = 2 << 30
#: Bytes in memory of a byte of a compressed text file.
UNPACKED = 4
OPTIONS = {"memory": "--memory", "engine": "--engine", "checkpoint": "--checkpoint"}


def in_blocks(request: Any, method: Method | None = None) -> bool:
    """Whether the rows of a request are read block by block, by what is asked for or how many.

    Parameters
    ----------
    request : Request
        What is asked for.
    method : Method, default=None
        The method, where it is named: a single file is read whole for one that cannot do without.
    """
    if getattr(request, "resume", False) and request.checkpoint is None:
        raise InvalidRequest(
            worded("resume=True", "--resume")
            + " goes on from a checkpoint: name its file with "
            + worded("checkpoint=", "--checkpoint")
            + "."
        )
    given = [name for name in OPTIONS if getattr(request, name, None) is not None]
    data = request.data
    if not is_on_disk(data):
        if given:
            option = worded(f"{given[0]}=", OPTIONS[given[0]])
            raise InvalidRequest(
                f"{option} is for rows that are read block by block from files; these are in "
                "memory already."
            )
        return False
    if given or names_several(data):
        return True
    reads_blocks = method is None or method.tags.out_of_core
    return reads_blocks and os.path.isfile(data) and _bytes_in_memory(Path(data)) > MAX_IN_MEMORY


def names_several(data: Any) -> bool:
    """Whether data is a folder, a pattern, a list of files, a dataset or a query."""
    if not isinstance(data, str | os.PathLike):
        return True
    # Unlike Path, these take a name that is too long for any file.
    return os.path.isdir(data) or (not os.path.exists(data) and glob.has_magic(os.fspath(data)))


def files_in(path: Path) -> list[Path]:
    """Return the files that a path stands for; itself where it is one, or none is there."""
    if not names_several(path):
        return [path]
    try:
        return files_of(path)
    except (FileNotFoundError, SidelightError):  # said when the rows are read
        return [path]


def check_streams(method: Method, names: Sequence[str] = ()) -> None:
    """Refuse a method that needs all rows at once.

    Parameters
    ----------
    method : Method
        The method.
    names : sequence of str
        Options that make the job read blocks, for the message.
    """
    if method.tags.out_of_core:
        return
    able = [m.name for m in catalog.methods(kind=method.tags.kind) if m.tags.out_of_core]
    others = f"methods that read blocks are {', '.join(able)}" if able else "no method of its kind"
    raise InvalidRequest(
        f"{method.cls.__name__} needs all rows in memory, and these are read block by block; "
        + (f"{others}." if able else f"{others} can do without.")
        + " A single file that fits into memory is read whole"
        + worded(
            " without memory=, engine= and checkpoint=.",
            " without the options for tables larger than memory.",
        )
    )


def _bytes_in_memory(path: Path) -> int:
    """Return about how many bytes a file takes in memory; 0 for formats not read in blocks."""
    try:
        kind = part_format(path)
        if kind == "parquet":
            import pyarrow.parquet as pq

            metadata = pq.read_metadata(path)
            groups = range(metadata.num_row_groups)
            return sum(metadata.row_group(group).total_byte_size for group in groups)
        if kind in ("csv", "feather"):
            return path.stat().st_size * (UNPACKED if path.suffix == ".gz" else 1)
    except Exception:  # what is wrong with the file is said when it is read
        return 0
    return 0
