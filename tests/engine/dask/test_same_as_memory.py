"""On a Dask cluster every fit gives what it gives in memory, also when workers are killed."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.common.partitions import cut

from sidelight import Constraints
from sidelight.cluster import COPKMeans, KMeans, MPCKMeans, PCKMeans, SphericalKMeans
from sidelight.engine import as_rows
from sidelight.engine.dask._engine import DaskEngine
from sidelight.engine.partitioned._local import LocalEngine
from sidelight.engine.partitioned._rows import PartitionedRows
from sidelight.exceptions import SidelightError, WorkerLost
from sidelight.mixture import ChunkletMixture, GaussianMixture, PenalizedMixture

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

N = 900
Y = np.arange(N) % 3
X = np.random.default_rng(0).normal(size=(N, 4)) + 3.0 * np.eye(4)[Y]
KNOWN = Constraints.sample(Y, 60, random_state=1)

METHODS = [
    KMeans(3, random_state=0, n_init=2),
    PCKMeans(3, random_state=0, n_init=1),
    COPKMeans(3, random_state=0, n_init=1),
    MPCKMeans(3, random_state=0, n_init=1, max_iter=5),
    SphericalKMeans(3, random_state=0, n_init=1),
    GaussianMixture(3, random_state=0, n_init=1, max_iter=10),
    ChunkletMixture(3, random_state=0, n_init=1, max_iter=10),
    PenalizedMixture(3, random_state=0, n_init=1, max_iter=10),
]


def from_pieces(pieces: Sequence[Any]) -> Any:
    """A Dask array whose chunks can be computed again."""
    load = dask.delayed(np.array)
    return da.concatenate([da.from_delayed(load(p), p.shape, p.dtype) for p in pieces])


def fitted(method: Any, rows: Any) -> Any:
    used = "must-link" in method.__sidelight_tags__().knowledge
    model = type(method)(**method.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(rows, **({"constraints": KNOWN} if used else {}))


def assert_same(there: Any, here: Any, rtol: float = 1e-9) -> None:
    np.testing.assert_array_equal(np.asarray(there.labels_), here.labels_)
    assert there.objective_ == pytest.approx(here.objective_, rel=rtol)
    np.testing.assert_allclose(there.history_, here.history_, rtol=rtol)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_a_dask_array_gives_what_memory_gives(client: Any, method: Any) -> None:
    here = fitted(method, X)
    for n_parts in (1, 3, 7):
        assert_same(fitted(method, from_pieces(cut(X, n_parts))), here)


def test_chunks_along_the_columns_are_joined_and_float32_stays(client: Any) -> None:
    rows = da.from_array(X.astype(np.float32), chunks=(250, 2))
    model = fitted(METHODS[0], rows)
    assert model.cluster_centers_.dtype == np.float32
    assert_same(model, fitted(METHODS[0], X.astype(np.float32)), rtol=1e-5)


def test_pairs_find_rows_of_a_data_frame_by_their_ids(client: Any) -> None:
    names = [f"c{number}" for number in range(N)]
    frame = pd.DataFrame(X, columns=list("abcd")).assign(customer_id=names)
    shuffled = frame.sample(frac=1, random_state=0)
    known = Constraints(
        [(names[i], names[j]) for i, j in KNOWN.must_link],
        [(names[i], names[j]) for i, j in KNOWN.cannot_link],
        ids=names,
    )
    rows = dd.from_pandas(shuffled.reset_index(drop=True), npartitions=4, sort=False)
    assert list(as_rows(rows).columns) == list("abcd")
    model = PCKMeans(3, random_state=0, n_init=1).fit(rows, constraints=known)
    here = PCKMeans(3, random_state=0, n_init=1).fit(
        shuffled.set_index("customer_id"), constraints=known
    )
    assert_same(model, here)
    assert model.n_violations_ == here.n_violations_


class Killing(DaskEngine):
    """Kills a worker while it is at a pass."""

    def __init__(self, engine: DaskEngine, workers: Any, at: int, seed: int) -> None:
        super().__init__(engine._places, engine._client)
        self.workers_of_it, self.at, self.n_passes, self.seed = workers, at, 0, seed
        self.has_killed = False

    def _submit(self, work: Any, orders: Any) -> Any:
        jobs = list(super()._submit(work, orders))
        self.n_passes += 1
        if self.n_passes == self.at:
            asked = sorted({worker for _, worker in jobs})
            self.workers_of_it.kill(asked[self.seed % len(asked)])
            self.has_killed = True
        return iter(jobs)


KILLED = [
    KMeans(3, init=X[:3], tol=0, random_state=0),
    PCKMeans(3, init=X[:3], tol=0, random_state=0),
    MPCKMeans(3, init=X[:3], max_iter=4, random_state=0),
    GaussianMixture(3, random_state=0, n_init=1, max_iter=3),
]


@functools.cache
def in_memory(number: int) -> Any:
    return fitted(KILLED[number], X)


@functools.cache
def number_of_passes(number: int) -> int:
    rows = PartitionedRows(LocalEngine(cut(X, 5)))
    fitted(KILLED[number], rows)
    return rows.n_passes


@pytest.mark.parametrize("seed", range(20))
def test_a_killed_worker_changes_nothing(workers: Any, client: Any, seed: int) -> None:
    number = seed % len(KILLED)
    n_passes = number_of_passes(number)
    random = int(np.random.default_rng(seed).integers(1, n_passes + 1))
    at = {0: 1, 1: n_passes}.get(seed % 5, random)
    rows = as_rows(from_pieces(cut(X, 5)))
    rows._passes.engine = killing = Killing(rows.engine, workers, at, seed)
    assert_same(fitted(KILLED[number], rows), in_memory(number))
    assert killing.has_killed


def test_a_lost_worker_is_told_by_name(workers: Any, client: Any) -> None:
    rows = as_rows(from_pieces(cut(X, 5)))
    rows._passes.engine = Killing(rows.engine, workers, 3, 0)
    with pytest.warns(WorkerLost, match=r"tcp://.* was lost; \d of \d partitions were done again"):
        KMeans(3, random_state=0).fit(rows)


def test_a_fit_may_run_inside_of_a_task(client: Any) -> None:
    def fit_there(pieces: Any) -> Any:
        return np.asarray(KMeans(3, random_state=0).fit(from_pieces(pieces)).labels_)

    found = client.submit(fit_there, cut(X, 3)).result(timeout=60)
    np.testing.assert_array_equal(found, KMeans(3, random_state=0).fit(X).labels_)


def test_errors_come_back_as_they_are_with_the_partition(client: Any) -> None:
    broken = X.copy()
    broken[700, 2] = np.nan
    with pytest.raises(SidelightError, match=r"Partition \d of the Dask array holds NaN.*row 700"):
        KMeans(3).fit(da.from_array(broken, chunks=(200, 4)))
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=2)
    with pytest.raises(SidelightError, match=r"Column 'e' of the Dask data frame holds .*not num"):
        KMeans(3).fit(frame.assign(e="text"))


def test_rows_that_cannot_be_computed_again_are_named(client: Any) -> None:
    there = client.scatter(X)
    rows = da.from_delayed(dask.delayed(there), X.shape, X.dtype)
    with pytest.warns(WorkerLost, match="scattered"):
        model = KMeans(3, random_state=0).fit(rows)
    assert_same(model, KMeans(3, random_state=0).fit(X))


def test_an_id_that_occurs_in_two_partitions_is_named(client: Any) -> None:
    frame = pd.DataFrame(X[:20], columns=list("abcd")).assign(id=np.arange(20) % 19)
    known = Constraints([(1, 2)], ids=np.arange(20))
    with pytest.raises(SidelightError, match=r"id 0 occurs in Partition 0 .* and in Partition 1"):
        PCKMeans(2).fit(dd.from_pandas(frame, npartitions=2), constraints=known)


def test_without_a_client_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_client() -> None:
        raise ValueError("No global client found")

    monkeypatch.setattr("distributed.get_client", no_client)
    with pytest.raises(SidelightError, match=r"no Dask client is active: client = .*Client\(\)"):
        as_rows(da.from_array(X, chunks=(200, 4)))


def test_partitions_that_do_not_fit_are_computed_in_every_pass(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidelight.engine.dask._engine.KEPT_SHARE", 0.0)
    rows = as_rows(from_pieces(cut(X, 3)))
    assert rows.engine._places._held is None
    for method in METHODS[:2]:
        assert_same(fitted(method, rows), fitted(method, X))
