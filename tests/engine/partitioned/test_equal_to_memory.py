"""Every method that reads rows from elsewhere gives in partitions what it gives in memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from tests.common.partitions import cut
from tests.engine.test_purity import SETTINGS, knowledge

from sidelight import Constraints, catalog
from sidelight.cluster import KMeans, PCKMeans, SoftBalancedKMeans
from sidelight.cluster._core import _lloyd
from sidelight.engine.partitioned._beside import kept
from sidelight.engine.partitioned._local import LocalEngine
from sidelight.engine.partitioned._rows import PartitionedRows
from sidelight.engine.partitioned._values import RowValues

METHODS = [method for method in catalog.methods() if method.tags.out_of_core]
CASES = [
    pytest.param(method, setting, id=f"{method.name}-{'-'.join(map(str, setting.values()))}")
    for method in catalog.methods()
    for setting in ({}, *SETTINGS.get(method.cls.__name__, ()))
    if method.cls(**setting).__sidelight_tags__().out_of_core
]


#: Attributes that the data do not determine here. The three blobs have 40 rows each, so that every
#: row is in its own cluster whatever the prices within a wide range: the dual that they maximize is
#: flat up to rounding (its curvature is 1e-16 of the mass). Memberships, sums and objective are
#: compared; prices below, where they are unique.
NOT_UNIQUE = {"SoftBalancedKMeans": ("cluster_prices_",)}


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
        if name in NOT_UNIQUE.get(type(here).__name__, ()):
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


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.UnusedKnowledge")
@pytest.mark.parametrize("cls", [KMeans, PCKMeans])
@pytest.mark.parametrize("offset", [0.0, 300.0])
def test_bounds_that_are_lost_change_nothing(cls: Any, offset: float, monkeypatch: Any) -> None:
    monkeypatch.setattr(_lloyd, "WORTH_BOUNDS", 0)
    monkeypatch.setattr(_lloyd, "MAX_CHANGED_SHARE", 0.5)
    rng = np.random.RandomState(0)
    X, y = rng.uniform(size=(900, 3)) + offset, rng.randint(3, size=900)
    known = Constraints.sample(y, 40, random_state=0)
    model = cls(9, init=X[:9], tol=0, random_state=0)
    here = clone(model).fit(X, constraints=known)
    assert here.n_iter_ > 10
    for seed in range(3):
        rows = PartitionedRows(Forgetful(cut(X, 3), seed))
        assert_same(clone(model).fit(rows, constraints=known), here)


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


@pytest.mark.parametrize("n_parts", [1, 3, 7])
def test_prices_of_balance_are_the_same_where_the_rows_determine_them(n_parts: int) -> None:
    sizes = [90, 20, 10]
    X, _ = make_blobs(sizes, n_features=3, cluster_std=2.0, random_state=0)
    model = SoftBalancedKMeans(3, temperature=0.1, random_state=0, n_init=1)
    here = clone(model).fit(X)
    there = clone(model).fit(PartitionedRows(LocalEngine(cut(X, n_parts))))
    assert np.abs(here.cluster_prices_).max() > 1.0
    np.testing.assert_allclose(there.cluster_prices_, here.cluster_prices_, rtol=1e-6)
    assert isinstance(there.memberships_, RowValues)
    np.testing.assert_allclose(np.asarray(there.memberships_), here.memberships_, atol=1e-9)
