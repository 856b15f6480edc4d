"""Every method that reads rows from elsewhere gives in partitions what it gives in memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from tests.engine.processes import cut
from tests.engine.test_purity import SETTINGS, knowledge

from sidelight import catalog
from sidelight.engine.partitioned._beside import kept
from sidelight.engine.partitioned._local import LocalEngine
from sidelight.engine.partitioned._rows import PartitionedRows

METHODS = [method for method in catalog.methods() if method.tags.out_of_core]
CASES = [
    pytest.param(method, setting, id=f"{method.name}-{'-'.join(map(str, setting.values()))}")
    for method in catalog.methods()
    for setting in ({}, *SETTINGS.get(method.cls.__name__, ()))
    if method.cls(**setting).__sidelight_tags__().out_of_core
]


class Forgetful(LocalEngine):
    """An engine whose workers are lost between the passes, now and then."""

    def __init__(self, partitions: Any, seed: int) -> None:
        super().__init__(partitions)
        self._rng = np.random.RandomState(seed)

    def map_in_order(self, work: Any, orders: Mapping[int, Any]) -> Iterator[tuple[int, Any]]:
        if self._rng.uniform() < 0.3:
            kept.clear()
        return super().map_in_order(work, orders)


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(120, n_features=4, centers=3, cluster_std=2.0, random_state=3)
    return X - X.min() + 1.0, y


def fitted(method: Any, setting: Mapping[str, Any], rows: Any, y: np.ndarray) -> Any:
    wanted = {"n_clusters": 3, "n_components": 3, "random_state": 0, "n_init": 2, "max_iter": 8}
    taken = method.cls().get_params()
    params = {name: value for name, value in wanted.items() if name in taken} | dict(setting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method.cls(**params).fit(rows, constraints=knowledge(method, y))


def assert_same(there: Any, here: Any) -> None:
    for name, value in vars(here).items():
        if not name.endswith("_") or name.startswith("_"):
            continue
        other = getattr(there, name)
        if name == "labels_":
            np.testing.assert_array_equal(np.asarray(other), value)
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            np.testing.assert_allclose(np.asarray(other), value, rtol=1e-6, atol=1e-8, err_msg=name)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            assert other == pytest.approx(value, rel=1e-6, abs=1e-8), name


@pytest.mark.parametrize(("method", "setting"), CASES)
def test_any_cut_gives_what_memory_gives(method: Any, setting: Any, blobs: Any) -> None:
    X, y = blobs
    here = fitted(method, setting, X, y)
    for n_parts in (1, 2, 3, 7):
        there = fitted(method, setting, PartitionedRows(LocalEngine(cut(X, n_parts))), y)
        assert_same(there, here)


@pytest.mark.parametrize(("method", "setting"), CASES)
def test_values_that_are_lost_are_made_again(method: Any, setting: Any, blobs: Any) -> None:
    X, y = blobs
    here = fitted(method, setting, X, y)
    there = fitted(method, setting, PartitionedRows(Forgetful(cut(X, 3), seed=0)), y)
    assert_same(there, here)


@pytest.mark.parametrize(
    ("method", "setting"), [case for case in CASES if case.values[0].tags.missing]
)
def test_missing_values(method: Any, setting: Any, blobs: Any) -> None:
    X, y = blobs
    X = np.where(np.random.RandomState(0).uniform(size=X.shape) < 0.2, np.nan, np.round(X))
    here = fitted(method, setting, X, y)
    there = fitted(method, setting, PartitionedRows(LocalEngine(cut(X, 3))), y)
    assert_same(there, here)


@pytest.mark.parametrize("method", [m for m in METHODS if m.tags.sparse], ids=lambda m: m.name)
def test_sparse_partitions(method: Any, blobs: Any) -> None:
    X, y = blobs
    X = sparse.csr_array(np.where(np.quantile(X, 0.3) < X, X, 0))
    here = fitted(method, {}, X, y)
    there = fitted(method, {}, PartitionedRows(LocalEngine(cut(X, 3))), y)
    assert_same(there, here)
