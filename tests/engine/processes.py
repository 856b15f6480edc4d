"""A small engine over plain processes: what any engine has to do, and that it suffices.

Nothing in the families knows an engine. A process holds its partitions, loaded by functions that
can be called again; when it is killed, another process is started and loads them anew.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import cloudpickle

from sidelight.engine.partitioned._engine import Engine, Loss

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["sidelight.cluster.kmeans._pck", "sidelight.mixture.gaussian._mixture"]
)


def serve(pipe: Any) -> None:
    """Answer orders until the other side hangs up."""
    partitions: dict[int, Any] = {}
    while True:
        try:
            message = pipe.recv_bytes()
        except EOFError:
            return
        work, number, load, order = cloudpickle.loads(message)
        try:
            if number not in partitions:
                partitions[number] = load()
            answer = (True, work(partitions[number], order))
        except BaseException as error:  # the other side raises it
            answer = (False, error)
        pipe.send_bytes(cloudpickle.dumps(answer))


class ProcessEngine(Engine):
    """Partitions in processes on this machine.

    Parameters
    ----------
    loaders : sequence of callable
        Each returns the rows of a partition.
    n_workers : int
        Number of processes.
    """

    def __init__(self, loaders: Sequence[Callable[[], Any]], n_workers: int = 2) -> None:
        self._loaders = list(loaders)
        self._processes: list[Any] = [None] * n_workers
        self._pipes: list[Any] = [None] * n_workers
        self._lost: dict[int, int] = {}
        self.kill_before_answer: set[int] = set()
        self.n_passes = 0
        for place in range(n_workers):
            self._start(place)

    def partitions(self) -> Sequence[str]:
        return [f"partition {number}" for number in range(len(self._loaders))]

    @property
    def workers(self) -> int:
        return len(self._processes)

    def map_in_order(self, work: Any, orders: Mapping[int, Any]) -> Iterator[tuple[int, Any]]:
        self.n_passes += 1
        numbers = sorted(orders)
        for number in numbers:
            self._send(work, number, orders[number])
        if self.n_passes in self.kill_before_answer:
            self.kill(0)
        for number in numbers:
            yield number, self._receive(work, number, orders)

    def _receive(self, work: Any, number: int, orders: Mapping[int, Any]) -> Any:
        place = number % self.workers
        try:
            good, answer = cloudpickle.loads(self._pipes[place].recv_bytes())
        except (EOFError, ConnectionResetError):
            self._start(place)
            again = [n for n in sorted(orders) if n % self.workers == place and n >= number]
            self._lost[place] = self._lost.get(place, 0) + len(again)
            for n in again:
                self._send(work, n, orders[n])
            return self._receive(work, number, orders)
        if not good:
            raise answer
        return answer

    def losses(self) -> list[Loss]:
        found = [Loss(f"process {place}", n) for place, n in self._lost.items()]
        self._lost.clear()
        return found

    def _send(self, work: Any, number: int, order: Any) -> None:
        message = cloudpickle.dumps((work, number, self._loaders[number], order))
        # A process that is gone is noticed when its answer does not come.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._pipes[number % self.workers].send_bytes(message)

    def _start(self, place: int) -> None:
        ours, theirs = _CONTEXT.Pipe()
        process = _CONTEXT.Process(target=serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        self._processes[place], self._pipes[place] = process, ours

    def kill(self, place: int) -> None:
        """Kill a process by its number, as the system would."""
        os.kill(self._processes[place].pid, signal.SIGKILL)
        self._processes[place].join()

    def close(self) -> None:
        for process, pipe in zip(self._processes, self._pipes, strict=True):
            pipe.close()
            process.terminate()
            process.join()


class Piece:
    """Loads a piece of an array."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __call__(self) -> Any:
        return self.rows
