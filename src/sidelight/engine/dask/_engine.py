"""Partitions on the workers of a Dask cluster: one task per worker and pass."""

from __future__ import annotations

import contextlib
import time
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._warn import warn
from sidelight.engine._threads import threads
from sidelight.engine.dask._groups import group_by_worker
from sidelight.engine.partitioned._engine import Engine, Loss, Work
from sidelight.exceptions import SidelightError, WorkerLost

if TYPE_CHECKING:
    from distributed import Client, Future

#: Seconds to wait for a worker where all are gone: a lost one is usually started again.
MAX_WAIT = 60

#: Seconds for which it counts as known which worker holds what. Asking the scheduler takes as long
#: as half of a short pass. A worker that is lost meanwhile costs nothing more: its tasks may run
#: elsewhere.
RECENT = 0.1

#: Partitions are kept in the memory of the workers up to this share of it.
KEPT_SHARE = 0.6

#: Packs the work of a pass with the orders of some partitions.
Pack = Callable[[list[int]], bytes]


class PartitionPlaces(ABC):
    """Where partitions come from, and how a task gets them.

    Attributes
    ----------
    names : sequence of str
        Names of the partitions, in the order of their rows.
    """

    names: Sequence[str]

    def holders(self, client: Client) -> dict[int, Sequence[str]]:
        """Return the workers that hold each partition."""
        return dict.fromkeys(range(len(self.names)), ())

    def persist(self, client: Client) -> None:  # noqa: B027  (most places have nothing to keep)
        """Keep the partitions on the workers, where there is room."""

    @abstractmethod
    def submit(
        self, client: Client, numbers: list[int], pack: Pack, options: dict[str, Any]
    ) -> list[Future]:
        """Start the work of a pass on partitions of a worker."""


class FilePartitions(PartitionPlaces):
    """Partitions that every worker opens by itself: files that all of them reach.

    Parameters
    ----------
    partitions : sequence
        What :func:`sidelight.engine.as_rows` takes, small to send.
    names : sequence of str
        Their names.
    """

    def __init__(self, partitions: Sequence[Any], names: Sequence[str]) -> None:
        self._partitions, self.names = list(partitions), names

    def submit(
        self, client: Client, numbers: list[int], pack: Pack, options: dict[str, Any]
    ) -> list[Future]:
        here = [self._partitions[number] for number in numbers]
        return [client.submit(answer, here, pack(numbers), **options)]


class Collection(PartitionPlaces):
    """Partitions of a Dask collection.

    They are kept on the workers as futures of its graph, so that what is lost with a worker is
    computed again; where they take more memory than the workers have, every pass computes them.

    Parameters
    ----------
    delayed : sequence of dask.delayed.Delayed
        The partitions.
    names : sequence of str
        Their names.
    nbytes : float
        Bytes of all of them; nan where that is unknown.
    """

    def __init__(self, delayed: Sequence[Any], names: Sequence[str], nbytes: float) -> None:
        self._delayed, self.names, self._nbytes = list(delayed), names, nbytes
        self._held: list[Future] | None = None

    def persist(self, client: Client) -> None:
        """Compute the partitions where there is room for them; warn if they cannot be again."""
        room = KEPT_SHARE * sum(_memory_of_workers(client))
        if self._nbytes > room:
            return
        self._held = client.compute(self._delayed)
        from distributed import wait

        wait(self._held)
        if client.run_on_scheduler(_cannot_be_repeated, [one.key for one in self._held]):
            warn(
                "The rows were scattered to the workers: what is lost with a worker cannot be "
                "computed again, and ends the fit. Rows of files, or of a function "
                "(dask.delayed, dask.array.map_blocks), can.",
                WorkerLost,
            )

    def holders(self, client: Client) -> dict[int, Sequence[str]]:
        if self._held is None:
            return super().holders(client)
        there = client.who_has(self._held)
        return {number: tuple(there.get(one.key, ())) for number, one in enumerate(self._held)}

    def submit(
        self, client: Client, numbers: list[int], pack: Pack, options: dict[str, Any]
    ) -> list[Future]:
        if self._held is not None:
            here = [self._held[number] for number in numbers]
            return [client.submit(answer, here, pack(numbers), **options)]
        from dask import delayed

        # A task for each, so that a worker need not hold all of them at a time.
        apply = delayed(answer, pure=False, traverse=True)
        lazily = {key: value for key, value in options.items() if key != "pure"}
        return [client.compute(apply([self._delayed[n]], pack([n])), **lazily) for n in numbers]


def _cannot_be_repeated(keys: list[Any], dask_scheduler: Any = None) -> bool:
    """Whether any key, or what it was computed from, was scattered. Runs on the scheduler."""
    seen, ahead = set(), [dask_scheduler.tasks[key] for key in keys if key in dask_scheduler.tasks]
    while ahead:
        task = ahead.pop()
        if task.run_spec is None:
            return True
        ahead += [one for one in task.dependencies if one not in seen]
        seen.update(task.dependencies)
    return False


