"""Numba loops: small pure functions of arrays.

Threads are ours, over blocks of rows; ``parallel=True`` does not cache safely, ``nogil=True`` lets
several blocks run at once.
"""

from __future__ import annotations

import functools
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

from sidelight._warn import warn

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a loop once, keep it on disk, and let it run without the interpreter lock."""
    return compiled(function)


def sum_kernel(function: Function) -> Function:
    """Compile a loop like :func:`kernel`, and let it add in the order that vectors like best.

    The order is fixed when the loop is compiled: results stay the same for any number of threads.
    """
    return compiled(function, fastmath={"reassoc", "contract"})


def fused_kernel(function: Function) -> Function:
    """Compile a loop like :func:`kernel`; products are added unrounded, sums keep their order."""
    return compiled(function, fastmath={"contract"})


def compiled(function: Function, **options: Any) -> Function:
    """Compile a loop, and keep it where there is a place for it."""
    try:
        return _njit(function, cache=True, **options)
    except RuntimeError as error:  # so Numba says that it can write nowhere
        if "no locator available" not in str(error):
            raise
    folder = _fallback()
    if folder is None:
        return _njit(function, **options)
    usual = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)  # for this loop: other packages choose their own
    try:
        return _njit(function, cache=True, **options)
    except RuntimeError:
        return _njit(function, **options)
    finally:
        numba.config.CACHE_DIR = usual


def _njit(function: Function, **options: Any) -> Function:
    made: Function = numba.njit(nogil=True, **options)(function)
    return made


@functools.cache
def _fallback() -> Path | None:
    """Choose the temporary folder that keeps compiled loops, and warn about it once."""
    folder = _temporary_folder()
    instead = "not kept, and compiled again every time" if folder is None else f"kept in {folder}"
    warn(
        "Neither the folder of Sidelight nor the home folder can be written, so compiled loops are "
        f"{instead}; NUMBA_CACHE_DIR names a folder that can.",
    )
    return folder


def _temporary_folder() -> Path | None:
    """Make a temporary folder, if only this user can write it: what is loaded from it is run."""
    user = os.getuid() if hasattr(os, "getuid") else ""
    try:
        folder = Path(tempfile.gettempdir(), f"sidelight-numba-{user}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    if hasattr(os, "getuid") and (found.st_uid != user or stat.S_IMODE(found.st_mode) & 0o022):
        return None
    return folder if stat.S_ISDIR(found.st_mode) else None
