"""Numba loops: small pure functions of arrays.

Threads are ours, over blocks of rows; ``parallel=True`` does not cache safely, ``nogil=True`` lets
several blocks run at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a loop once, keep it on disk, and let it run without the interpreter lock."""
    compiled: Function = numba.njit(cache=True, nogil=True)(function)
    return compiled


def sum_kernel(function: Function) -> Function:
    """Compile a loop like :func:`kernel`, and let it add in the order that vectors like best.

    The order is fixed when the loop is compiled: results stay the same for any number of threads.
    """
    compiled: Function = numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})(
        function
    )
    return compiled
