"""How many threads work on blocks, and keeping BLAS from adding its own on top."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_asked: ContextVar[int | None] = ContextVar("sidelight_threads", default=None)


def get_threads() -> int:
    """Return the number of threads that work on blocks of rows.

    It is what ``with threads(n)`` asks for, else the environment variable
    ``SIDELIGHT_NUM_THREADS``, else the number of processors this process may use. Results do not
    depend on it.

    Examples
    --------
    >>> from sidelight.engine import get_threads, threads
    >>> with threads(3):
    ...     get_threads()
    3
    """
    asked = _asked.get()
    if asked is not None:
        return asked
    setting = os.environ.get("SIDELIGHT_NUM_THREADS", "").strip()
    if setting:
        if not setting.isdecimal() or int(setting) < 1:
            raise SidelightError(
                f"SIDELIGHT_NUM_THREADS must be a whole number above 0, got {setting!r}."
            )
        return int(setting)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def threads(n: int) -> Iterator[None]:
    """Use ``n`` threads for everything inside the block.

    Examples
    --------
    >>> from sidelight.engine import threads
    >>> with threads(1):
    ...     pass
    """
    if n < 1:
        raise SidelightError(f"The number of threads must be at least 1, got {n}.")
    token = _asked.set(int(n))
    try:
        yield
    finally:
        _asked.reset(token)


class _OneThreadBlas:
    """Limit BLAS to one thread while anyone is inside.

    The limit is a setting of the whole process, so the first to enter sets it and the last to
    leave puts it back; fits that overlap in several threads then never restore each other's limit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limit = _controller().limit(limits=1, user_api="blas")

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    """Find the BLAS libraries once: the search takes milliseconds, setting a limit does not."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


one_thread_blas = _OneThreadBlas()
