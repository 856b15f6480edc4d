"""Workers on this machine: real processes on loopback, ended with the tests."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

# Workers that are forked from a process which has imported all start in a fraction of a second.
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")
distributed = pytest.importorskip("distributed")
distributed.utils.get_mp_context()  # it sets a list of its own when it is called first
multiprocessing.set_forkserver_preload(
    [
        "distributed",
        "pandas",
        "sidelight.cluster.kmeans._cop",
        "sidelight.cluster.kmeans._pck",
        "sidelight.cluster.metric_kmeans._mpck",
        "sidelight.mixture.constrained._chunklet",
        "sidelight.mixture.constrained._penalized",
        "sidelight.mixture.gaussian._mixture",
    ]
)


class Workers:
    """A cluster of two workers of one thread each, with the defaults of Dask."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self.cluster = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit="2GB",
        )
        self.client = distributed.Client(self.cluster)

    def ready(self) -> Any:
        """Return the client, once both workers are there: those that were killed start again."""
        try:
            self.client.wait_for_workers(2, timeout=4)
        except TimeoutError:  # one that is killed while it starts is not started again
            self.close()
            self._start()
        return self.client

    def pids(self) -> dict[str, int]:
        """Number of the process of each worker."""
        return self.client.run(os.getpid)

    def kill(self, worker: str) -> None:
        """Kill a worker by its process, as the system would."""
        os.kill(self.pids()[worker], signal.SIGKILL)

    def close(self) -> None:
        self.client.close()
        self.cluster.close()


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    found = Workers()
    yield found
    found.close()


@pytest.fixture
def client(workers: Workers) -> Any:
    return workers.ready()
