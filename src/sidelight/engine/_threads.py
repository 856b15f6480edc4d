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
    """Limit BLAS to one thread inside the block.

    The limit is a setting of the whole process: two that overlapped in different threads would
    restore each other's limit. So passes over rows take turns; each uses all threads anyway. A
    pass inside a pass is already covered by the limit of the outer one.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._here = threading.local()
        self._limit: Any = None

    def __enter__(self) -> None:
        if self._depth() == 0:
            self._turn.acquire()
            self._here.owns = True
            self._limit = _controller().limit(limits=1, user_api="blas")
            self._limit.__enter__()
        self._here.depth = self._depth() + 1

    def __exit__(self, *error: object) -> None:
        self._here.depth -= 1
        if self._here.depth == 0:
            self._here.owns = False
            try:
                self._limit.__exit__(None, None, None)
            finally:
                self._turn.release()

    @contextlib.contextmanager
    def outside(self) -> Iterator[None]:
        """Leave the context for a while: for work that waits for other threads of the process."""
        depth = self._depth()
        if not getattr(self._here, "owns", False):
            yield
            return
        self._here.depth, self._here.owns = 0, False
        self._limit.__exit__(None, None, None)
        self._turn.release()
        try:
            yield
        finally:
            self.__enter__()
            self._here.depth = depth

    def cover(self) -> None:
        """Mark this thread as working for one that is inside the context."""
        self._here.depth = 1

    def _depth(self) -> int:
        return getattr(self._here, "depth", 0)


@cache
def _controller() -> ThreadpoolController:
    """Find the BLAS libraries once: the search takes milliseconds, setting a limit does not."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


one_thread_blas = _OneThreadBlas()