def _memory_of_workers(client: Client) -> list[float]:
    """Bytes that each worker may take; infinite where there is no limit."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return [float(one["memory_limit"] or np.inf) for one in workers]


def answer(partitions: list[Any], message: bytes) -> tuple[str, list[tuple[int, Any]]]:
    """Do the work of a pass on the partitions of this worker, one after the other.

    Parameters
    ----------
    partitions : list
        The partitions.
    message : bytes
        The pickled work, with the orders of these partitions by their numbers.
    """
    from cloudpickle import loads
    from distributed import get_worker

    worker = get_worker()
    work, orders = loads(message)
    with threads(worker.state.nthreads):
        done = [
            (number, work(partition, order))
            for partition, (number, order) in zip(partitions, orders.items(), strict=True)
        ]
    return worker.address, done


class DaskEngine(Engine):
    """Partitions on a Dask cluster.

    All partitions of a worker are one task of a pass, so that scheduling costs the same for a few
    large partitions and for many. Before a pass it is read anew which worker holds what, unless it
    was a moment ago and all went as planned since. A task prefers its worker and may run elsewhere:
    a worker that is lost costs its part of a pass.

    Parameters
    ----------
    places : PartitionPlaces
        The partitions.
    client : distributed.Client, default=None
        The cluster; by default the client that is active, or that of the task this runs in.
    """

    def __init__(self, places: PartitionPlaces, client: Client | None = None) -> None:
        self._places = places
        self._client = active_client() if client is None else client
        self._before: dict[int, str] = {}
        self._seen: tuple[float, dict[int, Sequence[str]], list[str]] | None = None
        self._lost: Counter[str] = Counter()

    def partitions(self) -> Sequence[str]:
        """Return the names of the partitions."""
        return self._places.names

    def persist(self) -> None:
        """Keep the partitions in the memory of the workers, if they fit there."""
        _leave_the_pool()
        self._workers()
        self._places.persist(self._client)

    @property
    def workers(self) -> int:
        """Number of threads of all workers."""
        return max(1, sum(self._client.nthreads().values()))

    def losses(self) -> list[Loss]:
        """Return the workers that were lost since the last call."""
        found = [Loss(worker, n) for worker, n in self._lost.items()]
        self._lost.clear()
        return found

    def map_in_order(self, work: Work, orders: Mapping[int, Any]) -> Iterator[tuple[int, Any]]:
        """Yield what the work gives for partitions, by their numbers."""
        _leave_the_pool()
        waiting: dict[int, Any] = {}
        numbers = iter(sorted(orders))
        following = next(numbers, None)
        for address, asked, done in self._answers(work, orders):
            self._note(address, asked, [number for number, _ in done])
            waiting.update(done)
            while following in waiting:
                yield following, waiting.pop(following)
                following = next(numbers, None)

    def _answers(
        self, work: Work, orders: Mapping[int, Any]
    ) -> Iterator[tuple[str, str, list[tuple[int, Any]]]]:
        """Yield who answered, who was asked, and the answers, as they come."""
        from distributed import KilledWorker, as_completed

        jobs = dict(self._submit(work, orders))
        try:
            # On the loop of our client, which need not be the default one.
            found = as_completed(list(jobs), loop=self._client.loop, with_results=True)
            for future, (address, done) in found:
                yield address, jobs.pop(future), done
        except KilledWorker as error:
            raise SidelightError(
                f"Workers were lost {error.allowed_failures + 1} times in a row with the same part "
                f"of the rows ({error.last_worker.address} last), mostly because they ran out of "
                "memory: cut the rows into smaller partitions, or give the workers more memory."
            ) from error
        finally:
            if jobs:
                self._client.cancel(list(jobs), force=True)

    def _submit(self, work: Work, orders: Mapping[int, Any]) -> Iterator[tuple[Future, str]]:
        from cloudpickle import dumps

        def pack(numbers: list[int]) -> bytes:
            return dumps((work, {number: orders[number] for number in numbers}))

        holders, workers = self._holders_and_workers()
        groups = group_by_worker(
            {number: holders[number] for number in orders},
            workers,
            self._before,
            {number: float(self.sizes.get(number, 1)) for number in orders},
        )
        for worker, numbers in groups.items():
            self._before |= dict.fromkeys(numbers, worker)
            options = {
                "workers": [worker],
                "allow_other_workers": True,
                "retries": 2,
                "pure": False,
            }
            with _large_messages_are_meant():
                for future in self._places.submit(self._client, numbers, pack, options):
                    yield future, worker

    def _holders_and_workers(self) -> tuple[dict[int, Sequence[str]], list[str]]:
        """Return which workers hold each partition, and all workers, as they were last seen."""
        now = time.monotonic()
        if self._seen is None or now - self._seen[0] > RECENT:
            self._seen = now, self._places.holders(self._client), self._workers()
        return self._seen[1:]

    def _workers(self) -> list[str]:
        """Return the workers, once there are some."""
        found = list(self._client.nthreads())
        if not found:
            try:
                self._client.wait_for_workers(1, timeout=MAX_WAIT)
            except TimeoutError as error:
                raise SidelightError(
                    f"The cluster of {self._client.scheduler.address} has no workers, and none "
                    f"came in {MAX_WAIT} s: start some, or give rows in memory."
                ) from error
            found = list(self._client.nthreads())
        return found

    def _note(self, address: str, asked: str, numbers: list[int]) -> None:
        """Note which partitions were done where; and what was done again for a lost worker."""
        if address != asked:
            self._seen = None
            if asked not in self._client.nthreads():
                self._lost[asked] += len(numbers)
        self._before |= dict.fromkeys(numbers, address)


@contextlib.contextmanager
def _large_messages_are_meant() -> Iterator[None]:
    """Weights and labels that the client has travel once; that is no mistake of the user."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        yield


def active_client() -> Client:
    """Return the client that is active, or that of the task that this runs in."""
    from distributed import get_client

    try:
        return get_client()
    except ValueError as error:
        raise SidelightError(
            "These rows are a Dask collection, and no Dask client is active: "
            "client = dask.distributed.Client() starts workers on this machine, "
            "Client('tcp://host:port') joins a cluster. Rows that fit into memory are X.compute()."
        ) from error


def _leave_the_pool() -> None:
    """Give the thread of a task back before waiting for other tasks: a fit inside of a task."""
    from distributed import get_worker, secede

    try:
        get_worker()
    except ValueError:
        return
    with contextlib.suppress(KeyError, ValueError):  # it has left before
        secede()
