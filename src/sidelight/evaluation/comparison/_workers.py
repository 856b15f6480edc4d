"""Tasks in processes of their own, which can be ended at any moment.

A time budget only holds if a fit that takes too long can be stopped, and no thread can be. Where
the system forks processes safely (Linux) a worker shares the data of its parent and starts at once;
elsewhere it is a new interpreter that gets the data once. That interpreter does not import the
user's script, so that a script needs no ``if __name__ == "__main__"``; what the script or notebook
defines travels by value. Where no process can be started, tasks run here, one after the other, and
the deadline is looked at between them.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import multiprocessing.connection
import pickle
import signal
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from sidelight._progress import SECONDS_DEAF, progress
from sidelight.engine import threads
from sidelight.exceptions import SidelightError

#: What becomes of a task: its result, or the reason why there is none.
Outcome: TypeAlias = "tuple[Any, str | None]"
#: Hands out the next task; None when there are no more.
Next: TypeAlias = Callable[[], Any]
Done: TypeAlias = Callable[[Any, Outcome], None]
Work: TypeAlias = Callable[[Any], Any]
#: Time (of ``time.monotonic``) at which running fits are ended, as far as it is known.
Deadline: TypeAlias = Callable[[], "float | None"]

#: Seconds that an ended process has to go away before it is killed.
FAREWELL = 1.0


@dataclass
class _Worker:
    """A process, the line to it, and the task it works on."""

    process: Any
    line: Any
    task: Any = None

    def give(self, task: Any) -> None:
        self.task = task
        self.line.send(task)


def run_tasks(
    work: Work, next_task: Next, done: Done, *, n_workers: int, deadline: Deadline
) -> bool:
    """Run tasks until there are no more or time is up.

    Parameters
    ----------
    work : callable
        Makes a result of a task; an exception ends the task only.
    next_task : callable
        Returns the next task, which must not be None, or None when there are no more for now.
    done : callable
        Called with every task that has ended and its outcome, in this process.
    n_workers : int
        Number of processes; 0 runs the tasks in this one.
    deadline : callable
        Returns the time (of ``time.monotonic``) at which what still runs is ended, or None.

    Returns
    -------
    bool
        Whether the tasks ran in processes that could be ended.
    """
    workers: list[_Worker] = []
    try:
        for _ in range(n_workers):
            workers.append(_start(work, workers))
    except (OSError, AssertionError, RuntimeError):  # no memory, or a process that may have none
        if not workers:
            n_workers = 0
    try:
        if n_workers == 0:
            _run_here(work, next_task, done, deadline)
        else:
            _run_there(work, workers, next_task, done, deadline)
    finally:
        _end(workers)
    return n_workers > 0


def _run_here(work: Work, next_task: Next, done: Done, deadline: Deadline) -> None:
    while _seconds_left(deadline) > 0 and (task := next_task()) is not None:
        with progress(show=False):  # one bar is enough, and Ctrl-C must end the loop
            outcome = _attempt(work, task)
        done(task, outcome)


def _seconds_left(deadline: Deadline) -> float:
    until = deadline()
    return math.inf if until is None else until - time.monotonic()


def _run_there(
    work: Work, workers: list[_Worker], next_task: Next, done: Done, deadline: Deadline
) -> None:
    while True:
        for place, worker in enumerate(workers):
            if worker.task is None and (task := next_task()) is not None:
                workers[place] = _give(worker, task, work, workers)
        busy = {worker.line: worker for worker in workers if worker.task is not None}
        left = _seconds_left(deadline)
        if not busy or left <= 0:
            return
        for line in multiprocessing.connection.wait(list(busy), min(left, SECONDS_DEAF)):
            worker = busy[line]
            task, outcome = worker.task, _receive(worker)
            worker.task = None
            done(task, outcome)


def _give(worker: _Worker, task: Any, work: Work, workers: list[_Worker]) -> _Worker:
    """Give a task to a worker, or to a new one where it is gone."""
    try:
        worker.give(task)
    except OSError:
        _end([worker])
        worker = _start(work, [other for other in workers if other is not worker])
        worker.give(task)
    return worker


def _receive(worker: _Worker) -> Outcome:
    try:
        outcome: Outcome = worker.line.recv()
    except (EOFError, OSError):
        worker.line.close()
        return None, "its process ended before it was done, perhaps for lack of memory"
    return outcome


def _end(workers: list[_Worker]) -> None:
    """End processes, whatever they do."""
    for worker in workers:
        worker.process.terminate()
    until = time.monotonic() + FAREWELL
    for worker in workers:
        worker.process.join(max(until - time.monotonic(), 0.0))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.line.close()


# --- starting ---------------------------------------------------------------------------------


def start_method() -> str:
    """How processes are started: "fork" on Linux, "spawn" elsewhere."""
    forks = sys.platform == "linux" and "fork" in multiprocessing.get_all_start_methods()
    return "fork" if forks else "spawn"


def _start(work: Work, others: list[_Worker]) -> _Worker:
    context: Any = multiprocessing.get_context(start_method())
    here, there = context.Pipe()
    if context.get_start_method() == "fork":
        lines = [here, *(other.line for other in others)]
        process = context.Process(target=_serve_forked, args=(there, work, lines), daemon=True)
        with warnings.catch_warnings():
            # Python warns of threads that hold locks; workers take none of these (see _serve).
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
    else:
        process = context.Process(target=_serve_spawned, args=(there,), daemon=True)
        with _without_main():
            process.start()
        here.send_bytes(_by_value(work))
    there.close()
    return _Worker(process, here)


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Hide the user's script: a new interpreter would run it from its beginning."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _by_value(work: Work) -> bytes:
    """Pickle with the classes that a script or notebook defines."""
    import joblib

    return pickle.dumps(joblib.wrap_non_picklable_objects(work))


# --- inside the worker ------------------------------------------------------------------------


def _serve_forked(line: Any, work: Work, inherited: list[Any]) -> None:
    for other in inherited:  # so that a parent that dies ends all lines to it
        other.close()
    _serve(line, work)


def _serve_spawned(line: Any) -> None:
    _serve(line, pickle.loads(line.recv_bytes()))


def _serve(line: Any, work: Work) -> None:
    """Work on one task after the other, each with one thread, until the line ends."""
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # OpenMP does not survive a fork, except with one thread.
    with threads(1), threadpool_limits(1), progress(show=False):
        while True:
            try:
                task = line.recv()
            except (EOFError, OSError):
                return
            line.send(_attempt(work, task))


def _attempt(work: Work, task: Any) -> Outcome:
    """Result of a task, or a sentence on why there is none."""
    try:
        return work(task), None
    except SidelightError as error:
        return None, str(error)
    except MemoryError:
        return None, "it needs more memory than there is"
    except Exception as error:  # of whatever estimator the user has given
        return None, f"{type(error).__name__}: {error}"
