"""What a fit costs on a cluster, by method: passes, bytes that travel, memory of the client.

Rows of 16 features in four partitions on one worker. A pass counts whenever something is asked of
all partitions; orders and answers are measured as they travel, pickled. Memory of the client is
what Python allocates in it at most, and the last column by how much that grows with every row, from
the difference of two sizes. Results of rows stay beside the partitions.
"""

from __future__ import annotations

import math
import tracemalloc
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from benchmarks.engine import data
from benchmarks.engine.clusters import rows_of, sizes, workers
from benchmarks.harness import Row
from cloudpickle import dumps

from sidelight import Constraints
from sidelight.cluster import (
    COPKMeans,
    KMeans,
    MPCKMeans,
    PCKMeans,
    SizeConstrainedKMeans,
    SphericalKMeans,
)
from sidelight.engine import as_rows
from sidelight.metric import ITML, RCA
from sidelight.mixture import (
    ChunkletMixture,
    GaussianMixture,
    KohonenMap,
    PenalizedMixture,
)

D, N_PARTS, N_PAIRS = 16, 4, 1_000

#: Family, method, and whether pairs are given.
METHODS: list[tuple[str, Any, bool]] = [
    ("k-means", KMeans(20, init="k-means||", n_init=1, random_state=0), False),
    ("k-means", SphericalKMeans(20, init="k-means||", n_init=1, random_state=0), False),
    ("k-means with pairs", COPKMeans(20, init="k-means||", n_init=1, random_state=0), True),
    ("k-means with pairs", PCKMeans(20, init="neighborhoods", n_init=1, random_state=0), True),
    ("k-means with pairs", MPCKMeans(20, n_init=1, max_iter=10, random_state=0), True),
    ("sizes", SizeConstrainedKMeans(20, min_size=0.9, n_init=1, random_state=0), False),
    ("mixtures", GaussianMixture(10, n_init=1, max_iter=20, random_state=0), False),
    ("mixtures with pairs", ChunkletMixture(10, n_init=1, max_iter=20, random_state=0), True),
    ("mixtures with pairs", PenalizedMixture(10, n_init=1, max_iter=20, random_state=0), True),
    ("maps", KohonenMap((5, 5), random_state=0), False),
    ("metric learners", RCA(), True),
    ("metric learners", ITML(random_state=0), True),
]


class Counted:
    """Counts what an engine sends and receives."""

    def __init__(self, engine: Any) -> None:
        self.sent = self.received = self.rounds = 0
        self._map_in_order = engine.map_in_order
        engine.map_in_order = self

    def __call__(self, work: Any, orders: Mapping[int, Any]) -> Iterator[tuple[int, Any]]:
        self.rounds += 1
        self.sent += len(dumps((work, dict(orders))))
        for number, answer in self._map_in_order(work, orders):
            self.received += len(dumps(answer))
            yield number, answer


def run(quick: bool) -> list[Row]:
    small, large = (8_000, 32_000) if quick else (100_000, 500_000)
    with workers(1):
        return [costs(*method, small, large) for method in METHODS]


def costs(family: str, method: Any, with_pairs: bool, small: int, large: int) -> Row:
    fit(method, small, with_pairs)  # compile first
    less, _ = fit(method, small, with_pairs)
    peak, counted = fit(method, large, with_pairs)
    return {
        "family": family,
        "method": type(method).__name__ + (f", {N_PAIRS:,} pairs" if with_pairs else ""),
        "passes": counted.rounds,
        "sent per pass (kB)": counted.sent / counted.rounds / 1000,
        "received per pass (kB)": counted.received / counted.rounds / 1000,
        "memory of the client (MB)": peak / 1e6,
        "bytes of it per row": max(0, round((peak - less) / (large - small))),
    }


def fit(method: Any, n: int, with_pairs: bool) -> tuple[int, Counted]:
    rows = as_rows(rows_of(n, D, N_PARTS))
    counted = Counted(rows.engine)
    params = {"constraints": known(n)} if with_pairs else {}
    model = type(method)(**method.get_params())
    if hasattr(model, "min_size"):
        model.set_params(min_size=math.floor(model.min_size * n / model.n_clusters))
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(rows, **params)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, counted


def known(n: int) -> Constraints:
    groups = np.concatenate([data.groups_of(i, m) for i, m in enumerate(sizes(n, N_PARTS))])
    return Constraints.sample(groups, N_PAIRS, random_state=0)
