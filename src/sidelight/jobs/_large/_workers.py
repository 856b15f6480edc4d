"""Who works on blocks of rows: this process, workers on this machine, or a cluster."""

from __future__ import annotations

import contextlib
import logging
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sidelight._words import worded
from sidelight.engine import RowSource, checkpoint, get_threads, memory
from sidelight.engine.inner import DaskEngine, FilePartitions, check_budget, rows_of_files
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io.inner import Part, check_apart, check_writable

DASK = "dask"
#: Seconds to wait for the scheduler of a cluster.
SECONDS_TO_JOIN = 20


class Workers:
    """Who works on the blocks of a request, within its memory; closed when the fit is done.

    Parameters
    ----------
    request : Request
        With ``memory``, ``engine``, ``checkpoint`` and ``resume``, as far as the job has them.
    """

    def __init__(self, request: Any) -> None:
        self._memory = getattr(request, "memory", None)
        self._checkpoint = getattr(request, "checkpoint", None)
        self._resume = getattr(request, "resume", False)
        self._budget = _budget(self._memory)
        if self._checkpoint is not None:
            _check_checkpoint(Path(self._checkpoint), request)
        self._engine: str | None = getattr(request, "engine", None)
        self._client: Any = None
        self._n_processes = 1
        stack = contextlib.ExitStack()
        self.close = weakref.finalize(self, stack.close)
        if self._engine is not None:
            self._client, self._n_processes = _start(self._engine, stack)

    @property
    def note(self) -> str:
        """Who works, as a sentence; empty for this process."""
        if self._client is None:
            return ""
        n = len(self._client.nthreads())
        where = self._client.scheduler.address if ":" in (self._engine or "") else "this machine"
        return f"{n:,} worker{'s'[: n != 1]} of Dask on {where}."

    @contextlib.contextmanager
    def within_memory(self) -> Iterator[None]:
        """Keep blocks within the memory of the request."""
        if self._memory is None:
            yield
            return
        with memory(self.budget):
            yield

    @property
    def budget(self) -> int:
        """Bytes that the blocks of one process may take."""
        return max(1, self._budget // self._n_processes)

    @property
    def sharers(self) -> int:
        """Number of processes that share the rows, each with its budget."""
        return 1 if self._client is None else max(1, len(self._client.nthreads()))

    @contextlib.contextmanager
    def checkpointed(self) -> Iterator[None]:
        """Write down the passes of a fit, if that is asked for; the file stays."""
        if self._checkpoint is None:
            yield
            return
        with checkpoint(self._checkpoint, resume=self._resume, keep=True):
            yield

    def tables(self, parts: Sequence[Part]) -> Any:
        """Return the parts as a preparation is fitted to them, by whoever works."""
        if self._client is None:
            return list(parts)
        return DaskEngine(FilePartitions(list(parts), [part.name for part in parts]), self._client)

    def spread(self, rows: RowSource) -> RowSource:
        """Return the rows as a fit reads them, by whoever works."""
        return rows if self._client is None else rows_of_files(rows, self._client)


def _check_checkpoint(path: Path, request: Any) -> None:
    """Refuse a file of another fit, or a place where there can be none, before any work."""
    check_writable(path)
    check_apart([path], request.inputs[:-1])
    if path.exists() and not request.resume:
        raise SidelightError(
            f"There is a checkpoint {path} already: {worded('resume=True', '--resume')} goes on "
            "from it; remove the file to begin anew."
        )


def _budget(given: int | str | None) -> int:
    try:
        return check_budget(given, worded("memory", "--memory"))
    except SidelightError as error:
        raise InvalidRequest(str(error)) from error


def _start(engine: str, stack: contextlib.ExitStack) -> tuple[Any, int]:
    """Return a client, and how many processes of this machine share the memory."""
    name, _, address = engine.partition("=")
    if name != DASK or (address and "://" not in address):
        raise InvalidRequest(
            f"{worded('engine', '--engine')} must be dask, for workers on this machine, or "
            f"dask=tcp://HOST:PORT, for a cluster; got {engine!r}."
        )
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise InvalidRequest(
            f"{worded('engine', '--engine')} {engine} needs Dask: pip install "
            '"sidelight[dask]" brings it.'
        ) from error
    if address:
        try:
            client = stack.enter_context(Client(address, timeout=SECONDS_TO_JOIN))
        except (OSError, ValueError) as error:
            raise SidelightError(
                f"No scheduler of Dask answers at {address}: start one with `dask scheduler`, or "
                "name its address as it says it."
            ) from error
        return client, 1
    n = get_threads()
    cluster = stack.enter_context(
        LocalCluster(
            n_workers=n,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # a free port, for the server without the pages
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.ERROR,
        )
    )
    return stack.enter_context(Client(cluster)), n
