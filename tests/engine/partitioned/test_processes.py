"""Nothing in the families knows Dask: an engine over plain processes does as well."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from tests.common.partitions import cut
from tests.engine.processes import Piece, ProcessEngine

from sidelight import Constraints
from sidelight.cluster import KMeans, MPCKMeans, PCKMeans
from sidelight.engine.partitioned._rows import PartitionedRows
from sidelight.exceptions import SidelightError, WorkerLost
from sidelight.mixture import GaussianMixture

Y = np.arange(600) % 3
X = np.random.default_rng(0).normal(size=(600, 4)) + 3.0 * np.eye(4)[Y]
KNOWN = Constraints.sample(Y, 40, random_state=1)

METHODS = [
    KMeans(3, init=X[:3], tol=0, random_state=0),
    PCKMeans(3, init=X[:3], tol=0, random_state=0),
    MPCKMeans(3, init=X[:3], max_iter=4, random_state=0),
    GaussianMixture(3, random_state=0, n_init=1, max_iter=4),
]


class Broken(Piece):
    """A partition that cannot be loaded."""

    def __call__(self) -> np.ndarray:
        raise OSError("unexpected end of file")


@pytest.fixture(scope="module")
def engine() -> Iterator[ProcessEngine]:
    found = ProcessEngine([Piece(piece) for piece in cut(X, 5)])
    yield found
    found.close()


def fit(method: object, rows: object) -> object:
    used = "must-link" in method.__sidelight_tags__().knowledge
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = type(method)(**method.get_params())
        return model.fit(rows, **({"constraints": KNOWN} if used else {}))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_fits_are_those_of_memory_also_when_a_process_is_killed(
    engine: ProcessEngine, method: object
) -> None:
    here, rows = fit(method, X), PartitionedRows(engine)
    for at in (None, 3):
        engine.kill_before_answer = set() if at is None else {engine.n_passes + at}
        there = fit(method, rows)
        np.testing.assert_array_equal(np.asarray(there.labels_), here.labels_)
        assert there.objective_ == pytest.approx(here.objective_, rel=1e-9)


def test_a_lost_process_is_named(engine: ProcessEngine) -> None:
    rows = PartitionedRows(engine)
    engine.kill_before_answer = {engine.n_passes + 2}
    with pytest.warns(WorkerLost, match=r"process 0 was lost; \d of 7 partitions"):
        KMeans(3, init=X[:3]).fit(rows)


def test_a_partition_that_cannot_be_loaded_is_named() -> None:
    pieces = [Piece(X[:300]), Broken(X[300:])]
    broken = ProcessEngine(pieces, n_workers=1)
    try:
        with pytest.raises((SidelightError, OSError), match="unexpected end of file"):
            PartitionedRows(broken)
    finally:
        broken.close()
